"""Bundles as a client with a push token can falsify them: with a false description of a file whose bytes it leaves out.

No signature and no digest covers this description.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, EntryChange, State, StateChanges
from lifeboat_vault.remote.checks.remote_trial import make_bundle
from lifeboat_vault.remote.remote_contract import RemoteBundle
from lifeboat_vault.vault import Vault

Falsify = Callable[[Entry], Entry]

FALSIFICATIONS: Mapping[str, Falsify] = {
    "sha256": lambda entry: entry._replace(sha256="ab" * 32),
    "no sha256": lambda entry: entry._replace(sha256=None),
    "size": lambda entry: entry._replace(size=entry.size + 1),
    "salt": lambda entry: entry._replace(leaf=entry.leaf._replace(salt=os.urandom(16))),
    "everything": lambda entry: entry._replace(sha256="ab" * 32, size=0, leaf=entry.leaf._replace(salt=os.urandom(16))),
}


def leave_out(entry: Entry) -> Entry:
    """Describe a file truthfully, and send none of its bytes."""
    return entry


class FalsifiedState:
    """A state in which some paths have no bytes, and are described as `false` says."""

    def __init__(self, state: State, false: Mapping[str, Falsify]) -> None:
        self._state = state
        self._false = false

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (self._described(entry) for entry in self._state.entries(prefix))

    def entry(self, path: str) -> Entry | None:
        found = self._state.entry(path)
        return None if found is None else self._described(found)

    def body(self, path: str) -> bytes:
        if path in self._false:
            raise BodyAbsent(path)
        return self._state.body(path)

    def _described(self, entry: Entry) -> Entry:
        return self._false[entry.path](entry) if entry.path in self._false else entry


def falsified_snapshot(vault: Vault, false: Mapping[str, Falsify], number: int | None = None) -> RemoteBundle:
    """Return the snapshot of a sequence, the head by default."""
    state: Any = FalsifiedState(vault.state(number), false)
    out = io.BytesIO()
    write_snapshot(state, out)
    return make_bundle("snapshot", state.sequence.number, None, out.getvalue())


def falsified_delta(vault: Vault, false: Mapping[str, Falsify], base: int, number: int) -> RemoteBundle:
    out = io.BytesIO()
    write_delta(_falsified(vault.changes(base, number), false), out)
    return make_bundle("delta", number, base, out.getvalue())


def _falsified(changes: StateChanges, false: Mapping[str, Falsify]) -> StateChanges:
    return replace(changes, entries=[_change(each, false) for each in changes.entries])


def _change(change: EntryChange, false: Mapping[str, Falsify]) -> EntryChange:
    if change.path not in false or change.entry is None:
        return change
    return replace(change, entry=false[change.path](change.entry), body=None)
