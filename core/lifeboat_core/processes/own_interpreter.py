"""Start this program in another process, and say how that one ended."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_COMMAND_LINE = "import sys; from lifeboat_cli import main; sys.exit(main())"


def make_python_command(*arguments: str) -> tuple[str, ...]:
    """Return a command for this interpreter.

    Modules are never searched in the working directory. If this process ignores the user's environment (`-I`, as
    installed by a package), so does the other one.
    """
    return (sys.executable, "-I" if sys.flags.isolated else "-P", *arguments)


def make_own_command(*arguments: str) -> tuple[str, ...]:
    """Return a command that starts the command line of this program."""
    return make_python_command("-c", _COMMAND_LINE, *arguments)


def start_detached(command: Sequence[str]) -> None:
    """Start a command that outlives this process and its terminal. Its output is discarded."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    subprocess.Popen(
        command,
        cwd=Path(sys.executable).anchor,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=flags,
    )


def describe_exit(status: int | None) -> str:
    """Say for people how a process ended; `status` is that of subprocess, None while it runs."""
    if status is None:
        return "did not end"
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-status).name
        hint = " (the system does this when it runs out of memory)" if name == "SIGKILL" else ""
        return f"was ended by {name}{hint}"
    return f"was ended by signal {-status}"
