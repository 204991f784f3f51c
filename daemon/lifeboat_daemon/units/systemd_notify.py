"""What a service tells systemd, over the socket that it is given (`sd_notify`). Without one, nothing happens."""

from __future__ import annotations

import os
import socket


def _tell(text: str) -> bool:
    """Whether it was told. Never raises and never waits: a manager that does not read must not stop the service."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")) or not hasattr(socket, "AF_UNIX"):
        return False
    name = f"\0{address[1:]}" if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as channel:
            channel.setblocking(False)
            channel.sendto(text.encode(), name)
    except OSError:
        return False
    return True


def notify_status(text: str) -> bool:
    """The line that `systemctl status` shows: counts and words, never a name of a file."""
    return _tell(f"STATUS={text}")


def notify_ready(text: str = "") -> bool:
    """The service has begun; `text` is its status."""
    return _tell(f"READY=1\nSTATUS={text}" if text else "READY=1")


def notify_stopping() -> bool:
    """No further work is begun."""
    return _tell("STOPPING=1")


def notify_watchdog() -> bool:
    """Feed the watchdog."""
    return _tell("WATCHDOG=1")
