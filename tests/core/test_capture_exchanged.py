"""An agent exchanges a folder of its workspace for a link during a capture: nothing outside is read, and nothing counts
as removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lifeboat_alf.seams import held_folder
from lifeboat_alf.seams.file_operations import StrPath
from lifeboat_core.restore.wanted_contents import WantedFile
from lifeboat_core.verify.samples_and_drills import LiveFiles
from support.core.protected import Protected
from support.exchanging import ExchangingFiles, exchange, needs_exchange

pytestmark = needs_exchange
OUTSIDE = "said outside only"
NAMES = ("one.md", "two.md", "inner/three.md")


class Jail:
    """An agent whose folder `notes` can be exchanged for a link to an outside folder with the same names."""

    def __init__(self, folder: Path) -> None:
        self.files = ExchangingFiles(folder / "openclaw" / "workspace")
        self.ada = Protected(folder, files=self.files)
        self.notes, self.link, self.outside = self.ada.workspace / "notes", self.ada.workspace / "swap", folder / "out"
        for name in NAMES:
            self.ada.write(f"notes/{name}", f"first {name}\n")
            (self.outside / name).parent.mkdir(parents=True, exist_ok=True)
            (self.outside / name).write_text(f"{OUTSIDE} {name}\n")
        (self.outside / "more.md").write_text(f"{OUTSIDE} more\n")
        self.ada.add(name="ada")
        self.link.symlink_to(self.outside)

    def exchange(self) -> None:
        exchange(self.notes, self.link)

    def settle(self) -> None:
        self.files.heal()
        if self.notes.is_symlink():
            self.exchange()

    def change(self, word: str) -> None:
        for name in NAMES:
            self.ada.write(f"{'swap' if self.notes.is_symlink() else 'notes'}/{name}", f"{word} {name}\n")

    def check(self) -> None:
        """Assert that nothing from outside is in any sequence or body."""
        for found in self.ada.kept().values():
            assert OUTSIDE.encode() not in b"".join(each for each in found if isinstance(each, bytes))


@pytest.fixture
def jail(tmp_path: Path) -> Jail:
    return Jail(tmp_path)


@pytest.mark.parametrize("walk", ["in one call", "by components"])
@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_nothing_outside_is_captured_while_the_agent_exchanges_a_folder_again_and_again(
    jail: Jail, every: int, walk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walk == "by components":
        monkeypatch.setattr(held_folder, "load_openat2", lambda: None)
    for word in ("second", "third"):
        jail.change(word)
        jail.files.before = lambda number: jail.exchange() if number % every == 0 else None
        jail.ada.capture(full=word == "third")
        jail.check()
    jail.settle()
    jail.ada.capture()
    assert jail.ada.kept() == jail.ada.tree()


def test_nothing_outside_is_captured_whenever_the_agent_exchanges_a_folder(jail: Jail) -> None:
    """Exchange once before each operation of a capture, and again at its end."""
    jail.change("0")
    jail.ada.capture()
    assert jail.files.count > 8
    for number in range(1, jail.files.count + 1):
        jail.settle()
        jail.change(str(number))
        jail.files.before = lambda count, number=number: jail.exchange() if count == number else None  # type: ignore[misc]
        jail.ada.capture()
        jail.check()
    jail.settle()
    jail.ada.capture()
    assert jail.ada.kept() == jail.ada.tree()


def test_a_folder_that_became_a_link_meanwhile_is_named_and_nothing_of_it_counts_as_removed(jail: Jail) -> None:
    jail.change("second")
    read = jail.files.open_regular

    def open_regular(path: StrPath) -> int:
        if os.fspath(path).endswith("notes/one.md"):
            jail.files.open_regular = read  # type: ignore[method-assign]
            jail.exchange()
        return read(path)

    jail.files.open_regular = open_regular  # type: ignore[method-assign]
    report = jail.ada.capture()
    assert report.unread["artifacts/notes/one.md"] == "the path of the file contains a symbolic link"
    kept = jail.ada.kept()
    assert kept["notes/one.md"][1] == b"first one.md\n"
    assert {f"notes/{name}" for name in NAMES} <= set(kept)


def test_a_workspace_that_another_folder_took_the_place_of_is_read_to_its_end(jail: Jail, tmp_path: Path) -> None:
    """The root is held open, so its files are read wherever it was moved."""

    def open_regular(path: StrPath) -> int:
        if os.fspath(path).endswith("notes/one.md") and not (tmp_path / "moved").exists():
            jail.ada.workspace.rename(tmp_path / "moved")
            jail.ada.workspace.symlink_to(jail.outside)
        return read(path)

    jail.change("second")
    read, jail.files.open_regular = jail.files.open_regular, open_regular  # type: ignore[method-assign]
    report = jail.ada.capture()
    assert report.complete
    jail.check()
    assert jail.ada.kept()["notes/two.md"][1] == b"second two.md\n"


RACE = """
import sys, os
sys.path[:0] = {paths!r}
from pathlib import Path
from support.exchanging import exchange
print("ready", flush=True)
while os.getppid() == {parent}:
    exchange(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_nothing_outside_is_captured_beside_a_process_that_exchanges_a_folder_all_the_time(jail: Jail) -> None:
    code = RACE.format(paths=sys.path, parent=os.getpid())
    command = [sys.executable, "-c", code, jail.notes, jail.link]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        try:
            assert agent.stdout is not None and agent.stdout.readline() == "ready\n"
            for _ in range(5):
                jail.ada.capture(full=True)
                jail.check()
        finally:
            agent.kill()
    jail.settle()
    jail.ada.capture()
    assert jail.ada.kept() == jail.ada.tree()


def test_a_verification_compares_nothing_outside(jail: Jail, tmp_path: Path) -> None:
    """A file behind a link is not the captured one, even with the same size and time."""
    (jail.outside / "one.md").write_text("FIRST ONE.MD\n"[:13])
    mtime_ns = (jail.notes / "one.md").stat().st_mtime_ns
    os.utime(jail.outside / "one.md", ns=(mtime_ns, mtime_ns))
    wanted = WantedFile(
        "notes/one.md", "artifacts/notes/one.md", "raw", {"mtime_ns": str(mtime_ns)}, data=b"first one.md\n"
    )
    live = LiveFiles.of(jail.files, jail.ada.workspace, tmp_path / "scratch")
    assert live.untouched(wanted) == b"first one.md\n"
    jail.exchange()
    assert live.untouched(wanted) is None
