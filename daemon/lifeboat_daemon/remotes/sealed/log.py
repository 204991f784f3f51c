"""A remote that can read nothing: a log of immutable bundles, encrypted on this machine, under one signed head.

See `head` for what stands there in clear, `log_key` for what does not, `compacting` for how it stays small.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import random
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import BinaryIO

import msgspec

from lifeboat_alf import codec, times
from lifeboat_alf.delta import write_delta
from lifeboat_alf.delta_reader import DeltaReader
from lifeboat_alf.diff import diff
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.clock import Clock
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.state import Sequence as Signed
from lifeboat_alf.state import State
from lifeboat_daemon.release import release
from lifeboat_daemon.remotes.sealed import bundles, compacting, index, names, states
from lifeboat_daemon.remotes.sealed.bundles import Checked, Shelf
from lifeboat_daemon.remotes.sealed.chain import Chain
from lifeboat_daemon.remotes.sealed.compacting import Material
from lifeboat_daemon.remotes.sealed.files import Files, HeadMoved
from lifeboat_daemon.remotes.sealed.head import (
    FileReference,
    Head,
    JsonObject,
    Row,
    remote_head,
    row_of,
    sequence_of,
    signature_of,
    with_signature,
)
from lifeboat_daemon.remotes.sealed.heads import TRIES, Heads, Loaded
from lifeboat_daemon.remotes.sealed.log_key import LARGE, LogKeys, PlainLogKey, Sealing, quietly
from lifeboat_daemon.remotes.sealed.names import Names
from lifeboat_daemon.remotes.sealed.owner import Owner
from lifeboat_daemon.remotes.sealed.verifying import verify
from lifeboat_endpoint.errors import (
    EpochBehind,
    EpochMoved,
    RemoteBusy,
    RemoteDamaged,
    RemoteRefused,
    StaleBase,
    UnknownThere,
)
from lifeboat_endpoint.remote.contract import (
    About,
    Bundle,
    BundleKind,
    RemoteAgent,
    RemoteHead,
    RemoteSequence,
    RemoteVerification,
)
from lifeboat_keys import signing
from lifeboat_keys.encodings import device_id, from_base64
from lifeboat_keys.errors import SignedByAnother

FIRST_EPOCH = 1
_KEYS = "keys"
_ORPHANED = 86400.0
"""Seconds after which a file that no head names is nobody's."""


