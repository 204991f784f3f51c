"""Restores into the agent's own workspace, and their undo."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_cli.demo.demo_workspace import FAKE_KEY
from lifeboat_cli.demo.tree_comparison import find_files_holding, list_differences, read_tree
from lifeboat_core.agents import agent as agents
from lifeboat_core.errors import RestoreError
from lifeboat_core.restore import (
    RestoreAction,
    RestoreOptions,
    carry_out_plan,
    describe_diffs,
    describe_plan,
    journal_moves,
    open_plan,
    recover_restores,
    restore_agent,
    secret_hiding,
    undo_restore,
)
from lifeboat_core.restore import restore_target as targets
from lifeboat_core.restore.restore_options import RestoreOptions as Options
from support.alf.raising import raises_code
from support.core import invariants
from support.core.harbour import Harbour, harbour, harbour_after_a_day
from support.deep_folders import DEEPER_THAN_A_PATH, DEEPER_THAN_THE_STACK, nest, removed_afterwards
from support.prepared_folders import PreparedFolders


def options(at: int | None = None, **others: object) -> RestoreOptions:
    return Options(at=at, yes=True, reindex=False, **others)  # type: ignore[arg-type]


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada after a day", harbour_after_a_day)


def undo_folders(ada: Harbour) -> list[Path]:
    return sorted(ada.workspace.parent.glob(".workspace.lifeboat-undo-*"))


def test_an_older_sequence_comes_back_whole(ada: Harbour) -> None:
    report = restore_agent(ada.context, ada.agent, options(0))
    assert list_differences(ada.trees[0], read_tree(ada.workspace)) == []
    assert report.in_place
    assert report.files["overwritten"] > 0
    assert report.files["removed"] > 0
    assert report.files["created"] > 0


def test_what_was_replaced_lies_in_the_undo_folder(ada: Harbour) -> None:
    memory = (ada.workspace / "MEMORY.md").read_bytes()
    restore_agent(ada.context, ada.agent, options(0))
    (folder,) = undo_folders(ada)
    assert (folder / "MEMORY.md").read_bytes() == memory


def test_a_file_that_was_never_captured_is_not_touched(ada: Harbour) -> None:
    (ada.workspace / "since.md").write_text("written since the last capture\n")
    restore_agent(ada.context, ada.agent, options(0))
    assert (ada.workspace / "since.md").read_text() == "written since the last capture\n"


def test_the_state_before_it_is_captured_and_pinned(ada: Harbour) -> None:
    (ada.workspace / "MEMORY.md").write_text("# Memory\n\nNever captured before.\n")
    before = read_tree(ada.workspace)
    report = restore_agent(ada.context, ada.agent, options(0))
    assert report.safety is not None
    with ada.context.vault(ada.agent.id) as vault:
        assert [pin.reason for pin in vault.sequence(report.safety).pins] == ["safety"]
        assert vault.sequence(report.captured or 0).kind == "restore"
    restore_agent(ada.context, ada.agent, options(report.safety))
    assert list_differences(before, read_tree(ada.workspace)) == []


def test_it_needs_a_yes(ada: Harbour) -> None:
    with raises_code(RestoreError.CONSENT_NEEDED) as refused:
        restore_agent(ada.context, ada.agent, RestoreOptions(at=0))
    assert refused.value.exit_status == 3
    assert list_differences(ada.trees[ada.head], read_tree(ada.workspace)) == []


def test_a_restore_of_what_is_there_moves_nothing(ada: Harbour) -> None:
    report = restore_agent(ada.context, ada.agent, options())
    assert {word: count for word, count in report.files.items() if count and word != "skipped"} == {
        "same": report.files["same"]
    }
    assert undo_folders(ada) == []


def test_a_time_alone_is_set_right(ada: Harbour) -> None:
    soul, head = ada.workspace / "SOUL.md", ada.head
    before = soul.stat().st_mtime_ns
    os.utime(soul, ns=(1, 1))
    report = restore_agent(ada.context, ada.agent, options(head))
    assert report.files["overwritten"] == 0
    assert list_differences(ada.trees[head], read_tree(ada.workspace)) == []
    assert soul.stat().st_mtime_ns == before


def test_a_file_that_changes_between_plan_and_restore_stops_it(ada: Harbour) -> None:
    with open_plan(ada.context, ada.agent, None, options(0)) as made:
        (ada.workspace / "MEMORY.md").write_text("the agent is at work\n")
        before = read_tree(ada.workspace)
        with raises_code(RestoreError.TARGET_CHANGED, match=r"MEMORY\.md"):
            carry_out_plan(ada.context, made)
    assert list_differences(before, read_tree(ada.workspace)) == []
    assert recover_restores(ada.context) == []


def test_only_what_is_named_is_restored(ada: Harbour) -> None:
    before = read_tree(ada.workspace)
    restore_agent(ada.context, ada.agent, options(0, path_globs=("MEMORY.md",)))
    changed = list_differences(before, read_tree(ada.workspace))
    assert len(changed) == 1
    assert changed[0].startswith("MEMORY.md")


def test_a_lost_workspace_comes_back(ada: Harbour) -> None:
    shutil.rmtree(ada.workspace)
    report = restore_agent(ada.context, ada.agent, RestoreOptions(reindex=False))
    assert list_differences(ada.trees[report.sequence], read_tree(ada.workspace)) == []


def test_an_emptied_workspace_comes_back(ada: Harbour) -> None:
    for path in list(ada.workspace.iterdir()):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    report = restore_agent(ada.context, ada.agent, RestoreOptions(reindex=False))
    assert list_differences(ada.trees[report.sequence], read_tree(ada.workspace)) == []


def test_undo_takes_it_back_and_undo_again_does_it_again(ada: Harbour) -> None:
    newest = ada.head
    restore_agent(ada.context, ada.agent, options(0))
    report = undo_restore(ada.context, ada.agent)
    assert report.kind == "undo"
    assert list_differences(ada.trees[newest], read_tree(ada.workspace)) == []
    undo_restore(ada.context)
    assert list_differences(ada.trees[0], read_tree(ada.workspace)) == []
    assert len(undo_folders(ada)) == 1


def test_undo_brings_a_file_back_whose_name_is_not_utf_8(ada: Harbour) -> None:
    """Nothing else is moved, so no other path of the journal names its folder."""
    before = ada.head
    odd = Path(os.fsdecode(os.fsencode(ada.workspace) + b"/caf\xe9.md"))
    odd.write_text("one")
    ada.capture()
    restore_agent(ada.context, ada.agent, options(before))
    assert not odd.exists()
    undo_restore(ada.context, ada.agent)
    assert odd.read_text() == "one"


def test_undo_removes_folders_that_a_restore_made_whatever_their_names_are(ada: Harbour) -> None:
    odd = os.fsdecode(b"caf\xe9")
    inner = ada.workspace / "outer" / odd / "inner"
    inner.mkdir(parents=True)
    number = ada.capture()
    shutil.rmtree(ada.workspace / "outer")
    (ada.workspace / "MEMORY.md").write_text("else\n")
    newest = ada.capture()
    restore_agent(ada.context, ada.agent, options(number))
    assert inner.is_dir()
    undo_restore(ada.context, ada.agent)
    assert list_differences(ada.trees[newest], read_tree(ada.workspace)) == []


def test_undo_refuses_when_something_was_written_since(ada: Harbour) -> None:
    newest = ada.head
    restore_agent(ada.context, ada.agent, options(0))
    (ada.workspace / "MEMORY.md").write_text("work of an afternoon\n")
    with raises_code(RestoreError.TARGET_CHANGED, match=r"MEMORY\.md") as refused:
        undo_restore(ada.context, ada.agent)
    assert "--force" in str(refused.value.fix)
    undo_restore(ada.context, ada.agent, force=True)
    assert list_differences(ada.trees[newest], read_tree(ada.workspace)) == []
    assert "work of an afternoon\n" in [path.read_text() for path in undo_folders(ada)[-1].glob("MEMORY.md")]


def test_undo_brings_folders_back_and_takes_them_away(ada: Harbour) -> None:
    (ada.workspace / "deep" / "er").mkdir(parents=True)
    (ada.workspace / "deep" / "er" / "note.md").write_text("deep\n")
    number = ada.capture()
    restore_agent(ada.context, ada.agent, options(0))
    assert not (ada.workspace / "deep").exists()
    undo_restore(ada.context, ada.agent)
    assert list_differences(ada.trees[number], read_tree(ada.workspace)) == []


def test_there_is_nothing_to_undo_at_first(ada: Harbour) -> None:
    with raises_code(RestoreError.NOTHING_TO_UNDO):
        undo_restore(ada.context, ada.agent)


class Later(invariants.Stopped):
    """A clock that is later by some time, with the machine running."""

    def __init__(self, start: datetime, later: timedelta) -> None:
        super().__init__(start + later)
        self.later = later

    def since_boot(self) -> float:
        return super().since_boot() + self.later.total_seconds()


def test_after_seven_days_the_undo_folder_goes(ada: Harbour) -> None:
    restore_agent(ada.context, ada.agent, options(0))
    later = replace(ada.context, clock=Later(ada.context.clock.now(), timedelta(days=8)))
    with raises_code(RestoreError.NOTHING_TO_UNDO):
        undo_restore(later, ada.agent)
    assert recover_restores(later) == []
    assert undo_folders(ada) == []


@pytest.mark.parametrize("depth", [DEEPER_THAN_THE_STACK, DEEPER_THAN_A_PATH])
def test_folders_without_end_in_the_place_of_a_file_stop_neither_a_restore_nor_what_follows(
    ada: Harbour, depth: int
) -> None:
    """Folders too deep to name may hold anything, so they stay and are reported."""
    later = replace(ada.context, clock=Later(ada.context.clock.now(), timedelta(days=8)))
    (ada.workspace / "SOUL.md").unlink()
    with removed_afterwards(ada.workspace.parent):
        nest(ada.workspace / "SOUL.md", depth)
        report = restore_agent(ada.context, ada.agent, options(0))
        is_left = depth == DEEPER_THAN_A_PATH
        assert ("SOUL.md" in [each["name"] for each in report.skipped]) is is_left
        if is_left:
            journal_moves.remove_tree(ada.context.files, ada.workspace / "SOUL.md")
            restore_agent(ada.context, ada.agent, options(0))
        assert list_differences(ada.trees[0], read_tree(ada.workspace)) == []
        assert recover_restores(later) == []
        assert undo_folders(ada) == []


def test_a_clock_that_leaps_ahead_costs_no_undo_folder(ada: Harbour) -> None:
    restore_agent(ada.context, ada.agent, options(0))
    leapt = replace(ada.context, clock=invariants.Stopped(ada.context.clock.now() + timedelta(days=3650)))
    assert recover_restores(leapt) == []
    assert len(undo_folders(ada)) == 1
    undo_restore(ada.context, ada.agent)


def test_a_file_where_a_folder_was_and_the_other_way(ada: Harbour) -> None:
    (ada.workspace / "swap").write_text("a file\n")
    (ada.workspace / "pawn").mkdir()
    (ada.workspace / "pawn" / "in.md").write_text("in\n")
    first = ada.capture()
    (ada.workspace / "swap").unlink()
    (ada.workspace / "swap").mkdir()
    (ada.workspace / "swap" / "out.md").write_text("out\n")
    shutil.rmtree(ada.workspace / "pawn")
    (ada.workspace / "pawn").symlink_to("SOUL.md")
    second = ada.capture()
    restore_agent(ada.context, ada.agent, options(first))
    assert list_differences(ada.trees[first], read_tree(ada.workspace)) == []
    undo_restore(ada.context, ada.agent)
    assert list_differences(ada.trees[second], read_tree(ada.workspace)) == []
    invariants.always(ada.context, ada.agent, ada.trees)


class Refusing(SystemFiles):
    """A file system that refuses moves into the workspace after the first ones."""

    def __init__(self, workspace: Path, room: int) -> None:
        self.workspace, self.room, self.fired = workspace, room, False

    def replace(self, source: StrPath, target: StrPath) -> None:
        into = os.fspath(target).startswith(f"{self.workspace}/") and "stage" in os.fspath(source)
        self.room -= into
        if into and self.room == 0:
            self.fired = True
            raise OSError(errno.EBUSY, "Device or resource busy", os.fspath(target))
        super().replace(source, target)


def test_a_move_that_the_file_system_refuses_puts_everything_back(ada: Harbour) -> None:
    files = Refusing(ada.workspace, 3)
    context = replace(ada.context, files=files)
    with raises_code(RestoreError.RESTORE_FAILED, match="busy"):
        restore_agent(context, ada.agent, options(0))
    assert files.fired
    assert list_differences(ada.trees[ada.head], read_tree(ada.workspace)) == []
    assert recover_restores(ada.context) == []


class NoRoomBeside(SystemFiles):
    """A workspace that is a mount, so that nothing can be renamed into it from beside."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def replace(self, source: StrPath, target: StrPath) -> None:
        inside = [os.fspath(path).startswith(f"{self.workspace}/") for path in (source, target)]
        if inside[0] != inside[1]:
            raise OSError(errno.EXDEV, "Invalid cross-device link", os.fspath(source))
        super().replace(source, target)


