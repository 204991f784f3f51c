"""Determine what a state puts on the disk for one runtime (ALF §6.2): raw files with changed memories merged into them,
and files rendered from the structured layers where the runtime has no raw file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Adapter, Placement, RenderedFile
from lifeboat_adapters.secrets import secret_cutting
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_names import to_native_name
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Entry, State
from lifeboat_core.agents.name_conflicts import find_blocked_names
from lifeboat_core.errors import RestoreError
from lifeboat_core.restore import disk_names
from lifeboat_core.state import state_documents
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_vault.vault import state_inventory as inventories
from lifeboat_vault.vault.state_inventory import StateInventory

FILE, LINK, FOLDER = "file", "link", "folder"
RAW, MERGED, STRUCTURED, ARTIFACT, DATABASE = "raw", "merged", "structured", "artifact", "database"
CONFLICT, SAME_NAME, DAMAGED = "conflict", "same_name", "damaged"
"""Why something is left out: another entry needs a folder in its place, another entry has its name, or its bytes are
not those that were signed."""
DATABASES, MEMORY = "db/", "memory/"


@dataclass(frozen=True, slots=True)
class WantedFile:
    """One file, link or empty folder. `name` is relative to its root. `data` has the bytes if they differ from the
    entry's; `data_is_cut` says that credentials have to be filled into them. `make` writes a database, which is never
    completely in memory. `basis` says where the bytes come from. `has_gap`: it is written with placeholders instead of
    its credentials."""

    name: str
    path: str
    basis: str
    meta: JsonObject
    entry: Entry | None = None
    data: bytes | None = None
    make: Callable[[Path], None] | None = None
    data_is_cut: bool = False
    has_gap: bool = False

    @property
    def kind(self) -> str:
        return str(self.meta.get("type", FILE))

    @property
    def size(self) -> int:
        if self.data is not None:
            return len(self.data)
        return self.entry.size if self.entry is not None else 0

    @property
    def cuts(self) -> list[JsonObject]:
        return list(self.meta.get(entry_metas.CUTS, []))

    @property
    def mode(self) -> int:
        """Return the rights to create a file or folder with."""
        return entry_metas.mode_of(self.meta)

    def has_rights(self, mode: int, *, all_kept: bool) -> bool:
        """Return whether a file or folder with these rights may stay. If the state does not keep all nine bits
        (`all_kept`), narrower rights than its two bits say are not widened."""
        if all_kept or mode == self.mode or "mode" in self.meta:
            return mode == self.mode
        return mode & 0o700 == self.mode & 0o700 and mode & ~self.mode == 0

    @property
    def target(self) -> str:
        """Return the target of a link, as the system spells it."""
        return to_native_name(str(self.meta.get("target", "")), self.meta.get("target_hex"))

    @property
    def mtime_ns(self) -> int | None:
        text = self.meta.get("mtime_ns")
        return int(text) if text is not None else None


@dataclass(frozen=True, slots=True)
class AbsentFile:
    """A large file of which only the description is stored (ALF §3.1.9, tier 3)."""

    filename: str
    size: int | None


@dataclass(frozen=True, slots=True)
class LeftOutFile:
    """Something in a state that cannot be restored. `code` is CONFLICT, SAME_NAME or DAMAGED."""

    wanted: WantedFile
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class WantedContents:
    """What a state puts into the workspace and into the state directory (`home`), rows of databases (never written as
    they are), what is only described, and what cannot be restored."""

    workspace: dict[str, WantedFile]
    home: dict[str, WantedFile]
    rows: list[WantedFile]
    absent: list[AbsentFile]
    left_out: list[LeftOutFile]


def find_source_runtime(state: State) -> str:
    """Return the runtime whose files a state holds. Without the head document, which may be damaged, this is the first
    one that has files there."""
    named = _head(state).get("agent", {}).get("source_runtime")
    if named is None:
        paths = (entry.path for entry in state.entries(archive_layout.RAW))
        found = (path.removeprefix(archive_layout.RAW).partition("/")[0] for path in paths)
        named = next((runtime for runtime in found if not runtime.endswith("-home")), "openclaw")
    return str(named)


def read_agent_name(state: State) -> str:
    return str(_head(state).get("agent", {}).get("name", state.sequence.agent_id))


def _head(state: State) -> JsonObject:
    document = (
        json_codec.decode_json(state.body(archive_layout.MANIFEST)) if state.entry(archive_layout.MANIFEST) else {}
    )
    return document if isinstance(document, dict) else {}


def merge_wanted(wanted: WantedFile, name: str, body: bytes, data: bytes) -> WantedFile:
    """Return a file with another name and other bytes than `body`, both without its credentials."""
    meta = {key: value for key, value in wanted.meta.items() if key != entry_metas.CUTS}
    if wanted.cuts:
        meta[entry_metas.CUTS] = secret_cutting.find_placeholders(data, body, wanted.cuts)
    return replace(wanted, name=name, basis=MERGED, meta=meta, data=data, data_is_cut=True)


def read_wanted_body(state: State, wanted: WantedFile) -> bytes:
    """Return a file as it was captured or merged, without its credentials."""
    return state.body(wanted.path) if wanted.data is None else wanted.data


def gather_contents(state: State, inventory: StateInventory, adapter: Adapter) -> WantedContents:
    """Return everything that a state puts on the disk for one runtime."""
    prefix, home_prefix = archive_layout.raw_prefix(adapter.runtime), archive_layout.home_prefix(adapter.runtime)
    workspace: dict[str, WantedFile] = {}
    home: dict[str, WantedFile] = {}
    found = WantedContents(workspace, home, [], [], [])
    artifacts: dict[str, WantedFile] = {}
    for entry in inventory.entries.values():
        if entry.path.startswith(prefix):
            _put(workspace, _raw(state, entry, prefix, inventory, adapter))
        elif entry.path.startswith(home_prefix + DATABASES):
            found.rows.append(WantedFile(entry.path.removeprefix(home_prefix), entry.path, RAW, entry.meta, entry))
        elif entry.path.startswith(home_prefix):
            _put(home, _raw(state, entry, home_prefix, inventory, adapter))
        elif entry.path.startswith(archive_layout.ARTIFACTS):
            _artifact(entry, inventory, artifacts, found)
    _beside(artifacts, found, is_newest=find_source_runtime(state) == adapter.runtime)
    _shared(state, inventory, adapter, found)
    _rendered(state, adapter, found)
    for wanted in (workspace, home):
        found.left_out.extend(_without_conflicts(wanted))
    found.left_out.extend(_damaged(each.entry, prefix, home_prefix) for each in inventory.damaged)
    return found


def _damaged(entry: Entry, prefix: str, home_prefix: str) -> LeftOutFile:
    """Report an entry whose bytes are damaged: a file by its name, one of another runtime by its path."""
    mine = next((each for each in (prefix, home_prefix, archive_layout.ARTIFACTS) if entry.path.startswith(each)), "")
    wanted = WantedFile(disk_names.name_on_disk(entry.path, entry.meta, mine), entry.path, RAW, entry.meta, entry)
    return LeftOutFile(wanted, DAMAGED, "the content of this file differs from the signed content")


def _without_conflicts(wanted: dict[str, WantedFile]) -> list[LeftOutFile]:
    """Remove files and links that stand where other names need a folder. Earlier releases captured such states when a
    name changed its kind; what lies below is the newer one."""
    first_below: dict[str, str] = {}
    for name, below in find_blocked_names({name: each.kind for name, each in wanted.items()}):
        first_below.setdefault(name, below)
    return [
        LeftOutFile(wanted.pop(name), CONFLICT, f"{make_printable(below)} needs a directory at this path")
        for name, below in first_below.items()
    ]


def check_nothing_behind_links(wanted: Mapping[str, WantedFile]) -> None:
    """Raise RestoreError.UNSAFE_NAME for a name below a link or a file. No workspace has one, and a forged state could
    write through the link."""
    for parent, name in find_blocked_names({name: each.kind for name, each in wanted.items()}):
        raise RestoreError.UNSAFE_NAME(
            f"{make_printable(name)} is below {make_printable(parent)}, which is not a directory"
        )


def _put(wanted: dict[str, WantedFile], item: WantedFile) -> None:
    wanted[item.name] = item


def _raw(state: State, entry: Entry, prefix: str, inventory: StateInventory, adapter: Adapter) -> WantedFile:
    """Return a raw file as captured, if its memories still say what it says. White space and markup between them do not
    count, and bytes that are not UTF-8 are not in memories."""
    name = disk_names.name_on_disk(entry.path, entry.meta, prefix)
    ids = entry.meta.get(entry_metas.RECORDS)
    # If not all memories of a file can be read, it is restored as captured.
    if ids and entry_metas.is_file(entry.meta) and inventory.damaged_records.keys().isdisjoint(ids):
        memories = inventory.memories.of(ids)
        if not _says(state, entry, memories, adapter):
            joined = _joined(state, entry, ids, memories, adapter).encode("utf-8", "surrogatepass")
            return _merged(state, entry, name, joined)
        if entry.sha256 is None and (mended := _mended(state, entry, ids, memories, adapter)) is not None:
            return _merged(state, entry, name, mended)
    return WantedFile(name, entry.path, RAW, entry.meta, entry)


def _merged(state: State, entry: Entry, name: str, data: bytes) -> WantedFile:
    """Return a raw file with other bytes than captured. Its memories hold the placeholders of its credentials."""
    meta = {key: value for key, value in entry.meta.items() if key not in ("mtime_ns", entry_metas.CUTS)}
    if entry_metas.CUTS in entry.meta:
        meta[entry_metas.CUTS] = secret_cutting.find_placeholders(
            data, state.body(entry.path), entry.meta[entry_metas.CUTS]
        )
    return WantedFile(name, entry.path, MERGED, meta, entry, data, data_is_cut=True)


def _joined(state: State, entry: Entry, ids: list[str], memories: list[tuple[str, str]], adapter: Adapter) -> str:
    """Return a raw file with its present memories, changed in place if the runtime's format allows it."""
    try:
        body = state.body(entry.path).decode()
    except UnicodeDecodeError:
        return adapter.join(entry.path, memories)
    changed = adapter.rejoin(entry.path, body, ids, memories)
    return adapter.join(entry.path, memories) if changed is None else changed


