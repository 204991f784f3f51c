"""A wrong use of a command for which another command helps more than `--help`."""

from __future__ import annotations

import click


class FixableUsageError(click.UsageError):
    """A usage error that names the command to use instead."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(message)
        self.fix = fix
