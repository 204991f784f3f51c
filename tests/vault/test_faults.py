from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_vault.errors import VaultBusy, VaultFull, VaultUnusable
from lifeboat_vault.vault import Draft, EntryPut, Retention, Vault
from support.paths import TESTS
from support.vault.vaults import START, commit, content_of, create, new_vault

CAPTURE = [CrashPoint.CAPTURE_BODIES_WRITTEN, CrashPoint.CAPTURE_ROWS_WRITTEN, CrashPoint.CAPTURE_COMMITTED]
THIN = [
    CrashPoint.THIN_PLANNED,
    CrashPoint.THIN_REENCODED,
    CrashPoint.THIN_ROWS_DROPPED,
    CrashPoint.THIN_COMMITTED,
    CrashPoint.THIN_SWEPT,
]


def large() -> bytes:
    return os.urandom(400_000)


def bodies(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "vault" / "objects").iterdir())


class FailingFiles(SystemFiles):
    """Writes a part of each new file and then fails; counts the failures."""

    def __init__(self, reason: int) -> None:
        self.reason: int | None = None
        self.then = reason
        self.fired = 0

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        if self.reason is None:
            return super().write_new(path, data, mode=mode, sync=sync)
        super().write_new(path, data[:100], mode=mode, sync=sync)
        self.fired += 1
        raise OSError(self.reason, os.strerror(self.reason), os.fspath(path))


@pytest.mark.parametrize(
    ("reason", "error"), [(errno.ENOSPC, VaultFull), (errno.EDQUOT, VaultFull), (errno.EIO, VaultUnusable)]
)
def test_a_body_that_cannot_be_written_leaves_nothing(tmp_path: Path, reason: int, error: type[Exception]) -> None:
    files = FailingFiles(reason)
    vault = new_vault(tmp_path, files=files)
    commit(vault, Draft({"raw/a": EntryPut({}, b"a"), "raw/b": EntryPut({}, large())}))
    before, kept = content_of(vault.state()), bodies(tmp_path)
    files.reason = files.then
    with pytest.raises(error):
        commit(vault, Draft({"raw/a": EntryPut({}, b"new"), "raw/b": EntryPut({}, large())}))
    assert files.fired == 1
    assert content_of(vault.state()) == before and bodies(tmp_path) == kept and len(vault.sequences()) == 1
    files.reason = None
    assert commit(vault, Draft({"raw/a": EntryPut({}, b"new")})) and vault.verify(trusted=None).ok


def test_a_full_disk_under_the_database_leaves_nothing(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)
    commit(vault, Draft({"raw/a": EntryPut({}, b"a")}))
    before = content_of(vault.state())
    pages = vault._metadata.row("pragma page_count")
    assert pages is not None
    list(vault._metadata.rows(f"pragma max_page_count = {pages[0] + 20}"))
    with pytest.raises(VaultFull) as caught:
        commit(vault, Draft({"raw/big": EntryPut({}, large())}, (create("x" * 900) for _ in range(2000))))
    assert caught.value.retryable and caught.value.fix
    assert content_of(vault.state()) == before and bodies(tmp_path) == []
    list(vault._metadata.rows("pragma max_page_count = 1000000"))
    assert commit(vault, Draft({"raw/a": EntryPut({}, b"b")})) and vault.verify(trusted=None).ok


def test_a_second_writer_waits_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifeboat_vault.store.sqlite_store.BUSY_SECONDS", 0.05)
    first = new_vault(tmp_path)
    second = Vault.open(tmp_path / "vault")

    def interrupt(sequence: object) -> dict[str, str]:
        with pytest.raises(VaultBusy):
            commit(second, Draft({"raw/b": EntryPut({}, b"b")}))
        assert second.head() is None
        return {"by": "test"}

    commit(first, Draft({"raw/a": EntryPut({}, b"a")}), sign=interrupt)
    assert commit(second, Draft({"raw/b": EntryPut({}, b"b")})).number == 1  # type: ignore[union-attr]


@contextlib.contextmanager
def stopped_at(step: CrashPoint) -> Iterator[None]:
    def stop(reached: CrashPoint) -> None:
        if reached is step:
            raise KeyboardInterrupt

    crash_points.hook = stop
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        crash_points.hook = None


@pytest.mark.parametrize("step", CAPTURE)
def test_a_commit_that_is_interrupted_never_was(tmp_path: Path, step: CrashPoint) -> None:
    vault = new_vault(tmp_path)
    commit(vault, Draft({"raw/a": EntryPut({}, b"a")}))
    before = content_of(vault.state())
    with stopped_at(step):
        commit(vault, Draft({"raw/a": EntryPut({}, large())}, [create("Likes tea.")]))
    assert content_of(vault.state()) == before and bodies(tmp_path) == []
    assert commit(vault, Draft({"raw/a": EntryPut({}, b"b")})) and vault.verify(trusted=None).ok


