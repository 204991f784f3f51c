"""Redactions at a tenant: they wait unless their owner confirms them, and what they name is destroyed then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_endpoint.service.purge.purge_policy import PurgePolicy
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures, sequence_signatures, vault_receipts
from lifeboat_keys.signed.vault_receipts import ReceiptVerdict
from lifeboat_vault.errors import AgentErased, RemoteDenied, RemoteRefused, UnknownAtRemote
from lifeboat_vault.remote.checks.remote_trial import NAME, TrialMachine
from lifeboat_vault.remote.remote_contract import RemoteRedaction
from support.endpoint.endpoint_purges import erasing, machine_in, pushed, record_of, redaction_of
from support.endpoint.spaces import PURGING, SIGNING_KEY, TestKeys, clock, folder_of, space_in
from support.vault.vaults import ManualClock

__all__ = ["clock"]

DAY = timedelta(hours=24)


@pytest.fixture
def notes() -> list[tuple[str, str, JsonObject]]:
    """Rows of the endpoint's audit."""
    return []


@pytest.fixture
def space(tmp_path: Path, clock: ManualClock, notes: list[Any]) -> Iterator[TenantSpace]:
    def note(kind: str, subject: str, details: JsonObject) -> None:
        notes.append((kind, subject, details))

    purging = PurgePolicy(PURGING.vault_id, PURGING.key, DAY, note)
    with space_in(tmp_path / "tenant", clock=clock, purging=purging) as made:
        yield made


@pytest.fixture
def machine(tmp_path: Path, space: TenantSpace) -> TrialMachine:
    return pushed(space, machine_in(tmp_path), captures=3)


@pytest.fixture
def redaction(machine: TrialMachine) -> Redaction:
    return redaction_of(machine, record_of(machine, 1))


def has_it(space: TenantSpace, machine: TrialMachine, number: int | None = None) -> bool:
    """Return whether the record exists that the redaction names."""
    with space.snapshot(machine.agent_id, number).file as file, SnapshotReader(file) as reader:
        return reader.record(record_of(machine, 1).id) is not None


def redact(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction, *, confirmed: bool = False
) -> RemoteRedaction:
    return space.redact(machine.agent_id, redaction.to_json(), confirmed=confirmed)


def apply_due(space: TenantSpace) -> None:
    for agent_id, redaction_id in space.due_redactions():
        space.apply_redaction(agent_id, redaction_id)


def test_a_purge_waits_for_a_day(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction, clock: ManualClock
) -> None:
    state = redact(space, machine, redaction)
    assert (state.receipt, state.applies_at) == (None, "2026-11-21T12:00:00.000Z")
    clock.advance(hours=23, minutes=59)
    apply_due(space)
    assert has_it(space, machine)


def test_a_purge_that_waited_for_a_day_is_applied_by_the_upkeep(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction, clock: ManualClock
) -> None:
    redact(space, machine, redaction)
    clock.advance(hours=24)
    apply_due(space)
    assert not has_it(space, machine)
    assert space.due_redactions() == []


def test_a_purge_that_waited_for_a_day_is_applied_when_a_machine_asks(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction, clock: ManualClock
) -> None:
    redact(space, machine, redaction)
    clock.advance(hours=24)
    space.redactions(machine.agent_id)
    assert not has_it(space, machine)


def test_no_purge_is_applied_by_a_clock_that_nobody_trusts(
    tmp_path: Path, machine: TrialMachine, redaction: Redaction, clock: ManualClock
) -> None:
    doubtful = PurgePolicy("test", PURGING.key, DAY, is_clock_trusted=lambda: False)
    with space_in(tmp_path / "tenant", clock=clock, purging=doubtful) as space:
        redact(space, machine, redaction)
        clock.advance(hours=24)
        assert space.due_redactions() == []


