"""Restore sessions of an archive through OpenClaw itself. When a later release repairs itself, it imports the files of
an older release, also into a database that has sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import CredentialDelivery, CredentialRefusal, Place
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.openclaw import openclaw_databases, openclaw_paths, session_files
from lifeboat_adapters.openclaw.restore.credential_delivery import NO_PROGRAM, NOT_TAKEN, RUNTIME, openclaw_command
from lifeboat_adapters.openclaw.restore.openclaw_config_merging import NEW
from lifeboat_adapters.persona.derivation_files import iter_table_rows
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

_WHERE = "OpenClaw's sessions"
_SECONDS = 900.0

NODES, WINDOWS, EVENTS = (
    f"{openclaw_paths.DATABASES}agent/{name}.jsonl"
    for name in ("session_nodes", "session_windows", "transcript_events")
)
_INDEX = f"{openclaw_paths.SESSION_FILES}sessions.jsonl"


def holds_sessions(path: str) -> bool:
    """Return whether a file of rows holds sessions."""
    return path in (NODES, WINDOWS, EVENTS) or path.startswith(openclaw_paths.SESSION_FILES)


def plan_session_deliveries(installation: Installation, tables: Mapping[str, bytes]) -> list[CredentialDelivery]:
    """Return one delivery for all sessions that the runtime lacks, none without a state directory or without sessions.
    Raises RuntimeDatabaseError when the present sessions cannot be read."""
    there = _present(installation)
    texts = {id: text for id, text in _transcripts(tables).items() if id not in there}
    if installation.state_dir is None or not texts:
        return []
    places: dict[Place, str] = {(path, (id,)): id for path in filter(holds_sessions, tables) for id in texts}
    if installation.layout != NEW or installation.program is None:
        is_old = installation.layout != NEW
        reason = Reason(CredentialRefusal.OLD_RELEASE, runtime=RUNTIME) if is_old else NO_PROGRAM
        return [CredentialDelivery(places, _WHERE, reason)]
    folder = session_files.session_folder_of(installation.state_dir, installation.native_id)
    index = {key: entry for key, entry in _index(tables).items() if str(entry.get("sessionId")) in texts}
    files: list[tuple[Path, bytes]] = [(folder / f"{id}.jsonl", text) for id, text in sorted(texts.items())]
    files.append((folder / session_files.INDEX, json.dumps(index).encode()))
    command, environment = openclaw_command(installation, ["doctor", "--fix", "--non-interactive"])
    return [
        CredentialDelivery(
            places,
            _WHERE,
            command=command,
            environment=environment,
            files=tuple(files),
            timeout_seconds=_SECONDS,
            find_undelivered=find_undelivered_sessions,
        )
    ]


def find_undelivered_sessions(installation: Installation, delivery: CredentialDelivery) -> dict[Place, Reason]:
    """Return the delivered sessions that are not in the runtime's database now, each with the reason."""
    try:
        there = _present(installation)
    except AdapterError as error:
        return dict.fromkeys(delivery.places, Reason(CredentialRefusal.RUNTIME_PROBLEM, message=error.message))
    return {place: NOT_TAKEN for place, id in delivery.places.items() if id not in there}


def _present(installation: Installation) -> set[str]:
    """Return the ids of the sessions that the runtime has together with their transcript."""
    rows = openclaw_databases.read_openclaw_rows(installation, transcripts=True)
    return {str(row.values.get("session_id")) for row in rows if row.path == EVENTS}


def _transcripts(tables: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the events of each session as a file of 2026.2. Sessions whose id cannot be a file name are left out."""
    found: dict[str, list[str]] = {}
    for id, line in _events(tables):
        if id and PurePosixPath(id).name == id and id not in (".", ".."):
            found.setdefault(id, []).append(line)
    return {id: "".join(f"{line}\n" for line in lines).encode("utf-8", "replace") for id, lines in found.items()}


def _events(tables: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for row in sorted(iter_table_rows(tables.get(EVENTS)), key=lambda row: (str(row.get("session_id")), _number(row))):
        if isinstance(row.get("event_json"), str):
            yield str(row.get("session_id")), row["event_json"]
    for path in sorted(tables):
        name = path.removeprefix(openclaw_paths.SESSION_FILES)
        if path != _INDEX and path.startswith(openclaw_paths.SESSION_FILES) and "/" not in name:
            for row in iter_table_rows(tables[path]):
                text = row["line"] if row.keys() == {"line"} else json.dumps(row, ensure_ascii=False)
                yield name.removesuffix(".jsonl"), str(text)


def _number(row: JsonObject) -> int:
    seq = row.get("seq")
    return seq if isinstance(seq, int) else 0


def _index(tables: Mapping[str, bytes]) -> dict[str, JsonObject]:
    """Return the index entry of each session, by its key."""
    found = {str(row.get("session_key")): row.get("entry") for row in iter_table_rows(tables.get(_INDEX))}
    for row in iter_table_rows(tables.get(NODES)):
        found[str(row.get("session_key"))] = _parsed(row.get("entry_json"))
    return {key: entry for key, entry in found.items() if isinstance(entry, dict)}


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
