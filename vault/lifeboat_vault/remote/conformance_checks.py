"""What every second copy must do, whatever it is: one list of checks for tests and for `lifeboat remote test`.

A check makes agents with ids of its own and real signed histories in a scratch folder, and asks the remote. It assumes
nothing of transport or speed, and removes what it made where the remote can.
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
"""Opens the remote, each time as another machine would. Whoever gives it closes what it opened."""


@dataclass(frozen=True, slots=True)
class RemoteCheck:
    """One check. `name` is a sentence; `quick` ones take a moment; `needs_reading`: it is passed over for a remote that
    cannot read what it gets; `needs_owner`: for one that nobody keeps but its user, where that user's key is away."""

    name: str
    work: Callable[[RemoteTrial], None]
    quick: bool = True
    needs_reading: bool = False
    needs_owner: bool = False

    def run(self, fresh: Fresh, scratch: Path, user: UserKey | None = None) -> list[str]:
        """The ids of agents that stay there, because the remote removes none. What is made up is signed under the key
        of `user`, else of somebody who is made up too. Raises AssertionError with a sentence when the remote does
        otherwise, and what the remote raises where it should not."""
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
    """Whether there is somebody on the other side who reads what comes: a folder has nobody."""
    about = remote.about()
    return not about.sealed and about.kind != "folder"


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