def test_a_confirmed_purge_is_applied_at_once(space: TenantSpace, machine: TrialMachine, redaction: Redaction) -> None:
    state = redact(space, machine, redaction, confirmed=True)
    assert state.applies_at is None
    assert not has_it(space, machine, 1)


def test_a_purge_that_waits_is_confirmed_by_sending_it_again(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction
) -> None:
    redact(space, machine, redaction)
    assert redact(space, machine, redaction, confirmed=True).receipt is not None
    assert space.pending_redactions() == []


def test_who_owns_the_endpoint_sees_confirms_and_refuses_what_waits(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction
) -> None:
    redact(space, machine, redaction)
    [found] = space.pending_redactions()
    assert (found.agent_id, found.agent_name, found.redaction.id) == (machine.agent_id, NAME, redaction.id)
    assert space.confirm_redaction(machine.agent_id, redaction.id).receipt is not None
    assert not space.refuse_redaction(machine.agent_id, redaction.id)


def test_a_refused_purge_never_is_applied_and_not_told_to_others(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction, clock: ManualClock
) -> None:
    redact(space, machine, redaction)
    assert space.refuse_redaction(machine.agent_id, redaction.id)
    with pytest.raises(RemoteRefused, match="refused"):
        redact(space, machine, redaction)
    clock.advance(hours=24)
    apply_due(space)
    assert has_it(space, machine)
    assert space.redactions(machine.agent_id) == []


def test_the_receipt_is_signed_by_the_endpoint_and_says_what_went(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction
) -> None:
    state = redact(space, machine, redaction, confirmed=True)
    receipt = vault_receipts.decode_vault_receipt(state.receipt)
    assert (
        vault_receipts.verify_vault_receipt(receipt, trusted=None, endpoints={"test": SIGNING_KEY.public})
        is ReceiptVerdict.PINNED
    )
    assert (receipt.leaves, receipt.objects, receipt.remaining, receipt.applied) == (1, 1, 0, 1)
    assert receipt.head is not None and receipt.head.number == 2
    with space.vault(machine.agent_id) as vault:
        assert receipt.audit is not None
        [row] = [row for row in vault.audit_rows() if row.number == receipt.audit.number]
        assert (row.kind, row.subject, row.hash.hex()) == ("purge", redaction.id, receipt.audit.hash)


def test_the_same_receipt_is_given_again(space: TenantSpace, machine: TrialMachine, redaction: Redaction) -> None:
    first = redact(space, machine, redaction, confirmed=True)
    assert redact(space, machine, redaction) == first


def test_the_audit_of_the_endpoint_has_the_record_of_the_specification(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction, notes: list[Any]
) -> None:
    redact(space, machine, redaction)
    space.confirm_redaction(machine.agent_id, redaction.id)
    assert [kind for kind, _, _ in notes] == ["purge.waits", "purge"]
    assert set(notes[-1][2]) == {
        "purge_id", "agent_id", "scope", "record_ids", "partitions_affected", "reason", "requested_at", "completed_at",
        "requested_by",
    }  # fmt: skip


def test_uploads_under_way_are_dropped(space: TenantSpace, machine: TrialMachine, redaction: Redaction) -> None:
    machine.capture()
    data = machine.delta(2).file.read()
    upload = space.uploads.begin(machine.agent_id, "delta", 2)
    space.uploads.put_body(upload.id, [data])
    redact(space, machine, redaction, confirmed=True)
    with pytest.raises(UnknownAtRemote):
        space.uploads.get(upload.id)
    assert not list((folder_of(space) / "files").rglob("*.*"))


