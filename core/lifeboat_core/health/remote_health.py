"""The health of an agent's remotes: what is known of each, which ones count, and what is wrong. Pure and light."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.health.state_words import ERROR, FENCED, HELD, OK, WAITING, StatusReason
from lifeboat_core.texts.human_text import count_text, time_text

GRACE = timedelta(minutes=15)
"""How long a state may be on its way before it is reported as waiting."""
FAILED_AGAIN = 2
"""How many tries in a row may fail before that is reported."""
DEFERRED, NO_NETWORK, UNREACHABLE, UNUSABLE = "deferred", "no_network", "remote_unreachable", "config"
"""Codes: it waits for a network that does not cost by volume, or for mains power; for any network; it cannot be
reached; its file cannot be used."""
ERASED = "agent_erased"
"""The code of an agent that was purged whole."""
FULL, FORGOT = "remote_full", "remote_forgot"
"""Codes: it has no space for what is next; it lost what it had, and nothing is sent until it is added again."""
DAMAGED = "remote_damaged"
"""The code of a damaged copy."""
PURGES_DAMAGED = "purges_damaged"
"""The code of a log whose list of purges is damaged and not completely known to this machine."""
PURGE = "purge"
"""The code of a remote that has every state, and has not applied every purge."""


class RemoteFacts(msgspec.Struct, frozen=True):
    """The facts about one remote of one agent. Times are timestamps, None when it never happened.

    `state`: `ok` (it has everything it should have), `waiting`, `held`, `fenced` or `error`; `message` says why, for
    people, `code` for programs. `sequence` is the newest that it acknowledged, at `acknowledged_at`; `pending` counts
    the kept ones that it still needs, of which the oldest is of `pending_since`. `verified_at` is when it was last
    verified without a fault, `verified_sequence` the verified sequence. `tries` failed in a row, the last at
    `tried_at`. `fenced`: {reason, machine, since, epoch}, the machine that writes the agent there. `purges` counts the
    purges of this machine that it has not applied yet: it is asked again at `purges_ask_at` (None: now); all of them
    wait until `purges_wait_until`, so that the owner of the data there can refuse them, or `purges_message` says why
    not. `purges_refused` counts those that its owner refused: nothing here waits for them. `doubts`: entries in its
    list of purges that are not accepted. `same_disk`: it is a folder on the file system of Lifeboat's home. `writers`:
    "one" where machines take turns to write there, "several" where its store compares before it replaces, "" where the
    remote itself orders them. `limits`: sentences on what its store cannot do.
    """

    name: str
    id: str = ""
    optional: bool = False
    state: str = WAITING
    sequence: int | None = None
    pending: int = 0
    pending_since: str | None = None
    acknowledged_at: str | None = None
    verified_at: str | None = None
    verified_sequence: int | None = None
    added_at: str | None = None
    message: str = ""
    code: str = ""
    tries: int = 0
    tried_at: str | None = None
    fenced: JsonObject | None = None
    purges: int = 0
    purges_refused: int = 0
    purges_ask_at: str | None = None
    purges_wait_until: str | None = None
    purges_message: str = ""
    doubts: str = ""
    same_disk: bool = False
    writers: str = ""
    limits: tuple[str, ...] = ()

    @property
    def is_behind(self) -> bool:
        """Whether there is something to send, as far as this machine knows."""
        return self.pending > 0 or (self.state == WAITING and self.code != PURGE)


def make_sync_entry(
    name: str,
    sequence: int | None,
    state: str,
    *,
    optional: bool,
    bytes: int = 0,
    message: str = "",
    code: str = "",
    fix: str | None = None,
) -> JsonObject:
    """Return one remote of an agent in `sync --json`: the result of sending everything."""
    why = {"message": message or None, "code": code or None, "fix": fix}
    return {"name": name, "sequence": sequence, "state": state, "optional": optional, "bytes": bytes, **why}


def has_failed(document: JsonObject) -> bool:
    """Return whether an entry of `make_sync_entry` is a failure: a required remote did not get everything."""
    return not document["optional"] and document["state"] in (WAITING, FENCED, ERROR)


def select_required(remotes: Iterable[RemoteFacts]) -> list[RemoteFacts]:
    """Return the required (not optional) remotes."""
    return [one for one in remotes if not one.optional]


def find_best_copy(remotes: Iterable[RemoteFacts]) -> RemoteFacts | None:
    """Return the required remote that was read back last; None if none ever was."""
    read = [one for one in select_required(remotes) if one.verified_at is not None]
    return max(read, key=lambda one: times.parse_time(str(one.verified_at)), default=None)


def drop_future_verification(remote: RemoteFacts, latest: datetime) -> RemoteFacts:
    """Return a remote without a verification later than `latest`: it was made under a wrong clock."""
    if remote.verified_at is None or times.parse_time(remote.verified_at) <= latest:
        return remote
    return msgspec.structs.replace(remote, verified_at=None, verified_sequence=None)


def find_unverified_since(remotes: Iterable[RemoteFacts], agent_added_at: str) -> datetime | None:
    """Return since when no required remote is known to have everything; the best of them counts. None if there is none,
    or if its age is unknown."""
    moments = [_since(one, agent_added_at) for one in select_required(remotes)]
    return max((each for each in moments if each is not None), default=None)


def _since(remote: RemoteFacts, agent_added_at: str) -> datetime | None:
    """Return since when a copy is not known to be current: one that was read back yesterday and got nothing for a week
    is a week old."""
    begun = max((times.parse_time(each) for each in (remote.added_at, agent_added_at) if each), default=None)
    verified = begun if remote.verified_at is None else times.parse_time(remote.verified_at)
    behind = _behind_since(remote)
    return min((each for each in (verified, behind) if each is not None), default=None)


def _behind_since(remote: RemoteFacts) -> datetime | None:
    """Return since when a remote is behind. It is not late for history older than itself."""
    if not remote.pending or remote.pending_since is None:
        return None
    moments = [times.parse_time(each) for each in (remote.pending_since, remote.added_at) if each]
    return max(moments)


def find_remote_problems(remotes: Iterable[RemoteFacts], now: datetime) -> Iterator[StatusReason]:
    """Yield what is wrong, each with its state, and once if several remotes say it.

    An optional remote causes no problem, except that another machine, or none, may write there.
    """
    fences = set()
    for one in remotes:
        if one.state == FENCED:
            words = describe_fence(one)
            if words not in fences:
                yield StatusReason(FENCED, "fenced", words)
            fences.add(words)
        elif not one.optional:
            yield from _of_required(one, now)
    for one in remotes:
        if one.purges and not one.optional:
            yield StatusReason(WAITING, "purge_waits", describe_waiting_purge(one))


def _of_required(remote: RemoteFacts, now: datetime) -> Iterator[StatusReason]:
    if remote.state == ERROR:
        yield StatusReason(ERROR, "remote_failed", f"{remote.name}: {remote.message}")
    elif remote.state == WAITING and _is_late(remote, now):
        yield StatusReason(WAITING, "remote_late", _waiting_words(remote))
    elif remote.verified_at is None and remote.state in (OK, WAITING, HELD):
        yield StatusReason(WAITING, "remote_unverified", f"the copy on {remote.name} has not been verified yet")


def list_remote_remarks(remotes: Iterable[RemoteFacts]) -> Iterator[StatusReason]:
    """Yield what else to know without affecting the state."""
    every = list(remotes)
    for one in every:
        if one.optional and one.state == ERROR:
            yield StatusReason("", "remote_failed", f"{one.name} (optional remote): {one.message}")
    for one in every:
        if one.optional and one.purges:
            yield StatusReason("", "purge_waits", f"{describe_waiting_purge(one)} (optional remote)")
    for one in every:
        if one.purges_refused:
            yield StatusReason("", "purge_refused", describe_refused_purge(one))
    for one in every:
        if one.doubts:
            yield StatusReason("", "purges_in_doubt", f"{one.name}: {one.doubts}")


def find_full_remote(remotes: Iterable[RemoteFacts]) -> str | None:
    """Return the first required remote without space; None if all have some."""
    return next((one.name for one in select_required(remotes) if one.state == WAITING and one.code == FULL), None)


def has_only_waiting_purges(remotes: Iterable[RemoteFacts]) -> bool:
    """Return whether only purges are missing that a remote knows and delays or refused: no push of this machine changes
    that."""
    late = [one for one in remotes if one.purges or one.state != OK or one.verified_at is None]
    return bool(late) and all((one.purges_wait_until or one.purges_ask_at) and not one.pending for one in late)


def _is_late(remote: RemoteFacts, now: datetime) -> bool:
    behind = _behind_since(remote)
    too_long = behind is not None and now - behind >= GRACE
    return remote.tries >= FAILED_AGAIN or remote.code == DEFERRED or too_long


def _waiting_words(remote: RemoteFacts) -> str:
    missing = count_text(remote.pending, "sequence") if remote.pending else "some data"
    return f"{remote.name} does not have {missing} yet{(f': {remote.message}' if remote.message else '')}"


def describe_waiting_purge(remote: RemoteFacts) -> str:
    """Say for people that something purged here still exists there."""
    purges = count_text(remote.purges, "purge")
    if remote.purges_wait_until is not None:
        verb = "waits" if remote.purges == 1 else "wait"
        until = time_text(remote.purges_wait_until)
        return (
            f"{purges} {verb} on {remote.name} until {until}; until then the owner of the remote can "
            f"confirm or refuse {'it' if remote.purges == 1 else 'them'}"
        )
    verb = "has" if remote.purges == 1 else "have"
    reason = f": {remote.purges_message}" if remote.purges_message else ""
    return f"{purges} {verb} not been applied on {remote.name} yet{reason}"


def describe_refused_purge(remote: RemoteFacts) -> str:
    """Say for people that what was purged here stays there."""
    purges = count_text(remote.purges_refused, "purge")
    return (
        f"the owner of {remote.name} refused {purges}, so the remote still has the purged data; for "
        "details: lifeboat receipts list"
    )


def describe_fence(remote: RemoteFacts) -> str:
    """Say for people which machine writes the agent there."""
    machine = (remote.fenced or {}).get("machine")
    if (remote.fenced or {}).get("reason") == "moved" or not remote.message:
        return f"the agent moved to {machine or 'another machine'}: this machine keeps its own copy and pushes nothing"
    return f"{remote.name}: {remote.message}; this machine keeps its own copy and pushes nothing"
