"""Start this program in another process, and say how that one ended."""

from __future__ import annotations

import contextlib
import signal
import sys


def make_python_command(*arguments: str) -> tuple[str, ...]:
    """Return a command for this interpreter.

    Modules are never searched in the working directory. If this process ignores the user's environment (`-I`, as
    installed by a package), so does the other one.
    """
    return (sys.executable, "-I" if sys.flags.isolated else "-P", *arguments)


def describe_exit(status: int | None) -> str:
    """Say for people how a process ended; `status` is that of subprocess, None while it runs."""
    if status is None:
        return "did not end"
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-status).name
        hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return f"was ended by {name}{hint}"
    return f"was ended by signal {-status}"
