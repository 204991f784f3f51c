"""Writes work items into an instance: parents first, none twice.

Unlike for texts, no tool recognises existing work items. So all existing ones are read first, and an item with the same
title, level and parent counts as the same. After a lost answer nothing is sent again: the next import finds out what
happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_formats.aionforge import aionforge_mapping, text_form
from lifeboat_formats.aionforge.instance import AionforgeInstance
from lifeboat_formats.aionforge.mcp_client import ToolFailed
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.aionforge.send_plan import MEMORY, OutgoingMemory
from lifeboat_formats.aionforge.sent_notes import InstanceCopy, SentNotes
from lifeboat_formats.interchange.errors import InstanceFailed

_FIRST = aionforge_mapping.WORK_STATUSES[0]
_HELD = "Aionforge already has this work item"
_EDITED = "Aionforge has no tool that changes the text of an existing work item, so the change is not sent"


class WorkWriter:
    """Writes the work items of one import. `present` are existing nodes by their ids."""

    def __init__(self, instance: AionforgeInstance, sent: SentNotes, present: Mapping[str, AionforgeNode]) -> None:
        self._instance, self._sent, self._present = instance, sent, present
        self._ids: dict[str, str] = {}
        self._there: dict[tuple[str, str, str], str] = {}

    def put(self, items: Sequence[OutgoingMemory]) -> list[ItemFate]:
        """Write items and return their fates. Raises InstanceFailed if an answer was lost."""
        if not items:
            return []
        listed, _ = self._instance.work()
        self._there = {_key(node, node.fields.get("parent")): node.id for node in self._instance.read(listed)}
        return [self._one(item) for item in _parents_first(items)]

    def _one(self, item: OutgoingMemory) -> ItemFate:
        node = item.node
        assert node is not None
        known = self._sent.get(item.id)
        stands = next((id for id in (known.id if known else "", node.id) if id in self._present), None)
        if stands is not None:
            self._ids[node.id] = stands
            if item.is_original:
                return ItemFate(MEMORY, item.id, ItemOutcome.DEDUPLICATED, _HELD)
            return ItemFate(MEMORY, item.id, ItemOutcome.OMITTED, _EDITED, "not_writable")
        parent = self._parent(node)
        found = self._there.get(_key(_as_it_is(item, node), parent))
        if found is not None:
            self._note(item, node, found)
            return ItemFate(MEMORY, item.id, ItemOutcome.DEDUPLICATED, _HELD)
        try:
            self._note(item, node, self._made(item, node, parent))
        except ToolFailed as error:
            reason = f"Aionforge refused the work item: {error.error_code or 'unknown error'}"
            return ItemFate(MEMORY, item.id, ItemOutcome.REJECTED, reason, "refused")
        said = ["its parent"] if node.fields.get("parent") and parent is None else []
        said += [] if self._advanced(node) else ["its state"]
        if said:
            reason = f"the work item was sent without {' and '.join(said)}"
            return ItemFate(MEMORY, item.id, ItemOutcome.TRANSFORMED, reason, "work_item")
        return ItemFate(MEMORY, item.id, ItemOutcome.ACCEPTED)

    def _parent(self, node: AionforgeNode) -> str | None:
        named = node.fields.get("parent")
        if not isinstance(named, str):
            return None
        return self._ids.get(named) or (named if named in self._present else None)

    def _made(self, item: OutgoingMemory, node: AionforgeNode, parent: str | None) -> str:
        own = _as_it_is(item, node).fields
        asked = {name: own.get(name) for name in ("title", "level", "body", "ordinal")}
        answer = self._instance.ask("work_create", writes=True, parent_id=parent, **asked)
        try:
            return text_form.parse_created_id(answer.text)
        except text_form.UnreadableAnswer as error:
            raise InstanceFailed(f"the answer of Aionforge to work_create cannot be read: {error}") from None

    def _note(self, item: OutgoingMemory, node: AionforgeNode, id: str) -> None:
        self._ids[node.id] = id
        self._sent.add({item.id: InstanceCopy(id, item.at)})

    def _advanced(self, node: AionforgeNode) -> bool:
        status = node.fields.get("work_status")
        if status == _FIRST or status not in aionforge_mapping.WORK_STATUSES:
            return True
        try:
            self._instance.ask("work_advance", work_id=self._ids[node.id], to=status)
        except ToolFailed:
            return False
        return True


def _as_it_is(item: OutgoingMemory, node: AionforgeNode) -> AionforgeNode:
    """Return the item's node with its current text, whose first paragraph is the title. A cleaned text has no other
    form."""
    title, _, body = item.text.partition("\n\n")
    fields = {**node.fields, "title": title.strip() or node.id, "body": body or None}
    # An unchanged item keeps its own title and body, which a split at the first blank line could change.
    if item.is_original and not item.is_cleaned:
        fields |= {name: node.fields.get(name) for name in ("title", "body")}
    return AionforgeNode(node.id, node.kind, item.text, fields)


def _key(node: AionforgeNode, parent: Any) -> tuple[str, str, str]:
    return str(node.fields.get("title")), str(node.fields.get("level")), str(parent or "")


def _parents_first(items: Sequence[OutgoingMemory]) -> Iterator[OutgoingMemory]:
    """Yield parents before their children. Items of a cycle keep their order."""
    waiting = {item.node.id: item for item in items if item.node is not None}
    entered: set[str] = set()
    for id in list(waiting):
        way = []
        while id in waiting and id not in entered:
            entered.add(id)
            way.append(id)
            node = waiting[id].node
            id = str(node.fields.get("parent")) if node is not None else ""
        yield from (waiting.pop(each) for each in reversed(way))
