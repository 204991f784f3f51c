"""A folder of bundles as an agent's workspace: which files are bundles, which memories stand in them, and how they are
written for an agent that comes from elsewhere."""

from __future__ import annotations

import io
import uuid
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from lifeboat_adapters.contract import Rendered, Section
from lifeboat_alf import ids, metas
from lifeboat_alf import records as alf_records
from lifeboat_alf.effective import Effective, effective_records
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.state import State
from lifeboat_formats.aimem import chunks, instants, mapping, producing, records, spans, strict_json, urn, vectors
from lifeboat_formats.aimem.bundle import (
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
    Bundle,
    BundleRefused,
    Envelope,
)
from lifeboat_formats.aimem.linking import PART, Links
from lifeboat_formats.aimem.options import ProducerOptions
from lifeboat_formats.aimem.parting import parts_of
from lifeboat_formats.aimem.writing import BundleWriter
from lifeboat_formats.interchange import changed
from lifeboat_formats.interchange.contract import Surroundings

RUNTIME = records.RUNTIME
RAW = f"raw/{RUNTIME}/"
SUFFIXES = (".aimem.json", ".aimem.ndjson")
FILE = "memory.aimem.json"
"""The bundle that is made for an agent from elsewhere."""
_NAMESPACE = "lifeboat"
"""The producer of a bundle that is written again from texts alone."""
_EPOCH = "1970-01-01T00:00:00Z"


def is_bundle(path: str) -> bool:
    """Whether a file of the workspace is a bundle, by its name."""
    return path.lower().endswith(SUFFIXES)


# Reading ------------------------------------------------------------------------------------------------------------


def split(path: str, text: str) -> list[Section] | None:
    """The chunks of a bundle as sections, and what stands between them. None for a file that is none."""
    if not path.startswith(RAW) or not is_bundle(path):
        return None
    found = spans.scan(text)
    if found is None:
        return None
    bundle = _lenient(found)
    try:
        with Links(bundle) as links:
            return list(_sections(text, found, bundle, links))
    except BundleRefused:  # entities that are too large by far; the memories without them are all there is to see
        with Links(replace(bundle, chunk_entities=[])) as links:
            return list(_sections(text, found, bundle, links))


def _sections(text: str, found: spans.Scan, bundle: Bundle, links: Links) -> Iterator[Section]:
    origin, at, seen = records.Origin.of_bundle(bundle), 0, set()
    for item in sorted(found.items[CHUNKS], key=lambda item: item.start):
        if not is_chunk(item.value) or item.value["id"] in seen:
            continue
        seen.add(item.value["id"])
        chunk = links.joined(item.value)
        if chunk is None:
            continue
        if item.start > at:
            yield Section(text[at : item.start], memory="")
        yield _section(text[item.start : item.end], chunk, origin, links)
        at = item.end
    if at < len(text):
        yield Section(text[at:], memory="")


def _section(content: str, chunk: JsonObject, origin: records.Origin, links: Links) -> Section:
    name = chunk["id"]
    record_id = links.record_id(name) or records.id_of(chunk)
    record = records.record_of(_without_bad_vector(chunk, origin), origin, record_id)
    for edge in links.edges(name):
        other = edge["source_id"] if records.is_swapped(edge) else edge["target_id"]
        other_id = links.record_id(links.whole_of(other)) or links.record_id(other)
        if other_id is not None:
            record.setdefault("related_records", []).append(records.related_of(edge, other_id))
    for entity, link in links.links(name):
        record.setdefault("entities", []).append(records.entity_of(entity, link))
    return Section(content, heading_of(name), _fields(record), chunk["content"], record_id, (mapping.NAME,))


def heading_of(name: str) -> tuple[str, ...]:
    """By what a chunk is known again: its name, and the id of a record in it last."""
    found = urn.parsed(name)
    return (name, found.local) if found is not None and ids.is_version_7(found.local) else (name,)


