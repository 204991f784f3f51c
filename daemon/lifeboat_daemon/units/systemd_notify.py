"""Notify systemd over the socket in the environment (`sd_notify`). Without such a socket, nothing happens."""

from __future__ import annotations

import os
import socket


def _tell(text: str) -> bool:
    """Send a message and return whether that succeeded. Never raises and never blocks: a manager that does not read
    must not stop the service."""
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
    """Set the line that `systemctl status` shows: counts and words, never a file name."""
    return _tell(f"STATUS={text}")


def notify_ready(text: str = "") -> bool:
    """Report that the service has started; `text` is its status."""
    return _tell(f"READY=1\nSTATUS={text}" if text else "READY=1")


def notify_stopping() -> bool:
    """Report that the service is stopping."""
    return _tell("STOPPING=1")


def notify_watchdog() -> bool:
    """Feed the watchdog."""
    return _tell("WATCHDOG=1")
