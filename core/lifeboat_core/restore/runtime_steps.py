"""The runtime's own commands that make a restore take effect (ALF §6.2: re-index)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

from lifeboat_adapters.contract import Installation, NextStep
from lifeboat_adapters.credentials import Delivery, Place
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason
from lifeboat_alf.system_texts import describe_refusal
from lifeboat_core.home.context import Context
from lifeboat_core.processes import programs
from lifeboat_core.processes.progress import Tell, quietly
from lifeboat_core.restore import delivering, hiding
from lifeboat_core.restore.credentials import failed
from lifeboat_core.restore.finish import changes_of_our_own, write_receipt
from lifeboat_core.restore.plan import Plan
from lifeboat_core.restore.reasons import LeftOutCode
from lifeboat_core.restore.report import RestoreReport, with_fates
from lifeboat_core.restore.surroundings import into, locate
from lifeboat_core.texts.readable_json import printable

Run = Callable[..., programs.Ran]


def after(
    context: Context, plan: Plan, report: RestoreReport, tell: Tell = quietly, run: Run = programs.run
) -> RestoreReport:
    """Run what runs by itself (all of it with `finish`), list the rest, and add both to the receipt."""
    installation = installation_of(context, plan)
    if installation is None:
        return report
    steps = plan.adapter.next_steps(installation, plan.state)
    can_run = [step for step in steps if installation.program is not None and not step.waits]
    chosen = [step for step in can_run if _is_wanted(step, plan)]
    hide = hiding.in_output(context, plan)
    ran = []
    for step in chosen:
        tell(f"{step.title}: {shlex.join(step.command[1:])}", 0, None)  # it may take minutes, and is the runtime's work
        ran.append(_run(context, step, run, hide))
    failed = [f"{each['title']} did not end well: {each['command']}" for each in ran if not each["ok"]]
    left = [_listed(step) for step in steps if step not in chosen]
    done = replace(report, steps=ran, next=left, warnings=[*report.warnings, *failed])
    if steps:
        write_receipt(context, done)
    return done


def listed(context: Context, plan: Plan, report: RestoreReport) -> RestoreReport:
    """Run nothing, and list all of it."""
    installation = installation_of(context, plan)
    steps = [] if installation is None else plan.adapter.next_steps(installation, plan.state)
    done = replace(report, next=[_listed(step) for step in steps])
    write_receipt(context, done)
    return done


def give_credentials(context: Context, plan: Plan, report: RestoreReport, run: Run = programs.run) -> RestoreReport:
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
        with changes_of_our_own(context, plan.id):
            ended = _deliver(context, plan, number, delivery, run)
        failures |= dict.fromkeys(delivery.places, ended.problem) if ended.problem else {}
        hung = ended.problem if ended.timed_out else None
    missing = _not_arrived(installation_of(context, plan) or plan.installation, plan, ran, failures)
    done = with_fates(report, plan, failed(plan.fates, plan.stands, missing))
    done = replace(done, warnings=[*done.warnings, *_beside_credentials(plan, ran, missing)])
    write_receipt(context, done)
    return done


def _beside_credentials(plan: Plan, ran: list[Delivery], missing: Mapping[Place, Reason]) -> list[str]:
    """What did not arrive and is no credential, which nothing else tells."""
    told = {stand.path for stands in plan.stands.values() for stand in stands}
    places = ((each, place) for each in ran for place in each.places if place in missing and place[0] not in told)
    said = (f"{each.where} of {printable(each.places[place])}: {missing[place]}" for each, place in places)
    return list(dict.fromkeys(said))


def _deliver(context: Context, plan: Plan, number: int, delivery: Delivery, run: Run) -> delivering.Ended:
    """The restore itself is done: what the system refuses now is a credential that did not arrive."""
    try:
        folder = None if plan.installation is None else plan.installation.state_dir
        return delivering.deliver(context, plan.agent_id, f"{plan.id}-{number}", delivery, folder, run)
    except OSError as error:
        return delivering.Ended(Reason(LeftOutCode.COMMAND_FAILED, problem=describe_refusal(error)))


def _not_arrived(
    installation: Installation | None, plan: Plan, ran: list[Delivery], failures: Mapping[Place, Reason]
) -> Mapping[Place, Reason]:
    """What is not in the runtime's store now, whatever its commands said."""
    if installation is None:
        return failures
    found = [plan.adapter.not_arrived(installation, delivery) for delivery in ran]
    return {place: failures.get(place, reason) for each in found for place, reason in each.items()}


def installation_of(context: Context, plan: Plan) -> Installation | None:
    """The runtime around what was restored, as it is now."""
    state_dir = plan.installation.state_dir if plan.installation is not None else None
    if plan.options.state_dir is None or state_dir is None:
        return locate(context, plan.adapter, plan.target)
    return into(context, plan.adapter, plan.target, plan.state, state_dir)


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
    """A step as it is printed. Its command works in any shell: it names the installation that it is for."""
    variables = [f"{name}={value}" for name, value in sorted(step.environment.items())]
    command = shlex.join([*(("env", *variables) if variables else ()), *step.command])
    title = f"{step.title} ({step.waits})" if step.waits else step.title
    return {"title": title, "command": command, **({"waits": step.waits} if step.waits else {})}
