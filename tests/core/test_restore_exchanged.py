"""An agent exchanges a folder of its workspace for a link during a restore or an undo: nothing outside is written, and
nothing is lost."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams import held_folder
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_cli.restore.restore_commands import restore_exit_status
from lifeboat_core.errors import RestoreError
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent
from lifeboat_core.restore.restore_staging import FileStager
from lifeboat_core.restore.restore_undo import undo_restore
from lifeboat_core.restore.wanted_contents import DATABASE, WantedFile
from lifeboat_vault.vault.state_inventory import ProvenState
from support.alf.raising import raises_code
from support.core.protected import Protected
from support.exchanging import CHANGES, ExchangingFiles, everything_in, exchange, needs_exchange

pytestmark = needs_exchange
AT_FIRST = RestoreOptions(at=0, yes=True, reindex=False)
NAMES = ("one.md", "two.md")


class Jail:
    """An agent whose folder `notes` can be exchanged for a link to an outside folder with the same names."""

    def __init__(self, folder: Path, files: ExchangingFiles) -> None:
        self.files = files
        self.ada = Protected(folder, files=files)
        self.notes, self.link = self.ada.workspace / "notes", self.ada.workspace / "swap"
        self.outside = folder / "outside"
        (self.outside / "inner").mkdir(parents=True)
        self.outside.chmod(0o755)
        self.write("first")
        (self.notes / "inner").chmod(0o700)
        self.ada.write("notes/gone.md", "was there at first\n")
        self.ada.add(name="ada")
        for name in (*NAMES, "gone.md", "later.md", "inner/three.md"):
            (self.outside / name).write_text(f"outside {name}\n")
        (self.outside / "inner").chmod(0o755)
        self.write("second")
        (self.notes / "gone.md").unlink()
        (self.notes / "inner").chmod(0o755)
        self.ada.write("notes/later.md", "came later\n")
        self.ada.capture()
        self.link.symlink_to(self.outside)
        self.before = everything_in(self.outside)

    def write(self, word: str) -> None:
        for name in (*NAMES, "inner/three.md"):
            self.ada.write(f"notes/{name}", f"{word} {name}\n")

    def exchange(self) -> None:
        for path in (self.notes, self.link):
            if not os.path.lexists(path):  # a capture saw it elsewhere, and so a restore removed it
                path.symlink_to(self.outside)
        exchange(self.notes, self.link)

    def settle(self) -> None:
        """Stop the agent, and give its folder the former name."""
        self.files.heal()
        if self.notes.is_symlink():
            self.exchange()
        recover_restores(self.ada.context)

    def restore(self) -> None:
        restore_agent(self.ada.context, self.ada.agent, AT_FIRST)

    def undo(self) -> None:
        undo_restore(self.ada.context, self.ada.agent, force=True)

    def texts(self) -> set[str]:
        """Return everything that the agent had, wherever it is now."""
        return {path.read_text() for path in self.ada.state_dir.rglob("*.md") if path.is_file()}


@pytest.fixture
def jail(tmp_path: Path) -> Jail:
    return Jail(tmp_path, ExchangingFiles(tmp_path / "openclaw"))


def attacked(jail: Jail, work: Callable[[], None], before: Callable[[int], None]) -> None:
    jail.files.heal()
    jail.files.before = before
    with contextlib.suppress(LifeboatError, OSError):  # it may stop, or get through in between
        work()


@pytest.mark.parametrize("walk", ["in one call", "by components"])
@pytest.mark.parametrize("every", [1, 2, 3])
def test_no_byte_outside_is_written_while_the_agent_exchanges_a_folder_again_and_again(
    jail: Jail, every: int, walk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walk == "by components":
        monkeypatch.setattr(held_folder, "load_openat2", lambda: None)
    had = jail.texts()
    for work in (jail.restore, jail.undo, jail.restore):
        attacked(jail, work, lambda number: jail.exchange() if number % every == 0 else None)
        jail.settle()
        assert everything_in(jail.outside) == jail.before
    assert jail.texts() >= had


def test_no_byte_outside_is_written_whenever_the_agent_exchanges_a_folder(jail: Jail) -> None:
    """Exchange once before each writing operation, of a restore and of its undo."""
    had, jail.files.counted = jail.texts(), CHANGES
    jail.restore()
    assert jail.files.count > 20
    for number in range(1, jail.files.count + 1):
        work = (jail.undo, jail.restore)[number % 2]
        attacked(jail, work, lambda count, number=number: jail.exchange() if count == number else None)  # type: ignore[misc]
        assert everything_in(jail.outside) == jail.before, number
        jail.settle()
        assert everything_in(jail.outside) == jail.before, number
    assert jail.texts() >= had


def test_a_restore_that_meets_a_link_names_the_command_that_takes_it_away(jail: Jail) -> None:
    def before(number: int) -> None:
        if not jail.notes.is_symlink() and any(jail.ada.state_dir.glob(".workspace.lifeboat-undo-*/notes/*")):
            jail.exchange()

    jail.files.before = before
    with raises_code(RestoreError.RESTORE_FAILED, match="the path of the file contains a symbolic link") as caught:
        jail.restore()
    assert caught.value.fix == f"mv {jail.notes} {jail.notes}.aside"
    jail.files.heal()
    os.rename(jail.notes, f"{jail.notes}.aside")
    assert any("complete now" in said for said in recover_restores(jail.ada.context))
    assert everything_in(jail.outside) == jail.before


def test_a_restore_says_what_was_moved_away_while_it_was_running(jail: Jail, tmp_path: Path) -> None:
    def before(number: int) -> None:
        if (jail.notes / "gone.md").exists():
            os.rename(jail.notes / "gone.md", tmp_path / "taken.md")

    jail.files.before = before
    report = restore_agent(jail.ada.context, jail.ada.agent, AT_FIRST)
    assert report.moved_away == [str(jail.notes / "gone.md")]
    assert any(
        "1 restored file moved, replaced or removed by another program during the restore" in said and "gone.md" in said
        for said in report.warnings
    )
    assert restore_exit_status(report.to_json()) == 1


def test_an_undo_says_what_was_moved_away_and_not_what_was_before(jail: Jail, tmp_path: Path) -> None:
    jail.restore()

    def before(number: int) -> None:
        if (jail.notes / "later.md").exists():
            os.rename(jail.notes / "later.md", tmp_path / "taken.md")

    jail.files.before = before
    assert undo_restore(jail.ada.context, jail.ada.agent).moved_away == [str(jail.notes / "later.md")]
    jail.files.heal()
    assert restore_agent(jail.ada.context, jail.ada.agent, AT_FIRST).moved_away == []


def test_every_restored_file_stands_as_restored_or_is_named(jail: Jail, tmp_path: Path) -> None:
    """Exchange a folder for another real one, once before each operation of a restore."""
    first = {"one.md": "first one.md\n", "two.md": "first two.md\n", "gone.md": "was there at first\n"}
    other, named, ended = tmp_path / "other", 0, 0
    (other / "inner").mkdir(parents=True)
    jail.files.counted = CHANGES
    jail.restore()
    for number in range(1, jail.files.count + 1, 2):
        jail.files.heal()
        for folder, word in ((jail.notes, "second"), (other, "other")):
            for name in (*NAMES, "gone.md", "inner/three.md"):
                (folder / name).write_text(f"{word} {name}\n")
        is_in_time = False

        def before(count: int, number: int = number) -> None:
            nonlocal is_in_time
            if count == number:
                staged = jail.ada.state_dir.glob(".workspace.lifeboat-stage-*/**/*")
                is_in_time = any(path.is_file() for path in staged)
                exchange(jail.notes, other)

        jail.files.before = before
        with contextlib.suppress(LifeboatError):
            away = restore_agent(jail.ada.context, jail.ada.agent, AT_FIRST).moved_away
            if is_in_time:
                stands = {name for name, text in first.items() if _text_of(jail.notes / name) == text}
                assert {str(jail.notes / name) for name in first.keys() - stands} <= set(away), number
                named, ended = named + bool(away), ended + 1
        jail.files.heal()
        recover_restores(jail.ada.context)
        assert everything_in(jail.outside) == jail.before
    assert 0 < named <= ended


def _text_of(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None


class NoRoomBeside(ExchangingFiles):
    """A workspace that is a mount: staging and undo folders are in it, where the agent can exchange them."""

    def replace(self, source: StrPath, target: StrPath) -> None:
        inside = [os.fspath(path).startswith(f"{self.below}/workspace/") for path in (source, target)]
        if inside[0] != inside[1]:
            raise OSError(errno.EXDEV, "Invalid cross-device link", os.fspath(source))
        super().replace(source, target)


@pytest.mark.parametrize("kind", ["stage", "undo"])
@pytest.mark.parametrize("after", range(0, 12, 2))
def test_working_folders_in_the_workspace_are_no_way_out(tmp_path: Path, kind: str, after: int) -> None:
    jail = Jail(tmp_path, NoRoomBeside(tmp_path / "openclaw"))
    had, met = jail.texts(), 0

    def before(number: int) -> None:
        nonlocal met
        folder = next(jail.ada.workspace.glob(f".lifeboat-{kind}-*"), None)
        if folder is not None and not folder.is_symlink():
            met += 1
            if met > after:
                jail.files.before = lambda number: None
                exchange(folder, jail.link)

    jail.files.before = before
    attacked(jail, jail.restore, before)
    assert met > after
    assert everything_in(jail.outside) == jail.before
    jail.files.heal()
    recover_restores(jail.ada.context)
    assert everything_in(jail.outside) == jail.before
    assert jail.texts() >= had


def test_a_database_is_not_made_in_a_folder_that_the_agent_can_exchange(tmp_path: Path) -> None:
    """An adapter writes it by its path, with a library that follows links."""
    workspace, outside, aside = (tmp_path.resolve() / name for name in ("workspace", "outside", "aside"))
    folder = workspace / ".lifeboat-stage-1"
    for each in (folder, outside, aside):
        each.mkdir(parents=True)
    (workspace / "swap").symlink_to(outside)

    def make(path: Path) -> None:
        exchange(folder, workspace / "swap")
        path.write_bytes(b"rows")
        exchange(folder, workspace / "swap")

    files = FilesBeneath(SystemFiles(), [workspace])
    stage = FileStager(files, cast(ProvenState, None), None, aside=lambda: contextlib.nullcontext(aside))
    stage.write(folder / "0", WantedFile("brain.db", "raw/plain/brain.db", DATABASE, {"private": True}, make=make))
    assert (folder / "0").read_bytes() == b"rows"
    assert list(outside.iterdir()) == []
