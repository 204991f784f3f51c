"""The largest sizes of Hermes' memory files, which `config.yaml` may set. Hermes refuses to add to a larger file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.nested_values import get_nested
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.states.agent_state import State

CONFIG = "config.yaml"
_LIMITS = {"memories/MEMORY.md": "memory_char_limit", "memories/USER.md": "user_char_limit"}


def fit_profile(profile: FolderProfile, workspace: Path, state: State) -> FolderProfile:
    """Return the profile with the sizes that the configuration of a home sets, or that of the state which is restored
    into it. A configuration that says nothing leaves the sizes of a new home."""
    values = _read_config(workspace, state, profile.raw + CONFIG)
    found = {name: get_nested(values, "memory", key) for name, key in _LIMITS.items()}
    fitted = (
        msgspec.structs.replace(rule, limit=limit)
        if isinstance(limit := found.get(rule.new), int) and not isinstance(limit, bool) and limit > 0
        else rule
        for rule in profile.memories
    )
    return msgspec.structs.replace(profile, memories=tuple(fitted))


def _read_config(workspace: Path, state: State, path: str) -> dict[str, Any]:
    try:
        data = read_small(workspace / CONFIG, workspace)
    except OSError:
        data = state.body(path) if state.entry(path) is not None else b""
    try:
        values = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
