"""Operations below a held folder follow no link in a path, whatever system calls are available."""

from __future__ import annotations

import errno
import gc
import io
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from lifeboat_alf.seams import held_folder
from lifeboat_alf.seams.file_operations import NotRegular, SystemFiles, read_all, write_atomic
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_alf.seams.held_folder import FolderReplaced, HeldFolder, LinkInPath, PathBeneath
from support.leases import leased, needs_leases

pytestmark = pytest.mark.skipif(not held_folder.CAN_WALK, reason="Windows has no operations relative to a folder")


@pytest.fixture(params=["in one call", "by components", "by components that must be readable"], autouse=True)
def walker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux walks in one call; macOS, and a sandbox without that call, component by component."""
    if request.param == "in one call":
        if held_folder.load_openat2() is None:
            pytest.skip("this kernel has no openat2, or a sandbox forbids it")
        return
    monkeypatch.setattr(held_folder, "load_openat2", lambda: None)
    if request.param != "by components":
        monkeypatch.setattr(held_folder, "_SEARCH", os.O_RDONLY | os.O_DIRECTORY)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"inside")
    (tmp_path / "outside" / "b").mkdir(parents=True)
    (tmp_path / "outside" / "b" / "file").write_bytes(b"outside")
    return folder


@pytest.fixture
def files(root: Path) -> FilesBeneath:
    return FilesBeneath(SystemFiles(), [root])


OPERATIONS: dict[str, Callable[[FilesBeneath, Path, Path], object]] = {
    "list a folder": lambda files, folder, spare: files.scan(folder),
    "look at a file": lambda files, folder, spare: files.lstat(folder / "file"),
    "open a file": lambda files, folder, spare: files.open_regular(folder / "file"),
    "read a link": lambda files, folder, spare: files.read_link(folder / "file"),
    "make folders": lambda files, folder, spare: files.make_folders(folder / "c" / "d"),
    "find a folder made": lambda files, folder, spare: files.make_folders(folder),
    "write a file": lambda files, folder, spare: files.write_new(folder / "new", b"x"),
    "copy into a file": lambda files, folder, spare: files.write_from(folder / "new", io.BytesIO(b"x")),
    "replace a whole file": lambda files, folder, spare: write_atomic(files, folder / "file", b"x"),
    "move in": lambda files, folder, spare: files.replace(spare, folder / "file"),
    "move out": lambda files, folder, spare: files.replace(folder / "file", spare),
    "make a link": lambda files, folder, spare: files.make_link("x", folder / "new"),
    "set a time": lambda files, folder, spare: files.set_times(folder / "file", 5),
    "set rights": lambda files, folder, spare: files.set_mode(folder / "file", 0o600),
    "set rights of a folder": lambda files, folder, spare: files.set_mode(folder, 0o700),
    "remove a file": lambda files, folder, spare: files.remove(folder / "file"),
    "remove a folder": lambda files, folder, spare: files.remove_folder(folder / "empty"),
    "flush a folder": lambda files, folder, spare: files.sync_folder(folder),
    "flush a file system": lambda files, folder, spare: files.sync_file_system(folder),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("where", ["at the end", "in the middle", "in the middle of more"])
def test_no_operation_goes_through_a_link(
    files: FilesBeneath, root: Path, tmp_path: Path, name: str, where: str
) -> None:
    if where == "at the end":
        (root / "a" / "b").rename(root / "a" / "former")
        (root / "a" / "b").symlink_to(tmp_path / "outside" / "b")
    else:
        (root / "a").rename(root / "former")
        (root / "a").symlink_to(tmp_path / "outside")
    outside, folder = tmp_path / "outside" / "b", root / "a" / "b"
    if where == "in the middle of more":
        (outside / "c").mkdir()
        (outside / "c" / "file").write_bytes(b"outside")
        outside, folder = outside / "c", folder / "c"
    (outside / "empty").mkdir()
    before = {path: path.lstat() for path in sorted((tmp_path / "outside").rglob("*"))}
    (root / "spare").write_bytes(b"spare")
    with pytest.raises(LinkInPath) as caught:
        OPERATIONS[name](files, folder, root / "spare")
    assert str(root / "a") in str(caught.value)
    after = {path: path.lstat() for path in sorted((tmp_path / "outside").rglob("*"))}
    assert {path: _without_access(one) for path, one in after.items()} == {
        path: _without_access(one) for path, one in before.items()
    }


def _without_access(status: os.stat_result) -> tuple[object, ...]:
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def test_everything_works_where_no_link_stands(files: FilesBeneath, root: Path) -> None:
    files.make_folders(root / "new" / "folder", 0o700)
    files.write_new(root / "new" / "folder" / "one", b"one", mode=0o600)
    files.write_from(root / "new" / "two", io.BytesIO(b"two"))
    files.replace(root / "new" / "folder" / "one", root / "one")
    files.make_link("one", root / "link")
    files.set_mode(root / "one", 0o640)
    files.set_times(root / "one", 5_000_000_000)
    files.set_times(root / "link", 7_000_000_000)
    write_atomic(files, root / "one", b"again", mode=0o640)
    files.remove(root / "new" / "two")
    files.remove_folder(root / "new" / "folder")
    files.sync_folder(root)
    files.sync_file_system(root / "new")
    assert read_all(files, root / "one") == b"again"
    assert files.read_link(root / "link") == "one"
    assert files.lstat(root / "link").st_mtime_ns == 7_000_000_000
    assert stat.S_IMODE(files.lstat(root / "one").st_mode) == 0o640
    assert sorted(entry.name for entry in files.scan(root)) == ["a", "link", "new", "one"]
    assert files.scan(root / "new") == []
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o700


def test_a_list_says_what_lies_in_a_folder_and_where(files: FilesBeneath, root: Path) -> None:
    (root / "a" / "link").symlink_to("b")
    found = {entry.name: entry for entry in files.scan(root / "a")}
    assert {
        name: (one.is_dir(follow_symlinks=False), one.is_file(follow_symlinks=False)) for name, one in found.items()
    } == {
        "b": (True, False),
        "link": (False, False),
    }
    assert found["b"].path == os.fspath(found["b"]) == str(root / "a" / "b")
    assert found["b"].stat(follow_symlinks=False).st_ino == (root / "a" / "b").stat().st_ino


def test_a_link_is_handled_as_a_link(files: FilesBeneath, root: Path, tmp_path: Path) -> None:
    """It can be moved, removed and inspected, but its permissions are not changed and no file is read through it."""
    link = root / "a" / "link"
    link.symlink_to(tmp_path / "outside" / "b" / "file")
    for refused in (lambda: files.open_regular(link), lambda: files.set_mode(link, 0o600)):
        with pytest.raises(LinkInPath):
            refused()
    with pytest.raises(FileExistsError):
        files.write_new(link, b"x")
    files.replace(link, root / "moved")
    files.remove(root / "moved")
    assert (tmp_path / "outside" / "b" / "file").read_bytes() == b"outside"


def test_the_folder_that_is_held_stays_the_same_when_another_takes_its_name(
    files: FilesBeneath, root: Path, tmp_path: Path
) -> None:
    assert read_all(files, root / "a" / "b" / "file") == b"inside"
    root.rename(tmp_path / "moved")
    root.symlink_to(tmp_path / "outside")
    files.write_new(root / "a" / "new", b"new")
    assert (tmp_path / "moved" / "a" / "new").read_bytes() == b"new"
    with pytest.raises(LinkInPath):
        HeldFolder(root)


def test_a_folder_that_was_listed_must_be_the_same_one_afterwards(root: Path) -> None:
    files = FilesBeneath(SystemFiles(), [root], remembers=True)
    files.scan(root)
    files.scan(root / "a")
    (root / "a" / "b").rename(root / "former")
    (root / "a" / "b").mkdir()
    (root / "a" / "b" / "file").write_bytes(b"another")
    for refused in (lambda: files.open_regular(root / "a" / "b" / "file"), lambda: files.scan(root / "a" / "b")):
        with pytest.raises(FolderReplaced):
            refused()
    with pytest.raises(FileNotFoundError):
        files.lstat(root / "a" / "c" / "file")


def test_a_path_does_not_leave_its_folder_by_its_name(root: Path) -> None:
    held = HeldFolder(root)
    for name in ("..", "a/../../outside", "a//b", "./a", "/etc"):
        with pytest.raises(OSError) as caught:
            PathBeneath(held, name)
        assert caught.value.errno == errno.EXDEV
    with pytest.raises(OSError):
        SystemFiles().lstat(PathBeneath(held, "a\0b/c"))


def test_paths_elsewhere_are_passed_on(files: FilesBeneath, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    assert read_all(files, tmp_path / "link" / "b" / "file") == b"outside"


def test_a_folder_that_is_not_there_yet_is_found_in_the_next_outer_one(root: Path) -> None:
    files = FilesBeneath(SystemFiles(), [root / "new", "/"])
    files.make_folders(root / "new")
    files.write_new(root / "new" / "file", b"x")
    files.replace(root / "new", root / "newer")
    assert read_all(files, root / "newer" / "file") == b"x"
    with pytest.raises(FileNotFoundError):
        files.lstat(root / "new" / "file")
    files.remove(root / "newer" / "file")
    files.remove_folder(root / "newer")
    with pytest.raises(FileNotFoundError):
        FilesBeneath(SystemFiles(), [root / "new"]).lstat(root / "new" / "file")


def test_what_is_no_regular_file_is_not_opened(files: FilesBeneath, root: Path) -> None:
    os.mkfifo(root / "a" / "fifo")
    with pytest.raises(NotRegular):
        files.open_regular(root / "a" / "fifo")
    with pytest.raises(NotADirectoryError):
        files.lstat(root / "a" / "b" / "file" / "below")


@needs_leases
def test_a_file_on_which_another_process_has_a_lease_is_refused_and_not_waited_for(
    files: FilesBeneath, root: Path
) -> None:
    with leased(root / "a" / "b" / "file"), pytest.raises(BlockingIOError):
        files.open_regular(root / "a" / "b" / "file")


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_no_descriptor_stays_open(root: Path) -> None:
    gc.collect()  # what tests before this one left open is closed now, and not in between
    before = _open_paths(root)
    files = FilesBeneath(SystemFiles(), [root, "/"])
    for operation in OPERATIONS.values():
        try:
            found = operation(files, root / "a" / "b", root / "spare")
        except OSError:
            continue
        if isinstance(found, int):
            os.close(found)
    del files
    assert _open_paths(root) == before


def _open_paths(root: Path) -> list[str]:
    """Return what the open descriptors at, above and below `root` name. Threads of earlier tests may open others."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return sorted(path for path in found if path.startswith(str(root)) or str(root).startswith(path))
