from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.memory_stores import DatabaseWrite, RowChoice
from lifeboat_adapters.zeroclaw import ADAPTER, zeroclaw_paths
from lifeboat_adapters.zeroclaw.databases import durable_rows
from lifeboat_adapters.zeroclaw.restore.database_writing import plan_database_writes
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import zeroclaw_installs as installs
from support.adapters import zeroclaw_restores as restores
from support.adapters.zeroclaw_installs import Install
from support.adapters.zeroclaw_restores import NEWER, OLDER, lines

ALL = RowChoice(cron=True, sessions=True)
JOB = {"id": "job-1", "expression": "0 9 * * *", "command": "", "prompt": "Say hello", "job_type": "agent"}
JOB |= {"created_at": OLDER, "next_run": OLDER, "source": "imperative", "agent_alias": "default", "enabled": 1}
METADATA = {"session_key": "tg_1", "created_at": OLDER, "last_activity": OLDER, "message_count": 1}
MESSAGE = {"id": 1, "session_key": "tg_1", "role": "user", "content": "Hello there", "created_at": OLDER}
NODE = {"id": "n1", "node_type": "lesson", "title": "Tea", "content": "Steep it", "tags": "a,b"}
NODE |= {"created_at": OLDER, "updated_at": OLDER, "source_project": None}
EDGE = {"from_id": "n1", "to_id": "n2", "relation": "uses"}
KNOWLEDGE = {f"{zeroclaw_paths.KNOWLEDGE}nodes.jsonl": lines(NODE, {**NODE, "id": "n2"})}
KNOWLEDGE |= {f"{zeroclaw_paths.KNOWLEDGE}edges.jsonl": lines(EDGE)}
EVERY = {
    zeroclaw_paths.CRON_JOBS: lines(JOB),
    f"{zeroclaw_paths.SESSIONS}session_metadata.jsonl": lines(METADATA),
    f"{zeroclaw_paths.SESSIONS}sessions.jsonl": lines(MESSAGE),
    **KNOWLEDGE,
}


@pytest.fixture(params=["0.5.9", "0.8.3"])
def found(request: Any, tmp_path: Path) -> Installation:
    return restores.located(installs.make_install(tmp_path / "home", request.param))


@pytest.fixture
def current(tmp_path: Path) -> Install:
    return installs.make_install(tmp_path / "home", agents=("default", "ada"))


def plan(installation: Installation, given: dict[str, bytes], **fields: Any) -> dict[str, DatabaseWrite]:
    order = restores.order(MemoryState(), tables=given, **{"choice": ALL, **fields})
    return {
        write.path.name: write for write in plan_database_writes(installation, order) if write.path.name != "brain.db"
    }


def restore(installation: Installation, given: dict[str, bytes], **fields: Any) -> dict[str, DatabaseWrite]:
    writes = plan(installation, given, **fields)
    for write in writes.values():
        if write.changes:
            restores.put(write)
    return writes


def rows(path: Path, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]


def told(write: DatabaseWrite) -> list[tuple[str, str]]:
    return [(fate.name.rpartition("/")[2], fate.outcome.value) for fate in write.fates]


def test_every_row_comes_back_as_a_capture_finds_it(found: Installation) -> None:
    restore(found, EVERY)
    captured: dict[str, list[Any]] = {}
    for row in durable_rows.read_zeroclaw_rows(found, transcripts=True, cron=True):
        captured.setdefault(row.path, []).append(row.values)
    assert {path: len(captured[path]) for path in EVERY} == {path: data.count(b"\n") for path, data in EVERY.items()}
    assert captured[zeroclaw_paths.CRON_JOBS][0].items() >= JOB.items()
    assert captured[f"{zeroclaw_paths.SESSIONS}sessions.jsonl"] == [MESSAGE]


def test_a_second_restore_changes_nothing(found: Installation) -> None:
    restore(found, EVERY)
    assert [write.changes for write in plan(found, EVERY).values()] == [False, False, False]


def test_jobs_and_transcripts_stay_out_unless_they_are_asked_for(found: Installation) -> None:
    assert list(plan(found, EVERY, choice=RowChoice())) == ["knowledge.db"]


def test_an_archive_without_such_rows_makes_no_databases(found: Installation) -> None:
    assert plan(found, {}) == {}


def test_what_became_of_each_row_is_told_by_its_line(found: Installation) -> None:
    writes = plan(found, {zeroclaw_paths.CRON_JOBS: b"\n" + lines(JOB) + b"broken\n" + lines({"id": "no more"})})
    assert told(writes["jobs.db"]) == [
        ("cron_jobs.jsonl#2", "accepted"),
        ("cron_jobs.jsonl#3", "rejected"),
        ("cron_jobs.jsonl#4", "rejected"),
    ]


