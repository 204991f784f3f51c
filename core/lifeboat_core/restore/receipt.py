"""The receipt of a restore or an import: what became of each thing that the archive holds, in the same six words for
every runtime. The counts add up: nothing is left out of it, nothing is told twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lifeboat_adapters.contract import Section
from lifeboat_adapters.receipts import Fate, Outcome, counted
from lifeboat_alf import layout, metas, records
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason, reason_code, reason_text
from lifeboat_alf.state import BodyAbsent
from lifeboat_core.errors import RestoreFailed
from lifeboat_core.restore import credentials
from lifeboat_core.restore import inventory as inventories
from lifeboat_core.restore.contents import DAMAGED, MERGED, RAW, STRUCTURED, Wanted
from lifeboat_core.restore.contents import FILE as FILE_KIND
from lifeboat_core.restore.decide import Action, Item
from lifeboat_core.restore.plan import Plan
from lifeboat_core.restore.plan_warnings import DAMAGED_RECORD
from lifeboat_core.restore.reasons import LeftOutCode
from lifeboat_core.restore.things import (
    ARTIFACT,
    CREDENTIAL,
    DOCUMENT,
    FILE,
    IDENTITY,
    MEMORY,
    PRINCIPAL,
    ROW,
    VECTOR,
    Thing,
    is_rows,
    runtime_of,
    things_of,
)

BESIDE = ("setting", "capability")
"""What an adapter tells of beside what is read: parts of documents that its runtime has no place for."""
KEPT = "kept in the archive"
DELIVERED = "the runtime's own command stored it"
NOT_ASKED = "it was not asked for"
CUT_OUT = Reason(LeftOutCode.CUT_OUT)
_BEST_FIRST = (
    Outcome.TRANSFORMED,
    Outcome.ACCEPTED,
    Outcome.DEDUPLICATED,
    Outcome.UNRESOLVED,
    Outcome.REJECTED,
    Outcome.OMITTED,
)
STANDING = _BEST_FIRST[:3]
_WAITING = frozenset({LeftOutCode.NO_FOLDER, LeftOutCode.CUT_OUT})
_REFUSED = frozenset({LeftOutCode.NOT_KEPT, LeftOutCode.UNREADABLE})
"""Codes that a receipt gives as they are."""
_OF_SESSIONS = ("/sessions/", "/session_nodes.", "/session_windows.", "/transcript_events.")
"""What paths of sessions have in them."""


class End(NamedTuple):
    """What became of something."""

    outcome: Outcome
    reason: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """`fates` has one for each thing that was read."""

    fates: tuple[Fate, ...] = ()

    @property
    def outcomes(self) -> dict[str, int]:
        return counted(self.fates)

    def standing(self, kind: str) -> int:
        """How many things of a kind stand in the target."""
        return sum(fate.kind == kind and fate.outcome in STANDING for fate in self.fates)

    def to_json(self) -> JsonObject:
        return {"objects": len(self.fates), "outcomes": self.outcomes, "fates": self.groups()}

    def groups(self) -> list[JsonObject]:
        """The fates, those that are alike as one: [{kind, outcome, code, reason, names}]."""
        alike: dict[tuple[str, str, str, str], list[str]] = {}
        for fate in self.fates:
            alike.setdefault((fate.kind, fate.outcome.value, fate.code, fate.reason), []).append(fate.name)
        fields = ("kind", "outcome", "code", "reason")
        return [{**dict(zip(fields, key, strict=True)), "names": names} for key, names in alike.items()]


def of(plan: Plan, settled: Sequence[credentials.Fate]) -> Receipt:
    """The receipt of a plan. `settled` are the fates of credentials, where they were asked for. Raises RestoreFailed
    when it does not add up, which is before anything is written."""
    read = list(things_of(plan.state, plan.inventory))
    teller = _Teller(plan, settled)
    fates = [Fate(thing.kind, thing.name, *teller.end(thing)) for thing in read]
    known = {(fate.kind, fate.name) for fate in fates}
    fates += [fate for fate in teller.told if fate.kind in BESIDE and (fate.kind, fate.name) not in known]
    _check(plan, fates)
    return Receipt(tuple(fates))


def _check(plan: Plan, fates: Sequence[Fate]) -> None:
    """What was counted when the state was read is what the receipt tells of."""
    told = Counter(fate.kind for fate in fates)
    held = [*plan.inventory.entries, *(each.entry.path for each in plan.inventory.damaged)]
    raw = [path for path in held if path.startswith(layout.RAW)]
    memories = plan.inventory.memories.in_force() + len(plan.inventory.damaged_records)
    read = {MEMORY: memories, FILE: sum(not is_rows(path) for path in raw)}
    if any(told[kind] != count for kind, count in read.items()):
        raise RestoreFailed("the receipt does not add up; nothing was changed", fix="lifeboat doctor --bundle FILE")


class _Teller:
    """Tells of one thing after the other what becomes of it."""

    def __init__(self, plan: Plan, settled: Sequence[credentials.Fate]) -> None:
        self._plan = plan
        self._memories = plan.inventory.memories
        self._items = {item.wanted.path: item for item in plan.items if item.wanted is not None}
        self._damaged = {each.entry.path for each in plan.inventory.damaged}
        self._settled = {fate.id: fate for fate in settled}
        self._delivered = {path: each for each in plan.deliveries for path, _ in each.places}
        self._wanted = {each.path: each for each in (*plan.contents.workspace.values(), *plan.contents.home.values())}
        written = [fate for write in plan.databases for fate in write.fates]
        written += [] if plan.server is None else plan.server.fates
        held = [Fate(MEMORY, record_id, Outcome.ACCEPTED) for write in plan.databases for record_id in write.held]
        self._written = _by_name([*held, *written])
        refused = [] if plan.installation is None else plan.adapter.cannot_hold(plan.installation, plan.state)
        self._refused = _by_name(refused)
        self.told = [*written, *self._refused.values()]
        self._in_files = self._memories_in_files()

    def end(self, thing: Thing) -> End:
        if thing.path in self._damaged:
            item = self._items.get(thing.path)
            return End(Outcome.OMITTED, NOT_ASKED, "not_asked") if item is None else end_of(item)
        if thing.kind == MEMORY and thing.name in self._plan.inventory.damaged_records:
            return End(Outcome.UNRESOLVED, DAMAGED_RECORD, DAMAGED)
        written = self._by_any_name(self._written, thing)
        if written is not None:
            return _end(written)
        own = self._own_end(thing)
        refused = self._by_any_name(self._refused, thing)
        return _end(refused) if refused is not None and own.outcome not in STANDING else own

    def _by_any_name(self, told: Mapping[tuple[str, str], Fate], thing: Thing) -> Fate | None:
        names = self._memories.chain_of(thing.name) if thing.kind == MEMORY else (thing.name, thing.path)
        return next((told[thing.kind, name] for name in reversed(names) if (thing.kind, name) in told), None)

    def _own_end(self, thing: Thing) -> End:
        if thing.kind == MEMORY:
            return self._memory(thing.name)
        if thing.kind == CREDENTIAL:
            return self._credential(thing.name)
        if thing.kind == IDENTITY:
            return self._derived("identity")
        if thing.kind == PRINCIPAL:
            return self._derived("principals")
        if thing.kind == VECTOR:
            return End(Outcome.OMITTED, "the runtime computes its vectors itself", "computed_again")
        if thing.kind == DOCUMENT:
            return End(Outcome.OMITTED, f"no runtime has a place for it; {KEPT}", "kept_in_archive")
        return self._entry(thing)

    # Files ------------------------------------------------------------------------------------------------------

    def _entry(self, thing: Thing) -> End:
        item = self._items.get(thing.path)
        if item is not None:
            return end_of(item)
        runtime = runtime_of(thing.path)
        if thing.path.startswith(layout.RAW) and runtime != self._plan.runtime:
            return self._of_another(thing.path, runtime)
        if thing.path in self._delivered:
            reason = self._delivered[thing.path].reason or self._not_arrived(thing.path)
            if reason is not None:
                return End(Outcome.UNRESOLVED, str(reason), "not_delivered")
            return End(Outcome.TRANSFORMED, DELIVERED)
        if thing.kind == ROW:
            return self._row(thing.path)
        if thing.path in self._wanted and not self._plan.options.wants(self._wanted[thing.path].name):
            return End(Outcome.OMITTED, NOT_ASKED, "not_asked")
        if thing.kind == ARTIFACT and thing.path not in self._wanted:
            return End(Outcome.UNRESOLVED, "it is only described, its bytes are not here", "not_held")
        return End(Outcome.OMITTED, f"nothing of it has a place in the runtime; {KEPT}", "kept_in_archive")

    def _not_arrived(self, path: str) -> Reason | None:
        """Why a credential that stands in a store did not get into the runtime's, None when all did."""
        here = (name for name, stands in self._plan.stands.items() if any(each.path == path for each in stands))
        settled = (self._settled[name] for name in here if name in self._settled)
        return next((fate.reason for fate in settled if not fate.is_injected), None)

    def _of_another(self, path: str, runtime: str) -> End:
        """A raw file of another runtime; what both have by the same name and bytes is the same file in both."""
        made = self._items.get(path.replace(layout.raw_prefix(runtime), layout.raw_prefix(self._plan.runtime), 1))
        data = None if made is None or made.wanted is None else made.wanted.data
        if made is None or data is None:
            return End(Outcome.OMITTED, f"of {runtime} alone; {KEPT}", "other_runtime")
        if inventories.same_bytes(self._plan.inventory.entries[path], data) and made.is_write:
            return End(Outcome.ACCEPTED)
        return end_of(made)

    def _row(self, path: str) -> End:
        if self._plan.adapter.is_store(path) and self._plan.filler is None:
            return _unresolved(CUT_OUT)
        asked, options = "", self._plan.options.rows
        if "/cron/" in path and not options.cron:
            asked = "--with-cron puts it back"
        if any(name in path for name in _OF_SESSIONS) and not options.sessions:
            asked = "--with-sessions puts it back"
        if asked:
            return End(Outcome.OMITTED, f"{NOT_ASKED}; {asked}", "not_asked")
        return End(Outcome.OMITTED, f"rows of this database are not written; {KEPT}", "kept_in_archive")

    # Memories ---------------------------------------------------------------------------------------------------

    def _memory(self, record_id: str) -> End:
        ends = [self._in_files[each] for each in self._memories.chain_of(record_id) if each in self._in_files]
        if ends:
            return _best(ends)
        if self._plan.options.path_globs:
            return End(Outcome.OMITTED, NOT_ASKED, "not_asked")
        return End(Outcome.OMITTED, f"no file of the runtime holds it; {KEPT}", "kept_in_archive")

    def _memories_in_files(self) -> dict[str, End]:
        """What became of the files that memories stand in, by an id of the memory."""
        found: dict[str, End] = {}
        made: list[Item] = []
        for item in self._items.values():
            wanted = item.wanted
            if wanted is not None and wanted.basis == STRUCTURED:
                made.append(item)
            elif wanted is not None and wanted.entry is not None:
                for record_id in wanted.meta.get(metas.RECORDS) or ():
                    found[record_id] = _best([end_of(item), *([found[record_id]] if record_id in found else [])])
        if made:
            found |= self._in_made_files(made)
        return found or dict(self._in_files_they_name())

    def _in_files_they_name(self) -> Iterator[tuple[str, End]]:
        """Memories of an archive that lists none by file, as other writers of ALF make it: a memory stands in the
        file that its source names (ALF §3.1.3) when the file says what it says."""
        texts: dict[str, str] = {}
        for record in self._plan.state.records():
            path = layout.raw_prefix(self._plan.runtime) + records.origin_file(records.parse(record.line))
            content = self._memories.content(record.id)
            item = self._items.get(path)
            if content is None or item is None or item.wanted is None or item.wanted.kind != FILE_KIND:
                continue
            if path not in texts:
                texts[path] = _one_line_end(self._text_of(item.wanted))
            if content.strip() and _one_line_end(content) in texts[path]:
                yield record.id, end_of(item)

    def _text_of(self, wanted: Wanted) -> str:
        """What a file is going to say; nothing where no bytes are held."""
        try:
            data = self._plan.state.body(wanted.path) if wanted.data is None else wanted.data
        except BodyAbsent:
            return ""
        return data.decode("utf-8", "replace")

    def _in_made_files(self, made: Sequence[Item]) -> dict[str, End]:
        """A file that was made for this runtime tells what it holds as any file does: by being split."""
        labels: dict[str, End] = {}
        texts: dict[str, End] = {}
        for item in made:
            for section in self._sections(item):
                texts[section.text.strip()] = end_of(item)
                labels |= {section.heading[-1]: end_of(item)} if section.heading else {}
        return dict(self._found_in(labels, texts)) if texts else {}

    def _sections(self, item: Item) -> Sequence[Section]:
        if item.wanted is None or item.wanted.data is None:
            return ()
        return self._plan.adapter.split(item.wanted.path, item.wanted.data.decode("utf-8", "replace")) or ()

    def _found_in(self, labels: Mapping[str, End], texts: Mapping[str, End]) -> Iterator[tuple[str, End]]:
        for record_id in self._memories.winners():
            ids = self._memories.chain_of(record_id)
            end = next((labels[name] for each in ids if (name := self._plan.adapter.label(each)) in labels), None)
            end = end or texts.get((self._memories.content(record_id) or "").strip())
            if end is not None:
                yield record_id, end

    # Documents and credentials ----------------------------------------------------------------------------------

    def _derived(self, document: str) -> End:
        """A document that follows from files takes their outcome."""
        reads = [each.reads for each in self._plan.adapter.derivations() if each.document == document]
        ends = [end_of(item) for path, item in self._items.items() if any(read(path) for read in reads)]
        if ends:
            return _best(ends)
        if self._plan.options.path_globs:
            return End(Outcome.OMITTED, NOT_ASKED, "not_asked")
        return End(Outcome.OMITTED, f"no file of the runtime says it; {KEPT}", "kept_in_archive")

    def _credential(self, credential_id: str) -> End:
        fate = self._settled.get(credential_id)
        if fate is None and credential_id in self._plan.filled():
            return End(Outcome.ACCEPTED)
        if fate is None:
            return _unresolved(CUT_OUT)
        if not fate.is_injected:
            return _of_credential(fate)
        stands = self._plan.stands.get(credential_id, ())
        paths = [stand.path for stand in stands if stand.path in self._items]
        ends = [end for path in paths if (end := end_of(self._items[path])).outcome in STANDING]
        if not ends and any(is_rows(stand.path) and stand.path not in self._delivered for stand in stands):
            return End(Outcome.ACCEPTED)
        return _best(ends) if ends else End(Outcome.TRANSFORMED, fate.where or "")


