"""Check purges: unfinished ones, invalid receipts, and purged text that still has to be kept out of captures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context
from lifeboat_core.purge import keep_out, outstanding_purges, purge_orders, purged_agent_files, receipt_signing
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.purge.outstanding_purges import OutstandingPurge
from lifeboat_core.texts.human_text import count_text, join_names, path_text, quote_argument, time_text, when_text

TITLE = "Purges"
_PENDING_FOR = timedelta(days=1)
_MOST_PATHS = 3


def check(context: Context) -> Iterator[DoctorFinding]:
    yield from _receipts(context)
    for one in outstanding_purges.list_outstanding_purges(context):
        yield _outstanding(context, one)
    for agent in list_agents(context):
        yield from _kept_out(context, agent)


def _receipts(context: Context) -> Iterator[DoctorFinding]:
    for error in (*purge_orders.list_damaged_orders(context), *purged_agent_files.list_damaged_purged_agents(context)):
        yield DoctorFinding(DoctorLevel.ERROR, "an order", error.message, error.fix)
    for receipt_id, why in receipt_signing.list_damaged_receipts(context):
        yield DoctorFinding(DoctorLevel.ERROR, f"receipt {receipt_id}", why, "lifeboat receipts list")
    found = receipt_signing.load_receipts(context)
    broken = 0
    for receipt in found:
        fix = f"lifeboat receipts show {receipt.id} --audit"
        for each in receipt_signing.verify_receipt(context, receipt.to_json()):
            if each.level is receipt_signing.ReceiptLevel.WRONG:
                broken += 1
                yield DoctorFinding(DoctorLevel.ERROR, f"receipt {receipt.id}", f"{each.subject}: {each.message}", fix)
    if found and not broken:
        yield DoctorFinding(DoctorLevel.OK, "receipts", f"{count_text(len(found), 'purge receipt')} checked")


def _outstanding(context: Context, one: OutstandingPurge) -> DoctorFinding:
    subject, fix = f"{one.vault}, purge {one.id}", f"lifeboat receipts show {one.id}"
    if one.applies_at is not None and times.parse_time(one.applies_at) > context.clock.now():
        confirm = f"lifeboat receipts confirm {one.id} --remote {quote_argument(one.vault)}"
        result = (
            f"the remote applies the purge at {time_text(one.applies_at)}{_why(one)}; if you have the second token of "
            f"the remote, apply the purge now: {confirm}"
        )
        return DoctorFinding(DoctorLevel.OK, subject, result)
    if context.clock.now() - times.parse_time(one.applies_at or one.since) <= _PENDING_FOR:
        return DoctorFinding(DoctorLevel.OK, subject, f"{outstanding_purges.describe_progress(one)}{_why(one)}")
    return DoctorFinding(
        DoctorLevel.WARNING,
        subject,
        f"the purge is not complete{_why(one)}; {outstanding_purges.describe_progress(one)}",
        fix,
    )


def _why(one: OutstandingPurge) -> str:
    return f": {one.message}" if one.message else ""


def _kept_out(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    """Report purged text that is still in the workspace. Captures cut it, but readers of the workspace see it."""
    try:
        with context.vault(agent.id) as vault:
            kept = KeepOut.of(context, vault)
            where = keep_out.read_kept_out_lines(vault.get(keep_out.FOUND))
            again = keep_out.read_met_values(vault.get(keep_out.FOUND))
    except LifeboatError:
        return  # The checks of vaults and of the key report it.
    if not kept:
        return
    until = when_text(kept.until or "the workspace contains no purged text")
    if again:
        result = f"purged text was found again in {_named(again)}, and is captured because of the setting purge.again"
        yield DoctorFinding(DoctorLevel.WARNING, agent.name, result, f"lifeboat purge {quote_argument(agent.name)}")
    if not where:
        yield DoctorFinding(DoctorLevel.OK, agent.name, f"purged text is left out of captures until {until}")
        return
    result = f"purged text remains in {_named(where)}; captures leave it out until {until}"
    yield DoctorFinding(
        DoctorLevel.WARNING, agent.name, result, f"lifeboat purge {quote_argument(agent.name)} --kept-out"
    )


def _named(where: Iterable[str]) -> str:
    paths = [path_text(path) for path in sorted(where)]
    return join_names([*paths[:_MOST_PATHS], *([f"{len(paths) - _MOST_PATHS} more"] if paths[_MOST_PATHS:] else [])])
