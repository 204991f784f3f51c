"""`lifeboat agents cut` cuts what was only reported as a secret, with the command that `doctor` names."""

from __future__ import annotations

import base64
import gzip
import shlex
from pathlib import Path

import pytest

from lifeboat_adapters.secrets import credential_payload
from lifeboat_alf.archive import archive_layout
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_exposed_secrets as exposed_secrets
from lifeboat_cli.doctor import check_lookalikes as doctor_lookalikes
from lifeboat_core.capture import secret_cutter, secret_lookalikes
from lifeboat_core.capture.lookalike_cuts import CutLookalikes, cut_lookalikes, uncut_lookalikes
from lifeboat_core.errors import AgentError
from lifeboat_keys.signed import credential_sealing
from support.alf.raising import raises_code
from support.cli.cli_client import run
from support.core.protected import MEMORY, Protected
from support.credential_files import samples

TOKEN = "ghp_000000000000000000000000000000000000"
KEY = "ghp_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3fG"
NOTE = "raw/openclaw/memory/note.md"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    protected = Protected(tmp_path)
    protected.write("MEMORY.md", MEMORY)
    protected.add()
    return protected


def _findings(protected: Protected) -> list[DoctorFinding]:
    return [found for found in doctor_lookalikes.check(protected.context) if found.level is DoctorLevel.WARNING]


def _cut(protected: Protected, *paths: str) -> CutLookalikes:
    return cut_lookalikes(protected.context, protected.agent, paths)


def _whole(protected: Protected, path: str) -> bytes:
    sealed = {one["id"]: one for one in protected.document(archive_layout.CREDENTIALS)["credentials"]}
    secret = protected.context.keys().agent_secret(protected.agent.id)
    cuts = (protected.meta(path) or {})["cuts"]
    return credential_payload.restore_whole_file(
        path,
        protected.body(path),
        cuts,
        lambda key: credential_payload.decode_payload(credential_sealing.unseal_credential(sealed[key], secret)),
    )


def test_everything_that_is_reported_can_be_cut_by_the_command_that_is_printed(tmp_path: Path) -> None:
    made = Protected(tmp_path / "agent", config="{}\n")
    reported = [sample for sample in samples(tmp_path) if sample.outcome == "reported"]
    for sample in reported:
        made.write(sample.path, sample.text)
    made.add()
    commands = [found.fix or "" for found in _findings(made)]
    assert len(commands) == len(reported)
    for command in commands:
        words = shlex.split(command)
        assert words[:3] == ["lifeboat", "agents", "cut"]
        done = _cut(made, *words[4:])
        assert done.left == {}
    assert _findings(made) == []
    for sample in reported:
        path = next(where for where in (f"artifacts/{sample.path}", f"raw/openclaw/{sample.path}") if made.meta(where))
        assert sample.secret.encode() not in made.body(path)
        assert sample.secret.encode("utf-16-le") not in made.body(path)
        whole = sample.text if isinstance(sample.text, bytes) else sample.text.encode()
        assert _whole(made, path) == whole


def test_what_is_cut_is_cut_in_later_versions_and_in_other_files(ada: Protected) -> None:
    ada.write("memory/note.md", f"Once it was {TOKEN}.\n")
    ada.capture()
    _cut(ada, "memory/note.md")
    ada.write("memory/note.md", f"Now it is {TOKEN[:-1]}1 and {TOKEN}.\n")
    ada.write("memory/other.md", f"Also {TOKEN[:-1]}1.\n")
    ada.capture()
    for path in (NOTE, "raw/openclaw/memory/other.md"):
        assert TOKEN[:-1].encode() not in ada.body(path)
    assert _findings(ada) == []


def test_a_short_password_is_cut_though_no_print_of_it_is_kept(ada: Protected) -> None:
    ada.write("memory/note.md", "postgres://me:r7Kq2zW9@db.example.com/x\n")
    ada.capture()
    assert _cut(ada, "memory/note.md").left == {}
    assert b"r7Kq2zW9" not in ada.body(NOTE)
    ada.write("memory/note.md", "postgres://me:r7Kq2zW9@db.example.com/y\n")
    ada.capture()
    assert b"r7Kq2zW9" not in ada.body(NOTE)


def test_tokens_in_one_compressed_part_are_cut_with_it(ada: Protected) -> None:
    body = gzip.compress(f"{TOKEN} and {TOKEN[:-1]}1".encode())
    ada.write("notes/a.gz", body)
    ada.write("notes/mail.txt", base64.encodebytes(f"{'words ' * 20}{TOKEN[:-1]}2\n".encode()))
    ada.capture()
    assert _cut(ada, "notes/a.gz", "notes/mail.txt").left == {}
    assert _whole(ada, "artifacts/notes/a.gz") == body


