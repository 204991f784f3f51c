"""Put memories into a server of the runtime once everything else is in place, because the configuration names the
server. No journal undoes this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import ServerWrite
from lifeboat_core.home.context import Context
from lifeboat_core.restore import full_receipt, runtime_steps
from lifeboat_core.restore.restore_finish import capture_after, write_restore_receipt
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.restore_report import RestoreReport

_PUT = (ItemOutcome.ACCEPTED, ItemOutcome.TRANSFORMED)


def put_memories(context: Context, plan: RestorePlan, report: RestoreReport) -> tuple[RestorePlan, RestoreReport]:
    """Put a plan's memories into its server, if that is allowed. A failure does not fail the restore, which is done;
    the receipt reports it."""
    server = plan.server
    if server is None or server.write is None:
        return plan, report
    installation = runtime_steps.installation_of(context, plan)
    try:
        if installation is None:
            raise AdapterError(f"the configuration that says where {server.server} is was not found")
        fates: Sequence[ItemFate] = server.write(replace(installation, remote=True, server=_named(plan)))
        said = _not_taken_back(server, fates)
    except AdapterError as error:
        fates = [replace(fate, reason=error.message) if fate.code else fate for fate in server.fates]
        said = [f"nothing was put into {server.server}: {error.message}"]
    plan = replace(plan, server=replace(server, fates=tuple(fates)))
    report = replace(
        report, warnings=[*report.warnings, *said], **full_receipt.make_receipt(plan, plan.fates).to_json()
    )
    report = capture_after(context, report) if any(fate.outcome in _PUT for fate in fates) else report
    write_restore_receipt(context, report)
    return plan, report


def _named(plan: RestorePlan) -> str:
    return "" if plan.installation is None else plan.installation.server


def _not_taken_back(server: ServerWrite, fates: Sequence[ItemFate]) -> list[str]:
    count = sum(fate.outcome in _PUT for fate in fates)
    if not count:
        return []
    what = "memory was" if count == 1 else "memories were"
    return [f"{count} {what} put into {server.server}: `lifeboat undo` does not take that back"]
