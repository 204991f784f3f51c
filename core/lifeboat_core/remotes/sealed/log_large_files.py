"""Large artifacts of a log: each is a separate file, named by a digest of its content."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from lifeboat_alf.archive import archive_layout, artifact_index
from lifeboat_alf.states.agent_state import ABSENT_LEAF, Entry, State
from lifeboat_core.remotes.sealed.bundle_store import BundleStore
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_files import SealedFiles
from lifeboat_core.remotes.sealed.log_head import LogHead
from lifeboat_core.remotes.sealed.log_heads import LogHeads
from lifeboat_keys.age_format import age_header
from lifeboat_keys.errors import KeysError
from lifeboat_vault.errors import RemoteDamaged, RemoteRefused, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import RemoteVerification


class LogLargeFiles:
    """The large artifacts of the logs of one remote."""

    def __init__(
        self, files: SealedFiles, heads: LogHeads, inside: LogContents, shelf: BundleStore, *, sealed: bool
    ) -> None:
        self._files = files
        self._heads = heads
        self._inside = inside
        self._shelf = shelf
        self._sealed = sealed

    def missing(self, agent_id: str, digests: Sequence[str], *, read: bool) -> list[str]:
        """Return those of some SHA-256 that the log names without having their file (see `Remote.missing`).

        A machine of this user named them in a signed head. A file is read as far as its key is available.
        """
        if not digests:
            return []
        head = self._heads.load(agent_id).head
        named = self._inside.large(head)
        if not named:
            return []
        key, there = self._inside.key(head), self._sizes(agent_id)
        wanted = {sha256: name for sha256 in digests if (name := key.name_of(sha256)) in named}
        return [
            sha256
            for sha256, name in wanted.items()
            if name not in there or (read and not self._is_whole(head, name, sha256))
        ]

    def put(self, agent_id: str, sha256: str, data: bytes) -> None:
        """See `Remote.put_object`. A damaged file is replaced."""
        loaded = self._heads.load(agent_id)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise RemoteRefused("the content does not match the given digest")
        named = self._inside.large(loaded.head)
        name = self._inside.key(loaded.head).name_of(sha256) if named else ""
        if name not in named:
            raise UnknownAtRemote("no sequence on the remote has a large artifact with this digest")
        size = self._sizes(agent_id).get(name)
        if size is not None:
            if self._may_hold(size, len(data)) and self._is_whole(loaded.head, name, sha256):
                return
            self._files.remove(agent_id, name)
        self._shelf.keep(agent_id, name.removesuffix(".age"), io.BytesIO(data))
        if not self._heads.is_current(loaded) and name not in self._inside.large(self._heads.load(agent_id).head):
            self._files.remove(agent_id, name)  # it was purged meanwhile

    def get(self, agent_id: str, sha256: str) -> bytes:
        """See `Remote.object`."""
        head = self._heads.load(agent_id).head
        with self._content(head, self._inside.key(head).name_of(sha256)) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise RemoteDamaged("a large artifact on the remote was changed")
        return data

    def verify(
        self, head: LogHead, state: State, bodies: int, chance: random.Random, found: RemoteVerification
    ) -> None:
        """Add to `found` the files of a state that are there and cannot be what was sent: by their size, and in a log
        in plain text by the content of up to `bodies` of them. Does not need the user's key."""
        key = self._inside.known_key(head)
        if key is None:
            return
        sizes = self._sizes(head.agent)
        there = {each.sha256: each for each in _named(state) if each.sha256 and key.name_of(each.sha256) in sizes}
        cut = {
            sha256: each.path
            for sha256, each in there.items()
            if not self._may_hold(sizes[key.name_of(sha256)], each.size)
        }
        found.findings += [f"the file for {path} on the remote has an unexpected size" for path in cut.values()]
        if not self._sealed:
            self._read_some(head, {each: there[each] for each in there.keys() - cut.keys()}, bodies, chance, found)

    def _read_some(
        self, head: LogHead, there: Mapping[str, Entry], bodies: int, chance: random.Random, found: RemoteVerification
    ) -> None:
        key = self._inside.key(head)
        for sha256 in chance.sample(sorted(there), min(bodies, len(there))):
            found.items += 1
            found.bytes += there[sha256].size
            if not self._is_whole(head, key.name_of(sha256), sha256):
                found.findings.append(f"the remote returned changed content for {there[sha256].path}")

    def _sizes(self, agent_id: str) -> dict[str, int]:
        return {file.name: file.size for file in self._files.names(agent_id)}

    def _may_hold(self, size: int, content: int) -> bool:
        return age_header.may_have_size(size, content) if self._sealed else size == content

    def _is_whole(self, head: LogHead, name: str, sha256: str) -> bool:
        """Return whether a file is what was sent. An encrypted one cannot be checked without the user's key, and counts
        as whole."""
        try:
            with self._content(head, name) as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == sha256  # type: ignore[arg-type]
        except (UnknownAtRemote, RemoteDamaged):
            return False
        except KeysError:
            return True

    def _content(self, head: LogHead, name: str) -> BinaryIO:
        """Return the content of a file, which the caller closes. Raises UnknownAtRemote, RemoteDamaged, and what the
        keys raise."""

        def fetched() -> BinaryIO:
            with self._files.read(head.agent, name) as source:
                return self._shelf.opened(name, source)

        return self._inside.opened(head, fetched)


def _named(state: State) -> Iterator[Entry]:
    """Yield the large artifacts of a state that are more than a description."""
    return (
        entry
        for entry in state.entries(archive_layout.ARTIFACTS)
        if artifact_index.is_referenced(entry.meta) and entry.leaf.digest != ABSENT_LEAF
    )
