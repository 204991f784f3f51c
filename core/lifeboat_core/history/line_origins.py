"""Which kept sequence wrote each line of a captured file (`lifeboat blame`)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import AgentError
from lifeboat_core.home.context import Context
from lifeboat_core.memories.file_memories import MemorySpan, locate_memories
from lifeboat_core.restore.plan_opening import find_sequence_at
from lifeboat_core.texts.human_text import file_name, quote_argument
from lifeboat_core.texts.line_matching import match_lines
from lifeboat_core.texts.safe_text import name_text
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.vault import Vault

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


class FileVersion(NamedTuple):
    """A version of a file: the first kept sequence with it, and its bytes; None if they are not stored any more.
    `follows` says that the file also existed right before this version."""

    sequence: int
    body: bytes | None
    follows: bool


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """The sequence that wrote a line. `exact` is False if an older version could not be read, so that an earlier
    sequence may have written it."""

    sequence: int
    exact: bool = True


def trace_lines(versions: Iterable[FileVersion]) -> list[LineOrigin]:
    """Return the origin of each line of the first version; the versions are given newest first. Versions are read only
    as long as a line has no origin. Raises BodyAbsent if the first version has no bytes."""
    remaining = iter(versions)
    newest = next(remaining)
    if newest.body is None:
        raise BodyAbsent("the bytes of this version are not stored")
    current, version = split_lines(newest.body), newest
    origins: list[LineOrigin | None] = [None] * len(current)
    places = {number: number for number in range(len(current))}  # line of `current` -> line of the newest version
    while places:
        before = next(remaining, None) if version.follows else None
        if before is None or before.body is None:
            exact = before is None
            origins = [origin or LineOrigin(version.sequence, exact) for origin in origins]
            break
        older = split_lines(before.body)
        matched = match_lines(older, current)
        for number, place in places.items():
            if number not in matched:
                origins[place] = LineOrigin(version.sequence)
        places = {matched[number]: place for number, place in places.items() if number in matched}
        current, version = older, before
    return [origin or LineOrigin(version.sequence) for origin in origins]


def split_lines(body: bytes) -> list[bytes]:
    """Return the lines with their line ends. Only a line feed ends a line."""
    return _LINE.findall(body)


def list_line_origins(context: Context, agent: Agent, name: str, at: str | None = None) -> JsonObject:
    """Return what `blame` writes for a file at a sequence (default: the newest).

    `name` is the file's name in the workspace, or its archive path. Raises AgentError.UNKNOWN_PATH,
    AgentError.NO_LINES, NothingToRestore, UnknownSequence.
    """
    with context.vault(agent.id) as vault:
        number = find_sequence_at(vault, at)
        path = _find_path(vault, agent, number, name)
        state = vault.state(number)
        entry = state.entry(path)
        try:
            body = state.body(path)
        except BodyAbsent as error:
            raise AgentError.NO_LINES(f"the content of {name_text(name)} in sequence {number} is not stored") from error
        if b"\0" in body:
            raise AgentError.NO_LINES(f"{name_text(name)} is a binary file")
        origins = trace_lines(_versions(vault, path, number))
        listed = entry.meta.get(entry_metas.RECORDS, []) if entry is not None else []
        spans = locate_memories(context.adapter(agent.runtime), path, body, listed) or ()
        told = _LineTeller(vault, number, spans)
        return {
            "agent": agent.id,
            "path": path,
            "sequence": number,
            "time": vault.sequence(number).recorded_at,
            "lines": told.tell(split_lines(body), origins),
        }


def _find_path(vault: Vault, agent: Agent, number: int, name: str) -> str:
    """Return the archive path of a file at a sequence. A file of the workspace is preferred."""
    state = vault.state(number)
    known = (archive_layout.raw_prefix(agent.runtime) + name, archive_layout.ARTIFACTS + name, name)
    entries = (entry for path in known if (entry := state.entry(path)) is not None)
    others = (
        entry
        for prefix in (archive_layout.RAW, archive_layout.ARTIFACTS)
        for entry in state.entries(prefix)
        if file_name(entry.path) == name
    )
    for entry in (*entries, *others):
        if entry_metas.is_file(entry.meta):
            return entry.path
    later = f"lifeboat diff {quote_argument(agent.name)} {number} --names-only"
    raise AgentError.UNKNOWN_PATH(f"sequence {number} has no file {name_text(name)}", fix=later)


def _versions(vault: Vault, path: str, number: int) -> Iterable[FileVersion]:
    """Yield the kept versions of a file up to a sequence, newest first. Bodies are read when they are needed."""
    stays = [stay for stay in vault.stays_of_entry(path) if stay.first <= number]
    kept = [(stay, ends[0]) for stay in stays if (ends := vault.kept_within(stay.first, stay.last)) is not None]
    for place in range(len(kept) - 1, -1, -1):
        stay, first = kept[place]
        follows = place > 0 and vault.kept_within(kept[place - 1][0].last or first, first) is None
        yield FileVersion(first, _read(vault, stay.object) if entry_metas.is_file(stay.meta) else b"", follows)


def _read(vault: Vault, number: int) -> bytes | None:
    try:
        return vault.read_object(number)
    except (BodyAbsent, VaultDamaged):
        return None


class _LineTeller:
    """Describes lines; each sequence and each memory is looked up once."""

    def __init__(self, vault: Vault, number: int, spans: tuple[MemorySpan, ...]) -> None:
        self._vault = vault
        self._state = vault.state(number)
        self._spans = spans
        self._starts = [span.start for span in spans]
        self._sequences: dict[int, JsonObject] = {}
        self._sessions: dict[str, str | None] = {}

    def tell(self, lines: list[bytes], origins: list[LineOrigin]) -> list[JsonObject]:
        told: list[JsonObject] = []
        at = 0
        for number, (line, origin) in enumerate(zip(lines, origins, strict=True), 1):
            memory = self._memory_at(at)
            told.append(
                {
                    "line": number,
                    "sequence": origin.sequence,
                    **self._sequence(origin.sequence),
                    "exact": origin.exact,
                    "memory": memory,
                    "session": None if memory is None else self._session(memory),
                    "text": line.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r"),
                }
            )
            at += len(line)
        return told

    def _memory_at(self, offset: int) -> str | None:
        place = bisect_right(self._starts, offset) - 1
        return self._spans[place].record_id if place >= 0 and offset < self._spans[place].end else None

    def _sequence(self, number: int) -> JsonObject:
        if number not in self._sequences:
            row = self._vault.sequence(number)
            self._sequences[number] = {"time": row.recorded_at, "kind": row.kind, "writer": row.writer}
        return self._sequences[number]

    def _session(self, record_id: str) -> str | None:
        """Return the session that the record of a memory names, None if the runtime stored none."""
        if record_id not in self._sessions:
            item = self._state.record(record_id)
            source = {} if item is None else as_object(memory_records.parse_record(item.line).get("source"))
            found = source.get("session_id")
            self._sessions[record_id] = found if isinstance(found, str) else None
        return self._sessions[record_id]
