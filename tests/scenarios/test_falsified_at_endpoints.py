"""A machine with a push token sends a signed state before the machine that made it, and says something else of its
files: the honest machine finds that at its next contact, and everything comes back byte for byte."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping

import pytest

from lifeboat_core.remotes import remote_drill
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.replication_outcome import ReplicationOutcome
from lifeboat_endpoint.maintenance.endpoint_verification import EndpointVerification, verify_endpoint
from lifeboat_vault.remote.remote_contract import RemoteBundle
from support.endpoint.falsified_bundles import FALSIFICATIONS, Falsify, falsified_delta, falsified_snapshot, leave_out
from support.oracle import disk_model
from support.oracle.copies import HOME, Copies, make_copies
from support.prepared_folders import PreparedFolders

LARGE = random.Random(1).randbytes(400_000)
FILM = "artifacts/film.bin"
MEMORY = "raw/openclaw/MEMORY.md"

any_falsification = pytest.mark.parametrize("false", FALSIFICATIONS.values(), ids=FALSIFICATIONS.keys())


@pytest.fixture
def copies(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Copies:
    """Nothing was sent of it."""
    made = prepared_folders.restore("an agent with every remote", make_copies)
    made.install(monkeypatch)
    return made


def capture(copies: Copies, number: int) -> int:
    """Capture another film and another memory; the sequence."""
    copies.laptop.write("film.bin", LARGE + bytes([number]))
    copies.laptop.write("MEMORY.md", "# Facts\n\n" + "".join(f"- Fact {each}.\n" for each in range(200 + number)))
    copies.laptop.clock.advance(hours=2)
    copies.laptop.capture()
    return copies.kept_here()[-1]


def push_falsely(copies: Copies, false: Mapping[str, Falsify], base: int | None = None) -> None:
    """Push the newest sequence as a machine does that got hold of a token."""
    machine = copies.laptop
    with (
        machine.context.vault(machine.agent.id) as vault,
        contextlib.closing(open_remote(machine.context, machine.remote(HOME))) as remote,
    ):
        head = vault.head()
        assert head is not None
        sent: RemoteBundle
        if base is None:
            remote.register(machine.agent.id, "ada", "openclaw")
            sent = falsified_snapshot(vault, false)
        else:
            sent = falsified_delta(vault, false, base, head.number)
        assert remote.push(machine.agent.id, sent).number == head.number


def contacts(copies: Copies) -> list[ReplicationOutcome]:
    """Contact the endpoint until it is up to date; three times at most."""
    made: list[ReplicationOutcome] = []
    while len(made) < 3 and not (made and made[-1].state == "ok"):
        made.append(copies.laptop.push(HOME))
    assert made[-1].state == "ok", made
    return made


def proof_of(copies: Copies) -> EndpointVerification:
    """What `lifeboat endpoint verify` finds."""
    with copies.places.endpoint() as endpoint:
        return verify_endpoint(endpoint, endpoint.control.tenants())


def every_sequence_comes_back(copies: Copies) -> bool:
    """Whether a machine with nothing but the remote and the key restores every sequence byte for byte."""
    for number in copies.kept_at(HOME):
        here, _ = copies.restored_here(number)
        there, _ = copies.restored_from(HOME, number)
        wanted, found = disk_model.read_disk(here), disk_model.read_disk(there)
        assert disk_model.differences(wanted, found, there) == [], number
    copies.history_of(HOME)
    return copies.is_verified(HOME) and copies.drill_holds(HOME)


@any_falsification
def test_what_was_falsified_in_a_first_snapshot_is_mended_by_the_first_contact(copies: Copies, false: Falsify) -> None:
    capture(copies, 1)
    push_falsely(copies, {FILM: false})
    found = proof_of(copies)
    assert (found.findings, len(found.absent)) == ([], 1)
    assert len(contacts(copies)) == 1
    assert (proof_of(copies).findings, proof_of(copies).absent) == ([], [])
    assert every_sequence_comes_back(copies)


@any_falsification
def test_what_was_falsified_in_a_delta_is_mended_although_a_newer_sequence_replaced_it(
    copies: Copies, false: Falsify
) -> None:
    base = capture(copies, 1)
    contacts(copies)
    capture(copies, 2)
    push_falsely(copies, {FILM: false}, base)
    assert len(proof_of(copies).absent) == 1
    capture(copies, 3)
    assert len(contacts(copies)) == 1
    assert proof_of(copies).absent == []
    assert copies.kept_at(HOME) == copies.kept_here()[1:]
    assert every_sequence_comes_back(copies)


@any_falsification
def test_what_was_falsified_before_the_first_contact_is_mended_although_it_changed_since(
    copies: Copies, false: Falsify
) -> None:
    capture(copies, 1)
    push_falsely(copies, {FILM: false})
    capture(copies, 2)
    assert len(contacts(copies)) == 1
    assert (proof_of(copies).findings, proof_of(copies).absent) == ([], [])
    assert every_sequence_comes_back(copies)


@pytest.mark.parametrize("false", [leave_out, *FALSIFICATIONS.values()], ids=["left out", *FALSIFICATIONS.keys()])
@pytest.mark.parametrize("is_newer", [False, True])
def test_an_ordinary_file_whose_bytes_were_left_out_is_mended(copies: Copies, false: Falsify, is_newer: bool) -> None:
    """The delta that follows is made against these bytes."""
    capture(copies, 1)
    push_falsely(copies, {MEMORY: false, FILM: false})
    assert len(proof_of(copies).absent) == 2
    if is_newer:
        capture(copies, 2)
    contacts(copies)
    assert (proof_of(copies).findings, proof_of(copies).absent) == ([], [])
    assert every_sequence_comes_back(copies)


def test_a_machine_that_believed_its_earlier_release_asks_by_leaf_at_its_first_contact(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it noted then (`objects`) says only that no SHA-256 was missing."""
    number = capture(copies, 1)
    push_falsely(copies, {FILM: FALSIFICATIONS["sha256"]})
    machine = copies.laptop
    with machine.context.vault(machine.agent.id) as vault:
        head = vault.sequence(number)
        noted = {"number": number, "digest": head.digest.hex(), "epoch": 1, "objects": number, "state": "ok"}
        noted |= {"verified_at": machine.context.now(), "verified_number": number}
        vault.set("remotes", {machine.remote(HOME).id: noted}, kind="remotes")
    assert machine.push(HOME).state == "ok"
    assert proof_of(copies).absent == []
    assert every_sequence_comes_back(copies)


def test_bytes_that_were_left_out_of_a_delta_are_sent_by_the_next_contact(copies: Copies) -> None:
    base = capture(copies, 1)
    contacts(copies)
    capture(copies, 2)
    push_falsely(copies, {MEMORY: leave_out}, base)
    assert len(contacts(copies)) == 1
    assert proof_of(copies).absent == []
    assert every_sequence_comes_back(copies)


def test_the_daily_look_finds_what_was_falsified(copies: Copies) -> None:
    base = capture(copies, 1)
    contacts(copies)
    capture(copies, 2)
    push_falsely(copies, {MEMORY: leave_out}, base)
    machine = copies.laptop
    read = remote_drill.verify_or_drill(machine.context, machine.known_agent, machine.remote(HOME))
    assert not read["ok"]
    contacts(copies)
    assert every_sequence_comes_back(copies)
