"""A remote loses bytes that it had acknowledged: it or the machine finds that, and the next contact sends them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.doctor_checks import DoctorLevel
from lifeboat_cli.doctor import check_remotes as doctor_remotes
from lifeboat_core.agents import agent_sync
from lifeboat_core.history import thin_history
from lifeboat_core.remotes import acknowledged_states, remote_drill
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_endpoint.doctor import bodies
from lifeboat_endpoint.maintenance.endpoint_verification import EndpointVerification, verify_endpoint
from lifeboat_keys.errors import KeyLocked
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_vault.remote.remote_contract import RemoteVerification
from lifeboat_vault.vault import Retention
from support.endpoint.in_process_remote import InProcessRemote
from support.oracle import disk_model
from support.oracle.copies import HOME, PLAIN, STICK, Copies, make_copies
from support.prepared_folders import PreparedFolders
from support.vault.vaults import file_key

LARGE = random.Random(1).randbytes(400_000)
NOTE = "# Tide\n\n" + random.Random(2).randbytes(300_000).hex()


@pytest.fixture
def copies(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Copies:
    """Sequence 1 has a large artifact, and a note that no row holds; every remote has it, and sequence 2."""
    made = prepared_folders.restore("an agent with every remote", make_copies)
    made.install(monkeypatch)
    for number in (1, 2):
        made.laptop.write("film.bin", LARGE + bytes([number]))
        made.laptop.write("memory/tide.md", f"{NOTE}\n{number}\n")
        made.laptop.clock.advance(hours=2)
        made.laptop.capture()
        for remote in (HOME, STICK, PLAIN):
            assert made.laptop.push(remote).state == "ok"
    return made


def proof_of(copies: Copies) -> EndpointVerification:
    """What `lifeboat endpoint verify` finds."""
    with copies.places.endpoint() as endpoint:
        return verify_endpoint(endpoint, endpoint.control.tenants())


def errors_of_endpoint_doctor(copies: Copies) -> list[str]:
    with copies.places.endpoint() as endpoint:
        return [found.result for found in bodies.check(endpoint) if found.level is DoctorLevel.ERROR]


def state_of(copies: Copies, remote: str) -> str:
    return copies.laptop.acknowledged(remote).damaged


def files_of(folder: Path) -> list[Path]:
    """The largest files of a remote: bodies, or bundles."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 20_000]
    return sorted(path for path in found if "db" not in path.suffix)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def thin_here(copies: Copies) -> None:
    """Drop sequence 1 here; the last one of its week stays."""
    machine = copies.laptop
    for _ in range(4):
        thin_history.thin_agent(machine.context, machine.known_agent, Retention(0, 0, 0), whatever_remotes_need=True)
    assert 1 not in copies.kept_here()


def is_whole(copies: Copies, remote: str) -> bool:
    wanted = disk_model.read_disk(copies.laptop.workspace)
    folder, _ = copies.restored_from(remote, 2)
    return not disk_model.differences(wanted, disk_model.read_disk(folder), folder) and copies.is_verified(remote)


@pytest.mark.parametrize("harm", [Path.unlink, cut_in_half])
def test_what_an_endpoint_lost_is_asked_for_after_its_own_verification(
    copies: Copies, harm: Callable[[Path], None]
) -> None:
    lost = files_of(copies.places.data)
    for path in lost:
        harm(path)
    assert len(lost) >= 2
    assert not proof_of(copies).ok
    assert errors_of_endpoint_doctor(copies)
    outcome = copies.laptop.push(HOME)
    assert outcome.state == "ok", outcome
    assert proof_of(copies).ok
    assert errors_of_endpoint_doctor(copies) == []
    assert is_whole(copies, HOME)


def test_what_a_machine_finds_lost_is_sent_again_at_the_next_contact(copies: Copies) -> None:
    for path in files_of(copies.places.data):
        path.unlink()
    assert not copies.is_verified(HOME)
    assert state_of(copies, HOME)
    assert any("lifeboat sync" in (found.fix or "") for found in doctor_remotes.check(copies.laptop.context))
    assert copies.laptop.push(HOME).state == "ok"
    assert state_of(copies, HOME) == ""
    assert is_whole(copies, HOME)


def test_a_push_of_something_new_comes_after_what_was_lost(copies: Copies) -> None:
    for path in files_of(copies.places.data):
        path.unlink()
    assert not proof_of(copies).ok
    copies.laptop.write("film.bin", LARGE + bytes([3]))
    copies.laptop.write("memory/tide.md", f"{NOTE}\n3\n")
    copies.laptop.clock.advance(hours=2)
    copies.laptop.capture()
    outcome = copies.laptop.push(HOME)
    assert (outcome.state, outcome.sequence) == ("ok", 3)
    assert proof_of(copies).ok


def test_what_nobody_has_any_more_is_said_at_each_contact(copies: Copies) -> None:
    copies.laptop.clock.advance(days=400)
    copies.laptop.write("memory/tide.md", "# Tide\n\nNone.\n")
    copies.laptop.capture()
    assert copies.laptop.push(HOME).state == "ok"
    copies.laptop.write("film.bin", LARGE)
    copies.laptop.clock.advance(days=400)
    copies.laptop.capture()
    assert copies.laptop.push(HOME).state == "ok"
    thin_here(copies)
    for path in files_of(copies.places.data):
        path.unlink()
    assert not proof_of(copies).ok
    for _ in range(2):
        outcome = copies.laptop.push(HOME)
        assert (outcome.state, outcome.code) == ("error", "remote_damaged")
    assert errors_of_endpoint_doctor(copies)