def test_a_workspace_that_is_a_mount_is_restored_from_within(ada: Harbour) -> None:
    context = replace(ada.context, files=NoRoomBeside(ada.workspace))
    newest = ada.head
    restore_agent(context, ada.agent, options(0))
    found = {path: node for path, node in read_tree(ada.workspace).items() if not path.startswith(b".lifeboat-")}
    assert list_differences(ada.trees[0], found) == []
    with context.vault(ada.agent.id) as vault:
        assert [each.path for each in vault.state().entries() if ".lifeboat-" in each.path] == []
    undo_restore(context, ada.agent)
    found = {path: node for path, node in read_tree(ada.workspace).items() if not path.startswith(b".lifeboat-")}
    assert list_differences(ada.trees[newest], found) == []


def test_mounts_in_a_workspace_get_working_folders_of_their_own(tmp_path: Path) -> None:
    outer = targets.place_inside(tmp_path, "j")
    inner = targets.place_inside(tmp_path / "memory", "j")
    assert targets.choose_working_folders([inner, outer], tmp_path / "memory" / "a.md") == inner
    assert targets.choose_working_folders([inner, outer], tmp_path / "SOUL.md") == outer


def test_with_adopt_the_agent_lives_in_the_other_folder(ada: Harbour, tmp_path: Path) -> None:
    report = restore_agent(ada.context, ada.agent, options(to=tmp_path / "moved", adopt=True))
    assert report.adopted
    agent = agents.load_agent(ada.context, ada.agent.id)
    assert agent.workspace == tmp_path / "moved"
    assert report.captured is not None


