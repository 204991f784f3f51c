"""A folder of bundles as a workspace: which files are bundles, which memories they hold, and how bundles are written
for an agent from another runtime."""

from __future__ import annotations

import io
import uuid
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from lifeboat_adapters.contract import MemorySection, RenderedFile
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_shapes import as_object, as_text
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records as alf_records
from lifeboat_alf.memory.effective_view import EffectiveMemory, effective_records
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import bundle_export, chunk_records, chunks
from lifeboat_formats.aimem.convert.bundle_options import ProducerOptions
from lifeboat_formats.aimem.convert.link_index import PART, LinkIndex
from lifeboat_formats.aimem.convert.long_memories import parts_of
from lifeboat_formats.aimem.wire import float_vectors, instants, record_spans, strict_json, urn
from lifeboat_formats.aimem.wire.bundle_model import (
    ARRAYS,
    CHUNKS,
    EDGE_TYPES,
    EDGES,
    ENTITIES,
    ENTITY_KINDS,
    FORMAT,
    FULL,
    LIMITS,
    LINKS,
    MEMORY_TYPES,
    OPEN_CONTENT,
    VERSION,
    ZONES,
    AimemBundle,
    BundleRefused,
    Envelope,
)
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from lifeboat_formats.interchange import change_marks
from lifeboat_formats.interchange.contract import ConversionContext

RUNTIME = chunk_records.RUNTIME
RAW = f"raw/{RUNTIME}/"
SUFFIXES = (".aimem.json", ".aimem.ndjson")
FILE = "memory.aimem.json"
"""The bundle that is written for an agent from another runtime."""
_NAMESPACE = "lifeboat"
"""The producer of a bundle that is written from texts alone."""
_EPOCH = "1970-01-01T00:00:00Z"


def is_bundle(path: str) -> bool:
    """Return whether a file is a bundle, by its name."""
    return path.lower().endswith(SUFFIXES)


# Reading ------------------------------------------------------------------------------------------------------------


def split_sections(path: str, text: str) -> list[MemorySection] | None:
    """Return the chunks of a bundle as sections, with the text between them. None for a file that is not a bundle."""
    if not path.startswith(RAW) or not is_bundle(path):
        return None
    found = record_spans.scan_bundle(text)
    if found is None:
        return None
    bundle = _lenient(found)
    try:
        with LinkIndex(bundle) as links:
            return list(_sections(text, found, bundle, links))
    except BundleRefused:  # the linked entities are too large: show the memories without them
        with LinkIndex(replace(bundle, chunk_entities=[])) as links:
            return list(_sections(text, found, bundle, links))


def _sections(
    text: str, found: record_spans.BundleScan, bundle: AimemBundle, links: LinkIndex
) -> Iterator[MemorySection]:
    origin, at, seen = chunk_records.BundleOrigin.of(bundle), 0, set()
    for item in sorted(found.items[CHUNKS], key=lambda item: item.start):
        # Unusable and repeated chunks belong to the text between memories.
        if not is_chunk(item.value) or item.value["id"] in seen:
            continue
        seen.add(item.value["id"])
        chunk = links.joined(item.value)
        if chunk is None:
            continue
        if item.start > at:
            yield MemorySection(text[at : item.start], memory="")
        yield _section(text[item.start : item.end], chunk, origin, links)
        at = item.end
    if at < len(text):
        yield MemorySection(text[at:], memory="")


def _section(content: str, chunk: JsonObject, origin: chunk_records.BundleOrigin, links: LinkIndex) -> MemorySection:
    name = chunk["id"]
    record_id = links.record_id(name) or chunk_records.find_chunk_record_id(chunk)
    record = chunk_records.convert_chunk(_without_bad_vector(chunk, origin), origin, record_id)
    for edge in links.edges(name):
        other = edge["source_id"] if chunk_records.is_swapped(edge) else edge["target_id"]
        other_id = links.record_id(links.whole_of(other)) or links.record_id(other)
        if other_id is not None:
            record.setdefault("related_records", []).append(chunk_records.related_of(edge, other_id))
    for entity, link in links.links(name):
        record.setdefault("entities", []).append(chunk_records.entity_of(entity, link))
    return MemorySection(content, heading_of(name), _fields(record), chunk["content"], record_id, (aimem_mapping.NAME,))


