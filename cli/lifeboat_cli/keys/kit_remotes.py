"""Remotes for the recovery kit: their addresses, and how to get access without the old machine."""

from __future__ import annotations

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind
from lifeboat_core.remotes.remote_kinds import find_installed_kind
from lifeboat_keys.recovery.recovery_kit import KitRemote


def list_kit_remotes(context: Context) -> list[KitRemote]:
    """Return every remote whose file is valid."""
    found = ((config, find_installed_kind(config.url)) for config in remote_registry.list_usable_remotes(context))
    return [_kit_remote(config, kind) for config, kind in found if kind is not None]


def _kit_remote(config: RemoteConfig, kind: RemoteKind) -> KitRemote:
    pin = f"sha256:{config.pin}" if config.pin else ""
    return KitRemote(config.name, config.url, pin, kind.access_advice)
