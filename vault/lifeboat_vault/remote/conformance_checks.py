"""The checks that every remote must pass, for tests and for `lifeboat remote test`.

A check makes new agents and real signed histories in a temporary folder, and calls the remote. It assumes nothing about
transport or speed, and removes what it made where the remote can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.checks import fetch_checks, purge_checks, push_checks, tampering_checks
from lifeboat_vault.remote.checks.remote_trial import RemoteTrial
from lifeboat_vault.remote.remote_contract import Remote

Fresh = Callable[[], Remote]
"""Opens the remote, each time as another machine would. Its provider closes what it opened."""


@dataclass(frozen=True, slots=True)
class RemoteCheck:
    """One check. `name` is a sentence; `quick` ones take a moment. `needs_reading` skips remotes that cannot read what
    they get; `needs_owner` skips remotes that only the user keeps, when the user's key is unavailable."""

    name: str
    work: Callable[[RemoteTrial], None]
    quick: bool = True
    needs_reading: bool = False
    needs_owner: bool = False

    def run(self, fresh: Fresh, scratch: Path, user: UserKey | None = None) -> list[str]:
        """Run the check and return the ids of agents that remain because the remote cannot remove them.

        Test data is signed under the key of `user`, else under an invented one. Raises AssertionError with a sentence
        when the remote misbehaves, and unexpected errors of the remote.
        """
        trial = RemoteTrial(fresh, scratch, user or UserKey.generate())
        try:
            if self._is_for(trial.remote, user):
                self.work(trial)
        finally:
            left = trial.finish()
        return left

    def _is_for(self, remote: Remote, user: UserKey | None) -> bool:
        needs_reading = self.needs_reading or (self.needs_owner and user is None)
        return not needs_reading or _is_read(remote)


def _is_read(remote: Remote) -> bool:
    """Return whether the remote reads what it gets. A log of bundles, which this side compacts, does not."""
    return not remote.about().sealed and not hasattr(remote, "compact")


_SLOW = (
    fetch_checks.every_state_comes_back_as_it_was_signed,
    fetch_checks.a_snapshot_and_the_deltas_after_it_make_the_head,
    fetch_checks.the_same_request_gives_the_same_bytes,
    fetch_checks.a_copy_that_differs_is_found_out,
    purge_checks.a_purged_record_is_in_no_delta,
    purge_checks.a_passage_is_cut_from_every_state,
    purge_checks.states_go_on_after_a_purge,
    purge_checks.a_machine_that_purged_begins_a_copy,
)


def _check(
    work: Callable[[RemoteTrial], None], *, needs_reading: bool = False, needs_owner: bool = False
) -> RemoteCheck:
    name, quick = work.__name__.replace("_", " "), work not in _SLOW and not needs_reading
    return RemoteCheck(name, work, quick=quick, needs_reading=needs_reading, needs_owner=needs_owner)


CHECKS: list[RemoteCheck] = [
    *(_check(work) for work in push_checks.ALL),
    *(_check(work) for work in tampering_checks.ALL),
    *(_check(work, needs_reading=True) for work in tampering_checks.READABLE),
    *(_check(work) for work in fetch_checks.ALL),
    *(_check(work, needs_owner=True) for work in purge_checks.ALL),
]
