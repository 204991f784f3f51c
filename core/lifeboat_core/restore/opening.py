"""From an agent and a moment to a plan: open the vault, find the sequence, keep both open while the plan is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from lifeboat_alf import times
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import BadMoment, NothingToRestore
from lifeboat_core.health.status import DAMAGED
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, quietly
from lifeboat_core.restore.options import RestoreOptions
from lifeboat_core.restore.plan import Plan, plan
from lifeboat_core.restore.report import RestoreReport
from lifeboat_core.restore.run import run
from lifeboat_core.system_refusals import system_errors
from lifeboat_core.texts.readable_json import printable
from lifeboat_vault.vault import Vault


@contextmanager
def opened_plan(context: Context, agent: Agent, target: Path | None, options: RestoreOptions) -> Iterator[Plan]:
    """The plan to restore an agent into a folder (None: in place). Valid inside the `with` only."""
    with system_errors(), context.vault(agent.id) as vault:
        state = vault.state(number_at(vault, options.at))
        newest = vault.state() if vault.head() is not None else None
        made = plan(context, state, target or options.to, options, newest, partial=True)
        _note_damage(vault, made)
        yield made


def _note_damage(vault: Vault, made: Plan) -> None:
    """Let `status` say that the copy does not hold, until a verification finds that it does."""
    if made.inventory.damage is not None and vault.get(DAMAGED) is None:
        damaged = [*(printable(each.entry.path) for each in made.inventory.damaged), *made.inventory.damaged_records]
        first = f"{damaged[0]}: the bytes are not those that were signed"
        vault.set(DAMAGED, {"sequence": made.sequence, "whole": False, "first": first}, kind="damaged")


def restore(context: Context, agent: Agent, options: RestoreOptions, tell: Tell = quietly) -> RestoreReport:
    """Plan and run. Raises what both raise."""
    with opened_plan(context, agent, None, options) as made:
        return run(context, made, tell)


def number_at(vault: Vault, at: int | str | None) -> int:
    """The sequence of a number or a time (local where it has no offset); the newest for None.

    Raises NothingToRestore, UnknownSequence.
    """
    if at is None:
        row = vault.head()
        if row is None:
            raise NothingToRestore("nothing was captured yet", fix="lifeboat sync")
        return row.number
    if isinstance(at, int) or at.isdigit():
        return vault.sequence(int(at)).number
    row = vault.at(times.to_text(moment(at)))
    if row is None:
        raise NothingToRestore(f"the history begins after {at}")
    return row.number


def moment(text: str) -> datetime:
    """A time as people type it, local where it has no offset. Raises BadMoment."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise BadMoment(f"{text!r} is neither a sequence nor a time like 2026-11-20T18:00") from None
