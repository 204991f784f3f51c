"""Add private folders for the log and the socket of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_core.migrations.home_backups import BackupArea

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

SUMMARY = "add folders for the log and the socket of the daemon"
TOUCHES: frozenset[BackupArea] = frozenset()


def run(context: Context) -> None:
    """Raises OSError."""
    for folder in (context.home.logs_folder, context.home.run_folder):
        context.files.make_folders(folder, 0o700)
        context.files.set_mode(folder, 0o700)
