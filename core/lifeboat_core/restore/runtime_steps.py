"""Run the runtime's own commands that make a restore take effect (ALF §6.2: re-index), and fill its memory server."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lifeboat_adapters.contract import Installation, NextStep
from lifeboat_adapters.credential_types import CredentialDelivery, Place
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import ServerWrite
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_core.home.context import Context
from lifeboat_core.processes import runtime_programs
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.restore import delivery_run, full_receipt, secret_hiding
from lifeboat_core.restore.credential_fates import update_fates
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.restore_finish import capture_after, include_runtime_changes, write_restore_receipt
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.restore_report import RestoreReport, with_fates
from lifeboat_core.restore.target_installation import find_installation_in, locate_installation
from lifeboat_core.texts.readable_json import make_printable

_PUT = (ItemOutcome.ACCEPTED, ItemOutcome.TRANSFORMED)


def run_next_steps(
    context: Context, plan: RestorePlan, report: RestoreReport, tell: Tell = tell_nobody
) -> RestoreReport:
    """Run the automatic steps (all of them with `finish`), list the others, and add both to the receipt."""
    installation = installation_of(context, plan)
    if installation is None:
        return report
    steps = _next_steps(plan, installation)
    can_run = [step for step in steps if installation.program is not None and not step.waits]
    options = plan.options
    chosen = [step for step in can_run if options.finish or (step.automatic and options.reindex)]
    hide = secret_hiding.hide_in_output(context, plan)
    ran = []
    for step in chosen:
        tell(f"{step.title}: {shlex.join(step.command[1:])}", 0, None)  # a step of the runtime may take minutes
        ran.append(_run(context, step, hide))
    failed = [f"{each['title']} failed: {each['command']}" for each in ran if not each["ok"]]
    left = [_listed(step) for step in steps if step not in chosen]
    done = replace(report, steps=ran, next=left, warnings=[*report.warnings, *failed])
    if steps:
        write_restore_receipt(context, done)
    return done


def list_next_steps(context: Context, plan: RestorePlan, report: RestoreReport) -> RestoreReport:
    """List all steps without running them."""
    installation = installation_of(context, plan)
    steps = [] if installation is None else _next_steps(plan, installation)
    done = replace(report, next=[_listed(step) for step in steps])
    write_restore_receipt(context, done)
    return done


def _next_steps(plan: RestorePlan, installation: Installation) -> list[NextStep]:
    placement = plan.adapter.placement
    return placement.next_steps(installation, plan.state) if placement is not None else []


def give_credentials(context: Context, plan: RestorePlan, report: RestoreReport) -> RestoreReport:
    """Run the deliveries of a plan, one after the other, and check whether they arrived."""
    if not plan.deliveries:
        return report
    ran = [each for each in plan.deliveries if each.command]
    failures: dict[Place, Reason] = {}
    hung: Reason | None = None
    for number, delivery in enumerate(ran):
        if hung:  # the next delivery would hang too
            failures |= dict.fromkeys(delivery.places, Reason(LeftOutCode.NOT_TRIED, reason=str(hung)))
            continue
        with include_runtime_changes(context, plan.id):
            ended = _deliver(context, plan, number, delivery)
        failures |= dict.fromkeys(delivery.places, ended.problem) if ended.problem else {}
        hung = ended.problem if ended.timed_out else None
    missing = _not_arrived(installation_of(context, plan) or plan.installation, plan, ran, failures)
    done = with_fates(report, plan, update_fates(plan.fates, plan.stands, missing))
    done = replace(done, warnings=[*done.warnings, *_beside_credentials(plan, ran, missing)])
    write_restore_receipt(context, done)
    return done


def _beside_credentials(plan: RestorePlan, ran: list[CredentialDelivery], missing: Mapping[Place, Reason]) -> list[str]:
    """Return warnings about what did not arrive and is not a credential, because no fate reports it."""
    told = {stand.path for stands in plan.stands.values() for stand in stands}
    places = ((each, place) for each in ran for place in each.places if place in missing and place[0] not in told)
    said = (f"{each.where} of {make_printable(each.places[place])}: {missing[place]}" for each, place in places)
    return list(dict.fromkeys(said))


def _deliver(
    context: Context, plan: RestorePlan, number: int, delivery: CredentialDelivery
) -> delivery_run.DeliveryEnd:
    """Run a delivery. The restore itself is done, so an error of the system only means a missing credential."""
    try:
        folder = None if plan.installation is None else plan.installation.state_dir
        return delivery_run.run_delivery(context, plan.agent_id, f"{plan.id}-{number}", delivery, folder)
    except OSError as error:
        return delivery_run.DeliveryEnd(Reason(LeftOutCode.COMMAND_FAILED, problem=describe_refusal(error)))


def _not_arrived(
    installation: Installation | None,
    plan: RestorePlan,
    ran: list[CredentialDelivery],
    failures: Mapping[Place, Reason],
) -> Mapping[Place, Reason]:
    """Return what is not in the runtime's store now, regardless of what its commands reported."""
    if installation is None:
        return failures
    found = [delivery.find_undelivered(installation, delivery) for delivery in ran]
    return {place: failures.get(place, reason) for each in found for place, reason in each.items()}


