"""Bring a remote up to date when the conditions are right: with a network, and large transfers only on one that does
not cost by volume and while the battery is not being saved."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import remote_health
from lifeboat_core.health.remote_health import NO_NETWORK
from lifeboat_core.health.state_words import WAITING
from lifeboat_core.home.context import Context
from lifeboat_core.machine import power_and_network
from lifeboat_core.machine.power_and_network import MachineConditions
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.remotes import acknowledged_states, remote_kinds
from lifeboat_core.remotes.acknowledged_states import NOT_TOLD, AcknowledgedState
from lifeboat_core.remotes.agent_replication import replicate_agent
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.replication_outcome import DEFERRED, ReplicationOutcome
from lifeboat_core.texts.human_text import quote_argument


def send_when_suitable(
    context: Context, agent: Agent, config: RemoteConfig, *, asked: bool = False, tell: Tell = tell_nobody
) -> ReplicationOutcome:
    """Call `replicate_agent` now, or return why it waits.

    What a user `asked` for never waits. Otherwise the remote is not contacted while it is clear that the transfer
    waits.
    """
    if asked or not remote_kinds.needs_network(config):
        return replicate_agent(context, agent, config, tell=tell, asked=asked)
    now, limit = power_and_network.read_conditions(context), int(context.setting("defer.above"))
    known = _known(context, agent, config)
    if now.online is False:
        return _waits(context, agent, config, known, power_and_network.NO_NETWORK, NO_NETWORK)
    if known.code == DEFERRED and _is_scarce(now) and not _is_to_hear_of_purges(context, agent, known):
        return _waits(context, agent, config, known, known.message, DEFERRED)

    def may_send(size: int) -> str | None:
        return power_and_network.find_deferral_reason(now, size, limit)

    return replicate_agent(context, agent, config, tell=tell, may_send=may_send, asked=False)


def make_sync_document(config: RemoteConfig, outcome: ReplicationOutcome) -> JsonObject:
    """Return an outcome as `sync --json` shows it."""
    return remote_health.make_sync_entry(
        config.name,
        outcome.sequence,
        outcome.state,
        optional=config.optional,
        bytes=outcome.bytes,
        message=outcome.message,
        code=outcome.code,
        fix=None if outcome.fix is None else outcome.fix.replace("NAME", quote_argument(config.name)),
    )


def _is_scarce(now: MachineConditions) -> bool:
    """Return whether the reason for a deferral still holds."""
    return power_and_network.find_deferral_reason(now, 1, 0) is not None


def _is_to_hear_of_purges(context: Context, agent: Agent, known: AcknowledgedState) -> bool:
    """Return whether the remote has to be told or asked about a purge. That is a small transfer, and waits for no
    network."""
    now = context.clock.now()
    with context.vault(agent.id) as vault:
        return any(known.purges.get(each.id, NOT_TOLD).is_due(now) for each in vault.redactions)


def _known(context: Context, agent: Agent, config: RemoteConfig) -> AcknowledgedState:
    with context.vault(agent.id) as vault:
        return acknowledged_states.load_acknowledged(vault).get(config.id, AcknowledgedState())


def _waits(
    context: Context, agent: Agent, config: RemoteConfig, known: AcknowledgedState, why: str, code: str
) -> ReplicationOutcome:
    """Note once why the transfer waits, and return that. While it lasts, nothing more is written."""
    with context.vault(agent.id) as vault:
        acknowledged_states.note_acknowledged(vault, config.id, name=config.name, state=WAITING, message=why, code=code)
    return ReplicationOutcome(config.name, config.id, known.number, WAITING, why, code)
