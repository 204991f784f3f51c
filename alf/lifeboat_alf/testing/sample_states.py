"""Build states and documents for tests, in this project and outside it.

    state = MemoryState()
    state.put("raw/openclaw/SOUL.md", b"# Soul\n")
    state.add(record("Likes tea."))
    write_snapshot(state, out)

A `MemoryState` is a mutable `State` held in dicts; `copy` makes the next sequence of it. Everything the
builders make validates against the published schemas.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Self

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redacted_state import RedactedState
from lifeboat_alf.redaction.redactions import NONE, Redaction, Redactions
from lifeboat_alf.states import entry_metas, merkle
from lifeboat_alf.states.agent_state import ABSENT_LEAF, BodyAbsent, Entry, GoneRecord, Leaf, Record, Sequence, path_key

AGENT_ID = "019a0000-0000-7000-8000-00000000ada0"
TIME = "2026-11-20T12:00:00.000Z"
SEED = bytes(range(32))

_counter = itertools.count()
_NO_LEAF = Leaf(ABSENT_LEAF)


class MemoryState:
    """A state in memory. Every method that changes it returns what it made or the state itself."""

    def __init__(self, agent_id: str = AGENT_ID, number: int = 0, time: str = TIME, **head_fields: Any) -> None:
        self._sequence = Sequence(agent_id, number, None, 1, time, b"")
        self._entries: dict[str, Entry] = {}
        self._bodies: dict[str, bytes] = {}
        self._records: dict[str, Record] = {}
        self._lengths: Counter[str] = Counter()
        self._gone: list[GoneRecord] = []
        self._redactions = NONE
        self.put_document(archive_layout.MANIFEST, make_head(agent_id, **head_fields))

    # State ------------------------------------------------------------------------------------------------------

    @property
    def sequence(self) -> Sequence:
        """Return the sequence with the digest of the current content, unless `sign` has fixed it."""
        if self._sequence.digest:
            return self._sequence
        return replace(self._sequence, digest=merkle.state_digest(self, check_bodies=False))

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        paths = sorted((path for path in self._entries if path.startswith(prefix)), key=path_key)
        return iter([self._entries[path] for path in paths])

    def entry(self, path: str) -> Entry | None:
        return self._entries.get(path)

    def body(self, path: str) -> bytes:
        if path not in self._entries:
            raise KeyError(path)
        if path not in self._bodies:
            raise BodyAbsent(path)
        return self._bodies[path]

    def records(self, partition: str | None = None) -> Iterator[Record]:
        found = (item for item in self._records.values() if partition in (None, item.partition))
        return iter(sorted(found, key=lambda item: (path_key(item.partition), item.position)))

    def record(self, record_id: str) -> Record | None:
        return self._records.get(record_id)

    def gone(self) -> Iterator[GoneRecord]:
        return iter(self._gone)

    @property
    def redactions(self) -> Redactions:
        return self._redactions

    # Building ---------------------------------------------------------------------------------------------------

    def put(self, path: str, body: bytes, **meta: Any) -> Self:
        """Set an entry. Equal bytes keep their leaf, as in a vault."""
        old = self._entries.get(path)
        same = old is not None and self._bodies.get(path) == body
        leaf = old.leaf if old is not None and same else merkle.new_leaf(body)
        self._entries[path] = Entry(path, meta, leaf, len(body), hashlib.sha256(body).hexdigest())
        self._bodies[path] = body
        return self._changed()

    def put_document(self, path: str, document: Any) -> Self:
        """Set an entry to a JSON document in the form archives use."""
        return self.put(path, json_codec.encode_pretty(document))

    def put_absent(self, path: str, size: int, sha256: str | None, leaf: Leaf = _NO_LEAF, **meta: Any) -> Self:
        """Set an entry whose bytes are not held."""
        self._entries[path] = Entry(path, meta, leaf, size, sha256)
        self._bodies.pop(path, None)
        return self._changed()

    def put_artifact(self, path: str, body: bytes, *, tier: int = 2, **fields: Any) -> Self:
        """Set `artifacts/<path>` and its attachment."""
        attachment = {"id": fields.pop("id", f"019a0000-0000-7000-8000-{next(_counter):012x}")}
        attachment |= {"media_type": "text/plain", "tier": tier, **fields}
        return self.put(archive_layout.ARTIFACTS + path, body, attachment=attachment)

    def remove(self, path: str) -> Self:
        del self._entries[path]
        self._bodies.pop(path, None)
        return self._changed()

    def set_meta(self, path: str, **meta: Any) -> Self:
        """Replace the meta of an entry; its bytes stay."""
        self._entries[path] = self._entries[path]._replace(meta=meta)
        return self._changed()

    def add(self, line: JsonObject | bytes, partition: str | None = None) -> Record:
        """Append a record; its partition is the quarter of its `created_at` unless named."""
        fields, data = _both(line)
        file = partition or quarter_file(fields["temporal"]["created_at"])
        made = Record(fields["id"], file, self._lengths[file], merkle.new_leaf(data), data)
        self._lengths[file] += 1
        self._records[made.id] = made
        self._open_partition(file)
        self._changed()
        return made

    def add_all(self, lines: Iterable[JsonObject | bytes]) -> Self:
        for line in lines:
            self.add(line)
        return self

    def update(self, line: JsonObject | bytes) -> Record:
        """Replace a record in place."""
        fields, data = _both(line)
        old = self._records[fields["id"]]
        made = old._replace(line=data, leaf=merkle.new_leaf(data))
        self._records[made.id] = made
        self._changed()
        return made

    def set_records_of(self, path: str, record_ids: list[str]) -> Self:
        """Set which records a file holds."""
        return self.set_meta(path, **{**self._entries[path].meta, entry_metas.RECORDS: record_ids})

    @property
    def head(self) -> JsonObject:
        """Return a copy of the head document; `set_head` changes it."""
        document: JsonObject = json_codec.decode_json(self._bodies[archive_layout.MANIFEST])
        return document

    def set_head(self, **fields: Any) -> Self:
        """Set fields of the head document; None removes one."""
        document = {**self.head, **fields}
        return self.put_document(
            archive_layout.MANIFEST, {key: value for key, value in document.items() if value is not None}
        )

    def seal(self, file: str, last: str) -> Self:
        partitions = [
            {**item, "to": last, "sealed": True} if item["file"] == file else item for item in self.head["partitions"]
        ]
        return self.set_head(partitions=partitions)

    def redact(self, *redactions: Redaction) -> Self:
        """Apply redactions. Digest and signature stay."""
        redacted = RedactedState(self, redactions)
        entries, lines, gone = list(redacted.entries()), list(redacted.records()), list(redacted.gone())
        self._bodies = {path: redacted.body(path) for path in self._bodies}
        self._entries = {entry.path: entry for entry in entries}
        self._records = {record.id: record for record in lines}
        self._gone, self._redactions = gone, redacted.redactions
        return self

    def copy(self, number: int | None = None, time: str = TIME) -> MemoryState:
        """Return the same content as the next sequence (or `number`), unsigned."""
        made = MemoryState(self._sequence.agent_id)
        made._entries, made._bodies, made._records = dict(self._entries), dict(self._bodies), dict(self._records)
        made._lengths = Counter(self._lengths)
        made._gone, made._redactions = list(self._gone), self._redactions
        old = self._sequence
        made._sequence = Sequence(
            old.agent_id, old.number + 1 if number is None else number, old.number, old.epoch, time, b""
        )
        return made

    def sign(self, make: Callable[[Sequence], JsonObject]) -> Self:
        """Fix the digest and attach the signature document that `make` returns for the sequence."""
        fixed = self.sequence
        self._sequence = replace(fixed, signature=make(fixed))
        return self

    def _open_partition(self, file: str) -> None:
        partitions = self.head["partitions"]
        if all(item["file"] != file for item in partitions):
            partitions.append({"file": file, "from": first_day(file), "to": None, "sealed": False})
            self.set_head(partitions=sorted(partitions, key=lambda item: str(item["file"])))

    def _changed(self) -> Self:
        self._sequence = replace(self._sequence, digest=b"", signature=None)
        return self


def _both(line: JsonObject | bytes) -> tuple[JsonObject, bytes]:
    if isinstance(line, bytes):
        return json_codec.decode_json(line), line
    return line, json_codec.encode_json(line)


def quarter_file(created_at: str) -> str:
    """Return the archive path of the quarterly partition of a timestamp."""
    moment = times.parse_time(created_at)
    return f"{archive_layout.PARTITIONS}{moment.year:04}-Q{(moment.month + 2) // 3}.jsonl"


def first_day(file: str) -> str:
    """Return the first day of a quarterly partition by its file name; `1970-01-01` for other names."""
    stem = file.rsplit("/", 1)[-1].removesuffix(".jsonl")
    year, _, quarter = stem.partition("-Q")
    if not (year.isdigit() and quarter in ("1", "2", "3", "4")):
        return "1970-01-01"
    return f"{year}-{int(quarter) * 3 - 2:02}-01"


# Documents ------------------------------------------------------------------------------------------------------


def make_head(agent_id: str = AGENT_ID, **fields: Any) -> JsonObject:
    """Return the head document of a state without memories."""
    return {
        "agent": {"id": agent_id, "name": "Ada", "source_runtime": "openclaw", "source_runtime_version": "2026.9.6"},
        "partitions": [],
        "partition_granularity": "quarterly",
        "artifact_size_threshold": 102400,
        "raw_sources": ["openclaw"],
        **fields,
    }


def make_record(
    content: str = "Likes tea.", *, created_at: str = TIME, agent_id: str = AGENT_ID, **fields: Any
) -> JsonObject:
    """Return a memory record with its own id; `fields` replace and add."""
    return {
        "id": ids.mint_id(SEED, created_at, content, ordinal=next(_counter)),
        "agent_id": agent_id,
        "content": content,
        "memory_type": "semantic",
        "source": {"runtime": "openclaw", "origin": "memory_md", "extraction_method": "agent_written"},
        "temporal": {"created_at": created_at},
        "status": "active",
        "namespace": "default",
        **fields,
    }


def make_embedding(vector: list[float], model: str = "example/small", **fields: Any) -> JsonObject:
    """Return one element of a record's `embeddings`."""
    return {
        "model": model,
        "dimensions": len(vector),
        "vector": vector,
        "computed_at": TIME,
        "source": "runtime",
        **fields,
    }


