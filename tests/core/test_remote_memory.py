"""An agent whose memories are in PostgreSQL: captured when the user says so, and kept while the server is away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.agents import manage_agents
from support.core.postgres_claw import execute, remembering
from support.core.zeroclaw_protected import ProtectedClaw, files_with
from support.postgres_server import PASSWORD, PostgresServer, running

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as made:
        yield made


@pytest.fixture
def ada(tmp_path: Path, server: PostgresServer) -> Iterator[ProtectedClaw]:
    with remembering(tmp_path, server) as made:
        yield made


def test_memories_of_a_server_are_captured_and_followed(ada: ProtectedClaw, server: PostgresServer) -> None:
    assert ada.memories() == {}
    assert ada.capture().records == {"created": 2}
    assert not ada.capture().changed
    execute(server, "UPDATE memories SET content = 'Likes coffee', updated_at = '2026-11-12' WHERE key = 'tea'")
    execute(server, "DELETE FROM memories WHERE key = 'boat'")
    assert ada.capture().records == {"updated": 1, "deleted": 1}
    assert set(ada.memories()) == {"Likes coffee"}


def test_a_table_that_is_gone_is_no_deletion(ada: ProtectedClaw, server: PostgresServer) -> None:
    ada.capture()
    execute(server, "ALTER TABLE memories RENAME TO others")
    report = ada.capture()
    assert "does not exist" in " ".join(report.unread.values())
    assert set(ada.memories()) == {"Likes green tea", "The red boat"}


def test_a_server_that_must_not_be_asked_any_more_is_no_deletion(ada: ProtectedClaw) -> None:
    ada.capture()
    manage_agents.write_setting(
        ada.context, manage_agents.load_agent(ada.context, ada.agent.id), "remote_memory", False
    )
    assert "not captured" in " ".join(ada.capture().unread.values())
    assert len(ada.memories()) == 2


def test_the_password_of_the_server_is_in_nothing_that_is_kept(ada: ProtectedClaw) -> None:
    ada.capture()
    assert files_with(ada.folder / "home", [PASSWORD]) == []