def heading_of(name: str) -> tuple[str, ...]:
    """Return how a chunk is recognised: by its name, and last by the record id in it."""
    found = urn.parse_urn(name)
    return (name, found.local) if found is not None and ids.is_version_7(found.local) else (name,)


def _fields(record: JsonObject) -> JsonObject:
    """Return the record fields of a chunk. A workspace record is dated by its capture, so the chunk's time becomes
    `observed_at`."""
    temporal = record["temporal"]
    moments = {"observed_at": temporal["created_at"], **temporal}
    del moments["created_at"]
    whole = {**record, "temporal": moments}
    marked = change_marks.mark_record(whole, aimem_mapping.NAME, record[aimem_mapping.NAME])
    return {name: value for name, value in marked.items() if name not in ("id", "content")}


def _without_bad_vector(chunk: JsonObject, origin: chunk_records.BundleOrigin) -> JsonObject:
    text = chunk.get("embedding")
    if text is None:
        return chunk
    try:
        float_vectors.decode_vector(text, origin.embedding_dim)
    except (float_vectors.BadVector, TypeError, ValueError):
        return {name: value for name, value in chunk.items() if name != "embedding"}
    return chunk if origin.embedding_model else {**chunk, "embedding": None}


def _lenient(found: record_spans.BundleScan) -> AimemBundle:
    """Return the usable records of a text as an unchecked bundle."""
    said = found.envelope()
    dimensions, model = said.get("embedding_dim"), said.get("embedding_model")
    exported_at = said.get("exported_at")
    envelope = Envelope(
        FORMAT,
        VERSION,
        _plain(said.get("producer")),
        _plain(said.get("tenant_id")),
        exported_at if instants.is_instant(exported_at) and isinstance(exported_at, str) else _EPOCH,
        FULL,
        embedding_dim=dimensions if type(dimensions) is int and 0 < dimensions <= LIMITS.dimensions else None,
        embedding_model=_plain(model) or None,
    )
    arrays = {name: [each for each in found.records(name) if name == CHUNKS or _is_json(each)] for name in ARRAYS}
    made = list({chunk["id"]: chunk for chunk in reversed(arrays[CHUNKS]) if is_chunk(chunk)}.values())[::-1]
    known = {chunk["id"] for chunk in made}
    edges = [edge for edge in arrays[EDGES] if _is_edge(edge, known)]
    entities = list({each["id"]: each for each in arrays[ENTITIES] if _is_entity(each)}.values())
    named = {entity["id"] for entity in entities}
    links = [link for link in arrays[LINKS] if _is_link(link, known, named)]
    return AimemBundle(envelope, made, edges, entities, links)


def _is_json(value: object) -> bool:
    """Return whether any implementation can write a value again: no lone surrogates, no infinite numbers, bounded
    nesting."""
    try:
        return strict_json.nesting_depth(strict_json.canonical_json(value)) <= LIMITS.depth
    except (BundleRefused, RecursionError):
        return False


def _plain(value: object) -> str:
    return value if isinstance(value, str) and _is_json(value) else ""


def is_chunk(chunk: object) -> bool:
    """Return whether a record can be made of a value."""
    if not isinstance(chunk, dict) or urn.parse_urn(chunk.get("id")) is None:
        return False
    content, tags = chunk.get("content"), chunk.get("tags")
    return (
        isinstance(content, str)
        and bool(content)
        and chunk.get("memory_type") in MEMORY_TYPES
        and instants.is_instant(chunk.get("created_at"))
        and (tags is None or (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)))
        and chunk.get("zone") in (None, *ZONES)
        and chunk.get("is_pinned") in (None, True, False)
        and _is_json(chunk)
    )


