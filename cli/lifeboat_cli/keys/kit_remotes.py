"""Remotes for the recovery kit: their addresses, and how to get access without the old machine."""

from __future__ import annotations

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_keys.recovery.recovery_kit import KitRemote

_ENDPOINT = "whoever runs it makes one: lifeboat endpoint token add TENANT"
_FOLDER = "none is needed: who has the folder and these words has it all"


def list_kit_remotes(context: Context) -> list[KitRemote]:
    """Return every remote whose file is valid."""
    return [_kit_remote(config) for config in remote_registry.list_usable_remotes(context)]


def _kit_remote(config: RemoteConfig) -> KitRemote:
    pin = f"sha256:{config.pin}" if config.pin else ""
    return KitRemote(config.name, config.url, pin, _ENDPOINT if config.url.startswith("http") else _FOLDER)
