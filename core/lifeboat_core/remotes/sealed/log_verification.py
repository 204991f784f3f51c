"""Compare a log with the state that is here while the user's key is away: what is read there stays encrypted."""

from __future__ import annotations

import random
from collections.abc import Sequence

from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import State
from lifeboat_core.remotes.sealed.bundle_store import BundleStore
from lifeboat_core.remotes.sealed.log_files import SealedFiles
from lifeboat_core.remotes.sealed.log_head import FileReference, LogHead, LogRow
from lifeboat_core.remotes.sealed.log_heads import LoadedHead
from lifeboat_vault.errors import UnknownAtRemote
from lifeboat_vault.remote.remote_contract import RemoteVerification


def verify_log(
    files: SealedFiles,
    shelf: BundleStore,
    loaded: LoadedHead,
    rows: Sequence[LogRow],
    state: State,
    bodies: int,
    chance: random.Random,
) -> RemoteVerification:
    """Check that every file has its size, and that the newest one and up to `bodies` others, chosen at random, have the
    bytes that were written. The head's signature was verified when it was loaded."""
    head = loaded.head
    newest = head.newest
    found = RemoteVerification(None if newest is None else newest.number)
    if loaded.doubt:
        found.findings.append(f"the index of the log is not trusted: {loaded.doubt}")
    found.findings += _other_state(head, state)
    sizes = {file.name: file.size for file in files.names(head.agent)}
    found.findings += [
        _missing(stored, sizes) for stored in _listed(head, rows) if sizes.get(stored.file) != stored.size
    ]
    for stored in _sample(rows, bodies, chance):
        if sizes.get(stored.file) == stored.size:
            found.items += 1
            found.bytes += stored.size
            found.findings += _changed(shelf, head.agent, stored)
    return found


def _other_state(head: LogHead, state: State) -> list[str]:
    newest, sequence = head.newest, state.sequence
    if newest is None:
        return ["nothing of the agent has been pushed to the remote yet"]
    if newest.number != sequence.number:
        return [f"the newest sequence on the remote is {newest.number}, not {sequence.number}"]
    if newest.digest != sequence.digest.hex() or newest.digest != merkle.state_digest(state, check_bodies=False).hex():
        return [f"sequence {newest.number} differs between the remote and this machine"]
    return []


def _listed(head: LogHead, rows: Sequence[LogRow]) -> list[FileReference]:
    keys = [] if head.keys is None else [head.keys]
    purges = [] if head.purges is None else [head.purges.stored]
    return [*(row.stored for row in rows), *(segment.stored for segment in head.segments), *keys, *purges]


def _missing(stored: FileReference, sizes: dict[str, int]) -> str:
    if stored.file not in sizes:
        return f"the file {stored.file} is missing on the remote"
    return f"the file {stored.file} on the remote has {sizes[stored.file]} bytes, expected {stored.size}"


def _sample(rows: Sequence[LogRow], bodies: int, chance: random.Random) -> list[FileReference]:
    stored = [row.stored for row in rows]
    others = chance.sample(stored[:-1], min(bodies, len(stored) - 1)) if stored else []
    return [*stored[-1:], *others]


def _changed(shelf: BundleStore, agent_id: str, stored: FileReference) -> list[str]:
    try:
        whole = shelf.is_whole(agent_id, stored)
    except UnknownAtRemote:
        return [f"the file {stored.file} is missing on the remote"]
    return [] if whole else [f"the file {stored.file} of the remote was changed"]
