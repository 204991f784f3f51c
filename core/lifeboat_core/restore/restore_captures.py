"""Capture before and after a restore. This is imported late: every command checks for interrupted restores when it
starts, and almost none finds one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import path_text

if TYPE_CHECKING:
    from lifeboat_core.restore.restore_report import RestoreReport

KEPT_DAYS = 7
SAFETY = "safety"


class RestoreCapture(NamedTuple):
    """A capture before or after a restore. `sequence` is the newest one after it, None in an empty vault; `left_out`
    has the files whose present version it lacks, with the reason."""

    sequence: int | None
    left_out: dict[str, str]


def capture_now(context: Context, agent: Agent, kind: str = "capture") -> RestoreCapture:
    """Capture a workspace. Raises what a capture raises."""
    from lifeboat_core.capture.capture_run import capture_agent
    from lifeboat_core.capture.sync_json import list_left_out

    report = capture_agent(context, agent, kind=kind)
    return RestoreCapture(find_newest_sequence(context, agent.id), list_left_out(report.to_json()))


def capture_restored(context: Context, report: RestoreReport) -> RestoreReport:
    """Capture what a restore wrote, and add to its report what that capture lacks, except rows that the restore itself
    could not write and has reported."""
    agent = agents.load_agent(context, report.agent)
    try:
        number, missing = capture_now(context, agent, "restore")
    except LifeboatError as error:
        number, missing = None, {str(agent.workspace): error.message}
    is_known = {path for path in missing for name in report.withheld if name.startswith(path)}
    missing = {path: why for path, why in missing.items() if path not in is_known}
    said = [f"not captured after the restore: {path_text(path)}: {reason}" for path, reason in missing.items()]
    return replace(report, captured=number, not_captured=missing, warnings=[*report.warnings, *said])


def find_newest_sequence(context: Context, agent_id: str) -> int | None:
    """Return the number of the newest sequence, None in an empty vault."""
    with context.vault(agent_id) as vault:
        head = vault.head()
    return None if head is None else head.number


def capture_for_safety(context: Context, agent: Agent) -> int | None:
    """Capture a workspace before anything is moved in it, and pin the sequence for seven days. What the capture leaves
    out is kept in the undo folder."""
    number = capture_now(context, agent).sequence
    if number is not None:
        keep_for_safety(context, agent.id, number)
    return number


def keep_for_safety(context: Context, agent_id: str, number: int) -> None:
    """Pin a sequence as long as the restore can be undone."""
    with context.vault(agent_id) as vault:
        vault.pin(number, SAFETY, times.to_text(context.clock.now() + timedelta(days=KEPT_DAYS)))
