"""Restore the parts of a workspace that its runtime keeps in other folders, as the settings of the agent say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from lifeboat_alf.states.agent_state import State
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.file_decisions import DecisionRules
from lifeboat_core.restore.journal_moves import is_inside
from lifeboat_core.restore.state_dir_plan import PlanningContext
from lifeboat_core.restore.wanted_contents import WantedFile
from lifeboat_core.texts.readable_json import make_printable


@dataclass(frozen=True, slots=True)
class OutsideParts:
    """The folder of each part, by its name in the workspace (ending with `/`). A part without an allowed folder is
    missing, and a warning says why. `replaces`: existing files may be replaced."""

    folders: Mapping[str, Path] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    replaces: bool = False


class DecisionInputs(NamedTuple):
    """The arguments of `decide_files` for one folder."""

    wanted: Mapping[str, WantedFile]
    removable: Iterable[str]
    rules: DecisionRules


def find_outside_parts(around: PlanningContext, target: Path, state: State, *, replaces: bool) -> OutsideParts:
    """Return the parts that a restore puts into other folders. Such a folder lies in the user's home: a state may come
    from a machine with other paths."""
    context, live = around.context, around.installation.outside if around.installation is not None else ()
    named = {**dict(live), **around.adapter.outside_parts(state, context.user_home)}
    folders: dict[str, Path] = {}
    warnings: list[str] = []
    for part, folder in named.items():
        place = _mapped(folder, around)
        problem = _find_problem(context, place, target)
        if not problem:
            folders[part] = restore_target.resolve_target(place)
        elif any(name.startswith(part) for name in around.contents.workspace):
            warnings.append(
                f"the settings of the agent name the directory {make_printable(str(place))}, which {problem}; "
                f"its files are restored to {make_printable(str(target / part))}"
            )
    return OutsideParts(folders, tuple(warnings), replaces)


def divide_by_folder(
    around: PlanningContext,
    wanted: Mapping[str, WantedFile],
    removable: Iterable[str],
    rules: DecisionRules,
    outside: OutsideParts,
) -> Iterator[DecisionInputs]:
    """Yield what is decided for the workspace, and for each folder outside of it."""
    left, gone = dict(wanted), set(removable)
    for part, folder in outside.folders.items():
        below = {name.removeprefix(part): left.pop(name) for name in wanted if name.startswith(part)}
        removed = {name for name in gone if name.startswith(part)}
        gone -= removed
        yield DecisionInputs(
            {name: replace(each, name=name) for name, each in below.items()},
            sorted(name.removeprefix(part) for name in removed) if outside.replaces else (),
            replace(around.rules(folder), keep=not outside.replaces, all_rights=rules.all_rights),
        )
    yield DecisionInputs(left, sorted(gone), rules)


def _mapped(folder: Path, around: PlanningContext) -> Path:
    """Return a folder after the first path that the user maps became the other one."""
    for old, new in around.options.paths:
        if folder.is_relative_to(old):
            return Path(new, folder.relative_to(old))
    return folder


def _find_problem(context: Context, folder: Path, target: Path) -> str:
    """Return why nothing may be restored into a folder, "" for an allowed one."""
    place = restore_target.resolve_target(folder)
    if not is_inside(place, restore_target.resolve_target(context.user_home)):
        return "is not inside your home directory"
    if is_inside(target, place) or is_inside(place, target):
        return "contains the workspace or is inside it"
    try:
        restore_target.check_new_state_dir(context, place)
    except RestoreError as error:
        return f"cannot be used: {error.message}"
    return ""
