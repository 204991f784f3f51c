"""Whose process is at the other end of a Unix socket, as the kernel says it."""

from __future__ import annotations

import socket
import struct
import sys

_LOCAL_PEERCRED = 1
_XUCRED = struct.Struct("=IIh2x16I")
"""macOS and the BSDs: version, user, number of groups, groups."""
_UCRED = struct.Struct("=iII")
"""Linux: process, user, group."""


def read_peer_user(connection: socket.socket) -> int | None:
    """The user's number, None where the system does not say it: there the rights of folder and socket have to do.

    Raises OSError when the connection is no more. Untested outside Linux.
    """
    if hasattr(socket, "SO_PEERCRED"):
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        return int(_UCRED.unpack(found)[1])
    if sys.platform == "darwin" or "bsd" in sys.platform:
        found = connection.getsockopt(0, _LOCAL_PEERCRED, _XUCRED.size)
        return int(_XUCRED.unpack(found.ljust(_XUCRED.size, b"\0"))[1])
    return None
