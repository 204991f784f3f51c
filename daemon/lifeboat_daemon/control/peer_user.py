"""Ask the kernel which user owns the process at the other end of a Unix socket."""

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
    """Return the user id, or None if the system does not report it: then the permissions of directory and socket have
    to suffice. Raises OSError when the connection has ended. Untested outside Linux."""
    if hasattr(socket, "SO_PEERCRED"):
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        return int(_UCRED.unpack(found)[1])
    if sys.platform == "darwin" or "bsd" in sys.platform:
        found = connection.getsockopt(0, _LOCAL_PEERCRED, _XUCRED.size)
        return int(_XUCRED.unpack(found.ljust(_XUCRED.size, b"\0"))[1])
    return None
