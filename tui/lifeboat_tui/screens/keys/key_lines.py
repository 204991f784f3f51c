"""Texts of the key screen: rows and detail lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from lifeboat_core.documents.key_status_documents import Credential, Former, KeyStatus, Machine, Rotation, Sealed
from lifeboat_tui.cell_text import format_age, format_local_day, format_short_age
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.widgets.row_table import TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("NAME", 14, grow=2),
    TableColumn("STANDING", 14, grow=1),
    TableColumn("ID", 16, grow=1, rank=2),
    TableColumn("LAST SEEN", 10, rank=1),
)
PLACES = {
    "keyring": "the keyring of this desktop",
    "passphrase": "a file wrapped with a passphrase",
    "command": "what the setting key_command runs",
    "key_file": "the file that LIFEBOAT_KEY_FILE names",
    "file": "a file of this home that only its mode protects",
}
MACHINE, AGENT, FORMER = "machine:", "agent:", "former:"
"""Prefixes of row keys."""
NO_KEY = "There is no key yet. a on the dashboard makes one with the first agent."


def describe_key(status: KeyStatus, glyphs: Glyphs, now: datetime) -> list[str]:
    """Return lines that say which key is in force, where it is stored, whether it opens, and when its words were
    proven."""
    if status.key_id is None:
        return NO_KEY.split("\n")
    proven = (
        f"{glyphs.sign('done')} Its 24 words were proven {format_age(status.proven_at, now)}, "
        f"on {format_local_day(status.proven_at)}"
        if status.proven_at
        else f"{glyphs.sign('warning')} Its 24 words were never proven: w shows them, p proves them"
    )
    return [
        f"{glyphs.state(status.state)}  your key {status.key_id}",
        f"It lies in {PLACES.get(status.store, status.store)}{f' ({status.note})' if status.note else ''}",
        proven,
        *(f"{glyphs.sign('warning')} {problem}" for problem in status.problems),
    ]


def build_key_rows(status: KeyStatus, glyphs: Glyphs, now: datetime) -> Iterator[TableRow]:
    """Yield rows of machines, agents and former keys, each group below a heading."""
    if status.machines:
        yield TableRow("machines", (f"MACHINES that have the key [{len(status.machines)}]",), heading=True)
        for machine in status.machines:
            yield _machine(machine, glyphs, now)
    if status.agents:
        yield TableRow(
            "agents", (f"AGENTS and what their credentials are sealed to [{len(status.agents)}]",), heading=True
        )
        for agent in status.agents:
            yield _agent(agent, glyphs)
    if status.former:
        yield TableRow("former", (f"FORMER KEYS [{len(status.former)}]",), heading=True)
        for former in status.former:
            yield _former(former, glyphs, now)


def _machine(machine: Machine, glyphs: Glyphs, now: datetime) -> TableRow:
    standing = (
        TableCell(f"{glyphs.sign('error')} lost", "error")
        if machine.revoked_at
        else TableCell(f"{glyphs.sign('ok')} {'this machine' if machine.here else 'yours'}", "success")
    )
    seen = "now" if machine.here else format_short_age(machine.last_seen, now)
    return TableRow(f"{MACHINE}{machine.id}", (TableCell(machine.name, "strong"), standing, machine.id, seen))


def _agent(agent: Sealed, glyphs: Glyphs) -> TableRow:
    standing = (
        TableCell(f"{glyphs.sign('ok')} sealed", "success")
        if agent.pair
        else TableCell(f"{glyphs.sign('pending')} none yet", "muted")
    )
    return TableRow(f"{AGENT}{agent.id}", (TableCell(agent.name, "strong"), standing, agent.pair or "", ""))


def _former(former: Former, glyphs: Glyphs, now: datetime) -> TableRow:
    standing = (
        TableCell(f"{glyphs.sign('warning')} not trusted", "error")
        if former.compromised
        else TableCell(f"{glyphs.sign('done')} replaced", "muted")
    )
    return TableRow(
        f"{FORMER}{former.key_id}",
        (former.key_id[:14], standing, former.key_id, format_short_age(former.replaced_at, now)),
    )


def describe_key_row(status: KeyStatus, key: str, now: datetime) -> list[str]:
    """Return details of the row under the cursor."""
    for machine in status.machines:
        if key == f"{MACHINE}{machine.id}":
            return list(_of_machine(machine, now))
    for agent in status.agents:
        if key == f"{AGENT}{agent.id}":
            sealed = (
                f"Its credentials are sealed to the pair {agent.pair}, which only your key opens."
                if agent.pair
                else "It has no credentials that were sealed yet."
            )
            return [f"{agent.name} ({agent.id})", sealed]
    for former in status.former:
        if key == f"{FORMER}{former.key_id}":
            trust = (
                "Others may have it: what it signs is refused, and its issuers had to make new credentials."
                if former.compromised
                else "Its words open old copies only."
            )
            return [f"{former.key_id}, replaced {format_age(former.replaced_at, now)}", trust]
    return []


def _of_machine(machine: Machine, now: datetime) -> Iterator[str]:
    yield f"{machine.name} ({machine.id}){', this machine' if machine.here else ''}"
    seen = "now" if machine.here else format_age(machine.last_seen, now)
    met = format_local_day(machine.first_seen) if machine.first_seen else "at a time nobody knows"
    yield f"Met on {met}, last seen {seen}."
    if machine.revoked_at:
        yield f"Lost since {format_local_day(machine.revoked_at)}: this machine, and what it signs, is refused."
    elif machine.here:
        yield "m calls it something else."
    else:
        yield "m calls it something else; x says that it was lost, and replaces the key."


def describe_rotation(done: Rotation) -> Iterator[str]:
    """Yield the results of a rotation, what is pending, and what the user has to do now."""
    yield f"Your key is {done.key_id} now; it replaced {done.former}."
    if done.words_to:
        yield f"Its 24 words are in {done.words_to}. w shows them, p proves them; then delete that file."
    if done.compromised:
        yield "What the old key, or one before it, signs from now on is refused."
    if done.revoked is not None:
        yield f"{done.revoked.name} ({done.revoked.id}) is refused from now on."
        yield from (f"Its token of {remote.name} was revoked." for remote in done.remotes)
    if done.reissue:
        yield ""
        yield "Old copies of these stay open to whoever has the old key. Let their issuers make new ones:"
        yield from (f"  {_credential(one)}" for one in done.reissue)
    yield from (f"To know: {text}" for text in done.warnings)
    yield from (f"Not finished, the next command goes on: {text}" for text in done.unfinished)
    yield ""
    yield "Words and pages of the old key are void: they open old copies only. K writes a new page."


def _credential(one: Credential) -> str:
    return "  ".join(part for part in (one.agent, one.service, one.credential_type, one.label) if part)
