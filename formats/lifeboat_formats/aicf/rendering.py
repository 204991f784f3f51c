"""Files of this format from a state (ALF §6.2): those that stand in raw with what changed since, those that memories
can put together again, and one more for memories of other runtimes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_adapters.contract import Rendered
from lifeboat_adapters.persona import rendering as persona
from lifeboat_alf import layout
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.state import State
from lifeboat_formats.aicf import extension, folder, layers, patching, rebuilding, standing, writing
from lifeboat_formats.aicf.mapping import RAW
from lifeboat_formats.aicf.parts import Dialect
from lifeboat_formats.aicf.standing import Remembered

OTHERS = "memory.aicf"
"""Where memories stand that came from no file of this format."""
MERGED, STRUCTURED = "merged", "structured"
_GROWING = (Dialect.SPECIFIED, Dialect.MIXED)


@dataclass(slots=True)
class _Files:
    """Texts by name, which of them changed, and the memories that none of them holds."""

    texts: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    left: dict[str, JsonObject] = field(default_factory=dict)

    def put(self, name: str, text: str, basis: str) -> None:
        self.changed[name] = basis
        self.texts[name] = text

    def leave(self, records: Sequence[JsonObject]) -> None:
        self.left |= {str(record["id"]): record for record in records}

    def hold(self, records: Sequence[JsonObject | None]) -> None:
        for record in records:
            if record is not None:
                self.left.pop(str(record["id"]), None)


def render(state: State) -> Iterator[Rendered]:
    """Files under `raw/aicf/`; those that raw already has as they are to be are left out."""
    known = standing.remembered(state)
    files = _Files(left={name: record for name, record in known.memories.items() if str(record["content"]).strip()})
    _from_raw(state, known, files)
    _from_memories(files)
    _others(files)
    _documents(state, files)
    for name, basis in sorted(files.changed.items()):
        yield Rendered(RAW + name, files.texts[name].encode("utf-8", "replace"), basis)


def _from_raw(state: State, known: Remembered, files: _Files) -> None:
    for raw in standing.raw_files(state):
        if not folder.is_readable(raw.name):
            continue
        now = known.of(raw.read, raw.listed)
        patch = patching.patched(raw.read, now)
        files.texts[raw.name] = raw.text
        if patch.text != raw.text:
            files.put(raw.name, patch.text, MERGED)
        files.hold(list(now.values()))
        files.leave(patch.left)


def _from_memories(files: _Files) -> None:
    for name, memories in rebuilding.by_file(files.left.values()).items():
        if name in files.texts or not folder.is_safe(name):
            continue
        patch = rebuilding.rebuilt(name, memories)
        if patch is not None:
            files.put(name, patch.text, STRUCTURED)
            files.hold(memories)
            files.leave(patch.left)


def _others(files: _Files) -> None:
    """Memories that have no file yet, behind those of the file that is for them."""
    if not files.left:
        return
    name = next(name for name in _names() if name not in files.texts or can_grow(files.texts[name]))
    before = files.texts.get(name, "")
    made = writing.made(list(files.left.values()), {}, with_version=not before)
    text = patching.appended(before, made.lines) if before else writing.numbered(made.lines)
    files.put(name, text, MERGED if before else STRUCTURED)


def _names() -> Iterator[str]:
    yield OTHERS
    number = 2
    while True:
        yield f"memory-{number}.aicf"
        number += 1


def can_grow(text: str) -> bool:
    """Whether lines of version 3.1 may stand behind a file."""
    return not text or patching.dialect_of(text) in _GROWING


def _documents(state: State, files: _Files) -> None:
    """Who the agent is and whom it serves, in a file of their own."""
    said: dict[str, JsonObject] = {}
    for section, path in ((extension.IDENTITY, layout.IDENTITY), (extension.PRINCIPALS, layout.PRINCIPALS)):
        document = layers.portable(persona.document(state, path))
        if document:
            said[section] = document
    stands = layers.said_in(files.texts.get(layers.FILE, ""))
    if not said or said == stands or layers.is_made_up(said):
        return
    lines = writing.made([], said).lines
    files.put(layers.FILE, writing.numbered(lines), MERGED if layers.FILE in files.texts else STRUCTURED)
