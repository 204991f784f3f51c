"""Exports a state as a bundle (AIMEM §2): memories with their relations, entities and vectors.

The first pass, `memory_selection`, decides which memories are included. The second pass, here, writes them as they are
read and keeps only ids in memory. Every text is cleaned before it is written; hashes are those of the cleaned texts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.effective_view import in_append_order
from lifeboat_alf.memory.embeddings import StateVectors, has_inline
from lifeboat_alf.memory.record_shapes import keep_fitting_fields
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Entry, State
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import chunks, identity_texts
from lifeboat_formats.aimem.convert.bundle_options import ProducerOptions
from lifeboat_formats.aimem.convert.chunks import BundleNaming, RecordEdge
from lifeboat_formats.aimem.convert.existing_memories import ORPHANS, read_orphans
from lifeboat_formats.aimem.convert.long_memories import parts_of
from lifeboat_formats.aimem.convert.memory_selection import MemorySelection, mark_superseded, select_memories
from lifeboat_formats.aimem.wire import checksum, float_vectors, instants, urn
from lifeboat_formats.aimem.wire.bundle_checks import is_tenant
from lifeboat_formats.aimem.wire.bundle_model import EXTENSION, FORMAT, SCOPES, SINCE, VERSION, BundleRefused, Envelope
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.contract import ConversionContext, FormatNotice
from lifeboat_formats.interchange.errors import InterchangeError

__all__ = ["ProducedBundle", "ProducerOptions", "list_export_losses", "produce_bundle"]

_EPOCH = "1970-01-01T00:00:00Z"


@dataclass(slots=True)
class ProducedBundle:
    """A bundle that is ready to be written. `figures` count its records and what the cleaner found."""

    writer: BundleWriter
    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)


@contextmanager
def produce_bundle(
    state: State, writer_options: ProducerOptions, around: ConversionContext
) -> Iterator[ProducedBundle]:
    """Export a state as a bundle.

    Raises InterchangeError for invalid options, BundleRefused for what a bundle cannot hold, and the errors of the
    cleaner.
    """
    options, chosen = _checked(writer_options, state, around), select_memories(state, writer_options)
    named = agent_name(state)
    if options.cleaner is not None:
        named = options.cleaner.clean(named, where="the agent's name")
    with BundleWriter(_envelope(options, chosen, around, named), own_namespace=not options.preserve_ids) as writer:
        producing = _BundleProducer(state, options, chosen, writer, options.cleaner)
        producing.run()
        figures = {name: count for name, count in writer.counts().items()}
        figures |= producing.figures() | (options.cleaner.figures() if options.cleaner is not None else {})
        yield ProducedBundle(writer, producing.fates, [*producing.notices(), *writer.notices()], figures)


def list_export_losses(state: State, options: ProducerOptions) -> list[ItemFate]:
    """Return what a bundle would not hold unchanged. Nothing is cleaned."""
    checked = _checked(options, state, ConversionContext(_EPOCH))
    producing = _BundleProducer(state, checked, select_memories(state, options), _DiscardingSink(), None)
    producing.run()
    return [fate for fate in producing.fates if fate.outcome is not ItemOutcome.ACCEPTED]


def agent_name(state: State) -> str:
    """Return the name of a state's agent, "" if the state has none."""
    entry = state.entry(archive_layout.MANIFEST)
    head = json_codec.decode_json(state.body(archive_layout.MANIFEST)) if entry is not None else {}
    agent = head.get("agent") if isinstance(head, dict) else None
    return str(agent.get("name") or "") if isinstance(agent, dict) else ""


# Options ------------------------------------------------------------------------------------------------------------


