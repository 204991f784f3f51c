"""An endpoint lost rows of sequences: machines that have them push them again, and no other content is accepted."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import RemoteFull, RemoteRefused, StaleBase
from lifeboat_vault.remote.checks.remote_trial import TrialMachine, make_bundle
from lifeboat_vault.vault import Vault
from support.endpoint.endpoint_purges import machine_in, pushed, record_of, redaction_of
from support.endpoint.spaces import space_in
from support.killing import killed_at

CAPTURES = 5
HEAD = CAPTURES - 1


@pytest.fixture
def space(tmp_path: Path) -> Iterator[TenantSpace]:
    with space_in(tmp_path / "tenant") as made:
        yield made


@pytest.fixture
def machine(tmp_path: Path, space: TenantSpace) -> TrialMachine:
    return pushed(space, machine_in(tmp_path), captures=CAPTURES)


def run(folder: Path, *statements: str) -> None:
    """Run a statement, as with a database tool."""
    (database,) = (folder / "tenant").rglob("vault.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount


def lose_records(folder: Path, number: int = 0) -> None:
    """Delete the records that begin at a sequence."""
    run(folder, f"delete from record where first >= {number}")


def damaged(space: TenantSpace, machine: TrialMachine) -> list[int]:
    return space.damaged_states(machine.agent_id, read=True)


def lines_of(space: TenantSpace, machine: TrialMachine, number: int) -> dict[str, bytes]:
    with space.snapshot(machine.agent_id, number).file as file, SnapshotReader(file) as reader:
        return {record.id: record.line for record in reader.records()}


def is_whole(space: TenantSpace, machine: TrialMachine) -> bool:
    """Return whether every sequence is as on the machine."""
    with space.vault(machine.agent_id) as vault:
        assert vault.verify(trusted=None).findings == []
        numbers = [row.number for row in vault.sequences()]
    here = {number: {each.id: each.line for each in machine.vault.state(number).records()} for number in numbers}
    assert {number: lines_of(space, machine, number) for number in numbers} == here
    return damaged(space, machine) == [] and not space.agent(machine.agent_id).damaged_states


def test_one_snapshot_brings_back_rows_of_every_sequence_that_had_them(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    run(tmp_path, "delete from record where first = 0")
    assert damaged(space, machine) == [*range(CAPTURES)]
    assert space.agent(machine.agent_id).damaged_states == CAPTURES
    head = space.push(machine.agent_id, machine.snapshot(2))
    assert head.number == HEAD
    assert is_whole(space, machine)


def test_a_delta_on_any_whole_sequence_brings_one_back(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    lose_records(tmp_path, 3)
    assert damaged(space, machine) == [3, 4]
    space.push(machine.agent_id, machine.delta(1, 3))
    space.push(machine.agent_id, machine.delta(3, 4))
    assert is_whole(space, machine)


def test_what_an_endpoint_noted_itself_is_mended_without_another_look(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    lose_records(tmp_path, 4)
    with space.vault(machine.agent_id) as vault:
        vault.note_damage(vault.verify(trusted=None))
    assert space.damaged_states(machine.agent_id) == [4]
    space.push(machine.agent_id, machine.snapshot())
    assert is_whole(space, machine)


def test_a_record_without_its_bytes_gets_them_again(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    run(tmp_path, "update object set body = null where id in (select object from record where first = 2)")
    assert damaged(space, machine) == [2, 3, 4]
    assert space.agent(machine.agent_id).damaged == 1
    space.push(machine.agent_id, machine.delta(1, 2))
    assert is_whole(space, machine)


def test_what_goes_on_top_is_taken_again_after_a_mend(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    lose_records(tmp_path)
    damaged(space, machine)
    space.push(machine.agent_id, machine.snapshot())
    machine.capture()
    assert space.push(machine.agent_id, machine.delta(HEAD)).number == CAPTURES


def test_a_refused_change_of_a_damaged_head_makes_the_endpoint_look_at_it(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    run(tmp_path, "delete from record", "delete from bucket where number >= 0")
    machine.capture()
    assert space.agent(machine.agent_id).damaged_states == 0
    with pytest.raises(RemoteRefused):
        space.push(machine.agent_id, machine.delta(HEAD))
    assert space.agent(machine.agent_id).damaged_states == 1


# Hostile clients ------------------------------------------------------------------------------------------------------


def hostile(machine: TrialMachine, folder: Path, *, user: UserKey | None = None) -> TrialMachine:
    """A client that may push, with another history of the same agent."""
    made = machine_in(folder, user)
    vault = Vault.create(folder / "hostile", machine.agent_id)
    other = TrialMachine(machine.agent_id, vault, made.device, "hostile")
    for _ in range(CAPTURES):
        other.capture()
    return other


def test_rows_of_another_history_are_not_taken(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    lose_records(tmp_path, 3)
    found = damaged(space, machine)
    other = hostile(machine, tmp_path)
    for number in found:
        with pytest.raises(StaleBase):
            space.push(machine.agent_id, other.snapshot(number))
    assert damaged(space, machine) == found


def planted(machine: TrialMachine, folder: Path, **columns: str) -> TrialMachine:
    """The machine's own vault with one row changed, and the signed digest unchanged."""
    source = Path(machine.vault._metadata._path).parent  # type: ignore[attr-defined]
    shutil.copytree(source, folder / "planted")
    with closing(sqlite3.connect(folder / "planted" / "vault.db")) as connection, connection:
        for table, statement in columns.items():
            assert connection.execute(f"update {table} {statement}").rowcount
    return TrialMachine(machine.agent_id, Vault.open(folder / "planted"), machine.device, "hostile")


