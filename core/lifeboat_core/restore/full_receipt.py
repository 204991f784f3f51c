"""The receipt of a restore or an import: what became of each thing in the archive, in the same six words for every
runtime. The counts add up: everything is listed, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome, count_outcomes
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason, reason_code, reason_text
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.errors import RestoreError
from lifeboat_core.restore import credential_fates
from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.plan_warnings import DAMAGED_RECORD
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.state_things import (
    ARTIFACT,
    CREDENTIAL,
    DOCUMENT,
    FILE,
    IDENTITY,
    MEMORY,
    PRINCIPAL,
    ROW,
    VECTOR,
    StateThing,
    is_rows_path,
    runtime_of,
    things_of,
)
from lifeboat_core.restore.wanted_contents import DAMAGED, MERGED, RAW, STRUCTURED, WantedFile
from lifeboat_core.restore.wanted_contents import FILE as FILE_KIND
from lifeboat_vault.vault import state_inventory as inventories

BESIDE = ("setting", "capability")
"""What adapters report in addition to what is read: parts of documents that the runtime has no place for."""
KEPT = "kept in the archive"
DELIVERED = "stored by a command of the runtime"
NOT_ASKED = "not requested"
CUT_OUT = Reason(LeftOutCode.CUT_OUT)
_BEST_FIRST = (
    ItemOutcome.TRANSFORMED,
    ItemOutcome.ACCEPTED,
    ItemOutcome.DEDUPLICATED,
    ItemOutcome.UNRESOLVED,
    ItemOutcome.REJECTED,
    ItemOutcome.OMITTED,
)
STANDING = _BEST_FIRST[:3]
_WAITING = frozenset({LeftOutCode.NO_FOLDER, LeftOutCode.CUT_OUT})
_REFUSED = frozenset({LeftOutCode.NOT_KEPT, LeftOutCode.UNREADABLE})
"""Codes that a receipt repeats unchanged."""
_OF_SESSIONS = ("/sessions/", "/session_nodes.", "/session_windows.", "/transcript_events.")
"""Parts of the paths of sessions."""


class ThingEnd(NamedTuple):
    """What became of a thing."""

    outcome: ItemOutcome
    reason: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class RestoreReceipt:
    """`fates` has one for each thing that was read."""

    fates: tuple[ItemFate, ...] = ()

    @property
    def outcomes(self) -> dict[str, int]:
        return count_outcomes(self.fates)

    def standing(self, kind: str) -> int:
        """Return how many things of a kind are in the target."""
        return sum(fate.kind == kind and fate.outcome in STANDING for fate in self.fates)

    def to_json(self) -> JsonObject:
        return {"objects": len(self.fates), "outcomes": self.outcomes, "fates": self.groups()}

    def groups(self) -> list[JsonObject]:
        """Return the fates with equal ones merged: [{kind, outcome, code, reason, names}]."""
        alike: dict[tuple[str, str, str, str], list[str]] = {}
        for fate in self.fates:
            alike.setdefault((fate.kind, fate.outcome.value, fate.code, fate.reason), []).append(fate.name)
        fields = ("kind", "outcome", "code", "reason")
        return [{**dict(zip(fields, key, strict=True)), "names": names} for key, names in alike.items()]


def make_receipt(plan: RestorePlan, settled: Sequence[credential_fates.CredentialFate]) -> RestoreReceipt:
    """Return the receipt of a plan. `settled` are the fates of credentials, if they were asked for. Raises
    RestoreError.RESTORE_FAILED if it does not add up, which happens before anything is written."""
    read = list(things_of(plan.state, plan.inventory))
    teller = _ReceiptTeller(plan, settled)
    fates = [ItemFate(thing.kind, thing.name, *teller.end(thing)) for thing in read]
    known = {(fate.kind, fate.name) for fate in fates}
    fates += [fate for fate in teller.told if fate.kind in BESIDE and (fate.kind, fate.name) not in known]
    _check(plan, fates)
    return RestoreReceipt(tuple(fates))


def _check(plan: RestorePlan, fates: Sequence[ItemFate]) -> None:
    """Raise RestoreFailed unless the receipt has everything that was counted when the state was read."""
    told = Counter(fate.kind for fate in fates)
    held = [*plan.inventory.entries, *(each.entry.path for each in plan.inventory.damaged)]
    raw = [path for path in held if path.startswith(archive_layout.RAW)]
    memories = plan.inventory.memories.in_force() + len(plan.inventory.damaged_records)
    read = {MEMORY: memories, FILE: sum(not is_rows_path(path) for path in raw)}
    if any(told[kind] != count for kind, count in read.items()):
        raise RestoreError.RESTORE_FAILED(
            "the counts of the receipt do not add up; nothing was changed", fix="lifeboat doctor --bundle FILE"
        )


class _ReceiptTeller:
    """Decides what becomes of one thing after the other."""

    def __init__(self, plan: RestorePlan, settled: Sequence[credential_fates.CredentialFate]) -> None:
        self._plan = plan
        self._memories = plan.inventory.memories
        self._items = {item.wanted.path: item for item in plan.items if item.wanted is not None}
        self._damaged = {each.entry.path for each in plan.inventory.damaged}
        self._settled = {fate.id: fate for fate in settled}
        self._delivered = {path: each for each in plan.deliveries for path, _ in each.places}
        self._wanted = {each.path: each for each in (*plan.contents.workspace.values(), *plan.contents.home.values())}
        written = [fate for write in plan.databases for fate in write.fates]
        written += [] if plan.server is None else plan.server.fates
        held = [
            ItemFate(MEMORY, record_id, ItemOutcome.ACCEPTED) for write in plan.databases for record_id in write.held
        ]
        self._written = _by_name([*held, *written])
        refused = [] if plan.installation is None else plan.adapter.cannot_hold(plan.installation, plan.state)
        self._refused = _by_name(refused)
        self.told = [*written, *self._refused.values()]
        self._in_files = self._memories_in_files()

    def end(self, thing: StateThing) -> ThingEnd:
        if thing.path in self._damaged:
            item = self._items.get(thing.path)
            return ThingEnd(ItemOutcome.OMITTED, NOT_ASKED, "not_asked") if item is None else decide_end(item)
        if thing.kind == MEMORY and thing.name in self._plan.inventory.damaged_records:
            return ThingEnd(ItemOutcome.UNRESOLVED, DAMAGED_RECORD, DAMAGED)
        written = self._by_any_name(self._written, thing)
        if written is not None:
            return _end(written)
        own = self._own_end(thing)
        refused = self._by_any_name(self._refused, thing)
        return _end(refused) if refused is not None and own.outcome not in STANDING else own

    def _by_any_name(self, told: Mapping[tuple[str, str], ItemFate], thing: StateThing) -> ItemFate | None:
        names = self._memories.chain_of(thing.name) if thing.kind == MEMORY else (thing.name, thing.path)
        return next((told[thing.kind, name] for name in reversed(names) if (thing.kind, name) in told), None)

    def _own_end(self, thing: StateThing) -> ThingEnd:
        if thing.kind == MEMORY:
            return self._memory(thing.name)
        if thing.kind == CREDENTIAL:
            return self._credential(thing.name)
        if thing.kind == IDENTITY:
            return self._derived("identity")
        if thing.kind == PRINCIPAL:
            return self._derived("principals")
        if thing.kind == VECTOR:
            return ThingEnd(ItemOutcome.OMITTED, "the runtime computes its vectors again", "computed_again")
        if thing.kind == DOCUMENT:
            return ThingEnd(ItemOutcome.OMITTED, f"no runtime can store this item; {KEPT}", "kept_in_archive")
        return self._entry(thing)

    # Files ------------------------------------------------------------------------------------------------------

    def _entry(self, thing: StateThing) -> ThingEnd:
        item = self._items.get(thing.path)
        if item is not None:
            return decide_end(item)
        runtime = runtime_of(thing.path)
        if thing.path.startswith(archive_layout.RAW) and runtime != self._plan.runtime:
            return self._of_another(thing.path, runtime)
        if thing.path in self._delivered:
            reason = self._delivered[thing.path].reason or self._not_arrived(thing.path)
            if reason is not None:
                return ThingEnd(ItemOutcome.UNRESOLVED, str(reason), "not_delivered")
            return ThingEnd(ItemOutcome.TRANSFORMED, DELIVERED)
        if thing.kind == ROW:
            return self._row(thing.path)
        if thing.path in self._wanted and not self._plan.options.wants(self._wanted[thing.path].name):
            return ThingEnd(ItemOutcome.OMITTED, NOT_ASKED, "not_asked")
        if thing.kind == ARTIFACT and thing.path not in self._wanted:
            return ThingEnd(
                ItemOutcome.UNRESOLVED, "only the metadata of this file is stored, not its content", "not_held"
            )
        return ThingEnd(ItemOutcome.OMITTED, f"the runtime cannot store this item; {KEPT}", "kept_in_archive")

    def _not_arrived(self, path: str) -> Reason | None:
        """Return why a credential of a store did not get into the runtime's store, None when all did."""
        here = (name for name, stands in self._plan.stands.items() if any(each.path == path for each in stands))
        settled = (self._settled[name] for name in here if name in self._settled)
        return next((fate.reason for fate in settled if not fate.is_injected), None)

    def _of_another(self, path: str, runtime: str) -> ThingEnd:
        """Return the end of a raw file of another runtime. What both have under the same name and bytes is one file."""
        made = self._items.get(
            path.replace(archive_layout.raw_prefix(runtime), archive_layout.raw_prefix(self._plan.runtime), 1)
        )
        data = None if made is None or made.wanted is None else made.wanted.data
        if made is None or data is None:
            return ThingEnd(ItemOutcome.OMITTED, f"specific to {runtime}; {KEPT}", "other_runtime")
        if inventories.has_same_bytes(self._plan.inventory.entries[path], data) and made.is_write:
            return ThingEnd(ItemOutcome.ACCEPTED)
        return decide_end(made)

    def _row(self, path: str) -> ThingEnd:
        credentials = self._plan.adapter.credentials
        if credentials is not None and credentials.is_store(path) and self._plan.filler is None:
            return _unresolved(CUT_OUT)
        asked, options = "", self._plan.options.rows
        if "/cron/" in path and not options.cron:
            asked = "use --with-cron to restore it"
        if any(name in path for name in _OF_SESSIONS) and not options.sessions:
            asked = "use --with-sessions to restore it"
        if asked:
            return ThingEnd(ItemOutcome.OMITTED, f"{NOT_ASKED}; {asked}", "not_asked")
        return ThingEnd(
            ItemOutcome.OMITTED, f"Lifeboat does not write rows of this database; {KEPT}", "kept_in_archive"
        )

    # Memories ---------------------------------------------------------------------------------------------------

    def _memory(self, record_id: str) -> ThingEnd:
        ends = [self._in_files[each] for each in self._memories.chain_of(record_id) if each in self._in_files]
        if ends:
            return _best(ends)
        if self._plan.options.path_globs:
            return ThingEnd(ItemOutcome.OMITTED, NOT_ASKED, "not_asked")
        return ThingEnd(ItemOutcome.OMITTED, f"no file of the runtime contains this memory; {KEPT}", "kept_in_archive")

    def _memories_in_files(self) -> dict[str, ThingEnd]:
        """Return what became of the files that hold memories, by an id of the memory."""
        found: dict[str, ThingEnd] = {}
        made: list[PlanItem] = []
        for item in self._items.values():
            wanted = item.wanted
            if wanted is not None and wanted.basis == STRUCTURED:
                made.append(item)
            elif wanted is not None and wanted.entry is not None:
                for record_id in wanted.meta.get(entry_metas.RECORDS) or ():
                    found[record_id] = _best([decide_end(item), *([found[record_id]] if record_id in found else [])])
        if made:
            found |= self._in_made_files(made)
        return found or dict(self._in_files_they_name())

    def _in_files_they_name(self) -> Iterator[tuple[str, ThingEnd]]:
        """Yield memories of an archive that lists none by file, as other writers of ALF make it: a memory is in the
        file that its source names (ALF §3.1.3) if the file contains its text."""
        texts: dict[str, str] = {}
        for record in self._plan.state.records():
            path = archive_layout.raw_prefix(self._plan.runtime) + memory_records.origin_file(
                memory_records.parse_record(record.line)
            )
            content = self._memories.content(record.id)
            item = self._items.get(path)
            if content is None or item is None or item.wanted is None or item.wanted.kind != FILE_KIND:
                continue
            if path not in texts:
                texts[path] = _one_line_end(self._text_of(item.wanted))
            if content.strip() and _one_line_end(content) in texts[path]:
                yield record.id, decide_end(item)

    def _text_of(self, wanted: WantedFile) -> str:
        """Return the future text of a file; "" when no bytes are stored."""
        try:
            data = self._plan.state.body(wanted.path) if wanted.data is None else wanted.data
        except BodyAbsent:
            return ""
        return data.decode("utf-8", "replace")

    def _in_made_files(self, made: Sequence[PlanItem]) -> dict[str, ThingEnd]:
        """Return the memories in files that were made for this runtime, found by splitting them."""
        labels: dict[str, ThingEnd] = {}
        texts: dict[str, ThingEnd] = {}
        for item in made:
            for section in self._sections(item):
                texts[section.text.strip()] = decide_end(item)
                labels |= {section.heading[-1]: decide_end(item)} if section.heading else {}
        return dict(self._found_in(labels, texts)) if texts else {}

    def _sections(self, item: PlanItem) -> Sequence[MemorySection]:
        if item.wanted is None or item.wanted.data is None:
            return ()
        return self._plan.adapter.split(item.wanted.path, item.wanted.data.decode("utf-8", "replace")) or ()

    def _found_in(
        self, labels: Mapping[str, ThingEnd], texts: Mapping[str, ThingEnd]
    ) -> Iterator[tuple[str, ThingEnd]]:
        for record_id in self._memories.winners():
            ids = self._memories.chain_of(record_id)
            end = next((labels[name] for each in ids if (name := self._plan.adapter.label(each)) in labels), None)
            end = end or texts.get((self._memories.content(record_id) or "").strip())
            if end is not None:
                yield record_id, end

    # Documents and credentials ----------------------------------------------------------------------------------

    def _derived(self, document: str) -> ThingEnd:
        """Return the end of a document that is derived from files: the best of their ends."""
        reads = [each.reads for each in self._plan.adapter.derivations() if each.document == document]
        ends = [decide_end(item) for path, item in self._items.items() if any(read(path) for read in reads)]
        if ends:
            return _best(ends)
        if self._plan.options.path_globs:
            return ThingEnd(ItemOutcome.OMITTED, NOT_ASKED, "not_asked")
        return ThingEnd(ItemOutcome.OMITTED, f"no file of the runtime contains this item; {KEPT}", "kept_in_archive")

    def _credential(self, credential_id: str) -> ThingEnd:
        fate = self._settled.get(credential_id)
        if fate is None and credential_id in self._plan.filled():
            return ThingEnd(ItemOutcome.ACCEPTED)
        if fate is None:
            return _unresolved(CUT_OUT)
        if not fate.is_injected:
            return _of_credential(fate)
        stands = self._plan.stands.get(credential_id, ())
        paths = [stand.path for stand in stands if stand.path in self._items]
        ends = [end for path in paths if (end := decide_end(self._items[path])).outcome in STANDING]
        if not ends and any(is_rows_path(stand.path) and stand.path not in self._delivered for stand in stands):
            return ThingEnd(ItemOutcome.ACCEPTED)
        return _best(ends) if ends else ThingEnd(ItemOutcome.TRANSFORMED, fate.where or "")


