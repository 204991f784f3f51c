"""A capture and the care for the history that follows it: what `lifeboat sync` and a worker do with each agent."""

from __future__ import annotations

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon import retention
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.capture.outcome import JsonObject, report_document
from lifeboat_daemon.capture.run import capture
from lifeboat_daemon.context import Context
from lifeboat_daemon.errors import system_errors


def sync(context: Context, agent: Agent, *, full: bool = False, care: bool = True) -> JsonObject:
    """Capture an agent, then (with `care`) let go what retention lets go; one agent of `sync --json`.

    `full` reads every file, whatever its stat says. Raises what `capture` raises.
    """
    report = capture(context, agent, full=full)
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


def head_number(context: Context, agent: Agent) -> int | None:
    """The newest sequence, which a failed capture leaves as it is; None when there is none, or no vault that opens."""
    try:
        with context.vault(agent.id) as vault:
            head = vault.head()
    except LifeboatError:
        return None
    return None if head is None else head.number
