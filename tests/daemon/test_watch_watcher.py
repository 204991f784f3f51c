"""The watcher with real files: relevant changes in a workspace are reported, and others are not."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lifeboat_daemon.watch import inotify_limits, loop_mailbox, make_watch_plan, silent_mounts
from lifeboat_daemon.watch.agent_watcher import CHANGED, GONE, RESCAN, WatchSignal
from lifeboat_daemon.watch.watch_plan import PlannedFolder, WatchPlan
from lifeboat_daemon.watch.watch_signals import WatchCoverage
from support.core.database_writers import TABLE, many, writer_of
from support.core.protected import Protected
from support.core.zeroclaw_protected import ProtectedClaw
from support.daemon.watching import ADA, FENCE, Watching, watching
from support.patience import patience
from support.waiting import until_async

linux = pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="counts what Linux says of inotify")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    (made / "memory" / "deep").mkdir(parents=True)
    (made / "MEMORY.md").write_text("# Memory\n")
    return made


def test_a_change_at_any_depth_is_told(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        (workspace / "memory" / "deep" / "2026-11-12.md").write_text("Tea.\n")
        assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_a_file_that_is_replaced_whole_is_told(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace, noise=("*.tmp",))
        (workspace / "x.tmp").write_text("# Memory\n\nTea.\n")
        assert await seen.heard(workspace) == []
        os.replace(workspace / "x.tmp", workspace / "MEMORY.md")
        assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_a_commit_to_a_database_is_told_and_that_it_was_read_is_not(workspace: Path) -> None:
    """Otherwise each capture of a database in use would cause the next one."""
    path = workspace / "orders.db"

    async def story(seen: Watching) -> None:
        with writer_of(path) as writer:
            writer.run("pragma journal_mode=wal", TABLE)
            await seen.follow(workspace, noise=("*.db-wal", "*.db-shm", "*.db-journal"))
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as reader:
                reader.execute("select * from orders").fetchall()
            assert await seen.heard(workspace) == []
            writer.run(many(1))
            assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_a_file_that_may_be_run_from_now_on_is_told(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        (workspace / "MEMORY.md").chmod(0o755)
        assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_folders_made_with_a_file_in_them_at_once_are_told_and_followed(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        deepest = workspace / "a" / "b" / "c" / "d"
        deepest.mkdir(parents=True)
        (deepest / "note.md").write_text("one")
        await seen.told_of(CHANGED)
        await until_async(lambda: seen.coverage().watches == 7)
        await seen.heard(workspace)
        (deepest / "note.md").write_text("two")
        assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_a_tree_that_is_moved_in_is_told_and_followed(workspace: Path, tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        (tmp_path / "tree" / "x" / "y").mkdir(parents=True)
        await seen.follow(workspace)
        os.rename(tmp_path / "tree", workspace / "tree")
        await seen.told_of(CHANGED)
        await until_async(lambda: seen.coverage().watches == 6)
        await seen.heard(workspace)
        (workspace / "tree" / "x" / "y" / "note.md").write_text("one")
        assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_a_workspace_that_is_a_link_is_followed_where_it_leads(workspace: Path, tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        (tmp_path / "link").symlink_to(workspace)
        await seen.follow(tmp_path / "link")
        (workspace / "MEMORY.md").write_text("through the link")
        assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_what_is_never_captured_is_not_told(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        (workspace / "node_modules" / "x").mkdir(parents=True)
        await seen.follow(workspace, ignored=("node_modules/", "run.log"), noise=("*.sqlite-shm", ".*.sw[op]"))
        (workspace / "node_modules" / "x" / "index.js").write_text("x")
        (workspace / "run.log").write_text("x")
        (workspace / "memory" / "index.sqlite-shm").write_text("x")
        (workspace / "memory" / ".MEMORY.md.swp").write_text("x")
        (workspace / ".MEMORY.md.lifeboat-undo-1").mkdir()
        (workspace / ".MEMORY.md.lifeboat-undo-1" / "MEMORY.md").write_text("x")
        assert await seen.heard(workspace) == []
        (workspace / "memory" / "run.log").write_text("x")
        assert set(await seen.heard(workspace)) == {CHANGED}

    watching(story)


def test_reading_what_is_watched_is_not_told(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        for file in workspace.rglob("*"):
            file.stat()
            if file.is_file():
                file.read_bytes()
        assert await seen.heard(workspace) == []

    watching(story)


@linux
def test_folders_that_are_never_captured_take_no_watch(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        for number in range(20):
            (workspace / "node_modules" / str(number)).mkdir(parents=True)
        before = inotify_limits.count_process_use().watches
        plan = WatchPlan((PlannedFolder(str(workspace), ignored=("node_modules/",)),))
        seen.watcher.follow(ADA, plan)
        await seen.told_of(RESCAN)
        found = seen.coverage()
        assert (found.mode, found.folders, found.watches) == ("events", 3, 3)
        beside_the_workspace = 1
        assert inotify_limits.count_process_use().watches - before == 3 + beside_the_workspace

    watching(story)


def test_a_folder_that_is_not_left_out_any_more_is_watched(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        (workspace / "drafts").mkdir()
        seen.watcher.follow(ADA, WatchPlan((PlannedFolder(str(workspace), ignored=("drafts/",)),)))
        await seen.told_of(RESCAN)
        seen.watcher.follow(ADA, WatchPlan((PlannedFolder(str(workspace)),)))
        await seen.told_of(RESCAN)
        (workspace / "drafts" / "note.md").write_text("x")
        await seen.told_of(CHANGED)

    watching(story)


def test_an_equal_plan_changes_nothing(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        seen.begin(workspace)
        assert await seen.heard(workspace) == []

    watching(story)


def test_a_workspace_that_went_and_came_back_is_told_and_followed(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        shutil.rmtree(workspace)
        await seen.told_of(GONE)
        assert seen.coverage().mode == "none"
        workspace.mkdir()
        await seen.told_of(RESCAN)
        (workspace / "MEMORY.md").write_text("again")
        await seen.told_of(CHANGED)

    watching(story)


def test_a_workspace_that_was_renamed_is_gone(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        os.rename(workspace, f"{workspace}-old")
        await seen.told_of(GONE)
        Path(f"{workspace}-old", "MEMORY.md").write_text("nobody's")
        workspace.mkdir()
        await seen.told_of(RESCAN)
        assert await seen.heard(workspace) == []

    watching(story)


def test_a_workspace_that_was_exchanged_is_looked_through_and_followed(workspace: Path, tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        (tmp_path / "other").mkdir()
        await seen.follow(workspace)
        os.rename(workspace, tmp_path / "former")
        os.rename(tmp_path / "other", workspace)
        await seen.told_of(RESCAN)
        (workspace / "MEMORY.md").write_text("another")
        await seen.told_of(CHANGED)

    watching(story)


def test_a_workspace_that_is_not_there_yet_is_followed_once_it_is(tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        workspace = tmp_path / "not" / "there" / "yet"
        seen.watcher.follow(ADA, WatchPlan((PlannedFolder(str(workspace)),)))
        await seen.told_of(GONE)
        workspace.mkdir(parents=True)
        await seen.told_of(RESCAN)
        (workspace / "MEMORY.md").write_text("x")
        await seen.told_of(CHANGED)

    watching(story)


def test_a_workspace_made_with_all_above_it_at_once_is_never_missed(tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        for number in range(20):
            workspace = tmp_path / str(number) / "b" / "c" / "workspace"
            seen.watcher.follow(ADA, WatchPlan((PlannedFolder(str(workspace)),)))
            await seen.told_of(GONE)
            workspace.mkdir(parents=True)
            await seen.told_of(RESCAN)
            seen.watcher.leave(ADA)

    watching(story, rest=0.002)


def test_a_folder_of_the_runtime_that_comes_later_is_looked_through(workspace: Path, tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        skills = tmp_path / "state" / "skills"
        seen.watcher.follow(ADA, WatchPlan((PlannedFolder(str(workspace)), PlannedFolder(str(skills), only=("*.md",)))))
        await seen.told_of(RESCAN)
        skills.mkdir(parents=True)
        await seen.told_of(RESCAN)
        (skills / "tea.md").write_text("x")
        await seen.told_of(CHANGED)
        shutil.rmtree(tmp_path / "state")
        await seen.told_of(RESCAN)

    watching(story)


def test_two_agents_that_share_a_folder_hear_what_is_theirs(tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        for agent in ("ada", "grace"):
            plan = WatchPlan((PlannedFolder(str(tmp_path), recursive=False, only=(f"{agent}.md",)),))
            seen.watcher.follow(agent, plan)
        await until_async(lambda: bool(seen.of("ada")) and bool(seen.of("grace")))
        seen.told.clear()
        (tmp_path / "ada.md").write_text("x")
        await until_async(lambda: CHANGED in seen.of("ada"))
        (tmp_path / "grace.md").write_text("x")
        await until_async(lambda: CHANGED in seen.of("grace"))
        first = seen.told.index(WatchSignal("grace", CHANGED))
        assert WatchSignal("ada", CHANGED) in seen.told[:first]
        seen.watcher.leave("ada")
        seen.told.clear()
        (tmp_path / "ada.md").write_text("y")
        (tmp_path / "grace.md").write_text("y")
        await until_async(lambda: bool(seen.of("grace")))
        assert seen.of("ada") == [] and seen.coverage("ada") == WatchCoverage("none")

    watching(story)


def test_a_burst_of_changes_is_told_a_few_times(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        for number in range(1500):
            (workspace / "memory" / f"{number}.md").write_text("x")
        assert 1 <= len(await seen.heard(workspace)) < 50

    watching(story, rest=loop_mailbox.REST)


def test_who_watches_for_somebody_that_died_is_replaced(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        from watchdog.observers.api import EventEmitter

        for thread in threading.enumerate():
            if isinstance(thread, EventEmitter) and thread.watch.path == str(workspace):
                thread.stop()
                thread.join()
        seen.watcher.check()
        await seen.told_of(RESCAN)
        assert seen.coverage().watches == 3
        (workspace / "MEMORY.md").write_text("x")
        await seen.told_of(CHANGED)

    watching(story)


@linux
def test_a_folder_that_was_moved_out_and_made_again_and_removed_twice_ends_nothing(
    workspace: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        os.rename(workspace / "memory", tmp_path / "elsewhere")
        await seen.heard(workspace)
        (workspace / "memory").mkdir()
        await seen.told_of(CHANGED)
        (workspace / "memory").rmdir()
        await until_async(lambda: seen.coverage().watches == 2)
        await seen.heard(workspace)
        shutil.rmtree(tmp_path / "elsewhere")
        await seen.told_of(RESCAN)
        await until_async(lambda: seen.coverage().watches == 1)
        (workspace / "MEMORY.md").write_text("x")
        await seen.told_of(CHANGED)

    watching(story)
    assert capfd.readouterr().err == ""


def test_a_silent_file_system_is_looked_through_each_time(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_mounts, "list_mounts", lambda: [("/", "ext4"), (str(workspace), "nfs4")])

    async def story(seen: Watching) -> None:
        seen.watcher.follow(ADA, WatchPlan((PlannedFolder(str(workspace)),)))
        await seen.told_of(RESCAN)
        found = seen.coverage()
        assert found.mode == "polling" and found.watches == 0 and "nfs4" in (found.reason or "")
        seen.watcher.check()
        await seen.told_of(RESCAN)

    watching(story)


def test_what_is_watched_whole_is_not_looked_through_each_time(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        seen.watcher.check()
        assert await seen.heard(workspace) == []

    watching(story)


def test_a_file_system_that_does_not_answer_holds_up_nobody(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr(silent_mounts, "list_mounts", lambda: [] if answers.wait(patience()) else [("/", "dead")])

    async def story(seen: Watching) -> None:
        seen.watcher.follow(ADA, WatchPlan((PlannedFolder(str(workspace)),)))
        assert seen.coverage().reason == "Lifeboat is still setting up the watches"
        (workspace / "MEMORY.md").write_text("not seen by anybody")
        answers.set()
        await seen.told_of(RESCAN)
        assert seen.coverage().mode == "events"

    watching(story)


@linux
def test_a_folder_that_may_not_be_read_is_watched_once_it_may(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, access = {os.fsencode(workspace / "memory")}, os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path not in closed and access(path, mode))

    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        # The capture reports that it cannot be read; a scan would find nothing else.
        assert (seen.coverage().mode, seen.coverage().watches) == ("events", 2)
        closed.clear()
        seen.watcher.check()
        await seen.told_of(RESCAN)
        assert seen.coverage().watches == 3

    watching(story)


def test_nothing_is_told_after_the_end(workspace: Path) -> None:
    kept: list[WatchSignal] = []

    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        (workspace / "MEMORY.md").write_text("x")
        seen.watcher.stop()
        seen.watcher.follow("grace", WatchPlan((PlannedFolder(str(workspace)),)))
        seen.watcher.check()
        kept.extend(seen.told)

    watching(story)
    assert kept == []


@pytest.mark.parametrize("make", [Protected, ProtectedClaw])
def test_a_capture_of_everything_is_not_told(make: Callable[[Path], Any], tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        made = make(tmp_path)
        made.add()
        workspace = made.agent.workspace
        seen.fence(workspace)
        first, *others = make_watch_plan.plan_watching(made.context, made.agent).folders
        first = msgspec.structs.replace(first, ignored=(*first.ignored, FENCE))
        seen.watcher.follow(ADA, WatchPlan((first, *others)))
        await seen.told_of(RESCAN)
        await seen.heard(workspace)
        made.capture(full=True)
        assert await seen.heard(workspace) == []

    watching(story)


# Single files -------------------------------------------------------------------------------------------------------


def test_files_by_name_are_told_and_no_others(tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        told: list[str] = []
        seen.watcher.watch_files(tmp_path, ["config.toml"], lambda: told.append("config"))
        seen.watcher.watch_files(tmp_path / "agents", ["*.toml"], lambda: told.append("agents"))
        seen.watcher.watch_files(tmp_path, ["end"], lambda: told.append("end"))
        await until_async(lambda: "config" in told and "end" in told)
        told.clear()
        (tmp_path / "other.toml").write_text("")
        (tmp_path / "end").write_text("")
        await until_async(lambda: "end" in told)
        assert set(told) == {"end"}
        (tmp_path / "config.toml").write_text("")
        await until_async(lambda: "config" in told)
        (tmp_path / "agents").mkdir()
        await until_async(lambda: "agents" in told)
        told.clear()
        (tmp_path / "agents" / "x.toml").write_text("")
        await until_async(lambda: "agents" in told)

    watching(story)


def test_a_name_that_appears_is_told_whether_it_is_a_file_or_a_folder(tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        told: list[int] = []
        seen.watcher.watch_files(tmp_path, [".openclaw"], lambda: told.append(1))
        await until_async(lambda: bool(told))
        told.clear()
        (tmp_path / ".openclaw").mkdir()
        await until_async(lambda: bool(told))

    watching(story)


def test_other_names_take_the_place_of_the_former_ones(tmp_path: Path) -> None:
    async def story(seen: Watching) -> None:
        told: list[str] = []
        first, second = (lambda: told.append("ada")), (lambda: told.append("end"))
        seen.watcher.watch_files(tmp_path, ["old"], first)
        seen.watcher.watch_files(tmp_path, ["new"], first)
        seen.watcher.watch_files(tmp_path, ["end"], second)
        await until_async(lambda: "ada" in told and "end" in told)
        told.clear()
        (tmp_path / "old").write_text("")
        (tmp_path / "end").write_text("")
        await until_async(lambda: "end" in told)
        assert "ada" not in told
        (tmp_path / "new").write_text("")
        await until_async(lambda: "ada" in told)

    watching(story)


def test_the_daemon_watches_without_what_only_a_worker_needs() -> None:
    program = (
        "import sys, lifeboat_daemon.watch.agent_watcher, lifeboat_daemon.watch.inotify_observer\n"
        "heavy = ('lifeboat_formats', 'lifeboat_adapters', 'lifeboat_vault', 'lifeboat_keys', 'lifeboat_endpoint')\n"
        "heavy += ('nacl', 'sqlite3', 'psutil', 'httpx')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": paths}
    )
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("folder", ["/nowhere/\0", "/nowhere/\ud800", "/" + "x" * 5000])
def test_a_folder_that_can_be_no_path_is_missing_and_disturbs_nobody_else(workspace: Path, folder: str) -> None:
    async def story(made: Watching) -> None:
        made.watcher.follow("odd", WatchPlan((PlannedFolder(folder),)))
        await made.follow(workspace)
        (workspace / "MEMORY.md").write_text("# Memory\n")
        await made.told_of(CHANGED)
        assert made.coverage().mode == "events"
        assert made.coverage("odd").reason == "the folder does not exist"

    watching(story)


@linux
def test_nothing_of_the_watching_stays_open_in_a_program_that_takes_the_place_of_this_one(workspace: Path) -> None:
    async def story(seen: Watching) -> None:
        await seen.follow(workspace)
        links = {each: os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}
        found = [int(each.name) for each, target in links.items() if target == "anon_inode:inotify"]
        assert found and not any(map(os.get_inheritable, found))

    watching(story)
