"""Examples under the help of a command, which the page of commands shows too."""

from __future__ import annotations

HEADING = "Examples:"


def examples(*commands: str) -> str:
    """The epilog of a command: each example as it is typed, in a line of its own."""
    return "\n".join(("\b", HEADING, *(f"  {command}" for command in commands)))


def listed(epilog: str | None) -> list[str]:
    """The commands of such an epilog."""
    lines = (epilog or "").splitlines()
    return [line.strip() for line in lines[lines.index(HEADING) + 1 :]] if HEADING in lines else []