def _fields(record: JsonObject) -> JsonObject:
    """What follows from a chunk for a record of a workspace, which is dated by its capture: the time of the chunk is
    when it was observed."""
    temporal = record["temporal"]
    moments = {"observed_at": temporal["created_at"], **temporal}
    del moments["created_at"]
    whole = {**record, "temporal": moments}
    marked = changed.marked(whole, mapping.NAME, record[mapping.NAME])
    return {name: value for name, value in marked.items() if name not in ("id", "content")}


def _without_bad_vector(chunk: JsonObject, origin: records.Origin) -> JsonObject:
    text = chunk.get("embedding")
    if text is None:
        return chunk
    try:
        vectors.decoded(text, origin.embedding_dim)
    except (vectors.BadVector, TypeError, ValueError):
        return {name: value for name, value in chunk.items() if name != "embedding"}
    return chunk if origin.embedding_model else {**chunk, "embedding": None}


def _lenient(found: spans.Scan) -> Bundle:
    """The records of a text that can be used, as a bundle that nobody checked."""
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
    return Bundle(envelope, made, edges, entities, links)


def _is_json(value: object) -> bool:
    """Whether everybody can write a value again: no half characters, no endless numbers, no bottomless nesting."""
    try:
        return strict_json.nesting(strict_json.canonical(value)) <= LIMITS.depth
    except (BundleRefused, RecursionError):
        return False


def _plain(value: object) -> str:
    return value if isinstance(value, str) and _is_json(value) else ""


def is_chunk(chunk: object) -> bool:
    """Whether a value is a chunk that a record can be made of."""
    if not isinstance(chunk, dict) or urn.parsed(chunk.get("id")) is None:
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
    return mapping.is_word(kind, EDGE_TYPES) and is_weight and instants.is_instant(edge.get("created_at"))


def _is_entity(entity: object) -> bool:
    if not isinstance(entity, dict) or urn.parsed(entity.get("id")) is None:
        return False
    named = isinstance(entity.get("name"), str) and bool(entity["name"])
    return named and mapping.is_word(entity.get("kind"), ENTITY_KINDS) and instants.is_instant(entity.get("created_at"))


def _is_link(link: object, known: set[str], named: set[str]) -> bool:
    return isinstance(link, dict) and _are_in(known, link.get("chunk_id")) and _are_in(named, link.get("entity_id"))


def _are_in(known: set[str], *names: object) -> bool:
    return all(isinstance(name, str) and name in known for name in names)


# Writing ------------------------------------------------------------------------------------------------------------


def join(path: str, memories: Sequence[tuple[str, str]]) -> str:
    """A bundle of texts of which nothing else is known; their records know it."""
    made = [(record_id, text) for record_id, text in memories if text]
    moments = [_moment(record_id) for record_id, _ in made]
    latest = max(moments, key=instants.nanoseconds, default=_EPOCH)
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
    name = chunks.Naming(_NAMESPACE).of_id(record_id)
    chunk: JsonObject = {"id": name, "content": text, "memory_type": "fact", "created_at": moment}
    return parts_of(chunk, pure=False) if len(text) > OPEN_CONTENT else [chunk]


def _moment(record_id: str) -> str:
    """The time in an id."""
    if not ids.is_version_7(record_id):
        return _EPOCH
    return instants.written((uuid.UUID(record_id).int >> 80) * 1_000_000)


def render(state: State) -> Iterator[Rendered]:
    """The bundles of a state: those that it has with what changed since, and one with what is in none."""
    entries = [entry for entry in state.entries(RAW) if is_bundle(entry.path) and entry.meta.get(metas.RECORDS)]
    counting = {record_id: item for item in effective_records(state) for record_id in item.chain_ids}
    placed: set[str] = set()
    for entry in entries:
        placed |= {str(counting[one].record["id"]) for one in entry.meta[metas.RECORDS] if one in counting}
        made = _again(
            entry.path, state.body(entry.path).decode("utf-8", "replace"), entry.meta[metas.RECORDS], counting
        )
        if made is not None:
            yield Rendered(entry.path, made.encode("utf-8", "surrogatepass"), "merged")
    new = {str(item.record["id"]) for item in counting.values() if alf_records.is_visible(item.record)} - placed
    if new or not entries:
        taken = {entry.path for entry in state.entries(RAW)}
        yield Rendered(_free(taken), _bundle_of(state, frozenset(new)), "structured")