def test_older_sequences_are_named_with_the_purge_that_takes_it_out_of_them(ada: Protected) -> None:
    ada.write("memory/note.md", f"Once it was {TOKEN}.\n")
    before = ada.capture().sequence
    assert _cut(ada, "memory/note.md").exposed == before
    (found,) = (one for one in exposed_secrets.check(ada.context) if one.level is DoctorLevel.WARNING)
    assert found.fix == f"lifeboat purge {ada.agent.name} --text-stdin"


def test_of_a_file_in_which_nothing_is_reported_what_comes_later_is_cut(ada: Protected) -> None:
    assert _cut(ada, "MEMORY.md").cut == {}
    ada.write("MEMORY.md", f"{MEMORY}\n{TOKEN}\n")
    ada.capture()
    assert TOKEN.encode() not in ada.body("raw/openclaw/MEMORY.md")


def test_a_file_that_is_not_captured_is_refused(ada: Protected) -> None:
    with raises_code(AgentError.UNKNOWN_PATH) as refused:
        _cut(ada, "memory/no\nsuch.md")
    assert "\n" not in refused.value.message


def test_the_command_says_what_it_cut_and_how_to_purge_the_past(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.write("memory/note.md", f"Once it was {KEY}.\n")
    before = ada.capture().sequence
    monkeypatch.setenv("LIFEBOAT_HOME", str(ada.context.home.folder))
    (found,) = _findings(ada)
    document = run(*shlex.split(found.fix or "")[1:])
    assert document["cut"] == [{"path": NOTE, "places": [{"line": 1, "kind": "github_token"}]}]
    assert (document["left"], document["exposed_up_to"]) == ([], before)
    assert document["purge"] == f"lifeboat purge {ada.agent.name} --text-stdin"
    assert KEY not in str(document)


def test_what_was_cut_for_its_look_is_cut_by_a_machine_that_was_not_told(ada: Protected) -> None:
    """After an adoption the decision is only in the vault of the machine where the user took it."""
    ada.write("memory/note.md", "postgres://me:r7Kq2zW9@db.example.com/x\n")
    ada.capture()
    _cut(ada, "memory/note.md")
    with ada.context.vault(ada.agent.id) as vault:
        vault.set("cut_lookalikes", None)
    ada.write("memory/note.md", "Now postgres://me:r7Kq2zW9@db.example.com/y\n")
    ada.capture()
    assert b"r7Kq2zW9" not in ada.body(NOTE)


def test_what_was_cut_before_credentials_had_the_tag_is_cut_by_such_a_machine(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.write("memory/note.md", "postgres://me:r7Kq2zW9@db.example.com/x\n")
    ada.capture()
    with monkeypatch.context() as former:
        kind_of = secret_cutter._kind_of
        former.setattr(secret_cutter, "_kind_of", lambda secret: kind_of(secret)._replace(by_look=False))
        _cut(ada, "memory/note.md")
    assert all("tags" not in one for one in ada.document(archive_layout.CREDENTIALS)["credentials"])
    with ada.context.vault(ada.agent.id) as vault:
        vault.set("cut_lookalikes", None)
    ada.write("memory/note.md", "Now postgres://me:r7Kq2zW9@db.example.com/y\n")
    ada.capture()
    assert b"r7Kq2zW9" not in ada.body(NOTE)


# The way back -------------------------------------------------------------------------------------------------------


def test_what_is_no_longer_cut_is_captured_in_clear_and_reported_again(ada: Protected) -> None:
    ada.write("memory/note.md", f"Once it was {TOKEN}.\n")
    ada.write("memory/other.md", f"Also {TOKEN}.\n")
    ada.capture()
    _cut(ada, "memory/note.md")
    done = uncut_lookalikes(ada.context, ada.agent, ["memory/note.md"])
    assert [place.kind for place in done.in_clear[NOTE]] == ["github_token"]
    assert done.still_cut == []
    for path in (NOTE, "raw/openclaw/memory/other.md"):
        assert TOKEN.encode() in ada.body(path)
        assert "cuts" not in (ada.meta(path) or {})
    assert len(_findings(ada)) == 2


def test_it_stays_in_clear_when_the_file_changes(ada: Protected) -> None:
    ada.write("memory/note.md", f"Once it was {TOKEN}.\n")
    ada.capture()
    _cut(ada, "memory/note.md")
    uncut_lookalikes(ada.context, ada.agent, ["memory/note.md"])
    ada.write("memory/note.md", f"Now it is {TOKEN[:-1]}1.\n")
    ada.capture()
    assert TOKEN[:-1].encode() in ada.body(NOTE)


def test_a_file_that_another_machine_had_cut_is_kept_in_clear_too(ada: Protected) -> None:
    ada.write("memory/note.md", f"Once it was {TOKEN}.\n")
    ada.capture()
    _cut(ada, "memory/note.md")
    with ada.context.vault(ada.agent.id) as vault:
        vault.set("cut_lookalikes", None)
    uncut_lookalikes(ada.context, ada.agent, ["memory/note.md"])
    assert TOKEN.encode() in ada.body(NOTE)


def test_sequences_from_before_keep_it_sealed(ada: Protected) -> None:
    ada.write("memory/note.md", f"Once it was {TOKEN}.\n")
    ada.capture()
    sealed = _cut(ada, "memory/note.md").report.sequence
    uncut_lookalikes(ada.context, ada.agent, ["memory/note.md"])
    with ada.context.vault(ada.agent.id) as vault:
        assert TOKEN.encode() not in vault.state(sealed).body(NOTE)


def test_a_value_that_another_file_still_has_cut_stays_cut_and_that_is_said(ada: Protected) -> None:
    for path in ("memory/note.md", "memory/other.md"):
        ada.write(path, f"Once it was {TOKEN}.\n")
    ada.capture()
    _cut(ada, "memory/note.md", "memory/other.md")
    assert uncut_lookalikes(ada.context, ada.agent, ["memory/note.md"]).still_cut == [NOTE]
    assert TOKEN.encode() not in ada.body(NOTE)
    assert uncut_lookalikes(ada.context, ada.agent, ["memory/other.md"]).still_cut == []
    assert TOKEN.encode() in ada.body(NOTE)


def test_values_of_a_file_of_the_same_name_in_another_folder_stay_known(ada: Protected) -> None:
    for folder in ("home", "work"):
        ada.write(f"{folder}/note.md", f"Once it was {KEY[:-4]}{folder}.\n")
    ada.capture()
    _cut(ada, "home/note.md", "work/note.md")
    ada.write("work/note.md", "It is gone.\n")
    ada.capture()
    uncut_lookalikes(ada.context, ada.agent, ["home/note.md"])
    ada.write("memory/other.md", f"Once it was {KEY[:-4]}work.\n")
    ada.capture()
    assert f"{KEY[:-4]}work".encode() not in ada.body("raw/openclaw/memory/other.md")
    assert f"{KEY[:-4]}home".encode() in ada.body("artifacts/home/note.md")


def test_a_file_is_not_cut_for_its_look_because_one_of_the_same_name_is(ada: Protected) -> None:
    for folder in ("home", "work"):
        ada.write(f"{folder}/note.md", f"Once it was {KEY}.\n")
    ada.capture()
    _cut(ada, "home/note.md")
    with raises_code(AgentError.UNKNOWN_PATH, match="contains no text that was cut because it looks like a secret"):
        uncut_lookalikes(ada.context, ada.agent, ["work/note.md"])
    ada.write("work/note.md", f"Now it is {TOKEN}.\n")
    ada.capture()
    assert TOKEN.encode() in ada.body("artifacts/work/note.md")


def test_what_an_earlier_release_cut_is_known_by_the_name_of_its_file(ada: Protected) -> None:
    """That release wrote the name without its folder into labels and prints."""
    ada.write("memory/note.md", f"Once it was {KEY}.\n")
    ada.capture()
    with pytest.MonkeyPatch.context() as former:
        with_secrets = secret_lookalikes.add_chosen_secrets
        former.setattr(
            secret_lookalikes, "add_chosen_secrets", lambda name, *rest: with_secrets(name.rpartition("/")[2], *rest)
        )
        _cut(ada, "memory/note.md")
    with ada.context.vault(ada.agent.id) as vault:
        vault.set("cut_lookalikes", None)
    assert uncut_lookalikes(ada.context, ada.agent, ["memory/note.md"]).still_cut == []
    assert KEY.encode() in ada.body(NOTE)


def test_it_can_be_cut_again(ada: Protected) -> None:
    ada.write("memory/note.md", f"Once it was {TOKEN}.\n")
    ada.capture()
    for _ in range(2):
        _cut(ada, "memory/note.md")
        assert TOKEN.encode() not in ada.body(NOTE)
        uncut_lookalikes(ada.context, ada.agent, ["memory/note.md"])
        assert TOKEN.encode() in ada.body(NOTE)


def test_a_file_that_is_not_cut_for_its_look_is_refused(ada: Protected) -> None:
    with raises_code(AgentError.UNKNOWN_PATH, match="contains no text that was cut because it looks like a secret"):
        uncut_lookalikes(ada.context, ada.agent, ["MEMORY.md"])


def test_the_command_asks_first_and_says_what_is_in_clear(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.write("memory/note.md", f"Once it was {KEY}.\n")
    ada.capture()
    _cut(ada, "memory/note.md")
    monkeypatch.setenv("LIFEBOAT_HOME", str(ada.context.home.folder))
    words = ["agents", "uncut", ada.agent.name, "memory/note.md"]
    assert run(*words, expect=3)["error"]["code"] == "consent_needed"
    assert KEY.encode() not in ada.body(NOTE)
    document = run(*words, "--yes")
    assert document["in_clear"] == [{"path": NOTE, "places": [{"line": 1, "kind": "github_token"}]}]
    assert document["still_cut"] == []
    assert KEY not in str(document)
