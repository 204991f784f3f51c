"""Captures before and after a restore. Loaded late: every command looks for interrupted restores when it starts, and
almost none finds one."""

from __future__ import annotations

from datetime import timedelta

from lifeboat_alf import times
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context

KEPT_DAYS = 7
SAFETY = "safety"


def capture_now(context: Context, agent: Agent, kind: str = "capture") -> int | None:
    """Capture a workspace; the number of the newest sequence after it. Raises what capture raises."""
    from lifeboat_daemon.capture.run import capture

    capture(context, agent, kind=kind)
    return newest(context, agent.id)


def newest(context: Context, agent_id: str) -> int | None:
    """The number of the newest sequence, None in an empty vault."""
    with context.vault(agent_id) as vault:
        head = vault.head()
    return None if head is None else head.number


def capture_for_safety(context: Context, agent: Agent) -> int | None:
    """Capture a workspace before something is moved in it, and keep that for seven days."""
    number = capture_now(context, agent)
    if number is not None:
        keep_for_safety(context, agent.id, number)
    return number


def keep_for_safety(context: Context, agent_id: str, number: int) -> None:
    """A sequence is not thinned as long as a restore can be taken back."""
    with context.vault(agent_id) as vault:
        vault.pin(number, SAFETY, times.to_text(context.clock.now() + timedelta(days=KEPT_DAYS)))