def test_another_agents_workspace_is_refused(ada: Harbour, tmp_path: Path) -> None:
    other = harbour(tmp_path / "second")
    target = other.workspace
    agents.save_agent(ada.context, replace(other.agent, name="Other"))
    with raises_code(RestoreError.TARGET_REFUSED, match="Other"):
        restore_agent(ada.context, ada.agent, options(to=target))
    with raises_code(RestoreError.TARGET_REFUSED, match="Other"):
        restore_agent(ada.context, ada.agent, options(to=target / "memory"))


def test_secrets_stay_out_where_the_user_says_so_and_come_back_otherwise(ada: Harbour) -> None:
    state_dir = ada.workspace.parent
    originals = {name: (state_dir / name).read_bytes() for name in ("openclaw.json", ".env")}
    (state_dir / ".env").unlink()
    newest = ada.head
    without = restore_agent(ada.context, ada.agent, options(newest, with_credentials=False))
    assert not (state_dir / ".env").exists()
    assert ".env" in [each["name"] for each in without.skipped]
    report = restore_agent(ada.context, ada.agent, options(newest))
    assert {name: (state_dir / name).read_bytes() for name in originals} == originals
    assert report.credentials["injected"] > 0
    assert find_files_holding(ada.context.home.folder, FAKE_KEY.encode()) == []


