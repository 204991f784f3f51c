"""Restore: a state back onto the disk, all of it or nothing.

plan     what would happen to which file, and what cannot be done
run      stage, prove, write the journal, move, finish
recover  roll forward what a crash interrupted
undo     take the last restore back
"""

from __future__ import annotations

from lifeboat_core.restore.decide import Action, Item
from lifeboat_core.restore.diffs import diff_lines, diffs, plan_lines
from lifeboat_core.restore.finish import origin_of
from lifeboat_core.restore.opening import opened_plan, restore
from lifeboat_core.restore.options import RestoreOptions
from lifeboat_core.restore.plan import Plan, plan
from lifeboat_core.restore.recovery import recover
from lifeboat_core.restore.report import RestoreReport
from lifeboat_core.restore.run import run
from lifeboat_core.restore.undo import undo

__all__ = [
    "Action",
    "Item",
    "Plan",
    "RestoreOptions",
    "RestoreReport",
    "diff_lines",
    "diffs",
    "opened_plan",
    "origin_of",
    "plan",
    "plan_lines",
    "recover",
    "restore",
    "run",
    "undo",
]
