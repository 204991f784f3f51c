"""Plan what has to be written, run and removed to install or remove the hook. Planning writes nothing."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import msgspec

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import HookUnavailable, RuntimeConfigError
from lifeboat_adapters.nested_values import get_nested
from lifeboat_adapters.openclaw import config_includes
from lifeboat_adapters.openclaw.hook import hook_note as notes
from lifeboat_adapters.openclaw.hook.hook_note import HookNote
from lifeboat_adapters.openclaw.hook.hook_selection import ENTRY, NAME, is_hook_started, refuse_disabled_hooks
from lifeboat_adapters.session_hook_plan import (
    HookOrder,
    HookPlan,
    HookStep,
    find_order_problem,
    notified_agent_of,
)
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.json_types import JsonObject

_MODULE = b'{\n  "private": true,\n  "type": "module"\n}\n'
_BY_ITSELF = "A running OpenClaw gateway loads the hook automatically."
_RESTART = "A running OpenClaw gateway loads the hook after a restart: openclaw gateway restart"


def plan_hook_install(installation: Installation, order: HookOrder) -> HookPlan:
    """Plan a hook that reports sessions of this agent to `order.agent`. Raises HookUnavailable."""
    folder = _folder(installation)
    values = _config(installation)
    known = _own(folder)
    refuse_disabled_hooks(installation, values)
    enabled = is_hook_started(installation, values)
    wanted = _wanted_note(installation, order, known, "" if enabled else _first_missing(values), folder)
    write = _changed(folder, {**_constant(), notes.NAME: wanted.to_bytes()})
    steps = () if enabled else (_step(installation, "config", "set", ".".join((*ENTRY, "enabled")), "true"),)
    return HookPlan(write, steps=steps, after=_after(folder, write, steps))


def plan_hook_removal(installation: Installation, order: HookOrder) -> HookPlan:
    """Plan to stop reporting sessions of this agent. With the last agent the hook itself is removed."""
    if installation.state_dir is None:
        return HookPlan()
    folder = _folder(installation)
    known = notes.read_hook_note(folder)
    if known is None:
        return HookPlan()
    others = {name: told for name, told in known.agents.items() if name != installation.native_id}
    if others:
        left = msgspec.structs.replace(known, agents=others)
        return HookPlan(_changed(folder, {notes.NAME: left.to_bytes()}))
    ours = [folder / name for name in (*_constant(), notes.NAME) if (folder / name).is_file()]
    folders = [folder, folder.parent] if known.made_folder else [folder]
    unset = _to_unset(_config(installation), known.added)
    if not unset:
        return HookPlan(remove=(*ours, *folders), after=_RESTART)
    if installation.program is None:
        said = (
            "the program openclaw is not on PATH; to remove the rest of the hook from the configuration of "
            f"OpenClaw: openclaw config unset {unset}"
        )
        return HookPlan(remove=(*ours, *folders), after=said)
    return HookPlan(steps=(_step(installation, "config", "unset", unset),), remove=(*ours, *folders))


def find_hook_problem(installation: Installation, order: HookOrder) -> str:
    """Return why the end of a session is not reported, "" when it is. Raises HookUnavailable."""
    folder = _folder(installation)
    values = _config(installation)
    refuse_disabled_hooks(installation, values)
    known = notes.read_hook_note(folder)
    problem = find_order_problem(None if known is None else known.agents.get(installation.native_id), order)
    if problem:
        return problem
    if _changed(folder, _constant()):
        return "the hook was written by another release of Lifeboat, or was changed afterwards"
    if not is_hook_started(installation, values):
        return "the hook is not enabled in openclaw.json"
    return ""


def _folder(installation: Installation) -> Path:
    if installation.state_dir is None:
        raise HookUnavailable(
            f"{installation.workspace} is not inside a state directory of OpenClaw, so OpenClaw would not run a hook"
        )
    return installation.state_dir / "hooks" / NAME


def _own(folder: Path) -> HookNote | None:
    """Return the note of an installed hook. Raises HookUnavailable for a hook of this name that is not Lifeboat's."""
    known = notes.read_hook_note(folder)
    if known is None and os.path.lexists(folder):
        raise HookUnavailable(
            f"{folder} already exists, and Lifeboat did not write it", fix=f"mv {folder} {folder}-of-mine"
        )
    return known


def _config(installation: Installation) -> JsonObject:
    if installation.config is None:
        return {}
    try:
        return config_includes.read_resolved_config(installation.config, installation.state_dir).values
    except RuntimeConfigError as error:
        raise HookUnavailable(error.message, fix=error.fix) from error


def _wanted_note(
    installation: Installation, order: HookOrder, known: HookNote | None, added: str, folder: Path
) -> HookNote:
    before = known or HookNote(made_folder=not folder.parent.exists())
    agents = {**before.agents, installation.native_id: notified_agent_of(order)}
    return HookNote(dict(sorted(agents.items())), before.added or added, before.made_folder)


def _first_missing(values: JsonObject) -> str:
    """Return the outermost part of the entry's path that the configuration lacks, "" when it has all of it."""
    for length in range(1, len(ENTRY) + 1):
        if get_nested(values, *ENTRY[:length]) is None:
            return ".".join(ENTRY[:length])
    return ""


def _to_unset(values: JsonObject, added: str) -> str:
    """Return the path to remove from the configuration: the entry, and containers that were added for it and hold
    nothing else. "" when there is no entry, or it existed before."""
    if not added or get_nested(values, *ENTRY) is None:
        return ""
    length = len(ENTRY)
    while length > len(added.split(".")) and len(get_nested(values, *ENTRY[: length - 1])) == 1:
        length -= 1
    return ".".join(ENTRY[:length])


def _constant() -> dict[str, bytes]:
    """Return the files that are the same for every agent."""
    here = files(__package__)
    texts = {name: (here / name).read_bytes() for name in ("HOOK.md", "handler.js")}
    return {**texts, "package.json": _MODULE}


def _changed(folder: Path, wanted: dict[str, bytes]) -> dict[Path, bytes]:
    """Return those files by name whose content in a folder differs."""
    return {folder / name: data for name, data in wanted.items() if _read(folder, name) != data}


def _read(folder: Path, name: str) -> bytes | None:
    try:
        return read_small(folder / name, notes.state_dir_of(folder))
    except OSError:
        return None


def _step(installation: Installation, *words: str) -> HookStep:
    if installation.program is None:
        raise HookUnavailable(
            "the program openclaw is not on PATH, and only this program may change openclaw.json", fix="lifeboat doctor"
        )
    environment = {"OPENCLAW_STATE_DIR": str(installation.state_dir)}
    if installation.config and installation.config.parent != installation.state_dir:
        environment["OPENCLAW_CONFIG_PATH"] = str(installation.config)
    return HookStep((str(installation.program), *words), environment)


def _after(folder: Path, write: dict[Path, bytes], steps: tuple[HookStep, ...]) -> str:
    """Return what the user has to do. OpenClaw reads the hooks again when its configuration changes, never because a
    file did."""
    if steps:
        return _BY_ITSELF
    return _RESTART if set(write) - {folder / notes.NAME} else ""
