"""Bundles made from sequences of a vault, in memory: plaintext is never written to the disk of an endpoint.

The same sequence gives the same bytes, so a sealed partition can be cached by its digest (ALF §10.12).
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.states.agent_state import BodyAbsent, State
from lifeboat_vault.errors import RemoteTooLarge, UnknownAtRemote, VaultDamaged
from lifeboat_vault.remote.remote_contract import BundleKind, RemoteBundle, RemoteSequence
from lifeboat_vault.vault import SequenceRow, Vault


def make_snapshot(state: State, keys: JsonObject | None) -> RemoteBundle:
    out = io.BytesIO()
    write_snapshot(state, out, keys=keys)
    return _bundle("snapshot", state.sequence.number, None, out)


def make_delta(vault: Vault, base: int, number: int) -> RemoteBundle:
    """Return the delta between two kept sequences. Raises UnknownAtRemote, UnknownSequence."""
    if number <= base:
        raise UnknownAtRemote(f"the endpoint has no delta from sequence {base} to sequence {number}")
    out = io.BytesIO()
    write_delta(vault.changes(base, number), out)
    return _bundle("delta", number, base, out)


def list_steps(vault: Vault, since: int) -> list[tuple[int, int]]:
    """Return the pairs of a kept sequence and the next one, up to the head. Raises UnknownSequence."""
    numbers = [vault.sequence(since).number, *(row.number for row in vault.sequences(after=since))]
    return list(itertools.pairwise(numbers))


READ_BYTES = 64 << 20
"""Most bytes that are read back at once, unless a single item is larger. They are in memory, and one item may be asked
for many times."""


def read_items(state: State, entries: Sequence[str], records: Sequence[str]) -> list[bytes | None]:
    """Return the bytes of entries, then the lines of records; None for missing items. Raises RemoteTooLarge."""
    asked = itertools.chain(
        (_body(state, path) for path in entries), (_line(state, record_id) for record_id in records)
    )
    found: list[bytes | None] = []
    size = 0
    for item in asked:
        size += len(item or b"")
        if size > READ_BYTES and found:
            raise RemoteTooLarge(f"the response would exceed {READ_BYTES} bytes; request less at once")
        found.append(item)
    return found


def read_back(state: State, entries: Sequence[str], records: Sequence[str]) -> list[bytes | None]:
    """Return the same for a verification. A damaged item is b"", which does not match its leaf."""
    asked: list[tuple[list[str], list[str]]] = [([path], []) for path in entries]
    asked += [([], [record_id]) for record_id in records]
    return [_or_nothing(state, *names) for names in asked]


def _or_nothing(state: State, entries: list[str], records: list[str]) -> bytes | None:
    try:
        return read_items(state, entries, records)[0]
    except VaultDamaged:
        return b""


def to_remote_sequence(row: SequenceRow) -> RemoteSequence:
    place = (row.number, row.base, row.digest, row.epoch, row.time, row.kind, row.writer)
    return RemoteSequence(*place, 0, row.signature)


def _bundle(kind: BundleKind, number: int, base: int | None, out: io.BytesIO) -> RemoteBundle:
    size = out.tell()
    out.seek(0)
    return RemoteBundle(kind, number, base, out, size)


def _body(state: State, path: str) -> bytes | None:
    try:
        return state.body(path)
    except (KeyError, BodyAbsent):
        return None


def _line(state: State, record_id: str) -> bytes | None:
    found = state.record(record_id)
    return None if found is None else found.line
