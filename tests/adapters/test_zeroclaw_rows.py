"""Durable rows of ZeroClaw's other databases, separated by agent, and rows that an upgrade left behind."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.errors import DatabaseAbsent, RuntimeConfigError, RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryTable
from lifeboat_adapters.zeroclaw import ADAPTER
from support.adapters.zeroclaw_installs import EARLY_GENERATIONS, GENERATIONS, Install, make_install

DB = "raw/zeroclaw-home/db/"
CURRENT_JOBS = (
    "CREATE TABLE cron_jobs (id TEXT PRIMARY KEY, expression TEXT, command TEXT, source TEXT DEFAULT 'imperative',"
    " agent_alias TEXT, next_run TEXT, last_run TEXT, last_status TEXT, last_output TEXT, locked_at TEXT)"
)
EARLY_JOBS = "CREATE TABLE cron_jobs (id TEXT PRIMARY KEY, expression TEXT, command TEXT, next_run TEXT, last_run TEXT)"
SESSIONS = (
    "CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, session_key TEXT, role TEXT, content TEXT);"
    "CREATE TABLE session_metadata (session_key TEXT PRIMARY KEY, name TEXT, state TEXT DEFAULT 'idle', turn_id TEXT,"
    " agent_alias TEXT)"
)


def located(made: Install, alias: str = "default") -> Installation:
    return ADAPTER.locate(made.workspace(alias), {}, made.home.parent)


def rows(made: Install, alias: str = "default", **options: bool) -> list[RuntimeRow]:
    return list(ADAPTER.databases.rows(located(made, alias), **{"transcripts": False, "cron": False, **options}))


def values(found: list[RuntimeRow], name: str) -> list[dict[str, Any]]:
    return [row.values for row in found if row.path == f"{DB}{name}.jsonl"]


def run(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)
    return path


# The memory database --------------------------------------------------------------------------------------------------


def test_the_agents_own_row_and_what_is_said_of_the_database_are_carried(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    made.execute("INSERT INTO memory_meta VALUES ('embedding_model', 'm')")
    found = rows(made, "rover")
    assert [row["alias"] for row in values(found, "brain/agents")] == ["rover"]
    assert values(found, "brain/memory_meta") == [{"key": "embedding_model", "value": "m"}]
    assert [row["component"] for row in values(found, "brain/schema_version")] == ["memories"]


@pytest.mark.parametrize("generation", EARLY_GENERATIONS)
def test_early_generations_hold_nothing_but_memories(tmp_path: Path, generation: str) -> None:
    assert rows(make_install(tmp_path / ".zeroclaw", generation)) == []


def test_memories_and_caches_are_no_rows(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.remember("a", "b")
    made.execute("INSERT INTO embedding_cache VALUES ('h', x'00', '', '')")
    assert {row.path.rpartition("/")[2] for row in rows(made)} == {"agents.jsonl", "schema_version.jsonl"}


def test_without_the_memory_database_no_row_is_taken_for_gone(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.database.unlink()
    with pytest.raises(DatabaseAbsent):
        rows(made)


# Knowledge ------------------------------------------------------------------------------------------------------------

GRAPH = (
    "CREATE TABLE nodes (id TEXT PRIMARY KEY, title TEXT); CREATE TABLE edges (from_id TEXT, to_id TEXT, relation TEXT,"
    " PRIMARY KEY (from_id, to_id)); INSERT INTO nodes VALUES ('1', 'Boat'); INSERT INTO edges VALUES ('1', '1', 'is')"
)


def test_the_knowledge_graph_is_carried_with_the_first_agent(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    run(made.home / "knowledge.db", GRAPH)
    assert values(rows(made), "knowledge/nodes") == [{"id": "1", "title": "Boat"}]
    assert values(rows(made), "knowledge/edges") == [{"from_id": "1", "to_id": "1", "relation": "is"}]
    assert values(rows(made, "rover"), "knowledge/nodes") == []


def test_a_knowledge_graph_elsewhere_is_followed(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    run(tmp_path / "graph.db", GRAPH)
    with (made.home / "config.toml").open("a") as stream:
        stream.write(f'\n[knowledge]\ndb_path = "{tmp_path / "graph.db"}"\n')
    assert len(values(rows(made), "knowledge/nodes")) == 1


# Scheduled jobs -------------------------------------------------------------------------------------------------------


def jobs(path: Path, ddl: str, *lines: tuple[Any, ...]) -> None:
    run(path, ddl)
    with closing(sqlite3.connect(path)) as connection, connection:
        for line in lines:
            connection.execute(f"INSERT INTO cron_jobs VALUES ({', '.join('?' * len(line))})", line)


def job(id: str, alias: str | None = None, source: str = "imperative") -> tuple[Any, ...]:
    return (id, "0 7 * * *", f"tide {id}", source, alias, "2026-11-21T07:00:00Z", "then", "ok", "x", "now")


def test_jobs_are_carried_only_when_asked_for(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    jobs(made.data / "cron/jobs.db", CURRENT_JOBS, job("a"))
    assert values(rows(made), "cron/cron_jobs") == []
    (found,) = values(rows(made, cron=True), "cron/cron_jobs")
    assert found["command"] == "tide a"


def test_what_the_last_run_left_is_no_part_of_a_job(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    jobs(made.data / "cron/jobs.db", CURRENT_JOBS, job("a"))
    (found,) = values(rows(made, cron=True), "cron/cron_jobs")
    assert found.keys() == {"id", "expression", "command", "source", "agent_alias", "next_run"}


def test_jobs_of_the_configuration_are_captured_with_it(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    jobs(made.data / "cron/jobs.db", CURRENT_JOBS, job("a", source="declarative"))
    assert values(rows(made, cron=True), "cron/cron_jobs") == []


def test_each_agent_has_its_jobs_and_the_first_those_of_nobody(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    jobs(made.data / "cron/jobs.db", CURRENT_JOBS, job("a"), job("b", "default"), job("c", "rover"))
    assert [row["id"] for row in values(rows(made, cron=True), "cron/cron_jobs")] == ["a", "b"]
    assert [row["id"] for row in values(rows(made, "rover", cron=True), "cron/cron_jobs")] == ["c"]


def test_jobs_of_early_releases_have_fewer_columns(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", "0.1.5")
    jobs(made.workspace() / "cron/jobs.db", EARLY_JOBS, ("a", "0 7 * * *", "tide", "soon", "then"))
    (found,) = values(rows(made, cron=True), "cron/cron_jobs")
    assert "stranded" not in found


def stranded(folder: Path) -> Install:
    """An installation that ZeroClaw upgraded: its jobs moved to the workspace, where ZeroClaw does not read them."""
    made = make_install(folder)
    jobs(made.workspace() / "cron/jobs.db", EARLY_JOBS, ("a", "0 7 * * *", "tide", "soon", "then"))
    return made


def test_jobs_that_an_upgrade_left_behind_are_carried_and_marked(tmp_path: Path) -> None:
    (found,) = values(rows(stranded(tmp_path / ".zeroclaw"), cron=True), "cron/cron_jobs")
    assert (found["id"], found["stranded"]) == ("a", True)


def test_jobs_that_an_upgrade_left_behind_are_carried_without_being_asked_for(tmp_path: Path) -> None:
    made = stranded(tmp_path / ".zeroclaw")
    jobs(made.data / "cron/jobs.db", CURRENT_JOBS, job("b"))
    assert [row["id"] for row in values(rows(made), "cron/cron_jobs")] == ["a"]


def test_jobs_that_an_upgrade_left_behind_are_offered(tmp_path: Path) -> None:
    (offer,) = ADAPTER.databases.offers(located(stranded(tmp_path / ".zeroclaw")))
    assert offer.what.startswith("an upgrade of ZeroClaw left 1 scheduled job in the old file ")
    assert offer.command == "lifeboat restore AGENT --with-cron"


def test_jobs_that_were_put_back_are_not_offered_again(tmp_path: Path) -> None:
    made = stranded(tmp_path / ".zeroclaw")
    jobs(made.data / "cron/jobs.db", CURRENT_JOBS, job("a"))
    assert list(ADAPTER.databases.offers(located(made))) == []
    assert len(values(rows(made, cron=True), "cron/cron_jobs")) == 1


def test_memories_of_an_agent_that_is_not_configured_are_offered(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    made.remember("a", "b", alias="rover")
    file = made.home / "config.toml"
    file.write_text(file.read_text().replace("agents.rover", "unrelated"))
    (offer,) = ADAPTER.databases.offers(located(made))
    assert offer.what == "the database contains 1 memory of the agent rover, which is not in ZeroClaw's configuration"
    assert str(made.workspace("rover")) in offer.command


def unnamed_default(tmp_path: Path, agents: tuple[str, ...] = ("default", "ada", "rover")) -> Install:
    """An installation with memories of an agent `default` that is not configured and has no workspace."""
    made = make_install(tmp_path / ".zeroclaw", agents=agents)
    made.remember("imported", "The kettle is in the galley.", alias="default")
    made.remember("own", "The spare key hangs behind the barometer.", alias="ada")
    file = made.home / "config.toml"
    file.write_text(file.read_text().replace("agents.default", "unrelated"))
    shutil.rmtree(made.workspace("default").parent)
    return made


def keys(made: Install, alias: str) -> set[str]:
    store = ADAPTER.databases.memory_store(located(made, alias))
    assert isinstance(store, MemoryTable)
    with closing(sqlite3.connect(made.database)) as connection:
        query = f"SELECT key FROM {store.table} WHERE {store.where}"
        return {key for (key,) in connection.execute(query, store.parameters)}


def test_memories_of_zeroclaws_own_agent_are_the_first_agents_where_it_is_not_configured(tmp_path: Path) -> None:
    made = unnamed_default(tmp_path)
    assert keys(made, "ada") == {"imported", "own"}
    assert keys(made, "rover") == set()
    assert list(ADAPTER.databases.offers(located(made, "ada"))) == []


def test_memories_of_an_own_agent_that_has_a_workspace_are_offered(tmp_path: Path) -> None:
    made = unnamed_default(tmp_path)
    made.workspace("default").mkdir(parents=True)
    assert keys(made, "ada") == {"own"}
    assert [offer.what.partition(",")[0] for offer in ADAPTER.databases.offers(located(made, "ada"))] == [
        "the database contains 1 memory of the agent default"
    ]


# Transcripts ----------------------------------------------------------------------------------------------------------


def with_sessions(made: Install) -> Install:
    path = run(made.data / "sessions/sessions.db", SESSIONS)
    with closing(sqlite3.connect(path)) as connection, connection:
        for key, alias in (("tg_1", "default"), ("tg_2", "rover")):
            connection.execute("INSERT INTO session_metadata VALUES (?, 'x', 'busy', 't', ?)", (key, alias))
            connection.execute("INSERT INTO sessions VALUES (NULL, ?, 'user', ?)", (key, f"to {alias}"))
        connection.execute("INSERT INTO sessions VALUES (NULL, 'tg_3', 'user', 'to nobody')")
    return made


def test_transcripts_are_carried_only_when_asked_for(tmp_path: Path) -> None:
    made = with_sessions(make_install(tmp_path / ".zeroclaw"))
    assert values(rows(made), "sessions/sessions") == []


def test_each_agent_has_its_transcripts_and_the_first_those_of_nobody(tmp_path: Path) -> None:
    made = with_sessions(make_install(tmp_path / ".zeroclaw", agents=("default", "rover")))
    own, others = rows(made, transcripts=True), rows(made, "rover", transcripts=True)
    assert [row["content"] for row in values(own, "sessions/sessions")] == ["to nobody", "to default"]
    assert [row["content"] for row in values(others, "sessions/sessions")] == ["to rover"]
    assert values(others, "sessions/session_metadata") == [{"session_key": "tg_2", "name": "x", "agent_alias": "rover"}]


def test_each_session_is_a_conversation_and_the_newest_is_last_of_all_rows_and_first_of_its_kind(
    tmp_path: Path,
) -> None:
    made = with_sessions(make_install(tmp_path / ".zeroclaw"))
    with closing(sqlite3.connect(made.data / "sessions/sessions.db")) as connection, connection:
        connection.execute("INSERT INTO session_metadata VALUES ('a_empty', 'x', 'idle', '', 'default')")
        connection.execute("INSERT INTO sessions VALUES (NULL, 'tg_1', 'user', 'again')")
    for name, moment in (("tg_0", 1), ("tg_5", 2)):
        path = made.data / f"sessions/{name}.jsonl"
        path.write_text('{"role": "user"}\n')
        os.utime(path, (moment, moment))
    found = [(row.conversation, Path(row.path).stem) for row in rows(made, transcripts=True)]
    first = next(at for at, (conversation, _) in enumerate(found) if conversation)
    assert found[first:] == [
        ("tg_1", "session_metadata"),
        *[("tg_1", "sessions")] * 2,
        ("tg_3", "sessions"),
        ("a_empty", "session_metadata"),
        ("tg_5.jsonl", "tg_5"),
        ("tg_0.jsonl", "tg_0"),
    ]


def test_rows_that_do_not_name_their_session_are_part_of_no_conversation(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    run(made.data / "sessions/sessions.db", "CREATE TABLE sessions (id INTEGER PRIMARY KEY, content TEXT)")
    run(made.data / "sessions/sessions.db", "INSERT INTO sessions VALUES (1, 'Hello')")
    [row] = [row for row in rows(made, transcripts=True) if row.path.endswith("/sessions.jsonl")]
    assert (row.values["content"], row.conversation) == ("Hello", "")


def test_transcripts_of_early_builds_are_carried_by_line(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", "0.1.5")
    (made.data / "sessions").mkdir()
    (made.data / "sessions/tg_1.jsonl").write_text('{"role": "user"}\nrubbish\n')
    found = rows(made, transcripts=True)
    assert values(found, "sessions/files/tg_1") == [{"role": "user"}, {"line": "rubbish"}]


# What cannot be read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cron/jobs.db", "sessions/sessions.db"])
def test_a_damaged_database_is_named(tmp_path: Path, name: str) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    path = made.data / name
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(RuntimeDatabaseError, match=path.name):
        rows(made, cron=True, transcripts=True)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_reading_rows_leaves_everything_as_it_was(tmp_path: Path, generation: str) -> None:
    made = with_sessions(make_install(tmp_path / ".zeroclaw", generation))
    jobs(made.data / "cron/jobs.db", EARLY_JOBS)
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))
    rows(made, cron=True, transcripts=True)
    list(ADAPTER.databases.offers(located(made)))
    assert sorted((str(path), path.lstat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


def test_capture_is_told_which_files_to_watch(tmp_path: Path) -> None:
    made = with_sessions(stranded(tmp_path / ".zeroclaw"))
    assert ADAPTER.databases.files(located(made)) == [
        made.database,
        made.workspace() / "cron/jobs.db",
        made.data / "sessions/sessions.db",
    ]


def test_while_the_configuration_is_broken_nobody_says_whose_rows_are_whose(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("rover",))
    (made.home / "config.toml").write_text("[agents\n")
    for read in (lambda: rows(made, "rover"), lambda: list(ADAPTER.databases.offers(located(made, "rover")))):
        with pytest.raises(RuntimeConfigError, match="line 1"):
            read()
