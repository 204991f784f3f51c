"""Sends memories to an instance in batches, predecessors first, and reports each by the instance's receipt.

Sending again is safe, because an instance answers a known text with its id. So a lost answer is asked for once more. An
interrupted import continues after the last noted batch. A refused text is not sent again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge import text_form
from lifeboat_formats.aionforge.instance import AionforgeInstance, reading_answer
from lifeboat_formats.aionforge.mcp_client import AnswerLost, BodyTooLarge, ToolFailed
from lifeboat_formats.aionforge.nodes import EPISODE, AionforgeNode
from lifeboat_formats.aionforge.send_plan import MEMORY, OutgoingMemory, SendPlan, fate_of_item
from lifeboat_formats.aionforge.sent_notes import InstanceCopy, SentNotes
from lifeboat_formats.aionforge.text_form import CaptureReceipt
from lifeboat_formats.aionforge.work_items import WorkWriter
from lifeboat_formats.interchange.contract import FormatNotice
from lifeboat_formats.interchange.errors import InstanceFailed

BATCH_ITEMS = 64
BATCH_BYTES = 900_000
"""Largest batch as JSON. An instance accepts a mebibyte over HTTP, including everything around the texts."""
_EXACT = "exact_duplicate"
FOREIGN, TOO_LARGE, REFUSED = "foreign", "too_large", "refused"
_HELD = "Aionforge already has a memory with the same text"
_ELSEWHERE = "Aionforge already has a memory with the same text, in a namespace that this agent may not read"


@dataclass(slots=True)
class SendResult:
    """The result of an import. `counts` are the instance's figures: batches, redactions, flags."""

    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def send_memories(instance: AionforgeInstance, made: SendPlan, sent: SentNotes) -> SendResult:
    """Send all memories. Raises InstanceFailed; what was sent until then is noted, and the same command continues."""
    writer = InstanceWriter(instance, sent)
    writer.done.fates += made.fates
    writer.look(made.items)
    work = [item for item in made.items if item.is_work]
    waiting: list[OutgoingMemory] = []
    for item in made.items:
        if not item.is_work and not writer.stands(item):
            waiting.append(item)
    try:
        for batch in split_batches(waiting):
            writer.send(batch)
        work_writer = WorkWriter(instance, sent, writer.present)
        writer.done.fates += work_writer.put(work)
    except InstanceFailed as error:
        # Nothing was sent yet, so there is nothing to continue.
        if not writer.done.counts["batches"]:
            raise
        raise InstanceFailed(f"{error.message}; run the same command again to continue", fix=error.fix) from None
    writer.look_for_foreign()
    writer.pin(made.items)
    return writer.done


def split_batches(items: Sequence[OutgoingMemory]) -> list[list[OutgoingMemory]]:
    """Divide items into batches of one namespace that an instance accepts, never with a predecessor in the same
    batch."""
    made: list[list[OutgoingMemory]] = []
    size = 0
    for item in items:
        length = len(json_codec.encode_json(capture_arguments(item, item.node.id if item.node else None)))
        last = made[-1] if made else []
        first = last[0] if last else item
        is_full = len(last) >= BATCH_ITEMS or size + length > BATCH_BYTES
        if not last or is_full or (first.namespace, first.depth) != (item.namespace, item.depth):
            made.append([])
            size = 0
        made[-1].append(item)
        size += length
    return made


def capture_arguments(item: OutgoingMemory, supersedes: str | None) -> JsonObject:
    """Return an item of `batch_capture`."""
    said = {"content": item.text, "role": item.role, "captured_at": item.captured_at}
    said |= {"session_id": item.session, "supersedes": supersedes}
    return {name: value for name, value in said.items() if value is not None}


