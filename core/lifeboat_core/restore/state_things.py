"""List the things in a state that a receipt accounts for.

What an archive says about itself (manifest, indexes, earlier versions of documents) is not included, and a memory that
a raw row of a database repeats is one thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.memory import embeddings
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, State
from lifeboat_core.restore.wanted_contents import DATABASES
from lifeboat_core.state.state_documents import load_credentials, parse_document
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_vault.vault.state_inventory import StateInventory

MEMORY, VECTOR, ROW, FILE, ARTIFACT = "memory", "vector", "row", "file", "artifact"
IDENTITY, PRINCIPAL, CREDENTIAL, DOCUMENT = "identity", "principal", "credential", "document"

_OF_THE_ARCHIVE = (archive_layout.MANIFEST, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS)
_MEMORIES = "/memories.jsonl"
_CONTAINERS = (archive_layout.EMBEDDINGS, archive_layout.HISTORY, archive_layout.PARTITIONS)


class StateThing(NamedTuple):
    """`name` is the id of a memory's record in force, of a principal or a credential; else the path, for a row with `#`
    and its line. `path` is the entry that holds it, "" for memories."""

    kind: str
    name: str
    path: str = ""


def things_of(state: State, inventory: StateInventory) -> Iterator[StateThing]:
    """Yield everything in a state once."""
    for record_id in inventory.memories.winners():
        yield StateThing(MEMORY, record_id)
    for number, principal in enumerate(_listed(state, archive_layout.PRINCIPALS, "principals"), 1):
        yield StateThing(
            PRINCIPAL, _text(principal, "id") or f"{archive_layout.PRINCIPALS}#{number}", archive_layout.PRINCIPALS
        )
    for credential_id in load_credentials(state):
        yield StateThing(CREDENTIAL, credential_id, archive_layout.CREDENTIALS)
    for entry in inventory.entries.values():
        yield from _in_entry(state, entry)
    for record_id in inventory.damaged_records:
        yield StateThing(MEMORY, record_id)
    for damaged in inventory.damaged:
        yield StateThing(_kind(damaged.entry.path), make_printable(damaged.entry.path), damaged.entry.path)


def _in_entry(state: State, entry: Entry) -> Iterator[StateThing]:
    path = entry.path
    if is_rows_path(path):
        if path.endswith(_MEMORIES):
            return
        for number, line in enumerate(_body(state, path).split(b"\n"), 1):
            if line.strip():
                yield StateThing(ROW, f"{path}#{number}", path)
    elif path.startswith(archive_layout.RAW):
        yield StateThing(FILE, make_printable(path), path)
    elif path.startswith(archive_layout.ARTIFACTS):
        yield StateThing(ARTIFACT, make_printable(path), path)
    elif embeddings.is_index(path):
        yield from _vectors(state, path)
    elif path == archive_layout.IDENTITY:
        yield StateThing(IDENTITY, path, path)
    elif path not in _OF_THE_ARCHIVE and not path.startswith(_CONTAINERS):
        yield StateThing(DOCUMENT, make_printable(path), path)


def _kind(path: str) -> str:
    if is_rows_path(path):
        return ROW
    return (
        FILE
        if path.startswith(archive_layout.RAW)
        else ARTIFACT
        if path.startswith(archive_layout.ARTIFACTS)
        else DOCUMENT
    )


def is_rows_path(path: str) -> bool:
    """Return whether an entry holds rows of a runtime's database."""
    runtime, _, rest = path.removeprefix(archive_layout.RAW).partition("/")
    return path.startswith(archive_layout.RAW) and runtime.endswith("-home") and rest.startswith(DATABASES)


def runtime_of(path: str) -> str:
    """Return the runtime of a raw file."""
    return path.removeprefix(archive_layout.RAW).partition("/")[0].removesuffix("-home")


def _vectors(state: State, index: str) -> Iterator[StateThing]:
    """Yield one thing for each model's vectors in each file."""
    for number, group in enumerate(_listed(state, index, "vectors"), 1):
        file, model = _text(group, "file"), _text(group, "model")
        yield StateThing(VECTOR, f"{file}: {model}" if file and model else f"{index}#{number}", index)


def _listed(state: State, path: str, name: str) -> list[object]:
    """Return what a document lists; a single unknown thing if it cannot be read."""
    try:
        found = parse_document(_body(state, path) or None).get(name)
    except msgspec.DecodeError:
        return [None]
    return found if isinstance(found, list) else []


def _body(state: State, path: str) -> bytes:
    """Return the bytes of an entry, none when it is only described or missing."""
    try:
        return state.body(path)
    except (BodyAbsent, KeyError):
        return b""


def _text(item: object, name: str) -> str:
    value = item.get(name) if isinstance(item, dict) else None
    return value if isinstance(value, str) else ""
