"""Two machines purged the same bytes without knowing of each other. The endpoint cannot sign for them, and loses
nothing that was not purged."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.purging.purge_items import PurgeItem
from lifeboat_alf.redaction import joined_redactions, redactions
from lifeboat_alf.redaction.redactions import RECORDS, ByteEdit, Redaction, Redactions
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.vault import EntryPut
from support.endpoint.endpoint_purges import machine_in
from support.endpoint.spaces import clock, space_in
from support.vault.vaults import ManualClock

__all__ = ["clock"]

NOTE = "raw/openclaw/doors.md"
BODY = b"The red door, the blue door, and a green one.\n"
TIME = "2026-11-20T12:00:00.000Z"


@pytest.fixture
def space(tmp_path: Path, clock: ManualClock) -> Iterator[TenantSpace]:
    with space_in(tmp_path / "tenant", clock=clock) as made:
        yield made


@pytest.fixture
def machine(tmp_path: Path, space: TenantSpace) -> TrialMachine:
    made = machine_in(tmp_path)
    made.commit({NOTE: EntryPut({}, BODY)})
    space.register(made.agent_id, "ada", "openclaw")
    made.push(space, made.snapshot())
    return made


def purge(machine: TrialMachine, passage: bytes) -> Redaction:
    """Sign a redaction, as a machine that knows of no other one."""
    entry = machine.vault.state().entry(NOTE)
    made = redactions.replacement_of(BODY, [ByteEdit(BODY.index(passage), len(passage))])
    now = ids.make_id(TIME)
    leaves = {entry.leaf.digest: made}
    redaction = Redaction(now, machine.agent_id, RECORDS, "user_request", TIME, "principal-1", leaves=leaves)
    return redaction_signatures.sign_redaction(redaction, machine.device)


def joint(machine: TrialMachine, first: Redaction, second: Redaction) -> Redaction:
    entry = machine.vault.state().entry(NOTE)
    made = joined_redactions.join_redactions(
        Redactions([first]), second, lambda: [PurgeItem(entry.leaf, lambda: BODY, NOTE)], TIME
    )
    return redaction_signatures.sign_redaction(made, machine.device)


def there(space: TenantSpace, machine: TrialMachine) -> bytes:
    with space.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
        reader.check()
        return reader.body(NOTE)


def send(space: TenantSpace, machine: TrialMachine, redaction: Redaction, *, confirmed: bool = False) -> bool:
    """Return whether it was applied."""
    return space.redact(machine.agent_id, redaction.to_json(), confirmed=confirmed).receipt is not None


LEFT = b"The , the , and a green one.\n"


def test_one_that_contradicts_another_waits_whoever_sends_it(space: TenantSpace, machine: TrialMachine) -> None:
    assert send(space, machine, purge(machine, b"red door"), confirmed=True)
    assert not send(space, machine, purge(machine, b"blue door"), confirmed=True)
    assert there(space, machine) == BODY.replace(b"red door", b"")


def test_with_the_joint_one_it_does_not_wait(space: TenantSpace, machine: TrialMachine) -> None:
    first, second = purge(machine, b"red door"), purge(machine, b"blue door")
    assert send(space, machine, first, confirmed=True)
    assert not send(space, machine, joint(machine, first, second))
    assert send(space, machine, second, confirmed=True)
    assert there(space, machine) == LEFT


def test_when_the_wait_is_over_both_are_cut_and_the_rest_is_there(
    space: TenantSpace, machine: TrialMachine, clock: ManualClock
) -> None:
    """The contradicting redaction was sent before the joining one, so it is due first."""
    first, second = purge(machine, b"red door"), purge(machine, b"blue door")
    for redaction in (first, second, joint(machine, first, second)):
        assert not send(space, machine, redaction)
        clock.advance(minutes=1)
    clock.advance(hours=24)
    space.redactions(machine.agent_id)
    assert there(space, machine) == LEFT
    assert space.due_redactions() == []


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_whatever_its_owner_confirms_first_nothing_else_is_lost(
    space: TenantSpace, machine: TrialMachine, order: tuple[int, ...]
) -> None:
    first, second = purge(machine, b"red door"), purge(machine, b"blue door")
    every = [first, joint(machine, first, second), second]
    for redaction in every:
        assert not send(space, machine, redaction)
    for place in order:
        assert space.confirm_redaction(machine.agent_id, every[place].id).receipt is not None
        assert b"and a green one.\n" in there(space, machine)
    assert there(space, machine) == LEFT


def test_what_takes_more_of_bytes_that_were_cut_before_waits_like_any_other(
    space: TenantSpace, machine: TrialMachine
) -> None:
    """Also when it is sent again. Meanwhile the state reads as before."""
    first, second = purge(machine, b"red door"), purge(machine, b"The red door, the blue door")
    assert send(space, machine, first, confirmed=True)
    for _ in range(2):
        assert not send(space, machine, second)
        assert there(space, machine) == BODY.replace(b"red door", b"")
