"""An endpoint loses rows of its database: it or the machine finds that, and the next contact puts them back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from lifeboat_alf.common.doctor_checks import DoctorLevel
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.doctor import check_remotes as doctor_remotes
from lifeboat_core.health.agent_status import ERROR
from lifeboat_core.history import thin_history
from lifeboat_endpoint.doctor import bodies
from lifeboat_endpoint.maintenance.endpoint_verification import EndpointVerification, verify_endpoint
from lifeboat_vault.errors import RemoteDamaged, RemoteError, RemoteTooLarge, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import RemoteBundle, RemoteHead
from lifeboat_vault.vault import Retention
from support.core import purged
from support.endpoint.in_process_remote import InProcessRemote
from support.killing import killed_at
from support.oracle import disk_model
from support.oracle.copies import HOME, Copies, make_copies
from support.prepared_folders import PreparedFolders

LOST_RECORDS = ("delete from record where first >= 2",)
LOST_OLD_RECORDS = ("delete from record where first < 2",)
CHANGED_RECORDS = ("update record set position = position + 40 where first >= 2",)
LOST_LINES = ("update object set body = null where id in (select object from record)",)
CHANGED_LINES = ("update object set body = zeroblob(60) where id in (select object from record where first >= 1)",)
LOST_OBJECTS = ("delete from object where id in (select object from record)",)
LOST_ENTRIES = ("delete from entry where first in (0, 2)",)
LOST_EVERYTHING = ("delete from record", "delete from entry", "delete from object", "delete from bucket")
CHANGED_FILES = ("update object set salt = null, body = zeroblob(5) where sha256 is not null",)
HARMS = (
    CHANGED_FILES,
    LOST_RECORDS,
    LOST_OLD_RECORDS,
    CHANGED_RECORDS,
    LOST_LINES,
    CHANGED_LINES,
    LOST_OBJECTS,
    LOST_ENTRIES,
    LOST_EVERYTHING,
)


@pytest.fixture
def copies(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Copies:
    """The endpoint has sequences 1 to 4; memories come, change and go."""
    made = prepared_folders.restore("an agent with every remote", make_copies)
    made.install(monkeypatch)
    for number in range(1, 5):
        made.laptop.write(
            "MEMORY.md", "# Facts\n\n" + "".join(f"- Fact {each} of {number}.\n" for each in range(number))
        )
        made.laptop.write(f"memory/2026-11-1{number}.md", f"# Day {number}\n\nThe lamp was lit {number} times.\n")
        made.laptop.clock.advance(hours=2)
        made.laptop.capture_and_push(HOME)
    return made


def harm(copies: Copies, statements: tuple[str, ...]) -> None:
    """What somebody with a database tool would do."""
    (database,) = copies.places.data.rglob("vault.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount


def proof_of(copies: Copies) -> EndpointVerification:
    """What `lifeboat endpoint verify` finds."""
    with copies.places.endpoint() as endpoint:
        return verify_endpoint(endpoint, endpoint.control.tenants())


def errors_of_endpoint_doctor(copies: Copies) -> list[str]:
    with copies.places.endpoint() as endpoint:
        return [found.result for found in bodies.check(endpoint) if found.level is DoctorLevel.ERROR]


def errors_of_doctor(copies: Copies) -> list[str]:
    found = doctor_remotes.check(copies.laptop.context)
    return [f"{each.result} {each.fix}" for each in found if each.level is DoctorLevel.ERROR]


def every_sequence_comes_back(copies: Copies) -> bool:
    """Whether a machine with nothing but the remote and the key restores every sequence byte for byte."""
    kept = copies.kept_at(HOME)
    for number in kept:
        here, _ = copies.restored_here(number)
        there, _ = copies.restored_from(HOME, number)
        wanted, found = disk_model.read_disk(here), disk_model.read_disk(there)
        assert disk_model.differences(wanted, found, there) == [], number
    copies.history_of(HOME)
    return len(kept) >= 4


def is_mended(copies: Copies) -> bool:
    assert proof_of(copies).findings == []
    assert (errors_of_endpoint_doctor(copies), errors_of_doctor(copies)) == ([], [])
    assert copies.is_verified(HOME)
    return every_sequence_comes_back(copies)


@pytest.mark.parametrize("statements", HARMS)
def test_rows_that_an_endpoint_lost_come_back_after_its_own_verification(
    copies: Copies, statements: tuple[str, ...]
) -> None:
    harm(copies, statements)
    assert not proof_of(copies).ok
    assert errors_of_endpoint_doctor(copies)
    outcome = copies.laptop.push(HOME)
    assert outcome.state == "ok", outcome
    assert is_mended(copies)


@pytest.mark.parametrize("statements", [LOST_RECORDS, LOST_EVERYTHING])
def test_rows_that_a_machine_finds_lost_come_back_at_the_next_contact(
    copies: Copies, statements: tuple[str, ...]
) -> None:
    harm(copies, statements)
    assert not copies.is_verified(HOME)
    assert copies.laptop.acknowledged(HOME).damaged
    assert any("lifeboat sync" in each for each in errors_of_doctor(copies))
    assert copies.laptop.push(HOME).state == "ok"
    assert is_mended(copies)


@pytest.mark.parametrize("statements", [LOST_RECORDS, LOST_EVERYTHING])
@pytest.mark.parametrize("look", [proof_of, lambda copies: None])
def test_something_new_comes_after_the_rows_that_it_rests_on(
    copies: Copies, statements: tuple[str, ...], look: Callable[[Copies], object]
) -> None:
    harm(copies, statements)
    look(copies)
    copies.laptop.write("MEMORY.md", "# Facts\n\n- Fact 0 of 5.\n- Another one.\n")
    copies.laptop.clock.advance(hours=2)
    copies.laptop.capture()
    outcome = copies.laptop.push(HOME)
    assert (outcome.state, outcome.sequence) == ("ok", copies.kept_here()[-1])
    proof_of(copies)
    copies.laptop.push(HOME)
    assert is_mended(copies)


def test_what_no_machine_keeps_any_more_is_named_at_each_contact(copies: Copies) -> None:
    harm(copies, ("update record set position = position + 40 + first",))
    machine = copies.laptop
    machine.clock.advance(days=400)
    for _ in range(6):
        thin_history.thin_agent(machine.context, machine.known_agent, Retention(0, 0, 0), whatever_remotes_need=True)
    gone = {*copies.kept_at(HOME)} - {*copies.kept_here()}
    assert gone
    assert not proof_of(copies).ok
    for _ in range(2):
        outcome = machine.push(HOME)
        assert (outcome.state, outcome.code) == (ERROR, "remote_damaged")
        assert "this machine no longer has" in str(outcome.message)
    with copies.places.endpoint() as endpoint:
        (tenant,) = endpoint.control.tenants()
        damaged = endpoint.space(tenant.id).damaged_states(machine.agent.id)
    assert {*damaged} <= gone
    assert errors_of_endpoint_doctor(copies)


@pytest.mark.parametrize("refusal", [RemoteTooLarge, RemoteDamaged, UnknownAtRemote])
def test_a_lost_sequence_that_is_not_taken_back_does_not_hold_up_what_is_new(
    copies: Copies, monkeypatch: pytest.MonkeyPatch, refusal: type[RemoteError]
) -> None:
    harm(copies, ("delete from record where last is not null",))
    assert not proof_of(copies).ok
    newest, push = copies.kept_at(HOME)[-1], InProcessRemote.push

    def refuse(remote: InProcessRemote, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        if bundle.number <= newest:
            raise refusal("not this one")
        return push(remote, agent_id, bundle, machine=machine)

    monkeypatch.setattr(InProcessRemote, "push", refuse)
    copies.laptop.write("MEMORY.md", "# Facts\n\n- Fact 0 of 5.\n")
    copies.laptop.clock.advance(hours=2)
    outcome = copies.laptop.capture_and_push(HOME)
    assert (outcome.state, outcome.code) == (ERROR, "remote_damaged")
    assert copies.kept_at(HOME)[-1] == copies.kept_here()[-1] > newest


def test_a_lost_file_that_is_not_taken_back_does_not_hold_up_what_is_new(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(b"# Day 1\n\nThe lamp was lit 1 times.\n")
    harm(copies, (f"update object set body = zeroblob(5), coding = 'plain', base = null where size = {size}",))
    assert not proof_of(copies).ok
    newest, push = copies.kept_at(HOME)[-1], InProcessRemote.push

    def refuse(remote: InProcessRemote, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        if bundle.number <= newest:
            raise RemoteTooLarge("not this one")
        return push(remote, agent_id, bundle, machine=machine)

    def refuse_file(*_: object) -> None:
        raise RemoteTooLarge("not this one")

    monkeypatch.setattr(InProcessRemote, "push", refuse)
    monkeypatch.setattr(InProcessRemote, "put_object", refuse_file)
    copies.laptop.write("MEMORY.md", "# Facts\n\n- Fact 0 of 5.\n")
    copies.laptop.clock.advance(hours=2)
    outcome = copies.laptop.capture_and_push(HOME)
    assert (outcome.state, outcome.code) == (ERROR, "remote_damaged")
    assert copies.kept_at(HOME)[-1] == copies.kept_here()[-1] > newest


@pytest.mark.parametrize("step", [CrashPoint.MEND_ROWS_WRITTEN, CrashPoint.MEND_COMMITTED, CrashPoint.ENDPOINT_COUNTED])
def test_a_contact_that_is_killed_while_rows_come_back_is_made_again(copies: Copies, step: CrashPoint) -> None:
    harm(copies, LOST_EVERYTHING)
    assert not proof_of(copies).ok
    assert killed_at(lambda: copies.laptop.push(HOME), step)
    assert copies.laptop.push(HOME).state == "ok"
    assert is_mended(copies)


def test_what_was_purged_stays_purged_when_the_rows_come_back(copies: Copies) -> None:
    phrase = "The lamp was lit 2 times."
    purged.purge(copies.laptop, purged.request(text=phrase, passage=True, workspace=True))
    with copies.places.endpoint() as endpoint:
        (tenant,) = endpoint.control.tenants()
        space = endpoint.space(tenant.id)
        for document in space.redactions(copies.laptop.agent.id):
            space.redact(copies.laptop.agent.id, document, confirmed=True)
    assert copies.laptop.push(HOME).state == "ok"
    harm(copies, LOST_EVERYTHING)
    assert not proof_of(copies).ok
    assert copies.laptop.push(HOME).state == "ok"
    assert proof_of(copies).findings == []
    for number in copies.kept_at(HOME):
        folder, _ = copies.restored_from(HOME, number)
        assert not any(phrase.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())