@pytest.mark.parametrize(
    "columns",
    [
        {"record": "set position = position - 9 where first = 3"},
        {"record": "set first = 3 where first = 4"},
        {"object": "set salt = randomblob(16) where id = (select object from record where first = 2)"},
        {"entry": "set meta = '{\"x\":1}' where path like 'raw/%'"},
    ],
)
def test_rows_under_which_the_signed_digest_does_not_come_out_are_refused(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path, columns: dict[str, str]
) -> None:
    lose_records(tmp_path, 3)
    found = damaged(space, machine)
    other = planted(machine, tmp_path, **columns)
    with pytest.raises(RemoteRefused):
        space.push(machine.agent_id, other.snapshot(3))
    assert damaged(space, machine) == found
    space.push(machine.agent_id, machine.snapshot(3))
    space.push(machine.agent_id, machine.snapshot(4))
    assert is_whole(space, machine)


def test_bytes_that_a_signed_leaf_does_not_commit_to_are_refused(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    lose_records(tmp_path, 3)
    run(tmp_path, "delete from object where id not in (select object from entry union select object from record)")
    damaged(space, machine)
    sent = "set body = cast(replace(cast(body as text), 'fine', 'evil') as blob)"
    other = planted(machine, tmp_path, object=f"{sent} where id in (select object from record)")
    with pytest.raises(RemoteRefused):
        space.push(machine.agent_id, other.snapshot(3))
    assert damaged(space, machine) == [3, 4]


def test_a_sequence_that_is_whole_is_put_back_by_nobody(space: TenantSpace, machine: TrialMachine) -> None:
    with pytest.raises(StaleBase):
        space.push(machine.agent_id, machine.snapshot(2))


def test_a_sequence_whose_own_digest_was_changed_takes_no_rows(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    other = hostile(machine, tmp_path, user=UserKey.generate())
    digest = other.vault.sequence(3).digest.hex()
    run(tmp_path, f"update sequence set digest = x'{digest}' where n = 3")
    assert damaged(space, machine) == [3]
    with pytest.raises(RemoteRefused):
        space.push(machine.agent_id, other.snapshot(3))
    assert damaged(space, machine) == [3]


def signed_by_another(machine: TrialMachine, folder: Path) -> TrialMachine:
    """A copy of the machine's vault that another user signed again."""
    source = Path(machine.vault._metadata._path).parent  # type: ignore[attr-defined]
    shutil.copytree(source, folder / "copy")
    made = TrialMachine(
        machine.agent_id, Vault.open(folder / "copy"), DeviceKey.generate(UserKey.generate()), "hostile"
    )
    rows = made.vault.sequences()
    made.vault.resign((row.number, made.sign(row.as_sequence(machine.agent_id))) for row in rows)
    return made


def test_a_purge_that_another_user_sends_with_the_right_rows_is_refused(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    lose_records(tmp_path, 3)
    found = damaged(space, machine)
    other = signed_by_another(machine, tmp_path)
    gone = record_of(machine, 1)
    other.vault.redact(redaction_of(other, gone))
    with pytest.raises(RemoteRefused):
        space.push(machine.agent_id, other.snapshot(3))
    assert damaged(space, machine) == found
    with space.vault(machine.agent_id) as vault:
        assert not len(vault.redactions)
    for number in (3, 4):
        space.push(machine.agent_id, machine.snapshot(number))
    assert is_whole(space, machine)


def test_a_sequence_whose_own_signature_was_changed_takes_no_rows(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    lose_records(tmp_path, 4)
    run(tmp_path, "update sequence set signature = '{}' where n = 4")
    assert damaged(space, machine) == [4]
    with pytest.raises(RemoteRefused):
        space.push(machine.agent_id, machine.snapshot(4))
    assert damaged(space, machine) == [4]


# Purges ---------------------------------------------------------------------------------------------------------------


def test_what_was_purged_before_the_rows_were_lost_does_not_come_back_with_them(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    gone = record_of(machine, 1)
    space.redact(machine.agent_id, redaction_of(machine, gone).to_json(), confirmed=True)
    lose_records(tmp_path)
    assert damaged(space, machine) == [*range(CAPTURES)]
    for number in range(CAPTURES):  # the machine does not know of the purge, and sends its old rows
        if number in space.damaged_states(machine.agent_id):
            space.push(machine.agent_id, machine.snapshot(number))
    assert damaged(space, machine) == []
    for number in range(CAPTURES):
        assert gone.id not in lines_of(space, machine, number)
    with space.vault(machine.agent_id) as vault:
        assert vault.verify(trusted=None).findings == []
        assert vault.remaining(redaction_of(machine, gone)) == 0


def test_what_is_purged_while_the_rows_are_lost_does_not_come_back_with_them(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    gone = record_of(machine, 3)
    lose_records(tmp_path, 3)
    run(tmp_path, "delete from object where id not in (select object from entry union select object from record)")
    damaged(space, machine)
    space.redact(machine.agent_id, redaction_of(machine, gone).to_json(), confirmed=True)
    for number in (3, 4):
        space.push(machine.agent_id, machine.delta(2, number))
    assert damaged(space, machine) == []
    assert gone.id not in lines_of(space, machine, HEAD)
    with space.vault(machine.agent_id) as vault:
        assert vault.verify(trusted=None).findings == []


def test_a_purge_that_waits_is_applied_to_rows_that_came_back(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    gone = record_of(machine, 3)
    space.redact(machine.agent_id, redaction_of(machine, gone).to_json())
    lose_records(tmp_path, 3)
    damaged(space, machine)
    for number in (3, 4):
        space.push(machine.agent_id, machine.snapshot(number))
    assert gone.id in lines_of(space, machine, HEAD)
    space.redact(machine.agent_id, redaction_of(machine, gone).to_json(), confirmed=True)
    assert gone.id not in lines_of(space, machine, HEAD)
    assert damaged(space, machine) == []


# Kills ----------------------------------------------------------------------------------------------------------------

STEPS = [
    CrashPoint.ENDPOINT_CHECKED,
    CrashPoint.MEND_ROWS_WRITTEN,
    CrashPoint.THIN_ROWS_DROPPED,
    CrashPoint.MEND_COMMITTED,
    CrashPoint.ENDPOINT_COUNTED,
]


@pytest.mark.parametrize("step", STEPS)
def test_a_mend_that_is_killed_happened_or_not_and_comes_again(tmp_path: Path, step: CrashPoint) -> None:
    with space_in(tmp_path / "tenant") as first:
        machine = pushed(first, machine_in(tmp_path), captures=CAPTURES)
        lose_records(tmp_path, 3)
        before = damaged(first, machine)
    with machine.snapshot(3).file as file:
        data = file.read()

    def push() -> None:
        with space_in(tmp_path / "tenant") as space:
            space.push(machine.agent_id, make_bundle("snapshot", 3, None, data))

    assert killed_at(push, step)
    with space_in(tmp_path / "tenant") as space:
        assert space.damaged_states(machine.agent_id) == ([4] if step is CrashPoint.ENDPOINT_COUNTED else before)
        for number in space.damaged_states(machine.agent_id):
            space.push(machine.agent_id, machine.snapshot(number))
        assert is_whole(space, machine)


def test_a_tenant_without_room_is_told_so_and_nothing_changes(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    lose_records(tmp_path, 3)
    found = damaged(space, machine)
    with space_in(tmp_path / "tenant", limited={"tenant_bytes": 1}) as full, pytest.raises(RemoteFull):
        full.push(machine.agent_id, machine.snapshot(3))
    assert damaged(space, machine) == found
