"""Which rows of a runtime's databases a capture reads, and what it reports when one is missing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.settings import config_file
from support.core.zeroclaw_protected import ProtectedClaw

JOBS = "raw/zeroclaw-home/db/cron/cron_jobs.jsonl"
PREFIX = "raw/zeroclaw-home/db/"


@pytest.fixture
def ada(tmp_path: Path) -> ProtectedClaw:
    made = ProtectedClaw(tmp_path)
    path = made.install.data / "cron/jobs.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE cron_jobs (id TEXT PRIMARY KEY, command TEXT, last_run TEXT)")
        connection.execute("INSERT INTO cron_jobs VALUES ('a', 'tide', 'then')")
    made.age(made.install.home)
    return made


def held(ada: ProtectedClaw, path: str) -> bytes | None:
    with ada.context.vault(ada.agent.id) as vault:
        state = vault.state()
        return None if state.entry(path) is None else state.body(path)


def test_scheduled_jobs_are_captured_when_asked_for(ada: ProtectedClaw) -> None:
    ada.add()
    assert held(ada, JOBS) is None
    config_file.write_config(ada.context.home, ada.context.files, "cron", True)
    ada.capture()
    assert held(ada, JOBS) == b'{"id":"a","command":"tide"}\n'


def test_a_restore_says_what_puts_scheduled_jobs_back(ada: ProtectedClaw, tmp_path: Path) -> None:
    config_file.write_config(ada.context.home, ada.context.files, "cron", True)
    ada.add()
    report = restore_agent(
        ada.context, ada.agent, RestoreOptions(to=tmp_path / "x/agents/default/workspace", reindex=False)
    )
    (said,) = [one for one in report.fates if one["names"] == [f"{JOBS}#1"]]
    assert (said["outcome"], said["reason"]) == ("omitted", "not requested; use --with-cron to restore it")


def test_rows_of_a_database_that_is_gone_stay_and_it_is_named(ada: ProtectedClaw) -> None:
    ada.add()
    ada.install.database.unlink()
    report = ada.capture()
    assert "brain.db does not exist" in report.unread[PREFIX]
    assert held(ada, f"{PREFIX}brain/agents.jsonl")


def test_an_agent_that_never_had_a_database_is_no_reason_to_worry(ada: ProtectedClaw) -> None:
    ada.install.database.unlink()
    assert ada.add().unread == {}
    assert ada.capture().unread == {}
