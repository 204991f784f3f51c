"""Check whether the service can watch every folder of the protected agents within the limits of the system."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.home.context import Context
from lifeboat_daemon.watch import inotify_limits, make_watch_plan
from lifeboat_daemon.watch.event_filter import EventFilter
from lifeboat_daemon.watch.inotify_limits import INSTANCES, WATCHES
from lifeboat_daemon.watch.silent_mounts import MountTable
from lifeboat_daemon.watch.watch_plan import PlannedFolder

TITLE = "Watching for changes"


def check(context: Context) -> Iterator[DoctorFinding]:
    folders: set[str] = set()
    mounts = MountTable()
    for agent in list_agents(context):
        if agent.watched:
            plan = make_watch_plan.plan_watching(context, agent)
            yield from _mounts(agent.name, plan.folders, mounts)
            for watched in plan.folders:
                folders |= _folders(watched, mounts)
    if inotify_limits.read_inotify_limit(WATCHES) is None:
        yield DoctorFinding(
            DoctorLevel.OK,
            "folders",
            f"{len(folders)} folders must be watched for changes; the operating system sets no limit",
        )
        return
    yield _watches(len(folders))
    yield _instances()


def _mounts(agent: str, folders: tuple[PlannedFolder, ...], mounts: MountTable) -> Iterator[DoctorFinding]:
    """Report file systems that have to be scanned. That is not a fault, but explains slower captures."""
    for kind in sorted({kind for watched in folders if (kind := mounts.silent(watched.folder)) is not None}):
        result = (
            f"a part of the agent is on a {kind} file system, which does not report changes, so that part is "
            "scanned every minute"
        )
        yield DoctorFinding(DoctorLevel.OK, agent, result)


def _folders(watched: PlannedFolder, mounts: MountTable) -> set[str]:
    """Yield the folders that get a watch: this one, those below it, and its parent, in which it comes and goes."""
    if mounts.silent(watched.folder) is not None:
        return set()
    found = {watched.folder, os.path.dirname(watched.folder)}
    interest = EventFilter(watched)
    left = [watched.folder] if watched.recursive else []
    while left:  # `os.walk` of Python 3.11 is recursive, and an agent may have created deeply nested folders.
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            below = [path for path in folders if not interest.skips(path)]
            left += below
            found.update(below)
    return found


def _watches(wanted: int) -> DoctorFinding:
    """Count the watches that are needed. The service's own watches are part of those in use and not needed twice."""
    most = inotify_limits.read_inotify_limit(WATCHES) or 0
    said = f"{wanted} folders must be watched for changes; the operating system allows {most}"
    if wanted > most:
        return DoctorFinding(
            DoctorLevel.ERROR,
            "folders",
            f"{said}, so the other folders are scanned every minute",
            inotify_limits.write_limit_command(WATCHES),
        )
    taken = inotify_limits.count_user_use().watches
    if taken >= most * _NEARLY:
        result = f"{said}, and the programs of this user watch {taken} already"
        return DoctorFinding(DoctorLevel.WARNING, "folders", result, inotify_limits.write_limit_command(WATCHES))
    return DoctorFinding(DoctorLevel.OK, "folders", f"{said}; the programs of this user watch {taken} now")


def _instances() -> DoctorFinding:
    most, taken = inotify_limits.read_inotify_limit(INSTANCES) or 0, inotify_limits.count_user_use().instances
    result = f"{taken} of {most} inotify instances of this user are in use"
    if taken >= most:
        result += ", so no other program can start to watch for changes"
        return DoctorFinding(
            DoctorLevel.WARNING, "watching programs", result, inotify_limits.write_limit_command(INSTANCES)
        )
    return DoctorFinding(DoctorLevel.OK, "watching programs", result)


_NEARLY = 0.95
"""The share of the limit that triggers a warning. Watching programs return no watch before they end."""
