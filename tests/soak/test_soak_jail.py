"""An agent that may write its workspace and nothing else tries to lead Lifeboat out of it.

1,000 random exchanges, links, hard links, FIFOs and renames while captures, restores, undos and purges are at work: no
byte outside is written, none is read. Where the test runs as root, the agent has another user id.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.purging import Wanted
from lifeboat_daemon.purge import places, workspace
from lifeboat_daemon.restore import RestoreOptions, recover, restore
from lifeboat_daemon.restore.undo import undo
from support.daemon.protected import Protected
from support.daemon.purged_here import purge
from support.exchanging import everything_in, needs_exchange
from support.patience import patience

pytestmark = needs_exchange
ATTEMPTS = 1000
NOBODY = 65534
OUTSIDE = "said outside only"
NAMES = ("one.md", "two.md", "inner/three.md")

AGENT = """
import ctypes, os, random, sys, time
os.chdir(sys.argv[4])
libc, chance = ctypes.CDLL(None), random.Random(int(sys.argv[1]))
outside, parent, is_other = sys.argv[2], os.getppid(), sys.argv[3] == "other"
if is_other:  # not earlier: this Python may be in a folder that the other user cannot enter
    os.setgroups([])
    os.setgid(int(sys.argv[5]))
    os.setuid(int(sys.argv[5]))
os.umask(0)
folders = ["notes", "notes/inner", "swap", "spare"]
files = ["notes/one.md", "notes/two.md", "notes/inner/three.md", "spare/one.md", "rows.db", "rows.db-journal"]
working = lambda: [name for name in os.listdir(".") if name.startswith(".lifeboat-")]

def free(name):
    os.rename(name, f"spare/old{chance.random()}")

def link():
    name = chance.choice(folders + working())
    free(name)
    os.symlink(chance.choice([outside, outside + "/inner", ".."]), name)

def link_a_file():
    name = chance.choice(files)
    free(name)
    os.symlink(outside + "/" + name.partition("/")[2], name)

def hard_link():
    name = chance.choice(files)
    source = outside + "/one.md" if is_other and chance.random() < 0.5 else "MEMORY.md"
    os.link(source, f"spare/hard{chance.random()}")
    os.link(source, name)

def fifo():
    name = chance.choice(files)
    free(name)
    os.mkfifo(name)

def write():
    name = chance.choice(files)
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file:
        file.write(f"written {chance.random()}\\n")

def exchange():
    one, other = chance.sample(folders + working(), 2)
    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        raise OSError

def rename():
    os.rename(*chance.sample(folders + working(), 2))

def again():
    for name in ("notes/inner", "spare"):
        if not os.path.lexists(name):
            os.makedirs(name)
    if not os.path.lexists("swap"):
        os.symlink(outside, "swap")

print("ready", flush=True)
while os.getppid() == parent:
    try:
        chance.choice([exchange, exchange, exchange, link, link_a_file, hard_link, fifo, rename, write, again])()
    except OSError:
        pass
    print(".", end="", flush=True)
    time.sleep(chance.random() * 0.02)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user can pass, which the one that pytest makes for each test is not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        path = Path(name).resolve()
        path.chmod(0o711)
        yield path


def jailed(folder: Path) -> tuple[Protected, Path]:
    ada, outside = Protected(folder), folder / "outside"
    for name in NAMES:
        ada.write(f"notes/{name}", f"first {name}\n")
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_text(f"{OUTSIDE} {name}\n")
    (ada.workspace / "spare").mkdir()
    ada.add(name="ada")
    ada.write("notes/one.md", "second one.md\n")
    ada.capture()
    (ada.workspace / "swap").symlink_to(outside)
    for place in (ada.workspace, *ada.workspace.rglob("*")):
        if not place.is_symlink():
            place.chmod(0o777)
    return ada, outside


def forget_reading(folder: Path) -> None:
    """Make the next read of anything show in its access time."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, ns=(1_000_000_000, path.stat().st_mtime_ns))


def read_times(folder: Path) -> dict[str, int]:
    """Access times, looked at without a list of any folder."""
    paths = (folder, folder / "inner", *(folder / name for name in NAMES))
    return {str(path): path.lstat().st_atime_ns for path in paths}


@contextlib.contextmanager
def agent_in(ada: Protected, outside: Path, seed: int) -> Iterator[subprocess.Popen[bytes]]:
    who = "other" if os.geteuid() == 0 else "same"
    command = [sys.executable, "-c", AGENT, str(seed), str(outside), who, str(ada.workspace), str(NOBODY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as agent:
        try:
            assert agent.stdout is not None and agent.stdout.readline() == b"ready\n"
            os.set_blocking(agent.stdout.fileno(), False)
            yield agent
        finally:
            agent.kill()


def works(ada: Protected) -> dict[str, Callable[[], object]]:
    def cut() -> None:
        with ada.context.vault(ada.agent.id) as vault:
            workspace.cut(ada.context, ada.agent, vault, workspace.plan(ada.context, ada.agent, vault))

    first = RestoreOptions(at=0, yes=True, reindex=False)
    return {
        "capture": lambda: ada.capture(full=True),
        "restore": lambda: restore(ada.context, ada.agent, first),
        "undo": lambda: undo(ada.context, ada.agent, force=True),
        "purge": cut,
        "search": lambda: places.look(ada.context, ada.agent, Wanted((OUTSIDE,))),
        "recover": lambda: recover(ada.context),
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_no_byte_outside_is_written_or_read(folder: Path, seed: int) -> None:
    ada, outside = jailed(folder)
    purge(ada, texts=["first one.md"])
    before = everything_in(outside)
    forget_reading(outside)
    (outside / "probe").write_text("x")
    os.utime(outside / "probe", ns=(1_000_000_000, 2_000_000_000))
    (outside / "probe").read_text()
    sees_reading = (outside / "probe").lstat().st_atime_ns != 1_000_000_000
    (outside / "probe").unlink()
    forget_reading(outside)
    before, times = {path: one[:3] for path, one in before.items() if path != "."}, read_times(outside)
    chance, attempts, done, stopped = random.Random(seed), 0, Counter[str](), Counter[str]()
    until = time.monotonic() + 10 * patience()
    with agent_in(ada, outside, seed) as agent:
        assert agent.stdout is not None
        while (attempts < ATTEMPTS or len(done) < 6) and time.monotonic() < until:
            name, work = chance.choice(list(works(ada).items()))
            try:
                found = work()
                done[name] += 1
                assert name != "search" or not getattr(found, "sights", None)
            except (LifeboatError, OSError) as error:
                stopped[f"{name}: {type(error).__name__}"] += 1
            attempts += len(agent.stdout.read() or b"")
            assert read_times(outside) == times or not sees_reading, (done, stopped)
    assert attempts >= ATTEMPTS, (attempts, done, stopped)
    assert {"capture", "search", "purge", "recover"} <= set(done), (done, stopped)
    assert {path: one[:3] for path, one in everything_in(outside).items() if path != "."} == before
    assert OUTSIDE.encode() not in b"".join(each[1] for each in ada.kept().values() if each[0] == "file")
