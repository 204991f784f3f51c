"""Undo one change of a memory: write its former text back into the live file (`lifeboat records undo`).

`plan_record_undo` reads only. `undo_record` captures the workspace first, replaces the bytes of that memory and nothing
else, and captures the result as a sequence of the kind `undo`.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.stable_reads.file_reading import OverLimit, StatKey, Unstable, read_file, stat_key_of
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.memory import memory_records
from lifeboat_alf.seams.file_operations import write_atomic
from lifeboat_alf.seams.held_folder import FolderReplaced, LinkInPath
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture.capture_work import FORGOTTEN
from lifeboat_core.capture.file_capture import LARGEST
from lifeboat_core.capture.root_scan import HeldRoots
from lifeboat_core.errors import RecordError, UnknownRecord
from lifeboat_core.home.context import Context
from lifeboat_core.memories import memory_search
from lifeboat_core.memories.file_memories import locate_memories
from lifeboat_core.memories.memory_undo_plan import (
    INSERT,
    CapturedNote,
    MemoryUndo,
    locate_in_live,
    plan_memory_undo,
    separate_text,
)
from lifeboat_core.restore.disk_names import name_on_disk
from lifeboat_core.restore.plan_opening import find_sequence_at
from lifeboat_core.restore.restore_captures import capture_for_safety, capture_now
from lifeboat_core.restore.runtime_file_locks import hold_runtime_locks
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import file_name, quote_argument
from lifeboat_core.texts.safe_text import name_text
from lifeboat_vault.vault import Vault

KIND = "undo"
"""The kind of the sequence that an undo makes."""


class TextPeriod(NamedTuple):
    """A text of a memory from sequence `first` until before `last` (None: still). `text` is None while the agent did
    not have the memory."""

    text: str | None
    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class MemoryUndoReport:
    """What an undo did, or would do (`dry_run`). `safety` is the pinned sequence from before, `captured` the one with
    the result, None if its capture failed."""

    agent: str
    plan: MemoryUndo
    safety: int | None = None
    captured: int | None = None
    dry_run: bool = False
    warnings: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        plan = self.plan
        return {
            "agent": self.agent,
            "id": plan.record_id,
            "path": plan.path,
            "operation": plan.operation,
            "sequence": plan.sequence,
            "before": plan.present,
            "after": plan.former,
            "safety": self.safety,
            "captured": self.captured,
            "dry_run": self.dry_run,
            "warnings": list(self.warnings),
        }


# Plan ---------------------------------------------------------------------------------------------------------------


def plan_record_undo(context: Context, agent: Agent, record_id: str, at: str | None = None) -> MemoryUndo:
    """Plan to give a memory its text of `at` (a sequence or a time; default: its text before the last change).

    Any id of the memory's chain is accepted. Nothing is written except the search index. Raises UnknownRecord,
    UnknownRecord.PURGED, UnknownSequence, NothingToRestore, RecordError.NO_EARLIER_TEXT, RecordError.NOT_IN_FILE,
    RecordError.HOLDS_SECRET.
    """
    with context.vault(agent.id) as vault, StateDb.open(context.home.state_file(agent.id), vault.id) as db:
        memory_search.update_index(db, vault)
        if vault.head() is None:
            raise UnknownRecord(f"no memory has the id {record_id}")
        return _MemoryHistory(context, agent, vault, db, record_id).plan(at)


class _MemoryHistory:
    """The chain of one memory in an open vault."""

    def __init__(self, context: Context, agent: Agent, vault: Vault, db: StateDb, record_id: str) -> None:
        self._adapter = context.adapter(agent.runtime)
        self._agent, self._vault, self._db = agent, vault, db
        self._asked, self._current = record_id, db.winner(record_id)
        if {record_id, self._current} & vault.redactions.record_ids:
            raise UnknownRecord.PURGED(f"the memory {record_id} was purged")
        self._head = vault.state()
        if self._head.record(self._current) is None:
            raise UnknownRecord(f"no memory has the id {record_id}")
        self._ids = db.chain_of(self._current)

    def plan(self, at: str | None) -> MemoryUndo:
        number = self._number_before_change() if at is None else find_sequence_at(self._vault, at)
        former_state = self._vault.state(number)
        now_entry = self._entry_now()
        former_entry = self._entry_in(former_state, now_entry)
        self._check_is_in_file(self._head, now_entry, number)
        self._check_is_in_file(former_state, former_entry, number)
        if former_entry is None and now_entry is not None:  # the file from before the memory was new
            former_entry = former_state.entry(now_entry.path)
        former = None if former_entry is None else self._note(former_state, former_entry)
        holder = now_entry or (None if former is None else self._head.entry(former.path))
        now = None if holder is None or not entry_metas.is_file(holder.meta) else self._note(self._head, holder)
        try:
            made = plan_memory_undo(self._current, self._ids, now, former, number, self._db.winner)
        except RecordError as error:
            raise self._with_fix(error, number, former or now) from error
        if not made.is_exact:
            made = self._separated(replace(made, data=_mended(self._adapter, made, former)))
        is_emptied = now is not None and not made.data and made.end - made.start == len(now.body)
        return replace(made, removes_file=is_emptied and former_state.entry(made.path) is None)

    def _separated(self, made: MemoryUndo) -> MemoryUndo:
        """Return the plan with what has to stand around the text, so that it stays a memory for itself: a note may end
        without a line end. Raises RecordError.NOT_IN_FILE if it would still join another memory."""
        if made.now is None or not made.data:
            return made
        for data in separate_text(made.now, made.data):
            candidate = replace(made, data=data)
            if _texts(self._adapter, made.path, candidate.result) == candidate.expected_texts:
                return candidate
        name = name_text(file_name(made.path))
        raise self._not_in_file(f"the former text would join another memory in {name}", made.sequence)

    def _with_fix(self, error: RecordError, number: int, note: CapturedNote | None) -> RecordError:
        """Return the error with a command that helps with this memory."""
        name = quote_argument(self._agent.name)
        if error.code == RecordError.HOLDS_SECRET.code and note is not None:
            path = quote_argument(file_name(note.path))
            error.fix = f"lifeboat restore {name} --at {number} --path {path}"
        elif {self._asked, self._current} & set(self._vault.get(FORGOTTEN) or ()):
            error.fix = f"lifeboat records restore {name} {self._asked}"
        else:
            error.fix = f"lifeboat records show {name} {self._asked}"
        return error

    def _number_before_change(self) -> int:
        """Return the newest kept sequence in which the memory had another text, or did not exist."""
        periods = list(self._periods())
        current = periods[-1].text
        for period in reversed(periods[:-1]):
            kept = self._vault.kept_within(period.first, period.last)
            if period.text != current and kept is not None:
                return kept[1]
        raise RecordError.NO_EARLIER_TEXT(
            f"the memory {self._asked} has had the same text since the oldest kept sequence",
            fix=f"lifeboat timeline {quote_argument(self._agent.name)}",
        )

    def _periods(self) -> Iterator[TextPeriod]:
        """Yield the texts of the memory, oldest first, beginning with the time before it existed."""
        stays = [list(self._vault.stays_of_record(record_id)) for record_id in self._ids]
        first = min((own[0][1] for own in stays if own), default=0)
        yield TextPeriod(None, 0, first)
        for place, own in enumerate(stays):
            superseded = next((later[0][1] for later in stays[place + 1 :] if later), None)
            for line, begin, last in own:
                end = min((each for each in (last, superseded) if each is not None), default=None)
                if end is None or end > begin:
                    yield TextPeriod(_text_of(line), begin, end)

    # Files --------------------------------------------------------------------------------------------------------

    def _entry_now(self) -> Entry | None:
        """Return the file of the newest sequence that lists the memory."""
        marks = ", ".join("?" * len(self._ids))
        rows = self._db.connection.execute(
            f"select path from listed where id in ({marks}) order by path", tuple(self._ids)
        ).fetchall()
        own = archive_layout.raw_prefix(self._agent.runtime)
        paths = sorted((path for (path,) in rows), key=lambda path: (not path.startswith(own), path))
        return next((entry for path in paths if (entry := self._head.entry(path)) is not None), None)

    def _entry_in(self, state: State, expected: Entry | None) -> Entry | None:
        """Return the file of a sequence that lists the memory, most often the one that lists it now."""
        same = None if expected is None else state.entry(expected.path)
        if same is not None and self._is_listed(same):
            return same
        raw = (entry for entry in state.entries(archive_layout.RAW) if self._is_listed(entry))
        return next(raw, None)

    def _is_listed(self, entry: Entry) -> bool:
        return not set(self._ids).isdisjoint(entry.meta.get(entry_metas.RECORDS, ()))

    def _check_is_in_file(self, state: State, entry: Entry | None, number: int) -> None:
        """Raise RecordError.NOT_IN_FILE if the agent has the memory in this state, but in no file of its runtime."""
        own = (archive_layout.raw_prefix(self._agent.runtime), archive_layout.home_prefix(self._agent.runtime))
        if entry is not None and entry.path.startswith((*own, archive_layout.ARTIFACTS)):
            return
        found = next((item for one in reversed(self._ids) if (item := state.record(one)) is not None), None)
        if entry is None and (found is None or _text_of(found.line) is None):
            return
        raise self._not_in_file(f"{self._agent.runtime} stores the memory {self._asked} in a database", number)

    def _not_in_file(self, problem: str, number: int) -> LifeboatError:
        fix = f"lifeboat restore {quote_argument(self._agent.name)} --at {number} --dry-run"
        return RecordError.NOT_IN_FILE(problem, fix=fix)

    def _note(self, state: State, entry: Entry) -> CapturedNote:
        name = name_text(file_name(entry.path))
        try:
            body = state.body(entry.path)
        except BodyAbsent as error:
            problem = f"the content of {name} in sequence {state.sequence.number} is not stored"
            raise self._not_in_file(problem, state.sequence.number) from error
        spans = locate_memories(self._adapter, entry.path, body, entry.meta.get(entry_metas.RECORDS, ()))
        if spans is None:
            raise self._not_in_file(f"{name} cannot be divided into its memories", state.sequence.number)
        return CapturedNote(entry.path, body, spans, tuple(entry.meta.get(entry_metas.CUTS, ())), entry.meta)


def _text_of(line: bytes) -> str | None:
    record = memory_records.parse_record(line)
    if memory_records.is_deleted(record) or memory_records.is_missing(record):
        return None
    return str(record.get("content", ""))


def _mended(adapter: Adapter, made: MemoryUndo, former: CapturedNote | None) -> bytes:
    """Return the bytes to write, with a valid checksum for a runtime that stores one with each memory.

    Such a file is the same if it is written again from its memories; this is checked with the present and the former
    file. A checksum outside of the span stays as it is, because nothing but the memory may change.
    """
    if made.now is None or not _is_rewritten_alike(adapter, made.now) or not _is_rewritten_alike(adapter, former):
        return made.data
    rewritten = _rewritten(adapter, made.path, made.result)
    head, tail = made.now.body[: made.start], made.now.body[made.end :]
    if rewritten is None or not rewritten.startswith(head) or not rewritten.endswith(tail):
        return made.data
    return rewritten[len(head) : len(rewritten) - len(tail)]


def _is_rewritten_alike(adapter: Adapter, note: CapturedNote | None) -> bool:
    return note is None or _rewritten(adapter, note.path, note.body) == note.body


def _texts(adapter: Adapter, path: str, body: bytes) -> list[list[str]]:
    """Return the words of each memory in a file."""
    sections = adapter.split(path, body.decode("utf-8", "replace")) or []
    return [section.text.split() for section in sections if section.text]


def _rewritten(adapter: Adapter, path: str, body: bytes) -> bytes | None:
    text = body.decode("utf-8", "replace")
    said = [section.text for section in adapter.split(path, text) or [] if section.text]
    places = [str(number) for number in range(len(said))]
    made = adapter.rejoin(path, text, places, list(zip(places, said, strict=True)))
    return None if made is None else made.encode()


# Run ----------------------------------------------------------------------------------------------------------------


def undo_record(
    context: Context, agent: Agent, record_id: str, at: str | None = None, *, dry_run: bool = False
) -> MemoryUndoReport:
    """Undo one change of a memory; see `plan_record_undo` for the arguments and what it raises.

    The workspace is captured before, and that sequence is pinned for seven days. Raises RecordError.MEMORY_CHANGED if
    the memory changed since the newest sequence, RestoreError.RUNTIME_RUNNING if the runtime keeps its lock on the
    file, Busy, SystemRefused, DiskFull, and what a capture raises.
    """
    if dry_run:
        return MemoryUndoReport(agent.id, plan_record_undo(context, agent, record_id, at), dry_run=True)
    with convert_system_errors(), agent_lock(context, agent.id, "undo"):
        planned = plan_record_undo(context, agent, record_id, at)
        safety = capture_for_safety(context, agent)
        made = _plan_again(context, agent, planned)
        _LiveNote.open(context, agent, made).write(made)
        return _captured(context, agent, MemoryUndoReport(agent.id, made, safety))


def _plan_again(context: Context, agent: Agent, planned: MemoryUndo) -> MemoryUndo:
    """Return the plan after the safety capture. Raises RecordError.MEMORY_CHANGED if that capture found the memory
    changed."""
    try:
        made = plan_record_undo(context, agent, planned.record_id, str(planned.sequence))
    except RecordError as error:
        raise _changed(agent, planned) from error
    if made.target != planned.target or made.operation != planned.operation:
        raise _changed(agent, planned)
    return made


def _changed(agent: Agent, plan: MemoryUndo) -> LifeboatError:
    return RecordError.MEMORY_CHANGED(
        f"the memory {plan.record_id} in {name_text(file_name(plan.path))} changed since it was last captured",
        fix=f"lifeboat records show {quote_argument(agent.name)} {plan.record_id}",
    )


def _captured(context: Context, agent: Agent, report: MemoryUndoReport) -> MemoryUndoReport:
    """Capture the result. The undo is done, so a failure is a warning."""
    try:
        return replace(report, captured=capture_now(context, agent, KIND).sequence)
    except LifeboatError as error:
        return replace(report, warnings=(f"the result was not captured yet: {error.message}",))


class _LiveNote:
    """The live file that an undo writes. Its folder is held open, and no link below the workspace is followed."""

    def __init__(self, context: Context, agent: Agent, files: HeldRoots, file: Path) -> None:
        self._agent, self._files, self._file = agent, files, file
        self._adapter = context.adapter(agent.runtime)

    @classmethod
    def open(cls, context: Context, agent: Agent, plan: MemoryUndo) -> _LiveNote:
        roots = list(context.adapter(agent.runtime).roots(context.installation(agent)))
        files = HeldRoots(context.files, roots)
        root = next((each for each in roots if plan.path.startswith(each.prefix)), roots[0])
        prefix = root.prefix if plan.path.startswith(root.prefix) else archive_layout.ARTIFACTS
        name = name_on_disk(plan.path, plan.meta, prefix)
        return cls(context, agent, files, Path(files.folder_of[root.prefix], name))

    def write(self, plan: MemoryUndo) -> None:
        """Replace the span of the memory. Raises RecordError.MEMORY_CHANGED if the file is not as captured."""
        locked = self._adapter.lock_name(plan.path.removeprefix(archive_layout.raw_prefix(self._agent.runtime)))
        locks = [] if locked is None else [self._file.with_name(PurePosixPath(locked).name)]
        try:
            with hold_runtime_locks(self._files, self._adapter, locks):
                if plan.now is None:
                    self._create(plan)
                else:
                    self._replace(plan, plan.now)
        except (LinkInPath, FolderReplaced, OverLimit, Unstable, FileNotFoundError, FileExistsError) as error:
            raise _changed(self._agent, plan) from error

    def _create(self, plan: MemoryUndo) -> None:
        """Write a file again that was removed with its memories."""
        assert plan.operation == INSERT
        self._files.make_folders(self._file.parent)
        self._put(plan, plan.data, entry_metas.mode_of(plan.meta), None)

    def _replace(self, plan: MemoryUndo, now: CapturedNote) -> None:
        content = read_file(self._files, self._file, LARGEST)
        span = locate_in_live(now, content.data, plan.start, plan.end)
        if span is None:
            raise _changed(self._agent, plan)
        made = content.data[: span[0]] + plan.data + content.data[span[1] :]
        if plan.removes_file and not made:
            self._check_key(plan, content.key)
            self._files.remove(self._file)
            self._files.sync_folder(self._file.parent)
        else:
            self._put(plan, made, stat.S_IMODE(content.key.mode), content.key)

    def _put(self, plan: MemoryUndo, data: bytes, mode: int, expected: StatKey | None) -> None:
        self._check_key(plan, expected)
        write_atomic(self._files, self._file, data, mode=mode, check=lambda: self._check_key(plan, expected))

    def _check_key(self, plan: MemoryUndo, expected: StatKey | None) -> None:
        """Raise RecordError.MEMORY_CHANGED if the file is another one than expected; None: if there is one."""
        if self._key() != expected:
            raise _changed(self._agent, plan)

    def _key(self) -> StatKey | None:
        try:
            return stat_key_of(self._files.lstat(self._file))
        except FileNotFoundError:
            return None
