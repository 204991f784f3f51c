from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.openclaw import ADAPTER, openclaw_databases
from support.adapters import openclaw_workspaces as workspaces


def located(made: workspaces.StateFolder, agent: str = "main") -> Installation:
    return ADAPTER.locate(made.workspaces[agent], {}, made.folder.parent)


def rows(
    made: workspaces.StateFolder, agent: str = "main", *, transcripts: bool = False
) -> dict[str, list[RuntimeRow]]:
    found: dict[str, list[RuntimeRow]] = {}
    for row in ADAPTER.databases.rows(located(made, agent), transcripts=transcripts):
        found.setdefault(row.path.removeprefix("raw/openclaw-home/db/"), []).append(row)
    return found


@pytest.fixture
def made(tmp_path: Path) -> workspaces.StateFolder:
    return workspaces.make_state_dir(tmp_path / ".openclaw")


def listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_an_agent_gets_its_own_rows_and_nobody_elses(made: workspaces.StateFolder) -> None:
    main, rover = rows(made, "main"), rows(made, "rover")
    assert [row.values["job_id"] for row in main["state/cron_jobs.jsonl"]] == ["job-heartbeat", "job-tides"]
    assert [row.values["job_id"] for row in rover["state/cron_jobs.jsonl"]] == ["job-sources"]
    assert "state/cron_job_scratch.jsonl" not in rover
    assert [row.values["id"] for row in rover["agent/standing_intents.jsonl"]] == ["intent-rover"]
    assert [row.values["agent_id"] for row in main["agent/memory_entry_origins.jsonl"]] == ["main"]


def test_a_job_that_names_nobody_belongs_to_the_default_agent(made: workspaces.StateFolder) -> None:
    with closing(sqlite3.connect(made.state_database)) as connection, connection:
        connection.execute("UPDATE cron_jobs SET agent_id = NULL WHERE job_id = 'job-sources'")
    assert len(rows(made, "main")["state/cron_jobs.jsonl"]) == 3
    assert "state/cron_jobs.jsonl" not in rows(made, "rover")


def test_the_notes_of_the_heartbeat_come_with_its_job(made: workspaces.StateFolder) -> None:
    assert [row.values["content"] for row in rows(made)["state/cron_job_scratch.jsonl"]] == [workspaces.HEARTBEAT]


def test_what_a_job_did_last_is_no_part_of_what_it_is(made: workspaces.StateFolder) -> None:
    before = rows(made)["state/cron_jobs.jsonl"]
    with closing(sqlite3.connect(made.state_database)) as connection, connection:
        job = json.dumps({**workspaces.JOBS[0], "state": {"lastRunAtMs": 5}, "updatedAtMs": 5})
        connection.execute("UPDATE cron_jobs SET state_json = '{\"lastRunAtMs\":5}', updated_at = 5")
        connection.execute("UPDATE cron_jobs SET job_json = ? WHERE job_id = 'job-tides'", (job,))
    assert rows(made)["state/cron_jobs.jsonl"] == before


def test_a_job_that_is_nested_too_deep_stays_as_it_is(made: workspaces.StateFolder) -> None:
    deep = '{"state": ' * 100_000
    with closing(sqlite3.connect(made.state_database)) as connection, connection:
        connection.execute("UPDATE cron_jobs SET job_json = ? WHERE job_id = 'job-tides'", (deep,))
    assert deep in [row.values["job_json"] for row in rows(made)["state/cron_jobs.jsonl"]]


def test_keys_sort_as_the_rows_do(made: workspaces.StateFolder) -> None:
    with closing(sqlite3.connect(made.agent_database())) as connection, connection:
        for number in range(3, 130):
            connection.execute(
                "INSERT INTO transcript_events (session_id, seq, event_json, created_at)"
                " VALUES ('session-1', ?, '{}', 0)",
                (number,),
            )
    keys = [row.key for row in rows(made, transcripts=True)["agent/transcript_events.jsonl"]]
    assert keys == sorted(keys) and len(set(keys)) == 129


def test_transcripts_are_read_on_request_and_compressed_events_unfolded(made: workspaces.StateFolder) -> None:
    assert not any("transcript" in path or "session" in path for path in rows(made))
    events = rows(made, transcripts=True)["agent/transcript_events.jsonl"]
    assert json.loads(events[1].values["event_json"])["text"].startswith("main: tide")
    assert "event_zstd" not in events[1].values


def test_each_session_is_a_conversation_after_all_other_rows_and_the_newest_is_read_first(
    made: workspaces.StateFolder,
) -> None:
    with closing(sqlite3.connect(made.agent_database())) as connection, connection:
        connection.execute("CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT)")
        connection.execute("INSERT INTO session_nodes VALUES ('a', 'session-1'), ('b', 'session-0'), ('c', NULL)")
        event = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, 1, '{}', ?)"
        connection.executemany(event, [("session-0", 1_780_000_000_000), ("session-2", 1_760_000_000_000)])
    found = [
        (row.conversation, row.path.rpartition("/")[2].removesuffix(".jsonl"))
        for row in ADAPTER.databases.rows(located(made), transcripts=True)
    ]
    first = next(at for at, (conversation, _) in enumerate(found) if conversation)
    assert ("", "cron_jobs") in found[:first]
    assert found[first:] == [
        *(("session-0", table) for table in ("session_nodes", "transcript_events")),
        *(("session-1", table) for table in ("session_windows", "session_nodes", *["transcript_events"] * 2)),
        ("session-2", "transcript_events"),
        ("None", "session_nodes"),
    ]


