"""Uploads in parts and in one body, and their sweep."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.service.tenant_space import ExpectedPart, TenantSpace
from lifeboat_endpoint.service.uploads import Uploads
from lifeboat_vault.errors import (
    RemoteBusy,
    RemoteFull,
    RemoteRefused,
    RemoteTooLarge,
    StaleBase,
    UnknownAtRemote,
    VaultBusy,
)
from lifeboat_vault.remote.checks.remote_trial import RemoteTrial, TrialMachine
from lifeboat_vault.remote.remote_contract import RemoteDescription
from support.endpoint.in_process_remote import InProcessRemote
from support.endpoint.spaces import TestKeys, clock, keys, space_in
from support.vault.vaults import START, ManualClock

__all__ = ["clock", "keys"]

DAY = timedelta(hours=24)


@pytest.fixture
def space(tmp_path: Path, clock: ManualClock, keys: TestKeys) -> Iterator[TenantSpace]:
    with space_in(tmp_path / "tenant", keys, clock=clock, limited={"part_bytes": 5000}) as space:
        yield space


@pytest.fixture
def machine(space: TenantSpace, tmp_path: Path) -> Iterator[TrialMachine]:
    """A registered machine with its first sequence captured."""
    trial = RemoteTrial(lambda: InProcessRemote(space, RemoteDescription("id", "test", "test", False)), tmp_path)
    made = trial.machine()
    made.capture(raw__openclaw__file=hashlib.shake_256(b"noise").digest(20_000))
    yield made
    made.vault.close()


def _snapshot(machine: TrialMachine) -> bytes:
    with machine.snapshot().file as file:
        return file.read()


def _cut(data: bytes, size: int = 5000) -> dict[str, bytes]:
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return {hashlib.sha256(piece).hexdigest(): piece for piece in pieces}


def _parts(pieces: dict[str, bytes]) -> list[ExpectedPart]:
    return [ExpectedPart(digest, len(piece)) for digest, piece in pieces.items()]


def _bodies(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "tenant" / "files").iterdir())


def test_a_bundle_comes_in_parts_in_any_order(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    pieces = _cut(_snapshot(machine))
    upload = space.uploads.begin(machine.agent_id, "snapshot", None, _parts(pieces), "laptop")
    assert upload.missing == list(pieces)
    for digest in reversed(pieces):
        space.uploads.put_part(upload.id, digest, pieces[digest])
    assert space.uploads.get(upload.id).missing == []
    head = space.receive_upload(upload.id).head
    assert (head.number, head.digest, head.machine) == (0, machine.here.digest, "laptop")
    assert _bodies(tmp_path) == []


def test_a_commit_whose_answer_was_lost_gives_the_head_again(space: TenantSpace, machine: TrialMachine) -> None:
    pieces = _cut(_snapshot(machine))
    upload = space.uploads.begin(machine.agent_id, "snapshot", None, _parts(pieces))
    for digest, piece in pieces.items():
        space.uploads.put_part(upload.id, digest, piece)
    assert space.receive_upload(upload.id).head == space.receive_upload(upload.id).head


def test_parts_of_an_earlier_upload_are_not_sent_again(space: TenantSpace, machine: TrialMachine) -> None:
    pieces = _cut(_snapshot(machine))
    first, second, *rest = pieces
    earlier = space.uploads.begin(machine.agent_id, "snapshot", None, _parts(pieces))
    space.uploads.put_part(earlier.id, first, pieces[first])
    space.uploads.put_part(earlier.id, second, pieces[second])
    upload = space.uploads.begin(machine.agent_id, "snapshot", None, _parts(pieces))
    assert upload.missing == rest
    space.uploads.abort(earlier.id)
    for digest in rest:
        space.uploads.put_part(upload.id, digest, pieces[digest])
    assert space.receive_upload(upload.id).head.number == 0


def test_an_upload_without_all_its_parts_is_not_committed(space: TenantSpace, machine: TrialMachine) -> None:
    upload = space.uploads.begin(machine.agent_id, "snapshot", None, _parts(_cut(_snapshot(machine))))
    with pytest.raises(RemoteRefused):
        space.receive_upload(upload.id)
    assert space.head(machine.agent_id) is None


def test_a_part_that_is_another_one_is_refused(space: TenantSpace, machine: TrialMachine) -> None:
    pieces = _cut(_snapshot(machine))
    upload = space.uploads.begin(machine.agent_id, "snapshot", None, _parts(pieces))
    other = b"other bytes"
    for digest, piece in ((next(iter(pieces)), other), (hashlib.sha256(other).hexdigest(), other)):
        with pytest.raises(RemoteRefused):
            space.uploads.put_part(upload.id, digest, piece)
    assert space.uploads.get(upload.id).missing == list(pieces)


def test_what_came_is_refused_as_a_push_would_be(space: TenantSpace, machine: TrialMachine) -> None:
    machine.capture()
    with machine.delta(0).file as file:
        pieces = _cut(file.read())
    upload = space.uploads.begin(machine.agent_id, "delta", 0, _parts(pieces))
    for digest, piece in pieces.items():
        space.uploads.put_part(upload.id, digest, piece)
    with pytest.raises(StaleBase):
        space.receive_upload(upload.id)


def test_one_body_comes_in_chunks_and_may_come_again(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    data = _snapshot(machine)
    upload = space.uploads.begin(machine.agent_id, "snapshot")
    space.uploads.put_body(upload.id, [b"something", b" else" * 3000])
    assert space.uploads.put_body(upload.id, [data[:7], data[7:9000], data[9000:]]) == len(data)
    assert len(_bodies(tmp_path)) == -(-len(data) // 5000)
    assert space.receive_upload(upload.id).head.digest == machine.here.digest


def test_a_body_that_breaks_off_leaves_nothing(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    upload = space.uploads.begin(machine.agent_id, "snapshot")

    def broken() -> Iterator[bytes]:
        yield b"x" * 12_000
        raise ConnectionError

    with pytest.raises(ConnectionError):
        space.uploads.put_body(upload.id, broken())
    assert _bodies(tmp_path) == []


def test_parts_lie_encrypted_on_the_disk(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    data = _snapshot(machine)
    upload = space.uploads.begin(machine.agent_id, "snapshot", machine="the blue laptop")
    space.uploads.put_body(upload.id, [data])
    held = b"".join(path.read_bytes() for path in (tmp_path / "tenant").rglob("*") if path.is_file())
    assert data[:64] not in held and b"PK\x03\x04" not in held and b"blue laptop" not in held


def test_too_much_is_refused(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    with pytest.raises(RemoteTooLarge):
        space.uploads.begin(machine.agent_id, "snapshot", None, [ExpectedPart("0" * 64, 5001)])
    with pytest.raises(RemoteRefused):
        space.uploads.begin(machine.agent_id, "snapshot", None, [ExpectedPart("../x", 5)])
    with space_in(tmp_path / "tenant", limited={"bundle_bytes": 900}) as small, pytest.raises(RemoteTooLarge):
        small.uploads.put_body(small.uploads.begin(machine.agent_id, "snapshot").id, [b"x" * 500, b"x" * 500])
    with space_in(tmp_path / "tenant", limited={"tenant_bytes": 900}) as poor, pytest.raises(RemoteFull):
        poor.uploads.put_body(poor.uploads.begin(machine.agent_id, "snapshot").id, [b"x" * 500, b"x" * 500])
    assert _bodies(tmp_path) == []


def test_an_upload_of_an_agent_that_is_not_there_is_not_begun(space: TenantSpace) -> None:
    with pytest.raises(UnknownAtRemote):
        space.uploads.begin("nobody", "snapshot")


def test_what_is_not_finished_in_a_day_is_swept(
    space: TenantSpace, machine: TrialMachine, clock: ManualClock, tmp_path: Path
) -> None:
    upload = space.uploads.begin(machine.agent_id, "snapshot")
    space.uploads.put_body(upload.id, [b"x" * 100])
    clock.moment += DAY
    with pytest.raises(UnknownAtRemote):
        space.receive_upload(upload.id)
    assert _bodies(tmp_path) != []
    assert space.sweep(clock.now()) == 1
    assert _bodies(tmp_path) == []


def test_a_body_that_nothing_names_is_swept_after_a_day(
    space: TenantSpace, machine: TrialMachine, clock: ManualClock, tmp_path: Path
) -> None:
    (tmp_path / "tenant" / "files" / ("0a" * 16)).write_bytes(b"left by a crash")
    assert space.sweep(clock.now()) == 0
    clock.moment += DAY - timedelta(seconds=1)
    upload = space.uploads.begin(machine.agent_id, "snapshot")
    space.uploads.put_body(upload.id, [b"x" * 100])
    assert space.sweep(clock.now()) == 0
    clock.moment += timedelta(seconds=1)
    assert space.sweep(clock.now()) == 1
    assert len(_bodies(tmp_path)) == 1 and "0a" * 16 not in _bodies(tmp_path)


def test_what_an_agent_left_behind_is_swept(space: TenantSpace, clock: ManualClock, tmp_path: Path) -> None:
    left = tmp_path / "tenant" / "agents" / "left"
    (left / "objects").mkdir(parents=True)
    (left / "objects" / "0a").write_bytes(b"of a removal that was cut off")
    assert space.sweep(clock.now()) == 1
    assert not left.exists()


def test_a_permission_is_used_once_until_it_has_run_out(space: TenantSpace, clock: ManualClock, tmp_path: Path) -> None:
    expires = START + timedelta(minutes=10)
    assert space.use_once("token", expires)
    with space_in(tmp_path / "tenant", clock=clock) as other:
        assert not other.use_once("token", expires)
        assert other.use_once("another", expires)
    clock.moment += timedelta(minutes=10)
    space.sweep(clock.now())
    assert space.use_once("token", expires)


def test_what_a_commit_without_an_answer_may_have_named_is_not_removed(
    space: TenantSpace, machine: TrialMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, replace = _snapshot(machine), Uploads._replace_parts

    def unanswered(uploads: Uploads, upload_id: str, made: list[tuple[str, int]]) -> None:
        replace(uploads, upload_id, made)
        raise VaultBusy("the database does not answer")

    upload = space.uploads.begin(machine.agent_id, "snapshot")
    monkeypatch.setattr(Uploads, "_replace_parts", unanswered)
    with pytest.raises(RemoteBusy):
        space.uploads.put_body(upload.id, [data])
    assert space.receive_upload(upload.id).fresh