def _mended(
    state: State, entry: Entry, ids: list[str], memories: list[tuple[str, str]], adapter: Adapter
) -> bytes | None:
    """Return a raw file that a redaction changed (its digest was destroyed) with valid checksums again, because a
    redaction removes bytes without updating them. Return None if nothing has to change."""
    body = state.body(entry.path)
    try:
        made = adapter.rejoin(entry.path, body.decode(), ids, memories)
    except UnicodeDecodeError:
        return None
    mended = None if made is None else made.encode("utf-8", "surrogatepass")
    return None if mended == body else mended


def _says(state: State, entry: Entry, memories: list[tuple[str, str]], adapter: Adapter) -> bool:
    """Return whether a file says what its memories say. Nearly every file equals its memories, so it need not be read;
    few need to be split."""
    joined = "".join(text for _, text in memories)
    if inventories.has_same_bytes(entry, joined.encode("utf-8", "surrogatepass")):
        return True
    body = state.body(entry.path).decode("utf-8", "replace")
    if joined.split() == body.split():
        return True
    said = [word for section in adapter.split(entry.path, body) or [] for word in section.text.split()]
    return said == [word for _, text in memories for word in text.split()]


def _artifact(entry: Entry, inventory: StateInventory, artifacts: dict[str, WantedFile], found: WantedContents) -> None:
    name = disk_names.name_on_disk(entry.path, entry.meta, archive_layout.ARTIFACTS)
    if entry.path not in inventory.absent:
        _put(artifacts, WantedFile(name, entry.path, ARTIFACT, entry.meta, entry))
    else:
        found.absent.append(AbsentFile(name, entry.size))