class SealedLog:
    """The log of every agent at one remote (a `Remote`). `kind` is what its files are kept in.

    Pushing needs no secret of the user. Reading states of a sealed log needs the user's key: then the errors of the
    keys say what is missing.
    """

    def __init__(
        self, files: Files, owner: Owner, log_keys: LogKeys, shelf: Shelf, clock: Clock, *, kind: str, sealed: bool
    ) -> None:
        self._files = files
        self._owner = owner
        self._log_keys = log_keys
        self._shelf = shelf
        self._clock = clock
        self._kind = kind
        self._sealed = sealed
        self._heads = Heads(files, owner, log_keys, clock, sealed=sealed)

    def about(self) -> About:
        return About(self._files.identity(), self._kind, release(), self._sealed)

    def agents(self) -> list[RemoteAgent]:
        """Those of other users are left out."""
        found = []
        for agent_id in self._files.agents():
            try:
                loaded = self._heads.find(agent_id)
            except RemoteDamaged as error:
                if isinstance(error.__cause__, SignedByAnother):
                    continue
                raise
            if loaded is not None:
                found.append(self._agent(loaded))
        return found

    def agent(self, agent_id: str) -> RemoteAgent:
        return self._agent(self._heads.load(agent_id))

    def register(self, agent_id: str, name: str, runtime: str) -> RemoteAgent:
        known = self._heads.find(agent_id)
        if known is None:
            self._files.add_agent(agent_id)
            self._heads.create(self._first_head(agent_id.lower(), name, runtime))
            known = self._heads.load(agent_id)
        return self._agent(known)

    def _first_head(self, agent_id: str, name: str, runtime: str) -> Head:
        remote, now = self._files.identity(), times.to_text(self._clock.now())
        key = self._log_keys.make(remote, agent_id) if self._sealed else None
        sealed = names.sealed(Names(name, runtime), key or PlainLogKey(), plain=not self._sealed)
        wrapped = None if key is None else key.wrapped_for(self._owner.public)
        place = (remote, agent_id, 1, FIRST_EPOCH, now, now, self._owner.device.id)
        return Head(*place, self._sealed, wrapped, sealed)

    def _agent(self, loaded: Loaded) -> RemoteAgent:
        head = loaded.head
        found = names.opened(head, self._key_if_there(head))
        newest = remote_head(head, self._machine(head, found))
        return RemoteAgent(head.agent, found.name, found.runtime, head.epoch, newest, head.bytes, head.created_at)

    def _machine(self, head: Head, found: Names) -> str:
        newest = head.newest
        return found.machine if newest is not None and found.machine_of == newest.writer else ""

    def _remote_head(self, loaded: Loaded) -> RemoteHead:
        found = names.opened(loaded.head, self._known_key(loaded.head))
        made = remote_head(loaded.head, self._machine(loaded.head, found))
        assert made is not None
        return made

    # The log's key ----------------------------------------------------------------------------------------------

    def _key(self, head: Head) -> Sealing:
        """Raises what the keys raise."""
        return self._log_keys.get(head) if self._sealed else PlainLogKey()

    def _known_key(self, head: Head) -> Sealing | None:
        """Nobody is asked for the user's key."""
        return self._log_keys.known(head) if self._sealed else PlainLogKey()

    def _key_if_there(self, head: Head) -> Sealing | None:
        return quietly(lambda: self._log_keys.get(head)) if self._sealed else PlainLogKey()

    # Sending ----------------------------------------------------------------------------------------------------

    def push(self, agent_id: str, bundle: Bundle, *, machine: str = "") -> RemoteHead:
        loaded = self._heads.load(agent_id)
        checked = bundles.check(bundle, agent_id)
        stored: FileReference | None = None
        for _ in range(TRIES):
            if _is_head(loaded.head, checked.sequence):
                self._take_back(agent_id, stored)
                return self._remote_head(loaded)
            try:
                _check_fit(loaded.head, checked)
            except BaseException:
                self._take_back(agent_id, stored)
                raise
            if stored is None:
                reached(Step.SEALED_FILE_WRITTEN)
                stored = self._shelf.keep(loaded.head.agent, _name_of(checked), bundle.file)
            try:
                made = self._heads.replace(loaded, self._appended(loaded.head, checked, stored, machine))
            except HeadMoved:
                loaded = self._heads.load(agent_id)
                continue
            if len(made.head.segments) > len(loaded.head.segments):
                self.sweep(agent_id)
            return self._remote_head(made)
        raise RemoteBusy("other machines are writing to the agent all the time", retry_after=5.0)

    def _appended(self, head: Head, checked: Checked, stored: FileReference, machine: str) -> Head:
        sequence = checked.sequence
        key = self._key(head) if checked.large or checked.keys else self._known_key(head)
        large = [key.name_of(sha256) for sha256 in checked.large] if key else []
        writer = _writer(sequence) or self._owner.device.id
        row, signers = with_signature(
            row_of(sequence, checked.on, writer, stored, large), sequence.signature, head.signers
        )
        known = names.opened(head, key)
        if key is not None:
            known = msgspec.structs.replace(known, machine=machine, machine_of=writer)
        made = index.with_row(head, row, self._keeping(head))
        if key is not None and checked.keys is not None:
            made = self._with_keys(made, checked.keys, key)
        return msgspec.structs.replace(
            made,
            newest_at=times.to_text(self._clock.now()),
            epoch=max(head.epoch, sequence.epoch),
            names=head.names if key is None else names.sealed(known, key, plain=not self._sealed),
            signers=signers,
            grown=compacting.following(head.grown, row),
        )

    def _take_back(self, agent_id: str, stored: FileReference | None) -> None:
        """A file that was written and is named by no head; a sweep takes it otherwise."""
        if stored is not None:
            with contextlib.suppress(Exception):
                self._files.remove(agent_id, stored.file)

    def missing(self, agent_id: str, digests: Sequence[str]) -> list[str]:
        if not digests:
            return []
        loaded = self._heads.load(agent_id)
        named = self._large(loaded)
        if not named:
            return []
        key = self._key(loaded.head)
        there = {file.name for file in self._files.names(agent_id)}
        wanted = {sha256: key.name_of(sha256) for sha256 in digests}
        return [sha256 for sha256, name in wanted.items() if name in named and name not in there]

    def put_object(self, agent_id: str, sha256: str, data: bytes) -> None:
        loaded = self._heads.load(agent_id)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise RemoteRefused("the bytes have another digest")
        named = self._large(loaded)
        name = self._key(loaded.head).name_of(sha256) if named else ""
        if name not in named:
            raise UnknownThere("no state there names a large artifact of this digest")
        if all(file.name != name for file in self._files.names(agent_id)):
            self._shelf.keep(agent_id, name.removesuffix(".age"), io.BytesIO(data))

    def put_keys(self, agent_id: str, document: JsonObject) -> None:
        def edit(head: Head) -> Head | None:
            made = self._with_keys(head, document, self._key(head))
            return None if made is head else made

        self._heads.change(agent_id, edit)

    def _with_keys(self, head: Head, document: JsonObject, key: Sealing) -> Head:
        if self._keys_of(head) == document:
            return head
        data = key.seal(_KEYS, codec.encode(document))
        name = f"{_KEYS}-{secrets.token_hex(6)}.{'box' if self._sealed else 'json'}"
        return msgspec.structs.replace(head, keys=self._keep_small(head, name, data))

    def put_signatures(self, agent_id: str, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        given, taken = dict(signatures), 0

        def edit(head: Head) -> Head | None:
            nonlocal taken
            rows, signers, changed = [], head.signers, False
            taken = len({row.number for row in self._rows(head)} & given.keys())
            for row in self._rows(head):
                if row.number in given:
                    made, signers = self._signed_again(head, row, given[row.number], signers)
                    changed, row = changed or made != row, made
                rows.append(row)
            if not changed:
                return None
            used = {row.signer for row in rows}
            made_head = index.with_rows(head, rows, self._fetching(head), self._keeping(head))
            return msgspec.structs.replace(
                made_head, signers={name: rest for name, rest in signers.items() if name in used}
            )

        self._heads.change(agent_id, edit)
        return taken

    def _signed_again(
        self, head: Head, row: Row, signature: JsonObject, signers: dict[str, JsonObject]
    ) -> tuple[Row, dict[str, JsonObject]]:
        sequence = Signed(head.agent, row.number, row.base, row.epoch, row.time, bytes.fromhex(row.digest), signature)
        try:
            signing.verify(sequence, None)
        except SignatureError as error:
            raise RemoteRefused(f"the signature of sequence {row.number} does not hold: {error.message}") from error
        return with_signature(row, signature, signers)

    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        def edit(head: Head) -> Head:
            if head.epoch != expected:
                raise EpochMoved(f"the epoch in force is {head.epoch}", epoch=head.epoch)
            return msgspec.structs.replace(head, epoch=expected + 1)

        return self._heads.change(agent_id, edit).head.epoch

    # Fetching ---------------------------------------------------------------------------------------------------

    def keys(self, agent_id: str) -> JsonObject | None:
        return self._keys_of(self._heads.load(agent_id).head)

    def _keys_of(self, head: Head) -> JsonObject | None:
        if head.keys is None:
            return None
        data = self._key(head).open(_KEYS, self._fetch_small(head, head.keys))
        try:
            document: JsonObject = codec.decode_object(data, entry=head.keys.file)
        except ValueError as error:
            raise RemoteDamaged(f"the agent's wrapped keys cannot be read: {error}") from None
        return document

    def sequences(self, agent_id: str) -> Iterator[RemoteSequence]:
        head = self._heads.load(agent_id).head
        chain = Chain(self._rows(head))
        for number in chain.numbers:
            row = chain.row(number)
            signature = signature_of(row, head.signers)
            digest, size = bytes.fromhex(row.digest), row.stored.size
            kind = "snapshot" if row.is_snapshot else "delta"
            yield RemoteSequence(number, row.base, digest, row.epoch, row.time, kind, row.writer, size, signature)

    def snapshot(self, agent_id: str, number: int | None = None) -> Bundle:
        loaded = self._heads.load(agent_id)
        newest = loaded.head.newest
        if newest is None:
            raise UnknownThere("nothing of the agent was sent there yet")
        path = Chain(self._rows(loaded.head)).path_to(newest.number if number is None else number)
        file = self._ready(loaded, path) or self._made_snapshot(loaded, path)
        return Bundle("snapshot", path[-1].number, None, file, _size(file))

    def _ready(self, loaded: Loaded, path: list[Row]) -> BinaryIO | None:
        """The file as it was sent, unless the state was signed anew since, or its keys wrapped anew."""
        if len(path) > 1:
            return None
        file = self._fetch(loaded, path[0])
        with states.damaged(), SnapshotReader(file) as reader:
            same = reader.sequence == sequence_of(path[0], loaded.head) and reader.keys == self._keys_of(loaded.head)
        if same:
            file.seek(0)
            return file
        file.close()
        return None

    def _made_snapshot(self, loaded: Loaded, path: list[Row]) -> BinaryIO:
        made = self._shelf.unnamed()
        with self._state(loaded, path) as state:
            write_snapshot(state, made, keys=self._keys_of(loaded.head))
        made.seek(0)
        return made

    @contextlib.contextmanager
    def _state(self, loaded: Loaded, path: list[Row]) -> Iterator[State]:
        with states.laid(path, lambda row: self._fetch(loaded, row), self._shelf.unnamed) as state:
            yield states.Resigned(state, sequence_of(path[-1], loaded.head))

    def deltas(self, agent_id: str, since: int) -> Iterator[Bundle]:
        loaded = self._heads.load(agent_id)
        chain = Chain(self._rows(loaded.head))
        chain.row(since)
        for row in chain.path_between(since):
            file = self._fetch(loaded, row)
            with states.damaged(), DeltaReader(file) as reader:
                same = reader.sequence == sequence_of(row, loaded.head)
            if not same:
                file.close()
                file = self._made_delta(loaded, chain, row)
            file.seek(0)
            yield Bundle("delta", row.number, row.on, file, _size(file))

    def _made_delta(self, loaded: Loaded, chain: Chain, row: Row) -> BinaryIO:
        """Of a state that was signed anew since it was sent."""
        made = self._shelf.unnamed()
        before = chain.path_to(row.on or 0)
        with self._state(loaded, before) as old, self._state(loaded, [*before, row]) as new:
            write_delta(diff(old, new), made)
        return made

    def object(self, agent_id: str, sha256: str) -> bytes:
        loaded = self._heads.load(agent_id)
        name = self._key(loaded.head).name_of(sha256)
        with self._files.read(agent_id, name) as source, self._shelf.opened(name, source) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise RemoteDamaged("a large artifact there is not the one that was sent")
        return data

    def verify(self, agent_id: str, state: State, *, bodies: int, chance: random.Random) -> RemoteVerification:
        try:
            loaded = self._heads.load(agent_id)
            rows = self._rows(loaded.head)
        except RemoteDamaged as error:
            return RemoteVerification(None, findings=[error.message])
        return verify(self._files, self._shelf, loaded, rows, state, bodies, chance)

    # Staying small ----------------------------------------------------------------------------------------------

    def needs_compaction(self, agent_id: str) -> bool:
        """Whether so much came since the newest snapshot that a new one pays."""
        return compacting.is_due(self._heads.load(agent_id).head.grown)

    def compact(self, agent_id: str, material: Material, keep: Collection[int]) -> bool:
        """Write a snapshot of the newest state, and let go of the states that are not in `keep`; what is needed to
        restore one that is kept stays. `material` makes bundles of states that this machine has. False when another
        machine wrote meanwhile: then nothing changed."""
        loaded = self._heads.load(agent_id)
        head, rows = loaded.head, self._rows(loaded.head)
        wanted = compacting.plan(rows, keep, material.numbers(), with_snapshot=compacting.is_due(head.grown))
        if wanted == rows:
            return True
        made, signers = self._made_rows(head, wanted, material, Chain(rows))
        used = {row.signer for row in made}
        changed = msgspec.structs.replace(
            index.with_rows(head, made, self._fetching(head), self._keeping(head)),
            signers={name: rest for name, rest in signers.items() if name in used},
            grown=compacting.grown_of(made),
        )
        try:
            self._heads.replace(loaded, changed)
        except HeadMoved:
            return False
        self.sweep(agent_id)
        return True

    def _made_rows(
        self, head: Head, wanted: Sequence[Row | compacting.Make], material: Material, chain: Chain
    ) -> tuple[list[Row], dict[str, JsonObject]]:
        made, signers = list[Row](), head.signers
        for each in wanted:
            if isinstance(each, compacting.Make):
                row, signers = self._made_row(head, each, material, chain, signers)
                made.append(row)
            else:
                made.append(each)
        return made, signers

    def _made_row(
        self,
        head: Head,
        wanted: compacting.Make,
        material: Material,
        chain: Chain,
        signers: dict[str, JsonObject],
    ) -> tuple[Row, dict[str, JsonObject]]:
        known = chain.row(wanted.number)
        with self._shelf.unnamed() as file:
            material.write(wanted.number, wanted.on, file)
            kind: BundleKind = "snapshot" if wanted.on is None else "delta"
            bundle = Bundle(kind, wanted.number, wanted.on, file, _size(file))
            checked = bundles.check(bundle, head.agent)
            if checked.sequence.digest.hex() != known.digest:
                raise RemoteRefused(f"sequence {wanted.number} is another state here than there")
            reached(Step.SEALED_FILE_WRITTEN)
            stored = self._shelf.keep(head.agent, _name_of(checked), file)
        key = self._key(head) if checked.large else None
        large = [key.name_of(sha256) for sha256 in checked.large] if key else []
        row = row_of(checked.sequence, checked.on, known.writer, stored, large)
        return with_signature(row, checked.sequence.signature, signers)

    def sweep(self, agent_id: str) -> int:
        """Remove files that no head has named for a day; how many. What other machines are writing is younger."""
        reached(Step.SEALED_SWEPT)
        loaded = self._heads.load(agent_id)
        named = self._named(loaded)
        old = [
            file.name
            for file in self._files.names(agent_id)
            if file.name not in named and file.age is not None and file.age > _ORPHANED
        ]
        if not self._heads.is_current(loaded):
            return 0
        for name in old:
            self._files.remove(agent_id, name)
        return len(old)

    def _named(self, loaded: Loaded) -> set[str]:
        head = loaded.head
        rows = self._rows(head)
        every = {row.stored.file for row in rows} | {segment.stored.file for segment in head.segments}
        return every | {name for row in rows for name in row.large} | ({head.keys.file} if head.keys else set())

    # Files ------------------------------------------------------------------------------------------------------

    def _rows(self, head: Head) -> list[Row]:
        return index.rows_of(head, self._fetching(head))

    def _large(self, loaded: Loaded) -> set[str]:
        return {name for row in self._rows(loaded.head) for name in row.large if name.startswith(LARGE)}

    def _fetch(self, loaded: Loaded, row: Row) -> BinaryIO:
        try:
            return self._shelf.fetch(loaded.head.agent, row.stored)
        except UnknownThere:
            if not self._heads.is_current(loaded):
                raise RemoteBusy("the log was rewritten meanwhile", retry_after=1.0) from None
            raise RemoteDamaged(f"{row.stored.file} is gone") from None

    def _fetching(self, head: Head) -> index.Fetch:
        return lambda stored: self._fetch_small(head, stored)

    def _fetch_small(self, head: Head, stored: FileReference) -> bytes:
        try:
            with self._files.read(head.agent, stored.file) as source:
                data = source.read()
        except UnknownThere:
            raise RemoteDamaged(f"{stored.file} is gone") from None
        if (len(data), hashlib.sha256(data).hexdigest()) != (stored.size, stored.sha256):
            raise RemoteDamaged(f"{stored.file} is not the file that was written")
        return data

    def _keeping(self, head: Head) -> index.Keep:
        return lambda name, source: self._keep_small(head, name, source.read())

    def _keep_small(self, head: Head, name: str, data: bytes) -> FileReference:
        self._files.put(head.agent, name, io.BytesIO(data))
        return FileReference(name, len(data), hashlib.sha256(data).hexdigest())

    def close(self) -> None:
        self._files.close()


def _is_head(head: Head, sequence: Signed) -> bool:
    newest = head.newest
    if newest is None or not sequence.digest:
        return False
    return (newest.number, newest.digest) == (sequence.number, sequence.digest.hex())


def _check_fit(head: Head, checked: Checked) -> None:
    """Raises EpochBehind, StaleBase, RemoteRefused, in this order."""
    sequence, newest = checked.sequence, head.newest
    number = None if newest is None else newest.number
    if sequence.epoch < head.epoch:
        raise EpochBehind(f"epoch {sequence.epoch} is over: {head.epoch} is in force", epoch=head.epoch)
    if checked.on != number:
        raise StaleBase(f"the newest state there is {number}, not {checked.on}", sequence=number)
    if number is not None and sequence.number <= number:
        raise RemoteRefused(f"sequence {sequence.number} does not follow {number}")


def _writer(sequence: Signed) -> str:
    """The device that signed, by its testimony, which is known to hold."""
    return "" if sequence.signature is None else device_id(from_base64(sequence.signature["device"]))


def _name_of(checked: Checked) -> str:
    kind = "alf" if checked.on is None else "alf-delta"
    return f"{checked.sequence.number:012d}-{secrets.token_hex(6)}.{kind}"


def _size(file: BinaryIO) -> int:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size
