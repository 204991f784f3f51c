"""How this program starts itself in another process, and how that one ended."""

from __future__ import annotations

import contextlib
import signal
import sys


def make_python_command(*arguments: str) -> tuple[str, ...]:
    """This interpreter with arguments. Modules are never looked for in the folder where it happens to run; where this
    process takes nothing from the user's environment (`-I`, as installed by a package), the other one does not either.
    """
    return (sys.executable, "-I" if sys.flags.isolated else "-P", *arguments)


def describe_exit(status: int | None) -> str:
    """How a process ended, for people; `status` as subprocess has it, None while it runs."""
    if status is None:
        return "did not end"
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-status).name
        hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return f"was ended by {name}{hint}"
    return f"was ended by signal {-status}"