def test_an_agent_that_nobody_signed_is_purged_by_its_owner_only(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    plain = machine_in(tmp_path)
    plain.sign = lambda sequence: None  # type: ignore[assignment,method-assign]
    plain.capture()
    plain.capture()
    space.register(plain.agent_id, NAME, "openclaw")
    space.push(plain.agent_id, plain.snapshot())
    with space.vault(plain.agent_id) as vault:
        [named] = [item for item in vault.history() if item.record_id == record_of(plain, 1).id]
    redaction = redaction_of(plain, record_of(plain, 1), leaves={named.leaf.digest: None})
    with pytest.raises(RemoteRefused, match="history is not signed"):
        redact(space, plain, redaction)
    assert redact(space, plain, redaction, confirmed=True).receipt is not None


def test_a_purge_of_another_user_is_refused_whoever_confirms_it(space: TenantSpace, machine: TrialMachine) -> None:
    stranger = DeviceKey.generate(UserKey.generate())
    redaction = redaction_of(machine, record_of(machine, 1), device=stranger)
    with pytest.raises(RemoteRefused, match="not signed by the user"):
        redact(space, machine, redaction, confirmed=True)


# Whole agents -------------------------------------------------------------------------------------------------------


def test_a_whole_agent_waits_too(space: TenantSpace, machine: TrialMachine, clock: ManualClock) -> None:
    redaction = erasing(machine)
    assert redact(space, machine, redaction).receipt is None
    assert space.agent(machine.agent_id).head is not None
    clock.advance(hours=24)
    assert space.redactions(machine.agent_id) == [redaction.to_json()]
    with pytest.raises(AgentErased):
        space.agent(machine.agent_id)


def test_nothing_of_an_erased_agent_is_left_but_the_redaction_and_the_receipt(
    space: TenantSpace, machine: TrialMachine
) -> None:
    space.put_keys(machine.agent_id, {"pairs": ["wrapped"]})
    upload = space.uploads.begin(machine.agent_id, "delta", 2)
    space.uploads.put_body(upload.id, [b"what was under way"])
    state = redact(space, machine, erasing(machine), confirmed=True)
    assert state.receipt is not None and state.receipt["objects"] > 3
    assert not (folder_of(space) / "agents" / machine.agent_id).exists()
    assert [path for path in (folder_of(space) / "files").rglob("*") if path.is_file()] == []
    assert (space.agent_ids(), space.size()) == ([], 0)


def test_a_sealed_agent_is_erased_with_the_word_of_its_owner(space: TenantSpace, tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    space.register(machine.agent_id, NAME, "openclaw", sealed=True)
    space.sealed_files.put(machine.agent_id, "part-1", b"sealed")
    space.sealed_files.set_head(machine.agent_id, b"sealed head", None)
    with pytest.raises(RemoteDenied) as denied:
        redact(space, machine, erasing(machine))
    assert denied.value.scope == "purge"
    redact(space, machine, erasing(machine), confirmed=True)
    with pytest.raises(AgentErased):
        space.sealed_files.names(machine.agent_id)
    assert [path for path in (folder_of(space) / "files").rglob("*") if path.is_file()] == []


def test_an_erased_agent_stays_erased_for_other_processes_and_new_keys(
    space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    redaction = erasing(machine)
    redact(space, machine, redaction, confirmed=True)
    keys = TestKeys()
    keys.rotate()
    with space_in(tmp_path / "tenant", keys) as other:
        other.reseal()
        with pytest.raises(AgentErased):
            other.register(machine.agent_id, NAME, "openclaw")
        assert other.redactions(machine.agent_id) == [redaction.to_json()]


def test_of_an_erased_agent_others_learn_nothing(space: TenantSpace, machine: TrialMachine, tmp_path: Path) -> None:
    redact(space, machine, erasing(machine), confirmed=True)
    with space_in(tmp_path / "other tenant") as other, pytest.raises(UnknownAtRemote):
        other.redactions(machine.agent_id)


# Races and ends half-way --------------------------------------------------------------------------------------------


class _Ended(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", [CrashPoint.ENDPOINT_REDACTED, CrashPoint.PURGE_REDACTED, CrashPoint.PURGE_SWEPT])
def test_a_purge_that_ended_half_way_is_finished_by_the_upkeep(
    step: CrashPoint,
    tmp_path: Path,
    space: TenantSpace,
    machine: TrialMachine,
    redaction: Redaction,
    clock: ManualClock,
) -> None:
    redact(space, machine, redaction)
    end_at(step, lambda: redact(space, machine, redaction, confirmed=True))
    with space_in(tmp_path / "tenant", clock=clock) as again:
        apply_due(again)
        state = redact(again, machine, redaction)
        assert state.receipt is not None
        assert (state.receipt["leaves"], state.receipt["objects"], state.receipt["remaining"]) == (1, 1, 0)
        assert not has_it(again, machine)


@pytest.mark.parametrize("times", [1, 2])
def test_an_erasure_that_ended_half_way_is_finished_by_the_upkeep(
    times: int, tmp_path: Path, space: TenantSpace, machine: TrialMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once before the rows were deleted, and once right afterwards."""
    redaction = erasing(machine)
    if times == 1:
        end_at(CrashPoint.ENDPOINT_ERASED, lambda: redact(space, machine, redaction, confirmed=True))
        redact(space, machine, redaction, confirmed=True)
    else:
        monkeypatch.setattr(space._whole_agents, "_destroy", lambda agent_id: end())
        with pytest.raises(_Ended):
            redact(space, machine, redaction, confirmed=True)
        with pytest.raises(AgentErased):
            space.agent(machine.agent_id)
    with space_in(tmp_path / "tenant") as again:
        for agent_id in again.unfinished_agent_purges():
            again.finish_agent_purge(agent_id)
        assert redact(again, machine, redaction).receipt is not None
        assert not (folder_of(again) / "agents" / machine.agent_id).exists()


def end() -> None:
    raise _Ended


def end_at(step: CrashPoint, work: Callable[[], object]) -> None:
    crash_points.hook = lambda reached: end() if reached is step else None
    try:
        with pytest.raises(_Ended):
            work()
    finally:
        crash_points.hook = None


@pytest.mark.parametrize(
    "step", [CrashPoint.ENDPOINT_RECEIVED, CrashPoint.ENDPOINT_CHECKED, CrashPoint.ENDPOINT_ACCEPTED]
)
def test_an_erasure_wins_over_a_running_push(
    step: CrashPoint, tmp_path: Path, space: TenantSpace, machine: TrialMachine
) -> None:
    machine.capture()
    with space_in(tmp_path / "tenant") as other:
        meanwhile(step, lambda: redact(other, machine, erasing(machine), confirmed=True))
        with pytest.raises(AgentErased):
            space.push(machine.agent_id, machine.delta(2))
    assert not (folder_of(space) / "agents" / machine.agent_id).exists()


def test_a_purge_wins_over_a_running_push(tmp_path: Path, space: TenantSpace, machine: TrialMachine) -> None:
    """A purge that names what the push brings is applied while the push is being checked."""
    machine.capture()
    record = record_of(machine, 3)
    redaction = redaction_of(machine, record)
    with space_in(tmp_path / "tenant") as other:
        meanwhile(CrashPoint.ENDPOINT_CHECKED, lambda: redact(other, machine, redaction, confirmed=True))
        with_it = machine.delta(2)
        try:
            space.push(machine.agent_id, with_it)
        except LifeboatError as error:
            assert error.retryable, error
            space.push(machine.agent_id, machine.delta(2))
    with space.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
        assert reader.sequence.number == 3
        assert reader.record(record.id) is None


def meanwhile(step: CrashPoint, work: Callable[[], object]) -> None:
    """Run something once when a crash point is reached."""

    def hook(reached: CrashPoint) -> None:
        if reached is step:
            crash_points.hook = None
            work()

    crash_points.hook = hook


@pytest.fixture(autouse=True)
def _no_hook_is_left() -> Iterator[None]:
    yield
    crash_points.hook = None


def test_of_an_export_that_a_purge_overtook_nothing_is_given(
    tmp_path: Path, space: TenantSpace, machine: TrialMachine, redaction: Redaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifeboat_endpoint.service import state_bundles

    made = state_bundles.make_snapshot

    def overtaken(*given: Any) -> Any:
        bundle = made(*given)
        with space_in(tmp_path / "tenant") as other:
            redact(other, machine, redaction, confirmed=True)
        return bundle

    monkeypatch.setattr(state_bundles, "make_snapshot", overtaken)
    assert not has_it(space, machine)


def test_of_an_export_that_an_erasure_overtook_nothing_is_given(
    tmp_path: Path, space: TenantSpace, machine: TrialMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifeboat_endpoint.service import state_bundles

    made = state_bundles.make_snapshot

    def overtaken(*given: Any) -> Any:
        bundle = made(*given)
        with space_in(tmp_path / "tenant") as other:
            redact(other, machine, erasing(machine), confirmed=True)
        return bundle

    monkeypatch.setattr(state_bundles, "make_snapshot", overtaken)
    with pytest.raises(AgentErased):
        space.snapshot(machine.agent_id)


# Another signature ------------------------------------------------------------------------------------------------


def held(space: TenantSpace, machine: TrialMachine) -> list[JsonObject]:
    return space.redactions(machine.agent_id)


def test_after_a_key_was_replaced_states_come_first_and_then_purges(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction
) -> None:
    redact(space, machine, redaction, confirmed=True)
    newer = DeviceKey.generate(UserKey.generate())
    again = redaction_signatures.sign_redaction(redaction, newer)
    assert redact(space, machine, again).receipt is not None
    assert held(space, machine) == [redaction.to_json()]
    states = (machine.vault.state(row.number).sequence for row in machine.vault.sequences())
    space.put_signatures(
        machine.agent_id, [(each.number, sequence_signatures.sign_sequence(each, newer)) for each in states]
    )
    redact(space, machine, again)
    assert held(space, machine) == [again.to_json()]
    redact(space, machine, redaction)
    assert held(space, machine) == [again.to_json()]


def test_whoever_owns_the_endpoint_may_bring_any_signature_that_holds(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction
) -> None:
    redact(space, machine, redaction, confirmed=True)
    again = redaction_signatures.sign_redaction(redaction, DeviceKey.generate(UserKey.generate()))
    redact(space, machine, again, confirmed=True)
    assert held(space, machine) == [again.to_json()]


def test_a_purge_that_waits_takes_the_new_signature_and_goes_on_waiting(
    space: TenantSpace, machine: TrialMachine, redaction: Redaction, clock: ManualClock
) -> None:
    until = redact(space, machine, redaction).applies_at
    again = redaction_signatures.sign_redaction(
        redaction, DeviceKey.certified(machine.device.secret, UserKey.generate())
    )
    assert redact(space, machine, again).applies_at == until
    assert held(space, machine) == [again.to_json()] and has_it(space, machine)


def test_a_device_under_a_new_key_of_its_user_may_purge_what_it_wrote(
    space: TenantSpace, machine: TrialMachine
) -> None:
    machine.device = DeviceKey.certified(machine.device.secret, UserKey.generate())
    assert redact(space, machine, redaction_of(machine, record_of(machine, 1))).applies_at is not None


def test_an_erased_agent_takes_another_signature_of_its_device_or_of_the_owner_only(
    space: TenantSpace, machine: TrialMachine
) -> None:
    redaction = erasing(machine)
    redact(space, machine, redaction, confirmed=True)
    again = redaction_signatures.sign_redaction(
        redaction, DeviceKey.certified(machine.device.secret, UserKey.generate())
    )
    other = redaction_signatures.sign_redaction(redaction, DeviceKey.generate(UserKey.generate()))
    found = []
    for signed, confirmed in ((other, False), (again, False), (other, True)):
        assert redact(space, machine, signed, confirmed=confirmed).receipt is not None
        found.append(held(space, machine))
    assert found == [[redaction.to_json()], [again.to_json()], [other.to_json()]]
