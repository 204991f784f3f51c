"""Commands beside a daemon that captures all the time: none fails because of it, and it agrees within seconds."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.locks import agent_lock
from support.cli.cli_client import run
from support.core.harbour import Harbour
from support.core.invariants import always
from support.daemon.serving import Daemon, serving
from support.patience import patience
from support.waiting import until


@pytest.fixture
def ada(protected_ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> Harbour:
    made = protected_ada
    for name, value in made.context.environment.items():
        monkeypatch.setenv(name, value)
    manage_agents.write_setting(made.context, made.agent, "capture.quiet", "0s")
    return made


@contextlib.contextmanager
def never_resting(ada: Harbour) -> Iterator[Daemon]:
    """A daemon whose agent writes all the time; the invariants afterwards."""
    enough = threading.Event()

    def write() -> None:
        number = 0
        while not enough.wait(0.02):
            number += 1
            with contextlib.suppress(FileNotFoundError):  # while a folder is moved
                (ada.workspace / "memory" / "busy.md").write_text(f"# Busy\n\nEdit {number}.\n")

    thread = threading.Thread(target=write)
    with serving(ada.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        thread.start()
        try:
            first = ada.head
            until(lambda: ada.head > first, "the writer to be captured")
            yield daemon
        finally:
            enough.set()
            thread.join()
    always(ada.context, ada.agent)


def standing(daemon: Daemon, name: str) -> JsonObject:
    """How an agent of this name stands, nothing for one that is not there."""
    return next((one for one in daemon.ask("status")["agents"] if one["name"] == name), {})


def test_what_is_decided_about_an_agent_is_in_force_within_seconds(ada: Harbour) -> None:
    with never_resting(ada) as daemon:
        name = ada.agent.name
        run("agents", "pause", name)
        until(lambda: standing(daemon, name)["state"] == "paused", "the pause")
        run("agents", "resume", name)
        until(lambda: standing(daemon, name)["state"] in ("ok", "syncing"), "its end")
        run("agents", "rename", name, "Ada Two")
        until(lambda: standing(daemon, "Ada Two"), "the new name")
        run("config", "set", "capture.at_most", "1s")
        assert run("agents", "accept", "Ada Two")["was_held"] is False
        before = ada.head
        until(lambda: ada.head > before, "captures to go on")


def test_agents_come_and_go_beside_captures(ada: Harbour, tmp_path: Path) -> None:
    with never_resting(ada) as daemon:
        shutil.copytree(ada.workspace, tmp_path / "copy", symlinks=True)
        made = run("agents", "clone", ada.agent.name, tmp_path / "copy", "--name", "Bea")
        until(lambda: standing(daemon, "Bea").get("state") == "ok", "the clone to be taken into care")
        (tmp_path / "copy").rename(tmp_path / "moved")
        run("agents", "move", "Bea", tmp_path / "moved")
        until(lambda: standing(daemon, "Bea").get("workspace") == str(tmp_path / "moved"), "the move")
        with (tmp_path / "moved" / "MEMORY.md").open("a") as memory:
            memory.write("\n- In another folder.\n")
        until(lambda: (standing(daemon, "Bea").get("sequence") or 0) > 0, "a change in the new folder to be captured")
        removed = run("agents", "remove", "Bea", "--yes")
        assert removed["id"] == made["id"]
        until(lambda: not standing(daemon, "Bea"), "the removal")
        added = run("agents", "add", tmp_path / "moved")
        assert added["id"] == made["id"]
        until(lambda: standing(daemon, added["name"]).get("state") == "ok", "its return")


def test_what_works_on_history_gets_its_turn_between_captures(ada: Harbour) -> None:
    soul = ada.workspace / "SOUL.md"
    before = soul.read_bytes()
    with never_resting(ada) as daemon:
        for _ in range(2):
            soul.write_text("# Soul\n\nA change to be taken back.\n")
            assert run("sync", ada.agent.name)["agents"][0]["state"] == "ok"
            run("restore", ada.agent.name, "--at", "0", "--path", "SOUL.md", "--yes")
            assert soul.read_bytes() == before
            run("undo", ada.agent.name)
            assert soul.read_bytes() != before
            assert run("verify", ada.agent.name)["mismatches"] == []
        until(lambda: standing(daemon, ada.agent.name)["state"] in ("ok", "syncing"), "captures to go on")
        assert daemon.ask("daemon")["agents"][0]["failures"] == 0


def test_archives_and_keys_beside_captures(ada: Harbour, tmp_path: Path) -> None:
    with never_resting(ada) as daemon:
        archive, words = tmp_path / "ada.alf", tmp_path / "words"
        run("alf", "export", "openclaw", ada.workspace, "-o", archive)
        imported = run("alf", "import", archive, "--to", tmp_path / "other", "--runtime", "openclaw")
        until(lambda: len(daemon.ask("status")["agents"]) == 2, "the import to be seen")
        assert imported
        run("keys", "rotate", "--words-to", words, "--no-prove", "--yes")
        new = run("keys", "status")["key_id"]
        until(lambda: daemon.ask("status")["key"]["id"] == new, "the new key to be seen")
        before = ada.head
        until(lambda: ada.head > before, "captures to go on")


@contextlib.contextmanager
def another_holds(ada: Harbour, purpose: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Somebody has the agent's lock until a command says that it waits; what was said."""
    held, enough = threading.Event(), threading.Event()
    said: list[str] = []

    def hold() -> None:
        with agent_lock(ada.context, ada.agent.id, purpose):
            held.set()
            enough.wait(patience())

    def note(_: CommandOutput, text: object) -> None:
        said.append(str(text))
        enough.set()

    monkeypatch.setattr(CommandOutput, "note", note)
    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(patience())
        yield said
    finally:
        enough.set()
        thread.join()


def test_a_restore_waits_for_a_capture_and_says_so(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    with another_holds(ada, "capture", monkeypatch) as said:
        run("restore", ada.agent.name, "--at", "0", "--path", "SOUL.md", "--yes")
        assert len(said) == 1 and "(capture)" in said[0]


def test_sync_waits_where_the_service_does_not(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verification on the command line has the lock: the service comes back later, who asked for a capture waits."""
    with serving(ada.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        for purpose in ("verify", "restore"):
            with another_holds(ada, purpose, monkeypatch) as said:
                assert run("sync", ada.agent.name)["agents"][0]["state"] == "ok"
                assert len(said) == 1 and f"({purpose})" in said[0]
