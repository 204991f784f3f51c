"""Bundles on their way into a log that holds redactions: what these name is not written there, even if a machine sends
it.

A machine that has applied the purges makes bundles without it. A bundle from a machine that has not, such as an old
backup, is made again before it is encrypted: from the states of this machine, or from those of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import AlfError
from lifeboat_alf.redaction.redacted_state import RedactedState
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states.agent_state import State
from lifeboat_core.remotes.contract import BundleSource
from lifeboat_core.remotes.sealed import bundle_store, log_search, log_states
from lifeboat_core.remotes.sealed.bundle_chain import BundleChain
from lifeboat_core.remotes.sealed.bundle_store import BundleStore, CheckedBundle, measure_file
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_head import LogHead
from lifeboat_core.remotes.sealed.log_heads import LoadedHead
from lifeboat_core.remotes.sealed.log_redactor import Here, make_key_away_error
from lifeboat_core.remotes.sealed.log_rewriter import has_applied_purges
from lifeboat_keys.errors import KeysError
from lifeboat_vault.errors import RemoteRefused
from lifeboat_vault.remote.remote_contract import RemoteBundle


class IncomingBundleFilter:
    """Filters bundles for the logs of one remote."""

    def __init__(self, inside: LogContents, shelf: BundleStore, here: Here) -> None:
        self._inside = inside
        self._shelf = shelf
        self._here = here

    @contextmanager
    def as_it_reads(
        self, loaded: LoadedHead, bundle: RemoteBundle, checked: CheckedBundle
    ) -> Iterator[tuple[BinaryIO, CheckedBundle]]:
        """Yield a bundle as it may be kept, and what is in it: the same bundle if nothing in it was purged.

        Raises RemoteRefused for a delta against bytes that were purged, RemoteBusy while the user's key is needed and
        away.
        """
        known = self._inside.redactions(loaded.head)
        with ExitStack() as stack:
            made = self._made(loaded, bundle, checked, known, stack) if len(known) else None
            if made is None:
                bundle.file.seek(0)
                yield bundle.file, checked
                return
            again = RemoteBundle(bundle.kind, bundle.number, bundle.base, made, measure_file(made))
            yield made, bundle_store.check_bundle(again, loaded.head.agent)

    def _made(
        self, loaded: LoadedHead, bundle: RemoteBundle, checked: CheckedBundle, known: Redactions, stack: ExitStack
    ) -> BinaryIO | None:
        """Return the bundle without what was purged; None where nothing in it was purged."""
        leaves = {leaf for redaction in known for leaf in redaction.leaves}
        out = stack.enter_context(self._shelf.unnamed())
        bundle.file.seek(0)
        try:
            if bundle.base is None:
                reader = stack.enter_context(SnapshotReader(bundle.file))
                if not log_search.has_any_leaf(reader, leaves):
                    return None
                write_snapshot(RedactedState(reader, known), out, keys=checked.keys)
                return out
            delta = stack.enter_context(DeltaReader(bundle.file))
            material = stack.enter_context(self._here(loaded.head.agent, None))
            if material is not None and has_applied_purges(material, known) and _has(material, loaded.head, checked):
                read = (material.state(bundle.base), material.state(bundle.number))
                if not log_search.has_named_bytes(delta, *read, leaves):
                    return None
                material.write(bundle.number, bundle.base, out)
                return out
            below = self._below(loaded, bundle.base, stack)
            state = AppliedState(below, delta)
            if not log_search.has_named_bytes(delta, below, state, leaves):
                return None
            write_delta(diff_states(RedactedState(below, known), RedactedState(state, known)), out)
            return out
        except AlfError as error:
            raise RemoteRefused(
                f"the pushed changes are based on a sequence that was purged on the remote: {error.message}"
            ) from error

    def _below(self, loaded: LoadedHead, number: int, stack: ExitStack) -> State:
        path = BundleChain(self._inside.rows(loaded.head)).path_to(number)
        try:
            return stack.enter_context(
                log_states.lay_states(path, lambda row: self._inside.bundle(loaded, row), self._shelf.unnamed)
            )
        except KeysError as error:
            raise make_key_away_error(
                error, f"Lifeboat cannot tell whether sequence {number} and later ones contain the purged data"
            ) from error


def _has(material: BundleSource, head: LogHead, checked: CheckedBundle) -> bool:
    """Return whether this machine has the state that a delta leads to, and its base."""
    digests, newest = material.digests(), head.newest
    if newest is None or checked.on != newest.number or digests.get(newest.number) != newest.digest:
        return False
    return digests.get(checked.sequence.number) == checked.sequence.digest.hex()