def _is_edge(edge: object, known: set[str]) -> bool:
    if not isinstance(edge, dict) or not _are_in(known, edge.get("source_id"), edge.get("target_id")):
        return False
    kind, weight = edge.get("edge_type"), edge.get("weight")
    is_weight = isinstance(weight, int | float) and not isinstance(weight, bool)
    return aimem_mapping.is_word(kind, EDGE_TYPES) and is_weight and instants.is_instant(edge.get("created_at"))


def _is_entity(entity: object) -> bool:
    if not isinstance(entity, dict) or urn.parse_urn(entity.get("id")) is None:
        return False
    named = isinstance(entity.get("name"), str) and bool(entity["name"])
    return (
        named
        and aimem_mapping.is_word(entity.get("kind"), ENTITY_KINDS)
        and instants.is_instant(entity.get("created_at"))
    )


def _is_link(link: object, known: set[str], named: set[str]) -> bool:
    return isinstance(link, dict) and _are_in(known, link.get("chunk_id")) and _are_in(named, link.get("entity_id"))


def _are_in(known: set[str], *names: object) -> bool:
    return all(isinstance(name, str) and name in known for name in names)


# Writing ------------------------------------------------------------------------------------------------------------


def join_memories(path: str, memories: Sequence[tuple[str, str]]) -> str:
    """Return a bundle of texts alone, with records that know nothing else."""
    made = [(record_id, text) for record_id, text in memories if text]
    moments = [_moment(record_id) for record_id, _ in made]
    latest = max(moments, key=instants.parse_nanoseconds, default=_EPOCH)
    envelope = Envelope(FORMAT, VERSION, _NAMESPACE, f"urn:lifeboat:{path.removeprefix(RAW) or '-'}", latest, FULL)
    envelope.tenant_id = envelope.tenant_id if envelope.tenant_id.isascii() else "urn:lifeboat:workspace"
    stream = io.BytesIO()
    with BundleWriter(envelope, limits=replace(LIMITS, content=LIMITS.line)) as writer:
        for (record_id, text), moment in zip(made, moments, strict=True):
            for chunk in _chunks_of(record_id, text, moment):
                writer.chunk(chunk)
        writer.write_stream(stream) if path.lower().endswith(SUFFIXES[1]) else writer.write_json(stream)
    return stream.getvalue().decode()


def _chunks_of(record_id: str, text: str, moment: str) -> list[JsonObject]:
    name = chunks.BundleNaming(_NAMESPACE).of_id(record_id)
    chunk: JsonObject = {"id": name, "content": text, "memory_type": "fact", "created_at": moment}
    return parts_of(chunk, pure=False) if len(text) > OPEN_CONTENT else [chunk]


def _moment(record_id: str) -> str:
    """Return the time in an id."""
    if not ids.is_version_7(record_id):
        return _EPOCH
    return instants.format_nanoseconds((uuid.UUID(record_id).int >> 80) * 1_000_000)


def render_bundles(state: State) -> Iterator[RenderedFile]:
    """Yield the bundles of a state: those it has, with their changes, and one for memories in none of them."""
    entries = [entry for entry in state.entries(RAW) if is_bundle(entry.path) and entry.meta.get(entry_metas.RECORDS)]
    counting = {record_id: item for item in effective_records(state) for record_id in item.chain_ids}
    placed: set[str] = set()
    for entry in entries:
        placed |= {str(counting[one].record["id"]) for one in entry.meta[entry_metas.RECORDS] if one in counting}
        made = _again(
            entry.path, state.body(entry.path).decode("utf-8", "replace"), entry.meta[entry_metas.RECORDS], counting
        )
        if made is not None:
            yield RenderedFile(entry.path, made.encode("utf-8", "surrogatepass"), "merged")
    # Visible memories that no bundle of the state holds.
    new = {str(item.record["id"]) for item in counting.values() if alf_records.is_visible(item.record)} - placed
    if new or not entries:
        taken = {entry.path for entry in state.entries(RAW)}
        yield RenderedFile(_free(taken), _bundle_of(state, frozenset(new)), "structured")


def _free(taken: set[str]) -> str:
    names = (FILE, *(FILE.replace(".", f"-{number}.", 1) for number in range(2, len(taken) + 3)))
    return next(path for name in names if (path := RAW + name) not in taken)


