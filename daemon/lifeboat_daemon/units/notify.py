"""What a service tells systemd, over the socket that it is given (`sd_notify`). Without one, nothing happens."""

from __future__ import annotations

import os
import socket
import time

READY = "READY=1"
STOPPING = "STOPPING=1"
ALIVE = "WATCHDOG=1"


def sd_notify(text: str) -> bool:
    """Tell systemd; whether it was told. `text` are lines like `STATUS=...`. Never raises and never waits: a manager
    that does not read must not stop the service."""
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


def status(text: str) -> bool:
    """The line that `systemctl status` shows: counts and words, never a name of a file."""
    return sd_notify(f"STATUS={text}")


def reloading() -> bool:
    """Settings are being read again; `ready` ends it."""
    return sd_notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def ready(text: str = "") -> bool:
    """The service answers its socket."""
    return sd_notify(f"{READY}\nSTATUS={text}" if text else READY)


def stopping() -> bool:
    """No further work is begun."""
    return sd_notify(STOPPING)


def alive() -> bool:
    """Feed the watchdog."""
    return sd_notify(ALIVE)


def watchdog_seconds() -> float | None:
    """After how many seconds of silence systemd ends this process, None when it does not watch."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdigit() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(microseconds) / 1_000_000