def installation_of(context: Context, plan: RestorePlan) -> Installation | None:
    """Return the present runtime around what was restored."""
    state_dir = plan.installation.state_dir if plan.installation is not None else None
    if plan.options.state_dir is None or state_dir is None:
        return locate_installation(context, plan.adapter, plan.target)
    return find_installation_in(context, plan.adapter, plan.target, plan.state, state_dir)


def _run(context: Context, step: NextStep, hide: secret_hiding.HideText) -> JsonObject:
    ran = runtime_programs.run_program(
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
    """Return a step for printing. Its command works in any shell, because it names its installation."""
    variables = [f"{name}={value}" for name, value in sorted(step.environment.items())]
    command = shlex.join([*(("env", *variables) if variables else ()), *step.command])
    title = f"{step.title} ({step.waits})" if step.waits else step.title
    return {"title": title, "command": command, **({"waits": step.waits} if step.waits else {})}


def put_memories(context: Context, plan: RestorePlan, report: RestoreReport) -> tuple[RestorePlan, RestoreReport]:
    """Put a plan's memories into its server, if that is allowed. This comes after all files, because the configuration
    names the server, and no journal undoes it. A failure is only reported, because the restore itself is done."""
    server = plan.server
    if server is None or server.write is None:
        return plan, report
    installation = installation_of(context, plan)
    server_name = "" if plan.installation is None else plan.installation.server
    try:
        if installation is None:
            raise AdapterError(
                f"the runtime's configuration, which contains the address of {server.server}, was not found"
            )
        fates: Sequence[ItemFate] = server.write(replace(installation, remote=True, server=server_name))
        said = _not_taken_back(server, fates)
    except AdapterError as error:
        fates = [replace(fate, reason=error.message) if fate.code else fate for fate in server.fates]
        said = [f"nothing was written to {server.server}: {error.message}"]
    plan = replace(plan, server=replace(server, fates=tuple(fates)))
    report = replace(
        report, warnings=[*report.warnings, *said], **full_receipt.make_receipt(plan, plan.fates).to_json()
    )
    report = capture_after(context, report) if any(fate.outcome in _PUT for fate in fates) else report
    write_restore_receipt(context, report)
    return plan, report


def _not_taken_back(server: ServerWrite, fates: Sequence[ItemFate]) -> list[str]:
    count = sum(fate.outcome in _PUT for fate in fates)
    if not count:
        return []
    memories_were = "memory was" if count == 1 else "memories were"
    return [f"{count} {memories_were} written to {server.server}; `lifeboat undo` does not remove them"]