def decide_end(item: PlanItem) -> ThingEnd:
    """Return what became of the thing behind an item of a plan."""
    if item.action is RestoreAction.SAME:
        return ThingEnd(ItemOutcome.DEDUPLICATED)
    if item.action is RestoreAction.SKIP:
        return _skipped(item)
    if item.wanted is not None and item.wanted.has_gap:
        return ThingEnd(ItemOutcome.TRANSFORMED, f"written with a gap instead of a credential: {item.reason}", "gap")
    basis = RAW if item.wanted is None else item.wanted.basis
    if basis == MERGED:
        return ThingEnd(ItemOutcome.TRANSFORMED, "merged", "merged")
    if basis == STRUCTURED:
        return ThingEnd(ItemOutcome.TRANSFORMED, "converted to the format of this runtime", "written_anew")
    return ThingEnd(ItemOutcome.ACCEPTED)


def _skipped(item: PlanItem) -> ThingEnd:
    code, text = reason_code(item.reason) or "", reason_text(item.reason) or ""
    if item.lost:
        return ThingEnd(ItemOutcome.UNRESOLVED, text, item.lost)
    if code in _WAITING:
        return ThingEnd(ItemOutcome.UNRESOLVED, text, code)
    if code in _REFUSED:
        return ThingEnd(ItemOutcome.REJECTED, text, code)
    if item.wanted is not None and item.wanted.cuts:
        return ThingEnd(ItemOutcome.UNRESOLVED, text, "credentials")
    return ThingEnd(ItemOutcome.REJECTED, text, "in_the_way" if item.seen is not None else "refused")


