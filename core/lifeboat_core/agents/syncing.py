"""A capture, the care for the history that follows it, and the sending to second copies: what `lifeboat sync` and a
worker do with each agent."""

from __future__ import annotations

from collections.abc import Callable

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.outcome import report_document
from lifeboat_core.capture.run import capture
from lifeboat_core.health import due, second_copies
from lifeboat_core.health.states import ERROR, OK, WAITING
from lifeboat_core.history import retention
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged, registry
from lifeboat_core.remotes.acknowledged import Acknowledged
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.system_refusals import system_errors
from lifeboat_core.texts.words import argument
from lifeboat_vault.errors import RemoteDamaged


def sync(context: Context, agent: Agent, *, full: bool = False, paced: bool = False, care: bool = True) -> JsonObject:
    """Capture an agent, then (with `care`) let go what retention lets go; one agent of `sync --json`.

    `full` and `paced` are those of `capture`. Raises what `capture` raises.
    """
    report = capture(context, agent, full=full, paced=paced)
    if care:
        report.warnings += looked_after(context, agent)
    return report_document(agent, report)


def looked_after(context: Context, agent: Agent) -> list[str]:
    """What was captured stays captured, whatever the care for the history ends with. What a person should know."""
    try:
        with system_errors():
            return retention.look_after(context, agent)
    except LifeboatError as error:
        return [f"captured, but old history was not looked after: {error.message}"]


def sent(
    context: Context, agent: Agent, *, tell: Callable[[str, int, int | None], None] = lambda *_: None
) -> list[JsonObject]:
    """Send an agent to every second copy now, whatever waits, and read back what is to be read back again; of each what
    `sync --json` says. Never raises for what fails there. Raises OSError."""
    return [_sent(context, agent, config, tell) for config in registry.everyone(context)]


def _sent(
    context: Context, agent: Agent, config: RemoteConfig, tell: Callable[[str, int, int | None], None]
) -> JsonObject:
    from lifeboat_core.remotes import sending

    if config.problem is not None:
        return _failed(config, ERROR, config.problem, second_copies.UNUSABLE, "lifeboat doctor")
    try:
        document = sending.told(config, sending.send(context, agent, config, asked=True, tell=tell))
        if document["state"] == OK:
            _read_back_if_due(context, agent, config)
        elif document["state"] == ERROR and _known(context, agent, config).drill_failed:
            _read_back(context, agent, config)  # what was lost is there again, which only a drill can tell
            document = sending.told(config, sending.send(context, agent, config, asked=True, tell=tell))
    except LifeboatError as error:
        return _failed(config, WAITING if error.retryable else ERROR, error.message, error.code, error.fix)
    return document


def _failed(config: RemoteConfig, state: str, message: str, code: str, fix: str | None) -> JsonObject:
    return second_copies.told(config.name, None, state, optional=config.optional, message=message, code=code, fix=fix)


def _known(context: Context, agent: Agent, config: RemoteConfig) -> Acknowledged:
    with context.vault(agent.id) as vault:
        return acknowledged.read(vault).get(config.id, Acknowledged())


def _read_back_if_due(context: Context, agent: Agent, config: RemoteConfig) -> None:
    every, known = float(context.setting("verify.every", agent)), _known(context, agent, config)
    if due.remote_is_due(known.verified_at, every, context.clock.now(), share=due.share(agent.id, config.id)):
        _read_back(context, agent, config)


def _read_back(context: Context, agent: Agent, config: RemoteConfig) -> None:
    """Verify a remote as the service does it. Raises RemoteDamaged for a copy that does not hold."""
    from lifeboat_core.remotes import drilling

    found = drilling.read_back(context, agent, config)
    if not found["ok"]:
        fix = f"lifeboat verify {argument(agent.name)} --remote {argument(config.name)}"
        raise RemoteDamaged(f"its copy does not hold: {found['findings'][0]}", fix=fix)


def head_number(context: Context, agent: Agent) -> int | None:
    """The newest sequence, which a failed capture leaves as it is; None when there is none, or no vault that opens."""
    try:
        with context.vault(agent.id) as vault:
            head = vault.head()
    except LifeboatError:
        return None
    return None if head is None else head.number
