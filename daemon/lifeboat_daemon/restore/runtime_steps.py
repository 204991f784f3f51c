"""The runtime's own commands that make a restore take effect (ALF §6.2: re-index)."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from lifeboat_adapters.contract import NextStep
from lifeboat_alf.codec import JsonObject
from lifeboat_daemon import programs
from lifeboat_daemon.context import Context
from lifeboat_daemon.restore import hiding
from lifeboat_daemon.restore.finish import write_receipt
from lifeboat_daemon.restore.plan import Plan, locate
from lifeboat_daemon.restore.report import RestoreReport

Run = Callable[..., programs.Ran]


def after(context: Context, plan: Plan, report: RestoreReport, run: Run = programs.run) -> RestoreReport:
    """Run what runs by itself (all of it with `finish`), list the rest, and add both to the receipt."""
    installation = locate(context, plan.adapter, plan.target)
    if installation is None:
        return report
    steps = plan.adapter.next_steps(installation, plan.state)
    chosen = [step for step in steps if _is_wanted(step, plan) and installation.program is not None]
    hide = hiding.in_output(context, plan)
    ran = [_run(context, step, run, hide) for step in chosen]
    failed = [f"{each['title']} did not end well: {each['command']}" for each in ran if not each["ok"]]
    left = [_listed(step) for step in steps if step not in chosen]
    done = replace(report, steps=ran, next=left, warnings=[*report.warnings, *failed])
    if steps:
        write_receipt(context, done)
    return done


def _is_wanted(step: NextStep, plan: Plan) -> bool:
    return plan.options.finish or (step.automatic and plan.options.reindex)


def _run(context: Context, step: NextStep, run: Run, hide: hiding.HideText) -> JsonObject:
    ran = run(
        step.command,
        environment=context.environment,
        extra=step.environment,
        input=step.input,
        timeout_seconds=step.timeout_seconds,
        redact=hide,
    )
    return {
        **_listed(step),
        "ok": ran.ok,
        "exit_status": ran.exit_status,
        "timed_out": ran.timed_out,
        "output": ran.output,
    }


def _listed(step: NextStep) -> JsonObject:
    return {"title": step.title, "command": shlex.join(step.command)}
