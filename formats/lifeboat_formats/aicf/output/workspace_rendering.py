"""Renders the AICF files of a state (ALF §6.2): files in raw with their changes, files rebuilt from memories, and one
more file for memories of other runtimes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_adapters.contract import RenderedFile
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aicf import aicf_workspace
from lifeboat_formats.aicf.aicf_mapping import RAW
from lifeboat_formats.aicf.output import file_patching, file_writing, rebuilding, remembered_state
from lifeboat_formats.aicf.output.remembered_state import RememberedMemories
from lifeboat_formats.aicf.records import identity_layers
from lifeboat_formats.aicf.syntax.document_parts import Dialect

OTHERS = "memory.aicf"
"""The file for memories that came from no AICF file."""
MERGED, STRUCTURED = "merged", "structured"
_GROWING = (Dialect.SPECIFIED, Dialect.MIXED)


@dataclass(slots=True)
class _RenderedFiles:
    """Rendered texts by name, which of them changed, and the memories that no file holds yet."""

    texts: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    left: dict[str, JsonObject] = field(default_factory=dict)

    def put(self, name: str, text: str, basis: str) -> None:
        """Set the text of a file that changed."""
        self.changed[name] = basis
        self.texts[name] = text

    def leave(self, records: Sequence[JsonObject]) -> None:
        """Note memories that no file holds."""
        self.left |= {str(record["id"]): record for record in records}

    def hold(self, records: Sequence[JsonObject | None]) -> None:
        """Note memories that a file holds."""
        for record in records:
            if record is not None:
                self.left.pop(str(record["id"]), None)


def render_workspace(state: State) -> Iterator[RenderedFile]:
    """Yield the files under `raw/aicf/` that differ from those in raw."""
    known = remembered_state.collect_memories(state)
    files = _RenderedFiles(
        left={name: record for name, record in known.memories.items() if str(record["content"]).strip()}
    )
    _from_raw(state, known, files)
    _from_memories(files)
    _others(files)
    _documents(state, files)
    for name, basis in sorted(files.changed.items()):
        yield RenderedFile(RAW + name, files.texts[name].encode("utf-8", "replace"), basis)


def _from_raw(state: State, known: RememberedMemories, files: _RenderedFiles) -> None:
    for raw in remembered_state.find_raw_files(state):
        if not aicf_workspace.is_readable(raw.name):
            continue
        now = known.of(raw.read, raw.listed)
        patch = file_patching.patch_file(raw.read, now)
        files.texts[raw.name] = raw.text
        if patch.text != raw.text:
            files.put(raw.name, patch.text, MERGED)
        files.hold(list(now.values()))
        files.leave(patch.left)


def _from_memories(files: _RenderedFiles) -> None:
    for name, memories in rebuilding.group_by_file(files.left.values()).items():
        if name in files.texts or not aicf_workspace.is_safe(name):
            continue
        patch = rebuilding.rebuild_file(name, memories)
        if patch is not None:
            files.put(name, patch.text, STRUCTURED)
            files.hold(memories)
            files.leave(patch.left)


def _others(files: _RenderedFiles) -> None:
    """Append the memories without a file to the file for them."""
    if not files.left:
        return
    names = (f"memory-{number}.aicf" if number > 1 else OTHERS for number in itertools.count(1))
    name = next(name for name in names if name not in files.texts or can_append(files.texts[name]))
    before = files.texts.get(name, "")
    made = file_writing.compose_file(list(files.left.values()), {}, with_version=not before)
    text = file_patching.append_lines(before, made.lines) if before else file_writing.number_lines(made.lines)
    files.put(name, text, MERGED if before else STRUCTURED)


def can_append(text: str) -> bool:
    """Return whether lines of version 3.1 may be appended to a file."""
    return not text or file_patching.dialect_of(text) in _GROWING


def _documents(state: State, files: _RenderedFiles) -> None:
    """Write identity and principals into a file of their own."""
    said = remembered_state.find_documents(state)
    stands = identity_layers.read_stated_documents(files.texts.get(identity_layers.FILE, ""))
    if not said or said == stands or identity_layers.is_placeholder(said):
        return
    lines = file_writing.compose_file([], said).lines
    files.put(
        identity_layers.FILE,
        file_writing.number_lines(lines),
        MERGED if identity_layers.FILE in files.texts else STRUCTURED,
    )
