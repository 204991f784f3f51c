"""Migrate the home from an older layout to this one: numbered steps, forwards only, each of them safe to repeat.

A step is a module of this folder, `to_<layout>.py`, with `SUMMARY` (what it does, for people), `TOUCHES` (of
`home_backups`: what has to be copied before, besides the small documents) and `run(context)`. After an interruption
within a step the home has the old layout, and the next process that opens the home repeats the step. The layout is
written after the step.
"""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from lifeboat_alf.common import ids
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.home.lifeboat_home import LAYOUT_VERSION
from lifeboat_core.migrations import home_backups
from lifeboat_core.system_refusals import convert_system_errors

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

_PREFIX = "to_"
_PATIENCE = 60.0
"""Seconds that a step waits for each agent's lock: a capture is short."""


@dataclass(frozen=True, slots=True)
class HomeMigration:
    """One step: the layout it makes, and its module."""

    to: int
    module: ModuleType


def migrate_home(context: Context) -> list[str]:
    """Migrate a home to the layout of this release, under its lock; return a sentence for each step.

    Raises Busy when the lock is not free in time, SystemRefused or DiskFull when a step failed: the home then has its
    old layout, and the next process that opens it continues.
    """
    from lifeboat_core.agents.locks import home_lock

    with home_lock(context, "migrate"), convert_system_errors():
        done = [_step(context, migration) for migration in _missing(context)]
        home_backups.remove_old_backups(context)
    return done


def list_migrations() -> list[HomeMigration]:
    """Return every step, in order."""
    names = [each.name for each in pkgutil.iter_modules(__path__) if each.name.startswith(_PREFIX)]
    found = [HomeMigration(int(name.removeprefix(_PREFIX)), import_module(f"{__name__}.{name}")) for name in names]
    return sorted(found, key=lambda each: each.to)


def _missing(context: Context) -> Iterator[HomeMigration]:
    """Yield the missing steps. Checked before each step: another process may have made it while this one waited for the
    lock."""
    for migration in list_migrations():
        if context.home.layout(context.files) < migration.to <= LAYOUT_VERSION:
            yield migration


def _step(context: Context, migration: HomeMigration) -> str:
    with contextlib.ExitStack() as locks:
        if home_backups.BackupArea.VAULTS in migration.module.TOUCHES:
            _lock_agents(context, locks)
        reach_crash_point(CrashPoint.MIGRATE_LOCKED)
        home_backups.back_up_home(context, context.home.layout(context.files), migration.module.TOUCHES)
        reach_crash_point(CrashPoint.MIGRATE_COPIED)
        migration.module.run(context)
        reach_crash_point(CrashPoint.MIGRATE_DONE)
        context.home.set_layout(context.files, migration.to)
        reach_crash_point(CrashPoint.MIGRATE_NOTED)
    summary: str = migration.module.SUMMARY
    return f"layout {migration.to}: {summary}"


def _lock_agents(context: Context, locks: contextlib.ExitStack) -> None:
    """Lock every agent, so that nothing is captured into a vault that is being changed."""
    from lifeboat_core.agents.locks import agent_lock

    for folder in sorted(context.home.vaults_folder.iterdir()):
        if ids.is_uuid(folder.name):
            locks.enter_context(agent_lock(context, folder.name, "migrate", timeout=_PATIENCE))
