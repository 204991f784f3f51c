"""The daemon as a whole: events, captures, start and end. Every daemon is a real process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.errors import ServiceError
from lifeboat_daemon.service.daemon_lock import find_lock_holder, hold_daemon_lock
from support.alf.raising import raises_code
from support.core.harbour import Harbour, harbour
from support.daemon.serving import Daemon, serving, settled
from support.prepared_folders import PreparedFolders
from support.waiting import until

NEVER_LOADED = {
    *("textual", "rich", "httpx", "keyring", "pydantic", "sqlalchemy", "nacl", "sqlite_utils", "numpy", "psutil"),
    *("lifeboat_tui", "lifeboat_cli", "lifeboat_endpoint"),
    *("lifeboat_formats", "lifeboat_adapters", "lifeboat_vault", "lifeboat_keys"),
}
ALLOWED = {f"lifeboat_keys{name}" for name in ("", ".child_processes", ".hardening", ".words_in_texts")}
"""How a process is started, how it keeps its memory out of core files, and whether a file of settings holds recovery
words."""


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada just protected", harbour)


@pytest.fixture
def daemon(ada: Harbour) -> Iterator[Daemon]:
    with settled(ada.context) as running:
        yield running


def test_a_change_is_captured_without_anybody_asking(ada: Harbour, daemon: Daemon) -> None:
    before = ada.head
    with (ada.workspace / "MEMORY.md").open("a") as memory:
        memory.write("\n- The lamp at the pier is green.\n")
    until(lambda: ada.head > before, "the change to be captured")
    until(lambda: daemon.agent()["state"] == "ok", "the agent to be ok again")


def test_a_file_in_a_new_folder_is_captured(ada: Harbour, daemon: Daemon) -> None:
    before = ada.head
    folder = ada.workspace / "memory" / "deep" / "deeper"
    folder.mkdir(parents=True)
    (folder / "note.md").write_text("# A note\n")
    until(lambda: ada.head > before, "the change to be captured")
    with ada.context.vault(ada.agent.id) as vault:
        assert any("deeper/note.md" in entry.path for entry in vault.state().entries("raw/"))


def test_a_pause_rests_captures_and_its_end_makes_up_for_them(ada: Harbour, daemon: Daemon) -> None:
    paused = manage_agents.pause_agent(ada.context, ada.agent)
    until(lambda: daemon.agent()["state"] == "paused", "the pause to be seen")
    before = ada.head
    (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- Written while nobody looked.\n")
    assert daemon.ask("jobs")["jobs"] == [] and ada.head == before
    manage_agents.resume_agent(ada.context, paused)
    until(lambda: ada.head > before, "the change to be captured after the pause")


def test_a_pause_with_an_end_ends_by_itself(ada: Harbour, daemon: Daemon) -> None:
    manage_agents.pause_agent(ada.context, ada.agent, hours=1 / 3600)
    before = ada.head
    (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- Written in a short pause.\n")
    until(lambda: ada.head > before, "the change to be captured after the pause")


def test_an_agent_that_is_added_meanwhile_is_taken_into_care(tmp_path: Path, ada: Harbour, daemon: Daemon) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "MEMORY.md").write_text("# Memory\n\n- A second agent.\n")
    (other / "SOUL.md").write_text("# Soul\n\nCalm.\n")
    (other / "AGENTS.md").write_text("# Agents\n")
    added, _ = manage_agents.protect_workspace(ada.context, other, runtime="openclaw", name="Bea")
    until(lambda: len(daemon.ask("status")["agents"]) == 2, "the new agent to be seen")
    until(daemon.is_settled, "the new agent to be watched")
    (other / "MEMORY.md").write_text("# Memory\n\n- A second agent.\n\n- And a second memory.\n")

    def captured() -> bool:
        with ada.context.vault(added.id) as vault:
            head = vault.head()
            return head is not None and head.number > 0

    until(captured, "its change to be captured")


def test_an_agent_that_is_removed_is_left(ada: Harbour, daemon: Daemon) -> None:
    manage_agents.remove_agent(ada.context, ada.agent)
    until(lambda: daemon.ask("status")["agents"] == [], "the agent to be left")


def test_a_change_made_while_the_daemon_was_away_is_found_when_it_begins(ada: Harbour) -> None:
    before = ada.head
    (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- Written in the night.\n")
    with serving(ada.context):
        until(lambda: ada.head > before, "the change to be captured")


def test_changes_while_the_process_stands_still_are_found(ada: Harbour, daemon: Daemon) -> None:
    before = ada.head
    os.kill(daemon.pid, signal.SIGSTOP)
    for number in range(300):
        (ada.workspace / "memory" / f"note-{number}.md").write_text(f"# Note {number}\n")
    os.kill(daemon.pid, signal.SIGCONT)
    until(lambda: ada.head > before, "the notes to be captured")

    def all_there() -> bool:
        with ada.context.vault(ada.agent.id) as vault:
            names = [entry.path for entry in vault.state().entries("raw/")]
        return sum("memory/note-" in name for name in names) == 300

    until(all_there, "every note to be captured")


def test_a_workspace_that_goes_is_an_error_and_no_deletion(ada: Harbour, daemon: Daemon) -> None:
    aside = ada.workspace.with_name("aside")
    ada.workspace.rename(aside)
    until(lambda: daemon.agent()["state"] == "error", "the loss to be noticed")
    aside.rename(ada.workspace)
    until(lambda: daemon.agent()["state"] == "ok", "its return to be noticed")
    assert ada.head == 0


def test_of_an_agent_that_is_not_captured_unasked_the_loss_is_noticed_too(ada: Harbour, daemon: Daemon) -> None:
    manage_agents.pause_agent(ada.context, ada.agent)
    until(lambda: daemon.agent()["state"] == "paused", "the pause to be seen")
    aside = ada.workspace.with_name("aside")
    ada.workspace.rename(aside)
    until(lambda: daemon.agent()["state"] == "error", "the loss to be noticed")
    aside.rename(ada.workspace)
    until(lambda: daemon.agent()["state"] == "paused", "its return to be noticed")


def test_the_daemon_ends_when_it_is_told_to_and_leaves_no_socket(ada: Harbour, daemon: Daemon) -> None:
    assert daemon.stop() == 0
    assert find_lock_holder(ada.context.home) is None
    assert list((ada.context.home.folder / "run").iterdir()) == []


def test_a_second_daemon_of_a_home_does_not_begin_and_says_who_is_there(ada: Harbour, daemon: Daemon) -> None:
    found = find_lock_holder(ada.context.home)
    assert found is not None and found.pid == daemon.pid
    with raises_code(ServiceError.ALREADY_RUNNING, match=str(daemon.pid)), hold_daemon_lock(ada.context, "0"):
        pass
    second = Daemon(ada.context).start(answering=False)
    assert second.wait() == 3
    assert daemon.answers()


def serves(ada: Harbour, daemon: Daemon) -> bool:
    found = find_lock_holder(ada.context.home)
    return found is not None and found.pid == daemon.pid


def test_a_second_daemon_that_waits_takes_over(ada: Harbour, daemon: Daemon) -> None:
    second = Daemon(ada.context).start("--wait", answering=False)
    try:
        daemon.stop()
        until(lambda: serves(ada, second), "the second to take over")
        until(second.answers, "the second to answer")
    finally:
        second.kill()


def test_a_worker_that_is_killed_costs_nothing_but_time(ada: Harbour, daemon: Daemon) -> None:
    for each in psutil.Process(daemon.pid).children():
        if os.getsid(each.pid) == each.pid:  # Otherwise it is not a worker.
            each.kill()
    before = ada.head
    (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- After the worker was killed.\n")
    until(lambda: ada.head > before, "the change to be captured")


def test_a_daemon_loads_nothing_that_only_a_worker_or_the_dashboard_needs(ada: Harbour, tmp_path: Path) -> None:
    """The daemon itself lists its modules after it had a capture made."""
    listing = tmp_path / "modules"
    with settled(ada.context, lists_modules=listing):
        loaded = set(listing.read_text().split())
    assert "lifeboat_daemon.service.daemon_service" in loaded
    assert not [name for name in loaded if name.partition(".")[0] in NEVER_LOADED and name not in ALLOWED]
