"""An agent in a jail: a process that may write some folders and nothing else, and tries to lead Lifeboat out of them.

It makes random exchanges, links, hard links, FIFOs and renames. When the tests run as root it has another user id.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_core.purge import local_file_search, workspace_purge
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent
from lifeboat_core.restore.restore_undo import undo_restore
from support.adapters.zeroclaw_installs import Install, make_database
from support.core.protected import Protected
from support.core.zeroclaw_protected import ProtectedClaw
from support.exchanging import everything_in
from support.patience import patience

ATTEMPTS = 1000
OUTSIDE = "said outside only"
NAMES = ("one.md", "two.md", "inner/three.md")
DATABASE_NAMES = ("brain.db", "one.md", "inner/brain.db")
EARLY = "0.5.9"
"""A release of ZeroClaw that keeps its databases in the workspace."""
_NOBODY = 65534

_AGENT = """
import ctypes, json, os, random, shutil, sys, time
os.chdir(sys.argv[4])
libc, chance = ctypes.CDLL(None), random.Random(int(sys.argv[1]))
outside, parent, is_other = sys.argv[2], os.getppid(), sys.argv[3] == "other"
if is_other:  # not earlier: this Python may be in a folder that the other user cannot enter
    os.setgroups([])
    os.setgid(int(sys.argv[5]))
    os.setuid(int(sys.argv[5]))
os.umask(0)
folders, files, spare = json.loads(sys.argv[6])
inside = os.path.realpath(".") + "/"
working = lambda: [name for name in os.listdir(".") if ".lifeboat-" in name]
is_own = lambda name: os.path.realpath(os.path.dirname(name) or ".").startswith(inside[:-1])

def free(name):
    os.rename(name, f"{spare}/old{chance.random()}")

def link():
    name = chance.choice(folders + working())
    free(name)
    os.symlink(chance.choice([outside, outside + "/inner", ".."]), name)

def link_a_file():
    name = chance.choice(files)
    free(name)
    os.symlink(outside + "/" + name.rpartition("notes/")[2].rpartition("memory/")[2], name)

def hard_link():
    name = chance.choice(files)
    source = outside + "/one.md" if is_other and chance.random() < 0.5 else chance.choice(files)
    os.link(source, f"{spare}/hard{chance.random()}")
    os.link(source, name)

def fifo():
    name = chance.choice(files)
    free(name)
    os.mkfifo(name)

def write():
    name = chance.choice([name for name in files if ".db" not in name])
    if is_own(name) and not os.path.islink(name):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO makes nobody wait
        with open(os.open(name, flags, 0o666), "w") as file:
            file.write(f"written {chance.random()}\\n")

def exchange():
    one, other = chance.sample(folders + working(), 2)
    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        raise OSError

def rename():
    os.rename(*chance.sample(folders + working(), 2))

def again():
    if os.path.islink(folders[0]):
        os.unlink(folders[0])
    for name in folders:
        if not os.path.lexists(name) and name != "swap":
            os.makedirs(name)
    if not os.path.lexists("swap"):
        os.symlink(outside, "swap")
    for name in files:
        good = os.path.join("good", os.path.basename(name))
        if os.path.exists(good) and is_own(name):
            for each in [each for each in files if each.startswith(name) and os.path.lexists(each)]:
                os.unlink(each)
            shutil.copy(good, name)

print("ready", flush=True)
while os.getppid() == parent:
    try:
        chance.choice([exchange, exchange, exchange, link, link_a_file, hard_link, fifo, rename, write, again, again])()
    except OSError:
        pass
    print(".", end="", flush=True)
    time.sleep(chance.random() * 0.02)