def make_identity(version: int = 1, **structured: Any) -> JsonObject:
    """Return an identity with both representations."""
    return {
        "id": "019a0000-0000-7000-8000-0000000000f1",
        "agent_id": AGENT_ID,
        "version": version,
        "updated_at": TIME,
        "structured": {"names": {"primary": "Ada"}, "role": "assistant", "goals": ["help"], **structured},
        "prose": {"soul": "# Soul\n\nCurious and kind.\n"},
        "source_format": "openclaw",
    }


def make_principals() -> JsonObject:
    """Return one human principal with a profile."""
    principal_id = "019a0000-0000-7000-8000-0000000000b1"
    profile = {
        "id": "019a0000-0000-7000-8000-0000000000b2",
        "agent_id": AGENT_ID,
        "principal_id": principal_id,
        "version": 1,
        "updated_at": TIME,
        "structured": {"name": "Robin", "principal_type": "human", "timezone": "Europe/Lisbon"},
        "prose": {"user_profile": "# User\n\nRobin.\n"},
    }
    return {"principals": [{"id": principal_id, "principal_type": "human", "agent_id": None, "profile": profile}]}


def make_credentials() -> JsonObject:
    """Return one sealed credential whose payload opens with no key."""
    sealed = {
        "id": "019a0000-0000-7000-8000-0000000000c1",
        "agent_id": AGENT_ID,
        "service": "example",
        "credential_type": "api_key",
        "encrypted_payload": "bm90IGEgcmVhbCBzZWNyZXQ=",
        "encryption": {"algorithm": "xchacha20-poly1305", "nonce": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
        "created_at": TIME,
    }
    return {"credentials": [sealed]}


def make_full_state() -> MemoryState:
    """Return a small agent with content in every layer."""
    state = MemoryState(runtime_hints={"primary_model": "example/large", "last_model": "example/large"})
    state.put_document(archive_layout.IDENTITY, make_identity()).put_document(
        archive_layout.PRINCIPALS, make_principals()
    )
    state.put_document(archive_layout.CREDENTIALS, make_credentials()).put_document(
        archive_layout.identity_history(1), make_identity()
    )
    old = state.add(make_record("Moved to Lisbon.", created_at="2026-05-04T08:00:00.000Z"))
    new = state.add(make_record("Likes tea."))
    state.seal(old.partition, "2026-06-30")
    state.put("raw/openclaw/SOUL.md", b"# Soul\n\nCurious and kind.\n", mtime_ns="1790000000000000001")
    state.put("raw/openclaw/MEMORY.md", b"Moved to Lisbon.\nLikes tea.\n", records=[old.id, new.id])
    state.put("raw/openclaw/run.sh", b"#!/bin/sh\n", executable=True, private=True)
    state.put("raw/openclaw/skills", b"", type="folder").put("raw/openclaw/now", b"", type="link", target="SOUL.md")
    state.put(
        "raw/openclaw/.env",
        b"KEY=\n",
        cuts=[{"offset": 4, "credential_id": make_credentials()["credentials"][0]["id"]}],
    )
    state.put_artifact("shares.csv", b"a,b\n1,2\n", media_type="text/csv", referenced_by=[new.id])
    state.put_artifact("video.bin", b"large" * 100, tier=3)
    state.put("x-unknown/thing.bin", b"\x00\x01")
    return state
