"""A home to which nothing can be written: what was kept is read and restored, and what is not captured is said."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.cli.cli_client import run
from support.core.home_damage import FILES, UsedHome, make_used_home, not_root

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights of files are those of POSIX")


@pytest.fixture(scope="module")
def prepared() -> Iterator[tuple[UsedHome, Path]]:
    around = Path(tempfile.mkdtemp(dir="/tmp"))
    around.chmod(0o755)
    here = around / "user"
    here.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        for name, value in UsedHome(here).surroundings().items():
            patched.setenv(name, value)
        used = make_used_home(here)
    shutil.copytree(here, around / "original", symlinks=True)
    yield used, around / "original"
    shutil.rmtree(around)


@pytest.fixture
def used(prepared: tuple[UsedHome, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[UsedHome]:
    made, original = prepared
    for name, value in made.surroundings().items():
        monkeypatch.setenv(name, value)
    shutil.rmtree(made.folder)
    shutil.copytree(original, made.folder, symlinks=True)
    yield made
    for path in made.home.rglob("*"):
        if path.is_dir():
            path.chmod(0o700)


def _make_read_only(home: Path) -> None:
    for path in [*home.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)


def _make_vault_read_only(home: Path) -> None:
    for path in [home / "vault", *(home / "vault").rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)


READING: dict[str, Callable[[UsedHome], tuple[str | Path, ...]]] = {
    "timeline": lambda used: ("timeline", "ada"),
    "log": lambda used: ("log", "ada"),
    "diff of two sequences": lambda used: ("diff", "ada", "0", "1"),
    "diff to the workspace": lambda used: ("diff", "ada", "0"),
    "diff from the newest": lambda used: ("diff", "ada"),
    "agents show": lambda used: ("agents", "show", "ada"),
    "agents list": lambda used: ("agents", "list"),
    "restore elsewhere": lambda used: (
        *("restore", "ada", "--to", used.folder / "back" / "workspace"),
        *("--with-credentials", "--no-reindex"),
    ),
    "restore preview": lambda used: ("restore", "ada", "--dry-run"),
    "verify": lambda used: ("verify", "ada"),
    "search": lambda used: ("search", "ada", "tea"),
    "search of the past": lambda used: ("search", "ada", "tea", "--history"),
    "records list": lambda used: ("records", "list", "ada"),
    "status": lambda used: ("status",),
    "receipts list": lambda used: ("receipts", "list"),
    "keys status": lambda used: ("keys", "status"),
    "remote list": lambda used: ("remote", "list"),
    "config list": lambda used: ("config", "list"),
}
"""What only reads, by its name."""
UNWRITABLE: dict[str, Callable[[Path], None]] = {
    "the vault": _make_vault_read_only,
    "the home": _make_read_only,
}


def _head(used: UsedHome) -> int:
    number: int = run("status")["agents"][0]["sequence"]
    return number


def _check_all_readable(used: UsedHome, head: int) -> None:
    assert run("timeline", "ada")["entries"][0]["sequence"] == head
    assert run("log", "ada")["entries"]
    assert run("search", "ada", "tea")["hits"]
    run("diff", "ada", "0", str(head))
    run("verify", "ada")
    for at in ("0", str(head)):
        back = used.folder / f"back-{at}" / "workspace"
        done = run("restore", "ada", "--at", at, "--to", back, "--with-credentials", "--no-reindex")
        assert (back / ".env").read_text() == FILES[".env"] and (back / "chart.txt").read_text() == FILES["chart.txt"]
        (said,) = (
            warning for warning in done["warnings"] if "the receipt of this restore could not be saved" in warning
        )
        assert said.endswith("ermission denied") and "Errno" not in said


def test_everything_that_was_kept_is_read_and_restored_elsewhere(used: UsedHome) -> None:
    head = _head(used)
    with not_root(used.folder):
        _make_read_only(used.home)
        _check_all_readable(used, head)


def test_what_only_the_log_of_the_database_holds_is_read_too(used: UsedHome) -> None:
    database = used.home / "vault" / used.agent / "vault.db"
    with closing(sqlite3.connect(database)) as reader:  # as long as it reads, SQLite keeps the log
        reader.execute("begin")
        reader.execute("select count(*) from sequence").fetchone()
        (used.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
        head = run("sync")["agents"][0]["sequence"]
        left = {name: (database.parent / name).read_bytes() for name in ("vault.db", "vault.db-wal")}
    assert len(left["vault.db-wal"]) > 0
    for name, data in left.items():
        (database.parent / name).write_bytes(data)
    with not_root(used.folder):
        _make_read_only(used.home)
        _check_all_readable(used, head)


def test_status_says_it_and_keeps_what_is_known(used: UsedHome) -> None:
    head = _head(used)
    (used.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
    with not_root(used.folder):
        _make_read_only(used.home)
        failed = run("sync", expect=1)["agents"][0]
        assert (failed["state"], failed["sequence"]) == ("error", head)
        found = run("status")
        assert found["agents"][0]["sequence"] == head and found["agents"][0]["last_captured_at"]
        assert any("is read-only" in problem for problem in found["problems"])
        run("status", "--check", expect=1)
        run("doctor", expect=1)


def test_what_the_newest_sequence_lacks_is_named_there_too(used: UsedHome) -> None:
    run("config", "set", "artifacts.max_file", "600KB")
    (used.workspace / "film.bin").write_bytes(b"\1" * 700_000)
    run("sync", expect=1)
    before = run("verify", "ada", expect=1)
    assert any("film.bin" in each for each in before["not_captured"]) and before["over_limit"] == 1
    with not_root(used.folder):
        _make_read_only(used.home)
        read = run("verify", "ada", expect=1)
        assert (read["not_captured"], read["over_limit"]) == (before["not_captured"], 1)
        done = run(
            "restore", "ada", "--to", used.folder / "elsewhere" / "workspace", "--no-reindex", "--with-credentials"
        )
        assert any("film.bin" in warning for warning in done["warnings"])
        assert any("film.bin" in reason for reason in run("status")["agents"][0]["reasons"])


def test_caches_that_cannot_be_read_are_said_where_they_would_name_what_is_not_kept(used: UsedHome) -> None:
    with not_root(used.folder):
        (used.home / "state" / f"{used.agent}.db").chmod(0)
        assert any("cannot be read" in each for each in run("verify", "ada")["not_captured"])


@pytest.mark.parametrize("name", ["locks", "restore", "state", "vault", "keys", "agents", "logs", "run"])
def test_a_folder_of_the_home_that_cannot_be_written_stops_no_restore_to_another_place(
    used: UsedHome, name: str
) -> None:
    folder = used.home / name
    with not_root(used.folder):
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o500 if path.is_dir() else 0o400)
        back = used.folder / "back" / "workspace"
        run("restore", "ada", "--to", back, "--with-credentials", "--no-reindex")
        assert (back / ".env").read_text() == FILES[".env"] and (back / "chart.txt").read_text() == FILES["chart.txt"]
        run("verify", "ada")
        run("timeline", "ada")
        run("diff", "ada", "0", "1")


def test_a_restore_to_another_place_waits_for_the_purge_that_holds_a_lock_which_cannot_be_written(
    used: UsedHome,
) -> None:
    import fcntl

    lock = used.home / "locks" / f"{used.agent}.lock"
    lock.touch()
    with lock.open("rb") as held, not_root(used.folder):
        fcntl.flock(held, fcntl.LOCK_EX)
        for path in (lock.parent, *lock.parent.iterdir()):
            path.chmod(0o500 if path.is_dir() else 0o400)
        refused = run("restore", "ada", "--to", used.folder / "back" / "workspace", "--no-reindex", expect=1)
        assert refused["error"]["code"] == "busy"


@pytest.mark.parametrize("what", UNWRITABLE)
@pytest.mark.parametrize("command", READING)
def test_what_only_reads_works_where_nothing_can_be_written(used: UsedHome, command: str, what: str) -> None:
    (used.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
    with not_root(used.folder):
        UNWRITABLE[what](used.home)
        run(*READING[command](used))


@pytest.fixture
def full(used: UsedHome) -> Iterator[UsedHome]:
    """The home on a disk of its own, without room."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    aside = used.folder / "aside"
    used.home.rename(aside)
    used.home.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", str(used.home)], check=True)
    try:
        shutil.copytree(aside, used.home, symlinks=True, dirs_exist_ok=True)
        with (used.home / "logs" / "filler").open("wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, os.statvfs(used.home).f_bavail * os.statvfs(used.home).f_frsize)
        yield used
    finally:
        subprocess.run(["umount", "-l", str(used.home)], check=True)


@pytest.mark.parametrize("command", READING)
def test_what_only_reads_works_on_a_full_disk(full: UsedHome, command: str) -> None:
    (full.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
    run(*READING[command](full))


def test_an_export_on_a_full_disk_names_what_finds_no_room(full: UsedHome) -> None:
    (full.workspace / "new.bin").write_bytes(os.urandom(500_000))
    report = run("alf", "export", "openclaw", full.workspace, "-o", full.folder / "ada.alf", expect=1)
    assert "artifacts/new.bin" in report["left_out"]


@pytest.mark.parametrize("what", UNWRITABLE)
def test_an_export_holds_what_was_kept_and_says_what_it_did_not_read(used: UsedHome, what: str) -> None:
    head = _head(used)
    (used.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
    with not_root(used.folder):
        UNWRITABLE[what](used.home)
        made = used.folder / "ada.alf"
        report = run("alf", "export", "openclaw", used.workspace, "-o", made, expect=1)
        assert (report["sequence"], list(report["left_out"])) == (head, [str(used.workspace)])
        assert run("alf", "validate", made)["ok"]