def _checked(options: ProducerOptions, state: State, around: ConversionContext) -> ProducerOptions:
    """Return the options with their defaults filled in. Raises InterchangeError."""
    agent_id = ids.as_uuid(state.sequence.agent_id)
    producer = options.producer or around.identity.producer or default_producer(agent_id)
    tenant_id = options.tenant_id or agent_id
    if not urn.is_namespace(producer):
        raise InterchangeError("the producer must have 1 to 63 characters from a-z, 0-9 and -").with_again(
            "--producer", "example-com"
        )
    if not is_tenant(tenant_id):
        raise InterchangeError("the tenant must be a UUID or a URI").with_again("--tenant", "did:web:example.com")
    if options.scope not in SCOPES:
        raise InterchangeError(f"the scope must be one of {', '.join(SCOPES)}").with_again("--scope", "FULL")
    if options.scope == SINCE and not instants.is_instant(options.since):
        refused = InterchangeError("with the scope SINCE, since is a time in UTC")
        raise refused.with_again("--scope", "SINCE", "--since", "2026-04-01T09:30:00Z")
    since = options.since if options.scope == SINCE else None
    return replace(options, since=since, producer=producer, tenant_id=tenant_id)


def default_producer(agent_id: str) -> str:
    """Return the namespace of an installation without its own name."""
    return f"alf-{hashlib.sha256(agent_id.encode()).hexdigest()[:8]}"


def _envelope(options: ProducerOptions, chosen: MemorySelection, around: ConversionContext, named: str) -> Envelope:
    made = Envelope(
        FORMAT,
        VERSION,
        options.producer,
        options.tenant_id,
        chunks.format_utc(around.now),
        options.scope,
        options.since,
    )
    if not options.pure:
        made.extra = {aimem_mapping.OURS: {"agent_name": named}}
    if chosen.vectors is not None:
        made.embedding_dim = chosen.vectors.dimensions
        made.embedding_model = aimem_mapping.model_name_of(chosen.vectors.model)
    return made


# Writing ------------------------------------------------------------------------------------------------------------


class _DiscardingSink:
    """Discards the records that a `BundleWriter` would take, to find out what would be lost."""

    def chunk(self, chunk: JsonObject) -> None:
        return None

    def edge(self, edge: JsonObject) -> None:
        return None

    def entity(self, entity: JsonObject) -> None:
        return None

    def link(self, link: JsonObject) -> None:
        return None