SCRIPT = """
import os, sys
from datetime import timedelta
from pathlib import Path
from lifeboat_alf.seams import crash_points
from lifeboat_vault.vault import Draft, EntryPut, Retention, Vault
from support.vault.vaults import START, create

vault = Vault.open(Path(sys.argv[1]) / "vault")
def end(step):
    if step == sys.argv[2]:
        os._exit(9)
crash_points.hook = end
if sys.argv[2].startswith("thin"):
    vault.thin(Retention(), START + timedelta(days=30))
else:
    draft = Draft({"raw/a": EntryPut({}, os.urandom(400_000))}, [create("Likes tea.")])
    vault.commit(draft, kind="capture", writer="w", time=START + timedelta(days=1))
"""


def end_process_at(folder: Path, step: CrashPoint) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    ended = subprocess.run([sys.executable, "-c", SCRIPT, str(folder), step.value], env=environment, check=False)
    assert ended.returncode == 9


def history(folder: Path) -> Vault:
    """Return a vault with a large body and a note that grows as a chain of patches."""
    vault = new_vault(folder)
    text = b"".join(b"line %d of the note\n" % number for number in range(100))
    for number in range(12):
        text += b"more\n"
        entries = {"raw/note": EntryPut({}, text), "raw/a": EntryPut({}, large() if number < 2 else b"small")}
        commit(vault, Draft(entries), START + timedelta(minutes=number))
    return vault


@pytest.mark.parametrize("step", CAPTURE + THIN)
def test_a_process_that_ends_at_any_step_leaves_a_whole_vault(tmp_path: Path, step: CrashPoint) -> None:
    vault = history(tmp_path)
    expected = {row.number: content_of(vault.state(row.number)) for row in vault.sequences()}
    vault.close()
    end_process_at(tmp_path, step)
    with Vault.open(tmp_path / "vault") as again:
        assert again.verify(trusted=None).findings == [] and again.check_audit() == []
        numbers = [row.number for row in again.sequences()]
        assert numbers == list(range(1 if step is CrashPoint.THIN_SWEPT else 0, 12))
        assert all(content_of(again.state(number)) == expected[number] for number in numbers)
        assert len(bodies(tmp_path)) == (1 if step is CrashPoint.THIN_SWEPT else 2)


def test_body_files_left_behind_are_swept_at_the_next_open(tmp_path: Path) -> None:
    vault = history(tmp_path)
    vault.close()
    (tmp_path / "vault" / "objects" / "0123456789abcdef").write_bytes(b"left behind")
    Vault.open(tmp_path / "vault").close()
    assert len(bodies(tmp_path)) == 2


def test_files_of_a_commit_that_is_under_way_are_not_swept(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)

    def open_another(sequence: object) -> dict[str, str]:
        Vault.open(tmp_path / "vault").close()
        return {"by": "test"}

    commit(vault, Draft({"raw/a": EntryPut({}, large())}), sign=open_another)
    assert len(bodies(tmp_path)) == 1 and vault.verify(trusted=None).objects == 1 and vault.state().body("raw/a")


def test_a_reader_in_the_middle_of_a_state_does_not_stop_thinning(tmp_path: Path) -> None:
    vault = history(tmp_path)
    reading = vault.state().entries()
    first = next(reading)
    assert vault.thin(Retention(), START + timedelta(days=30)).dropped == [0]
    assert [first.path, *(entry.path for entry in reading)] == ["raw/a", "raw/note"]


def test_a_change_inside_a_change_is_refused_by_name(tmp_path: Path) -> None:
    vault = history(tmp_path)

    def pin(sequence: object) -> dict[str, str]:
        vault.pin(0, "held")
        return {}

    with pytest.raises(VaultBusy):
        commit(vault, Draft({"raw/a": EntryPut({}, b"b")}), sign=pin)
    assert vault.verify(trusted=None).ok and len(vault.sequences()) == 12


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    files = FailingFiles(errno.EIO)
    files.reason = errno.EIO
    with pytest.raises(VaultUnusable):
        Vault.create(tmp_path / "vault", AGENT_ID, files=files)
    assert files.fired == 1 and not (tmp_path / "vault" / "vault.db").exists()


class CountingFiles(SystemFiles):
    """Records the order in which files are written and folders flushed."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        super().write_new(path, data, mode=mode, sync=sync)
        self.done.append("write" if sync else "write without flush")

    def sync_folder(self, path: StrPath) -> None:
        super().sync_folder(path)
        self.done.append("flush")


def test_body_files_are_durable_before_the_signature_is_asked_for(tmp_path: Path) -> None:
    files = CountingFiles()
    vault = new_vault(tmp_path, files=files)
    files.done.clear()
    seen: list[str] = []

    def sign(sequence: object) -> dict[str, str]:
        seen.extend(files.done)
        return {}

    commit(vault, Draft({"raw/a": EntryPut({}, b"small")}), sign=sign)
    assert seen == []
    huge = create(os.urandom(300_000).hex())
    commit(vault, Draft({"raw/b": EntryPut({}, large()), "raw/c": EntryPut({}, large())}, [huge]), sign=sign)
    assert seen == ["write", "write", "write", "flush"]
    assert [item.line for item in vault.state().records()] == [huge.line]