def test_a_job_belongs_to_the_agent_by_the_name_that_it_has_here(current: Install) -> None:
    restore(restores.located(current, "ada"), EVERY)
    assert [job["agent_alias"] for job in rows(current.data / "cron" / "jobs.db", "cron_jobs")] == ["ada"]


def test_a_job_of_another_agent_is_not_taken_over(current: Install) -> None:
    restore(restores.located(current), EVERY)
    changed = {zeroclaw_paths.CRON_JOBS: lines({**JOB, "prompt": "Say something else"})}
    writes = plan(restores.located(current, "ada"), changed, exact=True)
    assert (writes["jobs.db"].changes, told(writes["jobs.db"])) == (False, [("cron_jobs.jsonl#1", "rejected")])


def test_a_job_that_an_upgrade_left_behind_is_put_where_it_runs(current: Install) -> None:
    restore(restores.located(current), {zeroclaw_paths.CRON_JOBS: lines({**JOB, durable_rows.STRANDED: True})})
    assert [job["id"] for job in rows(current.data / "cron" / "jobs.db", "cron_jobs")] == ["job-1"]


def test_a_job_that_is_here_otherwise_stays(current: Install) -> None:
    restore(restores.located(current), EVERY)
    writes = plan(restores.located(current), {zeroclaw_paths.CRON_JOBS: lines({**JOB, "prompt": "Else"})})
    assert told(writes["jobs.db"]) == [("cron_jobs.jsonl#1", "rejected")]


def test_an_exact_restore_brings_a_job_back(current: Install) -> None:
    restore(restores.located(current), {zeroclaw_paths.CRON_JOBS: lines({**JOB, "prompt": "Else"})})
    restore(restores.located(current), EVERY, exact=True)
    assert [job["prompt"] for job in rows(current.data / "cron" / "jobs.db", "cron_jobs")] == ["Say hello"]


def test_messages_get_another_number_where_theirs_is_taken(current: Install) -> None:
    restore(restores.located(current), EVERY)
    other = {f"{zeroclaw_paths.SESSIONS}sessions.jsonl": lines({**MESSAGE, "content": "Another one"})}
    restore(restores.located(current), other)
    found = rows(current.data / "sessions" / "sessions.db", "sessions")
    assert [(row["id"], row["content"]) for row in found] == [(1, "Hello there"), (2, "Another one")]


def test_restored_messages_are_found_by_their_words(current: Install) -> None:
    restore(restores.located(current), EVERY)
    with closing(sqlite3.connect(current.data / "sessions" / "sessions.db")) as connection:
        found = connection.execute("SELECT rowid FROM sessions_fts WHERE sessions_fts MATCH 'hello'").fetchall()
    assert found == [(1,)]


def test_a_newer_node_counts(current: Install) -> None:
    restore(restores.located(current), EVERY)
    newer = {f"{zeroclaw_paths.KNOWLEDGE}nodes.jsonl": lines({**NODE, "title": "Green tea", "updated_at": NEWER})}
    restore(restores.located(current), newer)
    assert {row["title"] for row in rows(current.home / "knowledge.db", "nodes")} == {"Green tea", "Tea"}


def test_an_edge_to_nowhere_is_told_and_not_written(current: Install) -> None:
    given = {
        f"{zeroclaw_paths.KNOWLEDGE}nodes.jsonl": lines(NODE),
        f"{zeroclaw_paths.KNOWLEDGE}edges.jsonl": lines(EDGE),
    }
    writes = restore(restores.located(current), given)
    assert told(writes["knowledge.db"])[1] == ("edges.jsonl#1", "unresolved")
    assert rows(current.home / "knowledge.db", "edges") == []


def test_a_table_of_an_older_release_gets_the_columns_that_it_has(current: Install) -> None:
    path = current.data / "cron" / "jobs.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE cron_jobs (id TEXT PRIMARY KEY, expression TEXT NOT NULL, command TEXT NOT NULL,"
            " created_at TEXT NOT NULL, next_run TEXT NOT NULL)"
        )
        connection.commit()
    restore(restores.located(current), EVERY)
    assert rows(path, "cron_jobs")[0]["expression"] == "0 9 * * *"


@pytest.mark.parametrize("data", [b"", b"no database" * 1000])
def test_a_database_that_cannot_be_read_is_named_and_stays(current: Install, data: bytes) -> None:
    path = current.data / "cron" / "jobs.db"
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(RuntimeDatabaseError, match=r"jobs\.db"):
        plan(restores.located(current), EVERY)
    assert path.read_bytes() == data


def test_the_adapter_writes_them(current: Install) -> None:
    order = restores.order(MemoryState(), tables=EVERY, choice=ALL)
    names = [write.path.name for write in ADAPTER.databases.plan_writes(restores.located(current), order)]
    assert names == ["brain.db", "jobs.db", "sessions.db", "knowledge.db"]
