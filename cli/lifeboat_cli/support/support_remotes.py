"""Describe remotes for a support bundle: figures, switches and words of this program. No name, address, token or
message."""

from __future__ import annotations

from collections.abc import Mapping

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_kinds, remote_registry
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_daemon.service.event_log import safe_kind


def describe_remotes(context: Context, numbers: Mapping[str, str]) -> JsonObject:
    """Return all remotes by number. `numbers` are the numbers of agents, by id."""
    return {
        f"remote-{at}": _remote(context, config, numbers)
        for at, config in enumerate(remote_registry.list_remotes(context), start=1)
    }


def _remote(context: Context, config: RemoteConfig, numbers: Mapping[str, str]) -> JsonObject:
    return {
        "kind": remote_kinds.find_scheme(config.url),
        "usable": config.problem is None,
        "optional": config.optional,
        "sealed": config.sealed,
        "pinned": bool(config.pin),
        "has_token": remote_registry.load_token(context, config.name) is not None,
        "added_at": config.added_at or None,
        "agents": {number: _standing(context, config, agent_id) for agent_id, number in numbers.items()},
    }


def _standing(context: Context, config: RemoteConfig, agent_id: str) -> JsonObject:
    try:
        with context.vault(agent_id) as vault:
            found = acknowledged_states.load_acknowledged(vault).get(config.id, AcknowledgedState())
    except LifeboatError as error:
        return {"error": error.code}
    return {
        "state": safe_kind(found.state),
        "code": safe_kind(found.code) if found.code else None,
        "sequence": found.number,
        "epoch": found.epoch,
        "at": found.at,
        "verified_sequence": found.verified_number,
        "verified_at": found.verified_at,
        "tries": found.tries,
        "tried_at": found.tried_at,
        "fenced": found.fenced is not None,
    }
