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
    "passphrase": "a file encrypted with a passphrase",
    "command": "the command of the setting key_command, which prints the key",
    "key_file": "the file that the variable LIFEBOAT_KEY_FILE names",
    "file": "a file in the Lifeboat directory that only its permissions protect",
}
MACHINE, AGENT, FORMER = "machine:", "agent:", "former:"
"""Prefixes of row keys."""
NO_KEY = "You have no key yet. Lifeboat creates it with the first agent: press 1, then a."


def describe_key(status: KeyStatus, glyphs: Glyphs, now: datetime) -> list[str]:
    """Return lines that say which key is in force, where it is stored, whether it opens, and when its words were
    proven."""
    if status.key_id is None:
        return NO_KEY.split("\n")
    proven = (
        f"{glyphs.sign('done')} You last proved that you have the recovery words "
        f"{format_age(status.proven_at, now)}, on {format_local_day(status.proven_at)}"
        if status.proven_at
        else f"{glyphs.sign('warning')} You have not proved yet that you have the recovery words. Press w to see "
        "the words, then p to type three of them"
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
            "agents", (f"AGENTS and the key pairs that encrypt their credentials [{len(status.agents)}]",), heading=True
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
                f"The credentials of this agent are encrypted for the key pair {agent.pair}. Only your key "
                "decrypts them."
                if agent.pair
                else "Lifeboat stores no credentials of this agent."
            )
            return [f"{agent.name} ({agent.id})", sealed]
    for former in status.former:
        if key == f"{FORMER}{former.key_id}":
            trust = (
                (
                    "Other people may have this key, so new signatures by this key are refused. Ask the issuing "
                    "services to replace every credential that this key protected."
                )
                if former.compromised
                else "The recovery words of this key decrypt only copies from before the key was replaced."
            )
            return [f"{former.key_id}, replaced {format_age(former.replaced_at, now)}", trust]
    return []


def _of_machine(machine: Machine, now: datetime) -> Iterator[str]:
    yield f"{machine.name} ({machine.id}){', this machine' if machine.here else ''}"
    seen = "now" if machine.here else format_age(machine.last_seen, now)
    met = format_local_day(machine.first_seen) if machine.first_seen else "at an unknown time"
    yield f"This machine first used the key {met} and last used it {seen}."
    if machine.revoked_at:
        yield (
            f"Marked as lost on {format_local_day(machine.revoked_at)}. Lifeboat refuses the machine and its "
            "signatures."
        )
    elif machine.here:
        yield "Press m to rename this machine."
    else:
        yield ("Press m to rename this machine. If the machine was lost, press x to refuse it and to replace your key.")


def describe_rotation(done: Rotation) -> Iterator[str]:
    """Yield the results of a rotation, what is pending, and what the user has to do now."""
    yield f"Your new key {done.key_id} replaced the key {done.former}."
    if done.words_to:
        yield (
            f"The 24 words of the new key are in {done.words_to}. Write the words down, press p to prove that "
            "you have them, and delete the file."
        )
    if done.compromised:
        yield "New signatures by the old key or earlier ones are refused."
    if done.revoked is not None:
        yield f"The machine {done.revoked.name} ({done.revoked.id}) is refused from now on."
        yield from (
            f"The token of the machine {done.revoked.name} for the remote {remote.name} was revoked."
            for remote in done.remotes
        )
    if done.reissue:
        yield ""
        yield (
            "Anyone with the old key can still decrypt old copies of these credentials. Ask the service that "
            "issued each credential to replace it:"
        )
        yield from (f"  {_credential(one)}" for one in done.reissue)
    yield from (f"Note: {text}" for text in done.warnings)
    yield from (
        f"This step is not finished; the next lifeboat command continues it: {text}" for text in done.unfinished
    )
    yield ""
    yield (
        "The old recovery words and the old kit open only copies from before the replacement. Press K to write "
        "a new recovery kit."
    )


def _credential(one: Credential) -> str:
    return "  ".join(part for part in (one.agent, one.service, one.credential_type, one.label) if part)
