"""What each remote was last seen to hold of an agent: a decision in the agent's vault, by the remote's id.

Nothing rests on it but warnings, waiting and thinning: before a push the remote is asked.
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
    """How one redaction stands at a remote. `state`: `done`, `waiting` (until `applies_at`, so that whoever owns the
    data there can refuse it) or `pending`, and then `message` says why, for people. `ask_at`: when the remote is asked
    again without anything else to be said, None for at once; one that waits is asked about at every contact. `refused`:
    whoever owns the data there decided against it, so nothing here waits for it. Times are timestamps."""

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
        """Whether the remote is to be asked how it stands."""
        return not self.is_done and (self.ask_at is None or times.parse_time(self.ask_at) <= now)


NOT_TOLD = RemotePurgeState("pending")
"""Of a remote that was never told."""


class AcknowledgedState(msgspec.Struct, frozen=True, omit_defaults=True):
    """One remote and one agent. Times are timestamps, None when it never happened.

    `number` and `digest` (hex) are the newest state that it acknowledged, `epoch` the one in force there, `at` when
    that was. `verified_number`, `verified_at`: what was last read back from it and held, `verified` the
    runs of all that was. `state`: how the last try
    ended (a word of `health.standing`), `message` why, for people, `code` of the error, `tries` how many failed in a
    row, `tried_at` the last one. `fenced`: {reason, machine, since, epoch}, who writes the agent there now. `files`:
    the newest state whose large artifacts are all there, as their leaves say; `keys`: the digest of the wrapped keys
    that are there; `signed_for`: the user's key under which the history there is signed. `damaged`: what did not hold
    when it was read back, until all that is there was read back and held; `mending`: what the last try to send that
    again left, as long. `drilled_at`: when its newest state was last restored aside and held; `drill_failed`: what did
    not hold then, until a drill holds. `sent`: {number, digest} of the newest state that was sent, whether that was
    acknowledged or not. `purges`: by the id of the redaction how it stands there; `doubts`: what it lists of purges, or
    says of them, that does not count, for people.
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
    """By the remote's id."""
    return _read(vault.get(DECISION))


def describe_damage(known: AcknowledgedState) -> str:
    """Say what does not hold of a copy, and when a mending of it is tried again, for people."""
    return f"its copy does not hold: {known.damaged}" if known.mending is None else describe_lost(known.mending)


def list_remotes_with_data(vault: Vault | None) -> tuple[str, ...]:
    """The ids of those that have something of the agent, as far as its vault knows."""
    known = {} if vault is None else load_acknowledged(vault)
    return tuple(remote for remote, each in known.items() if each.number is not None or each.sent is not None)


def note_acknowledged(vault: Vault, remote: str, **changes: Any) -> AcknowledgedState:
    """Change what is known of one remote; writes nothing when that is known already. Others that note something of
    other remotes at the same time lose nothing of it."""

    if changes.get("damaged") == "":
        changes["mending"] = None

    def changed(known: Known) -> Known:
        before = known.get(remote, AcknowledgedState())
        return known | {remote: msgspec.structs.replace(before, **changes, **_verified(before, changes))}

    return _change(vault, changed)[remote]


def _verified(before: AcknowledgedState, changes: JsonObject) -> JsonObject:
    """What was ever read back and held; of a copy that does not hold any more nothing is said."""
    if changes.get("damaged"):
        return {"verified": []}
    number = changes.get("verified_number")
    return {} if number is None else {"verified": number_runs.add_number(before.verified, number)}


def note_head(vault: Vault, remote: str, name: str, head: RemoteHead, at: str) -> AcknowledgedState:
    """The remote has this state, which is one of ours: from now on its head is known here."""
    place = {"number": head.number, "digest": head.digest.hex(), "epoch": head.epoch}
    return note_acknowledged(vault, remote, name=name, at=at, fenced=None, **place)


def note_purge(vault: Vault, remote: str, name: str, redaction: str, purge: RemotePurgeState) -> AcknowledgedState:
    """How a redaction stands at a remote; what is noted of others at the same time stays."""

    def changed(known: Known) -> Known:
        before = known.get(remote, AcknowledgedState())
        return known | {remote: msgspec.structs.replace(before, name=name, purges=before.purges | {redaction: purge})}

    return _change(vault, changed)[remote]


def forget_remote(vault: Vault, remote: str) -> None:
    """The remote is none any more."""
    _change(vault, lambda known: {key: found for key, found in known.items() if key != remote})


def _change(vault: Vault, how: Callable[[Known], Known]) -> Known:
    def changed(document: JsonObject | None) -> JsonObject | None:
        made = how(_read(document))
        return {key: msgspec.to_builtins(found) for key, found in made.items()} or None

    return _read(vault.change(DECISION, changed, kind="remotes"))


def _read(document: JsonObject | None) -> Known:
    return {remote: msgspec.convert(found, AcknowledgedState) for remote, found in (document or {}).items()}
