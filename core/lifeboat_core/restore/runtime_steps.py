"""The runtime's own commands that make a restore take effect (ALF §6.2: re-index)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

from lifeboat_adapters.contract import Installation, NextStep
from lifeboat_adapters.credential_types import CredentialDelivery, Place
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_core.home.context import Context
from lifeboat_core.processes import runtime_programs
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.restore import delivery_run, secret_hiding
from lifeboat_core.restore.credential_fates import update_fates
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.restore_finish import include_runtime_changes, write_restore_receipt
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.restore_report import RestoreReport, with_fates
from lifeboat_core.restore.target_installation import find_installation_in, locate_installation
from lifeboat_core.texts.readable_json import make_printable

Run = Callable[..., runtime_programs.ProgramResult]


def run_next_steps(
    context: Context,
    plan: RestorePlan,
    report: RestoreReport,
    tell: Tell = tell_nobody,
    run: Run = runtime_programs.run_program,
) -> RestoreReport:
    """Run what runs by itself (all of it with `finish`), list the rest, and add both to the receipt."""
    installation = installation_of(context, plan)
    if installation is None:
        return report
    steps = _next_steps(plan, installation)
    can_run = [step for step in steps if installation.program is not None and not step.waits]
    chosen = [step for step in can_run if _is_wanted(step, plan)]
    hide = secret_hiding.hide_in_output(context, plan)
    ran = []
    for step in chosen:
        tell(f"{step.title}: {shlex.join(step.command[1:])}", 0, None)  # it may take minutes, and is the runtime's work
        ran.append(_run(context, step, run, hide))
    failed = [f"{each['title']} did not end well: {each['command']}" for each in ran if not each["ok"]]
    left = [_listed(step) for step in steps if step not in chosen]
    done = replace(report, steps=ran, next=left, warnings=[*report.warnings, *failed])
    if steps:
        write_restore_receipt(context, done)
    return done


def list_next_steps(context: Context, plan: RestorePlan, report: RestoreReport) -> RestoreReport:
    """Run nothing, and list all of it."""
    installation = installation_of(context, plan)
    steps = [] if installation is None else _next_steps(plan, installation)
    done = replace(report, next=[_listed(step) for step in steps])
    write_restore_receipt(context, done)
    return done


def _next_steps(plan: RestorePlan, installation: Installation) -> list[NextStep]:
    placement = plan.adapter.placement
    return placement.next_steps(installation, plan.state) if placement is not None else []


def give_credentials(
    context: Context, plan: RestorePlan, report: RestoreReport, run: Run = runtime_programs.run_program
) -> RestoreReport:
    """Run the deliveries of a plan, one after the other, and look whether they arrived."""
    if not plan.deliveries:
        return report
    ran = [each for each in plan.deliveries if each.command]
    failures: dict[Place, Reason] = {}
    hung: Reason | None = None
    for number, delivery in enumerate(ran):
        if hung:  # the next one would wait for the same
            failures |= dict.fromkeys(delivery.places, Reason(LeftOutCode.NOT_TRIED, reason=str(hung)))
            continue
        with include_runtime_changes(context, plan.id):
            ended = _deliver(context, plan, number, delivery, run)
        failures |= dict.fromkeys(delivery.places, ended.problem) if ended.problem else {}
        hung = ended.problem if ended.timed_out else None
    missing = _not_arrived(installation_of(context, plan) or plan.installation, plan, ran, failures)
    done = with_fates(report, plan, update_fates(plan.fates, plan.stands, missing))
    done = replace(done, warnings=[*done.warnings, *_beside_credentials(plan, ran, missing)])
    write_restore_receipt(context, done)
    return done


def _beside_credentials(plan: RestorePlan, ran: list[CredentialDelivery], missing: Mapping[Place, Reason]) -> list[str]:
    """What did not arrive and is no credential, which nothing else tells."""
    told = {stand.path for stands in plan.stands.values() for stand in stands}
    places = ((each, place) for each in ran for place in each.places if place in missing and place[0] not in told)
    said = (f"{each.where} of {make_printable(each.places[place])}: {missing[place]}" for each, place in places)
    return list(dict.fromkeys(said))


def _deliver(
    context: Context, plan: RestorePlan, number: int, delivery: CredentialDelivery, run: Run
) -> delivery_run.DeliveryEnd:
    """The restore itself is done: what the system refuses now is a credential that did not arrive."""
    try:
        folder = None if plan.installation is None else plan.installation.state_dir
        return delivery_run.run_delivery(context, plan.agent_id, f"{plan.id}-{number}", delivery, folder, run)
    except OSError as error:
        return delivery_run.DeliveryEnd(Reason(LeftOutCode.COMMAND_FAILED, problem=describe_refusal(error)))


def _not_arrived(
    installation: Installation | None,
    plan: RestorePlan,
    ran: list[CredentialDelivery],
    failures: Mapping[Place, Reason],
) -> Mapping[Place, Reason]:
    """What is not in the runtime's store now, whatever its commands said."""
    if installation is None:
        return failures
    found = [delivery.find_undelivered(installation, delivery) for delivery in ran]
    return {place: failures.get(place, reason) for each in found for place, reason in each.items()}


def installation_of(context: Context, plan: RestorePlan) -> Installation | None:
    """The runtime around what was restored, as it is now."""
    state_dir = plan.installation.state_dir if plan.installation is not None else None
    if plan.options.state_dir is None or state_dir is None:
        return locate_installation(context, plan.adapter, plan.target)
    return find_installation_in(context, plan.adapter, plan.target, plan.state, state_dir)


def _is_wanted(step: NextStep, plan: RestorePlan) -> bool:
    return plan.options.finish or (step.automatic and plan.options.reindex)


def _run(context: Context, step: NextStep, run: Run, hide: secret_hiding.HideText) -> JsonObject:
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
    """A step as it is printed. Its command works in any shell: it names the installation that it is for."""
    variables = [f"{name}={value}" for name, value in sorted(step.environment.items())]
    command = shlex.join([*(("env", *variables) if variables else ()), *step.command])
    title = f"{step.title} ({step.waits})" if step.waits else step.title
    return {"title": title, "command": command, **({"waits": step.waits} if step.waits else {})}
