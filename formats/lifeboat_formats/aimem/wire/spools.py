"""Records that wait in a file, and sets of names, so that a bundle of any size needs little memory."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire.sealed_file import SealedTemporaryFile

_BLOCK = 1 << 18
_REMEMBERED = 1 << 14
_DIGEST = 16


class RecordSpool:
    """Canonical records, one per line, in an unnamed sealed file. It can be read repeatedly, also concurrently, but not
    while records are added. A context manager; reading it after its end raises ValueError."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = SealedTemporaryFile(folder)
        self._count = 0

    def append(self, piece: bytes) -> None:
        """Add a record. Its canonical form contains no line end."""
        self._file.write(piece)
        self._file.write(b"\n")
        self._count += 1

    def pieces(self) -> Iterator[bytes]:
        """Yield the records as they were added."""
        offset, rest = 0, b""
        while block := self._file.read_at(offset, _BLOCK):
            offset += len(block)
            *lines, rest = (rest + block).split(b"\n")
            yield from lines

    def __iter__(self) -> Iterator[JsonObject]:
        return map(json_codec.decode_json, self.pieces())

    def __len__(self) -> int:
        return self._count

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> RecordSpool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SeenNames(Protocol):
    """A set of names."""

    def add(self, name: str) -> bool:
        """Add a name and return whether it is new."""
        ...

    def __contains__(self, name: str) -> bool: ...


class NamesInMemory:
    """A set of names in memory, for a document that is held in memory anyway."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def add(self, name: str) -> bool:
        if name in self._names:
            return False
        self._names.add(name)
        return True

    def __contains__(self, name: str) -> bool:
        return name in self._names


class NamesOnDisk:
    """A set of names in a temporary SQLite database that is removed at the end. It stores keyed digests, so no name is
    on disk in plain text. A context manager."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(_DIGEST)
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE names (name BLOB PRIMARY KEY) WITHOUT ROWID")
        self._database.execute("BEGIN")
        self._holds = lru_cache(maxsize=_REMEMBERED)(self._finds)

    def add(self, name: str) -> bool:
        self._holds.cache_clear()
        return self._database.execute("INSERT OR IGNORE INTO names VALUES (?)", (self._digest(name),)).rowcount == 1

    def __contains__(self, name: str) -> bool:
        return self._holds(name)

    def _finds(self, name: str) -> bool:
        found = self._database.execute("SELECT 1 FROM names WHERE name = ?", (self._digest(name),)).fetchone()
        return found is not None

    def _digest(self, name: str) -> bytes:
        return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=self._key, digest_size=_DIGEST).digest()

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> NamesOnDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
