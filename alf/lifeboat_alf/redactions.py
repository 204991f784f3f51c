"""Redactions: which bytes of a history are destroyed, and what stands in their place (ALF §3.1.11).

A purge appends, it rewrites no history. A redaction names the leaves of what goes, for each of them what stands there
instead, and is signed like a state. Applied to a vault it destroys bytes, salt and content hash, and keeps the leaf:
digests, signatures and numbers of all sequences stay as they are. Every vault holds the list, which only grows; who
has it drops named leaves on arrival, in any order, any number of times.

Nothing in a redaction says what was destroyed: leaves are salted, the salt is destroyed with the bytes, ids are keyed.
An edit tells where bytes stood and how many there were.

    {"version": 1, "id": uuid, "agent_id", "scope": "record_purge" | "full_agent", "reason", "requested_at",
     "requested_by", "record_ids": [uuid...], "partitions_affected": [path...], "searched": [number...],
     "leaves": {leaf: null | {"leaf", "salt", "edits": [[offset, length] | [offset, length, base64]...]}},
     "signature": see `lifeboat_keys.redacting`}

`leaves` maps to null where nothing stands there any more: a record that is gone from its partition. An entry is never
gone, its path is covered by digests; its bytes may be none. `searched` are the sequences that were looked through.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from lifeboat_alf import codec, merkle, metas
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.state import LEAF_BYTES, SALT_BYTES, Leaf

JsonObject = dict[str, Any]

VERSION = 1
RECORDS, WHOLE_AGENT = "record_purge", "full_agent"
SCOPES = (RECORDS, WHOLE_AGENT)


class Edit(NamedTuple):
    """`length` bytes from `offset` on, counted in the old bytes, give way to `insert`."""

    offset: int
    length: int
    insert: bytes = b""


class Replacement(NamedTuple):
    """What stands where a leaf's bytes were: the leaf (with its salt) that it commits to, and the edits that make it of
    the old bytes, in order and apart from each other."""

    leaf: Leaf
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Redaction:
    """See the module. `leaves` by digest; `signature` None until it is signed."""

    id: str
    agent_id: str
    scope: str
    reason: str
    requested_at: str
    requested_by: str
    record_ids: tuple[str, ...] = ()
    partitions_affected: tuple[str, ...] = ()
    searched: tuple[int, ...] = ()
    leaves: Mapping[bytes, Replacement | None] = field(default_factory=dict)
    signature: JsonObject | None = None

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 over all but the signature, in canonical JSON: what is signed, and what receipts name."""
        return hashlib.sha256(codec.canonical(self.statement())).digest()

    def statement(self) -> JsonObject:
        """The document without its signature."""
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


class Redactions:
    """Those that are known of one agent, by the leaves they name."""

    def __init__(self, known: Iterable[Redaction] = ()) -> None:
        self._known = {redaction.id: redaction for redaction in known}
        self._by_leaf: dict[bytes, Redaction] = {}
        for redaction in self._known.values():
            for leaf in redaction.leaves:
                self._by_leaf.setdefault(leaf, redaction)

    def __iter__(self) -> Iterator[Redaction]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, redaction_id: str) -> bool:
        return redaction_id in self._known

    def naming(self, leaf: bytes) -> Redaction | None:
        """The redaction that names a leaf."""
        return self._by_leaf.get(leaf)

    def replacement(self, leaf: bytes) -> Replacement | None:
        """What stands in a leaf's place; None when the leaf is not named, or nothing does."""
        redaction = self._by_leaf.get(leaf)
        return None if redaction is None else redaction.leaves[leaf]

    def is_gone(self, leaf: bytes) -> bool:
        """Whether nothing stands in a leaf's place."""
        redaction = self._by_leaf.get(leaf)
        return redaction is not None and redaction.leaves[leaf] is None

    def hold(self, leaf: Leaf, body: bytes) -> bool:
        """Whether bytes are what a leaf commits to, or what a redaction put in their place."""
        if leaf.salt:
            return merkle.leaf_holds(leaf, body)
        replacement = self.replacement(leaf.digest)
        return replacement is not None and merkle.leaf_holds(replacement.leaf, body)

    @cached_property
    def record_ids(self) -> frozenset[str]:
        """Of all purged records."""
        return frozenset(record_id for redaction in self for record_id in redaction.record_ids)

    def meta(self, meta: JsonObject, leaf: bytes) -> JsonObject:
        """An entry's meta as it reads now: without the ids of purged records, its cuts where they lie in the bytes that
        stand there. The meta itself is covered by digests and never changes."""
        if not self._known:
            return meta
        made = dict(meta)
        if metas.RECORDS in meta:
            made[metas.RECORDS] = [each for each in meta[metas.RECORDS] if each not in self.record_ids]
        attachment = meta.get(metas.ATTACHMENT)
        if attachment and "referenced_by" in attachment:
            kept = [each for each in attachment["referenced_by"] if each not in self.record_ids]
            made[metas.ATTACHMENT] = {**attachment, "referenced_by": kept}
        replacement = self.replacement(leaf)
        if metas.CUTS in meta and replacement is not None:
            made[metas.CUTS] = [{**cut, "offset": moved(cut["offset"], replacement.edits)} for cut in meta[metas.CUTS]]
        return made


