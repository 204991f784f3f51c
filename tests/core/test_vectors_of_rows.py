"""Vectors of a memory database in captures, archives and deltas, and the setting for servers."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.memory.embeddings import StateVectors
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_core.agents import manage_agents
from lifeboat_core.exchange.agent_export import ExportOptions, export_agent
from support.adapters.zeroclaw_installs import packed
from support.core.zeroclaw_protected import ProtectedClaw
from support.vault.vaults import content_of

LATELY = "2026-11-10T08:00:00+00:00"
MODEL = "openai/example"


@pytest.fixture
def ada(tmp_path: Path) -> ProtectedClaw:
    made = ProtectedClaw(tmp_path)
    named = (("embedding_provider", "openai"), ("embedding_model", "example"), ("embedding_dimensions", "2"))
    for pair in named:
        made.install.execute("insert into memory_meta values (?, ?)", *pair)
    made.install.remember("tea", "Likes green tea", created_at=LATELY, embedding=packed(0.1, 0.2))
    made.install.remember("boat", "The red boat", created_at=LATELY, embedding=packed(0.3, 0.4))
    made.install.remember("dog", "A dog called Rex", created_at=LATELY)
    made.add()
    return made


def kept(ada: ProtectedClaw, number: int | None = None) -> dict[str, bytes | None]:
    """Return the vectors of the agent's memories, by text."""
    with ada.context.vault(ada.agent.id) as vault:
        vectors = StateVectors(vault.state(number))
        return {text: vectors.packed(one["id"], MODEL) for text, one in ada.memories(number).items()}


def test_rows_bring_their_vectors_byte_for_byte(ada: ProtectedClaw) -> None:
    wanted = {"Likes green tea": packed(0.1, 0.2), "The red boat": packed(0.3, 0.4), "A dog called Rex": None}
    assert kept(ada) == wanted


def test_a_new_text_has_its_new_vector_and_a_deleted_row_none(ada: ProtectedClaw) -> None:
    before = ada.memories()["The red boat"]["id"]
    ada.install.execute("update memories set content = 'Likes coffee', embedding = ? where key = 'tea'", packed(5, 6))
    ada.install.execute("delete from memories where key = 'boat'")
    ada.capture()
    assert kept(ada) == {"Likes coffee": packed(5, 6), "A dog called Rex": None}
    with ada.context.vault(ada.agent.id) as vault:
        assert StateVectors(vault.state()).of(before) == []


def test_a_text_without_a_vector_keeps_none_of_the_former_text(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set content = 'Likes coffee', embedding = null where key = 'tea'")
    ada.capture()
    assert kept(ada)["Likes coffee"] is None


def test_a_vector_that_came_later_is_kept_without_a_change_of_the_memory(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set embedding = ? where key = 'dog'", packed(7, 8))
    assert not ada.capture().records
    assert kept(ada)["A dog called Rex"] == packed(7, 8)


def test_rubbish_in_the_vector_column_stops_nothing_and_is_said(ada: ProtectedClaw) -> None:
    for key, rubbish in (("odd", b"\0\0\0"), ("text", "[0.1, 0.2]"), ("nan", packed(float("nan"), 0)), ("none", b"")):
        ada.install.remember(key, f"Something {key}", created_at=LATELY, embedding=rubbish)
    report = ada.capture()
    assert report.records == {"created": 4}
    assert any("because they do not consist of 2 finite numbers" in warning for warning in report.warnings)


def test_lost_caches_change_nothing(ada: ProtectedClaw) -> None:
    before = kept(ada)
    ada.lose_caches()
    assert not ada.capture().changed
    ada.install.execute("update memories set embedding = ? where key = 'dog'", packed(7, 8))
    ada.capture()
    assert kept(ada) == {**before, "A dog called Rex": packed(7, 8)}


def test_a_delta_leads_from_the_former_vectors_to_the_new_ones(ada: ProtectedClaw, tmp_path: Path) -> None:
    workspace = ada.install.workspace()
    export_agent(ada.context, "zeroclaw", workspace, tmp_path / "base.alf")
    ada.install.execute("update memories set content = 'Likes coffee', embedding = ? where key = 'tea'", packed(5, 6))
    ada.install.execute("delete from memories where key = 'boat'")
    ada.capture()
    export_agent(ada.context, "zeroclaw", workspace, tmp_path / "next.alfd", ExportOptions(since=0))
    delta = DeltaReader(io.BytesIO((tmp_path / "next.alfd").read_bytes()))
    with SnapshotReader(tmp_path / "base.alf") as base, ada.context.vault(ada.agent.id) as vault:
        assert content_of(AppliedState(base, delta)) == content_of(vault.state())


def test_inline_vectors_stand_in_the_records(ada: ProtectedClaw, tmp_path: Path) -> None:
    export_agent(
        ada.context, "zeroclaw", ada.install.workspace(), tmp_path / "a.alf", ExportOptions(embeddings_inline=True)
    )
    with SnapshotReader(tmp_path / "a.alf") as found:
        lines = b"\n".join(record.line for record in found.records())
    assert lines.count(b'"model":"openai/example"') == 2


def test_a_server_is_asked_only_when_the_setting_says_so(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    config = ada.install.home / "config.toml"
    server = '[storage.postgres.main]\ndb_url = "postgresql://ada:not-a-real-password@/ada?host=/nowhere"\n'
    text = config.read_text().replace("sqlite.default", "postgres.main")
    config.write_text(f"{text}\n{server}")
    said = " ".join(ada.add().unread.values())
    assert "stores its memories in PostgreSQL" in said and "lifeboat config set remote_memory true" in said
    manage_agents.write_setting(ada.context, ada.agent, "remote_memory", True)
    said = " ".join(ada.capture().unread.values())
    assert "cannot be reached" in said and "not-a-real-password" not in said
