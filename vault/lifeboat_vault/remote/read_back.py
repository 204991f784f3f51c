"""Choose items of a state to read back from a remote, and compare them. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.states import agent_state as states
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import ABSENT_LEAF, Entry, Record, State
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.remote.remote_contract import RemoteSequence, RemoteVerification

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadBackSample:
    """Items of a state whose bytes are to be read back."""

    entries: list[Entry] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def names(self) -> tuple[list[str], list[str]]:
        """Return (paths of entries, ids of records)."""
        return [entry.path for entry in self.entries], [record.id for record in self.records]


def split_sample(sample: ReadBackSample, count: int, size: int) -> Iterator[ReadBackSample]:
    """Split a sample for requests: up to `count` files and as many memories each, and files of up to `size` bytes
    together, at least one. Yields at least one part."""
    entries, records = list(sample.entries), list(sample.records)
    while True:
        fitting = _fitting(entries[:count], size)
        yield ReadBackSample(entries[:fitting], records[:count])
        del entries[:fitting], records[:count]
        if not entries and not records:
            return


def _fitting(entries: Sequence[Entry], size: int) -> int:
    """Return how many of them have up to `size` bytes together, at least one."""
    total = 0
    for place, entry in enumerate(entries):
        total += entry.size
        if total > size:
            return max(place, 1)
    return len(entries)


def choose_sample(state: State, bodies: int, chance: random.Random) -> ReadBackSample:
    """Choose up to `bodies` items of a state at random, files and memories in proportion.

    Items whose leaf no longer covers any bytes cannot be checked and are skipped.
    """
    items: Iterable[Entry | Record] = (item for part in (state.entries(), state.records()) for item in part)
    chosen = _reservoir((item for item in items if item.leaf.salt and item.leaf.digest != ABSENT_LEAF), bodies, chance)
    entries = [item for item in chosen if isinstance(item, Entry)]
    return ReadBackSample(entries, [item for item in chosen if isinstance(item, Record)])


def _reservoir(items: Iterable[T], size: int, chance: random.Random) -> list[T]:
    """Choose `size` of any number of items in one pass."""
    chosen: list[T] = []
    for place, item in enumerate(items):
        if place < size:
            chosen.append(item)
        elif (other := chance.randrange(place + 1)) < size:
            chosen[other] = item
    return chosen


def compare_head(here: states.Sequence, there: RemoteSequence | None) -> RemoteVerification:
    """Compare the remote's newest state with this one: number, digest and signature."""
    result = RemoteVerification(here.number)
    if there is None:
        result.findings.append("the remote has no sequence of this agent")
    elif there.number != here.number:
        result.findings.append(f"the newest sequence on the remote is {there.number}, but {here.number} is expected")
    elif there.digest != here.digest:
        result.findings.append(f"the digest of sequence {here.number} on the remote differs from the local digest")
    elif problem := _signature_problem(here, there):
        result.findings.append(problem)
    return result


def _signature_problem(here: states.Sequence, there: RemoteSequence) -> str | None:
    """Check the remote's signature, which may be newer than the local one and only has to be valid."""
    if there.signature is None:
        return None if here.signature is None else f"the signature of sequence {here.number} is missing on the remote"
    found = states.Sequence(
        here.agent_id, there.number, there.base, there.epoch, there.time, there.digest, there.signature
    )
    try:
        sequence_signatures.verify_sequence(found, None)
    except SignatureError:
        return f"the signature of sequence {here.number} on the remote is not valid"
    return None


def compare_bodies(
    sample: ReadBackSample, found: Sequence[bytes | None], result: RemoteVerification
) -> RemoteVerification:
    """Compare what was read back with the local leaves: the sample's entries, then its records; None for missing ones.
    A missing large artifact is no problem, because those are sent separately."""
    items: list[Entry | Record] = [*sample.entries, *sample.records]
    if len(found) != len(items):
        result.findings.append(f"the remote returned {len(found)} items, but {len(items)} were requested")
        return result
    for item, body in zip(items, found, strict=True):
        if body is None and isinstance(item, Entry) and artifact_index.is_referenced(item.meta):
            continue
        result.items += 1
        result.bytes += len(body or b"")
        if body is None:
            result.findings.append(f"{_named(item)} is missing on the remote")
        elif not merkle.leaf_holds(item.leaf, body):
            result.findings.append(f"the content of {_named(item)} on the remote differs from the local content")
    return result


def _named(item: Entry | Record) -> str:
    return item.path if isinstance(item, Entry) else f"the record {item.id}"
