"""A remote brought up to date when the time is right for it: with a network, and with much to send only on one that
does not cost by volume, and not while the battery is being saved."""

from __future__ import annotations

from urllib.parse import urlsplit

from lifeboat_alf.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import second_copies
from lifeboat_core.health.second_copies import NO_NETWORK
from lifeboat_core.health.states import WAITING
from lifeboat_core.home.context import Context
from lifeboat_core.machine import conditions
from lifeboat_core.machine.conditions import Conditions
from lifeboat_core.processes.progress import Tell, quietly
from lifeboat_core.remotes import acknowledged
from lifeboat_core.remotes.acknowledged import NOT_TOLD, Acknowledged
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.outcome import DEFERRED, Outcome
from lifeboat_core.remotes.replicating import replicate
from lifeboat_core.texts.words import argument

_HERE = frozenset({"", "localhost", "127.0.0.1", "::1"})


def send(context: Context, agent: Agent, config: RemoteConfig, *, asked: bool = False, tell: Tell = quietly) -> Outcome:
    """See `replicating.replicate`. What somebody `asked` for waits for nothing; what nobody asked for says nothing to
    the other side while it is clear that it has to wait."""
    if asked or not needs_network(config):
        return replicate(context, agent, config, tell=tell, asked=asked)
    now, limit = conditions.read(context), int(context.setting("defer.above"))
    known = _known(context, agent, config)
    if now.online is False:
        return _waits(context, agent, config, known, conditions.NO_NETWORK, NO_NETWORK)
    if known.code == DEFERRED and _is_scarce(now) and not _is_to_hear_of_purges(context, agent, known):
        return _waits(context, agent, config, known, known.message, DEFERRED)

    def may_send(size: int) -> str | None:
        return conditions.deferral(now, size, limit)

    return replicate(context, agent, config, tell=tell, may_send=may_send, asked=False)


def told(config: RemoteConfig, outcome: Outcome) -> JsonObject:
    """An outcome as `sync --json` tells it."""
    return second_copies.told(
        config.name,
        outcome.sequence,
        outcome.state,
        optional=config.optional,
        bytes=outcome.bytes,
        message=outcome.message,
        code=outcome.code,
        fix=None if outcome.fix is None else outcome.fix.replace("NAME", argument(config.name)),
    )


def needs_network(config: RemoteConfig) -> bool:
    """Whether a remote is somewhere else: no folder, and no service on this machine."""
    address = urlsplit(config.url)
    return address.scheme != "file" and (address.hostname or "") not in _HERE


def _is_scarce(now: Conditions) -> bool:
    """Whether what was too much a while ago is too much still."""
    return conditions.deferral(now, 1, 0) is not None


def _is_to_hear_of_purges(context: Context, agent: Agent, known: Acknowledged) -> bool:
    """Whether something was purged that the remote has to be told, or asked about: that is little, and waits for no
    network that does not cost."""
    now = context.clock.now()
    with context.vault(agent.id) as vault:
        return any(known.purges.get(each.id, NOT_TOLD).is_due(now) for each in vault.redactions)


def _known(context: Context, agent: Agent, config: RemoteConfig) -> Acknowledged:
    with context.vault(agent.id) as vault:
        return acknowledged.read(vault).get(config.id, Acknowledged())


def _waits(context: Context, agent: Agent, config: RemoteConfig, known: Acknowledged, why: str, code: str) -> Outcome:
    """Noted once: while it lasts, nothing is written."""
    with context.vault(agent.id) as vault:
        acknowledged.note(vault, config.id, name=config.name, state=WAITING, message=why, code=code)
    return Outcome(config.name, config.id, known.number, WAITING, why, code)
