"""What `probed_files` needs of a store: objects below one place, named by keys with slashes.

A client knows one protocol and nothing of remotes. Every method raises RemoteUnreachable, RemoteBusy, RemoteDenied,
RemoteRefused and what it says in addition.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, NamedTuple, Protocol

from lifeboat_core.remotes.probed_store.store_words import StoreWords

_PART = re.compile(r"(.+?)(?:\.[0-9a-f]{12})?\.part")
ONE_TRY = 10.0
"""Seconds that `get_once` and `put_once` take at most."""


def make_part_name(name: str, *, is_shared: bool) -> str:
    """Return the name under which `name` is written before it is renamed. Only one writer at a time uses a shared
    one."""
    return f"{name}.part" if is_shared else f"{name}.{secrets.token_hex(6)}.part"


def find_whole_name(name: str) -> str | None:
    """Return the name for which an object was begun, None for one that is whole."""
    found = _PART.fullmatch(name)
    return None if found is None else found[1]


class ConditionFailed(Exception):
    """The object is not as the condition of a write says. It may be what was written: a retry can meet the first
    try."""


class ConditionUnsupported(Exception):
    """The store does not know conditional writes, and says so."""


class ListedStoreObject(NamedTuple):
    """An object in a listing; `key` is relative to the place of the remote. `modified` is by the clock of the store,
    None if it does not tell."""

    key: str
    size: int
    modified: datetime | None


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """What identifies the bytes of an object for a condition. `version` is "null" in a bucket that stopped keeping
    versions."""

    e_tag: str | None
    version: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether the store told anything that a condition can name."""
        return self.e_tag is not None or self.version is not None


class ReadObject(NamedTuple):
    data: bytes
    version: ObjectVersion


class StoreClient(Protocol):
    """One store, by one protocol. Nothing is sent before a method is called. Not for two threads at once, except
    `put_if`."""

    words: StoreWords
    leaves_parts: bool
    """Whether an interrupted write can leave an object with a name of `make_part_name`."""

    def get(self, key: str) -> ReadObject | None:
        """Return a small object, None if there is none. Raises RemoteDamaged for one that is too large."""
        ...

    def get_once(self, key: str) -> ReadObject | None:
        """Return a small object as `get` does, in one try that ends within `ONE_TRY` seconds."""
        ...

    def fetch(self, key: str, target: BinaryIO) -> bool:
        """Write the content of an object to a file; return False if there is none."""
        ...

    def put(self, key: str, data: bytes) -> ObjectVersion:
        """Write a small object, also over another one."""
        ...

    def put_file(self, key: str, source: BinaryIO) -> None:
        """Write an object from the current position of a file to its end. It appears when all of it arrived."""
        ...

    def put_once(self, key: str, data: bytes) -> ObjectVersion:
        """Write a small object in one try that ends within `ONE_TRY` seconds. A reader finds the old bytes or the new
        ones."""
        ...

    def put_if(self, key: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        """Write an object if it is still the expected one, None if there is none. Raises ConditionFailed,
        ConditionUnsupported."""
        ...

    def shows_partial_writes(self, key: str) -> bool:
        """Return whether an interrupted `put_if` changes the object, which exists."""
        ...

    def delete(self, key: str) -> None:
        """Delete an object. That there is none is no error."""
        ...

    def list_objects(self, folder: str) -> list[ListedStoreObject]:
        """Return the objects in a folder."""
        ...

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        ...

    def delete_folder(self, folder: str) -> None:
        """Delete an emptied folder, in a store that has folders."""
        ...

    def close(self) -> None: ...
