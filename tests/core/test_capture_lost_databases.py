"""A missing or empty database of the runtime does not delete captured rows, and neither do rows that a restore did not
write."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_adapters.memory_stores import RowChoice
from lifeboat_core.agents import manage_agents, withheld_items
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.health import status_gathering
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.settings import config_file
from support.adapters.fake_openclaw import FakeOpenClaw
from support.adapters.openclaw_stores import api_key, put_own, put_shared, store
from support.adapters.openclaw_workspaces import StateFolder, make_state_database, make_state_dir
from support.core.protected import SteadyClock
from support.core.zeroclaw_protected import ProtectedClaw

DB = "raw/openclaw-home/db/"
CRON, EVENTS = f"{DB}state/cron_jobs.jsonl", f"{DB}agent/transcript_events.jsonl"
INTENTS, PROFILES = f"{DB}agent/standing_intents.jsonl", f"{DB}auth/profiles.jsonl"


class Juniper:
    """The agent `main` in a state directory, with transcripts."""

    def __init__(self, folder: Path) -> None:
        self.state: StateFolder = make_state_dir(folder / "user/.openclaw")
        around = {"LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder / "user"), "PATH": "/usr/bin:/bin"}
        self.clock = SteadyClock()
        self.context = Context.open(around, clock=self.clock)
        config_file.write_config(self.context.home, self.context.files, "transcripts", True)
        self.agent, self.first = manage_agents.protect_workspace(self.context, self.state.workspace, name="juniper")

    def capture(self) -> CaptureReport:
        self.clock.advance(minutes=1)
        return capture_agent(self.context, manage_agents.load_agent(self.context, self.agent.id))

    def rows(self, path: str) -> list[dict[str, object]]:
        with self.context.vault(self.agent.id) as vault:
            state = vault.state()
            body = b"" if state.entry(path) is None else state.body(path)
        return [json.loads(line) for line in body.splitlines()]

    def tables(self) -> dict[str, bytes]:
        with self.context.vault(self.agent.id) as vault:
            state = vault.state()
            return {entry.path: state.body(entry.path) for entry in state.entries(DB)}

    def restore_in_place(self) -> None:
        restore_agent(self.context, self.agent, RestoreOptions(yes=True, reindex=False))

    def schedule(self, job_id: str, name: str, key: str = "") -> None:
        with closing(sqlite3.connect(self.state.state_database)) as connection, connection:
            connection.execute(
                "INSERT INTO cron_jobs (store_key, job_id, name, enabled, agent_id, payload_kind, job_json, updated_at,"
                " declaration_key) VALUES ('jobs', ?, ?, 1, 'main', 'agentTurn', '{}', 0, ?)",
                (job_id, name, key or None),
            )


@pytest.fixture
def juniper(tmp_path: Path) -> Juniper:
    return Juniper(tmp_path)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def without_tables(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")


LOSSES = {Path.unlink: "does not exist", empty: "is empty (0 bytes)", without_tables: "is empty (no tables)"}


@pytest.mark.parametrize("lose", LOSSES)
def test_rows_of_databases_that_are_gone_or_empty_stay_and_each_is_named_at_every_capture(
    juniper: Juniper, lose: Callable[[Path], None]
) -> None:
    before = juniper.tables()
    assert {CRON, EVENTS, INTENTS} <= before.keys()
    for path in (juniper.state.state_database, juniper.state.agent_database()):
        lose(path)
    for report in (juniper.capture(), juniper.capture()):
        assert {CRON, EVENTS, INTENTS} <= report.unread.keys()
        assert f"openclaw.sqlite {LOSSES[lose]}; " in report.unread[CRON]
        assert not report.complete
    assert juniper.tables() == before
    standing = status_gathering.gather_status(juniper.context)
    assert (standing.state, standing.needs_the_user, standing.agents[0].fix) == ("waiting", True, None)
    assert any("lifeboat agents accept juniper" in reason for reason in standing.agents[0].reasons)


def test_one_table_that_is_gone_stays_while_the_others_are_captured(juniper: Juniper) -> None:
    with closing(sqlite3.connect(juniper.state.state_database)) as connection, connection:
        connection.execute("DROP TABLE cron_job_scratch")
    juniper.schedule("job-new", "New")
    report = juniper.capture()
    assert list(report.unread) == [f"{DB}state/cron_job_scratch.jsonl"]
    assert "job-new" in [row["job_id"] for row in juniper.rows(CRON)]
    assert juniper.rows(f"{DB}state/cron_job_scratch.jsonl") != []


def test_the_whole_runtime_folder_lost_but_its_configuration_removes_nothing(juniper: Juniper) -> None:
    before = juniper.tables()
    shutil.rmtree(juniper.state.folder / "state")
    shutil.rmtree(juniper.state.folder / "agents")
    juniper.capture()
    assert juniper.tables() == before


def test_rows_that_were_deleted_from_their_table_are_deleted(juniper: Juniper) -> None:
    with closing(sqlite3.connect(juniper.state.state_database)) as connection, connection:
        connection.execute("DELETE FROM cron_jobs WHERE job_id = 'job-tides'")
    assert juniper.capture().unread == {}
    assert [row["job_id"] for row in juniper.rows(CRON)] == ["job-heartbeat"]


def test_accepting_removes_the_rows_of_a_lost_database(juniper: Juniper) -> None:
    juniper.state.state_database.unlink()
    juniper.capture()
    manage_agents.accept_removals(juniper.context, juniper.agent)
    assert juniper.capture().unread == {}
    assert juniper.rows(CRON) == []


def test_credentials_of_a_lost_database_stay_beside_those_of_one_that_is_there(juniper: Juniper) -> None:
    shared = api_key("orchard", "sk-example-orchard-1111-not-a-real-key")
    own = api_key("meadow", "sk-example-meadow-2222-not-a-real-key")
    put_shared(juniper.state.state_database, store(orchard__default=shared))
    juniper.state.agent_database().unlink()
    put_own(juniper.state.agent_database(), store(meadow__default=own))
    juniper.capture()
    before = juniper.rows(PROFILES)
    assert {row["store"] for row in before} == {"shared", "agent"}
    juniper.state.state_database.unlink()
    assert PROFILES in juniper.capture().unread
    assert juniper.rows(PROFILES) == before


def test_rows_that_a_restore_could_not_write_stay_beside_those_of_the_new_databases(juniper: Juniper) -> None:
    before = juniper.rows(CRON)
    shutil.rmtree(juniper.state.folder)
    juniper.restore_in_place()
    assert juniper.rows(CRON) == before
    make_state_database(juniper.state)
    with closing(sqlite3.connect(juniper.state.state_database)) as connection, connection:
        connection.execute("DELETE FROM cron_jobs")
    juniper.schedule("job-own", "Of the new installation")
    juniper.capture()
    assert [row["job_id"] for row in juniper.rows(CRON)] == ["job-own", *(row["job_id"] for row in before)]
    assert not juniper.capture().changed
    assert juniper.rows(EVENTS) != []


def test_a_job_that_is_scheduled_again_takes_the_place_of_the_one_that_waited(juniper: Juniper) -> None:
    shutil.rmtree(juniper.state.folder)
    juniper.restore_in_place()
    make_state_database(juniper.state)
    with closing(sqlite3.connect(juniper.state.state_database)) as connection, connection:
        connection.execute("DELETE FROM cron_jobs")
    juniper.schedule("job-other-id", "Tide table", "lifeboat:job-tides")
    juniper.capture()
    assert sorted(str(row["job_id"]) for row in juniper.rows(CRON)) == ["job-heartbeat", "job-other-id"]
    with closing(sqlite3.connect(juniper.state.state_database)) as connection, connection:
        connection.execute("DELETE FROM cron_jobs")
    juniper.capture()
    assert [row["job_id"] for row in juniper.rows(CRON)] == ["job-heartbeat"]


def test_accepting_removes_rows_that_wait_since_a_restore(juniper: Juniper) -> None:
    shutil.rmtree(juniper.state.folder)
    juniper.restore_in_place()
    make_state_database(juniper.state)
    with closing(sqlite3.connect(juniper.state.state_database)) as connection, connection:
        connection.execute("DELETE FROM cron_jobs")
    juniper.capture()
    assert juniper.rows(CRON) != []
    manage_agents.accept_removals(juniper.context, juniper.agent)
    with juniper.context.vault(juniper.agent.id) as vault:
        assert withheld_items.list_withheld_rows(vault, DB) == {}
    juniper.capture()
    assert juniper.rows(CRON) == []


@pytest.mark.parametrize("doctor", ["works", "fails"])
def test_sessions_come_back_through_the_program_or_stay_in_the_archive(juniper: Juniper, doctor: str) -> None:
    fake = FakeOpenClaw.install(juniper.state.folder.parent / "bin")
    fake.behave(doctor=doctor)
    around = dict(juniper.context.environment) | {"PATH": f"{fake.folder}:/usr/bin:/bin"}
    juniper.context = Context.open(around, clock=juniper.clock)
    before = juniper.rows(EVENTS)
    shutil.rmtree(juniper.state.folder)
    chosen = RowChoice(sessions=True)
    report = restore_agent(juniper.context, juniper.agent, RestoreOptions(yes=True, reindex=False, rows=chosen))
    sessions = juniper.state.folder / "agents/main/sessions"
    assert list(sessions.iterdir()) == []
    juniper.capture()
    texts = {str(json.loads(str(row["event_json"]))) for row in juniper.rows(EVENTS)}
    assert texts == {str(json.loads(str(row["event_json"]))) for row in before}
    with juniper.context.vault(juniper.agent.id) as vault:
        waits = EVENTS in withheld_items.list_withheld_rows(vault, DB)
    assert waits is (doctor == "fails")
    assert any("OpenClaw's sessions" in warning for warning in report.warnings) is (doctor == "fails")


# ZeroClaw -----------------------------------------------------------------------------------------------------------

CLAW = "raw/zeroclaw-home/db/"
TABLES = {
    "cron/jobs.db": ("cron_jobs", "CREATE TABLE cron_jobs (id TEXT PRIMARY KEY, command TEXT)"),
    "sessions/sessions.db": ("sessions", "CREATE TABLE sessions (id TEXT PRIMARY KEY, command TEXT)"),
}


@pytest.mark.parametrize("lose", LOSSES)
def test_rows_of_zeroclaws_other_databases_stay_too(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    ada = ProtectedClaw(tmp_path)
    paths = {f"{CLAW}{name.partition('/')[0]}/{table}.jsonl" for name, (table, _) in TABLES.items()}
    for name, (table, schema) in TABLES.items():
        path = ada.install.data / name
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(schema)
            connection.execute(f"INSERT INTO {table} VALUES ('a', 'tide')")
    for setting in ("cron", "transcripts"):
        config_file.write_config(ada.context.home, ada.context.files, setting, True)
    ada.add()
    for name in TABLES:
        lose(ada.install.data / name)
    assert ada.capture().unread.keys() == paths
    with ada.context.vault(ada.agent.id) as vault:
        assert paths <= {entry.path for entry in vault.state().entries(CLAW)}