def _of_credential(fate: credential_fates.CredentialFate) -> ThingEnd:
    code, text = reason_code(fate.reason) or "", reason_text(fate.reason) or ""
    if code == LeftOutCode.NOT_ASKED:
        return ThingEnd(ItemOutcome.OMITTED, text, code)
    if code in credential_fates.BOUND:
        return ThingEnd(ItemOutcome.UNRESOLVED, text, "bound_to_machine")
    is_waiting = code in _WAITING or code == LeftOutCode.NOWHERE
    return ThingEnd(ItemOutcome.UNRESOLVED, text, code if is_waiting else "credentials")


def _unresolved(reason: Reason) -> ThingEnd:
    return ThingEnd(ItemOutcome.UNRESOLVED, str(reason), str(reason.code))


def _best(ends: Iterable[ThingEnd]) -> ThingEnd:
    return min(ends, key=lambda end: _BEST_FIRST.index(end.outcome))


def _by_name(fates: Iterable[ItemFate]) -> dict[tuple[str, str], ItemFate]:
    return {(fate.kind, fate.name): fate for fate in fates}


def _end(fate: ItemFate) -> ThingEnd:
    return ThingEnd(fate.outcome, fate.reason, fate.code)


def _one_line_end(text: str) -> str:
    """Return whole lines with one kind of line end and no surrounding blank lines, because no memory says which kind
    its file had."""
    return "\n" + text.replace("\r\n", "\n").strip("\n") + "\n"
