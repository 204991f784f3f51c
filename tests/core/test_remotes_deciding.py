"""What is to be sent to a remote follows from what it says and from the log here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.replication_decision import (
    FenceReason,
    LocalHistory,
    ReplicationAction,
    ReplicationDecision,
    decide_replication,
)
from lifeboat_vault.remote.remote_contract import RemoteAgent, RemoteHead

LOG = {0: b"zero", 3: b"three", 7: b"seven"}
OURS, OTHERS = "a" * 16, "b" * 16


def here(
    number: int = 7, *, epoch: int = 1, known: AcknowledgedState | None = None, devices: Iterable[str] = (OURS,)
) -> LocalHistory:
    return LocalHistory(number, LOG[number], epoch, LOG.get, set(devices), known or AcknowledgedState())


def head(number: int, digest: bytes | None = None, *, epoch: int = 1, writer: str = OURS) -> RemoteHead:
    return RemoteHead(number, LOG[number] if digest is None else digest, epoch, "2026-11-20T12:00:00.000Z", writer)


def there(newest: RemoteHead | None, epoch: int | None = None) -> RemoteAgent:
    in_force = epoch if epoch is not None else (1 if newest is None else newest.epoch)
    return RemoteAgent("agent", "Juniper", "openclaw", in_force, newest)


def test_an_agent_that_is_not_there_is_sent_whole() -> None:
    assert decide_replication(here(), None) == ReplicationDecision(ReplicationAction.SNAPSHOT)


def test_an_agent_without_history_is_sent_whole() -> None:
    assert decide_replication(here(), there(None)).do is ReplicationAction.SNAPSHOT


def test_from_a_head_that_is_in_the_log_one_delta_leads_on() -> None:
    decision = decide_replication(here(), there(head(3)))
    assert (decision.do, decision.base) == (ReplicationAction.DELTA, 3)


def test_a_head_that_is_ours_needs_nothing() -> None:
    assert decide_replication(here(), there(head(7))).do is ReplicationAction.NOTHING


def test_a_lost_acknowledgement_and_one_more_capture_are_one_more_delta() -> None:
    """The remote has 3 and said so to nobody: what is remembered is 0."""
    decision = decide_replication(here(known=AcknowledgedState(number=0, digest=b"zero".hex())), there(head(3)))
    assert (decision.do, decision.base) == (ReplicationAction.DELTA, 3)


def test_a_head_that_was_thinned_here_is_known_by_what_was_acknowledged() -> None:
    known = AcknowledgedState(number=5, digest=b"five".hex())
    decision = decide_replication(here(known=known), there(head(5, b"five")))
    assert (decision.do, decision.base) == (ReplicationAction.DELTA, 5)


def test_a_head_that_was_sent_without_an_answer_and_thinned_since_is_ours() -> None:
    known = AcknowledgedState(number=3, digest=b"three".hex(), sent={"number": 5, "digest": b"five".hex()})
    decision = decide_replication(here(known=known), there(head(5, b"five")))
    assert (decision.do, decision.base) == (ReplicationAction.DELTA, 5)
    assert decide_replication(here(known=known), there(head(5, b"other"))).do is ReplicationAction.FENCED


def test_the_same_number_with_another_state_is_foreign() -> None:
    decision = decide_replication(here(), there(head(7, b"other", writer=OTHERS)))
    assert (decision.do, decision.why) == (ReplicationAction.FENCED, FenceReason.FOREIGN)


def test_what_this_machines_own_key_signed_and_it_never_had_is_of_a_copy_of_it() -> None:
    decision = decide_replication(here(), there(head(9, b"nine", writer=OURS)))
    assert (decision.do, decision.why) == (ReplicationAction.FENCED, FenceReason.CLONED)


def test_a_higher_epoch_means_that_the_agent_moved_whatever_the_head_is() -> None:
    for newest in (None, head(7), head(9, b"nine", writer=OTHERS)):
        decision = decide_replication(here(), there(newest, epoch=2))
        assert (decision.do, decision.why, decision.epoch) == (ReplicationAction.FENCED, FenceReason.MOVED, 2)


def test_a_remote_that_lost_everything_is_not_filled_anew_by_itself() -> None:
    known = AcknowledgedState(number=3, digest=b"three".hex())
    assert decide_replication(here(known=known), None).do is ReplicationAction.FORGOT
    assert decide_replication(here(known=known), there(None)).do is ReplicationAction.FORGOT


def test_a_remote_that_was_set_back_is_not_believed() -> None:
    known = AcknowledgedState(number=7, digest=b"seven".hex())
    decision = decide_replication(here(known=known), there(head(3)))
    assert (decision.do, decision.base) == (ReplicationAction.FORGOT, 3)


def test_while_a_removal_is_held_a_remote_that_has_more_is_left_alone() -> None:
    assert decide_replication(here(3), there(head(7))).do is ReplicationAction.NOTHING


@given(
    number=st.sampled_from(sorted(LOG)),
    theirs=st.integers(0, 9),
    same=st.booleans(),
    epochs=st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
def test_nothing_is_ever_sent_on_top_of_what_this_machine_never_had(
    number: int, theirs: int, same: bool, epochs: tuple[int, int]
) -> None:
    digest = LOG.get(theirs, b"unknown") if same else b"somebody else's"
    newest = RemoteHead(theirs, digest, epochs[1], "", OTHERS)
    decision = decide_replication(replace(here(number), epoch=epochs[0]), there(newest))
    if decision.do in (ReplicationAction.DELTA, ReplicationAction.NOTHING):
        assert LOG.get(theirs) == digest and epochs[1] <= epochs[0]
    if decision.do is ReplicationAction.DELTA:
        assert decision.base == theirs < number
