"""Bundles for remotes: made from the local vault into files without a name in the home, gone with the process."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, cast

from lifeboat_alf.delta import write_delta
from lifeboat_alf.diff import diff
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.redactions import Redactions
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.state import State
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.remotes.contract import Place
from lifeboat_core.system_refusals import system_errors
from lifeboat_vault.remote.contract import Bundle
from lifeboat_vault.vault import Vault

"""(what is being done, done, total in bytes)"""


@contextmanager
def snapshot(context: Context, vault: Vault, number: int, keys: JsonObject | None) -> Iterator[Bundle]:
    """One state as a whole, the agent's wrapped keys with it."""
    with _file(context) as file:
        write_snapshot(vault.state(number), file, keys=keys)
        yield _bundle(Bundle("snapshot", number, None, file, 0))


@contextmanager
def delta(context: Context, vault: Vault, base: int, number: int) -> Iterator[Bundle]:
    """What leads from one kept sequence to another."""
    with _file(context) as file:
        write_delta(vault.changes(base, number), file)
        yield _bundle(Bundle("delta", number, base, file, 0))


@contextmanager
def delta_from(context: Context, base: State, vault: Vault, number: int) -> Iterator[Bundle]:
    """What leads from a state that the vault does not keep any more to one that it does."""
    with _file(context) as file:
        write_delta(diff(base, vault.state(number)), file)
        yield _bundle(Bundle("delta", number, base.sequence.number, file, 0))


class Material:
    """Whatever bundle a remote wants that cannot make any itself (see `contract.Material`)."""

    def __init__(self, vault: Vault, keys: JsonObject | None) -> None:
        self._vault = vault
        self._keys = keys

    def numbers(self) -> Collection[int]:
        return {row.number for row in self._vault.sequences()}

    def gone(self) -> Collection[int]:
        """The audit says which sequences were thinned: what this vault never had is for others to let go."""
        rows = (row for row in self._vault.audit_rows() if row.kind == "thin")
        return {int(number) for row in rows for number in row.details["sequences"]}

    def write(self, number: int, on: int | None, out: BinaryIO) -> None:
        if on is None:
            write_snapshot(self._vault.state(number), out, keys=self._keys)
        else:
            write_delta(self._vault.changes(on, number), out)

    def digests(self) -> Mapping[int, str]:
        return {row.number: row.digest.hex() for row in self._vault.sequences()}

    def state(self, number: int) -> State:
        return self._vault.state(number)

    def redactions(self) -> Redactions:
        return self._vault.redactions

    def places(self, leaves: Collection[bytes]) -> list[Place]:
        named = set(leaves)
        held = [
            Place(item.leaf.digest, item.first, item.last)
            for item in self._vault.history()
            if item.leaf.digest in named
        ]
        return [*held, *self._gone(named)]

    def _gone(self, named: set[bytes]) -> Iterator[Place]:
        """A record that is gone stands where it stood, from one kept state to the next."""
        if not len(self._vault.redactions):
            return
        numbers = [row.number for row in self._vault.sequences()]
        since: dict[bytes, int] = {}
        for number in numbers:
            here = {gone.leaf.digest for gone in self._vault.state(number).gone()} & named
            yield from (Place(leaf, since.pop(leaf), number) for leaf in since.keys() - here)
            since |= {leaf: number for leaf in here - since.keys()}
        yield from (Place(leaf, first, None) for leaf, first in since.items())


def watched(bundle: Bundle, tell: Tell) -> Bundle:
    """The same, telling how much of it was read."""
    file = cast(BinaryIO, _Watched(bundle.file, bundle.size, tell))
    return Bundle(bundle.kind, bundle.number, bundle.base, file, bundle.size)


@contextmanager
def _file(context: Context) -> Iterator[BinaryIO]:
    with system_errors(), tempfile.TemporaryFile(dir=context.home.run_folder) as file:
        yield cast(BinaryIO, file)


def _bundle(bundle: Bundle) -> Bundle:
    bundle.size = bundle.file.tell()
    bundle.file.seek(0)
    return bundle


class _Watched:
    """A file that tells how far it was read."""

    def __init__(self, file: BinaryIO, size: int, tell: Tell) -> None:
        self._file = file
        self._size = size
        self._tell = tell

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._tell("sending", self._file.tell(), self._size)
        return data

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)
