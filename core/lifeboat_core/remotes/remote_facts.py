"""The state of an agent at every remote, as far as this machine knows without contacting one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.capture import mass_loss_guard
from lifeboat_core.health.remote_health import PURGE, UNUSABLE, RemoteFacts, describe_waiting_purge
from lifeboat_core.health.state_words import ERROR, FENCED, HELD, OK, WAITING
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_kinds, remote_registry
from lifeboat_core.remotes.acknowledged_states import NOT_TOLD, AcknowledgedState, describe_damage
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_vault.errors import RemoteDamaged
from lifeboat_vault.vault import SequenceRow, Vault

NOTHING = -1
"""A number before every sequence."""


def gather_remote_facts(context: Context, vault: Vault, head: SequenceRow | None) -> tuple[RemoteFacts, ...]:
    """Return the facts of each remote of this home, by name. Raises OSError, VaultError."""
    known = acknowledged_states.load_acknowledged(vault)
    held = vault.get(mass_loss_guard.DECISION)
    purges = [redaction.id for redaction in vault.redactions]
    target = None if head is None else head.number if held is None else int(held["previous"])
    return tuple(
        _facts(
            vault,
            config,
            known.get(config.id, AcknowledgedState()),
            target,
            purges,
            is_held=held is not None,
            same_disk=_shares_disk(context, config),
        )
        for config in remote_registry.list_remotes(context)
    )


def _facts(
    vault: Vault,
    config: RemoteConfig,
    known: AcknowledgedState,
    target: int | None,
    purges: Sequence[str],
    *,
    is_held: bool,
    same_disk: bool,
) -> RemoteFacts:
    last = NOTHING if known.number is None else known.number
    count, since = (0, None) if target is None else vault.between(last, target)
    state, message, code = _state(config, known, target, count, is_held=is_held)
    found = RemoteFacts(
        name=config.name,
        id=config.id,
        optional=config.optional,
        state=state,
        sequence=known.number,
        pending=count,
        pending_since=since,
        acknowledged_at=known.at,
        verified_at=known.verified_at,
        verified_sequence=known.verified_number,
        added_at=config.added_at or None,
        message=message,
        code=code,
        tries=known.tries,
        tried_at=known.tried_at,
        fenced=known.fenced if state == FENCED else None,
        doubts=known.doubts,
        same_disk=same_disk,
        writers=config.writers,
        limits=_limits(config),
        **_purges(known, purges),
    )
    if not found.purges or found.state != OK:
        return found
    return msgspec.structs.replace(found, state=WAITING, message=describe_waiting_purge(found), code=PURGE)


def _shares_disk(context: Context, config: RemoteConfig) -> bool:
    if config.problem is not None:
        return False
    return remote_kinds.find_kind(config.url).shares_disk(config.url, context.home.folder)


def _limits(config: RemoteConfig) -> tuple[str, ...]:
    kind = None if config.problem is not None else remote_kinds.find_installed_kind(config.url)
    return () if kind is None else tuple(kind.describe_limits(config))


def _purges(known: AcknowledgedState, purges: Sequence[str]) -> JsonObject:
    """Return the purges of this machine that a remote with data of the agent has not applied yet."""
    if known.number is None and known.sent is None and not known.purges:
        return {}
    noted = [known.purges.get(each, NOT_TOLD) for each in purges]
    refused = sum(each.refused for each in noted)
    missing = [each for each in noted if not (each.is_done or each.refused)]
    if not missing:
        return {"purges_refused": refused}
    moments = [each.ask_at for each in missing]
    waits = [each.applies_at for each in missing if each.state == WAITING and each.applies_at]
    return {
        "purges": len(missing),
        "purges_refused": refused,
        "purges_ask_at": None if None in moments else min(str(each) for each in moments),
        "purges_wait_until": max(waits) if len(waits) == len(missing) else None,
        "purges_message": next((each.message for each in missing if each.message), ""),
    }


def _state(
    config: RemoteConfig, known: AcknowledgedState, target: int | None, count: int, *, is_held: bool
) -> tuple[str, str, str]:
    """Return the word for a remote's state, the reason, and its code. The result of the last try counts until the next
    one."""
    if config.problem is not None:
        return ERROR, config.problem, UNUSABLE
    if known.damaged and known.state != FENCED:
        return ERROR, describe_damage(known), RemoteDamaged.code
    if known.state in (ERROR, FENCED):
        return known.state, known.message, known.code
    if target is None or count or known.number is None or (known.state == WAITING and known.message):
        return WAITING, known.message if known.state == WAITING else "", known.code if known.state == WAITING else ""
    return (
        (HELD, "the remote keeps the removed data until you accept the removal", "held_back")
        if is_held
        else (OK, "", "")
    )