@pytest.mark.parametrize("remote", [STICK, PLAIN])
@pytest.mark.parametrize("harm", [Path.unlink, cut_in_half])
def test_a_bundle_that_a_folder_lost_is_written_again(
    copies: Copies, remote: str, harm: Callable[[Path], None]
) -> None:
    bundles = [path for path in (copies.places.folder / remote).rglob("*.alf*") if "delta" in path.name]
    assert bundles
    for path in bundles:
        harm(path)
    assert not copies.is_verified(remote)
    assert state_of(copies, remote)
    assert copies.laptop.push(remote).state == "ok"
    assert is_whole(copies, remote)
    copies.history_of(remote)


@pytest.mark.parametrize("remote", [STICK, PLAIN])
def test_a_large_file_that_a_folder_lost_is_written_again(copies: Copies, remote: str) -> None:
    bundles = {*(copies.places.folder / remote).rglob("*.alf*")}
    for path in {*files_of(copies.places.folder / remote)} - bundles:
        path.unlink()
    assert not copies.drill_holds(remote)
    copies.laptop.push(remote)
    assert copies.drill_holds(remote)
    assert copies.laptop.push(remote).state == "ok"
    assert is_whole(copies, remote)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def large_files(copies: Copies, remote: str) -> list[Path]:
    return [path for path in (copies.places.folder / remote).rglob("large-*") if path.is_file()]


@pytest.mark.parametrize(
    ("remote", "harm"),
    [(remote, harm) for remote in (STICK, PLAIN) for harm in (Path.unlink, cut_in_half, empty)] + [(PLAIN, flip_a_bit)],
)
def test_the_daily_look_at_a_folder_finds_a_large_file_that_was_lost_and_the_next_contact_sends_it(
    copies: Copies, remote: str, harm: Callable[[Path], None]
) -> None:
    for path in large_files(copies, remote):
        harm(path)
    assert not copies.is_verified(remote)
    assert "film.bin" in state_of(copies, remote)
    assert copies.laptop.push(remote).state == "ok"
    assert state_of(copies, remote) == ""
    assert is_whole(copies, remote)


def test_a_changed_large_file_of_a_sealed_folder_is_found_by_its_drill_and_written_again(copies: Copies) -> None:
    for path in large_files(copies, STICK):
        flip_a_bit(path)
    assert not copies.drill_holds(STICK)
    assert copies.laptop.push(STICK).code == "remote_damaged"
    read = remote_drill.verify_or_drill(copies.laptop.context, copies.laptop.known_agent, copies.laptop.remote(STICK))
    assert read["ok"] and read["drill"] is not None
    assert copies.laptop.push(STICK).state == "ok"
    assert is_whole(copies, STICK)


def test_a_changed_large_file_counts_as_whole_while_the_key_that_could_tell_is_away(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_: HomeKeys) -> None:
        raise KeyLocked("the key is locked")

    before = {path: path.read_bytes() for path in large_files(copies, STICK)}
    monkeypatch.setattr(HomeKeys, "user_key", locked)
    with contextlib.closing(open_remote(copies.laptop.context, copies.laptop.remote(STICK))) as remote:
        wanted = [file_key(LARGE + bytes([number])) for number in (1, 2)]
        assert remote.missing(copies.laptop.agent.id, wanted, read=True) == []
        remote.put_object(copies.laptop.agent.id, wanted[0], LARGE + bytes([1]))
    assert {path: path.read_bytes() for path in large_files(copies, STICK)} == before


@pytest.mark.parametrize("remote", [STICK, PLAIN])
@pytest.mark.parametrize("harm", [Path.unlink, empty, flip_a_bit])
def test_keys_that_a_folder_lost_are_written_again(copies: Copies, remote: str, harm: Callable[[Path], None]) -> None:
    (keys,) = (copies.places.folder / remote).rglob("keys-*")
    harm(keys)
    with copies.laptop.context.vault(copies.laptop.agent.id) as vault:
        acknowledged_states.note_acknowledged(vault, copies.laptop.remote(remote).id, damaged="its keys cannot be read")
    assert copies.laptop.push(remote).state == "ok"
    assert copies.drill_holds(remote)


def test_what_an_endpoint_found_lost_itself_is_said_by_the_daily_look(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in files_of(copies.places.data):
        path.unlink()
    assert not proof_of(copies).ok
    verify = InProcessRemote.verify

    def reading_nothing(remote: InProcessRemote, *given: Any, **rest: Any) -> RemoteVerification:
        return verify(remote, *given, **{**rest, "bodies": 0})

    monkeypatch.setattr(InProcessRemote, "verify", reading_nothing)
    assert not copies.is_verified(HOME)
    assert "cannot be read on the remote" in state_of(copies, HOME)


def test_sync_drills_again_after_a_drill_failed(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in large_files(copies, PLAIN):
        path.unlink()
    assert not copies.drill_holds(PLAIN)
    documents = agent_sync.send_to_remotes(copies.laptop.context, copies.laptop.known_agent)
    assert {each["name"]: each["state"] for each in documents}[PLAIN] == "ok"
    assert copies.laptop.acknowledged(PLAIN).drill_failed == ""
