"""Restoring an agent whose memories are in PostgreSQL: into the server when the user says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.zeroclaw import server_memories
from lifeboat_core.agents import manage_agents
from lifeboat_core.restore import RestoreOptions, carry_out_plan, open_plan
from lifeboat_core.restore.restore_report import RestoreReport
from support.core.postgres_claw import execute, remembering
from support.core.zeroclaw_protected import ProtectedClaw
from support.postgres_server import PASSWORD, PostgresServer, running

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as made:
        yield made


@pytest.fixture
def ada(tmp_path: Path, server: PostgresServer) -> Iterator[ProtectedClaw]:
    with remembering(tmp_path, server) as made:
        made.capture()
        yield made


def restored(claw: ProtectedClaw, target: Path | None = None, **options: Any) -> RestoreReport:
    agent = manage_agents.load_agent(claw.context, claw.agent.id)
    with open_plan(claw.context, agent, target, RestoreOptions(yes=True, reindex=False, **options)) as plan:
        return carry_out_plan(claw.context, plan)


def texts(server: PostgresServer) -> set[str]:
    with psycopg.connect(server.address()) as connection:
        return {text for (text,) in connection.execute("SELECT content FROM memories")}


def fates(report: RestoreReport) -> dict[str, dict[str, Any]]:
    return {each["outcome"]: each for each in report.fates if each["kind"] == "memory"}


def test_memories_that_are_gone_are_put_back_into_the_server(ada: ProtectedClaw, server: PostgresServer) -> None:
    before = ada.head()
    execute(server, "DELETE FROM memories WHERE key = 'boat'")
    ada.capture()
    report = restored(ada, at=before)
    assert texts(server) == {"Likes green tea", "The red boat"}
    memories = ada.memories(before)
    assert fates(report)["accepted"]["names"] == [memories["The red boat"]["id"]]
    assert memories["Likes green tea"]["id"] in fates(report)["deduplicated"]["names"]
    assert set(ada.memories(report.captured)) == {"Likes green tea", "The red boat"}


def test_the_receipt_says_that_undo_does_not_take_them_back(ada: ProtectedClaw, server: PostgresServer) -> None:
    before = ada.head()
    execute(server, "DELETE FROM memories WHERE key = 'boat'")
    ada.capture()
    said = " ".join(restored(ada, at=before).warnings)
    assert "1 memory was written to PostgreSQL; `lifeboat undo` does not remove them" in said


def test_no_database_is_made_beside_a_server(ada: ProtectedClaw) -> None:
    restored(ada)
    assert not ada.install.database.exists()


def test_a_server_that_may_not_be_asked_is_not_written_to(ada: ProtectedClaw, server: PostgresServer) -> None:
    before = ada.head()
    execute(server, "DELETE FROM memories WHERE key = 'boat'")
    ada.capture()
    manage_agents.write_setting(ada.context, ada.agent, "remote_memory", False)
    report = restored(ada, at=before)
    assert texts(server) == {"Likes green tea"}
    assert server_memories.ALLOW in fates(report)["unresolved"]["reason"]
    assert report.outcomes["unresolved"] >= 2


def test_a_server_that_is_away_is_no_failure_of_the_restore(ada: ProtectedClaw, server: PostgresServer) -> None:
    config = ada.install.home / "config.toml"
    config.write_text(config.read_text().replace(str(server.folder), "/nowhere"))
    report = restored(ada)
    assert "cannot be reached" in fates(report)["unresolved"]["reason"]
    assert PASSWORD not in str(report.to_json())


def test_a_copy_elsewhere_puts_its_memories_into_the_server_that_its_configuration_names(
    ada: ProtectedClaw, server: PostgresServer, tmp_path: Path
) -> None:
    target = tmp_path / "copy" / "agents" / "nova" / "workspace"
    report = restored(ada, target, with_credentials=True)
    assert not (tmp_path / "copy/data/memory/brain.db").exists()
    with psycopg.connect(server.address()) as connection:
        found = connection.execute(
            "SELECT count(*) FROM memories JOIN agents a ON a.id = agent_id WHERE alias = 'nova'"
        )
        assert found.fetchone() == (2,)
    assert report.outcomes["unresolved"] == 0
