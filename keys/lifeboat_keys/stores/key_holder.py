"""Hold a key open for a time in a small process: what `lifeboat keys unlock` starts.

It answers on a Unix socket (0600, in a 0700 folder of the user's runtime folder) one JSON line for one JSON line:

    {"do": "key", "key_id"}  ->  {"secret": base64, "until": seconds since 1970 or null}, or {} for another key
    {"do": "lock"}           ->  {}, and it ends
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.child_processes import run_child
from lifeboat_keys.errors import KeysError
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery.bip39_words import SECRET_BYTES
from lifeboat_keys.stores import socket_peer
from lifeboat_keys.stores.key_environment import KeyEnvironment

PROGRAM = (sys.executable, "-P", "-m", "lifeboat_keys.stores.key_holder_process")
ANSWER_BYTES = 4096
_ANSWER_SECONDS = 5.0
_START_SECONDS = 30.0
_PATH_BYTES = 100
"""Maximum bytes of a Unix socket path on every system."""
_PASSED_ON = frozenset({"PATH", "PYTHONPATH", "PYTHONHOME", "LANG"})


@dataclass(frozen=True, slots=True)
class HeldUserKey:
    """A key held open `until` (seconds since 1970); None: until it is locked."""

    key: UserKey = field(repr=False)
    until: float | None


def ask_holder(around: KeyEnvironment, key_id: str) -> HeldUserKey | None:
    """Return the key; None when no process holds it."""
    answer = _say(around, {"do": "key", "key_id": key_id})
    if not answer:
        return None
    try:
        until = None if answer["until"] is None else float(answer["until"])
        return HeldUserKey(UserKey(from_base64(answer.get("secret"), SECRET_BYTES)), until)
    except (KeyError, TypeError, ValueError):
        return None


def start_holder(around: KeyEnvironment, keys_folder: Path, key: UserKey, seconds: float | None) -> HeldUserKey:
    """Start to hold a key; a process that already holds one for this home ends. The caller holds the lock of the keys.

    Raises KeysError.CANNOT_HOLD, KeysError.UNSAFE, KeysError.
    """
    if os.name != "posix":
        raise KeysError.CANNOT_HOLD("this operating system has no private sockets")
    if around.home_id is None:
        raise KeysError.CANNOT_HOLD(
            "Lifeboat needs the id of the home to keep its key unlocked, but this home has no id"
        )
    end_holder(around)
    path = socket_path(around)
    for folder in _own_folders(path):
        _make_private(folder)
    held = HeldUserKey(key, None if seconds is None else time.time() + seconds)
    request = {"socket": str(path), "folder": str(keys_folder), "until": held.until, "key_id": key.key_id}
    _start({**request, "secret": to_base64(key.secret)}, around)
    return held


def end_holder(around: KeyEnvironment) -> bool:
    """Tell the process that holds the key to end; return whether there was one."""
    return _say(around, {"do": "lock"}) is not None


def socket_path(around: KeyEnvironment) -> Path:
    """Return the socket's path: in the user's runtime folder or, without one, in the user's own folder among the
    temporary ones."""
    if around.runtime_folder is not None:
        path = around.runtime_folder / f"lifeboat-{around.home_id}" / "key"
        if len(os.fsencode(path)) <= _PATH_BYTES:
            return path
    return Path(tempfile.gettempdir()) / f"lifeboat-{os.geteuid()}" / str(around.home_id) / "key"


def _own_folders(path: Path) -> list[Path]:
    folder = path.parent
    return [folder] if folder.name.startswith("lifeboat-") else [folder.parent, folder]


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise KeysError(f"{folder} could not be created: {error.strerror or error}") from None
    if not _is_private(folder):
        raise KeysError.UNSAFE(
            f"{folder} is not a directory that only your user can access", fix=_how_to_have_one(folder)
        )


def _how_to_have_one(folder: Path) -> str:
    """Return how to make a folder private, without following a link or taking over other users' files."""
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
        return f"chmod 700 {folder}"
    return "set XDG_RUNTIME_DIR to a directory that only your user can access"


def _is_private(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _say(around: KeyEnvironment, request: JsonObject) -> JsonObject | None:
    """Send a request and return the answer; None when no process of this user answers."""
    if os.name != "posix" or around.home_id is None:
        return None
    path = socket_path(around)
    if not all(_is_private(folder) for folder in _own_folders(path)):
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(str(path))
            if not socket_peer.is_same_user(connection):
                return None
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(read_line(connection, _ANSWER_SECONDS))
    except (OSError, ValueError, RecursionError):  # no process, a stale socket, or a process with another protocol
        return None
    return answer if isinstance(answer, dict) else None


def read_line(connection: socket.socket, seconds: float) -> bytes:
    """Read one line, or up to the end of the stream, within this time. Raises ValueError for too long a line,
    OSError."""
    data, end = b"", time.monotonic() + seconds
    while not data.endswith(b"\n"):
        connection.settimeout(max(0.001, end - time.monotonic()))
        piece = connection.recv(ANSWER_BYTES)
        data += piece
        if not piece:
            break
        if len(data) > ANSWER_BYTES:
            raise ValueError("the line is too long")
    return data


def _start(request: JsonObject, around: KeyEnvironment) -> None:
    """Start the process. It detaches as soon as it listens, and shares no pipes with this one."""
    environment = {name: value for name, value in around.environment.items() if name in _PASSED_ON}
    ran = run_child(
        PROGRAM, environment=environment, seconds=_START_SECONDS, input=json.dumps(request).encode(), folder="/"
    )
    if ran.exit_status != 0:
        raise KeysError.CANNOT_HOLD(
            f"the process that keeps the key unlocked {ran.problem or f'ended with status {ran.exit_status}'}"
        )
