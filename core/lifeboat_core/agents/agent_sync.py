"""What `lifeboat sync` and a worker do with each agent: capture, maintain the history, push to remotes."""

from __future__ import annotations

from collections.abc import Callable

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.capture.sync_json import report_document
from lifeboat_core.health import due_checks, remote_health
from lifeboat_core.health.state_words import ERROR, OK, WAITING
from lifeboat_core.history import thin_history
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.errors import RemoteDamaged


def sync_agent(
    context: Context, agent: Agent, *, full: bool = False, paced: bool = False, care: bool = True
) -> JsonObject:
    """Capture an agent, then (with `care`) apply the retention; return one agent of `sync --json`.

    `full` and `paced` are those of `capture_agent`. Raises what `capture_agent` raises.
    """
    report = capture_agent(context, agent, full=full, paced=paced)
    if care:
        report.warnings += maintain_history(context, agent)
    return report_document(agent, report)


def maintain_history(context: Context, agent: Agent) -> list[str]:
    """Apply the retention. Return what the user should know; a failure does not affect what was captured."""
    try:
        with convert_system_errors():
            return thin_history.apply_retention(context, agent)
    except LifeboatError as error:
        return [f"the agent was captured, but old sequences could not be thinned: {error.message}"]


def send_to_remotes(
    context: Context, agent: Agent, *, tell: Callable[[str, int, int | None], None] = lambda *_: None
) -> list[JsonObject]:
    """Push an agent to every remote now without deferral, and read back what is due; return for each what `sync
    --json` shows. Never raises for a failing remote. Raises OSError."""
    return [_sent(context, agent, config, tell) for config in remote_registry.list_remotes(context)]


def _sent(
    context: Context, agent: Agent, config: RemoteConfig, tell: Callable[[str, int, int | None], None]
) -> JsonObject:
    from lifeboat_core.remotes import conditional_replication

    if config.problem is not None:
        return _failed(config, ERROR, config.problem, remote_health.UNUSABLE, "lifeboat doctor")
    try:
        document = conditional_replication.make_sync_document(
            config, conditional_replication.send_when_suitable(context, agent, config, asked=True, tell=tell)
        )
        if document["state"] == OK:
            _read_back_if_due(context, agent, config)
        elif document["state"] == ERROR and _known(context, agent, config).drill_failed:
            _read_back(context, agent, config)  # what was lost may be there again, which only a drill can show
            document = conditional_replication.make_sync_document(
                config, conditional_replication.send_when_suitable(context, agent, config, asked=True, tell=tell)
            )
    except LifeboatError as error:
        return _failed(config, WAITING if error.retryable else ERROR, error.message, error.code, error.fix)
    return document


def _failed(config: RemoteConfig, state: str, message: str, code: str, fix: str | None) -> JsonObject:
    return remote_health.make_sync_entry(
        config.name, None, state, optional=config.optional, message=message, code=code, fix=fix
    )


def _known(context: Context, agent: Agent, config: RemoteConfig) -> AcknowledgedState:
    with context.vault(agent.id) as vault:
        return acknowledged_states.load_acknowledged(vault).get(config.id, AcknowledgedState())


def _read_back_if_due(context: Context, agent: Agent, config: RemoteConfig) -> None:
    every, known = float(context.setting("verify.every", agent)), _known(context, agent, config)
    if due_checks.is_remote_due(
        known.verified_at, every, context.clock.now(), share=due_checks.compute_share(agent.id, config.id)
    ):
        _read_back(context, agent, config)


def _read_back(context: Context, agent: Agent, config: RemoteConfig) -> None:
    """Verify a remote as the service does. Raises RemoteDamaged for a damaged copy."""
    from lifeboat_core.remotes import remote_drill

    found = remote_drill.verify_or_drill(context, agent, config)
    if not found["ok"]:
        fix = f"lifeboat verify {quote_argument(agent.name)} --remote {quote_argument(config.name)}"
        raise RemoteDamaged(f"the copy of {agent.name} on {config.name} is damaged: {found['findings'][0]}", fix=fix)


def find_head_number(context: Context, agent: Agent) -> int | None:
    """Return the newest sequence, which a failed capture does not change; None if there is none, or the vault does not
    open."""
    try:
        with context.vault(agent.id) as vault:
            head = vault.head()
    except LifeboatError:
        return None
    return None if head is None else head.number
