"""Bundles on their way into a log that holds redactions: what they name does not get there, whoever sends it.

A machine that has applied the purges makes bundles without it. What an old backup of one sends, or somebody who sends
the same again, is written anew before it is encrypted: of the states of this machine, or of those of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from lifeboat_alf.apply import AppliedState
from lifeboat_alf.delta import write_delta
from lifeboat_alf.delta_reader import DeltaReader
from lifeboat_alf.diff import diff
from lifeboat_alf.errors import AlfError
from lifeboat_alf.redacted_state import RedactedState
from lifeboat_alf.redactions import Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.state import State
from lifeboat_core.remotes.contract import Material
from lifeboat_core.remotes.sealed import bundles, looking, states
from lifeboat_core.remotes.sealed.bundles import Checked, Shelf, size_of
from lifeboat_core.remotes.sealed.chain import Chain
from lifeboat_core.remotes.sealed.head import Head
from lifeboat_core.remotes.sealed.heads import Loaded
from lifeboat_core.remotes.sealed.inside import Inside
from lifeboat_core.remotes.sealed.redacting import Here, key_away
from lifeboat_core.remotes.sealed.rewriting import knows
from lifeboat_keys.errors import KeysError
from lifeboat_vault.errors import RemoteRefused
from lifeboat_vault.remote.contract import Bundle


class Arriving:
    """At the logs of one remote."""

    def __init__(self, inside: Inside, shelf: Shelf, here: Here) -> None:
        self._inside = inside
        self._shelf = shelf
        self._here = here

    @contextmanager
    def as_it_reads(self, loaded: Loaded, bundle: Bundle, checked: Checked) -> Iterator[tuple[BinaryIO, Checked]]:
        """A bundle as it may lie there, and what it turned out to be: itself, where nothing in it was purged.

        Raises RemoteRefused for one that is against bytes which were purged, RemoteBusy while the user's key is needed
        and away.
        """
        known = self._inside.redactions(loaded.head)
        with ExitStack() as stack:
            made = self._made(loaded, bundle, checked, known, stack) if len(known) else None
            if made is None:
                bundle.file.seek(0)
                yield bundle.file, checked
                return
            again = Bundle(bundle.kind, bundle.number, bundle.base, made, size_of(made))
            yield made, bundles.check(again, loaded.head.agent)

    def _made(
        self, loaded: Loaded, bundle: Bundle, checked: Checked, known: Redactions, stack: ExitStack
    ) -> BinaryIO | None:
        """The bundle anew; None where nothing in it was purged."""
        leaves = {leaf for redaction in known for leaf in redaction.leaves}
        out = stack.enter_context(self._shelf.unnamed())
        bundle.file.seek(0)
        try:
            if bundle.base is None:
                reader = stack.enter_context(SnapshotReader(bundle.file))
                if not looking.stands_in(reader, leaves):
                    return None
                write_snapshot(RedactedState(reader, known), out, keys=checked.keys)
                return out
            delta = stack.enter_context(DeltaReader(bundle.file))
            material = stack.enter_context(self._here(loaded.head.agent, None))
            if material is not None and knows(material, known) and _has(material, loaded.head, checked):
                read = (material.state(bundle.base), material.state(bundle.number))
                if not looking.carries(delta, *read, leaves):
                    return None
                material.write(bundle.number, bundle.base, out)
                return out
            below = self._below(loaded, bundle.base, stack)
            state = AppliedState(below, delta)
            if not looking.carries(delta, below, state, leaves):
                return None
            write_delta(diff(RedactedState(below, known), RedactedState(state, known)), out)
            return out
        except AlfError as error:
            raise RemoteRefused(f"what it goes on top of was purged there meanwhile: {error.message}") from error

    def _below(self, loaded: Loaded, number: int, stack: ExitStack) -> State:
        path = Chain(self._inside.rows(loaded.head)).path_to(number)
        try:
            return stack.enter_context(
                states.laid(path, lambda row: self._inside.bundle(loaded, row), self._shelf.unnamed)
            )
        except KeysError as error:
            raise key_away(error, f"whether sequence {number} and what follows hold it cannot be seen") from error


def _has(material: Material, head: Head, checked: Checked) -> bool:
    """Whether this machine has the state that a delta leads to, and the one it goes on top of."""
    digests, newest = material.digests(), head.newest
    if newest is None or checked.on != newest.number or digests.get(newest.number) != newest.digest:
        return False
    return digests.get(checked.sequence.number) == checked.sequence.digest.hex()
