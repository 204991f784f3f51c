"""Determine which hooks OpenClaw starts with the current configuration."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.database_reading import read_database
from lifeboat_adapters.errors import HookUnavailable, RuntimeDatabaseError
from lifeboat_adapters.nested_values import get_nested
from lifeboat_adapters.openclaw import openclaw_folders
from lifeboat_alf.common.json_types import JsonObject

NAME = "lifeboat"
INTERNAL = ("hooks", "internal")
ENTRY = (*INTERNAL, "entries", NAME)
"""The configuration of the hook. It has no effect without the hook's files."""

_ALL_AT_ONCE = "2026.2"
"""The layout of releases whose switch for hooks starts every hook that is found."""
_PACKS = "SELECT value_json FROM config_machine_state WHERE state_key = 'hooks.internal.installs'"


def refuse_disabled_hooks(installation: Installation, values: JsonObject) -> None:
    """Raise HookUnavailable when hooks are switched off. Only the user may switch them on, because other hooks might
    start with them."""
    switch = get_nested(values, *INTERNAL, "enabled")
    turn_on = "openclaw config set hooks.internal.enabled true"
    if switch is False:
        raise HookUnavailable("hooks are disabled in openclaw.json (hooks.internal.enabled)", fix=turn_on)
    if switch is not True and installation.layout == _ALL_AT_ONCE:
        raise HookUnavailable(
            (
                "hooks are not enabled in OpenClaw; if you enable them, this release of OpenClaw starts every "
                "hook that it finds"
            ),
            fix=turn_on,
        )


def is_hook_started(installation: Installation, values: JsonObject) -> bool:
    """Return whether OpenClaw starts the hook once its files exist.

    When hooks are on and none is named, all hooks that are found are started. Naming one would switch the others off.
    """
    switched = get_nested(values, *ENTRY, "enabled")
    if switched is not None:
        return switched is True
    if get_nested(values, *INTERNAL, "enabled") is not True:
        return False
    if installation.layout == _ALL_AT_ONCE or get_nested(values, *INTERNAL, "load", "extraDirs"):
        return True
    return not get_nested(values, *INTERNAL, "entries") and not _packs_name_hooks(installation)


def _packs_name_hooks(installation: Installation) -> bool:
    """Return whether installed hook packs list their hooks. Then only named hooks are started."""
    if installation.state_dir is None:
        return False
    with contextlib.suppress(RuntimeDatabaseError, ValueError):
        database = Path(installation.state_dir, openclaw_folders.STATE_DATABASE)
        for packs in read_database(database, _packs, workspace=installation.grounds):
            return isinstance(packs, dict) and any(get_nested(pack, "hooks") for pack in packs.values())
    return False


def _packs(connection: sqlite3.Connection) -> Iterator[Any]:
    for (text,) in connection.execute(_PACKS):
        yield json.loads(text)
