"""A folder remote on a disk that refuses: the error names the cause, and its fix is run here where it can be."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.remotes import manage_remotes, remote_registry
from lifeboat_core.remotes.sealed import folder_problems
from lifeboat_core.remotes.sealed.folder_kind import make_folder_url
from lifeboat_vault.errors import RemoteDenied, RemoteUnreachable
from support.cli.cli_client import run
from support.core.sealed_logs import Machine
from support.daemon.control_servers import as_nobody

_CAN_MOUNT = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mount") is not None
_ADD_AS_NOBODY = """import json, os, pathlib, pwd, shutil, sys, tempfile
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import manage_remotes
from lifeboat_core.remotes.sealed.folder_kind import make_folder_url

def add(name, folder):
    given = manage_remotes.parse_remote_access(make_folder_url(pathlib.Path(folder)))
    manage_remotes.add_remote(context, name, given)

user = tempfile.mkdtemp(dir=sys.argv[1])
context = Context.open({"LIFEBOAT_HOME": user + "/home", "HOME": user, "PATH": "/usr/bin:/bin"})
add("other", user + "/other")  # imports everything, which the other user may not be able to read
for where, _, names in os.walk(user):
    for each in (where, *(os.path.join(where, name) for name in names)):
        os.chown(each, 65534, 65534)
---
try:
    add("stick", sys.argv[2])
except LifeboatError as error:
    print(json.dumps([error.code, error.title, error.message, error.fix]))
else:
    print("null")
"""


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that a user without permissions can reach, which the folder of pytest is not."""
    base = Path("/tmp")
    with tempfile.TemporaryDirectory(dir=base) as made:
        folder = Path(made)
        folder.chmod(0o755)
        yield folder


def add_as_nobody(open_path: Path, root: Path) -> list[str] | None:
    found: list[str] | None = json.loads(as_nobody(_ADD_AS_NOBODY, str(open_path), str(root)))
    return found


def run_fix(fix: str) -> None:
    """Run a command that an error named. This process is root, so that `sudo` is left out."""
    words = shlex.split(fix)
    subprocess.run(words[1:] if words[0] == "sudo" else words, check=True)


@pytest.mark.parametrize("state", ["no folder yet", "folder of another user", "closed folder", "closed parent"])
def test_without_permission_the_error_names_the_folder_and_a_command_that_helps(open_path: Path, state: str) -> None:
    parent = open_path / "disk"
    root = parent / "lifeboat"
    parent.mkdir()
    if state != "no folder yet":
        root.mkdir()
    if state == "closed folder":
        os.chown(root, 65534, 65534)
        root.chmod(0o500)
    if state == "closed parent":
        os.chown(root, 65534, 65534)
        parent.chmod(0o700)
    blocked = parent if state in ("no folder yet", "closed parent") else root
    refused = add_as_nobody(open_path, root)
    assert refused is not None
    code, title, message, fix = refused
    assert (code, title) == ("remote_denied", "The folder of the remote cannot be used")
    assert f"has no permission for {blocked} (owner" in message and "token" not in " ".join(refused)
    run_fix(fix)
    assert add_as_nobody(open_path, root) is None


@pytest.mark.skipif(not _CAN_MOUNT, reason="mounting a file system needs root on Linux")
def test_a_read_only_disk_is_named_and_mounted_again_by_the_fix(tmp_path: Path, isolated_home: Path) -> None:
    disk = tmp_path / "a disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", disk], check=True)
    try:
        error = run("remote", "add", "stick", make_folder_url(disk / "lifeboat"), expect=1)["error"]
        assert error["code"] == "remote_denied" and error["title"] == "The folder of the remote cannot be used"
        assert f"read-only file system, mounted at {disk}" in error["message"]
        run_fix(error["fix"])
        run("remote", "add", "stick", make_folder_url(disk / "lifeboat"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_read_only_disk_is_named_without_a_mount(tmp_path: Path) -> None:
    reason = OSError(errno.EROFS, os.strerror(errno.EROFS), str(tmp_path / "lifeboat"))
    error = folder_problems.explain_system_error(tmp_path / "lifeboat", reason)
    assert isinstance(error, RemoteDenied) and (error.fix or "").startswith("sudo mount -o remount,rw /")


def test_a_disk_that_is_not_mounted_is_said_before_and_after_the_remote_was_added(
    tmp_path: Path, isolated_home: Path
) -> None:
    disk = tmp_path / "disk"
    url = make_folder_url(disk / "lifeboat")
    error = run("remote", "add", "stick", url, expect=1)["error"]
    assert error["code"] == "remote_unreachable" and error["message"].startswith(f"{disk} does not exist")
    assert error["fix"].endswith(f"mkdir -p {disk}") and not disk.exists()
    disk.mkdir()
    run("remote", "add", "stick", url)
    disk.rename(tmp_path / "unplugged")
    error = run("remote", "add", "stick", url, expect=1)["error"]
    assert error["message"].startswith(f"{disk / 'lifeboat'} does not contain the remote")
    assert error["fix"] == "lifeboat sync" and "Mount it first" in error["message"]


def test_another_disk_in_its_place_is_said(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "stick")
    laptop.write(1)
    laptop.remote_id = "0b" * 16
    with pytest.raises(RemoteUnreachable, match="contains another remote") as caught:
        laptop.log().agents()
    assert caught.value.fix == "mount the right disk or share, then: lifeboat sync"


@pytest.mark.parametrize("where", ["file", "file/lifeboat"])
def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path, isolated_home: Path, where: str) -> None:
    (tmp_path / "file").write_text("a file")
    error = run("remote", "add", "stick", make_folder_url(tmp_path / where), expect=1)["error"]
    assert error["message"] == f"{tmp_path / 'file'} is a file, not a folder"
    assert error["fix"] == f"ls -l {tmp_path / 'file'}"


def test_a_refused_folder_leaves_no_remote_behind(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "stick")
    given = manage_remotes.parse_remote_access(make_folder_url(tmp_path / "no" / "disk"))
    with pytest.raises(LifeboatError):
        manage_remotes.add_remote(laptop.context, "stick", given)
    assert remote_registry.list_remotes(laptop.context) == []
