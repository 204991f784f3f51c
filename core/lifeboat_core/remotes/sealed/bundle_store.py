"""Bundles as files: verified before they are written, encrypted on this machine, read back against their hash."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.errors import AlfError
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_core.remotes.sealed import log_file_names
from lifeboat_core.remotes.sealed.log_files import SealedFiles
from lifeboat_core.remotes.sealed.log_head import FileReference
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_keys.age_format import age_encryption
from lifeboat_keys.errors import AgeError, NotForYourKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import RemoteDamaged, RemoteRefused
from lifeboat_vault.remote.remote_contract import RemoteBundle

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """What is in a bundle. `large`: SHA-256 of the large artifacts that it names without their bytes; `keys`: the
    agent's wrapped keys, if it carries them."""

    sequence: Sequence
    on: int | None
    large: list[str]
    keys: JsonObject | None = None


def check_bundle(bundle: RemoteBundle, agent_id: str) -> CheckedBundle:
    """Read a bundle to its end, and verify that it is whole, of this agent and of the state that it names, and that its
    signature is valid. A restore decides whose signature it accepts.

    Raises RemoteRefused.
    """
    try:
        checked = _read_snapshot(bundle) if bundle.kind == "snapshot" else _read_delta(bundle)
        sequence_signatures.verify_sequence(checked.sequence, None)
    except AlfError as error:
        raise RemoteRefused(f"{error.title}: {error.message}") from error
    finally:
        bundle.file.seek(0)
    sequence = checked.sequence
    if sequence.agent_id.lower() != agent_id.lower():
        raise RemoteRefused(f"the pushed data belongs to agent {sequence.agent_id}, not to this one")
    if (sequence.number, checked.on) != (bundle.number, bundle.base):
        raise RemoteRefused(
            f"the pushed data leads from sequence {checked.on} to {sequence.number}, but must lead from "
            f"{bundle.base} to {bundle.number}"
        )
    return checked


def _read_snapshot(bundle: RemoteBundle) -> CheckedBundle:
    with SnapshotReader(bundle.file) as reader:
        reader.check()
        found = (entry.sha256 for entry in reader.entries() if artifact_index.is_referenced(entry.meta))
        return CheckedBundle(reader.sequence, None, [sha256 for sha256 in found if sha256], reader.keys)


def _read_delta(bundle: RemoteBundle) -> CheckedBundle:
    with DeltaReader(bundle.file) as reader:
        reader.verify()
        for _ in reader.records():
            pass
        read = (artifact_index.decode_artifact(item, (), number=n) for n, item in enumerate(reader.attachments, 1))
        large = [item.sha256 for item in read if item.sha256 and item.fields.get("tier") == artifact_index.REFERENCED]
        return CheckedBundle(reader.sequence, reader.base_sequence, large)


def make_bundle_name(checked: CheckedBundle, generation: int) -> str:
    """Return a new name for its file: it tells no more than the head does."""
    kind = "alf" if checked.on is None else "alf-delta"
    return log_file_names.make_file_name(f"{checked.sequence.number:012d}", generation, kind)


def measure_file(file: BinaryIO) -> int:
    """Return the bytes of a file, which is left at its beginning."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


class BundleStore:
    """The bundles and artifacts of a log in `files`, encrypted for the owner unless the log is plain. `scratch` is a
    folder of this home for unnamed files."""

    def __init__(
        self, files: SealedFiles, owner: LogOwner, scratch: Path, operations: FileOperations, *, sealed: bool
    ) -> None:
        self._files = files
        self._owner = owner
        self._scratch = scratch
        self._operations = operations
        self._sealed = sealed

    def keep(self, agent_id: str, name: str, source: BinaryIO) -> FileReference:
        """Write what `source` gives under a name; in a sealed log ".age" is added to it."""
        if not self._sealed:
            size, digest = _measured(source)
            source.seek(0)
            self._files.put(agent_id, name, source)
            return FileReference(name, size, digest)
        with self.unnamed() as copy:
            with age_encryption.encrypt_stream(copy, [age_encryption.age_recipient_of(self._owner.public)]) as stream:
                shutil.copyfileobj(source, stream, _PIECE)
            copy.seek(0)
            size, digest = _measured(copy)
            copy.seek(0)
            self._files.put(agent_id, f"{name}.age", copy)
        return FileReference(f"{name}.age", size, digest)

    def fetch(self, agent_id: str, stored: FileReference) -> BinaryIO:
        """Return the content of a file in an unnamed one, at its beginning; the caller closes it. Raises
        UnknownAtRemote, RemoteDamaged, NotForYourKey, and what the keys raise."""
        with self._files.read(agent_id, stored.file) as source:
            if _measured(source) != (stored.size, stored.sha256):
                raise RemoteDamaged(f"the file {stored.file} of the remote was changed")
            source.seek(0)
            return self.opened(stored.file, source)

    def opened(self, name: str, source: BinaryIO) -> BinaryIO:
        """Return the content of a file whose hash was verified or does not matter."""
        target = self.unnamed()
        try:
            if self._sealed:
                self._decrypt(name, source, target)
            else:
                shutil.copyfileobj(source, target, _PIECE)
            target.seek(0)
        except BaseException:
            target.close()
            raise
        return target

    def is_whole(self, agent_id: str, stored: FileReference) -> bool:
        """Read a file back, still encrypted, and return whether it is intact. Raises UnknownAtRemote."""
        with self._files.read(agent_id, stored.file) as source:
            return _measured(source) == (stored.size, stored.sha256)

    def unnamed(self) -> BinaryIO:
        """Return a file of this home that is gone when it is closed."""
        self._operations.make_folders(self._scratch, 0o700)
        return cast(BinaryIO, tempfile.TemporaryFile(dir=self._scratch))

    def _decrypt(self, name: str, source: BinaryIO, target: BinaryIO) -> None:
        try:
            age_encryption.decrypt_file(source, target, self._owner.identities())
        except NotForYourKey:
            raise
        except AgeError as error:
            raise RemoteDamaged(f"{name}: {error.message}") from error


def _measured(source: BinaryIO | IO[Any]) -> tuple[int, str]:
    """Return (bytes, SHA-256) from the current position to the end."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    return size, digest.hexdigest()
