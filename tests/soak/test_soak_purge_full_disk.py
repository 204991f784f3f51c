"""Purges on a disk that runs full at any write: it is said, nothing else is harmed, and once there is room the purge is
finished by whoever starts next, or asked for again."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home import crash_recovery
from lifeboat_core.purge import receipt_signing
from lifeboat_core.settings import config_file
from support.core.invariants import always, what_was_purged_is_gone
from support.core.machines import Machine
from support.core.purged import SCANNER, TEXT, Held, everything, purge, request, same
from support.failing_files import WRITES, FailingFiles

pytestmark = pytest.mark.timeout(1800)

SIZE = 24 * 1024 * 1024
LEFT = [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]
"""KiB that are left free, one round each."""
MOST = 120


def learned(folder: Path, files: FailingFiles | None = None) -> Machine:
    machine = Machine(folder / "laptop", files=files)
    machine.add(name="ada")
    (folder / "stick").mkdir()
    machine.add_remote("stick", (folder / "stick").as_uri(), sealed=True)
    machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
    machine.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    machine.capture()
    assert machine.push("stick").state == "ok"
    return machine


def states(machine: Machine) -> dict[int, tuple[bytes, Held]]:
    with machine.context.vault(machine.agent.id) as vault:
        return everything(vault)


def finished(machine: Machine, before: dict[int, tuple[bytes, Held]], stick: Path) -> None:
    """Whoever starts next finishes it; what never began is asked for again."""
    crash_recovery.finish_purges(machine.context)
    if not receipt_signing.load_receipts(machine.context):
        purge(machine, request(workspace=True))
    assert machine.push("stick").state == "ok"
    assert same(before, states(machine))
    what_was_purged_is_gone(machine.context, machine.known_agent, SCANNER, stick, machine.workspace)
    for receipt in receipt_signing.load_receipts(machine.context):
        assert receipt.is_done
    always(machine.context, machine.known_agent)


@pytest.mark.parametrize("and_after", [False, True], ids=["one write", "from then on"])
def test_a_purge_whose_nth_write_finds_no_room(tmp_path: Path, and_after: bool) -> None:
    said = 0
    for nth in range(1, MOST):
        files = FailingFiles(errno.ENOSPC)
        machine = learned(tmp_path / str(nth), files)
        before = states(machine)
        files.nth(WRITES, nth, and_after=and_after)
        try:
            purge(machine, request(workspace=True))
        except (LifeboatError, AssertionError):  # the capture before it says it in a warning, which `purge` asserts
            said += 1
        fired = files.fired
        files.heal()
        finished(machine, before, tmp_path / str(nth) / "stick")
        if not fired:
            assert said > 0
            return
    raise AssertionError("a purge writes without end")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system for the home."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    home = tmp_path / "laptop" / "home"
    home.mkdir(mode=0o700, parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(home)], check=True)
    try:
        yield home
    finally:
        subprocess.run(["umount", "-l", str(home)], check=True)


def test_a_purge_on_ever_other_brims_of_a_disk(tmp_path: Path, disk: Path) -> None:
    """SQLite's own writes too: the document, the bodies, the sweep."""
    machine = learned(tmp_path)
    config_file.write_config(machine.context.home, machine.context.files, "vault.min_free", 0)
    troubled = 0
    for number, left in enumerate(LEFT):
        machine.write("notes/again.txt", f"round {number}\n{TEXT} Again {number}.\n" + "a line\n" * 5000 * (number % 3))
        machine.write(f"notes/{number}.txt", f"{number}\n{TEXT} In {number}.\n")
        machine.capture()
        before, known = states(machine), len(receipt_signing.load_receipts(machine.context))
        filler = disk / "logs" / "filler"
        filler.parent.mkdir(exist_ok=True)
        free = os.statvfs(disk)
        with filler.open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, max(1, free.f_bavail * free.f_frsize - left * 1024))
        try:
            purge(machine, request(workspace=True))
        except (LifeboatError, AssertionError):
            troubled += 1
        filler.unlink()
        crash_recovery.finish_purges(machine.context)
        if len(receipt_signing.load_receipts(machine.context)) == known:
            purge(machine, request(workspace=True))
        assert machine.push("stick").state == "ok"
        assert same(before, states(machine))
        what_was_purged_is_gone(machine.context, machine.known_agent, SCANNER, tmp_path / "stick", machine.workspace)
    assert troubled > 0
    always(machine.context, machine.known_agent)
