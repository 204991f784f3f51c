"""A secret in a row is nowhere in the home, and the row is still a memory."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.states import entry_metas
from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_lookalikes as lookalikes
from lifeboat_core.capture.lookalike_cuts import cut_lookalikes, uncut_lookalikes
from support.core.zeroclaw_protected import ProtectedClaw, files_with

LATELY = "2026-11-10T08:00:00+00:00"
SECRET = "sk-ant-example-0123456789abcdefghij"
ROWS = "raw/zeroclaw-home/db/brain/memories.jsonl"


@pytest.fixture
def ada(tmp_path: Path) -> ProtectedClaw:
    made = ProtectedClaw(tmp_path)
    made.install.remember("tea", "Likes green tea", created_at=LATELY)
    return made


def configure(ada: ProtectedClaw, secret: str = SECRET) -> None:
    config = ada.install.home / "config.toml"
    text = config.read_text().replace("[memory]", f'api_key = "{secret}"\n\n[memory]', 1)
    config.write_text(text)


def lines(ada: ProtectedClaw) -> list[dict[str, object]]:
    with ada.context.vault(ada.agent.id) as vault:
        return [json_codec.decode_json(line) for line in vault.state().body(ROWS).splitlines()]


def cuts(ada: ProtectedClaw) -> int:
    with ada.context.vault(ada.agent.id) as vault:
        entry = vault.state().entry(ROWS)
        return 0 if entry is None else len(entry.meta.get(entry_metas.CUTS, []))


def spellings(secret: str) -> list[str]:
    return [secret, base64.b64encode(secret.encode()).decode(), secret.replace("-", "%2D")]


@pytest.mark.parametrize("spelled", [*spellings(SECRET), SECRET.replace("a", "\\u0061")])
def test_a_known_secret_is_cut_out_of_a_row(ada: ProtectedClaw, spelled: str) -> None:
    configure(ada)
    ada.install.remember("key", f"The key \u2603 is {spelled} and no other", created_at=LATELY)
    ada.add()
    assert files_with(ada.folder / "home", [SECRET, spelled, json_codec.encode_json(spelled)[1:-1].decode()]) == []
    (line,) = lines(ada)
    assert str(line["content"]).startswith("The key \u2603 is {{lifeboat:credential:")
    assert line["content"] in ada.memories()
    assert cuts(ada) >= 1


def test_a_row_with_a_cut_is_the_same_at_the_next_capture(ada: ProtectedClaw) -> None:
    configure(ada)
    ada.install.remember("key", f"The key is {SECRET}", created_at=LATELY)
    ada.add()
    assert not ada.capture().changed
    ada.install.remember("dog", "A dog called Rex", created_at=LATELY)
    assert ada.capture().records == {"created": 1}
    ada.lose_caches()
    assert not ada.capture().changed
    assert files_with(ada.folder / "home", [SECRET]) == []


def test_a_secret_that_becomes_known_leaves_the_rows(ada: ProtectedClaw) -> None:
    ada.install.remember("key", f"The key is {SECRET}", created_at=LATELY)
    ada.add()
    configure(ada)
    report = ada.capture()
    assert report.records == {"updated": 1}
    assert not [content for content in ada.memories() if SECRET in content]
    state = ada.context.home.state_file(ada.agent.id)
    assert files_with(state.parent, [SECRET]) == []
    assert not ada.capture().changed


def test_a_secret_in_another_column_is_cut_as_well(ada: ProtectedClaw) -> None:
    configure(ada)
    ada.install.remember(f"key_{SECRET}", "A text", session_id=SECRET, created_at=LATELY)
    ada.add()
    assert files_with(ada.folder / "home", [SECRET]) == []
    assert not ada.capture().changed
    ada.install.execute("delete from memories where content = 'A text'")
    ada.capture()
    assert files_with(ada.folder / "home", [SECRET]) == []


def test_the_line_goes_with_the_secret(ada: ProtectedClaw) -> None:
    configure(ada)
    ada.install.remember("key", f"The key is {SECRET}", created_at=LATELY)
    ada.add()
    ada.install.execute("update memories set content = 'The key is gone' where key = 'key'")
    assert ada.capture().records == {"updated": 1}
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.state().entry(ROWS) is None
        assert "The key is gone" in ada.memories()


def test_a_table_that_is_read_again_leaves_the_line_alone(ada: ProtectedClaw) -> None:
    configure(ada)
    ada.install.remember("key", f"The key is {SECRET}", created_at=LATELY)
    ada.add()
    ada.install.execute("insert into memory_meta values ('x', 'y')")
    ada.capture()
    assert len(lines(ada)) == 1


def test_what_only_looks_like_a_secret_is_named_and_kept(ada: ProtectedClaw) -> None:
    look = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    ada.install.remember("hub", f"token {look}", created_at=LATELY)
    report = ada.add()
    assert f"token {look}" in ada.memories()
    assert any("memory/brain.db" in name for name in report.looks_like_secret)


def test_a_row_that_only_looks_like_a_secret_is_cut_by_the_command_of_the_doctor(ada: ProtectedClaw) -> None:
    look = "ghp_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3fG"
    ada.install.remember("hub", f"token {look}", created_at=LATELY)
    ada.add()
    (found,) = (one for one in lookalikes.check(ada.context) if one.level is DoctorLevel.WARNING)
    words = shlex.split(found.fix or "")
    assert cut_lookalikes(ada.context, ada.agent, words[4:]).left == {}
    assert look not in "".join(ada.memories())
    assert [one for one in lookalikes.check(ada.context) if one.level is DoctorLevel.WARNING] == []


def test_a_row_that_is_no_longer_cut_is_kept_in_clear_again(ada: ProtectedClaw) -> None:
    look = "ghp_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3fG"
    ada.install.remember("hub", f"token {look}", created_at=LATELY)
    ada.add()
    (found,) = (one for one in lookalikes.check(ada.context) if one.level is DoctorLevel.WARNING)
    words = shlex.split(found.fix or "")
    cut_lookalikes(ada.context, ada.agent, words[4:])
    assert look not in "".join(ada.memories())
    assert len(uncut_lookalikes(ada.context, ada.agent, words[4:]).in_clear) == 1
    assert f"token {look}" in ada.memories()
