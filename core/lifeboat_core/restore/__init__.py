"""Restore a state to the disk, completely or not at all.

restore_plan      what would happen to which file, and what cannot be done
restore_run       stage, check, write the journal, move, finish
restore_recovery  finish what a crash interrupted
restore_undo      take the last restore back
"""

from __future__ import annotations

from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.plan_diffs import describe_diffs, describe_plan, diff_plan
from lifeboat_core.restore.plan_opening import open_plan, restore_agent
from lifeboat_core.restore.restore_finish import read_restore_origin
from lifeboat_core.restore.restore_options import RestoreOptions
from lifeboat_core.restore.restore_plan import RestorePlan, plan_restore
from lifeboat_core.restore.restore_recovery import recover_restores
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_core.restore.restore_run import carry_out_plan
from lifeboat_core.restore.restore_undo import undo_restore

__all__ = [
    "PlanItem",
    "RestoreAction",
    "RestoreOptions",
    "RestorePlan",
    "RestoreReport",
    "carry_out_plan",
    "describe_diffs",
    "describe_plan",
    "diff_plan",
    "open_plan",
    "plan_restore",
    "read_restore_origin",
    "recover_restores",
    "restore_agent",
    "undo_restore",
]