def _free(taken: set[str]) -> str:
    names = (FILE, *(FILE.replace(".", f"-{number}.", 1) for number in range(2, len(taken) + 3)))
    return next(path for name in names if (path := RAW + name) not in taken)


def _bundle_of(state: State, only: frozenset[str]) -> bytes:
    options = ProducerOptions(only=only, producer=_producer(state))
    stream = io.BytesIO()
    with producing.produce(state, options, Surroundings(state.sequence.time)) as produced:
        produced.writer.write_json(stream)
    return stream.getvalue()


def _producer(state: State) -> str:
    return producing.default_producer(ids.as_uuid(state.sequence.agent_id))


def _again(path: str, text: str, listed: Sequence[str], counting: dict[str, Effective]) -> str | None:
    """A bundle with its memories as they are now; None where it says that already, or cannot be matched with them."""
    found = spans.scan(text)
    sections = [section for section in split(path, text) or [] if section.text]
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
    edges = _without(found, EDGES, gone, "source_id", "target_id")
    links = _without(found, LINKS, gone, "chunk_id")
    return spans.patched(text, found, {CHUNKS: changes, EDGES: edges, LINKS: links})


def _places_of_parts(found: spans.Scan, names: Container[str]) -> dict[str, list[int]]:
    """Where the parts of long memories stand, in their order. A name that stands for a memory itself is no part."""
    numbered: dict[str, dict[int, int]] = {}
    for place, item in enumerate(found.items[CHUNKS]):
        if is_chunk(item.value) and item.value["id"] not in names:
            part = PART.fullmatch(item.value["id"])
            if part is not None and part[1] in names:
                numbered.setdefault(part[1], {}).setdefault(int(part[2]), place)
    return {name: [places[number] for number in sorted(places)] for name, places in numbered.items()}


def _parts_now(
    found: spans.Scan, name: str, places: list[int], held: Effective | None, text: str
) -> dict[int, JsonObject | None]:
    """What becomes of the parts of a long memory, by their places; {} where it did not change."""
    if held is None or not alf_records.is_visible(held.record):
        return dict.fromkeys(places)
    if held.record["content"] == text:
        return {}
    whole = _edited({**found.items[CHUNKS][places[0]].value, "id": name}, held.record)
    made = parts_of(whole, pure=False, at_most=len(places))
    return {place: made[number] if number < len(made) else None for number, place in enumerate(places)}


def _edited(chunk: JsonObject, record: JsonObject) -> JsonObject:
    """A chunk whose memory was edited elsewhere: newer than it was, so that others take it."""
    made = chunks.chunk_of(record, chunk["id"], "")
    temporal = record["temporal"]
    moments = [
        chunk["created_at"],
        made["created_at"],
        chunks.utc(temporal.get("updated_at") or temporal["created_at"]),
    ]
    made["created_at"] = max(moments, key=instants.nanoseconds)
    return made


def _without(found: spans.Scan, array: str, gone: set[str], *ends: str) -> dict[int, JsonObject | None]:
    values = enumerate(found.records(array))
    return {
        place: None
        for place, value in values
        if isinstance(value, dict) and any(value.get(end) in gone for end in ends)
    }


def agent_name(data: bytes) -> str:
    """What a bundle calls its agent, "" where it does not say."""
    found = spans.scan(data.decode("utf-8", "replace"))
    said = None if found is None else found.envelope().get(mapping.OURS)
    named = said.get("agent_name") if isinstance(said, dict) else None
    return named if isinstance(named, str) and named.isprintable() else ""