@dataclass(slots=True)
class _BundleProducer:
    """The export of one bundle. `fates` are complete after `run`."""

    state: State
    options: ProducerOptions
    chosen: MemorySelection
    sink: BundleWriter | _DiscardingSink
    cleaner: Cleaner | None
    fates: list[ItemFate] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _naming: BundleNaming = field(init=False)
    _vectors: StateVectors = field(init=False)
    _entities: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._naming = BundleNaming(self.options.producer, self.options.preserve_ids)
        self._vectors = StateVectors(self.state)

    def run(self) -> None:
        """Write all records."""
        self.fates += self.chosen.fates
        if self.options.preserve_ids:
            self._keep_names()
        for record in in_append_order(self.state):
            if record.id in self.chosen.included:
                self._record(
                    mark_superseded(keep_fitting_fields(memory_records.parse_record(record.line)), self.chosen.chains),
                    record.line,
                )
        self._identity()
        if self.options.scope == "FULL":
            for entity in read_orphans(self.state):
                self._orphan(entity)
        self.fates += _omitted_parts(self.state, with_identity=self.options.include_identity)

    def figures(self) -> dict[str, int]:
        """Return counts for the receipt."""
        return {"edges_dropped": self.counts["edges_dropped"]} if self.counts["edges_dropped"] else {}

    def notices(self) -> list[FormatNotice]:
        """Return notices about the export."""
        found = []
        if self.options.scope == SINCE:
            text = "memories deleted since that time are not reported, because a bundle cannot express deletions"
            found.append(FormatNotice("no_deletions", text))
        if self.counts["edges_dropped"]:
            text = f"relations to memories outside the bundle were left out ({self.counts['edges_dropped']})"
            found.append(FormatNotice("edges_dropped", text))
        if self.counts["rounded"]:
            text = f"embeddings were rounded to float32 ({self.counts['rounded']})"
            found.append(FormatNotice("vectors_rounded", text))
        if self.options.preserve_ids:
            found.append(
                FormatNotice(
                    "foreign_namespace",
                    "ids of memories from other programs were kept; strict AIMEM readers reject such ids",
                )
            )
        return found

    # Chunks -----------------------------------------------------------------------------------------------------

    def _record(self, record: JsonObject, line: bytes) -> None:
        name, pure = self._name_of(str(record["id"])), self.options.pure
        chunk = chunks.chunk_of(record, name, self.options.producer)
        lost = sorted(chunk.get(aimem_mapping.OURS, {}).keys() - {"origin_id"}) if pure else []
        if pure:
            chunk.pop(aimem_mapping.OURS, None)
        cleaned = self._cleaned_chunk(chunk)
        # A vector of the uncleaned content would reveal it.
        embedding = self._embedding(record, line, pure=pure) if cleaned["content"] == chunk["content"] else None
        parts = self._parts(record, self._with_embedding(cleaned, embedding))
        for part in parts:
            self.sink.chunk(part)
        for part in parts[1:]:
            joined = {"source_id": part["id"], "target_id": parts[0]["id"], "edge_type": aimem_mapping.PART_OF}
            self.sink.edge({**joined, "weight": 1.0, "created_at": part["created_at"]})
        self._record_fate(record, lost, is_cleaned=cleaned != chunk, is_parted=pure and len(parts) > 1)
        self._edges(record, parts[0]["id"])
        self._links(record, parts[0]["id"])

    def _record_fate(self, record: JsonObject, lost: list[str], *, is_cleaned: bool, is_parted: bool) -> None:
        reasons = ["cleaned"] if is_cleaned else []
        reasons += ["in parts"] if is_parted else []
        reasons += [f"exported without these fields: {', '.join(lost)}"] if lost else []
        outcome = ItemOutcome.TRANSFORMED if reasons else ItemOutcome.ACCEPTED
        self.fates.append(ItemFate("memory", str(record["id"]), outcome, "; ".join(reasons)))

    def _parts(self, record: JsonObject, chunk: JsonObject) -> list[JsonObject]:
        if str(record["id"]) not in self.chosen.long:
            return [chunk]
        return parts_of(chunk, pure=self.options.pure)

    def _keep_names(self) -> None:
        """Find the foreign names that memories keep. Of several memories with one name, the first current one keeps
        it."""
        for record in in_append_order(self.state):
            if record.id in self.chosen.included and self.chosen.chains.wins(record.id):
                name = self._naming.chunk(keep_fitting_fields(memory_records.parse_record(record.line)))
                if name not in self._taken and name != self._naming.of_id(record.id):
                    self._taken.add(name)
                    self._names[record.id] = name

    def _name_of(self, record_id: str) -> str:
        return self._names.get(record_id) or self._naming.of_id(record_id)

    def _cleaned_chunk(self, chunk: JsonObject) -> JsonObject:
        if self.cleaner is None:
            return chunk
        where = chunk["id"]
        content = self.cleaner.clean(chunk["content"], where=where)
        made = {**chunk, "content": content, "content_hash": checksum.hash_content(content)}
        for name in made.keys() - _STRUCTURAL:
            made[name] = self.cleaner.clean_value(made[name], where=f"{where} {name}")
        if self.cleaner.redacts and aimem_mapping.OURS in made:
            made[aimem_mapping.OURS] = _without_literals(made[aimem_mapping.OURS])
        if "tags" in made:
            made["tags"] = list(dict.fromkeys(tag for tag in made["tags"] if 0 < len(tag) <= aimem_mapping.TAG_LENGTH))
        return made

    def _clean(self, value: JsonObject, where: str) -> JsonObject:
        if self.cleaner is None:
            return value
        made = dict(value)
        for name in made.keys() - _STRUCTURAL:
            made[name] = self.cleaner.clean_value(made[name], where=f"{where} {name}")
        for name in ("edge_type", "kind"):
            if made.get(name) != value.get(name):
                made[name] = EXTENSION + "redacted"
        return made

    # Vectors ----------------------------------------------------------------------------------------------------

    def _embedding(self, record: JsonObject, line: bytes, *, pure: bool) -> tuple[str, JsonObject] | None:
        """Return a record's vector as its chunk holds it, and what else is known of it."""
        kind = self.chosen.vectors
        if kind is None:
            return None
        found = [each for each in self._vectors_of(record, line) if _is_of(each, kind.model, kind.dimensions)]
        if not found:
            return None
        latest = max(found, key=lambda each: str(each.get("computed_at")))
        try:
            text = float_vectors.pack_vector(latest["vector"])
        except float_vectors.BadVector:
            self.fates.append(
                ItemFate(
                    "vector", str(record["id"]), ItemOutcome.REJECTED, "a number in the vector is too large for float32"
                )
            )
            return None
        self.counts["rounded"] += not float_vectors.is_exact_in_float32(
            float_vectors.shortest_floats(float_vectors.unpack_vector(text, kind.dimensions))
        )
        said = {"model": kind.model, "computed_at": latest.get("computed_at"), "source": latest.get("source")}
        return text, {} if pure else {name: value for name, value in said.items() if isinstance(value, str)}

    def _vectors_of(self, record: JsonObject, line: bytes) -> list[JsonObject]:
        inline = record.get("embeddings") if has_inline(line) else None
        held = [each for each in inline if isinstance(each, dict)] if isinstance(inline, list) else []
        try:
            return [*self._vectors.of(str(record["id"])), *held]
        except ArchiveError:
            return held

    def _with_embedding(self, chunk: JsonObject, embedding: tuple[str, JsonObject] | None) -> JsonObject:
        if embedding is None:
            return chunk
        text, said = embedding
        made = {**chunk, "embedding": text}
        return {**made, aimem_mapping.OURS: {**chunk.get(aimem_mapping.OURS, {}), "embedding": said}} if said else made

    # Edges and entities -----------------------------------------------------------------------------------------

    def _edges(self, record: JsonObject, name: str) -> None:
        seen: set[tuple[str, str, str]] = set()
        for edge in chunks.edges_of(record):
            other = self.chosen.end_of(edge.other)
            # The other end is left out, or is an earlier version of this memory.
            if other is None or other == record["id"] != edge.other:
                self._dropped(record, edge)
                continue
            first = f"{self._name_of(other)}.p1" if other in self.chosen.long else self._name_of(other)
            source, target = (first, name) if edge.is_swapped else (name, first)
            key = (source, target, edge.edge["edge_type"])
            if key in seen:
                self._edge_fate(record, edge, ItemOutcome.DEDUPLICATED, "the relation is a duplicate")
                continue
            seen.add(key)
            made, lost = self._plain(edge.edge)
            self.sink.edge(self._clean({"source_id": source, "target_id": target, **made}, name))
            self._edge_fate(record, edge, ItemOutcome.TRANSFORMED if lost else ItemOutcome.ACCEPTED, lost)

    def _plain(self, item: JsonObject) -> tuple[JsonObject, str]:
        """Return an edge or a link without members that strict readers do not know, and a description of the loss."""
        ours = item.get(aimem_mapping.OURS)
        if not self.options.pure or not ours:
            return item, ""
        lost = sorted(ours.keys() - {"field"})
        plain = {name: value for name, value in item.items() if name != aimem_mapping.OURS}
        return plain, f"exported without these fields: {', '.join(lost)}" if lost else ""

    def _dropped(self, record: JsonObject, edge: RecordEdge) -> None:
        if edge.edge["edge_type"] == "x-supersedes" and not self.options.include_history:
            return  # the fate of the superseded memory covers it
        self.counts["edges_dropped"] += 1
        is_here = self.state.record(edge.other) is not None
        reason = (
            "the target of this relation is not in the bundle"
            if is_here
            else "the target of this relation does not exist"
        )
        self._edge_fate(record, edge, ItemOutcome.OMITTED if is_here else ItemOutcome.UNRESOLVED, reason)

    def _edge_fate(self, record: JsonObject, edge: RecordEdge, outcome: ItemOutcome, reason: str = "") -> None:
        name = f"{record['id']} {edge.edge['edge_type']} {edge.other}"
        self.fates.append(ItemFate("relation", name, outcome, reason))

    def _links(self, record: JsonObject, name: str) -> None:
        seen: set[str] = set()
        for linked in chunks.entities_of(record, self._naming):
            entity_name = linked.entity["id"]
            if entity_name not in self._entities:
                self._entities.add(entity_name)
                self.sink.entity(self._clean(linked.entity, entity_name))
            link, lost = self._plain(linked.link)
            outcome = ItemOutcome.TRANSFORMED if lost else ItemOutcome.ACCEPTED
            if entity_name in seen:
                outcome, lost = ItemOutcome.DEDUPLICATED, "the relation is a duplicate"
            else:
                seen.add(entity_name)
                self.sink.link(self._clean({"chunk_id": name, "entity_id": entity_name, **link}, name))
            self.fates.append(ItemFate("entity", f"{record['id']} {entity_name}", outcome, lost))

    def _orphan(self, entity: JsonObject) -> None:
        name = self._naming.orphan(entity)
        if name in self._entities:
            return
        try:
            self.sink.entity(self._clean({**entity, "id": name}, name))
        except BundleRefused as problem:
            self.fates.append(
                ItemFate(
                    "entity", name, ItemOutcome.REJECTED, "a bundle cannot represent this entity", problem.format_code
                )
            )
            return
        self._entities.add(name)
        self.fates.append(ItemFate("entity", name, ItemOutcome.ACCEPTED))

    def _identity(self) -> None:
        if not self.options.include_identity:
            return
        for chunk in identity_texts.chunks_of(self.state, self.options.producer, pure=self.options.pure):
            self.sink.chunk(self._cleaned_chunk(chunk))


