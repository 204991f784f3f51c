"""Follow a project to another path in the files of an agent's runtime, between two captures."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.contract import Installation, ProjectMove, ProjectSupport
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import write_atomic
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import AgentError
from lifeboat_core.home.context import Context
from lifeboat_core.restore.running_check import make_running_error
from lifeboat_core.texts.human_text import quote_argument


@dataclass(frozen=True, slots=True)
class MovedProject:
    """A finished move: the captures before and after it."""

    before: CaptureReport
    after: CaptureReport


def plan_project_move(context: Context, agent: Agent, old: Path, new: Path) -> ProjectMove:
    """Return what has to change in the runtime's files. Nothing is written.

    Raises AgentError.PROJECT_REFUSED where that is impossible or nothing has to change, RuntimeDatabaseError.
    """
    projects, installation = _support(context, agent)
    if not new.is_dir():
        words = f"mv {quote_argument(str(old))} {quote_argument(str(new))}"
        raise AgentError.PROJECT_REFUSED(
            f"{new} does not exist. Move the project folder first, then repeat this command", fix=words
        )
    try:
        plan = projects.plan_move(installation, str(old), str(new))
        _refuse_conflicts(plan)
    except OSError as error:
        raise AgentError.PROJECT_REFUSED(refusal_reason(error)) from error
    if not (plan.folders or plan.files):
        raise AgentError.PROJECT_REFUSED(
            f"{agent.name} has no stored data about a project at {old}", fix=f"ls {agent.workspace}/projects"
        )
    return plan


def move_project(context: Context, agent: Agent, old: Path, new: Path) -> MovedProject:
    """Carry out the move, after a capture and before another one.

    Files are written before folders are renamed. If the move is interrupted, the same command completes it. Raises
    RestoreError.RUNTIME_RUNNING and what `plan_project_move` raises.
    """
    _refuse_running(context, agent)
    plan_project_move(context, agent, old, new)
    before = capture_agent(context, agent)
    with agent_lock(context, agent.id, "move-project"):
        plan = plan_project_move(context, agent, old, new)
        _refuse_running(context, agent)
        try:
            for path, data in plan.files.items():
                found = context.files.lstat(path)
                # The runtime continues the session whose transcript is the newest.
                write_atomic(context.files, path, data, mode=stat.S_IMODE(found.st_mode), mtime_ns=found.st_mtime_ns)
            for source, target in plan.folders.items():
                _move_folder(context, source, target)
        except OSError as error:
            raise AgentError.PROJECT_REFUSED(
                f"the project was moved only in part: {refusal_reason(error)}. To continue, repeat the same command"
            ) from error
    return MovedProject(before, capture_agent(context, agent))


def _support(context: Context, agent: Agent) -> tuple[ProjectSupport, Installation]:
    adapter = context.adapter(agent.runtime)
    if adapter.projects is None:
        raise AgentError.PROJECT_REFUSED(
            f"{agent.runtime} does not store data separately for each project folder, so there is nothing to move"
        )
    return adapter.projects, adapter.locate(agent.workspace, context.environment, context.user_home)


def _refuse_running(context: Context, agent: Agent) -> None:
    adapter = context.adapter(agent.runtime)
    _, installation = _support(context, agent)
    running = adapter.placement.running(installation) if adapter.placement is not None else ""
    if running:
        raise make_running_error(running, adapter, "writes into these files")


def _refuse_conflicts(plan: ProjectMove) -> None:
    """Raise AgentError.PROJECT_REFUSED if a file of the old path has the name of one of the new path."""
    for source, target in plan.folders.items():
        for name in _names_below(source):
            if os.path.lexists(target / name):
                raise AgentError.PROJECT_REFUSED(
                    f"both {source / name} and {target / name} exist. Delete one of them, or merge them",
                    fix=f"diff {quote_argument(str(source / name))} {quote_argument(str(target / name))}",
                )


def _names_below(folder: Path) -> list[str]:
    """Return the files and links below a folder, relative to it, sorted."""
    found = []
    for above, folders, names in os.walk(folder):
        links = [name for name in folders if Path(above, name).is_symlink()]
        found += [Path(above, name).relative_to(folder).as_posix() for name in (*names, *links)]
    return sorted(found)


def _move_folder(context: Context, source: Path, target: Path) -> None:
    """Rename a folder, or move its files into the one that is there."""
    if not os.path.lexists(target):
        context.files.replace(source, target)
        context.files.sync_folder(target.parent)
        return
    for name in _names_below(source):
        context.files.make_folders((target / name).parent)
        context.files.replace(source / name, target / name)
    for above, _, _ in os.walk(source, topdown=False):
        context.files.remove_folder(above)
