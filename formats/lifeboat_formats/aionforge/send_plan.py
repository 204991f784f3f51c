"""Plans which memories of a state are sent to an instance, in which order and form. No instance is asked.

Only episodes and work items can be written. Other memories are sent as episodes with role `event`. The instance
generates facts, entities and notes again itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.effective_view import SuccessorChains, in_append_order
from lifeboat_alf.memory.record_shapes import keep_fitting_fields
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aionforge import aionforge_mapping, aionforge_times, node_records, nodes
from lifeboat_formats.aionforge.instance_address import AssertedPrincipal
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.aionforge.sent_notes import SentNotes
from lifeboat_formats.interchange.cleaning import Cleaner

MEMORY = "memory"
DERIVED, ARCHIVED, AS_EPISODE, CLEANED = "derived", "archived", "as_episode", "cleaned"
_OMITTED = {
    DERIVED: "Aionforge derives this memory again from its episodes, so the memory is not sent",
    ARCHIVED: "the memory is archived (forgotten), and such memories are not sent",
    "superseded": (
        "the memory is superseded, but the memory that replaces it is missing, so the superseded memory is not sent"
    ),
    "deleted": "the memory was deleted later",
}
_NO_PLACE = {
    "tags": "tags",
    "confidence": "confidence",
    "entities": "entities",
    "related_records": "relations",
}
_NO_PLACE_IN_TIME = {"valid_from": "validity", "valid_until": "validity"}


@dataclass(slots=True)
class OutgoingMemory:
    """A memory to send. `node` is its earlier form in an instance, `is_original` whether its text is unchanged; `after`
    is its predecessor, `depth` the number of predecessors. `reasons` name what is not sent along."""

    id: str
    text: str
    at: str
    depth: int = 0
    after: str | None = None
    node: AionforgeNode | None = None
    is_original: bool = False
    namespace: str = ""
    role: str = aionforge_mapping.DEFAULT_ROLE
    captured_at: str | None = None
    session: str | None = None
    is_pinned: bool = False
    is_cleaned: bool = False
    reasons: list[str] = field(default_factory=list)

    @property
    def is_work(self) -> bool:
        """Return whether the memory is a work item."""
        return self.node is not None and self.node.kind == nodes.WORK_ITEM


@dataclass(slots=True)
class SendPlan:
    """`items` in the order of sending, and `fates` of memories that are not sent."""

    items: list[OutgoingMemory] = field(default_factory=list)
    fates: list[ItemFate] = field(default_factory=list)


def plan_sending(
    state: State, asked: AssertedPrincipal, cleaner: Cleaner | None, sent: SentNotes | None = None
) -> SendPlan:
    """Plan a state. Everything is cleaned before anything is sent; without a `cleaner` texts stay as they are, for
    previews. Raises SecretsFound, SanitizerFailed."""
    found = [keep_fitting_fields(memory_records.parse_record(record.line)) for record in in_append_order(state)]
    return plan_records(found, asked, cleaner, sent)


def plan_records(
    found: list[JsonObject], asked: AssertedPrincipal, cleaner: Cleaner | None, sent: SentNotes | None = None
) -> SendPlan:
    """Plan records in append order, with all members of each chain."""
    chains = SuccessorChains.of(found)
    by_id = {str(record["id"]): record for record in found}
    made = SendPlan()
    for id, record in by_id.items():
        if memory_records.is_deleted(record):
            continue
        why = _left_out(id, record, by_id, chains)
        if why:
            made.fates.append(ItemFate(MEMORY, id, ItemOutcome.OMITTED, _OMITTED[why], why))
            continue
        item = _item(record, asked, cleaner, sent)
        item.after, item.depth = _place(id, by_id)
        made.items.append(item)
    made.items.sort(key=lambda item: (item.depth, item.namespace, item.captured_at or "", item.id))
    return made


def list_document_fates(state: State) -> Iterator[ItemFate]:
    """Yield the fates of everything that is not a memory."""
    for entry in state.entries():
        kind = _kind_of(entry.path)
        if kind is not None:
            yield ItemFate(kind, entry.path, ItemOutcome.OMITTED, _WHY.get(kind, "Aionforge does not store files"))


_WHY = {
    "identity": "Aionforge has no tool that writes core blocks (identity texts)",
    "principal": "Aionforge has no field for this data",
    "credential": "credentials are never sent to Aionforge",
    "vector": "vectors are not sent, because Aionforge computes its own",
    "document": "Aionforge has no field for this data",
}


def _kind_of(path: str) -> str | None:
    if path == archive_layout.MANIFEST or path in archive_layout.DERIVED or path.startswith("lifeboat/"):
        return None  # metadata of the archive itself
    known = {
        archive_layout.IDENTITY: "identity",
        archive_layout.PRINCIPALS: "principal",
        archive_layout.CREDENTIALS: "credential",
    }
    if path in known:
        return known[path]
    for prefix, kind in (
        (archive_layout.RAW, "file"),
        (archive_layout.ARTIFACTS, "artifact"),
        (archive_layout.EMBEDDINGS, "vector"),
    ):
        if path.startswith(prefix):
            return kind
    return "document"


def _left_out(id: str, record: JsonObject, by_id: Mapping[str, JsonObject], chains: SuccessorChains) -> str:
    """Return why a memory is not sent, or ""."""
    last = by_id.get(chains.winner(id), record)
    if memory_records.is_deleted(last):
        return "deleted"
    if memory_records.read_record_status(last) == ARCHIVED or memory_records.read_record_status(record) == ARCHIVED:
        return ARCHIVED
    if last is record and memory_records.read_record_status(record) == "superseded":
        return "superseded"
    node = node_records.node_of(record)
    rule = None if node is None else aionforge_mapping.KINDS.get(node.kind)
    return DERIVED if rule is not None and rule.derived and node_records.is_original(record) else ""


def _place(id: str, by_id: Mapping[str, JsonObject]) -> tuple[str | None, int]:
    """Return the predecessor of a memory and the number of all its predecessors."""
    above: dict[str, None] = {id: None}
    at: Any = by_id[id].get("supersedes")
    # Walk back through the predecessors. A cycle ends the walk.
    while isinstance(at, str) and at in by_id and at not in above and not memory_records.is_deleted(by_id[at]):
        above[at] = None
        at = by_id[at].get("supersedes")
    former = list(above)[1:]
    return (former[0] if former else None), len(former)


def _item(
    record: JsonObject, asked: AssertedPrincipal, cleaner: Cleaner | None, sent: SentNotes | None
) -> OutgoingMemory:
    id, node = str(record["id"]), node_records.node_of(record)
    temporal = record.get("temporal") or {}
    item = OutgoingMemory(id, str(record.get("content", "")), _changed_at(temporal), node=node)
    item.is_original = node is not None and node_records.is_original(record)
    item.captured_at = _captured_at(record, node)
    item.is_pinned = record.get(memory_records.PINNED) is True
    role = node.fields.get("role") if node is not None else None
    if isinstance(role, str) and role in aionforge_mapping.ROLES:
        item.role = role
    _take_namespace(item, record, asked)
    _take_session(item, record, sent)
    item.reasons += _without_place(record)
    if cleaner is not None:
        cleaned = cleaner.cleaned(item.text, where=f"memory {id}")
        item.text, item.is_cleaned = cleaned.text, cleaned.is_transformed
    return item


def _changed_at(temporal: JsonObject) -> str:
    return str(temporal.get("updated_at") or temporal.get("created_at") or "")


def _captured_at(record: JsonObject, node: AionforgeNode | None) -> str | None:
    """Return the instance's own spelling of a time if it is unchanged, else the normalized time."""
    found = node_records.captured_at(record)
    own = node.fields.get("captured_at") if node is not None else None
    if isinstance(own, str) and aionforge_times.is_same_time(own, found):
        return own.partition("[")[0]
    return aionforge_times.normalize_time(found)


