"""Hermes as a user has it: profiles, sessions, jobs, and a program that writes at the same time."""

from __future__ import annotations

import fcntl
import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_core.restore import runtime_file_locks
from support.adapters.hermes_database import SESSION, TURN, add_session, found_by_search, make_database
from support.adapters.profile_installs import KEY, make_hermes, write_files
from support.cli.cli_client import run

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("select 1 from sessions")
print(1, flush=True)
input()
"""
SECRET = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCD"


def _add(home: Path) -> str:
    return str(run("agents", "add", home, "--runtime", "hermes")["id"])


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _messages(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "state.db")) as connection:
        return [str(text) for (text,) in connection.execute("select content from messages order by id")]


def _jobs(home: Path) -> list[str]:
    path = home / "cron" / "jobs.json"
    return [job["name"] for job in json.loads(path.read_text())["jobs"]] if path.exists() else []


def _make_profile(home: Path, name: str, fact: str) -> Path:
    write_files(
        home / "profiles" / name,
        {"SOUL.md": f"You are {name}.\n", "memories/MEMORY.md": fact, ".env": f"OPENROUTER_API_KEY={KEY}-{name}\n"},
    )
    return home / "profiles" / name


def test_each_profile_is_discovered_and_comes_back_alone(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    rover = _make_profile(home, "rover", "The rover stands in the shed.")
    _make_profile(home, "scout", "The scout sleeps.")
    found = run("agents", "discover")["found"]
    assert [(one["native_id"], one["name"], one["workspace"]) for one in found] == [
        ("default", "Hermes Agent", str(home)),
        ("rover", "rover", str(rover)),
        ("scout", "scout", str(home / "profiles" / "scout")),
    ]
    root, agent = _add(home), _add(rover)
    assert [record["snippet"] for record in run("records", "list", agent)["records"]] == [
        "The rover stands in the shed."
    ]
    captured = {file["path"] for file in run("agents", "show", root)["files"]}
    assert not [path for path in captured if "profiles/rover" in path]
    before, others = _files(rover), _files(home / "profiles" / "scout")
    shutil.rmtree(rover)
    report = run("restore", agent, "--yes")
    assert _files(rover) == before
    assert _files(home / "profiles" / "scout") == others
    [step] = report["next"]
    assert step["command"].endswith("hermes profile alias rover")


def test_the_wrapper_of_a_profile_that_is_there_is_not_asked_for(isolated_home: Path) -> None:
    rover = _make_profile(make_hermes(isolated_home).workspace, "rover", "The rover stands in the shed.")
    write_files(isolated_home / ".local" / "bin", {"rover": "#!/bin/sh\nexec hermes -p rover\n"})
    agent = _add(rover)
    shutil.rmtree(rover)
    assert run("restore", agent, "--yes")["next"] == []


def test_sessions_come_back_after_a_total_loss_only_on_request(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    run("config", "set", "transcripts", "true")
    agent = _add(home)
    shutil.rmtree(home)
    run("restore", agent, "--yes")
    assert not (home / "state.db").exists()
    shutil.rmtree(home)
    run("restore", agent, "--yes", "--with-sessions")
    assert _messages(home) == list(TURN)
    assert run("sync")["agents"][0]["changed"] is False


def test_sessions_and_jobs_come_into_a_copy_in_a_new_folder(isolated_home: Path, tmp_path: Path) -> None:
    home, copy = make_hermes(isolated_home).workspace, tmp_path / "copy"
    for name in ("transcripts", "cron"):
        run("config", "set", name, "true")
    run("restore", _add(home), "--to", copy, "--with-sessions", "--with-cron", "--with-credentials", "--yes")
    assert (_messages(copy), _jobs(copy)) == (list(TURN), ["tides"])


def test_sessions_are_merged_into_a_database_that_went_on(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    run("config", "set", "transcripts", "true")
    agent = _add(home)
    (home / "state.db").unlink()
    make_database(home / "state.db", [("20261125_080000_aaaaaa", None, ["Good morning."])])
    run("restore", agent, "--yes", "--with-sessions")
    assert found_by_search(home / "state.db", "tide") == [SESSION]
    assert found_by_search(home / "state.db", "morning") == ["20261125_080000_aaaaaa"]
    run("undo", agent)
    assert found_by_search(home / "state.db", "tide") == []


def test_a_database_that_a_process_has_open_is_not_replaced(isolated_home: Path, tmp_path: Path) -> None:
    home = make_hermes(isolated_home).workspace
    run("config", "set", "transcripts", "true")
    agent = _add(home)
    (home / "state.db").unlink()
    make_database(home / "state.db")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, home / "state.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        error = run("restore", agent, "--yes", "--with-sessions", expect=3)["error"]
        holder.communicate(b"\n")
    assert error["code"] == "runtime_running" and "state.db open" in error["message"]
    assert error["fix"] == "hermes gateway stop"
    run("restore", agent, "--yes", "--with-sessions")
    assert found_by_search(home / "state.db", "tide") == [SESSION]


def test_jobs_come_back_only_on_request(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    run("config", "set", "cron", "true")
    agent = _add(home)
    shutil.rmtree(home)
    run("restore", agent, "--yes")
    assert _jobs(home) == []
    shutil.rmtree(home)
    run("restore", agent, "--yes", "--with-cron")
    assert _jobs(home) == ["tides"]
    assert run("sync")["agents"][0]["changed"] is False


def test_a_secret_in_a_session_is_sealed_and_comes_back(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    said = f"The key is {SECRET}, and that of Hermes {KEY}."
    with closing(sqlite3.connect(home / "state.db")) as connection, connection:
        add_session(connection, "20261125_080000_aaaaaa", None, [said], began=2e9)
    run("config", "set", "transcripts", "true")
    agent = _add(home)
    kept = b"".join(_files(isolated_home / ".local").values())
    assert KEY.encode() not in kept and SECRET.encode() not in kept
    shutil.rmtree(home)
    run("restore", agent, "--yes", "--with-sessions")
    assert _messages(home)[-1] == said


def test_a_purge_reaches_sessions(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    run("config", "set", "transcripts", "true")
    agent = _add(home)
    run("purge", agent, "--text", "high tide", "--yes")
    assert b"high tide" not in b"".join(_files(isolated_home / ".local").values())
    (home / "state.db").unlink()
    run("restore", agent, "--yes", "--with-sessions")
    assert "high tide" not in " ".join(_messages(home)) and _messages(home)[1] == TURN[1]


def test_a_restore_waits_for_a_memory_that_hermes_writes(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    agent = _add(home)
    memory = home / "memories" / "MEMORY.md"
    before = memory.read_text()
    memory.write_text("Changed.")
    with (home / "memories" / "MEMORY.md.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        timer = threading.Timer(1.5, fcntl.flock, (lock, fcntl.LOCK_UN))
        timer.start()
        run("restore", agent, "--yes")
        assert not timer.is_alive(), "the restore did not wait"
    assert memory.read_text() == before


def test_a_memory_that_hermes_writes_during_the_restore_is_not_overwritten(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_hermes(isolated_home).workspace
    agent = _add(home)
    memory = home / "memories" / "MEMORY.md"
    memory.write_text("Changed.")
    lock = runtime_file_locks._lock

    def write_first(descriptor: int) -> bool:
        memory.write_text("Written by Hermes meanwhile.")
        return lock(descriptor)

    monkeypatch.setattr(runtime_file_locks, "_lock", write_first)
    assert run("restore", agent, "--yes", expect=3)["error"]["code"] == "target_changed"
    assert memory.read_text() == "Written by Hermes meanwhile."
    monkeypatch.undo()


def test_a_lock_that_is_never_released_ends_the_restore(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_hermes(isolated_home).workspace
    agent = _add(home)
    (home / "memories" / "MEMORY.md").write_text("Changed.")
    monkeypatch.setattr(runtime_file_locks, "SECONDS", 0.2)
    with (home / "memories" / "MEMORY.md.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        error = run("restore", agent, "--yes", expect=3)["error"]
    assert error["code"] == "runtime_running" and "MEMORY.md.lock" in error["message"]
    assert (home / "memories" / "MEMORY.md").read_text() == "Changed."
    run("restore", agent, "--yes")


def test_what_use_alone_changes_makes_no_sequence(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    run("config", "set", "cron", "true")
    _add(home)
    auth, jobs = (json.loads((home / name).read_text()) for name in ("auth.json", "cron/jobs.json"))
    auth["credential_pool"]["openrouter"][0] |= {"request_count": 4, "last_status": 429, "last_error_code": "x"}
    jobs["jobs"][0] |= {
        "next_run_at": "y",
        "last_run_at": "y",
        "last_status": "ok",
        "repeat": {"times": None, "completed": 1},
    }
    written = {
        "auth.json": json.dumps(auth | {"updated_at": "y"}),
        "cron/jobs.json": json.dumps(jobs | {"updated_at": "y"}),
        "cron/output/tides/1.md": "At seven.",
        **dict.fromkeys((".update_check", ".tirith-install-failed", ".skills_prompt_snapshot.json"), "{}"),
        **dict.fromkeys(
            ("auth.lock", "gateway_state.json", "processes.json", "logs/agent.log", "image_cache/a.png"), "x"
        ),
    }
    write_files(home, written)
    assert run("sync")["agents"][0]["changed"] is False


def test_the_hook_is_installed_checked_and_goes_with_the_protection(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    agent = _add(home)
    before = _files(home)
    run("config", "set", "cadence", "after_session")
    shown = run("agents", "hook", agent, "--show")
    assert [edit["content"] for edit in shown["edits"]] == ["plugins:\n  enabled:\n  - lifeboat\n"]
    assert KEY not in json.dumps(shown) and _files(home) == before
    levels = lambda: [one["level"] for one in run("doctor")["findings"] if one["check"] == "session_hook"]  # noqa: E731
    assert levels() == ["warning"]
    assert run("agents", "hook", agent)["changed"] is True
    assert levels() == ["ok"]
    run("sync")
    assert not [
        file
        for file in run("agents", "show", agent)["files"]
        if "plugins/lifeboat/" in file["path"] + "/" and not file["why"]
    ]
    run("agents", "remove", agent, "--yes")
    assert _files(home) == before


def test_logins_in_whole_files_do_not_go_to_another_runtime(isolated_home: Path, tmp_path: Path) -> None:
    home = make_hermes(isolated_home).workspace
    logins = ("mcp-tokens/search.json", "pairing/telegram-approved.json", "platforms/pairing/slack-approved.json")
    write_files(home, {name: json.dumps({"access_token": f"{KEY}-{number}"}) for number, name in enumerate(logins)})
    write_files(home, {"vault/vault.key": f"{KEY}-of-the-vault"})
    there = tmp_path / "openclaw" / "workspace"
    run("restore", _add(home), "--runtime", "openclaw", "--to", there, "--yes")
    written = _files(there)
    assert "skills/boats/SKILL.md" in written and not written.keys() & {*logins, "vault/vault.key"}


FACTS = [f"Fact {number:02d}: {'tide ' * 40}".strip() for number in range(20)]


def _openclaw(user_home: Path) -> str:
    write_files(
        user_home / ".openclaw" / "workspace",
        {
            "SOUL.md": "# Soul\n\nBe kind.\n",
            "IDENTITY.md": "# Identity\n\n- **Name:** Juniper\n",
            "MEMORY.md": "".join(f"## {fact[:7]}\n\n{fact}\n\n" for fact in FACTS),
        },
    )
    return str(run("agents", "add", user_home / ".openclaw" / "workspace", "--runtime", "openclaw")["id"])


@pytest.mark.parametrize(("config", "limit"), [(None, 2200), ("memory:\n  memory_char_limit: 900\n", 900)])
def test_a_move_fills_the_memory_up_to_the_size_that_the_home_allows_and_names_the_rest(
    isolated_home: Path, config: str | None, limit: int
) -> None:
    agent, home = _openclaw(isolated_home), isolated_home / ".hermes"
    if config is not None:
        write_files(home, {"config.yaml": config})
    report = run("restore", agent, "--runtime", "hermes", "--to", home, "--yes")
    text = (home / "memories" / "MEMORY.md").read_text()
    assert limit - 300 < len(text) <= limit
    [left] = [
        fate for fate in report["fates"] if fate["kind"] == "memory" and "does not fit into the file" in fate["reason"]
    ]
    assert len(left["names"]) == len(FACTS) - len(text.split("\n§\n"))


def test_a_conversation_over_the_limit_is_named_by_its_session_and_not_by_the_table_of_all(isolated_home: Path) -> None:
    home = make_hermes(isolated_home).workspace
    (home / "state.db").unlink(missing_ok=True)
    make_database(home / "state.db", [("older", None, ["Good morning. " * 200]), ("newer", None, ["Good evening."])])
    run("config", "set", "transcripts", "true")
    run("config", "set", "transcripts_limit", "2KB")
    agent = _add(home)
    for _ in range(2):
        [(name, why)] = run("sync")["agents"][0]["left_out"].items()
        assert name.endswith("#older") and "transcripts_limit (2KB)" in why and name in why
    (home / "state.db").unlink()
    run("restore", agent, "--yes", "--with-sessions")
    with closing(sqlite3.connect(home / "state.db")) as connection:
        assert connection.execute("select id from sessions").fetchall() == [("newer",)]
