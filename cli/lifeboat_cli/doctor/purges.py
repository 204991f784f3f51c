"""Purges: those that are not done everywhere, receipts that do not hold, and text that still has to be kept out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from lifeboat_alf import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.home.context import Context
from lifeboat_core.purge import erased, keep_out, orders, receipts, standing
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.purge.standing import Outstanding
from lifeboat_core.texts.words import argument, count_text, listed, path_text, time_text, when_text

TITLE = "Purges"
_PENDING_FOR = timedelta(days=1)
_MOST_PATHS = 3


def check(context: Context) -> Iterator[Finding]:
    yield from _receipts(context)
    for one in standing.outstanding(context):
        yield _outstanding(context, one)
    for agent in everyone(context):
        yield from _kept_out(context, agent)


def _receipts(context: Context) -> Iterator[Finding]:
    for error in (*orders.damaged(context), *erased.damaged(context)):
        yield Finding(Level.ERROR, "an order", error.message, error.fix)
    for receipt_id, why in receipts.damaged(context):
        yield Finding(Level.ERROR, f"receipt {receipt_id}", why, "lifeboat receipts list")
    found = receipts.everyone(context)
    broken = 0
    for receipt in found:
        fix = f"lifeboat receipts show {receipt.id} --audit"
        for each in receipts.verify(context, receipt.to_json()):
            if each.level is receipts.Level.WRONG:
                broken += 1
                yield Finding(Level.ERROR, f"receipt {receipt.id}", f"{each.subject}: {each.message}", fix)
    if found and not broken:
        yield Finding(Level.OK, "receipts", f"{count_text(len(found), 'receipt')} of purges held")


def _outstanding(context: Context, one: Outstanding) -> Finding:
    subject, fix = f"{one.vault}, purge {one.id}", f"lifeboat receipts show {one.id}"
    if one.applies_at is not None and times.parse(one.applies_at) > context.clock.now():
        confirm = f"lifeboat receipts confirm {one.id} --remote {argument(one.vault)}"
        result = f"waits until {time_text(one.applies_at)}{_why(one)}; with the second token: {confirm}"
        return Finding(Level.OK, subject, result)
    if context.clock.now() - times.parse(one.applies_at or one.since) <= _PENDING_FOR:
        return Finding(Level.OK, subject, f"{standing.how(one)}{_why(one)}")
    return Finding(Level.WARNING, subject, f"is not done{_why(one)}; {standing.how(one)}", fix)


def _why(one: Outstanding) -> str:
    return f": {one.message}" if one.message else ""


def _kept_out(context: Context, agent: Agent) -> Iterator[Finding]:
    """What was purged and lies in the workspace still: captures cut it, and whoever reads the workspace has it."""
    try:
        with context.vault(agent.id) as vault:
            kept = KeepOut.of(context, vault)
            where = keep_out.found_in(vault.get(keep_out.FOUND))
            again = keep_out.met_in(vault.get(keep_out.FOUND))
    except LifeboatError:
        return  # the checks of vaults and of the key tell
    if not kept:
        return
    until = when_text(kept.until or "the workspace is clean")
    if again:
        result = f"what was purged came back in {_named(again)}, and captures take it (purge.again)"
        yield Finding(Level.WARNING, agent.name, result, f"lifeboat purge {argument(agent.name)}")
    if not where:
        yield Finding(Level.OK, agent.name, f"what was purged is kept out of captures until {until}")
        return
    result = f"what was purged still lies in {_named(where)}: captures cut it, until {until}"
    yield Finding(Level.WARNING, agent.name, result, f"lifeboat purge {argument(agent.name)} --kept-out")


def _named(where: Iterable[str]) -> str:
    paths = [path_text(path) for path in sorted(where)]
    return listed([*paths[:_MOST_PATHS], *([f"{len(paths) - _MOST_PATHS} more"] if paths[_MOST_PATHS:] else [])])
