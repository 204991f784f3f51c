"""Check where a restore may write, and choose working folders on the same file system."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.nested_agents import leaves_out
from lifeboat_core.capture.scan_cache import OURS
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.restore.journal_moves import is_inside
from lifeboat_core.texts.readable_json import is_utf8, make_printable

_SYSTEM = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
    "/System",
    "/Library",
    "/Applications",
    "C:\\Windows",
    "C:\\Program Files",
    "C:\\Program Files (x86)",
)
_NOT_THEMSELVES = (
    "/",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/srv",
    "/tmp",
    "/var",
    "/Users",
    "/Volumes",
    "/private",
    "/private/tmp",
    "/private/var",
    "/var/lib",
    "/var/tmp",
    "C:\\",
    "C:\\Users",
)
_HOMES = ("/home", "/Users", "C:\\Users")


def resolve_target(target: Path) -> Path:
    """Return the real path of a folder that may not exist yet."""
    return Path(os.path.realpath(target))


def check_target(context: Context, target: Path, agent: Agent | None) -> None:
    """Refuse folders that a restore of `agent` must not write into. `target` is resolved. Raises
    RestoreError.TARGET_REFUSED."""
    _check_place(target, resolve_target(context.user_home))
    if is_inside(target, resolve_target(context.home.folder)) or is_inside(resolve_target(context.home.folder), target):
        raise RestoreError.TARGET_REFUSED(f"{target} contains the home of Lifeboat or is inside it")
    for other in agents.list_agents(context):
        workspace = resolve_target(other.workspace)
        own = agent is not None and other.id == agent.id
        if own and workspace == target:
            return
        if leaves_out(context, other.runtime, workspace, target):
            continue
        if agent is not None and leaves_out(context, agent.runtime, target, workspace):
            continue
        if is_inside(target, workspace) or is_inside(workspace, target):
            raise RestoreError.TARGET_REFUSED(f"{target} contains the workspace of {other.name} or is inside it")
    _check_owner(target)


def check_new_state_dir(context: Context, folder: Path) -> Path:
    """Return the real path of a state directory that a restore creates or adds to; the workspace may lie in it. Raises
    RestoreError.TARGET_REFUSED for a forbidden place."""
    place = resolve_target(folder)
    _check_place(place, resolve_target(context.user_home))
    home = resolve_target(context.home.folder)
    if is_inside(place, home) or is_inside(home, place):
        raise RestoreError.TARGET_REFUSED(f"{place} contains the home of Lifeboat or is inside it")
    _check_owner(place)
    return place


def check_state_dir(context: Context, folder: Path, workspace: Path) -> Path:
    """Return the real path of a state directory that a user names, which may not exist yet. Raises
    RestoreError.TARGET_REFUSED for a forbidden place."""
    place = check_new_state_dir(context, folder.expanduser())
    if is_inside(place, workspace):
        raise RestoreError.TARGET_REFUSED(f"{place} is inside the workspace {workspace}")
    return place


def _check_place(target: Path, user_home: Path) -> None:
    if not is_utf8(str(target)):
        raise RestoreError.TARGET_REFUSED(f"the path {make_printable(str(target))} is not valid UTF-8")
    if target == target.parent or target in map(Path, _NOT_THEMSELVES):
        raise RestoreError.TARGET_REFUSED(f"{target} is a system directory")
    if any(is_inside(target, Path(folder)) for folder in _SYSTEM):
        raise RestoreError.TARGET_REFUSED(f"{target} is inside a system directory")
    if is_inside(user_home, target) or target.parent in map(Path, _HOMES):
        raise RestoreError.TARGET_REFUSED(f"{target} is a user's home directory")
    if os.path.lexists(target) and not target.is_dir():
        raise RestoreError.TARGET_REFUSED(f"{target} is not a directory")


def _check_owner(target: Path) -> None:
    """Refuse a folder of another owner when running as root, because new files in it would belong to root."""
    if os.name == "posix" and os.geteuid() == 0 and target.exists() and target.stat().st_uid != 0:
        raise RestoreError.TARGET_REFUSED(f"{target} belongs to another user")


def is_empty_folder(files: FileOperations, target: Path) -> bool:
    """Return whether a folder is empty or missing."""
    try:
        return not files.scan(target)
    except FileNotFoundError:
        return True


def find_mounts_below(folder: Path) -> list[Path]:
    """Return the mount points in a folder, itself included, if the system lists them (Linux)."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return [folder] if os.path.ismount(folder) else []
    points = (Path(os.fsdecode(_unescape(line.split(b" ")[4]))) for line in lines)
    return sorted({point for point in points if is_inside(point, folder)})


def _unescape(text: bytes) -> bytes:
    for escaped, plain in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        text = text.replace(escaped, plain)
    return text


@dataclass(frozen=True, slots=True)
class WorkingFolders:
    """A folder in which files are replaced, and two working folders on its file system: `stage` for new files, `undo`
    for what they replace. They are beside `folder`, or in it if that is not possible."""

    folder: Path
    stage: Path
    undo: Path


def find_working_folders(files: FileOperations, folder: Path, journal_id: str) -> list[WorkingFolders]:
    """Return working folders for a folder and for every mount point below it, the innermost first."""
    mounts = find_mounts_below(folder) if folder.exists() else []
    inner = [place_inside(point, journal_id) for point in mounts if point != folder and point.is_dir()]
    return [*reversed(inner), _beside_or_inside(files, folder, journal_id, is_mount=folder in mounts)]


def choose_working_folders(known: Iterable[WorkingFolders], path: Path) -> WorkingFolders:
    """Return the working folders on the same mount as a path."""
    return next(place for place in known if is_inside(path, place.folder))


def place_inside(folder: Path, journal_id: str) -> WorkingFolders:
    return WorkingFolders(folder, folder / f"{OURS}stage-{journal_id}", folder / f"{OURS}undo-{journal_id}")


def place_beside(folder: Path, journal_id: str) -> WorkingFolders:
    name = f".{folder.name}{OURS}"
    return WorkingFolders(
        folder, folder.with_name(f"{name}stage-{journal_id}"), folder.with_name(f"{name}undo-{journal_id}")
    )


def _beside_or_inside(files: FileOperations, folder: Path, journal_id: str, *, is_mount: bool) -> WorkingFolders:
    if not is_mount and (not folder.exists() or _can_rename_from_beside(files, folder)):
        return place_beside(folder, journal_id)
    return place_inside(folder, journal_id)


def _can_rename_from_beside(files: FileOperations, folder: Path) -> bool:
    """Try a rename, because device numbers do not show bind mounts, and rights do not show read-only mounts."""
    name = f"{OURS}probe-{secrets.token_hex(6)}"
    outside, within = folder.with_name(name), folder / name
    try:
        files.make_folders(outside, 0o700)
    except OSError:
        return False
    try:
        files.replace(outside, within)
    except OSError:
        files.remove_folder(outside)
        return False
    files.remove_folder(within)
    return True
