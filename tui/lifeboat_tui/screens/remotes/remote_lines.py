"""Texts of the screens of remotes: rows and detail lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from textual.content import Content

from lifeboat_core.documents.receipt_documents import Listed, Vault
from lifeboat_core.documents.remote_documents import Adoption, Away, Met, SecondCopy, Tried
from lifeboat_core.health.state_words import find_worst_state
from lifeboat_core.texts.human_text import count_text
from lifeboat_tui.cell_text import format_age, format_local_day, format_pair, format_short_age, format_size, make_plain
from lifeboat_tui.glyphs import STYLES, Glyphs
from lifeboat_tui.widgets.row_table import TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("STATE", 11),
    TableColumn("NAME", 12, grow=1),
    TableColumn("KIND", 8, rank=3),
    TableColumn("READABLE BY", 14, rank=2),
    TableColumn("TOKEN", 6, rank=4),
    TableColumn("VERIFIED", 10, rank=1),
    TableColumn("ADDRESS", 18, grow=3, rank=5),
)
AWAY_COLUMNS = (
    TableColumn("AGENT", 14, grow=1),
    TableColumn("HERE", 14, grow=1),
    TableColumn("RUNTIME", 9, rank=3),
    TableColumn("SEQUENCE", 8, rank=1, right=True),
    TableColumn("PUSHED", 10, rank=2),
    TableColumn("WRITTEN BY", 12, grow=1),
    TableColumn("SIZE", 8, rank=4, right=True),
)
MOST_CHANGES = 40
"""Maximum number of changed files that the question about an adoption lists."""


def state_of_remote(one: SecondCopy) -> str:
    """Return the worst state among the agents of a remote."""
    known = {"ok", "waiting", "held", "fenced", "error"}
    return (
        "error"
        if one.problem
        else find_worst_state(agent.state if agent.state in known else "error" for agent in one.agents)
    )


def build_remote_row(one: SecondCopy, glyphs: Glyphs, now: datetime) -> TableRow:
    state = state_of_remote(one)
    readable = TableCell("only you", "success") if one.sealed else TableCell("operator", "warning")
    return TableRow(
        one.name,
        (
            TableCell(glyphs.state(state), STYLES.get(state, "")),
            TableCell(one.name, "strong"),
            one.kind or "",
            "" if one.problem else readable,
            "kept" if one.has_token else TableCell("none", "muted"),
            format_short_age(one.verified_at, now),
            TableCell(one.problem or one.url or "", "error" if one.problem else "muted"),
        ),
    )


def describe_remote(one: SecondCopy, waits: Sequence[Listed], glyphs: Glyphs, now: datetime) -> Iterator[Content]:
    """Yield details of a remote, of each agent on it, and of the purges pending there."""
    if one.problem:
        yield Content.styled(make_plain(one.problem), "$text-error")
        return
    yield format_pair("address", one.url or "")
    yield format_pair("readable", one.readable)
    for agent in one.agents:
        has = "nothing yet" if agent.sequence is None else f"sequence {agent.sequence}, {format_age(agent.at, now)}"
        verified = f"verified {format_age(agent.verified_at, now)}" if agent.verified_at else "never verified"
        why = f": {agent.message}" if agent.message else ""
        kind = STYLES.get(agent.state, "")
        yield Content.assemble(
            (f"{make_plain(glyphs.state(agent.state)):<12}", f"$text-{kind}" if kind not in ("", "muted") else ""),
            (f"{make_plain(agent.name)}  ", "bold"),
            make_plain(f"{has}, {verified}{why}"),
        )
    for receipt in waits:
        vault = find_waiting_vault(receipt, one.name)
        until = f", until {format_local_day(vault.applies_at)}" if vault is not None and vault.applies_at else ""
        told = (
            f"{glyphs.sign('pending')} a purge of {receipt.agent or receipt.agent_id} is waiting on this "
            f"remote{until} (press p)"
        )
        yield Content.styled(make_plain(told), "$text-warning")
    yield format_pair(
        "id", f"{one.id or 'unknown'}{f', pin of its certificate authority: {one.pin}' if one.pin else ''}"
    )
    since = f"{format_local_day(one.added_at)}" if one.added_at else "at an unknown time"
    yield format_pair("added", f"{since}{', optional' if one.optional else ''}")


def find_waiting_vault(receipt: Listed, name: str) -> Vault | None:
    """Return the vault of a remote in which the purge is pending, or None."""
    return next((vault for vault in receipt.vaults if vault.name == name and vault.state != "done"), None)


def describe_probed_remote(met: Met) -> Iterator[str]:
    """Yield which remote answered, who can read its data, and what the token allows."""
    release = f" (release {met.release})" if met.release else ""
    yield f"Connected to {met.url}{release}"
    yield met.readable
    if met.token is not None:
        ends = f" The token expires on {format_local_day(met.token.expires_at)}." if met.token.expires_at else ""
        yield f"The token allows: {', '.join(met.token.scopes) or 'nothing'}.{ends}"
        more = [scope for scope in met.token.scopes if scope not in ("push", "pull")]
        if more:
            yield "The token allows more than this machine needs: push and pull are enough."


def describe_checks(tried: Tried, glyphs: Glyphs) -> Iterator[str]:
    """Yield one line per conformance check, failed ones first."""
    for check in sorted(tried.checks, key=lambda check: check.ok):
        yield f"{glyphs.sign('done' if check.ok else 'error')} {'' if check.ok else 'failed: '}{check.name}"
        if check.message:
            yield f"    {check.message}"
    if tried.left:
        left = count_text(tried.left, "test agent remains", "test agents remain")
        yield f"{left} on the remote. Only the remote's operator can remove agents."


# Agents on a remote -------------------------------------------------------------------------------------------------


def build_remote_agent_row(one: Away, now: datetime) -> TableRow:
    here = TableCell(one.here, "success") if one.here else TableCell("not here", "muted")
    held = " (held)" if one.held else ""
    return TableRow(
        one.id,
        (
            TableCell(f"{one.name or one.id}{held}", "strong"),
            here,
            TableCell(one.runtime, "muted"),
            "" if one.sequence is None else str(one.sequence),
            format_short_age(one.written_at, now),
            one.machine,
            format_size(one.bytes),
        ),
    )


def describe_remote_agent(one: Away, now: datetime) -> Iterator[str]:
    yield f"{one.name or one.id} ({one.id})"
    if one.sequence is None:
        yield "The remote contains no sequence of this agent yet."
    else:
        by = one.machine or "an unknown machine"
        yield (f"The newest sequence is {one.sequence}, written by {by} and pushed {format_age(one.written_at, now)}.")
    if one.held:
        before = one.held.get("previous")
        told = "" if before is None else f"; the last sequence before it is {before}"
        yield f"The newest sequence is held until you accept it: {one.held.get('reason', '')}{told}."
    yield (
        f"This agent is also on this machine: {one.here}. Press r to restore it from this remote, or A to make "
        "this machine its writer."
        if one.here
        else "This agent is not on this machine. Press r to restore it."
    )


def describe_adoption(found: Adoption, now: datetime) -> Iterator[str]:
    """Yield the changes that taking over an agent would make."""
    by = f", written by {found.machine}" if found.machine else ""
    came = f" {format_age(found.written_at, now)}" if found.written_at else ""
    yield (
        f"The newest sequence on the remote {found.remote} is {found.base}{by}{came}. The workspace on this "
        "machine becomes the next sequence, with these changes:"
    )
    changes = [*(f"{one.operation:<9} {one.path}" for one in (*found.changes.files, *found.changes.documents))]
    changes += [f"{one.operation:<9} memory {one.id}" for one in found.changes.records]
    yield from (f"  {line}" for line in changes[:MOST_CHANGES] or ["no changes"])
    if len(changes) > MOST_CHANGES:
        yield f"  and {len(changes) - MOST_CHANGES} more"
    if found.changes.held:
        yield (
            "The next capture will be held until you accept it, because "
            f"{found.changes.held.get('reason', 'it removes much')}."
        )
    if found.take_over:
        yield f"The machine {found.take_over} wrote the agent recently and will no longer be able to push it."
    if not found.own_history:
        yield "The history that this machine had before is kept for 90 days."
    yield "If you want the other machine's changes in this workspace, cancel now and press r to restore first."
    yield from (f"Note: {text}" for text in found.warnings)