def test_a_plan_shows_no_secret_of_a_file_that_is_on_the_disk_now(ada: Harbour) -> None:
    """The sequence to restore has no secret in that file, so nothing was cut there."""
    note = ada.workspace / "AGENTS.md"
    note.write_text(f"{note.read_text()}\nThe key is {FAKE_KEY}.\n")
    with open_plan(ada.context, ada.agent, None, RestoreOptions(at=0)) as made:
        text = "\n".join(describe_diffs(made, secret_hiding.hide_in_files(ada.context, made)))
    assert "--- a/AGENTS.md" in text and "-The key is [secret]." in text
    assert FAKE_KEY not in text


def test_a_plan_says_what_would_happen_line_by_line(ada: Harbour) -> None:
    with open_plan(ada.context, ada.agent, None, RestoreOptions(at=0)) as made:
        text = "\n".join((*describe_plan(made), *describe_diffs(made, secret_hiding.hide_in_files(ada.context, made))))
        document = made.to_json()
    assert "overwrite" in text
    assert "--- a/MEMORY.md" in text
    assert document["files"]["overwritten"] == made.count(RestoreAction.OVERWRITE)
    assert FAKE_KEY not in text
    assert list_differences(ada.trees[ada.head], read_tree(ada.workspace)) == []


@pytest.mark.parametrize("large", [False, True], ids=["captured", "described"])
def test_a_folder_gets_the_usual_rights_back_that_it_had(ada: Harbour, large: bool) -> None:
    folder = ada.workspace / "reports"
    folder.mkdir()
    (folder / "one.bin").write_bytes(os.urandom(3_000_000) if large else b"one")
    folder.chmod(0o755)
    number = ada.capture()
    folder.chmod(0o700)
    (folder / "one.bin").write_bytes(os.urandom(3_000_000) if large else b"two")
    ada.capture()
    restore_agent(ada.context, ada.agent, options(number))
    assert folder.stat().st_mode & 0o777 == 0o755
    undo_restore(ada.context, ada.agent)
    assert folder.stat().st_mode & 0o777 == 0o700
