"""Identify the peer of a Unix socket."""

from __future__ import annotations

import os
import socket
import struct
import sys

_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_XUCRED_BYTES = 76


def is_same_user(connection: socket.socket) -> bool:
    """Return whether the peer runs as the same user; False where the system does not tell."""
    try:
        return _user_of(connection) == os.geteuid()
    except (OSError, struct.error):
        return False


def _user_of(connection: socket.socket) -> int:
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, user, _ = struct.unpack("3i", credentials)
    else:  # struct xucred of macOS and the BSDs: version, user, groups
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        _, user = struct.unpack_from("=II", credentials)
    return int(user)
