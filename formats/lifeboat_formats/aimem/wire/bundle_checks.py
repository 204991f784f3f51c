"""Validates a bundle against the draft in a fixed order: the envelope, then (elsewhere) the checksum, then the records.

The first violation is raised as BundleRefused. Records are checked in the order of the document: chunks, edges,
entities, links; each chunk from its members to its embedding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_shapes import as_text
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire import bundle_model as words
from lifeboat_formats.aimem.wire import float_vectors, instants, urn
from lifeboat_formats.aimem.wire.bundle_model import ARRAYS, AimemBundle, BundleLimits, BundleRefused, Envelope
from lifeboat_formats.aimem.wire.checksum import hash_content
from lifeboat_formats.aimem.wire.spools import SeenNames
from lifeboat_formats.interchange.contract import FormatNotice

CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")
_TAG = 64
_TENANT = 2048
_NAMED = {"format", "version", "producer", "tenant_id", "exported_at", "scope", "since", "checksum"}
_NAMED |= {"embedding_dim", "embedding_model", *ARRAYS}


def check_envelope(found: object, notices: list[FormatNotice]) -> Envelope:
    """Validate the envelope (section 2.1) without the arrays and return it. Raises BundleRefused."""
    if not isinstance(found, dict):
        raise BundleRefused("a bundle must be a JSON object", format_code="not_object")
    if found.get("format") not in (words.FORMAT, words.LEGACY_FORMAT):
        raise BundleRefused(
            f"the format of the bundle must be {words.FORMAT}", format_code="bad_format", where="format"
        )
    if found.get("version") != words.VERSION:
        raise BundleRefused(
            "only version 1 of the format is supported", format_code="unsupported_version", where="version"
        )
    producer = _text(found, "producer", urn.is_namespace, "invalid_producer", "1 to 63 characters from a-z, 0-9 and -")
    tenant_id = _text(found, "tenant_id", is_tenant, "invalid_tenant_id", "a UUID or a URI")
    exported_at = _text(found, "exported_at", instants.is_instant, "invalid_timestamp", "an ISO 8601 time in UTC")
    scope = _text(found, "scope", words.SCOPES.__contains__, "invalid_scope", f"one of {', '.join(words.SCOPES)}")
    since = _since(found, scope, notices)
    if found["format"] == words.LEGACY_FORMAT:
        notices.append(
            FormatNotice(
                "legacy_format",
                f"the bundle has the old format name {words.LEGACY_FORMAT}, from before the AIMEM draft",
            )
        )
    return Envelope(
        found["format"], words.VERSION, producer, tenant_id, exported_at, scope, since,
        embedding_dim=_dimensions(found.get("embedding_dim")),
        embedding_model=as_text(found.get("embedding_model")) or None,
        extra={name: value for name, value in found.items() if name not in _NAMED},
    )  # fmt: skip


def is_tenant(text: object) -> bool:
    """Return whether a value names a tenant: a UUID or a URI, including DIDs."""
    if not isinstance(text, str) or len(text) > _TENANT:
        return False
    return ids.is_uuid(text) or _URI.fullmatch(text) is not None


def check_arrays(found: JsonObject, limits: BundleLimits) -> dict[str, list[JsonObject]]:
    """Return the arrays of a document. Optional arrays (sections 2.4 and 2.5) may be missing and are empty then. Raises
    BundleRefused."""
    if words.CHUNKS not in found:
        raise BundleRefused("this required field is missing", format_code="missing_field", where=words.CHUNKS)
    for name in ARRAYS:
        if not isinstance(found.get(name, []), list):
            raise BundleRefused("the value is not an array", format_code="invalid_type", where=name)
        check_record_count(name, len(found.get(name, [])), limits)
    return {name: found.get(name, []) for name in ARRAYS}


def check_record_count(array: str, length: int, limits: BundleLimits) -> None:
    """Raise BundleRefused (`too_many`) if an array has more records than the limit."""
    if length > limits.of(array):
        message = f"the array has more than {limits.of(array):,} records"
        raise BundleRefused(message, format_code="too_many", status=words.TOO_LARGE, where=array)


def require_checksum(found: JsonObject) -> None:
    """Raise BundleRefused if there is no checksum."""
    if "checksum" not in found:
        raise BundleRefused("this required field is missing", format_code="missing_checksum", where="checksum")


def check_checksum(said: object, computed: str) -> str:
    """Return the checksum if it equals the computed one. Raises BundleRefused (409), also for other algorithms and
    upper-case digits."""
    if said != computed:
        reason = "the checksum does not match the content of the bundle"
        if not isinstance(said, str) or CHECKSUM.fullmatch(said) is None:
            reason = "the checksum must have the form sha256: and 64 hexadecimal digits in lower case"
        raise BundleRefused(reason, format_code="checksum_mismatch", status=words.STALE, where="checksum")
    return computed


def check_records(
    bundle: AimemBundle, names: Callable[[], SeenNames], limits: BundleLimits, *, own_namespace: bool = False
) -> None:
    """Validate all records of a bundle and add notices to it. `names` creates an empty set of names; `own_namespace`
    refuses names of other producers. Raises BundleRefused."""
    check = RecordCheck(bundle.envelope, names(), names(), limits, own_namespace)
    for index, chunk in enumerate(bundle.chunks):
        check.chunk(chunk, index)
    for index, edge in enumerate(bundle.edges):
        check.edge(edge, index)
        check.edge_ends(edge, index)
    for index, entity in enumerate(bundle.entities):
        check.entity(entity, index)
    for index, link in enumerate(bundle.chunk_entities):
        check.link(link, index)
        check.link_ends(link, index)
    bundle.notices.extend(check.notices())


@dataclass(slots=True)
class RecordCheck:
    """Validates the records of one bundle one by one. `chunk_ids` and `entity_ids` fill up meanwhile."""

    envelope: Envelope
    chunk_ids: SeenNames
    entity_ids: SeenNames
    limits: BundleLimits = words.LIMITS
    own_namespace: bool = False
    _foreign: Counter[str] = field(default_factory=Counter)
    _out_of_scope: int = 0

    def chunk(self, chunk: object, index: int) -> None:
        """Validate a chunk (section 2.2)."""
        where = f"{words.CHUNKS}[{index}]"
        found = _members(chunk, ("id", "content", "memory_type", "created_at"), where)
        self._name(found["id"], where)
        self._content(found, where)
        _one_of(found["memory_type"], words.MEMORY_TYPES, "invalid_memory_type", f"{where}.memory_type")
        zone = found.get("zone")
        if zone is not None and zone not in words.ZONES:
            raise BundleRefused(
                f"the value must be one of {', '.join(words.ZONES)}", format_code="invalid_zone", where=f"{where}.zone"
            )
        if not isinstance(found.get("is_pinned", False), bool):
            raise BundleRefused(
                "the value must be true or false", format_code="invalid_is_pinned", where=f"{where}.is_pinned"
            )
        _instant(found["created_at"], f"{where}.created_at")
        _tags(found.get("tags", []), f"{where}.tags")
        self._embedding(found.get("embedding"), f"{where}.embedding")
        if not self.chunk_ids.add(found["id"]):
            raise BundleRefused("two items have this id", format_code="duplicate_chunk_id", where=f"{where}.id")
        if self.envelope.scope == words.DNA_ONLY and not words.is_dna(found):
            self._out_of_scope += 1

    def edge(self, edge: object, index: int) -> None:
        """Validate an edge (section 2.4) without its ends."""
        where = f"{words.EDGES}[{index}]"
        found = _members(edge, ("source_id", "target_id", "edge_type", "weight", "created_at"), where)
        if not _is_kind(found["edge_type"], words.EDGE_TYPES):
            raise BundleRefused(
                "AIMEM does not define this edge type", format_code="invalid_edge_type", where=f"{where}.edge_type"
            )
        weight = found["weight"]
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            message = "the value must be a number from 0 to 1"
            raise BundleRefused(message, format_code="edge_weight_out_of_range", where=f"{where}.weight")
        _instant(found["created_at"], f"{where}.created_at")

    def edge_ends(self, edge: JsonObject, index: int) -> None:
        """Check that both ends of an edge are chunks of the bundle."""
        where = f"{words.EDGES}[{index}]"
        _known(edge["source_id"], self.chunk_ids, "edge_source_unknown", f"{where}.source_id")
        _known(edge["target_id"], self.chunk_ids, "edge_target_unknown", f"{where}.target_id")

    def entity(self, entity: object, index: int) -> None:
        """Validate an entity (section 2.5)."""
        where = f"{words.ENTITIES}[{index}]"
        found = _members(entity, ("id", "name", "kind", "created_at"), where)
        self._name(found["id"], where)
        if not _string(found["name"], f"{where}.name"):
            raise BundleRefused("this field is empty", format_code="empty_entity_name", where=f"{where}.name")
        if not _is_kind(found["kind"], words.ENTITY_KINDS):
            raise BundleRefused(
                "AIMEM does not define this entity kind", format_code="invalid_entity_kind", where=f"{where}.kind"
            )
        _instant(found["created_at"], f"{where}.created_at")
        if not self.entity_ids.add(found["id"]):
            raise BundleRefused("two items have this id", format_code="duplicate_entity_id", where=f"{where}.id")

    def link(self, link: object, index: int) -> None:
        """Validate a link between a chunk and an entity (section 2.6) without its ends."""
        _members(link, ("chunk_id", "entity_id"), f"{words.LINKS}[{index}]")

    def link_ends(self, link: JsonObject, index: int) -> None:
        """Check that both ends of a link are in the bundle."""
        where = f"{words.LINKS}[{index}]"
        _known(link["chunk_id"], self.chunk_ids, "ce_chunk_unknown", f"{where}.chunk_id")
        _known(link["entity_id"], self.entity_ids, "ce_entity_unknown", f"{where}.entity_id")

    def notices(self) -> list[FormatNotice]:
        """Return notices about what is allowed but unusual."""
        found = []
        if self._foreign:
            most, own = self._foreign.most_common(1)[0][0], self.envelope.producer
            count = self._foreign.total()
            found.append(
                FormatNotice(
                    "foreign_namespace", f"{count:,} ids do not begin with the producer's prefix urn:aimem:{own}:", most
                )
            )
        if self._out_of_scope:
            text = (
                f"{self._out_of_scope:,} chunks (memories) do not belong in a bundle of the scope "
                f"{words.DNA_ONLY}: they are neither pinned nor of a protected type"
            )
            found.append(FormatNotice("scope_violation", text))
        return found

    def _name(self, text: object, where: str) -> None:
        """Validate an id (section 2.3)."""
        found = urn.parse_urn(_string(text, f"{where}.id"))
        if found is None:
            raise BundleRefused(
                "the id must have the form urn:aimem:PRODUCER:LOCAL", format_code="invalid_urn", where=f"{where}.id"
            )
        if found.producer == self.envelope.producer:
            return
        if self.own_namespace:
            raise BundleRefused("the id belongs to another producer", format_code="invalid_urn", where=f"{where}.id")
        if found.producer in self._foreign or len(self._foreign) < _NAMESPACES:
            self._foreign[found.producer] += 1
        else:
            self._foreign[next(iter(self._foreign))] += 1

    def _content(self, chunk: JsonObject, where: str) -> None:
        content = _string(chunk["content"], f"{where}.content")
        if not content:
            raise BundleRefused("this field is empty", format_code="empty_content", where=f"{where}.content")
        if len(content) > self.limits.content:
            message = f"the content has more than {self.limits.content:,} characters"
            raise BundleRefused(message, format_code="content_too_long", where=f"{where}.content")
        said = chunk.get("content_hash")
        if said is None:
            return
        where = f"{where}.content_hash"
        if not isinstance(said, str) or CHECKSUM.fullmatch(said) is None:
            raise BundleRefused(
                "the hash must have the form sha256: and 64 hexadecimal digits",
                format_code="bad_hash_format",
                where=where,
            )
        if said != hash_content(content):
            raise BundleRefused("the hash does not match the content", format_code="hash_mismatch", where=where)

    def _embedding(self, embedding: object, where: str) -> None:
        """Validate an embedding (section 2.7)."""
        if embedding is None:
            return
        text, dimensions = _string(embedding, where), self.envelope.embedding_dim
        if dimensions is None or self.envelope.embedding_model is None:
            message = "the bundle contains an embedding but does not name its model and dimension"
            raise BundleRefused(message, format_code="embedding_envelope_missing", where=where)
        if dimensions > self.limits.dimensions:
            message = f"the embedding has more than {self.limits.dimensions:,} dimensions"
            raise BundleRefused(message, format_code="too_many", status=words.TOO_LARGE, where=where)
        try:
            float_vectors.decode_vector(text, dimensions)
        except float_vectors.BadVector as problem:
            code = "embedding_dim_mismatch" if problem.is_length else "invalid_embedding"
            raise BundleRefused(str(problem), format_code=code, where=where) from None


_NAMESPACES = 1000
"""Number of foreign namespaces that are counted separately. Further ones count with the first."""


def _text(found: JsonObject, name: str, is_good: Callable[[str], bool], code: str, wanted: str) -> str:
    if name not in found:
        raise BundleRefused("this required field is missing", format_code="missing_field", where=name)
    value = found[name]
    if not isinstance(value, str) or not is_good(value):
        raise BundleRefused(f"the value is not {wanted}", format_code=code, where=name)
    return value


def _since(found: JsonObject, scope: str, notices: list[FormatNotice]) -> str | None:
    """Return the lower bound of a SINCE bundle. With another scope it is ignored, with a notice."""
    since = found.get("since")
    if scope != words.SINCE:
        if since is not None:
            notices.append(
                FormatNotice(
                    "since_ignored", f"the field since is ignored, because the scope of the bundle is {scope}", "since"
                )
            )
        return None
    if since is None:
        raise BundleRefused("this required field is missing", format_code="since_missing", where="since")
    if not isinstance(since, str) or not instants.is_instant(since):
        raise BundleRefused("the value is not an ISO 8601 time in UTC", format_code="bad_since", where="since")
    return since


def _dimensions(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or value < 1:
        return None
    return int(value)


def _members(record: object, required: Iterable[str], where: str) -> JsonObject:
    if not isinstance(record, dict):
        raise BundleRefused("this item is not a JSON object", format_code="invalid_type", where=where)
    for name in required:
        if name not in record:
            raise BundleRefused("this required field is missing", format_code="missing_field", where=f"{where}.{name}")
    return record


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise BundleRefused("the value is not a string", format_code="invalid_type", where=where)
    return value


def _one_of(value: object, choices: tuple[str, ...], code: str, where: str) -> None:
    if _string(value, where) not in choices:
        raise BundleRefused(f"the value must be one of {', '.join(choices)}", format_code=code, where=where)


def _is_kind(value: object, choices: tuple[str, ...]) -> bool:
    if not isinstance(value, str):
        return False
    return value in choices or (value.startswith(words.EXTENSION) and len(value) > len(words.EXTENSION))


def _instant(value: object, where: str) -> None:
    if not instants.is_instant(value):
        raise BundleRefused("the value is not an ISO 8601 time in UTC", format_code="invalid_timestamp", where=where)


def _tags(tags: object, where: str) -> None:
    if not isinstance(tags, list):
        raise BundleRefused("the value is not an array", format_code="invalid_tag", where=where)
    for index, tag in enumerate(tags):
        if not isinstance(tag, str) or not 1 <= len(tag) <= _TAG:
            message = f"the value is not a string of 1 to {_TAG} characters"
            raise BundleRefused(message, format_code="invalid_tag", where=f"{where}[{index}]")


def _known(name: object, names: SeenNames, code: str, where: str) -> None:
    if _string(name, where) not in names:
        raise BundleRefused("the bundle contains no item with this id", format_code=code, where=where)
