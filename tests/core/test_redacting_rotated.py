"""Purges after the user's key was replaced: remotes are valid for machines that trust only the new key, without
trusting anything unverified."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common import ids
from lifeboat_core.home import user_key_rotation
from lifeboat_core.purge import agent_purge, purge_run, purged_agent_files, receipt_signing
from lifeboat_core.remotes import agent_replication, pulling, remote_registry
from lifeboat_core.remotes.redactions import listed_redactions, purge_exchange
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import AgentErased, RemoteUnreachable
from lifeboat_vault.remote.remote_contract import Remote, RemoteRedaction
from lifeboat_vault.vault import Vault
from support.core.machines import Machine
from support.core.purged import TEXT, leaks_below, owner_token, purge, request
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

LEARNED = 1
"""The sequence in which the agent learned the text."""
BOTH = pytest.mark.parametrize("name", ["home", "stick"])


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


def laptop_in(folder: Path, endpoint: RunningEndpoint) -> Machine:
    """Return a laptop whose agent learned the text and went on; an endpoint and a sealed folder have everything."""
    made = Machine(folder / "laptop")
    made.add(name=f"ada-{ids.make_id(made.context.now())[-12:]}")
    made.add_remote("home", endpoint.url, token=endpoint.token)
    made.add_remote("stick", (folder / "stick").as_uri(), sealed=True)
    made.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    made.write("MEMORY.md", f"{made.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
    made.capture()
    push(made)
    made.write("notes/other.txt", "nothing of it\n")
    made.capture()
    push(made)
    return made


def push(machine: Machine) -> None:
    assert [machine.push(name).state for name in ("home", "stick")] == ["ok", "ok"]


def purged(machine: Machine, endpoint: RunningEndpoint, **options: Any) -> str:
    """Purge at both remotes; return the id of the purge."""
    done = purge(machine, request(workspace=True, **options), {"home": owner_token(endpoint)})
    assert [each.state for each in done.remotes] == ["done", "done"]
    return done.receipt


def rotate(machine: Machine, *, compromised: bool = True) -> None:
    machine.clock.advance(minutes=1)
    old = user_key_rotation.load_key_in_force(machine.context)
    report = user_key_rotation.rotate_user_key(
        machine.context, old, UserKey.generate(), compromised=compromised, lost=None
    )
    assert report.settled.unfinished == []


def elsewhere(folder: Path, machine: Machine, words_of: UserKey | None = None) -> Machine:
    """Return a new machine with the present recovery words and the same remotes."""
    made = Machine(folder)
    made.context.keys().install(words_of or UserKey.from_words(machine.context.keys().user_key().words()))
    made.context.keys().ensure()
    for name in ("home", "stick"):
        known = machine.remote(name)
        made.add_remote(name, known.url, token=remote_registry.load_token(machine.context, name), sealed=known.sealed)
    return made


def listed(machine: Machine, name: str, trusted: TrustedKeys | None) -> listed_redactions.ListedRedactions:
    with contextlib.closing(open_remote(machine.context, machine.remote(name))) as remote:
        return listed_redactions.load_listed(remote, machine.agent.id, trusted)


def only_now(machine: Machine) -> TrustedKeys:
    """Return the trusted keys of a machine that knows no former key."""
    return TrustedKeys(machine.context.keys().public)


# Restores on a new machine ----------------------------------------------------------------------------------------


@dataclass
class Rotated:
    laptop: Machine
    desk: Machine
    receipt: str
    folder: Path


@pytest.fixture(scope="module")
def rotated(tmp_path_factory: pytest.TempPathFactory, endpoint: RunningEndpoint) -> Rotated:
    """Return a machine that purged the text, replaced its key, which others may have, and went on."""
    folder = tmp_path_factory.mktemp("rotated")
    laptop = laptop_in(folder, endpoint)
    receipt = purged(laptop, endpoint)
    rotate(laptop)
    laptop.write("notes/later.txt", "the boat came home\n")
    laptop.capture()
    push(laptop)
    return Rotated(laptop, elsewhere(folder / "desk", laptop), receipt, folder)


@BOTH
def test_an_older_state_is_restored_from_it_with_the_new_words(rotated: Rotated, tmp_path: Path, name: str) -> None:
    report = rotated.desk.restore_from(rotated.laptop.agent.id, tmp_path / "copy", name, at=LEARNED)
    assert report.to_json()["signature"] == "signed"
    assert (tmp_path / "copy" / "notes/trip.txt").read_text() == "before\n\nafter\n"
    assert leaks_below(tmp_path / "copy") == []


@BOTH
def test_the_whole_history_comes_back_with_the_new_words(rotated: Rotated, tmp_path: Path, name: str) -> None:
    desk, agent_id, tell = (
        elsewhere(tmp_path / "desk", rotated.laptop),
        rotated.laptop.agent.id,
        agent_replication.tell_nobody,
    )
    with contextlib.closing(open_remote(desk.context, desk.remote(name))) as remote:
        assert pulling.take_keys(desk.context, remote, agent_id) == []
        pulling.fetch_history(desk.context, remote, agent_id, tmp_path / "vault", accept_unsigned=False, tell=tell)
    with Vault.open(tmp_path / "vault") as vault:
        assert vault.verify(trusted=only_now(desk), whole=True).findings == []


@BOTH
def test_the_list_there_counts_for_whoever_trusts_only_the_new_key(rotated: Rotated, name: str) -> None:
    found = listed(rotated.laptop, name, only_now(rotated.laptop))
    assert (found.ids, found.refused) == ({rotated.receipt}, ())


def test_nothing_there_is_doubted_afterwards(rotated: Rotated) -> None:
    push(rotated.laptop)
    assert [rotated.laptop.acknowledged(name).doubts for name in ("home", "stick")] == ["", ""]


def test_the_receipt_holds_under_the_new_key(rotated: Rotated) -> None:
    kept = receipt_signing.find_receipt(rotated.laptop.context, rotated.receipt)
    found = receipt_signing.verify_receipt(rotated.laptop.context, kept.to_json())
    assert [each for each in found if each.level != receipt_signing.ReceiptLevel.HOLDS] == []
    assert {each.state for each in kept.vaults} == {receipt_signing.DONE}


def test_the_receipt_is_in_order_for_a_new_machine_with_the_new_words(rotated: Rotated) -> None:
    document = receipt_signing.find_receipt(rotated.laptop.context, rotated.receipt).to_json()
    found = receipt_signing.verify_receipt(rotated.desk.context, document)
    assert [each for each in found if each.level == receipt_signing.ReceiptLevel.WRONG] == []


# Ways there -------------------------------------------------------------------------------------------------------


def test_nothing_is_doubted_before_the_signatures_are_there(tmp_path: Path, endpoint: RunningEndpoint) -> None:
    laptop = laptop_in(tmp_path, endpoint)
    purged(laptop, endpoint)
    rotate(laptop)
    copy = laptop.restore_from(laptop.agent.id, tmp_path / "copy", "stick", at=LEARNED, accept_unsigned=True)
    assert copy.to_json()["signature"] == "unknown_signer"
    assert [laptop.acknowledged(name).doubts for name in ("home", "stick")] == ["", ""]
    assert [listed(laptop, name, only_now(laptop)).ids for name in ("home", "stick")] == [set(), set()]


def test_a_purge_under_the_new_key_is_done_where_the_same_machine_wrote_under_the_old_one(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    laptop = laptop_in(tmp_path, endpoint)
    rotate(laptop)
    receipt = purged(laptop, endpoint)
    push(laptop)
    assert all(listed(laptop, name, only_now(laptop)).ids == {receipt} for name in ("home", "stick"))


def test_a_signature_that_was_lost_on_the_way_is_sent_again(
    tmp_path: Path, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = laptop_in(tmp_path, endpoint)
    receipt = purged(laptop, endpoint)
    rotate(laptop)

    def opened(*given: Any) -> Remote:
        remote = open_remote(*given)
        monkeypatch.setattr(remote, "redact", lost, raising=False)
        return remote

    def lost(*_: Any, **__: Any) -> RemoteRedaction:
        raise RemoteUnreachable("the cable was cut")

    with monkeypatch.context() as patch:
        patch.setattr(agent_replication, "open_remote", opened)
        assert laptop.push().state == "waiting"
    assert receipt_signing.find_receipt(laptop.context, receipt).vault(laptop.remote().id).state == receipt_signing.DONE  # type: ignore[union-attr]
    assert laptop.push().state == "ok"
    assert listed(laptop, "home", only_now(laptop)).ids == {receipt}


def test_after_a_plain_rotation_the_old_signatures_count(tmp_path: Path, endpoint: RunningEndpoint) -> None:
    laptop = laptop_in(tmp_path, endpoint)
    purged(laptop, endpoint)
    names = ("home", "stick")
    before = [[each.signature for each in listed(laptop, name, None).counting] for name in names]
    rotate(laptop, compromised=False)
    push(laptop)
    assert [[each.signature for each in listed(laptop, name, None).counting] for name in names] == before
    desk = elsewhere(tmp_path / "desk", laptop)
    reports = [desk.restore_from(laptop.agent.id, tmp_path / f"from {name}", name, at=LEARNED) for name in names]
    assert [each.to_json()["signature"] for each in reports] == ["signed", "signed"]
    assert leaks_below(*(tmp_path / f"from {name}" for name in names)) == []


# Whole agents -----------------------------------------------------------------------------------------------------


def test_a_machine_that_was_off_erases_an_agent_of_before_the_rotation(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    laptop = laptop_in(tmp_path, endpoint)
    rotate(laptop, compromised=False)
    push(laptop)
    desk = elsewhere(tmp_path / "desk", laptop)
    desk.bring_back(laptop.agent.id, tmp_path / "lives", take_over=laptop.context.keys().own_name)
    done = purge_run.purge_agent(laptop.context, laptop.known_agent, "user_request", {"home": owner_token(endpoint)})
    assert [each.state for each in done.remotes] == ["done", "done"]
    rotate(laptop)
    kept = purged_agent_files.find_purged_agent(laptop.context, laptop.agent.id)
    assert kept is not None and set(kept.again) == {laptop.remote(name).id for name in ("home", "stick")}
    agent_purge.tell_remotes_of_purged_agents(laptop.context)
    told = purged_agent_files.find_purged_agent(laptop.context, laptop.agent.id)
    assert told is not None and told.again == ()
    for name in ("home", "stick"):
        with pytest.raises(AgentErased) as caught:
            listed(laptop, name, only_now(laptop))
        assert caught.value.redaction is not None and caught.value.redaction["id"] == done.receipt
    found = receipt_signing.verify_receipt(
        laptop.context, receipt_signing.find_receipt(laptop.context, done.receipt).to_json()
    )
    assert [each for each in found if each.level == receipt_signing.ReceiptLevel.WRONG] == []
    key = UserKey.from_words(laptop.context.keys().user_key().words())
    user_key_rotation.rotate_user_key(desk.context, desk.context.keys().user_key(), key, compromised=True, lost=None)
    assert [desk.push(name).code for name in ("home",)] == [AgentErased.code]
    assert purged_agent_files.find_purged_agent(desk.context, laptop.agent.id) is not None


def test_an_endpoint_wants_its_owner_where_another_machine_signs_for_an_agent_that_is_gone(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    laptop = laptop_in(tmp_path, endpoint)
    agent, home = laptop.known_agent, laptop.remote()
    desk = elsewhere(tmp_path / "desk", laptop)
    desk.bring_back(agent.id, tmp_path / "lives", take_over=laptop.context.keys().own_name)
    done = purge_run.purge_agent(laptop.context, agent, "user_request", {"home": owner_token(endpoint)})
    assert desk.push().code == AgentErased.code
    rotate(desk)
    agent_purge.tell_remotes_of_purged_agents(desk.context)

    def note() -> receipt_signing.VaultPurgeNote:
        found = receipt_signing.find_receipt(desk.context, done.receipt).vault(home.id)
        assert found is not None
        return found

    assert note().state == receipt_signing.DONE and "only when the owner of the remote confirms it" in note().message
    known = purged_agent_files.find_purged_agent(desk.context, agent.id)
    assert known is not None
    purge_exchange.send_redaction(desk.context, known.agent, desk.remote(), known.redaction, owner_token(endpoint))
    assert (note().state, note().message) == (receipt_signing.DONE, "")
