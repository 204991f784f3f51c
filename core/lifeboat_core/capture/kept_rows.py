"""Keep captured rows whose absence from the runtime's databases is not a deletion.

There are two cases: their database is missing, empty or has no such table; or a restore did not write them, as with
most rows that only the runtime's own commands may write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.persona.derivation_files import iter_table_rows
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states import entry_metas
from lifeboat_core.agents import withheld_items
from lifeboat_core.capture.capture_session import CaptureSession
from lifeboat_core.capture.known_installation import advise_on_missing, is_workspace_accepted
from lifeboat_core.capture.row_cuts import FILE as MEMORIES
from lifeboat_core.capture.workspace_survey import WorkspaceSurvey
from lifeboat_core.texts.human_text import count_text


@dataclass(slots=True)
class KeptRows:
    """`files` are paths whose last version stays, with the reason. `waiting` are captured lines by path that are added
    to what was read. `arrived` are names of withheld rows that are there now."""

    files: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, list[bytes]] = field(default_factory=dict)
    arrived: set[str] = field(default_factory=set)


def find_kept_rows(
    session: CaptureSession, seen: WorkspaceSurvey, prefix: str, tables: Mapping[str, bytes]
) -> KeptRows:
    """Compare the rows that were read with the head. Raises RuntimeDatabaseError for a database that cannot be read
    now."""
    kept, names = KeptRows(), withheld_items.list_withheld_rows(session.vault, prefix)
    if session.state is None or is_workspace_accepted(session):
        kept.arrived.update(withheld_items.make_row_name(path, name) for path, each in names.items() for name in each)
        return kept
    for entry in session.state.entries(prefix):
        if entry.path.endswith(MEMORIES):
            continue
        body = session.overlay.old_body(entry.path) or b""
        databases = seen.adapter.databases
        reason = databases.unreadable_rows(seen.installation, entry.path, body) if databases is not None else ""
        if reason:
            kept.files[entry.path] = (
                f"{reason}; Lifeboat keeps the rows that it captured before; {advise_on_missing(session)}"
            )
        elif entry.path in names:
            _wait(session, seen, kept, entry.path, body, tables.get(entry.path, b""), names[entry.path])
    held = {entry.path for entry in session.state.entries(prefix)}
    kept.arrived.update(withheld_items.make_row_name(path, one) for path in names.keys() - held for one in names[path])
    return kept


def _wait(
    session: CaptureSession,
    seen: WorkspaceSurvey,
    kept: KeptRows,
    path: str,
    body: bytes,
    now: bytes,
    names: frozenset[str],
) -> None:
    """Divide the withheld rows of a file into those that are in the database, maybe under another name, and those still
    missing."""
    known = {name for line in now.split(b"\n") for name in _names(seen.adapter, path, line)}
    waiting: list[bytes] = []
    spans: list[tuple[int, int]] = []
    at, still = 0, set[str]()
    for line in body.split(b"\n"):
        found = _names(seen.adapter, path, line)
        if found and found[0] in names and known.isdisjoint(found):
            waiting.append(line)
            spans.append((at, at + len(line)))
            still.add(found[0])
        at += len(line) + 1
    kept.arrived.update(withheld_items.make_row_name(path, name) for name in names - still)
    if _is_cut((session.overlay.meta(path) or {}).get(entry_metas.CUTS, ()), spans):
        # A line with cuts cannot be added to new ones: credentials are sealed with the digest of the whole file.
        kept.files[path] = (
            f"the last restore could not write {count_text(len(waiting), 'row')}, which Lifeboat "
            f"keeps in the history; {advise_on_missing(session)}"
        )
    elif waiting:
        kept.waiting[path] = waiting


def _is_cut(cuts: list[JsonObject], spans: list[tuple[int, int]]) -> bool:
    return any(start <= int(cut["offset"]) < end for cut in cuts for start, end in spans)


def _names(adapter: Adapter, path: str, line: bytes) -> tuple[str, ...]:
    """Return the names of a row, none for a line that is not a row, as an imported archive may contain."""
    values = next(iter_table_rows(line), None)
    return () if values is None else withheld_items.list_row_names(adapter, path, values)