def _take_namespace(item: OutgoingMemory, record: JsonObject, asked: AssertedPrincipal) -> None:
    namespace = str(record.get("namespace") or "default")
    if namespace == "global" or (namespace.startswith("team:") and namespace.partition(":")[2] in asked.teams):
        item.namespace = namespace
    elif namespace != "default":
        item.reasons.append("namespace")


def _take_session(item: OutgoingMemory, record: JsonObject, sent: SentNotes | None) -> None:
    session = (record.get("source") or {}).get("session_id")
    if isinstance(session, str) and session:
        item.session = session if sent is None else sent.session_for(session)


def _without_place(record: JsonObject) -> list[str]:
    found = [] if record.get("memory_type") == "episodic" else ["type"]
    found += ["category"] if record.get("category") else []
    found += [word for name, word in _NO_PLACE.items() if record.get(name) not in (None, [])]
    temporal = record.get("temporal") or {}
    found += [word for name, word in _NO_PLACE_IN_TIME.items() if temporal.get(name)]
    return list(dict.fromkeys(found))


def fate_of_item(item: OutgoingMemory) -> ItemFate:
    """Return the fate of a memory that was taken as sent."""
    said = []
    if item.is_cleaned:
        said.append("redacted")
    if item.reasons:
        said.append(f"without {', '.join(item.reasons)}")
    if not said:
        return ItemFate(MEMORY, item.id, ItemOutcome.ACCEPTED)
    code = CLEANED if item.is_cleaned else AS_EPISODE
    return ItemFate(MEMORY, item.id, ItemOutcome.TRANSFORMED, f"sent as an episode, {' and '.join(said)}", code)


def list_losses(made: SendPlan) -> Iterable[ItemFate]:
    """Yield the fates of memories that are not sent unchanged."""
    yield from made.fates
    for item in made.items:
        fate = fate_of_item(item)
        if fate.outcome is not ItemOutcome.ACCEPTED and not item.is_work:
            yield fate
