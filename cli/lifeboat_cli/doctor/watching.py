"""Whether the service can watch every folder of the protected agents, by the limits that the system sets to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import everyone
from lifeboat_core.home.context import Context
from lifeboat_daemon.watch import limits, planning
from lifeboat_daemon.watch.limits import INSTANCES, WATCHES
from lifeboat_daemon.watch.matching import Interest
from lifeboat_daemon.watch.mounts import Mounts
from lifeboat_daemon.watch.plan import Watched

TITLE = "Watching for changes"


def check(context: Context) -> Iterator[Finding]:
    folders: set[str] = set()
    mounts = Mounts()
    for agent in everyone(context):
        if agent.watched:
            plan = planning.plan(context, agent)
            yield from _mounts(agent.name, plan.folders, mounts)
            for watched in plan.folders:
                folders |= _folders(watched, mounts)
    if limits.limit(WATCHES) is None:
        yield Finding(Level.OK, "folders", f"{len(folders)} to watch; the system sets no limit")
        return
    yield _watches(len(folders))
    yield _instances()


def _mounts(agent: str, folders: tuple[Watched, ...], mounts: Mounts) -> Iterator[Finding]:
    """What has to be looked through is no fault, but explains why it takes longer."""
    for kind in sorted({kind for watched in folders if (kind := mounts.silent(watched.folder)) is not None}):
        result = f"a part lies on {kind}, which does not tell of changes: it is looked through every minute"
        yield Finding(Level.OK, agent, result)


def _folders(watched: Watched, mounts: Mounts) -> set[str]:
    """The folders that get a watch: this one, those below it, and that above it, where it comes and goes."""
    if mounts.silent(watched.folder) is not None:
        return set()
    found = {watched.folder, os.path.dirname(watched.folder)}
    interest = Interest(watched)
    left = [watched.folder] if watched.recursive else []
    while left:  # `os.walk` of Python 3.11 calls itself for each folder, and an agent may have made them without end
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            below = [path for path in folders if not interest.skips(path)]
            left += below
            found.update(below)
    return found


def _watches(wanted: int) -> Finding:
    """The service's own watches are among those that are taken: they are not wanted twice."""
    most = limits.limit(WATCHES) or 0
    said = f"{wanted} to watch; the system lets you watch {most}"
    if wanted > most:
        return Finding(Level.ERROR, "folders", f"{said}: the rest is looked through every minute", limits.fix(WATCHES))
    taken = limits.taken().watches
    if taken >= most * _NEARLY:
        result = f"{said}, and your programs have taken {taken} of them"
        return Finding(Level.WARNING, "folders", result, limits.fix(WATCHES))
    return Finding(Level.OK, "folders", f"{said}, of which {taken} are taken")


def _instances() -> Finding:
    most, taken = limits.limit(INSTANCES) or 0, limits.taken().instances
    result = f"{taken} of {most} watching programs (inotify instances) are running"
    if taken >= most:
        result += ": no other can begin to watch"
        return Finding(Level.WARNING, "watching programs", result, limits.fix(INSTANCES))
    return Finding(Level.OK, "watching programs", result)


_NEARLY = 0.95
"""Of the limit. Whoever watches gives nothing back before it ends."""