def test_rows_of_a_table_that_does_not_name_the_session_are_part_of_no_conversation(
    made: workspaces.StateFolder,
) -> None:
    with closing(sqlite3.connect(made.agent_database())) as connection, connection:
        connection.execute("ALTER TABLE transcript_events RENAME COLUMN session_id TO session")
    found = rows(made, transcripts=True)
    assert [row.conversation for row in found["agent/transcript_events.jsonl"]] == ["", ""]
    assert [row.conversation for row in found["agent/session_windows.jsonl"]] == ["session-1"]


def test_an_event_that_does_not_unfold_is_kept_as_it_is(made: workspaces.StateFolder) -> None:
    with closing(sqlite3.connect(made.agent_database())) as connection, connection:
        connection.execute("UPDATE transcript_events SET event_zstd = x'28B52FFD00' WHERE seq = 2")
    event = rows(made, transcripts=True)["agent/transcript_events.jsonl"][1]
    assert event.values["event_zstd"] == {"base64": "KLUv/QA="}


def test_an_event_that_unfolds_without_end_is_kept_folded(
    made: workspaces.StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclaw_databases, "LARGEST_EVENT", 100)
    event = rows(made, transcripts=True)["agent/transcript_events.jsonl"][1]
    assert set(event.values["event_zstd"]) == {"base64"}


def test_credentials_and_the_identity_of_the_machine_are_never_read(made: workspaces.StateFolder) -> None:
    every = repr(rows(made, transcripts=True))
    assert workspaces.API_KEY not in every
    assert workspaces.DEVICE_KEY not in every


def test_reading_a_closed_database_leaves_no_trace(made: workspaces.StateFolder) -> None:
    before = listing(made.folder)
    assert not made.state_database.with_name("openclaw.sqlite-wal").exists()
    rows(made, transcripts=True)
    assert listing(made.folder) == before


def test_reading_a_database_in_use_sees_its_log_and_leaves_the_folder_as_it_was(made: workspaces.StateFolder) -> None:
    with closing(sqlite3.connect(made.state_database)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        with writer:
            writer.execute("UPDATE cron_jobs SET name = 'Tides' WHERE job_id = 'job-tides'")
        names = sorted(path.name for path in made.state_database.parent.iterdir())
        assert "openclaw.sqlite-wal" in names
        assert [row.values["name"] for row in rows(made)["state/cron_jobs.jsonl"]] == ["Heartbeat", "Tides"]
        assert sorted(path.name for path in made.state_database.parent.iterdir()) == names


def test_a_log_whose_user_is_gone_is_not_guessed_at(made: workspaces.StateFolder, tmp_path: Path) -> None:
    with closing(sqlite3.connect(made.state_database)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        with writer:
            writer.execute("UPDATE cron_jobs SET name = 'Tides'")
        saved = {path.name: path.read_bytes() for path in made.state_database.parent.iterdir()}
    for name, data in saved.items():
        (made.state_database.parent / name).write_bytes(data)
    (made.state_database.parent / "openclaw.sqlite-shm").unlink()
    before = listing(made.folder)
    with pytest.raises(RuntimeDatabaseError, match="not closed properly"):
        rows(made)
    assert listing(made.folder) == before


def test_a_damaged_database_is_an_error_and_not_an_empty_one(made: workspaces.StateFolder) -> None:
    made.state_database.write_bytes(b"not a database" * 1000)
    with pytest.raises(RuntimeDatabaseError):
        rows(made)


def test_a_database_that_changes_while_it_is_read_is_an_error(made: workspaces.StateFolder) -> None:
    reading = ADAPTER.databases.rows(located(made), transcripts=False)
    next(reading)
    with made.agent_database().open("ab") as stream:
        stream.write(bytes(4096))
    with pytest.raises(RuntimeDatabaseError, match="changed while"):
        list(reading)


def test_tables_and_columns_of_other_releases_are_taken_as_they_are(made: workspaces.StateFolder) -> None:
    with closing(sqlite3.connect(made.agent_database())) as connection, connection:
        connection.execute("DROP TABLE memory_entry_origins")
        connection.execute("ALTER TABLE standing_intents ADD COLUMN mood BLOB")
        connection.execute("UPDATE standing_intents SET mood = x'00ff'")
    found = rows(made)
    assert "agent/memory_entry_origins.jsonl" not in found
    assert found["agent/standing_intents.jsonl"][0].values["mood"] == {"base64": "AP8="}


def test_jobs_of_the_old_layout_become_rows(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw", layout=workspaces.OLD)
    (row,) = rows(made)["state/cron_jobs.jsonl"]
    assert (row.key, row.values["name"], row.values["payload_kind"]) == ("job-tides", "Tide table", "agentTurn")


def test_a_broken_job_file_of_the_old_layout_is_an_error(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw", layout=workspaces.OLD)
    (made.folder / "cron/jobs.json").write_text("{")
    with pytest.raises(RuntimeDatabaseError):
        rows(made)


def test_the_files_to_watch_are_the_databases_and_the_job_file(made: workspaces.StateFolder, tmp_path: Path) -> None:
    made.folder.joinpath("openclaw.json.bak").unlink()
    assert ADAPTER.databases.files(located(made)) == [made.state_database, made.agent_database()]
    old = workspaces.make_state_dir(tmp_path / "old/.openclaw", layout=workspaces.OLD)
    old.folder.joinpath("openclaw.json.bak").unlink()
    assert ADAPTER.databases.files(located(old)) == [old.folder / "cron/jobs.json"]


def test_a_workspace_alone_has_no_rows(tmp_path: Path) -> None:
    folder = workspaces.make_workspace(tmp_path / "ws", large=False)
    installed = ADAPTER.locate(folder, {}, tmp_path)
    assert list(ADAPTER.databases.rows(installed, transcripts=True)) == []
    assert ADAPTER.databases.files(installed) == []
