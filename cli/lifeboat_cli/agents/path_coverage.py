"""Which files of an agent are kept and which are not, with the reason (`lifeboat agents show`)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from lifeboat_adapters.contract import CaptureRoot
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.stable_reads.file_reading import OverLimit, Unstable
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Entry, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture import ignore_file, not_captured, root_scan
from lifeboat_core.capture.root_scan import HeldRoots, RootScan
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import count_text

OWNER, ATTRIBUTES, HARD_LINKS, HOLES, SPECIAL_BITS = (
    "owner",
    "extended attributes",
    "hard links",
    "holes",
    "setuid, setgid or sticky bit",
)
"""What no restore brings back."""
_NOT_YET = "not captured yet: lifeboat sync"
_OF_THE_SYSTEM = ("security.", "com.apple.provenance")
"""Extended attributes that a system sets on every file."""


@dataclass(frozen=True, slots=True)
class PathCoverage:
    """One path.

    `how`: managed, artifact, large artifact, link, folder, or not kept; `why` says more. `lost` names what of a kept
    file no restore brings back. `stale` says why the present version of a kept file is not kept.
    """

    path: str
    kept: bool
    how: str
    why: str
    size: int
    lost: tuple[str, ...] = ()
    stale: str = ""

    def to_json(self) -> JsonObject:
        return asdict(self)


def list_path_coverage(context: Context, agent: Agent) -> list[PathCoverage]:
    """Return everything in the newest state, and everything in the workspace and the runtime's own folder that is not
    in it."""
    with context.vault(agent.id) as vault:
        held = list(_held(vault.state())) if vault.head() is not None else []
    reasons = not_captured.list_not_captured_files(context, agent)
    held = [replace(one, stale=reasons.get(one.path, "")) for one in held]
    roots = _roots(context, agent)
    if not roots:
        return sorted(held, key=lambda one: one.path)
    seen = _scan(context, agent, roots)
    live = {found.path: found.real for found in seen.found.values()}
    held = [replace(one, lost=find_lost(seen.files, live[one.path])) if one.path in live else one for one in held]
    return sorted([*held, *_left_out(seen, {one.path for one in held}, reasons)], key=lambda one: one.path)


def find_lost(files: FileOperations, path: str) -> tuple[str, ...]:
    """Return what of a file or folder no capture contains (docs/captures.md); nothing for one that is gone."""
    try:
        found = files.lstat(path)
        attributes = os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []
    except OSError:
        return ()
    is_file = stat.S_ISREG(found.st_mode)
    marks = (
        (OWNER, hasattr(os, "geteuid") and (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid())),
        (ATTRIBUTES, any(not name.startswith(_OF_THE_SYSTEM) for name in attributes)),
        (HARD_LINKS, is_file and found.st_nlink > 1),
        (HOLES, is_file and getattr(found, "st_blocks", found.st_size) * 512 < found.st_size),
        (SPECIAL_BITS, not stat.S_ISLNK(found.st_mode) and bool(found.st_mode & 0o7000)),
    )
    return tuple(name for name, is_lost in marks if is_lost)


def _held(state: State) -> Iterator[PathCoverage]:
    for prefix in (archive_layout.ARTIFACTS, archive_layout.RAW):
        for each in state.entries(prefix):
            entry = each._replace(meta=state.redactions.meta(each.meta, each.leaf.digest))
            yield PathCoverage(entry.path, True, _how(entry), _why(entry), entry.size)


def _how(entry: Entry) -> str:
    if not entry_metas.is_file(entry.meta):
        return str(entry.meta["type"])
    if entry.path.startswith(archive_layout.RAW):
        return "managed"
    return "large artifact" if as_object(entry.meta.get(entry_metas.ATTACHMENT)).get("tier") == 3 else "artifact"


def _why(entry: Entry) -> str:
    notes = []
    if entry.meta.get(entry_metas.RECORDS):
        notes.append(count_text(len(entry.meta[entry_metas.RECORDS]), "memory"))
    if entry.meta.get(entry_metas.CUTS):
        notes.append(f"{count_text(len(entry.meta[entry_metas.CUTS]), 'secret')} removed and encrypted")
    return ", ".join(notes)


def _left_out(seen: RootScan, held: set[str], reasons: Mapping[str, str]) -> Iterator[PathCoverage]:
    for path, reason in (seen.beside | seen.skipped | seen.unread | seen.missing_roots).items():
        yield PathCoverage(path, False, "not captured", reason, 0)
    for found in seen.found.values():
        if found.path not in held:
            yield PathCoverage(found.path, False, "not captured", reasons.get(found.path, _NOT_YET), found.key.size)


def _roots(context: Context, agent: Agent) -> list[CaptureRoot]:
    """Return the workspace, then the runtime's own folder; nothing if there is no workspace."""
    try:
        return list(context.adapter(agent.runtime).roots(context.installation(agent)))
    except (AdapterError, OSError):
        return []


def _scan(context: Context, agent: Agent, roots: list[CaptureRoot]) -> RootScan:
    """Scan the names in the workspace as it is now."""
    held = root_scan.HeldRoots(context.files, roots)
    return root_scan.scan_roots(
        held, roots, context.adapter(agent.runtime), ignore_file.parse_ignore_file(_ignore_text(held, roots[0])), {}
    )


def _ignore_text(files: HeldRoots, workspace: CaptureRoot) -> str:
    try:
        data = files.read_ignore_file(workspace)
    except (OSError, OverLimit, Unstable):
        return ""
    return data.decode("utf-8", "replace")