_STRUCTURAL = frozenset(
    {
        "id",
        "content",
        "content_hash",
        "memory_type",
        "zone",
        "is_pinned",
        "created_at",
        "embedding",
        "source_id",
        "target_id",
        "weight",
        "chunk_id",
        "entity_id",
    }
)
"""Members without user text: generated names, words of the draft, hashes and times."""


_LITERAL = "x_"
"""Prefix of record fields that hold what a single format knows of a memory."""


def _is_of(embedding: JsonObject, model: str, dimensions: int) -> bool:
    vector = embedding.get("vector")
    fits = embedding.get("model") == model and embedding.get("dimensions") == dimensions
    return fits and isinstance(vector, list) and len(vector) == dimensions


def _without_literals(ours: JsonObject) -> JsonObject:
    """Return `x_alf` without the literals of other formats. They spell the text in their own ways, in which nothing
    could be found for redaction."""
    ext = {name: value for name, value in (ours.get("ext") or {}).items() if not name.startswith(_LITERAL)}
    kept = {name: value for name, value in ours.items() if name != "ext"}
    return kept | ({"ext": ext} if ext else {})


_KEPT = "a bundle contains only memories; this data stays in the archive"


def _omitted_parts(state: State, *, with_identity: bool) -> Iterator[ItemFate]:
    """Yield a fate for each part of a state that no bundle holds: identity, principals, credentials and files. Raw
    files whose memories have their own fates are skipped, and so is what an archive says about itself."""
    for entry in state.entries():
        fate = _part_fate(entry, with_identity=with_identity)
        if fate is not None:
            yield fate


def _part_fate(entry: Entry, *, with_identity: bool) -> ItemFate | None:
    path = entry.path
    if path == archive_layout.IDENTITY:
        if with_identity:
            return ItemFate(
                "identity",
                path,
                ItemOutcome.TRANSFORMED,
                "only the texts of the identity were written, as memories of the type identity",
            )
        return ItemFate("identity", path, ItemOutcome.OMITTED, "the identity is exported only with --include-identity")
    if path == archive_layout.PRINCIPALS:
        return ItemFate("principal", path, ItemOutcome.OMITTED, _KEPT)
    if path == archive_layout.CREDENTIALS:
        return ItemFate("credential", path, ItemOutcome.OMITTED, "a bundle never contains credentials")
    if path.startswith(archive_layout.ARTIFACTS):
        return ItemFate("artifact", path, ItemOutcome.OMITTED, _KEPT)
    if path.startswith(archive_layout.RAW) and not entry.meta.get(entry_metas.RECORDS) and path != ORPHANS:
        return ItemFate("file", path, ItemOutcome.OMITTED, _KEPT) if entry_metas.is_file(entry.meta) else None
    return None