NONE = Redactions()
"""Of a state of which nothing was purged."""


# Edits --------------------------------------------------------------------------------------------------------------


def edited(body: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes that edits leave. Raises RedactionInvalid for edits that are not in order, or not of these bytes."""
    pieces, position = [], 0
    for edit in edits:
        if edit.offset < position or edit.length < 0 or edit.offset + edit.length > len(body):
            raise RedactionInvalid("an edit is not of these bytes")
        pieces += [body[position : edit.offset], edit.insert]
        position = edit.offset + edit.length
    return b"".join([*pieces, body[position:]])


def moved(offset: int, edits: Iterable[Edit]) -> int:
    """Where a position of the old bytes lies in the edited ones; one inside an edit lies at its beginning."""
    shift = 0
    for edit in edits:
        if edit.offset >= offset:
            break
        if offset < edit.offset + edit.length:
            return edit.offset + shift
        shift += len(edit.insert) - edit.length
    return offset + shift


def replacement_of(body: bytes, edits: Iterable[Edit]) -> Replacement:
    """What stands in the place of bytes, under a fresh salt."""
    chosen = tuple(edits)
    return Replacement(merkle.new_leaf(edited(body, chosen)), chosen)


def replaced(body: bytes, replacement: Replacement) -> bytes:
    """What stands in the place of these bytes, which may be it already. Raises RedactionInvalid."""
    if merkle.leaf_holds(replacement.leaf, body):
        return body
    made = edited(body, replacement.edits)
    if not merkle.leaf_holds(replacement.leaf, made):
        raise RedactionInvalid("the edits do not lead to the bytes that the redaction names")
    return made


# JSON ---------------------------------------------------------------------------------------------------------------


def from_json(document: Any) -> Redaction:
    """A redaction from outside. Raises RedactionInvalid. Says nothing about who signed it."""
    try:
        return _from_json(document)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise RedactionInvalid(f"the redaction is not well formed: {type(error).__name__}") from None


def _from_json(document: JsonObject) -> Redaction:
    if document["version"] != VERSION or document["scope"] not in SCOPES:
        raise ValueError("unknown version or scope")
    signature = document.get("signature")
    if signature is not None and not isinstance(signature, dict):
        raise TypeError("the signature is no object")
    leaves = document["leaves"]
    return Redaction(
        id=_text(document["id"]),
        agent_id=_text(document["agent_id"]),
        scope=document["scope"],
        reason=_text(document["reason"]),
        requested_at=_text(document["requested_at"]),
        requested_by=_text(document["requested_by"]),
        record_ids=tuple(_text(each) for each in document["record_ids"]),
        partitions_affected=tuple(_text(each) for each in document["partitions_affected"]),
        searched=tuple(_count(each) for each in document["searched"]),
        leaves={_bytes(leaf, LEAF_BYTES): _replacement_of_json(leaves[leaf]) for leaf in leaves},
        signature=signature,
    )


def _replacement_to_json(replacement: Replacement | None) -> JsonObject | None:
    if replacement is None:
        return None
    leaf = replacement.leaf
    edits = [_edit_to_json(edit) for edit in replacement.edits]
    return {"leaf": leaf.digest.hex(), "salt": leaf.salt.hex(), "edits": edits}


def _edit_to_json(edit: Edit) -> list[int | str]:
    place: list[int | str] = [edit.offset, edit.length]
    return [*place, base64.b64encode(edit.insert).decode()] if edit.insert else place


def _replacement_of_json(value: Any) -> Replacement | None:
    if value is None:
        return None
    leaf = Leaf(_bytes(value["leaf"], LEAF_BYTES), _bytes(value["salt"], SALT_BYTES))
    return Replacement(leaf, tuple(_edit_of_json(each) for each in value["edits"]))


def _edit_of_json(value: list[Any]) -> Edit:
    offset, length, *insert = value
    data = base64.b64decode(_text(insert[0]), validate=True) if insert else b""
    return Edit(_count(offset), _count(length), data)


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
        raise ValueError("not so many bytes in hexadecimal")
    return data
