"""Vaults, drafts and edits for tests."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import Leaf, State
from lifeboat_alf.testing.sample_states import AGENT_ID, make_record
from lifeboat_vault.remote.remote_contract import FileKey
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, SequenceRow, Vault

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUARTER = "memory/partitions/2026-Q4.jsonl"


class ManualClock:
    """A clock that only moves when told to."""

    def __init__(self, moment: datetime = START) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def since_boot(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0

    def boot_id(self) -> str:
        return "test"

    def advance(self, **parts: float) -> None:
        self.moment += timedelta(**parts)


def new_vault(folder: Path, **options: object) -> Vault:
    return Vault.create(folder / "vault", AGENT_ID, clock=ManualClock(), **options)  # type: ignore[arg-type]


def put(vault: Vault, path: str, body: bytes, **meta: object) -> SequenceRow:
    """Commit a change of one entry."""
    made = commit(vault, Draft({path: EntryPut(dict(meta), body)}))
    assert made is not None
    return made


def commit(vault: Vault, draft: Draft, time: datetime = START, **options: object) -> SequenceRow | None:
    return vault.commit(draft, kind="capture", writer="laptop", time=time, **options)  # type: ignore[arg-type]


def create(content: str, **fields: object) -> RecordPut:
    line = make_record(content, **fields)  # type: ignore[arg-type]
    return RecordPut("create", line["id"], QUARTER, json_codec.encode_json(line))


def edit(old: RecordPut, operation: str = "update", **fields: object) -> RecordPut:
    line: JsonObject = json_codec.decode_json(old.line)
    return old._replace(operation=operation, line=json_codec.encode_json({**line, **fields}))  # type: ignore[arg-type]


def content_of(state: State) -> tuple[dict[str, tuple[JsonObject, bytes]], list[tuple[str, str, int, bytes]]]:
    """Return everything a state says, for comparison."""
    entries = {entry.path: (entry.meta, state.body(entry.path)) for entry in state.entries()}
    return entries, [(item.id, item.partition, item.position, item.line) for item in state.records()]


def file_key(body: bytes) -> FileKey:
    """Return the key of a large file for a sealed log, which ignores the leaf."""
    return FileKey(Leaf(b"\x01" * 32, b"\x01" * 16), hashlib.sha256(body).hexdigest())
