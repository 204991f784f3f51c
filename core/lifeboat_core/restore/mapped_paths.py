"""Restore an agent for other paths of its projects: rename what a runtime keeps under an absolute path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lifeboat_adapters.contract import Adapter, ProjectSupport
from lifeboat_alf.states.agent_state import State
from lifeboat_core.errors import AgentError
from lifeboat_core.restore.wanted_contents import FILE, WantedContents, WantedFile, merge_wanted, read_wanted_body
from lifeboat_core.texts.human_text import join_names
from lifeboat_core.texts.readable_json import make_printable

PathPair = tuple[str, str]
"""An absolute path of the agent's old machine, and the one that replaces it."""

_MOST_NAMED = 5


def map_contents(
    state: State, contents: WantedContents, adapter: Adapter, pairs: Sequence[PathPair]
) -> tuple[WantedContents, list[str]]:
    """Return the contents with every path replaced that a pair names, and warnings about uncertain names.

    The first pair that fits a name counts. Raises AgentError.PROJECT_REFUSED for a runtime that keeps nothing under
    such a path, and if two files would get one name.
    """
    projects = adapter.projects
    if projects is None:
        raise AgentError.PROJECT_REFUSED(f"{adapter.runtime} does not store data separately for each project folder")
    workspace: dict[str, WantedFile] = {}
    for wanted in contents.workspace.values():
        mapped = _mapped(state, wanted, projects, pairs)
        if mapped.name in workspace:
            raise AgentError.PROJECT_REFUSED(f"two files would get the name {make_printable(mapped.name)}")
        workspace[mapped.name] = mapped
    return replace(contents, workspace=workspace), _warnings(contents, projects, pairs)


def _mapped(state: State, wanted: WantedFile, projects: ProjectSupport, pairs: Sequence[PathPair]) -> WantedFile:
    name = _mapped_name(wanted.name, projects, pairs)
    if wanted.kind != FILE or not projects.holds_paths(wanted.name):
        return replace(wanted, name=name)
    body = made = read_wanted_body(state, wanted)
    for old, new in pairs:
        made = projects.map_data(made, old, new)
    return replace(wanted, name=name) if made == body else merge_wanted(wanted, name, body, made)


def _mapped_name(name: str, projects: ProjectSupport, pairs: Sequence[PathPair]) -> str:
    found = (projects.map_name(name, old, new) for old, new in pairs)
    return next((mapped for mapped in found if mapped != name), name)


def _warnings(contents: WantedContents, projects: ProjectSupport, pairs: Sequence[PathPair]) -> list[str]:
    """Name the folders that may belong to another project whose path begins with the same letters."""
    found = []
    for old, new in pairs:
        uncertain = {folder for name in contents.workspace if (folder := projects.uncertain_folder(name, old))}
        if uncertain:
            shown = join_names([make_printable(folder) for folder in sorted(uncertain)[:_MOST_NAMED]])
            more = f" and {len(uncertain) - _MOST_NAMED} more" if len(uncertain) > _MOST_NAMED else ""
            found.append(
                f"Lifeboat assumes that these projects are below {old}, because only their shortened paths "
                f"are known: {shown}{more}. If one of them is another project, give a --map for each project, "
                f"before --map {old}={new}"
            )
    return found
