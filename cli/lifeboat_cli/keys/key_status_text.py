"""Describe the key and its store for people."""

from __future__ import annotations

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.texts.human_text import NO_BREAK, time_text
from lifeboat_keys.home.home_keys import KeyState
from lifeboat_keys.stores.store_kinds import StoreKind

PLACES = {
    StoreKind.KEYRING: "the keyring of this desktop",
    StoreKind.PASSPHRASE: "a file encrypted with a passphrase",
    StoreKind.COMMAND: "the program that the setting key_command names",
    StoreKind.KEY_FILE: "the file that LIFEBOAT_KEY_FILE names",
    StoreKind.FILE: "an unencrypted file that only its file mode protects",
}
STORE = click.option(
    "--store",
    type=click.Choice([str(kind) for kind in StoreKind]),
    help="Where to store the key (default: the safest store that is available).",
)
NEVER_PROVEN = "You have not proved yet that you have the 24 recovery words of your key. To do so: lifeboat keys init"


def print_status(output: CommandOutput, document: JsonObject) -> None:
    """Print the document of `user_keys.describe`."""
    if document["key_id"] is None:
        is_broken = document["state"] == KeyState.ERROR
        said = (
            f"The key cannot be used: {document['note']}"
            if is_broken
            else "This home has no key yet. To create one: lifeboat keys init"
        )
        output.line(said)
        return
    if document["state"] == KeyState.OK:
        output.line(f"Key {document['key_id']}: ok, {document['description']}", style="bold")
    else:
        output.line(f"Key {document['key_id']}: {document['state']}", style="bold")
        output.line(f"The key is stored in {PLACES[StoreKind(document['store'])]}: {document['note']}")
    proven_at = document["proven_at"]
    output.line(
        f"You last proved on {time_text(proven_at)} that you have the 24 recovery words of this key."
        if proven_at
        else NEVER_PROVEN
    )
    _table(output, ("former key", "replaced", "compromised"), [_former(one) for one in document["former"]])
    _table(output, ("machine", "id", "first seen", "last seen", "state"), [_machine(m) for m in document["machines"]])
    for problem in document["problems"]:
        output.warn(problem)
    _table(output, ("agent", "its key"), [(one["name"], one["pair"] or "none yet") for one in document["agents"]])


def _table(output: CommandOutput, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    if rows:
        output.line()
        output.table(columns, rows)


def _former(one: JsonObject) -> tuple[object, ...]:
    return one["key_id"], _moment(one["replaced_at"]), "yes" if one["compromised"] else "no"


def _machine(one: JsonObject) -> tuple[object, ...]:
    if one["revoked_at"] is not None:
        standing = f"lost since {_moment(one['revoked_at'])}"
    else:
        standing = "this one" if one["here"] else ""
    return one["name"], one["id"], _moment(one["first_seen"]), _moment(one["last_seen"]), standing


def _moment(timestamp: str) -> str:
    return time_text(timestamp).replace(" ", NO_BREAK)
