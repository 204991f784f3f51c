"""Redactions: which bytes of a history are destroyed, and what replaces them (ALF §3.1.11).

A purge appends a redaction; it does not rewrite history. A redaction names the leaves to destroy with a replacement for
each, and is signed like a state. Applying it to a vault destroys bytes, salt and content hash but keeps the leaf, so
digests, signatures and numbers of all sequences stay valid. Every vault keeps the list, which only grows, and drops
named leaves when they arrive, in any order and any number of times.

A redaction reveals nothing about what was destroyed: leaves are salted, the salt is destroyed with the bytes, and ids
are keyed. Edits reveal only where bytes were and how many.

    {"version": 1, "id": uuid, "agent_id", "scope": "record_purge" | "full_agent", "reason", "requested_at",
     "requested_by", "record_ids": [uuid...], "partitions_affected": [path...], "searched": [number...],
     "leaves": {leaf: null | {"leaf", "salt", "edits": [[offset, length] | [offset, length, base64]...]}},
     "signature": see `lifeboat_keys.signed.redaction_signatures`}

`leaves` maps to null for a record that is gone from its partition. An entry is never gone, because digests cover its
path; its bytes may be empty. `searched` are the sequences that were searched.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_shapes import as_object, texts_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.states import entry_metas, merkle
from lifeboat_alf.states.agent_state import LEAF_BYTES, SALT_BYTES, Leaf

VERSION = 1
RECORDS, WHOLE_AGENT = "record_purge", "full_agent"
SCOPES = (RECORDS, WHOLE_AGENT)


class ByteEdit(NamedTuple):
    """Replace `length` bytes from `offset` on, counted in the old bytes, by `insert`."""

    offset: int
    length: int
    insert: bytes = b""


class LeafReplacement(NamedTuple):
    """Replacement of a leaf's bytes: the leaf (with its salt) that commits to them, and the edits of the old bytes, in
    order and disjoint."""

    leaf: Leaf
    edits: tuple[ByteEdit, ...]


@dataclass(frozen=True)
class Redaction:
    """One redaction (see the module). `leaves` is keyed by digest; `signature` is None until it is signed."""

    id: str
    agent_id: str
    scope: str
    reason: str
    requested_at: str
    requested_by: str
    record_ids: tuple[str, ...] = ()
    partitions_affected: tuple[str, ...] = ()
    searched: tuple[int, ...] = ()
    leaves: Mapping[bytes, LeafReplacement | None] = field(default_factory=dict)
    signature: JsonObject | None = None

    @cached_property
    def digest(self) -> bytes:
        """Return SHA-256 over the document without its signature, in canonical JSON. It is what is signed and what
        receipts name."""
        return hashlib.sha256(json_codec.encode_canonical(self.statement())).digest()

    def statement(self) -> JsonObject:
        """Return the document without its signature."""
        return {
            "version": VERSION,
            "id": self.id,
            "agent_id": self.agent_id,
            "scope": self.scope,
            "reason": self.reason,
            "requested_at": self.requested_at,
            "requested_by": self.requested_by,
            "record_ids": list(self.record_ids),
            "partitions_affected": list(self.partitions_affected),
            "searched": list(self.searched),
            "leaves": {leaf.hex(): _replacement_to_json(each) for leaf, each in sorted(self.leaves.items())},
        }

    def to_json(self) -> JsonObject:
        return {**self.statement(), "signature": self.signature}


def _by_leaf(redactions: Iterable[Redaction]) -> dict[bytes, list[Redaction]]:
    found: dict[bytes, list[Redaction]] = {}
    for redaction in redactions:
        for leaf in redaction.leaves:
            found.setdefault(leaf, []).append(redaction)
    return found


def replacement_of(body: bytes, edits: Iterable[ByteEdit]) -> LeafReplacement:
    """Return the replacement of bytes after edits, under a fresh salt."""
    chosen = tuple(edits)
    return LeafReplacement(merkle.new_leaf(apply_edits(body, chosen)), chosen)


def replace_body(body: bytes, replacement: LeafReplacement) -> bytes:
    """Return the replacement of these bytes, which may already be it. Raises RedactionInvalid."""
    if merkle.leaf_holds(replacement.leaf, body):
        return body
    made = apply_edits(body, replacement.edits)
    if not merkle.leaf_holds(replacement.leaf, made):
        raise RedactionInvalid("the content after the purge does not have the hash that the purge record states")
    return made


def _widest(leaf: bytes, naming: Iterable[Redaction]) -> list[LeafReplacement]:
    """Return the replacements of a leaf that cut everything the others cut; none where one of them leaves nothing."""
    named = [redaction.leaves[leaf] for redaction in naming]
    made = [each for each in named if each is not None]
    if len(made) < len(named):
        return []
    if len(made) < 2:
        return made
    spans = [spans_of(each.edits) for each in made]
    whole = [each for each, own in zip(made, spans, strict=True) if all(covers_spans(own, other) for other in spans)]
    return sorted(whole, key=lambda each: each.leaf.digest)


class Redactions:
    """The known redactions of one agent, by the leaves they name.

    Edits count in the bytes that a leaf commits to, even where an earlier redaction has already cut them (see
    `on_top`). So of several redactions that name a leaf, the one that cuts everything the others cut decides, in any
    the order of arrival. Where none does (two machines purged independently), nothing remains: a record is gone, an
    entry is empty, until a machine that still has the bytes adds a joint redaction (see `joined_redactions`). Waiting
    redactions may still be refused and decide only where no other one does.
    """

    def __init__(self, known: Iterable[Redaction] = (), *, waiting: Iterable[Redaction] = ()) -> None:
        certain, uncertain = list(known), list(waiting)
        self._certain, self._uncertain = certain, uncertain
        self._known = {redaction.id: redaction for redaction in (*certain, *uncertain)}
        self._by_leaf, self._waiting = _by_leaf(certain), _by_leaf(uncertain)

    def __iter__(self) -> Iterator[Redaction]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, redaction_id: str) -> bool:
        return redaction_id in self._known

    def joined(self, more: Iterable[Redaction]) -> Redactions:
        """Return these and the others, none of which waits."""
        fresh = [redaction for redaction in more if redaction.id not in self._known]
        return Redactions((*self._certain, *fresh), waiting=self._uncertain) if fresh else self

    def applied(self, more: Iterable[Redaction]) -> Redactions:
        """Return these and the others as applied, including those that waited here."""
        fresh = {each.id: each for each in more if each.id not in self.without_waiting()}
        left = (each for each in self._uncertain if each.id not in fresh)
        return Redactions((*self._certain, *fresh.values()), waiting=left) if fresh else self

    def beside(self, more: Redactions) -> Redactions:
        """Return these and those of a later state. What waits for one of them waits."""
        if not len(more):
            return self
        uncertain = {each.id: each for each in (*self._uncertain, *more._uncertain)}
        certain = {each.id: each for each in (*self._certain, *more._certain) if each.id not in uncertain}
        return Redactions(certain.values(), waiting=uncertain.values())

    def without_waiting(self) -> Redactions:
        """Return the redactions that do not wait."""
        return self._without_waiting if self._uncertain else self

    @cached_property
    def _without_waiting(self) -> Redactions:
        return Redactions(self._certain)

    def naming(self, leaf: bytes) -> Redaction | None:
        """Return the redaction that decides what replaces a leaf."""
        found = self.all_naming(leaf)
        if not found:
            return None
        standing = self.replacement(leaf)
        return next((each for each in found if each.leaves[leaf] == standing), found[0])

    def all_naming(self, leaf: bytes) -> tuple[Redaction, ...]:
        """Return every redaction that names a leaf; contradictions show only in all of them together."""
        return (*self._by_leaf.get(leaf, ()), *self._waiting.get(leaf, ()))

    def is_contested(self, leaf: bytes) -> bool:
        """Return whether the redactions of a leaf contradict each other: each leaves something, and none cuts
        everything that the others cut."""
        named = self.all_naming(leaf)
        return len(named) > 1 and all(each.leaves[leaf] is not None for each in named) and not _widest(leaf, named)

    def replacement(self, leaf: bytes) -> LeafReplacement | None:
        """Return the replacement of a leaf; None when the leaf is not named or nothing replaces it."""
        return next(iter(self._standing(leaf)), None)

    def is_gone(self, leaf: bytes) -> bool:
        """Return whether nothing may replace a leaf: the record is gone, or the entry is empty.

        This also holds where redactions contradicted each other before a joint one: a reader that learned of it too
        late has lost the bytes.
        """
        named = bool(self.all_naming(leaf))
        return named and (not (self._standing(leaf) and self._standing_then(leaf)) or self._was_contested(leaf))

    def _was_contested(self, leaf: bytes) -> bool:
        made = [each.leaves[leaf] for each in self.all_naming(leaf)]
        spans = [spans_of(each.edits) for each in made if each is not None]
        return len(spans) > 2 and any(
            not covers_spans(one, other) and not covers_spans(other, one) for one, other in combinations(spans, 2)
        )

    def hold(self, leaf: Leaf, body: bytes) -> bool:
        """Return whether a leaf or a redaction accounts for these bytes."""
        if merkle.leaf_holds(leaf, body):
            return True
        may_stand = (*self._standing(leaf.digest), *self._standing_then(leaf.digest))
        if any(merkle.leaf_holds(each.leaf, body) for each in may_stand):
            return True
        return not body and self.is_gone(leaf.digest)

    def settled(self, leaf: Leaf, body: bytes) -> bytes | None:
        """Return the current bytes for bytes that came under a leaf, which may be the original ones or what any
        redaction left of them. None: nothing remains. Raises RedactionInvalid for any other bytes."""
        if not self.all_naming(leaf.digest):
            if merkle.leaf_holds(leaf, body):
                return body
            raise RedactionInvalid(
                "the content does not match its signed hash, and no purge record explains the difference"
            )
        standing = self._standing(leaf.digest)
        if not standing:
            return None
        if any(merkle.leaf_holds(each.leaf, body) for each in standing):
            return body
        if not body and not leaf.salt and self._was_contested(leaf.digest):
            return None
        for redaction in self.all_naming(leaf.digest):
            done = redaction.leaves[leaf.digest]
            if done is not None and merkle.leaf_holds(done.leaf, body):
                return replace_body(carry_edits(body, done.edits, standing[0].edits), standing[0]._replace(edits=()))
        return replace_body(body, standing[0])

    def arrived(self, leaf: Leaf, body: bytes) -> tuple[Leaf, bytes | None]:
        """Return leaf and bytes as they are stored when they arrive together, unchanged where only waiting redactions
        name the leaf. Raises RedactionInvalid for bytes without a salt that no redaction explains."""
        if self._by_leaf.get(leaf.digest):
            try:
                return Leaf(leaf.digest), self.without_waiting().settled(leaf, body)
            except RedactionInvalid:
                if not self._waiting.get(leaf.digest):
                    raise
        if leaf.salt or self.hold(leaf, body):
            return leaf, body
        raise RedactionInvalid(
            "the content does not match its signed hash, and no purge record explains the difference"
        )

    def on_top(self, leaf: bytes, replacement: LeafReplacement) -> LeafReplacement:
        """Convert a replacement of the current bytes into one of the bytes that the leaf commits to. A new redaction of
        an already named leaf needs that form."""
        standing = self.replacement(leaf)
        return (
            replacement
            if standing is None
            else replacement._replace(edits=compose_edits(standing.edits, replacement.edits))
        )

    def _standing(self, leaf: bytes) -> list[LeafReplacement]:
        """Return the possible replacements: one, or several that cut the same."""
        return _widest(leaf, self._by_leaf.get(leaf, ()) or self._waiting.get(leaf, ()))

    def _standing_then(self, leaf: bytes) -> list[LeafReplacement]:
        """Return the possible replacements once nothing waits any more."""
        return _widest(leaf, self.all_naming(leaf)) if leaf in self._waiting else self._standing(leaf)

    @cached_property
    def record_ids(self) -> frozenset[str]:
        """Return the ids of all purged records."""
        return frozenset(record_id for redaction in self for record_id in redaction.record_ids)

    def meta(self, meta: JsonObject, leaf: bytes) -> JsonObject:
        """Return an entry's meta as it reads now: without ids of purged records, with its cuts moved to their current
        places and without those in removed parts.

        The meta itself is covered by digests and never changes.
        """
        if not self._known:
            return meta
        made = dict(meta)
        if entry_metas.RECORDS in meta:
            made[entry_metas.RECORDS] = [each for each in meta[entry_metas.RECORDS] if each not in self.record_ids]
        attachment = as_object(meta.get(entry_metas.ATTACHMENT))
        if "referenced_by" in attachment:
            kept = [each for each in texts_in(attachment["referenced_by"]) if each not in self.record_ids]
            made[entry_metas.ATTACHMENT] = {**attachment, "referenced_by": kept}
        if entry_metas.CUTS in meta and leaf in self._by_leaf:
            made[entry_metas.CUTS] = self._cuts(meta[entry_metas.CUTS], leaf)
        return made

    def _cuts(self, cuts: list[JsonObject], leaf: bytes) -> list[JsonObject]:
        replacement = self.replacement(leaf)
        if replacement is None:
            return []
        return _cuts_left(cuts, replacement.edits)


def _cuts_left(cuts: list[JsonObject], edits: tuple[ByteEdit, ...]) -> list[JsonObject]:
    """Return the cuts whose secrets remain, at their current places, each with the number of its spelling where others
    were removed."""
    left, places, shortened = list[JsonObject](), Counter[str](), set[str]()
    for cut in cuts:
        credential = cut["credential_id"]
        place = cut.get(entry_metas.LITERAL, places[credential])
        places[credential] += 1
        if _inside(cut["offset"], edits):
            shortened.add(credential)
        else:
            which = {entry_metas.LITERAL: place} if credential in shortened else {}
            left.append({**cut, "offset": move_offset(cut["offset"], edits), **which})
    return left


NONE = Redactions()
"""Redactions of a state from which nothing was purged."""


# Edits --------------------------------------------------------------------------------------------------------------


def apply_edits(body: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """Apply edits to bytes. Raises RedactionInvalid for edits that are unordered or do not fit."""
    pieces, position = [], 0
    for edit in edits:
        if edit.offset < position or edit.length < 0 or edit.offset + edit.length > len(body):
            raise RedactionInvalid(
                "the changes in the purge record do not fit the content: one is out of order or lies outside of "
                "the content"
            )
        pieces += [body[position : edit.offset], edit.insert]
        position = edit.offset + edit.length
    return b"".join([*pieces, body[position:]])


def move_offset(offset: int, edits: Iterable[ByteEdit]) -> int:
    """Map a position in the old bytes to the edited ones. A position inside an edit maps to its beginning."""
    shift = 0
    for edit in edits:
        if edit.offset >= offset:
            break
        if offset < edit.offset + edit.length:
            return edit.offset + shift
        shift += len(edit.insert) - edit.length
    return offset + shift


def _inside(offset: int, edits: Iterable[ByteEdit]) -> bool:
    """Return whether a position lies strictly inside removed bytes."""
    return any(edit.offset < offset < edit.offset + edit.length for edit in edits)


def compose_edits(first: Iterable[ByteEdit], second: Iterable[ByteEdit]) -> tuple[ByteEdit, ...]:
    """Combine two runs of edits, applied one after the other, into one run counted in the original bytes."""
    pieces = _pieces(first)
    for edit in reversed(tuple(second)):
        before, rest = _split(pieces, edit.offset)
        pieces = [*before, edit.insert, *_split(rest, edit.length)[1]]
    made, position, insert = list[ByteEdit](), 0, b""
    for piece in pieces:
        if isinstance(piece, bytes):
            insert += piece
        elif len(piece):
            if piece.start > position or insert:
                made.append(ByteEdit(position, piece.start - position, insert))
            position, insert = piece.stop, b""
    return tuple(made)


_END = 1 << 60
"""Greater than any offset: the end of the last piece of bytes of unknown length."""

_Piece = range | bytes
"""A range of kept bytes, or inserted bytes."""


def _pieces(edits: Iterable[ByteEdit]) -> list[_Piece]:
    pieces: list[_Piece] = []
    position = 0
    for edit in edits:
        pieces += [range(position, edit.offset), edit.insert]
        position = edit.offset + edit.length
    return [*pieces, range(position, _END)]


def _split(pieces: list[_Piece], offset: int) -> tuple[list[_Piece], list[_Piece]]:
    """Split pieces at an offset in their combined output."""
    before: list[_Piece] = []
    for number, piece in enumerate(pieces):
        if len(piece) > offset:
            return [*before, piece[:offset]], [piece[offset:], *pieces[number + 1 :]]
        before.append(piece)
        offset -= len(piece)
    return before, []


def carry_edits(body: bytes, done: Iterable[ByteEdit], wanted: Iterable[ByteEdit]) -> bytes:
    """Return the result of `wanted` on the old bytes, given the bytes after `done`. `wanted` cuts everything that
    `done` has cut."""
    kept, position = list[tuple[range, int]](), 0
    for piece in _pieces(done):
        if isinstance(piece, range):
            kept.append((piece, position))
        position += len(piece)
    made = []
    for piece in _pieces(wanted):
        if isinstance(piece, bytes):
            made.append(piece)
            continue
        for old, at in kept:
            start, stop = max(piece.start, old.start), min(piece.stop, old.stop)
            if start < stop:
                made.append(body[at + start - old.start : at + stop - old.start])
    return b"".join(made)


def spans_of(edits: Iterable[ByteEdit]) -> list[tuple[int, int]]:
    """Return the removed spans, with touching ones joined."""
    spans: list[tuple[int, int]] = []
    for edit in edits:
        start, end = edit.offset, edit.offset + edit.length
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], end)
        elif start < end:
            spans.append((start, end))
    return spans


def covers_spans(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    return all(any(start <= first and last <= end for start, end in spans) for first, last in others)


# JSON ---------------------------------------------------------------------------------------------------------------


def decode_redaction(document: Any) -> Redaction:
    """Decode a redaction from outside, without checking its signature. Raises RedactionInvalid."""
    try:
        return _from_json(document)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error):
        raise RedactionInvalid("the purge record is not valid: a field is missing or has an invalid value") from None


def _from_json(document: JsonObject) -> Redaction:
    if document["version"] != VERSION or document["scope"] not in SCOPES:
        raise ValueError("the version or the scope of the purge record is unknown")
    signature = document.get("signature")
    if signature is not None and not isinstance(signature, dict):
        raise TypeError("the signature of the purge record must be an object")
    leaves = document["leaves"]
    if not isinstance(leaves, dict):
        raise TypeError("the hashes in the purge record must be an object")
    return Redaction(
        id=_id(document["id"]),
        agent_id=_text(document["agent_id"]),
        scope=document["scope"],
        reason=_text(document["reason"]),
        requested_at=_text(document["requested_at"]),
        requested_by=_text(document["requested_by"]),
        record_ids=tuple(map(_text, _list(document["record_ids"]))),
        partitions_affected=tuple(map(_text, _list(document["partitions_affected"]))),
        searched=tuple(map(_count, _list(document["searched"]))),
        leaves={_bytes(leaf, LEAF_BYTES): _replacement_of_json(leaves[leaf]) for leaf in leaves},
        signature=signature,
    )


def _replacement_to_json(replacement: LeafReplacement | None) -> JsonObject | None:
    if replacement is None:
        return None
    leaf = replacement.leaf
    edits = [_edit_to_json(edit) for edit in replacement.edits]
    return {"leaf": leaf.digest.hex(), "salt": leaf.salt.hex(), "edits": edits}


def _edit_to_json(edit: ByteEdit) -> list[int | str]:
    place: list[int | str] = [edit.offset, edit.length]
    return [*place, base64.b64encode(edit.insert).decode()] if edit.insert else place


def _replacement_of_json(value: Any) -> LeafReplacement | None:
    if value is None:
        return None
    leaf = Leaf(_bytes(value["leaf"], LEAF_BYTES), _bytes(value["salt"], SALT_BYTES))
    return LeafReplacement(leaf, tuple(map(_edit_of_json, _list(value["edits"]))))


def _edit_of_json(value: list[Any]) -> ByteEdit:
    offset, length, *insert = value
    data = base64.b64decode(_text(insert[0]), validate=True) if insert else b""
    return ByteEdit(_count(offset), _count(length), data)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _id(value: Any) -> str:
    """Check an id, which must have its canonical spelling because files are named after it."""
    if not (ids.is_uuid(_text(value)) and value == value.lower()):
        raise ValueError("the value must be an id")
    return str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("not a count")
    return value


def _bytes(value: Any, length: int) -> bytes:
    data = bytes.fromhex(_text(value))
    if len(data) != length or data.hex() != value:
        raise ValueError("the value must be hexadecimal and have the expected length")
    return data