def end_of(item: Item) -> End:
    """What became of the thing behind an item of a plan."""
    if item.action is Action.SAME:
        return End(Outcome.DEDUPLICATED)
    if item.action is Action.SKIP:
        return _skipped(item)
    if item.wanted is not None and item.wanted.has_gap:
        return End(Outcome.TRANSFORMED, f"written with a gap: {item.reason}", "gap")
    basis = RAW if item.wanted is None else item.wanted.basis
    if basis == MERGED:
        return End(Outcome.TRANSFORMED, "merged", "merged")
    if basis == STRUCTURED:
        return End(Outcome.TRANSFORMED, "written in the form of this runtime", "written_anew")
    return End(Outcome.ACCEPTED)


def _skipped(item: Item) -> End:
    code, text = reason_code(item.reason) or "", reason_text(item.reason) or ""
    if item.lost:
        return End(Outcome.UNRESOLVED, text, item.lost)
    if code in _WAITING:
        return End(Outcome.UNRESOLVED, text, code)
    if code in _REFUSED:
        return End(Outcome.REJECTED, text, code)
    if item.wanted is not None and item.wanted.cuts:
        return End(Outcome.UNRESOLVED, text, "credentials")
    return End(Outcome.REJECTED, text, "in_the_way" if item.seen is not None else "refused")


def _of_credential(fate: credentials.Fate) -> End:
    code, text = reason_code(fate.reason) or "", reason_text(fate.reason) or ""
    if code == LeftOutCode.NOT_ASKED:
        return End(Outcome.OMITTED, text, code)
    if code in credentials.BOUND:
        return End(Outcome.UNRESOLVED, text, "bound_to_machine")
    is_waiting = code in _WAITING or code == LeftOutCode.NOWHERE
    return End(Outcome.UNRESOLVED, text, code if is_waiting else "credentials")


def _unresolved(reason: Reason) -> End:
    return End(Outcome.UNRESOLVED, str(reason), str(reason.code))


def _best(ends: Iterable[End]) -> End:
    return min(ends, key=lambda end: _BEST_FIRST.index(end.outcome))


def _by_name(fates: Iterable[Fate]) -> dict[tuple[str, str], Fate]:
    return {(fate.kind, fate.name): fate for fate in fates}


def _end(fate: Fate) -> End:
    return End(fate.outcome, fate.reason, fate.code)


def _one_line_end(text: str) -> str:
    """Whole lines with one kind of line end, and no blank ones around them: no memory says which its file had."""
    return "\n" + text.replace("\r\n", "\n").strip("\n") + "\n"
