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
    TableColumn("STATUS", 14, grow=1),
    TableColumn("ID", 16, grow=1, rank=2),
    TableColumn("LAST SEEN", 10, rank=1),
)
PLACES = {
    "keyring": "the desktop keyring",
    "passphrase": "a file wrapped with a passphrase",
    "command": "the output of the command in the setting key_command",
    "key_file": "the file in LIFEBOAT_KEY_FILE",
    "file": "a file in the home, protected only by its file mode",
}
MACHINE, AGENT, FORMER = "machine:", "agent:", "former:"
"""Prefixes of row keys."""
NO_KEY = "There is no key yet. Press 1, then a: adding the first agent creates one."


def describe_key(status: KeyStatus, glyphs: Glyphs, now: datetime) -> list[str]:
    """Return lines that say which key is in force, where it is stored, whether it opens, and when its words were
    proven."""
    if status.key_id is None:
        return NO_KEY.split("\n")
    proven = (
        f"{glyphs.sign('done')} Recovery words proven {format_age(status.proven_at, now)}, "
        f"on {format_local_day(status.proven_at)}"
        if status.proven_at
        else f"{glyphs.sign('warning')} Recovery words never proven. Press w to show them, p to prove them"
    )
    says_more = status.note and (status.store != "file" or status.state != "ok")
    return [
        f"{glyphs.state(status.state)}  your key {status.key_id}",
        f"Stored in {PLACES.get(status.store, status.store)}{f' ({status.note})' if says_more else ''}",
        proven,
        *(f"{glyphs.sign('warning')} {problem}" for problem in status.problems),
    ]


def build_key_rows(status: KeyStatus, glyphs: Glyphs, now: datetime) -> Iterator[TableRow]:
    """Yield rows of machines, agents and former keys, each group below a heading."""
    if status.machines:
        yield TableRow("machines", (f"MACHINES with the key [{len(status.machines)}]",), heading=True)
        for machine in status.machines:
            yield _machine(machine, glyphs, now)
    if status.agents:
        yield TableRow(
            "agents", (f"AGENTS and the key pairs of their credentials [{len(status.agents)}]",), heading=True
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
        else TableCell(f"{glyphs.sign('ok')} {'this machine' if machine.here else 'trusted'}", "success")
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
                f"Its credentials are sealed to the key pair {agent.pair}. Only your key opens it."
                if agent.pair
                else "It has no sealed credentials."
            )
            return [f"{agent.name} ({agent.id})", sealed]
    for former in status.former:
        if key == f"{FORMER}{former.key_id}":
            trust = (
                "Others may have this key. Its signatures are refused; have its credentials replaced by their issuers."
                if former.compromised
                else "The recovery words of this key only open copies that were made before it was replaced."
            )
            return [f"{former.key_id}, replaced {format_age(former.replaced_at, now)}", trust]
    return []


def _of_machine(machine: Machine, now: datetime) -> Iterator[str]:
    yield f"{machine.name} ({machine.id}){', this machine' if machine.here else ''}"
    seen = "now" if machine.here else format_age(machine.last_seen, now)
    met = format_local_day(machine.first_seen) if machine.first_seen else "at an unknown time"
    yield f"First seen {met}, last seen {seen}."
    if machine.revoked_at:
        yield f"Lost since {format_local_day(machine.revoked_at)}. The machine and its signatures are refused."
    elif machine.here:
        yield "Press m to rename it."
    else:
        yield "Press m to rename it, x if it was lost: that replaces the key."


def describe_rotation(done: Rotation) -> Iterator[str]:
    """Yield the results of a rotation, what is pending, and what the user has to do now."""
    yield f"Your new key is {done.key_id}; it replaced {done.former}."
    if done.words_to:
        yield f"The new 24 words are in {done.words_to}. Write them down, prove them with p, then delete that file."
    if done.compromised:
        yield "New signatures by the old key or earlier ones are refused."
    if done.revoked is not None:
        yield f"{done.revoked.name} ({done.revoked.id}) is refused from now on."
        yield from (f"The token of {done.revoked.name} for {remote.name} was revoked." for remote in done.remotes)
    if done.reissue:
        yield ""
        yield "Anyone with the old key can still open old copies of these credentials. Have their issuers replace them:"
        yield from (f"  {_credential(one)}" for one in done.reissue)
    yield from (f"Note: {text}" for text in done.warnings)
    yield from (f"Not finished (the next command continues): {text}" for text in done.unfinished)
    yield ""
    yield "The old recovery words and kit only open copies that were made before. Press K to write a new recovery kit."


def _credential(one: Credential) -> str:
    return "  ".join(part for part in (one.agent, one.service, one.credential_type, one.label) if part)
