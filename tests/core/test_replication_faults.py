"""Replication over a transport that loses, doubles, delays and holds back: what is said is so, and the next try mends
it. Every fault at every call is tried in `tests/soak/test_soak_replication_faults.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import agent_replication, writer_epochs
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_vault.remote.remote_contract import Remote
from support.core.faulty_transport import Fault, Kind, from_then_on, once
from support.core.replicated import Replicated, in_a_folder, in_this_process, machine_in
from support.prepared_folders import PreparedFolders

KINDS = ("in process", "folder")
CHANGING = ("push", "put_keys", "put_object", "put_signatures", "put", "set_head")


@pytest.fixture(params=KINDS)
def ada(
    request: pytest.FixtureRequest,
    prepared_folders: PreparedFolders,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Replicated]:
    made = Replicated(prepared_folders.restore("ada with an artifact", machine_in))
    around = in_this_process if request.param == "in process" else in_a_folder
    with around(made, tmp_path / "there", monkeypatch):
        yield made


def calls_of(ada: Replicated) -> list[str]:
    """What a replication with everything in it calls, in order."""
    ada.begin()
    assert ada.machine.push().state == "ok"
    return ada.called()


@pytest.mark.parametrize("kind", [Kind.LOSE_ANSWER, Kind.TWICE, Kind.LATER])
def test_whatever_call_goes_wrong_the_next_replication_mends_it(ada: Replicated, kind: Kind) -> None:
    """Those that change something there."""
    calls = calls_of(ada)
    for number in [place for place, name in enumerate(calls) if name in CHANGING][:4]:
        ada.capture(number + 1)
        ada.expect_all()
        fault = Fault(kind)
        ada.through(fault, once(fault, number))
    ada.holds()


def test_with_nobody_there_it_waits(ada: Replicated) -> None:
    fault = Fault(Kind.LOSE_REQUEST)
    outcome = ada.through(fault, from_then_on(fault, 0))
    assert (outcome.state, outcome.code, outcome.sequence) == ("waiting", "remote_unreachable", None)


@pytest.mark.parametrize("kind", [Kind.LOSE_ANSWER, Kind.LATER])
def test_whoever_takes_an_agent_over_is_not_fenced_by_an_answer_that_was_lost(
    ada: Replicated, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The epoch may be in force there, or come into force a little later, or never arrive."""
    ada.push()
    monkeypatch.setattr(writer_epochs, "open_remote", agent_replication.open_remote)
    ada.begin(lambda number, method, path: Fault(kind) if method in ("raise_epoch", "set_head") else None)
    adopted = ada.machine.adopt()
    assert list(adopted.missed) == ["home"]
    ada.begin()
    ada.capture(1)
    assert ada.push().state == "ok"
    ada.capture(2)
    assert ada.push().state == "ok"
    ada.holds()


def test_an_answer_with_another_head_than_what_was_sent_is_not_believed(
    ada: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.push()
    usual = agent_replication.open_remote

    def lying(context: Context, config: RemoteConfig) -> Remote:
        remote = usual(context, config)
        before = remote.agent(ada.machine.agent.id).head
        remote.push = lambda *bundle, **machine: before  # type: ignore[method-assign]
        return remote

    monkeypatch.setattr(agent_replication, "open_remote", lying)
    ada.capture(1)
    outcome = ada.push()
    assert (outcome.state, outcome.sequence) == ("waiting", 0)


@pytest.mark.parametrize("nth", range(12))
def test_an_answer_of_before_the_agent_was_made_known_there_is_asked_for_again_soon(
    prepared_folders: PreparedFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """The remote contradicts itself: no person has to do anything about that."""
    ada, fault = Replicated(prepared_folders.restore("ada with an artifact", machine_in)), Fault(Kind.STALE)
    with in_a_folder(ada, tmp_path / "there", monkeypatch):
        ada.through(fault, from_then_on(fault, nth))


@pytest.mark.parametrize("kind", [Kind.LOSE_ANSWER, Kind.TWICE, Kind.LATER])
def test_a_purge_is_told_whatever_happens_to_the_call(ada: Replicated, kind: Kind) -> None:
    """And nothing that was captured since is missing."""
    ada.capture(1)
    assert ada.push().state == "ok"
    redaction = ada.purge(1)
    ada.capture(2)
    fault = Fault(kind)
    ada.through(fault, lambda number, method, path: fault if method in ("redact", "set_head") else None)
    assert ada.is_told(redaction)
    ada.holds()


def test_a_list_of_purges_that_does_not_come_keeps_everything_waiting(ada: Replicated) -> None:
    """What was purged elsewhere would be sent otherwise."""
    ada.push()
    ada.capture(1)
    outcome = ada.push(
        lambda number, method, path: Fault(Kind.LOSE_REQUEST) if method in ("redactions", "head") else None
    )
    assert (outcome.state, outcome.code) == ("waiting", "remote_unreachable")
    assert ada.push().state == "ok"
