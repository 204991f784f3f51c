"""Purges between machines and second copies: what is told, what is learnt, and what is not believed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.redaction.redactions import RECORDS, WHOLE_AGENT, Redaction
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.agents import manage_agents
from lifeboat_core.errors import Busy
from lifeboat_core.health import remote_health, status_gathering
from lifeboat_core.purge import (
    agent_purge,
    outstanding_purges,
    purge_recovery,
    purge_run,
    purged_agent_files,
    receipt_signing,
)
from lifeboat_core.remotes import agent_replication, remote_verification
from lifeboat_core.remotes.redactions import listed_redactions, purge_exchange
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures as signatures
from lifeboat_vault.errors import AgentErased, RemoteBusy, RemoteDamaged, RemoteRefused
from lifeboat_vault.remote.remote_contract import Remote, RemoteRedaction
from lifeboat_vault.vault import Retention
from support.core.machines import Machine, there
from support.core.purged import TEXT, bodies, leaks_below, purge
from support.core.replicated import Replicated, in_this_process, machine_in
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.killing import killed_at
from support.prepared_folders import PreparedFolders

DAY = 86400


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


def learned(machine: Machine) -> Machine:
    """It learned the text, in a memory and in a file, and went on."""
    machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
    machine.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    machine.capture()
    machine.write("notes/other.txt", "nothing of it\n")
    machine.capture()
    return machine


@pytest.fixture
def ada(prepared_folders: PreparedFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replicated]:
    """With an endpoint in this process."""
    made = Replicated(prepared_folders.restore("ada with an artifact", machine_in))
    with in_this_process(made, tmp_path / "there", monkeypatch):
        learned(made.machine)
        assert made.machine.push().state == "ok"
        yield made


@pytest.fixture
def stick(tmp_path: Path) -> Machine:
    """With a sealed folder."""
    machine = Machine(tmp_path / "laptop")
    machine.add(name="ada")
    machine.add_remote("home", (tmp_path / "stick").as_uri(), sealed=True)
    learned(machine)
    assert machine.push().state == "ok"
    return machine


def vault_note(machine: Machine, redaction: str, name: str = "home") -> receipt_signing.VaultPurgeNote:
    kept = receipt_signing.read_receipt(machine.context, redaction)
    assert kept is not None
    found = kept.vault(machine.remote(name).id)
    assert found is not None
    return found


def facts(machine: Machine) -> remote_health.RemoteFacts:
    return status_gathering.gather_facts(machine.context, machine.known_agent).remotes[0]


def redaction_of(machine: Machine, **fields: Any) -> Redaction:
    """One that names nothing."""
    now = machine.context.now()
    given = {"agent_id": machine.agent.id, "scope": RECORDS, **fields}
    return Redaction(id=ids.make_id(now), reason="user_request", requested_at=now, requested_by="ada", **given)


def signed(machine: Machine, redaction: Redaction) -> Redaction:
    return signatures.sign_redaction(redaction, machine.context.keys().device)


def lying(patch: pytest.MonkeyPatch, **methods: Callable[..., Any]) -> None:
    """A remote of which some methods are others: each gets the real one first."""
    usual = open_remote

    def opened(*given: Any) -> Remote:
        remote = usual(*given)
        for name, method in methods.items():
            setattr(remote, name, partial(method, getattr(remote, name)))
        return remote

    patch.setattr(agent_replication, "open_remote", opened)


# Telling ----------------------------------------------------------------------------------------------------------


def test_a_folder_is_rewritten_at_once_and_its_receipt_is_kept(stick: Machine, tmp_path: Path) -> None:
    done = purge(stick)
    assert [(each.name, each.state) for each in done.remotes] == [("home", "done")]
    note = vault_note(stick, done.receipt)
    assert (note.state, note.message, note.receipt is not None) == ("done", "", True)
    assert not any(TEXT.encode() in body for body in there(stick.context, stick.remote(), stick.agent.id).values())
    assert facts(stick).state == "ok"


def test_a_purge_that_ends_before_second_copies_are_told_says_so(stick: Machine) -> None:
    assert killed_at(lambda: purge(stick), CrashPoint.PURGE_NOTED)  # it is done here, and nobody else knows
    (receipt,) = receipt_signing.load_receipts(stick.context)
    note = vault_note(stick, receipt.id)
    assert (receipt.is_done, note.state, note.message) == (
        False,
        "pending",
        "Lifeboat has not sent the purge to this remote yet",
    )
    assert [(each.vault, each.state) for each in outstanding_purges.list_outstanding_purges(stick.context)] == [
        ("home", "pending")
    ]
    assert purge_recovery.complete_purges(stick.context)
    assert vault_note(stick, receipt.id).state == "pending"
    assert stick.push().state == "ok"
    assert vault_note(stick, receipt.id).state == "done"
    assert outstanding_purges.list_outstanding_purges(stick.context) == []


def test_a_second_copy_that_has_nothing_of_the_agent_is_not_waited_for(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "laptop")
    machine.add(name="ada")
    machine.add_remote("home", (tmp_path / "stick").as_uri(), sealed=True)
    learned(machine)
    assert killed_at(lambda: purge(machine), CrashPoint.PURGE_NOTED)
    purge_recovery.complete_purges(machine.context)
    assert outstanding_purges.list_outstanding_purges(machine.context) == []


def test_at_an_endpoint_it_waits_and_is_shown_as_waiting(ada: Replicated) -> None:
    machine = ada.machine
    done = purge(machine)
    assert [each.state for each in done.remotes] == ["waiting"]
    found = facts(machine)
    assert (found.state, found.purges, found.code) == ("waiting", 1, "purge")
    assert found.purges_wait_until == done.remotes[0].applies_at
    assert found.purges_ask_at == "2026-11-12T13:02:00.000Z"  # its owner may decide sooner
    assert not found.is_behind
    assert vault_note(machine, done.receipt).state == "waiting"


def test_what_the_owner_confirmed_is_noted_at_the_next_contact(
    ada: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = ada.machine
    done = purge(machine)
    assert machine.push().state == "ok"
    assert facts(machine).purges == 1
    lying(
        monkeypatch,
        redact=lambda usual, agent, document, **owner: usual(agent, document, owner="the owner's"),
    )
    assert machine.push().state == "ok"
    assert vault_note(machine, done.receipt).state == "done"
    assert facts(machine).state == "ok"


def test_what_the_owner_refused_is_noted_at_the_next_contact_and_asked_about_an_hour_later(
    ada: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*given: Any, **owner: Any) -> RemoteRedaction:
        raise RemoteRefused("the operator of the endpoint refused this purge")

    machine = ada.machine
    done = purge(machine)
    lying(monkeypatch, redact=refusing)
    assert machine.push().state == "ok"
    noted = vault_note(machine, done.receipt)
    assert (noted.state, noted.applies_at) == ("pending", None)
    assert "refused this purge" in remote_health.describe_waiting_purge(facts(machine))
    assert remote_health.has_only_waiting_purges([facts(machine)])
    ada.begin()
    assert machine.push().state == "ok"
    assert "redact" not in ada.called()


def test_with_the_token_of_the_owner_it_does_not_wait(ada: Replicated) -> None:
    machine = ada.machine
    done = purge(machine, owners={"home": "the owner's"})
    assert [each.state for each in done.remotes] == ["done"]
    assert vault_note(machine, done.receipt).receipt is not None


def test_a_remote_that_is_away_is_told_at_the_next_contact(stick: Machine, tmp_path: Path) -> None:
    (tmp_path / "stick").rename(tmp_path / "drawer")
    done = purge(stick)
    assert [each.state for each in done.remotes] == ["pending"]
    found = facts(stick)
    assert (found.state, found.purges, found.purges_ask_at) == ("waiting", 1, None)
    assert vault_note(stick, done.receipt).state == "pending"
    (tmp_path / "drawer").rename(tmp_path / "stick")
    assert stick.push().state == "ok"
    assert vault_note(stick, done.receipt).state == "done"


def test_what_was_purged_before_the_first_push_is_known_there_before_anything_comes(
    prepared_folders: PreparedFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Replicated(prepared_folders.restore("ada with an artifact", machine_in))
    with in_this_process(made, tmp_path / "there", monkeypatch):
        learned(made.machine)
        done = purge(made.machine)
        assert made.push().state == "ok"
        assert vault_note(made.machine, done.receipt).state == "done"
    assert leaks_below(tmp_path / "there") == []


def test_sequences_that_nobody_looked_through_are_named_in_the_receipt(stick: Machine) -> None:
    thinned(stick)
    with stick.context.vault(stick.agent.id) as vault:
        kept = tuple(row.number for row in vault.sequences())
        redaction = signed(stick, redaction_of(stick, searched=kept))
        vault.redact(redaction)
    purge_exchange.send_redaction(stick.context, stick.known_agent, stick.remote(), redaction)
    assert vault_note(stick, redaction.id).message.endswith("not scanned for this purge: 2")


def test_a_purge_that_is_refused_is_said_and_captures_are_sent_all_the_same(
    ada: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*given: Any, **owner: Any) -> RemoteRedaction:
        raise RemoteRefused("it is of no use here")

    machine = ada.machine
    with machine.context.vault(machine.agent.id) as vault:
        vault.redact(signed(machine, redaction_of(machine)))
    lying(monkeypatch, redact=refusing)
    machine.write("notes/later.txt", "later\n")
    machine.capture()
    assert machine.push().state == "ok"
    assert "it is of no use here" in remote_health.describe_waiting_purge(facts(machine))


def test_a_purge_that_may_be_taken_later_is_sent_before_anything_else(
    ada: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*given: Any, **owner: Any) -> RemoteRedaction:
        raise RemoteBusy("later")

    machine = ada.machine
    with machine.context.vault(machine.agent.id) as vault:
        vault.redact(signed(machine, redaction_of(machine)))
    lying(monkeypatch, redact=busy)
    outcome = machine.push()
    assert (outcome.state, outcome.code) == ("waiting", RemoteBusy.code)


def test_a_remote_that_drops_a_purge_from_its_list_is_told_again_and_that_is_said(
    stick: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = purge(stick)
    lying(monkeypatch, redactions=lambda usual, agent: [])
    assert stick.push().state == "ok"
    assert done.receipt in facts(stick).doubts
    assert any(done.receipt in each.text for each in remote_health.list_remote_remarks([facts(stick)]))


def test_a_whole_agent_at_a_remote_that_is_away_is_pending_in_the_receipt(stick: Machine, tmp_path: Path) -> None:
    (tmp_path / "stick").rename(tmp_path / "drawer")
    done = purge_run.purge_agent(stick.context, stick.known_agent, "user_request", {})
    assert vault_note(stick, done.receipt).state == "pending"
    (tmp_path / "drawer").rename(tmp_path / "stick")
    agent_purge.tell_remotes_of_purged_agents(stick.context)
    assert vault_note(stick, done.receipt).state == "done"


# Learning ---------------------------------------------------------------------------------------------------------


def test_what_a_remote_lists_is_applied_here_before_anything_is_sent(ada: Replicated) -> None:
    machine = ada.machine
    redaction = listed_only_there(machine)
    ada.begin()
    assert machine.push().state == "ok"
    called = ada.called()
    assert called.index("redactions") < called.index("agent")
    with machine.context.vault(machine.agent.id) as vault:
        assert redaction.id in vault.redactions


def listed_only_there(machine: Machine, **fields: Any) -> Redaction:
    """As another machine of the same user would have left it."""
    redaction = signed(machine, redaction_of(machine, **fields))
    with contextlib.closing(open_remote(machine.context, machine.remote())) as remote:
        remote.redact(machine.agent.id, redaction.to_json())
    return redaction


def test_a_busy_agent_is_waited_for_and_then_it_is_tried_again_later(
    ada: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = ada.machine
    listed_only_there(machine)

    def held(*given: object) -> None:
        raise Busy("process 1 holds it (restore)")

    monkeypatch.setattr("lifeboat_core.purge.local_redaction.apply_redaction", held)
    monkeypatch.setattr(purge_exchange, "PATIENCE", 0.0)
    outcome = machine.push()
    assert (outcome.state, outcome.code) == ("waiting", Busy.code)


def test_whoever_holds_the_lock_for_a_moment_is_waited_for() -> None:
    tries = []

    def work() -> int:
        tries.append(1)
        if len(tries) < 2:
            raise Busy("a capture")
        return len(tries)

    assert purge_exchange.retry_while_busy(work) == 2


def test_reading_a_copy_back_learns_of_purges_first(ada: Replicated) -> None:
    machine = ada.machine
    redaction = listed_only_there(machine)
    assert remote_verification.verify_remote(machine.context, machine.known_agent, machine.remote())["ok"]
    with machine.context.vault(machine.agent.id) as vault:
        assert redaction.id in vault.redactions


# What is not believed ---------------------------------------------------------------------------------------------


def strangers(machine: Machine, redaction: Redaction) -> Redaction:
    """Signed by another user."""
    key = UserKey.generate()
    return signatures.sign_redaction(redaction, DeviceKey.generate(key))


def test_purges_that_do_not_count_are_refused_and_said(ada: Replicated, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that counts is applied all the same."""
    machine = ada.machine
    good = signed(machine, redaction_of(machine))
    others = (
        signed(machine, redaction_of(machine, agent_id=ids.make_id(machine.context.now()))),
        redaction_of(machine),
        strangers(machine, redaction_of(machine)),
        replace(signed(machine, redaction_of(machine)), reason="security_incident"),
    )
    documents = [each.to_json() for each in (*others, good)]
    lying(monkeypatch, redactions=lambda usual, agent: documents)
    assert machine.push().state == "ok"
    with machine.context.vault(machine.agent.id) as vault:
        assert [each.id for each in vault.redactions] == [good.id]
    assert facts(machine).doubts.count("lists an invalid purge") == 3