def _beside(artifacts: dict[str, WantedFile], found: WantedContents, *, is_newest: bool) -> None:
    """Add the artifacts. `is_newest`: this runtime captured the agent last, so a raw file with the name of an artifact
    is newer; raw files of another runtime may be older."""
    for name, item in artifacts.items():
        if not is_newest and item.entry is not None and _is_secret(item.entry):
            continue
        if name not in found.workspace:
            _put(found.workspace, item)
        elif is_newest:
            found.left_out.append(LeftOutFile(item, SAME_NAME, "another entry of the state has the same name"))


def _shared(state: State, inventory: StateInventory, adapter: Adapter, found: WantedContents) -> None:
    """Add files that mean the same to every runtime, such as skills, from the runtime that captured the agent last.
    They are newer than this runtime's. Memories and top-level files, which each runtime has in its own form, are not
    included."""
    last = find_source_runtime(state)
    if last == adapter.runtime:
        return
    prefix = archive_layout.raw_prefix(last)
    for entry in inventory.entries.values():
        if entry.path.startswith(prefix) and is_shared(entry, prefix, adapter):
            name = disk_names.name_on_disk(entry.path, entry.meta, prefix)
            _put(found.workspace, WantedFile(name, entry.path, RAW, entry.meta, entry))


def is_shared(entry: Entry, prefix: str, adapter: Adapter) -> bool:
    """Return whether a raw file of any runtime means the same to this one."""
    name = disk_names.name_on_disk(entry.path, entry.meta, prefix)
    if "/" not in name or f"/{MEMORY}" in f"/{name}" or entry.meta.get(entry_metas.RECORDS) or _is_secret(entry):
        return False
    here = archive_layout.raw_prefix(adapter.runtime) + entry.path.removeprefix(prefix)
    return adapter.place(here, is_folder=False) is not Placement.EXCLUDED


