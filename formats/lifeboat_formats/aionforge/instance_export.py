"""Exports an instance: memories, core blocks as identity, audit events, and the fate of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge import aionforge_mapping, aionforge_times, core_blocks, enumeration, node_records, nodes
from lifeboat_formats.aionforge.aionforge_mapping import RUNTIME
from lifeboat_formats.aionforge.instance import AUDIT_KINDS, AionforgeInstance
from lifeboat_formats.aionforge.mcp_client import ToolFailed
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.aionforge.sent_notes import SentNotes
from lifeboat_formats.interchange.contract import FormatNotice

AUDIT = f"raw/{RUNTIME}/audit.jsonl"
UNAVAILABLE = "unavailable"
_MOST_EVENTS = 200_000


@dataclass(slots=True)
class InstanceExport:
    """Everything that a principal may see. `records` are in order of creation, predecessors first."""

    records: list[JsonObject] = field(default_factory=list)
    entries: dict[str, bytes] = field(default_factory=dict)
    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)


def export_instance(
    instance: AionforgeInstance,
    name: str,
    sent: SentNotes | None = None,
    sessions: Iterable[str] = (),
    *,
    audit: bool = True,
) -> InstanceExport:
    """Export an instance, with a fate for each id that was found. Memories that were `sent` from here get their own ids
    and sessions back. Raises InstanceFailed: a part is no export."""
    sent = sent or SentNotes({})
    made = InstanceExport()
    listed = enumeration.list_nodes(instance, sent.names(), sessions)
    found = {node.id: node for node in enumeration.read_nodes(instance, listed)}
    cores = [node for node in found.values() if node.kind == nodes.CORE]
    cores += instance.read(id for id in listed.cores if id not in found)
    memories = [node for node in found.values() if node.kind != nodes.CORE]
    made.notices += listed.notices
    made.records = list(records_of(memories, sent))
    made.fates += [ItemFate("memory", record["id"], ItemOutcome.ACCEPTED) for record in made.records]
    _take_cores(made, name, cores)
    _tell_unread(made, [*listed.ids, *listed.cores], {node.id for node in (*memories, *cores)})
    if audit and instance.has("audit_history"):
        _take_audit(made, instance)
    text = (
        "the export does not contain this data, because no Aionforge tool returns it: "
        f"{'; '.join(aionforge_mapping.UNAVAILABLE)}"
    )
    made.notices.append(FormatNotice(UNAVAILABLE, text))
    return made


def records_of(found: Sequence[AionforgeNode], sent: SentNotes | None = None) -> Iterator[JsonObject]:
    """Yield nodes as records, predecessors first."""
    sent = sent or SentNotes({})
    ours = sent.names()
    names = {node.id: ours.get(node.id) or node_records.record_id_of(node) for node in found}
    before = _predecessors(found)
    for node in _ordered(found, before):
        related = [(relation, names[id]) for relation, id in aionforge_mapping.related_nodes(node) if id in names]
        former = [names[id] for id in before.get(node.id, ())]
        # A record has one predecessor. Further ones become relations.
        related += [("supersedes", id) for id in former[1:]]
        links = node_records.RecordLinks(names[node.id], former[0] if former else None, related, sent.session(node))
        yield node_records.record_from_node(node, links)


def _predecessors(found: Sequence[AionforgeNode]) -> dict[str, list[str]]:
    """Return the predecessors of each node among the nodes found."""
    ids = {node.id for node in found}
    before: dict[str, dict[str, None]] = defaultdict(dict)
    for node in found:
        older, newer = _id(node.fields.get("supersedes")), _id(node.fields.get("superseded_by"))
        if older in ids and older != node.id:
            before[node.id][older] = None
        if newer in ids and newer != node.id:
            before[newer][node.id] = None
    return {id: list(each) for id, each in before.items()}


def _ordered(found: Sequence[AionforgeNode], before: Mapping[str, Sequence[str]]) -> Iterator[AionforgeNode]:
    """Yield nodes by time, but predecessors first. A cycle, which no instance creates, is broken where it is
    entered."""
    by_time = sorted(found, key=lambda node: (aionforge_times.to_milliseconds(node.fields.get("ingested_at")), node.id))
    waiting = {node.id: node for node in by_time}
    entered: set[str] = set()
    for node in by_time:
        stack = [node.id]
        while stack:
            id = stack[-1]
            more = [each for each in before.get(id, ()) if each in waiting and each not in entered]
            if id not in entered and more:
                entered.add(id)
                stack.extend(reversed(more))
                continue
            entered.add(id)
            stack.pop()
            if id in waiting:
                yield waiting.pop(id)


def _id(written: Any) -> str:
    return nodes.normal_id(written) if isinstance(written, str) else ""


def _take_cores(made: InstanceExport, name: str, cores: Sequence[AionforgeNode]) -> None:
    if not cores:
        return
    document = core_blocks.build_identity(cores, name, None)
    made.entries[archive_layout.IDENTITY] = json_codec.encode_pretty(document)
    made.fates += [
        ItemFate("identity", node.id, ItemOutcome.TRANSFORMED, "a core block became part of the identity")
        for node in cores
    ]


def _tell_unread(made: InstanceExport, wanted: Sequence[str], read: set[str]) -> None:
    reason = "the memory is in Aionforge's list, but was deleted or is not readable for this agent"
    unread = (id for id in dict.fromkeys(wanted) if id not in read)
    made.fates += [ItemFate("memory", id, ItemOutcome.UNRESOLVED, reason, "unread") for id in unread]


def _take_audit(made: InstanceExport, instance: AionforgeInstance) -> None:
    """Add audit events as a raw file. Denied access is noted and not fatal: an instance may restrict its audit log."""
    events: list[JsonObject] = []
    for kind in AUDIT_KINDS:
        try:
            events += instance.audit(kind)
        except ToolFailed as error:
            text = f"Aionforge did not allow reading audit events: {error.error_code or 'unknown error'}"
            made.notices.append(FormatNotice("audit_incomplete", text, kind))
            break
        if len(events) > _MOST_EVENTS:
            made.notices.append(
                FormatNotice("audit_incomplete", f"only the first {_MOST_EVENTS:,} audit events were read")
            )
            break
    if events:
        made.entries[AUDIT] = b"".join(json_codec.encode_json(event) + b"\n" for event in events[:_MOST_EVENTS])
        made.fates.append(ItemFate("file", AUDIT, ItemOutcome.ACCEPTED))