@pytest.mark.parametrize("document", [{}, {"version": 1}, {"version": 1, "leaves": []}])
def test_what_is_no_purge_is_refused(document: dict[str, Any]) -> None:
    found = listed_redactions.judge_redactions([document], "01a1cfa1-0a00-7028-97df-88d881670374", None)
    assert (found.counting, len(found.refused)) == ((), 1)


def test_a_list_that_nobody_can_have_made_is_not_read(ada: Replicated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_redactions, "MOST_REDACTIONS", 2)
    lying(monkeypatch, redactions=lambda usual, agent: [{}] * 3)
    outcome = ada.machine.push()
    assert (outcome.state, outcome.code) == ("error", RemoteDamaged.code)


def test_a_wait_without_end_is_no_wait(ada: Replicated, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, applies_at = ada.machine, "9999-12-31T23:59:59.000Z"
    with machine.context.vault(machine.agent.id) as vault:
        vault.redact(signed(machine, redaction_of(machine)))
    lying(monkeypatch, redact=lambda usual, agent, document, **owner: RemoteRedaction(document["id"], applies_at))
    assert machine.push().state == "ok"
    found = facts(machine)
    assert (found.purges, found.purges_wait_until) == (1, None)


def test_a_receipt_that_does_not_hold_is_none(ada: Replicated, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ada.machine
    with machine.context.vault(machine.agent.id) as vault:
        redaction = signed(machine, redaction_of(machine))
        vault.redact(redaction)

    def tampered(usual: Callable[..., RemoteRedaction], *given: Any, **named: Any) -> RemoteRedaction:
        state = usual(*given, **named)
        assert state.receipt is not None
        return replace(state, receipt={**state.receipt, "objects": 7})

    lying(monkeypatch, redact=tampered)
    assert machine.push().state == "ok"
    assert vault_note(machine, redaction.id).state == "pending"
    assert "the receipt of the remote is not valid" in facts(machine).purges_message


# Whole agents -----------------------------------------------------------------------------------------------------


def test_an_agent_that_was_purged_whole_is_erased_here_and_its_workspace_stays(ada: Replicated) -> None:
    machine = ada.machine
    listed_only_there(machine, scope=WHOLE_AGENT)
    outcome = machine.push()
    assert (outcome.state, outcome.code) == ("error", AgentErased.code)
    assert manage_agents.list_agents(machine.context) == []
    assert not machine.context.home.vault_folder(machine.agent.id).exists()
    assert purged_agent_files.find_purged_agent(machine.context, machine.agent.id) is not None
    assert TEXT in machine.read("notes/trip.txt")


def test_nobody_but_the_user_has_an_agent_erased(ada: Replicated, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ada.machine
    document = strangers(machine, redaction_of(machine, scope=WHOLE_AGENT)).to_json()

    def gone(*given: Any) -> None:
        raise AgentErased("it was purged", redaction=document)

    lying(monkeypatch, redactions=gone)
    outcome = machine.push()
    assert (outcome.state, outcome.code) == ("error", RemoteDamaged.code)
    assert machine.known_agent.id == machine.agent.id


@pytest.mark.parametrize("method", ["agent", "push"])
def test_an_answer_in_the_middle_says_it_too(ada: Replicated, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    machine = ada.machine
    document = signed(machine, redaction_of(machine, scope=WHOLE_AGENT)).to_json()

    def gone(*given: Any, **named: Any) -> None:
        raise AgentErased("it was purged", redaction=document)

    lying(monkeypatch, **{method: gone})
    machine.write("notes/later.txt", "later\n")
    machine.capture()
    assert machine.push().code == AgentErased.code
    assert manage_agents.list_agents(machine.context) == []


def test_a_whole_agent_is_told_of_after_it_is_gone_here(ada: Replicated) -> None:
    machine = ada.machine
    agent, config = machine.known_agent, machine.remote()
    listed_only_there(machine, scope=WHOLE_AGENT)
    machine.push()
    kept = purged_agent_files.find_purged_agent(machine.context, agent.id)
    assert kept is not None
    state = purge_exchange.send_redaction(machine.context, kept.agent, config, kept.redaction)
    assert state.id == kept.redaction.id


# What only a remote keeps -----------------------------------------------------------------------------------------


def test_states_that_only_the_remote_keeps_are_looked_through(stick: Machine) -> None:
    with stick.context.vault(stick.agent.id) as vault:
        assert (
            list(purge_exchange.list_remote_only_items(stick.context, stick.known_agent, stick.remote(), vault)) == []
        )
    thinned(stick)
    trip = f"before\n{TEXT}\nafter\n".encode()
    with stick.context.vault(stick.agent.id) as vault:
        assert trip not in {body for _, body in bodies(vault)}
        found = purge_exchange.list_remote_only_items(stick.context, stick.known_agent, stick.remote(), vault)
        assert trip in {item.body() for item in found}


def thinned(machine: Machine) -> None:
    """The text goes from the workspace, and the states that had it from this machine."""
    machine.write("MEMORY.md", "# Memory\n")
    machine.write("notes/trip.txt", "before\nafter\n")
    machine.capture_and_push()
    later, gone = machine.clock.now() + timedelta(days=40), {1, 2}
    with machine.context.vault(machine.agent.id) as vault:
        while any(row.number in gone for row in vault.sequences()):
            assert vault.thin(Retention(0, 0, 0), later, keep=lambda number: number not in gone).dropped


# Over HTTP --------------------------------------------------------------------------------------------------------


def test_over_http_a_purge_is_told_waits_and_comes_to_another_machine(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    laptop = Machine(tmp_path / "laptop")
    laptop.add(name="ada")
    laptop.add_remote("home", endpoint.url, token=endpoint.token)
    learned(laptop)
    assert laptop.push().state == "ok"
    done = purge(laptop)
    assert [each.state for each in done.remotes] == ["waiting"]
    desk = Machine(tmp_path / "desk")
    desk.learn_words_of(laptop)
    desk.add_remote("home", endpoint.url, token=endpoint.token)
    report = desk.restore_from("ada", tmp_path / "copy")
    assert report.agent == laptop.agent.id
    assert leaks_below(tmp_path / "copy") == []