@dataclass(slots=True)
class InstanceWriter:
    """One import. `present` are the nodes that the instance had before, by id."""

    instance: AionforgeInstance
    sent: SentNotes
    done: SendResult = field(default_factory=SendResult)
    present: dict[str, AionforgeNode] = field(default_factory=dict)
    fates: dict[str, ItemFate] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    same: dict[str, InstanceCopy] = field(default_factory=dict)

    def look(self, items: Sequence[OutgoingMemory]) -> None:
        """Read all nodes that may exist already: by their former ids and by the ids they were given."""
        wanted: dict[str, None] = {}
        for item in items:
            known = self.sent.get(item.id)
            wanted.update({known.id: None} if known is not None else {})
            wanted.update({item.node.id: None} if item.node is not None else {})
        asked = (id for id in wanted if text_form.is_id(id))
        self.present = {node.id: node for node in self.instance.read(asked)}

    def stands(self, item: OutgoingMemory) -> bool:
        """Return whether the instance holds a memory unchanged. If it holds another text of it, the new text will
        supersede that one."""
        known = self.sent.get(item.id)
        if known is not None and known.is_foreign and known.at == item.at:
            self._tell(item, ItemOutcome.DEDUPLICATED, _ELSEWHERE, FOREIGN)
            return True
        own = item.node.id if item.node is not None else ""
        for id in filter(None, (known.id if known is not None else "", own)):
            there = self.present.get(id)
            if there is None:
                continue
            is_same = there.text == item.text or (id == own and item.is_original)
            if is_same or (known is not None and known.is_altered and known.at == item.at):
                self._tell(item, ItemOutcome.DEDUPLICATED, _HELD)
                self.sent.learn(item.id, InstanceCopy(id, item.at))
                return True
            # Only episodes of the same namespace can be superseded by the new text.
            if there.kind == EPISODE and there.namespace == self._namespace(item, there):
                self.before[item.id] = id
        return False

    def _namespace(self, item: OutgoingMemory, there: AionforgeNode) -> str:
        """Return the namespace of an item in the instance. Only a node in the same namespace can be superseded."""
        agent = self.instance.connection.address.principal.agent_id
        return item.namespace or (f"agent:{agent}" if agent else there.namespace)

    def _tell(self, item: OutgoingMemory, outcome: ItemOutcome, reason: str = "", code: str = "") -> None:
        self.done.fates.append(ItemFate(MEMORY, item.id, outcome, reason, code))

    # Sending ----------------------------------------------------------------------------------------------------

    def send(self, batch: Sequence[OutgoingMemory]) -> None:
        """Send a batch, in halves if it is too large. Raises InstanceFailed."""
        try:
            receipts = self._receipts(batch)
        except BodyTooLarge:
            if len(batch) == 1:
                self._tell(batch[0], ItemOutcome.REJECTED, "the memory is larger than Aionforge accepts", TOO_LARGE)
                return
            half = len(batch) // 2
            self.send(batch[:half])
            self.send(batch[half:])
            return
        self._take(batch, receipts)

    def _receipts(self, batch: Sequence[OutgoingMemory]) -> list[CaptureReceipt]:
        try:
            return self._ask(batch)
        except AnswerLost:
            # The request may have been carried out. Sending it again is safe: a known text is answered with its id.
            self.instance.connection.again()
            self.done.counts["sent_again"] += 1
            return self._ask(batch)

    def _ask(self, batch: Sequence[OutgoingMemory]) -> list[CaptureReceipt]:
        items = [capture_arguments(item, self._supersedes(item)) for item in batch]
        namespace = batch[0].namespace or None
        answer = self.instance.ask("batch_capture", writes=True, items=items, target_namespace=namespace)
        with reading_answer("batch_capture"):
            receipts = text_form.parse_batch_receipts(answer.text, len(batch))
        return receipts

    def _supersedes(self, item: OutgoingMemory) -> str | None:
        """Return the node that a memory supersedes in the instance: its own earlier text, or its predecessor."""
        if item.id in self.before:
            return self.before[item.id]
        known = None if item.after is None else self.sent.get(item.after)
        return None if known is None or known.is_foreign else known.id

    def _take(self, batch: Sequence[OutgoingMemory], receipts: Sequence[CaptureReceipt]) -> None:
        puts: dict[str, InstanceCopy] = {}
        for item, receipt in zip(batch, receipts, strict=True):
            self.done.counts["redactions"] += receipt.redactions
            self.done.counts["flags"] += receipt.flags
            if receipt.error:
                reason = f"Aionforge refused the memory: {receipt.error}"
                self._tell(item, ItemOutcome.REJECTED, reason, receipt.error.lower())
                continue
            is_altered = bool(receipt.redactions or receipt.flags)
            puts[item.id] = InstanceCopy(receipt.id, item.at, is_altered)
            if receipt.verdict == _EXACT:
                self.same[item.id] = puts[item.id]
            else:
                self.done.fates.append(_stored(item, receipt))
        self.sent.add(puts)
        self.done.counts["batches"] += 1

    # Afterwards -------------------------------------------------------------------------------------------------

    def look_for_foreign(self) -> None:
        """Find texts that belong to another owner: an instance compares texts of all agents and may answer with a
        foreign id."""
        there = {node.id for node in self.instance.read(dict.fromkeys(put.id for put in self.same.values()))}
        foreign = {id: put._replace(is_foreign=True) for id, put in self.same.items() if put.id not in there}
        self.sent.add(foreign)
        for id in self.same:
            is_foreign = id in foreign
            reason, code = (_ELSEWHERE, FOREIGN) if is_foreign else (_HELD, "")
            self.done.fates.append(ItemFate(MEMORY, id, ItemOutcome.DEDUPLICATED, reason, code))

    def pin(self, items: Sequence[OutgoingMemory]) -> None:
        """Pin the memories that are pinned here. A failure is only noted, because the memory itself was stored."""
        failed = 0
        for item in items:
            known = self.sent.get(item.id)
            if not item.is_pinned or known is None or known.is_foreign:
                continue
            try:
                failed += text_form.is_disabled(self.instance.ask("pin", memory_id=known.id).text)
            except ToolFailed:
                failed += 1
        if failed:
            text = (
                f"{failed} {'memory is' if failed == 1 else 'memories are'} pinned in the archive, but could "
                "not be pinned in Aionforge"
            )
            self.done.notices.append(FormatNotice("not_pinned", text))


def _stored(item: OutgoingMemory, receipt: CaptureReceipt) -> ItemFate:
    """Return the fate of a text that the instance stored as new, including near duplicates."""
    if not receipt.redactions and not receipt.flags:
        return fate_of_item(item)
    said = [
        f"{count} {what}" for count, what in ((receipt.redactions, "redacted"), (receipt.flags, "flagged")) if count
    ]
    reason = f"Aionforge changed the text ({' and '.join(said)})"
    return ItemFate(MEMORY, item.id, ItemOutcome.TRANSFORMED, reason, "altered")
