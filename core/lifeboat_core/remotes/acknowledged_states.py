"""What each remote acknowledged for an agent: a decision in the agent's vault, by the id of the remote.

Warnings, waiting and thinning use it. A push does not: it asks the remote first.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.remotes.mending_pause import MendingPause, describe_lost
from lifeboat_vault.remote.remote_contract import RemoteHead
from lifeboat_vault.rows import number_runs
from lifeboat_vault.vault import Vault

DECISION = "remotes"


class RemotePurgeState(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a remote has applied one redaction. Times are timestamps.

    `state` is `done`, `waiting` (until `applies_at`, so that the owner of the data there can refuse it) or `pending`;
    then `message` says why, for people. `ask_at` is when the remote is asked again without another reason, None for
    now; a purge that waits is asked about at every contact. `refused`: the owner of the data there decided against it,
    so nothing here waits for it.
    """

    state: str = "done"
    applies_at: str | None = None
    message: str = ""
    ask_at: str | None = None
    refused: bool = False

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    @property
    def is_waiting(self) -> bool:
        return self.state == "waiting"

    def is_due(self, now: datetime) -> bool:
        """Return whether the remote has to be asked for the state of the purge."""
        return not self.is_done and (self.ask_at is None or times.parse_time(self.ask_at) <= now)


NOT_TOLD = RemotePurgeState("pending")
"""The state of a purge at a remote that was never told of it."""


class AcknowledgedState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What this machine knows of one agent at one remote. Times are timestamps, None when it never happened.

    `number` and `digest` (hex) are the newest state that the remote acknowledged, `epoch` the epoch in force there,
    `at` the time of that. `verified_number` and `verified_at` are the last state that was read back and was right,
    `verified` the runs of all of them. `state` says how the last try ended (a word of `health.agent_status`), `message`
    why, for people, `code` the code of the error, `tries` how many tries failed in a row, `tried_at` when the last one
    was. `fenced`: {reason, machine, since, epoch}, the machine that writes the agent there now. `files`: the newest
    state whose large artifacts are all there, according to their leaves. `keys`: the digest of the wrapped keys that
    are there. `signed_for`: the user's key under which the history there is signed. `damaged`: what was wrong when the
    copy was read back, until all of it was read back without a fault; `mending`: what the last try to send that again
    left, for as long. `drilled_at`: when the newest state there was last restored aside without a fault;
    `drill_failed`: what was wrong in the last drill, until a drill succeeds. `sent`: {number, digest} of the newest
    state that was sent, acknowledged or not. `purges`: how far each redaction is applied there, by its id. `doubts`:
    what the remote lists or says of purges that does not count, for people.
    """

    name: str = ""
    number: int | None = None
    digest: str = ""
    epoch: int = 0
    at: str | None = None
    verified_number: int | None = None
    verified_at: str | None = None
    verified: list[list[int]] = []
    state: str = "waiting"
    message: str = ""
    code: str = ""
    tries: int = 0
    tried_at: str | None = None
    fenced: JsonObject | None = None
    files: int | None = None
    keys: str = ""
    signed_for: str = ""
    sent: JsonObject | None = None
    damaged: str = ""
    drilled_at: str | None = None
    drill_failed: str = ""
    mending: MendingPause | None = None
    purges: dict[str, RemotePurgeState] = {}
    doubts: str = ""


Known = dict[str, AcknowledgedState]


def load_acknowledged(vault: Vault) -> Known:
    """Return what is known of every remote, by the remote's id."""
    return _read(vault.get(DECISION))


def describe_damage(known: AcknowledgedState) -> str:
    """Say what does not hold of a copy, and when a mending of it is tried again, for people."""
    return (
        f"the copy on the remote is damaged: {known.damaged}" if known.mending is None else describe_lost(known.mending)
    )


def list_remotes_with_data(vault: Vault | None) -> tuple[str, ...]:
    """Return the ids of the remotes that hold a state of the agent, as far as its vault knows."""
    known = {} if vault is None else load_acknowledged(vault)
    return tuple(remote for remote, each in known.items() if each.number is not None or each.sent is not None)


def note_acknowledged(vault: Vault, remote: str, **changes: Any) -> AcknowledgedState:
    """Change what is known of one remote; write nothing when it is known already.

    Processes that note something about other remotes at the same time do not lose it.
    """

    if changes.get("damaged") == "":
        changes["mending"] = None

    def changed(known: Known) -> Known:
        before = known.get(remote, AcknowledgedState())
        return known | {remote: msgspec.structs.replace(before, **changes, **_verified(before, changes))}

    return _change(vault, changed)[remote]


def _verified(before: AcknowledgedState, changes: JsonObject) -> JsonObject:
    """Return the changes with the runs of all verified states. A copy that is damaged gets none."""
    if changes.get("damaged"):
        return {"verified": []}
    number = changes.get("verified_number")
    return {} if number is None else {"verified": number_runs.add_number(before.verified, number)}


def note_head(vault: Vault, remote: str, name: str, head: RemoteHead, at: str) -> AcknowledgedState:
    """Note that the remote holds this state, which is a state of this history."""
    place = {"number": head.number, "digest": head.digest.hex(), "epoch": head.epoch}
    return note_acknowledged(vault, remote, name=name, at=at, fenced=None, **place)


def note_purge(vault: Vault, remote: str, name: str, redaction: str, purge: RemotePurgeState) -> AcknowledgedState:
    """Note how far a remote has applied a redaction; what is noted of other redactions at the same time stays."""

    def changed(known: Known) -> Known:
        before = known.get(remote, AcknowledgedState())
        return known | {remote: msgspec.structs.replace(before, name=name, purges=before.purges | {redaction: purge})}

    return _change(vault, changed)[remote]


def forget_remote(vault: Vault, remote: str) -> None:
    """Remove everything that is known of a remote."""
    _change(vault, lambda known: {key: found for key, found in known.items() if key != remote})


def _change(vault: Vault, how: Callable[[Known], Known]) -> Known:
    def changed(document: JsonObject | None) -> JsonObject | None:
        made = how(_read(document))
        return {key: msgspec.to_builtins(found) for key, found in made.items()} or None

    return _read(vault.change(DECISION, changed, kind="remotes"))


def _read(document: JsonObject | None) -> Known:
    return {remote: msgspec.convert(found, AcknowledgedState) for remote, found in (document or {}).items()}
