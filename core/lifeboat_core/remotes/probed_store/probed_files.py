"""`SealedFiles` in a store of which it is found by trying what it does: a bucket, or a folder of a WebDAV server.

    lifeboat.json                     which remote this is, and how many machines may write to it
    agents/<agent id>/head.json       the head
    agents/<agent id>/<name>          the files
    agents/<agent id>/writer.json     the lease, only where the store has no conditional writes
    probes/...                        only while the store is probed

Of two machines that replace the same head, one fails: the store compares the head with the one that was read, or where
it cannot, the machines take turns (see `writer_lease`). Their choice is recorded in `lifeboat.json`, so that all
machines do the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.remotes.contract import StoreFindings
from lifeboat_core.remotes.probed_store.store_client import (
    ConditionFailed,
    ObjectVersion,
    StoreClient,
    find_whole_name,
)
from lifeboat_core.remotes.probed_store.store_probe import Writers, probe_store
from lifeboat_core.remotes.probed_store.writer_lease import WriterLease
from lifeboat_core.remotes.sealed.log_files import HeadMoved, StoredFile
from lifeboat_vault import errors

VERSION = 1
ROOT_KEY = "lifeboat.json"
AGENTS = "agents"
HEAD, LEASE = "head.json", "writer.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")
_OWN = frozenset((HEAD, LEASE))
_ABANDONED = 24 * 3600.0
"""Seconds after which an object that was not written to its end is deleted."""


class _StoreDocument(msgspec.Struct, frozen=True):
    """`lifeboat.json`. `kind` is "lifeboat " and the name of the kind of remotes."""

    kind: str
    version: int
    id: str
    created_at: str
    sealed: bool
    writers: Writers


class _KnownHead(NamedTuple):
    tag: str
    version: ObjectVersion


class HomeSide(NamedTuple):
    """What a store needs of this home: `writer` returns the id of this device, `alone` keeps other processes of this
    home from replacing heads of an agent, `scratch` is a folder for unnamed files."""

    files: FileOperations
    clock: Clock
    scratch: Path
    writer: Callable[[], str]
    alone: Callable[[str], AbstractContextManager[None]]
    sleep: Callable[[float], None] = time.sleep


class ProbedFiles:
    """The store behind `client`; `place` is its address for messages, `kind` the name of its kind of remotes.

    `remote_id` is the id that is expected there; "" for a store that is being added: one that is no remote yet becomes
    one when its id is asked for. `sealed` says how its files are kept. `races`: how often the probe lets several
    writers replace one object at once.
    """

    def __init__(
        self,
        client: StoreClient,
        kind: str,
        place: str,
        remote_id: str,
        home: HomeSide,
        *,
        sealed: bool,
        tells_versions: bool,
        races: int = 1,
    ) -> None:
        self._client = client
        self._kind = f"lifeboat {kind}"
        self._place = place
        self._id = remote_id
        self._home = home
        self._sealed = sealed
        self._tells_versions = tells_versions
        self._races = races
        self._root: _StoreDocument | None = None
        self._heads: dict[str, _KnownHead] = {}
        self._leases: dict[str, WriterLease] = {}

    def identity(self) -> str:
        """Also raises RemoteRefused: it is kept the other way (sealed, plain), or by a newer release."""
        return self._known_root().id

    @property
    def writers(self) -> Writers:
        return self._known_root().writers

    def examine(self) -> StoreFindings:
        """Probe the store, and note it if it has less than was found before: then machines take turns from now on."""
        found = self._probe()
        root = self._known_root(Writers(found.writers))
        if found.writers == Writers.ONE and root.writers is Writers.SEVERAL:
            self._root = msgspec.structs.replace(root, writers=Writers.ONE)
            self._client.put(ROOT_KEY, json_codec.encode_pretty(msgspec.to_builtins(self._root)))
        return found

    def _probe(self) -> StoreFindings:
        return probe_store(self._client, tells_versions=self._tells_versions, races=self._races, sleep=self._home.sleep)

    def agents(self) -> list[str]:
        self._known_root()
        return sorted(name for name in self._client.list_folders(AGENTS) if ids.is_uuid(name))

    def add_agent(self, agent_id: str) -> None:
        """Do nothing: a client makes the folders that it needs."""
        self._known_root()

    def names(self, agent_id: str) -> list[StoredFile]:
        self._known_root()
        found = {each.key.rpartition("/")[2]: each for each in self._client.list_objects(self._folder(agent_id))}
        now = found[HEAD].modified if HEAD in found else None
        files = (StoredFile(name, each.size, _age(each.modified, now)) for name, each in found.items())
        whole = []
        for file in files:
            if self._client.leaves_parts and find_whole_name(file.name) is not None:
                if file.age is not None and file.age > _ABANDONED:
                    self._client.delete(found[file.name].key)
            elif file.name not in _OWN and _NAME.fullmatch(file.name):
                whole.append(file)
        return sorted(whole, key=lambda file: file.name)

    def put(self, agent_id: str, name: str, source: BinaryIO) -> None:
        """Names are random, or of the content: an object with the same name is what an interrupted try wrote."""
        key = self._key(agent_id, name)
        self._known_root()
        self._client.put_file(key, source)

    def read(self, agent_id: str, name: str) -> BinaryIO:
        key = self._key(agent_id, name)
        self._known_root()
        target = self._unnamed()
        try:
            if not self._client.fetch(key, target):
                raise errors.UnknownAtRemote(f"the remote has no file {name}")
            target.seek(0)
        except BaseException:
            target.close()
            raise
        return target

    def _unnamed(self) -> BinaryIO:
        self._home.files.make_folders(self._home.scratch, 0o700)
        return cast(BinaryIO, tempfile.TemporaryFile(dir=self._home.scratch))

    def remove(self, agent_id: str, name: str) -> None:
        self._known_root()
        self._client.delete(self._key(agent_id, name))

    def remove_unfinished(self, agent_id: str, is_wanted: Callable[[str], bool]) -> None:
        if not self._client.leaves_parts:
            return
        self._known_root()
        for each in self._client.list_objects(self._folder(agent_id)):
            begun = find_whole_name(each.key.rpartition("/")[2])
            if begun is not None and begun not in _OWN and is_wanted(begun):
                self._client.delete(each.key)

    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        self._known_root()
        found = self._client.get(f"{self._folder(agent_id)}/{HEAD}")
        if found is None:
            self._heads.pop(agent_id, None)
            return None
        self._heads[agent_id] = _KnownHead(_tag(found.data), found.version)
        return found.data, self._heads[agent_id].tag

    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        if self.writers is Writers.SEVERAL:
            self._compare_and_set(agent_id, data, expected)
        else:
            with self._home.alone(agent_id):
                self._set_in_turn(agent_id, data, expected)
        return _tag(data)

    def _compare_and_set(self, agent_id: str, data: bytes, expected: str | None) -> None:
        known = self._heads.get(agent_id)
        if (None if known is None else known.tag) != expected:
            self._check_head(agent_id, expected)
            known = self._heads.get(agent_id)
        key = f"{self._folder(agent_id)}/{HEAD}"
        try:
            version = self._client.put_if(key, data, None if known is None else known.version)
        except ConditionFailed:
            # An answer can be lost, and a retry then meets the head that the first try wrote.
            self._check_head(agent_id, _tag(data))
            return
        if version.is_known:
            self._heads[agent_id] = _KnownHead(_tag(data), version)
        else:  # the next replacement reads the head again
            self._heads.pop(agent_id, None)

    def _set_in_turn(self, agent_id: str, data: bytes, expected: str | None) -> None:
        lease = self._lease(agent_id)
        self._check_head(agent_id, expected)
        if lease.take():
            self._check_head(agent_id, expected)
        lease.confirm()
        version = self._client.put_once(f"{self._folder(agent_id)}/{HEAD}", data)
        lease.check()
        self._heads[agent_id] = _KnownHead(_tag(data), version)

    def _check_head(self, agent_id: str, expected: str | None) -> None:
        """Raises HeadMoved if the head is not the expected one."""
        found = self.head(agent_id)
        if (None if found is None else found[1]) != expected:
            raise HeadMoved("another machine wrote to the remote at the same time")

    def _lease(self, agent_id: str) -> WriterLease:
        if agent_id not in self._leases:
            home, key = self._home, f"{self._folder(agent_id)}/{LEASE}"
            self._leases[agent_id] = WriterLease(self._client, key, home.writer(), home.clock, home.sleep)
        return self._leases[agent_id]

    def remove_agent(self, agent_id: str) -> None:
        """Remove an agent, its head first: from then on the agent does not exist there."""
        self._known_root()
        folder = self._folder(agent_id)
        self._client.delete(f"{folder}/{HEAD}")
        for each in self._client.list_objects(folder):
            self._client.delete(each.key)
        self._client.delete_folder(folder)
        self._heads.pop(agent_id, None)
        self._leases.pop(agent_id, None)

    def close(self) -> None:
        self._client.close()

    # The root -------------------------------------------------------------------------------------------------------

    def _known_root(self, writers: Writers | None = None) -> _StoreDocument:
        """Return the root as it was at the first request of this contact. `writers` is what was found of a new
        remote."""
        if self._root is None:
            self._root = self._read_root() or self._make(writers)
            if self._id and self._root.id != self._id:
                found, self._root = self._root.id, None
                raise errors.RemoteUnreachable(
                    f"{self._place} contains another remote ({found}): the {self._client.words.part} may have been "
                    "emptied or replaced"
                )
            self._id = self._root.id
        return self._root

    def _read_root(self) -> _StoreDocument | None:
        stored = self._client.get(ROOT_KEY)
        if stored is None:
            return None
        try:
            found = msgspec.json.decode(stored.data, type=_StoreDocument)
        except (msgspec.DecodeError, RecursionError):
            found = None
        if found is None or found.kind != self._kind or not ids.is_uuid(found.id):
            raise errors.RemoteDamaged(f"{self._place}/{ROOT_KEY} is damaged: it does not identify a remote")
        if found.version > VERSION:
            raise errors.RemoteRefused(f"a newer release of Agent Lifeboat wrote this {self._client.words.place}")
        if found.sealed != self._sealed:
            how = (
                "is encrypted; add the remote without --plain"
                if found.sealed
                else "is not encrypted; add the remote with --plain"
            )
            raise errors.RemoteRefused(f"{self._place} {how}")
        return found

    def _make(self, writers: Writers | None) -> _StoreDocument:
        if self._id:
            raise errors.RemoteUnreachable(
                f"{self._place} does not contain the remote: the {self._client.words.part} may have been emptied or "
                "renamed"
            )
        if writers is None:
            writers = Writers(self._probe().writers)
        now = times.to_text(self._home.clock.now())
        made = _StoreDocument(self._kind, VERSION, ids.make_id(now), now, self._sealed, writers)
        data = json_codec.encode_pretty(msgspec.to_builtins(made))
        if writers is Writers.SEVERAL:
            with contextlib.suppress(ConditionFailed):
                self._client.put_if(ROOT_KEY, data, None)
        else:
            self._client.put(ROOT_KEY, data)
        # Another machine may have added the bucket at the same moment.
        found = self._read_root()
        if found is None:
            raise errors.RemoteUnreachable(
                f"{self._place} does not return the {self._client.words.unit} that Lifeboat has just written"
            )
        return found

    # Names ----------------------------------------------------------------------------------------------------------

    def _folder(self, agent_id: str) -> str:
        if not ids.is_uuid(agent_id):
            raise errors.RemoteRefused("the agent id is invalid")
        return f"{AGENTS}/{agent_id.lower()}"

    def _key(self, agent_id: str, name: str) -> str:
        if not _NAME.fullmatch(name) or name in _OWN or name.endswith("."):
            raise errors.RemoteRefused(f"{name!r} is not a valid file name")
        return f"{self._folder(agent_id)}/{name}"


def _tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _age(modified: datetime | None, now: datetime | None) -> float | None:
    return None if now is None or modified is None else (now - modified).total_seconds()
