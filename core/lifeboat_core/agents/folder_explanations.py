"""Say what a folder is that cannot be protected, and which command works instead."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from lifeboat_adapters.contract import Adapter, DiscoveredAgent
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.errors import AgentError
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import count_text, join_names, quote_argument

DISCOVER = "lifeboat agents discover"
_ARCHIVES = (".alf", ".alf.age")
_SOUL = "SOUL.md"
_PROJECT_MARKS = {".claude": "Claude Code", "CLAUDE.md": "Claude Code", ".codex": "Codex CLI", ".gemini": "Gemini CLI"}


LIKELY, CERTAIN = 1, 2
"""How surely a folder belongs to a runtime, as `Adapter.recognises` rates it."""


def refuse_other_runtime(context: Context, adapter: Adapter, folder: Path, *, claimed: int) -> None:
    """Raise NotAWorkspace.OTHER_RUNTIME for a folder that another runtime claims with a rating of at least `claimed`,
    and more surely than `adapter`. The fix protects the folder as what it is."""
    own = adapter.recognises(folder)
    rated = [(one.recognises(folder), one.runtime) for one in context.adapters() if not one.takes_any_folder]
    best, other = max(rated, default=(0, ""))
    if best > own and best >= claimed:
        raise NotAWorkspace.OTHER_RUNTIME(
            f"{folder} is a workspace of {other}, not of {adapter.runtime}",
            fix=f"lifeboat agents add {_quoted(folder)} --runtime {other}",
        )


def require_folder(context: Context, folder: Path) -> None:
    """Raise AgentError.WORKSPACE_REFUSED for a path that is missing or a file, with a command that works."""
    if folder.is_dir():
        return
    if not os.path.lexists(folder):
        raise AgentError.WORKSPACE_REFUSED(f"{folder} does not exist", fix=_suggest_sibling(folder))
    if folder.name.lower().endswith(_ARCHIVES):
        fix = f"lifeboat alf import {_quoted(folder)} --to {_quoted(folder.with_name(folder.name.split('.')[0]))}"
        raise AgentError.WORKSPACE_REFUSED(f"{folder} is an archive file, not a folder", fix=fix)
    parent = folder.parent
    is_workspace = any(adapter.recognises(parent) for adapter in context.adapters())
    fix = f"lifeboat agents add {_quoted(parent)}" if is_workspace else DISCOVER
    raise AgentError.WORKSPACE_REFUSED(f"{folder} is a file, not a folder", fix=fix)


def _suggest_sibling(folder: Path) -> str:
    """Return a command with the folder that was probably meant."""
    try:
        names = [each.name for each in folder.parent.iterdir() if each.is_dir()]
    except OSError:
        return DISCOVER
    similar = difflib.get_close_matches(folder.name, names, n=1)
    return f"lifeboat agents add {_quoted(folder.parent / similar[0])}" if similar else DISCOVER


def explain_home_folder(context: Context, folder: Path) -> LifeboatError:
    """Return the error for a user's home folder: name the workspaces in it, and the command for the first."""
    found = _discovered_below(context, folder)
    if not found:
        return AgentError.WORKSPACE_REFUSED(
            f"{folder} is the home directory of a user, and Lifeboat found no agent in it. Give "
            "the workspace of one agent instead",
            fix=DISCOVER,
        )
    return AgentError.WORKSPACE_REFUSED(
        f"{folder} is the home directory of a user. Protect each workspace in it separately: {_named(found)}",
        fix=_add(context, found),
    )


def explain_unknown_folder(context: Context, folder: Path, error: NotAWorkspace) -> LifeboatError:
    """Return the error of an adapter for a folder that no runtime claims, with what the folder is and what works."""
    notes = error if error.code == NotAWorkspace.NOTES.code else None
    if notes is not None:  # a state directory or a repository may contain notes, too
        error = NotAWorkspace(notes.message, fix=notes.fix)
    if error.code != NotAWorkspace.code:
        return error
    if (project := _project_runtime(folder)) is not None and folder != context.user_home:
        return error.with_message(f"{folder} is a project directory of {project}, not the workspace of an agent")
    found = _discovered_below(context, folder)
    if found:
        relation = "it is the state directory of" if folder in {one.state_dir for one in found} else "it contains"
        return error.with_message(f"{folder} is not a workspace: {relation} {_named(found)}", fix=_add(context, found))
    try:
        names = {each.name for each in folder.iterdir()}
    except OSError:
        return error
    if not names:
        return _explain_empty(context, folder, error)
    if _SOUL in names:
        return error.with_message(
            f"the runtime of {folder} is unknown: {_SOUL}, the only known file in it, is used by "
            "several runtimes. If OpenClaw runs this agent, name the runtime",
            fix=f"lifeboat agents add {_quoted(folder)} --runtime openclaw",
        )
    if ".git" in names:
        return error.with_message(f"{folder} is a Git repository without the files of a known agent runtime")
    if notes is not None:
        return notes
    counted = count_text(len(names), "entry", "entries")
    return error.with_message(
        f"{folder} contains {counted}, but no file of a known agent runtime ({_runtimes(context)})"
    )


def _project_runtime(folder: Path) -> str | None:
    """Return the runtime that leaves its settings in the projects it works on, by its mark; None without one."""
    return next((runtime for mark, runtime in _PROJECT_MARKS.items() if os.path.lexists(folder / mark)), None)


def _explain_empty(context: Context, folder: Path, error: NotAWorkspace) -> LifeboatError:
    """An empty folder is no workspace; an agent can be restored into it."""
    known = next(iter(list_agents(context)), None)
    if known is None:
        return error.with_message(f"{folder} is empty", fix=DISCOVER)
    return error.with_message(
        f"{folder} is empty. Lifeboat can restore an agent into it",
        fix=f"lifeboat restore {quote_argument(known.name)} --to {_quoted(folder)}",
    )


def _discovered_below(context: Context, folder: Path) -> list[DiscoveredAgent]:
    """Return the agents of every runtime whose workspace lies in a folder. The folder may be another user's home."""
    real = Path(os.path.realpath(folder))
    users = dict.fromkeys((context.user_home, real, real.parent))
    found: dict[Path, DiscoveredAgent] = {}
    for adapter in context.adapters():
        for user_home in users:
            for one in adapter.discover(context.environment, user_home):
                workspace = Path(os.path.realpath(one.workspace))
                if real in workspace.parents:
                    found.setdefault(workspace, one)
    return list(found.values())


def _named(found: Iterable[DiscoveredAgent]) -> str:
    return join_names([f"{one.name} ({one.runtime}, {one.workspace})" for one in found])


def _add(context: Context, found: Iterable[DiscoveredAgent]) -> str:
    """Return the command that protects the first agent that is not protected, or lists the agents if all are."""
    known = {os.path.realpath(agent.workspace) for agent in list_agents(context) if agent.watched}
    unknown = next((one for one in found if os.path.realpath(one.workspace) not in known), None)
    return "lifeboat agents list" if unknown is None else f"lifeboat agents add {_quoted(unknown.workspace)}"


def _runtimes(context: Context) -> str:
    return ", ".join(adapter.runtime for adapter in context.adapters())


def _quoted(path: Path) -> str:
    return quote_argument(str(path))
