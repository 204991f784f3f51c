"""Open the vault, find the sequence of a point in time, and keep both open while a plan is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.health.status_gathering import DAMAGED
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.restore.restore_options import RestoreOptions
from lifeboat_core.restore.restore_plan import RestorePlan, plan_restore
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_core.restore.restore_run import carry_out_plan
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_vault.vault import Vault


@contextmanager
def open_plan(context: Context, agent: Agent, target: Path | None, options: RestoreOptions) -> Iterator[RestorePlan]:
    """Open the plan to restore an agent into a folder (None: in place). It is valid inside the `with` only."""
    with convert_system_errors(), context.vault(agent.id) as vault:
        state = vault.state(find_sequence_at(vault, options.at))
        newest = vault.state() if vault.head() is not None else None
        made = plan_restore(context, state, target or options.to, options, newest, partial=True)
        _note_damage(vault, made)
        yield made


def _note_damage(vault: Vault, made: RestorePlan) -> None:
    """Let `status` report the damage until a verification finds the copy sound."""
    if made.inventory.damage is not None and vault.get(DAMAGED) is None:
        damaged = [
            *(make_printable(each.entry.path) for each in made.inventory.damaged),
            *made.inventory.damaged_records,
        ]
        first = f"{damaged[0]}: the content differs from the signed content"
        vault.set(DAMAGED, {"sequence": made.sequence, "whole": False, "first": first}, kind="damaged")


def restore_agent(context: Context, agent: Agent, options: RestoreOptions, tell: Tell = tell_nobody) -> RestoreReport:
    """Plan a restore and carry it out. Raises what both raise."""
    with open_plan(context, agent, None, options) as made:
        return carry_out_plan(context, made, tell)


_MOST_DIGITS = 18
"""Digits of a sequence number that a vault can store."""


def find_sequence_at(vault: Vault, at: int | str | None) -> int:
    """Return the sequence for a number or a time (local without an offset); the newest for None.

    Raises NothingToRestore, UnknownSequence.
    """
    if at is None:
        row = vault.head()
        if row is None:
            raise NothingToRestore("the agent has not been captured yet", fix="lifeboat sync")
        return row.number
    if isinstance(at, int) or (at.isdecimal() and len(at) <= _MOST_DIGITS):
        return vault.sequence(int(at)).number
    row = vault.at(times.to_text(parse_local_time(at)))
    if row is None:
        raise NothingToRestore(f"the history of the agent starts after {at}")
    return row.number


def parse_local_time(text: str) -> datetime:
    """Parse a time as users type it, local without an offset. Raises NothingToRestore.BAD_MOMENT."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).astimezone()
    except (ValueError, OverflowError):  # the year may be out of range in UTC or in local time
        raise NothingToRestore.BAD_MOMENT(
            f"{text!r} is neither a sequence number nor a time like 2026-11-20T18:00"
        ) from None