def _bundle_of(state: State, only: frozenset[str]) -> bytes:
    options = ProducerOptions(only=only, producer=bundle_export.default_producer(ids.as_uuid(state.sequence.agent_id)))
    stream = io.BytesIO()
    with bundle_export.produce_bundle(state, options, ConversionContext(state.sequence.time)) as produced:
        produced.writer.write_json(stream)
    return stream.getvalue()


def _again(path: str, text: str, listed: Sequence[str], counting: dict[str, EffectiveMemory]) -> str | None:
    """Return a bundle with its memories as they are now; None if nothing changed or its memories cannot be matched."""
    found = record_spans.scan_bundle(text)
    sections = [section for section in split_sections(path, text) or [] if section.text]
    if found is None or len(sections) != len(listed):
        return None
    now = {section.heading[0]: counting.get(record_id) for section, record_id in zip(sections, listed, strict=True)}
    texts = {section.heading[0]: section.text for section in sections}
    changes: dict[int, JsonObject | None] = {}
    gone: set[str] = set()
    for place, item in enumerate(found.items[CHUNKS]):
        name = item.value.get("id") if isinstance(item.value, dict) else None
        if not isinstance(name, str) or name not in now:
            continue
        held = now[name]
        if held is None or not alf_records.is_visible(held.record):
            changes[place] = None
            gone.add(name)
        elif held.record["content"] != texts[name] and is_chunk(item.value):
            changes[place] = _edited(item.value, held.record)
    for name, places in _places_of_parts(found, now).items():
        changes |= _parts_now(found, name, places, now[name], texts[name])
        gone |= {found.items[CHUNKS][place].value["id"] for place in places if changes.get(place, ...) is None}
    if not changes:
        return None
    edges = found.drop_records(EDGES, gone.__contains__, "source_id", "target_id")
    links = found.drop_records(LINKS, gone.__contains__, "chunk_id")
    return record_spans.patch_bundle(text, found, {CHUNKS: changes, EDGES: edges, LINKS: links})


def _places_of_parts(found: record_spans.BundleScan, names: Container[str]) -> dict[str, list[int]]:
    """Return the positions of the parts of long memories, in order. A name of a whole memory is never a part."""
    numbered: dict[str, dict[int, int]] = {}
    for place, item in enumerate(found.items[CHUNKS]):
        if is_chunk(item.value) and item.value["id"] not in names:
            part = PART.fullmatch(item.value["id"])
            if part is not None and part[1] in names:
                numbered.setdefault(part[1], {}).setdefault(int(part[2]), place)
    return {name: [places[number] for number in sorted(places)] for name, places in numbered.items()}


def _parts_now(
    found: record_spans.BundleScan, name: str, places: list[int], held: EffectiveMemory | None, text: str
) -> dict[int, JsonObject | None]:
    """Return the changes of the parts of a long memory, by position; {} if it is unchanged."""
    if held is None or not alf_records.is_visible(held.record):
        return dict.fromkeys(places)
    if held.record["content"] == text:
        return {}
    whole = _edited({**found.items[CHUNKS][places[0]].value, "id": name}, held.record)
    made = parts_of(whole, pure=False, at_most=len(places))
    return {place: made[number] if number < len(made) else None for number, place in enumerate(places)}


def _edited(chunk: JsonObject, record: JsonObject) -> JsonObject:
    """Return a chunk with the content of a record. Its time is newer than before, so that other systems accept it."""
    made = chunks.chunk_of(record, chunk["id"], "")
    temporal = record["temporal"]
    moments = [
        chunk["created_at"],
        made["created_at"],
        chunks.format_utc(temporal.get("updated_at") or temporal["created_at"]),
    ]
    made["created_at"] = max(moments, key=instants.parse_nanoseconds)
    return made


def agent_name(data: bytes) -> str:
    """Return the agent's name in a bundle, "" if there is none."""
    found = record_spans.scan_bundle(data.decode("utf-8", "replace"))
    said = {} if found is None else as_object(found.envelope().get(aimem_mapping.OURS))
    named = as_text(said.get("agent_name"))
    return named if named.isprintable() else ""
