"""The head with the changes of this capture, which derivations read and which becomes the draft."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import NONE
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, State
from lifeboat_core.agents.name_conflicts import FILE
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.vault import EntryPut


class Overlay:
    """Entries by path: the changed ones on top of those of the head. Nothing of the head is read before it is needed.

    `head` is None before an agent's first sequence.
    """

    def __init__(self, head: State | None) -> None:
        self.head = head
        # Read once: if something is purged later, the commit makes the capture start again.
        self._redactions = NONE if head is None else head.redactions
        self.puts: dict[str, EntryPut | None] = {}

    def old(self, path: str) -> Entry | None:
        """Return the entry in the head, with its meta after all redactions."""
        entry = self.head.entry(path) if self.head is not None else None
        if entry is None or not self._redactions:
            return entry
        return entry._replace(meta=self._redactions.meta(entry.meta, entry.leaf.digest))

    def old_body(self, path: str) -> bytes | None:
        """Return the head's bytes; None when there are none or they are not stored. Damaged bytes of a file count as
        absent: `verify` reports them, and the next version can still be captured."""
        if self.head is None:
            return None
        try:
            return self.head.body(path)
        except (BodyAbsent, KeyError):
            return None
        except VaultDamaged:
            if path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)):
                return None
            raise

    def meta(self, path: str) -> JsonObject | None:
        """Return the meta after this capture; None for a path that is removed."""
        if path in self.puts:
            put = self.puts[path]
            return None if put is None else put.meta
        entry = self.old(path)
        return None if entry is None else entry.meta

    def read(self, path: str) -> bytes | None:
        """Return the bytes after this capture (`contract.Files`)."""
        put = self.puts.get(path, EntryPut({}))
        if put is None:
            return None
        if put.body is None:
            return self.old_body(path)
        return put.body.read_bytes() if isinstance(put.body, Path) else read_overlay_bytes(put)

    def paths(self, prefix: str) -> Iterator[str]:
        """Yield the paths after this capture, sorted (`contract.Files`)."""
        old = {entry.path for entry in self.head.entries(prefix)} if self.head is not None else set()
        changed = {path for path in self.puts if path.startswith(prefix)}
        yield from sorted((old | changed) - {path for path in changed if self.puts[path] is None})

    def kinds(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield the paths after this capture, each with its kind (`name_conflicts.Entries`)."""
        for entry in self.head.entries(prefix) if self.head is not None else ():
            if entry.path not in self.puts:
                yield entry.path, str(entry.meta.get("type", FILE))
        for path, put in self.puts.items():
            if put is not None and path.startswith(prefix):
                yield path, str(put.meta.get("type", FILE))

    def put(self, path: str, meta: JsonObject, body: bytes | None) -> bool:
        """Set an entry. Return False when the head has the same, except for the time, because no memory depends on
        that. `body` None keeps the bytes."""
        old = self.old(path)
        if old is not None and (body is None or self.holds(old, body)):
            if old.meta == meta:
                self.puts.pop(path, None)
                return False
            self.puts[path] = EntryPut(meta, None)
            return without_time(old.meta) != without_time(meta)
        self.puts[path] = EntryPut(meta, body)
        return True

    def holds(self, entry: Entry, body: bytes) -> bool:
        """Return whether an entry of the head has exactly these bytes."""
        if entry.sha256 is not None or not self._redactions:
            return entry.size == len(body) and entry.sha256 == hashlib.sha256(body).hexdigest()
        return self._redactions.hold(entry.leaf, body)

    def set_meta(self, path: str, meta: JsonObject) -> None:
        """Change only the meta of an existing entry."""
        put = self.puts.get(path)
        if put is None or put.body is None:
            self.put(path, meta, None)
        else:
            self.puts[path] = put._replace(meta=meta)

    def stage(self, path: str, file: Path) -> None:
        """Let a file hold the new bytes of an entry instead of the memory."""
        put = self.puts[path]
        if put is not None:
            self.puts[path] = put._replace(body=file)

    def remove(self, path: str) -> bool:
        """Remove an entry; return False when it is not in the head."""
        self.puts.pop(path, None)
        if self.old(path) is None:
            return False
        self.puts[path] = None
        return True


def read_overlay_bytes(put: EntryPut) -> bytes:
    """Return the new bytes of an entry that has them in memory."""
    if not isinstance(put.body, bytes):
        raise TypeError("the bytes of this entry are not in memory")
    return put.body


def without_time(meta: JsonObject) -> JsonObject:
    """Return a meta without the time of its file, because no memory depends on it."""
    return {key: value for key, value in meta.items() if key != "mtime_ns"}