"""


@dataclass(frozen=True)
class Cell:
    """What the agent can change, below `folder`: `folders` that it exchanges, renames and replaces by links to
    `outside`, `files` that it replaces by links, hard links and FIFOs. It moves things into `spare`. A file of the same
    name in `folder/good` is put back now and then, without what is beside it, and so is the first of the folders."""

    folder: Path
    outside: Path
    folders: tuple[str, ...]
    files: tuple[str, ...]
    spare: str = "spare"

    def open_to_everybody(self) -> None:
        """Let another user change all of it."""
        for place in (self.folder, *self.folder.rglob("*")):
            if not place.is_symlink():
                place.chmod(0o777)

    def forget_reading(self) -> None:
        """Make the next read of anything outside show in its access time."""
        for path in (self.outside, *self.outside.rglob("*")):
            os.utime(path, ns=(1_000_000_000, path.stat().st_mtime_ns))

    def read_times(self, names: tuple[str, ...]) -> dict[str, int]:
        """Return access times of what is outside, without listing any folder."""
        paths = (self.outside, self.outside / "inner", *(self.outside / name for name in names))
        return {str(path): path.lstat().st_atime_ns for path in paths}

    def sees_reading(self) -> bool:
        """Return whether the file system records reads."""
        probe = self.outside / "probe"
        probe.write_text("x")
        os.utime(probe, ns=(1_000_000_000, 2_000_000_000))
        probe.read_text()
        seen = probe.lstat().st_atime_ns != 1_000_000_000
        probe.unlink()
        return seen


@contextlib.contextmanager
def agent_in(cell: Cell, seed: int) -> Iterator[subprocess.Popen[bytes]]:
    who = "other" if os.geteuid() == 0 else "same"
    played = json.dumps([cell.folders, cell.files, cell.spare])
    command = [sys.executable, "-c", _AGENT, str(seed), str(cell.outside), who, str(cell.folder), str(_NOBODY), played]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as agent:
        try:
            assert agent.stdout is not None and agent.stdout.readline() == b"ready\n"
            os.set_blocking(agent.stdout.fileno(), False)
            yield agent
        finally:
            agent.kill()


def attacked(
    cell: Cell,
    works: Mapping[str, Callable[[], object]],
    seed: int,
    *,
    attempts: int = ATTEMPTS,
    read: tuple[str, ...] | None = NAMES,
) -> Counter[str]:
    """Do random works beside the agent until it has made this many attempts and each work was tried. Assert that
    nothing outside was written, and none of the files in `read` (None: not asserted) was read. Return how often each
    work was done."""
    chance, made, done, stopped = random.Random(seed), 0, Counter[str](), Counter[str]()
    untried = set(works)
    sees_reading = read is not None and cell.sees_reading()
    before = {path: one[:3] for path, one in everything_in(cell.outside).items() if path != "."}
    cell.forget_reading()
    times = cell.read_times(read or ())
    until = time.monotonic() + 10 * patience()
    with agent_in(cell, seed) as agent:
        assert agent.stdout is not None
        while (made < attempts or untried) and time.monotonic() < until:
            name, work = chance.choice(list(works.items()))
            untried.discard(name)
            try:
                found = work()
                done[name] += 1
                assert name != "search" or not getattr(found, "sights", None)
            except (LifeboatError, OSError) as error:
                stopped[f"{name}: {type(error).__name__}"] += 1
            made += len(agent.stdout.read() or b"")
            assert not sees_reading or cell.read_times(read or ()) == times, (done, stopped)
    assert made >= attempts and not untried, (made, done, stopped)
    assert {path: one[:3] for path, one in everything_in(cell.outside).items() if path != "."} == before
    return done


# Agents ---------------------------------------------------------------------------------------------------------------


def works(ada: Protected | ProtectedClaw) -> dict[str, Callable[[], object]]:
    def cut() -> None:
        with ada.context.vault(ada.agent.id) as vault:
            workspace_purge.purge_workspace(
                ada.context, ada.agent, vault, workspace_purge.plan_workspace_purge(ada.context, ada.agent, vault)
            )

    first = RestoreOptions(at=0, yes=True, reindex=False)
    return {
        "capture": lambda: ada.capture(full=True),
        "restore": lambda: restore_agent(ada.context, ada.agent, first),
        "undo": lambda: undo_restore(ada.context, ada.agent, force=True),
        "purge": cut,
        "search": lambda: local_file_search.search_local_files(ada.context, ada.agent, PurgeTerms((OUTSIDE,))),
        "recover": lambda: recover_restores(ada.context),
    }


def write_outside(outside: Path) -> None:
    for name in NAMES:
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_text(f"{OUTSIDE} {name}\n")


def in_openclaw(folder: Path) -> Protected:
    ada = Protected(folder, config='{"agents": {"entries": {"main": {"name": "Ada"}}}}')
    for name in NAMES:
        ada.write(f"notes/{name}", f"first {name}\n")
    (ada.workspace / "spare").mkdir()
    ada.add(name="ada")
    ada.write("notes/one.md", "second one.md\n")
    ada.write_config('{"agents": {"entries": {"main": {"name": "Ada", "model": "example"}}}}')
    ada.capture()
    write_outside(folder / "outside")
    return ada


def assert_nothing_outside_is_kept(ada: Protected | ProtectedClaw) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        for row in vault.sequences():
            state = vault.state(row.number)
            assert not any(OUTSIDE.encode() in record.line for record in state.records())
            paths = (entry.path for entry in state.entries() if entry.sha256 is not None)
            assert not any(OUTSIDE.encode() in state.body(path) for path in paths)


def cell_of_openclaw(ada: Protected) -> Cell:
    """Return the cell of a workspace."""
    outside = ada.folder / "outside"
    (ada.workspace / "swap").symlink_to(outside)
    files = (*(f"notes/{name}" for name in NAMES), "spare/one.md", "rows.db", "rows.db-journal", "MEMORY.md")
    cell = Cell(ada.workspace, outside, ("notes", "notes/inner", "swap", "spare"), files)
    cell.open_to_everybody()
    return cell


def in_zeroclaw(folder: Path) -> tuple[ProtectedClaw, Cell]:
    """Return an agent with its memory database in its workspace, and databases of another agent outside."""
    ada, outside = ProtectedClaw(folder, EARLY), folder / "outside"
    space, database = ada.install.workspace(), ada.install.database
    ada.install.remember("first", "The first memory.")
    ada.add(name="ada")
    ada.install.remember("second", "The second memory.")
    ada.capture()
    write_outside(outside)
    other = Install(folder / "other", EARLY)
    make_database(other.database, EARLY)
    other.remember("third", OUTSIDE)
    for name in ("brain.db", "inner/brain.db"):
        (outside / name).write_bytes(other.database.read_bytes())
    for name in ("spare", "notes", "good"):
        (space / name).mkdir(exist_ok=True)
    (space / "good" / "brain.db").write_bytes(database.read_bytes())
    (space / "swap").symlink_to(outside)
    beside = tuple(f"memory/brain.db{end}" for end in ("", "-wal", "-shm", "-journal"))
    cell = Cell(space, outside, ("memory", "memory", "notes", "swap", "spare"), (*beside, "notes/one.md"))
    cell.open_to_everybody()
    return ada, cell