def _is_secret(entry: Entry) -> bool:
    """Return whether a whole file was cut out, such as a login: it means nothing to another runtime."""
    cuts = entry.meta.get(entry_metas.CUTS) or []
    return len(cuts) == 1 and entry.size == len(secret_cutting.placeholder_for(cuts[0][secret_cutting.CREDENTIAL]))


def _rendered(state: State, adapter: Adapter, found: WantedContents) -> None:
    """Add the files that have to be rendered from the structured layers."""
    prefix, home_prefix = archive_layout.raw_prefix(adapter.runtime), archive_layout.home_prefix(adapter.runtime)
    is_there = any(item.basis == RAW and item.path.startswith(prefix) for item in found.workspace.values())
    if is_there and not is_outdated(state, adapter.runtime):
        return
    is_same = is_there and _has_same_identity(state, adapter.runtime)
    for made in adapter.render(state):
        is_home = made.path.startswith(home_prefix)
        if is_same and _tells_identity(made, adapter) and (not is_home or state.entry(made.path) is not None):
            continue
        name = disk_names.name_on_disk(made.path, {}, home_prefix if is_home else prefix)
        _put(found.home if is_home else found.workspace, WantedFile(name, made.path, made.basis, {}, None, made.data))


def _has_same_identity(state: State, runtime: str) -> bool:
    """Return whether the identity is unchanged since a runtime captured the agent last, so that its own files are
    current."""
    known: Any = _head(state).get("raw_identity")
    version = state_documents.load_document(state, archive_layout.IDENTITY).get("version")
    return isinstance(known, dict) and version is not None and known.get(runtime) == version


def _tells_identity(made: RenderedFile, adapter: Adapter) -> bool:
    """Return whether a file only describes the identity: no memories and no principals."""
    read_by = {one.document for one in adapter.derivations() if one.reads(made.path)}
    if "identity" not in read_by or "principals" in read_by or made.basis == MERGED:
        return False
    sections = adapter.split(made.path, made.data.decode("utf-8", "replace")) or []
    return not any(section.text for section in sections)


def is_outdated(state: State, runtime: str) -> bool:
    """Return whether another runtime captured this agent after `runtime` did, so that raw files are not current."""
    captured = find_captured_sequences(state)
    own = captured.get(runtime)
    return own is not None and any(number > own for name, number in captured.items() if name != runtime)


def find_captured_sequences(state: State) -> dict[str, int]:
    """Return the sequence at which each runtime captured the agent last."""
    found: Any = _head(state).get("raw_state")
    captured = {find_source_runtime(state): state.sequence.number, **(found if isinstance(found, dict) else {})}
    return {runtime: number for runtime, number in captured.items() if isinstance(number, int)}
