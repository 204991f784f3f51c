"""Why the folder of a remote cannot be used, and the command that helps: permissions, a read-only or missing disk."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault import errors

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM)
_NO_FOLDER = (errno.ENOTDIR, errno.EEXIST)
_UNUSABLE = "The folder of the remote cannot be used"


def explain_system_error(root: Path, error: OSError) -> errors.RemoteError:
    """Return the error of a remote in the folder `root` for one of the system."""
    reason = f"{root}: {error.strerror or error}"
    if error.errno in _FULL:
        return errors.RemoteFull(reason)
    if error.errno == errno.EFBIG:
        return errors.RemoteTooLarge(
            f"the file system of {root} cannot store a file of this size ({error.strerror or error})"
        )
    if error.errno == errno.EROFS:
        return _explain_read_only(root)
    if error.errno in _DENIED and os.name == "posix":
        return _explain_denied(root, error)
    if error.errno in _NO_FOLDER:
        file = next((each for each in (root, *root.parents) if os.path.isfile(each)), None)
        if file is not None:
            return _unreachable(f"{file} is a file, not a folder", f"ls -l {_quoted(file)}")
    return errors.RemoteUnreachable(reason)


def explain_missing_parent(root: Path) -> errors.RemoteUnreachable:
    """Return the error for a new remote whose folder has no parent, which may be a disk that is not mounted."""
    parent = root.parent
    return _unreachable(
        f"{parent} does not exist: the disk or share may not be mounted",
        f"mount it and repeat the command, or for a new folder on this disk: mkdir -p {_quoted(parent)}",
    )


def explain_absent_remote(root: Path) -> errors.RemoteUnreachable:
    """Return the error for a known remote that is not in its folder."""
    return _unreachable(
        f"{root} does not contain the remote: the disk or share of the remote may not be mounted. Mount it first",
        "lifeboat sync",
    )


def explain_other_remote(root: Path, found_id: str) -> errors.RemoteUnreachable:
    """Return the error for another remote in the folder of a known one."""
    return _unreachable(
        f"{root} contains another remote ({found_id}): the wrong disk or share may be mounted",
        "mount the right disk or share, then: lifeboat sync",
    )


def _unreachable(message: str, fix: str) -> errors.RemoteUnreachable:
    return errors.RemoteUnreachable(message, fix=fix)


def _explain_read_only(root: Path) -> errors.RemoteDenied:
    mount = next(each for each in (root, *root.parents) if os.path.ismount(each) or each == each.parent)
    return _denied(
        f"{root} is on a read-only file system, mounted at {mount}", f"sudo mount -o remount,rw {_quoted(mount)}"
    )


def _explain_denied(root: Path, error: OSError) -> errors.RemoteDenied:
    named = Path(os.fsdecode(error.filename)) if error.filename else root
    blocked = next((each for each in (*reversed(root.parents), root, named) if _is_closed(each, root)), named)
    try:
        status = blocked.stat()
    except OSError:
        return _denied(f"{blocked}: {error.strerror or 'permission denied'}", f"ls -ld {_quoted(root)}")
    user, owner = _user_name(os.geteuid()), _user_name(status.st_uid)
    message = f"user {user} has no permission for {blocked} (owner {owner}, mode {stat.filemode(status.st_mode)})"
    is_owner = status.st_uid == os.geteuid()
    if not os.access(blocked, os.X_OK) and blocked in root.parents:
        fix = f"chmod u+x {_quoted(blocked)}" if is_owner else f"sudo chmod o+x {_quoted(blocked)}"
    elif blocked in root.parents:
        fix = f"sudo install -d -o {quote_argument(user)} {_quoted(root)}"
    elif is_owner:
        fix = f"chmod -R u+rwX {_quoted(blocked)}"
    else:
        fix = f"sudo chown -R {quote_argument(user)} {_quoted(root)}"
    return _denied(message, fix)


def _is_closed(path: Path, root: Path) -> bool:
    """Return whether this user lacks a permission that a remote in `root` needs there: search a folder above it, read
    and write the root and what is in it, create the root in its parent."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    needs = os.X_OK if stat.S_ISDIR(mode) else 0
    if path == root or root in path.parents:
        needs |= os.R_OK | os.W_OK
    elif path == root.parent and not os.path.exists(root):
        needs |= os.W_OK
    return not os.access(path, needs)


def _user_name(user_id: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return str(user_id)


def _denied(message: str, fix: str) -> errors.RemoteDenied:
    found = errors.RemoteDenied(message, fix=fix)
    found.title = _UNUSABLE
    return found


def _quoted(path: Path) -> str:
    return quote_argument(str(path))
