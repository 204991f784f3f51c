"""A vault that knows a purge stores arriving states and deltas redacted, in any order."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader, write_delta
from lifeboat_alf.errors import ApplyError
from lifeboat_alf.states import merkle
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import DraftInvalid, RedactedMeanwhile
from lifeboat_vault.vault import Draft, EntryPut, Vault, draft_of_delta, draft_of_state
from support.alf.raising import raises_code
from support.vault.redacted_vaults import (
    CANARY,
    DEVICE,
    NOTE,
    TRUSTED,
    either,
    leaks,
    live,
    note,
    purge_of,
    sealer,
    small_rows,
    vault,
)
from support.vault.vaults import START, commit, content_of, create, edit

__all__ = ["sealer", "small_rows", "vault"]

# On arrival -----------------------------------------------------------------------------------------------------------


def copy_of(vault: Vault, folder: Path, number: int | None = None) -> Vault:
    """Return another vault with one state of this one."""
    other = Vault.create(folder, AGENT_ID)
    state = vault.state(number)
    other.accept(state.sequence, draft_of_state(state), kind="push", writer="w", raw_time=START)
    return other


@either
def test_named_bytes_that_arrive_are_replaced_on_arrival(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    knowing = Vault.create(tmp_path / "knowing", AGENT_ID)
    knowing.redact(redaction)
    state = vault.state(4)
    knowing.accept(state.sequence, draft_of_state(state), kind="push", writer="w", raw_time=START)
    assert knowing.remaining(redaction) == 0 and merkle.state_digest(knowing.state()) == state.sequence.digest
    assert knowing.verify(trusted=TRUSTED).findings == []
    knowing.close()
    assert leaks(tmp_path / "knowing") == []


def test_replaced_bytes_and_gone_records_are_taken_as_they_come(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    vault.redact(redaction)
    knowing = Vault.create(tmp_path / "knowing", AGENT_ID)
    knowing.redact(redaction)
    for number in (2, 4, 7):
        state = vault.state(number)
        if number == 2:
            knowing.accept(state.sequence, draft_of_state(state), kind="push", writer="w", raw_time=START)
        assert merkle.state_digest(state) == state.sequence.digest
    assert merkle.state_digest(knowing.state()) == vault.sequence(2).digest
    assert [item.id for item in knowing.state().gone()] == [item.id for item in vault.state(2).gone()]


def test_what_an_unknown_purge_changed_is_refused_by_its_name(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    vault.redact(redaction)
    with pytest.raises(DraftInvalid, match=redaction.id):
        copy_of(vault, tmp_path / "ignorant", 4)


def test_a_record_that_is_left_out_without_a_purge_is_refused(vault: Vault) -> None:
    gone = create("Likes tea.")
    leaf = merkle.new_leaf(b"something")
    with pytest.raises(DraftInvalid):
        commit(vault, Draft({}, [gone._replace(line=None, leaf=leaf._replace(salt=b""))]))


def test_a_change_that_was_read_before_a_purge_is_refused(vault: Vault) -> None:
    live(vault)
    known = len(vault.redactions)
    vault.redact(purge_of(vault, CANARY))
    entries, time = {"raw/a": EntryPut({}, b"a")}, START + timedelta(days=1)
    with pytest.raises(RedactedMeanwhile):
        commit(vault, Draft(entries, purges=known), time)
    assert commit(vault, Draft(entries, purges=len(vault.redactions)), time) is not None


# Deltas ---------------------------------------------------------------------------------------------------------------


def delta_of(vault: Vault, base: int, new: int) -> io.BytesIO:
    made = io.BytesIO()
    write_delta(vault.changes(base, new), made)
    return made


def push(vault: Vault, made: io.BytesIO) -> None:
    """Accept a delta on top of the head, as a remote does."""
    with DeltaReader(io.BytesIO(made.getvalue())) as delta:
        state = AppliedState(vault.state(), delta)
        assert merkle.state_digest(state) == state.sequence.digest
        vault.accept(state.sequence, draft_of_delta(state), kind="push", writer="w", raw_time=START)


def note_down(vault: Vault) -> None:
    """Commit files and records that come, change and contain the canary for a while; no file that held it changes."""
    telling, later = create(CANARY.decode()), create("Likes tea.")
    drafts = [
        Draft({NOTE: EntryPut({}, note(2, holding=range(0)))}),
        Draft({"raw/openclaw/a": EntryPut({}, CANARY + b" and more")}, [telling, create("Has a boat.")]),
        Draft(
            {NOTE: EntryPut({}, note(3, holding=range(0)))}, [edit(telling, content=f"Now {CANARY.decode()}"), later]
        ),
        Draft({"raw/openclaw/a": None, "raw/openclaw/b": EntryPut({}, CANARY)}),
        Draft({}, [edit(telling, content="Nothing any more"), edit(later, "delete", content=CANARY.decode())]),
    ]
    for hour, draft in enumerate(drafts):
        commit(
            vault,
            draft,
            START + timedelta(hours=hour),
            sign=lambda made: sequence_signatures.sign_sequence(made, DEVICE),
        )


def is_copy(copy: Vault, vault: Vault) -> None:
    for row in copy.sequences():
        assert row.digest == vault.sequence(row.number).digest == merkle.state_digest(copy.state(row.number))
        assert content_of(copy.state(row.number)) == content_of(vault.state(row.number))
        assert list(copy.state(row.number).gone()) == list(vault.state(row.number).gone())
    assert copy.verify(trusted=TRUSTED).findings == []


@pytest.mark.parametrize("known", range(5))
def test_deltas_of_before_a_purge_bring_nothing_back(vault: Vault, tmp_path: Path, known: int) -> None:
    """Whichever sequence the copy had when it heard of the purge."""
    note_down(vault)
    copy, redaction = copy_of(vault, tmp_path / "copy", 0), purge_of(vault, CANARY)
    deltas = [delta_of(vault, number, number + 1) for number in range(4)]
    for number, made in enumerate(deltas):
        if number == known:
            copy.redact(redaction)
        push(copy, made)
    copy.redact(redaction)
    vault.redact(redaction)
    assert copy.remaining(redaction) == 0
    is_copy(copy, vault)
    copy.close()
    assert leaks(tmp_path / "copy") == []


@pytest.mark.parametrize("ends", [(1, 2, 3, 4), (2, 4), (3, 4), (4,)])
def test_deltas_of_after_a_purge_lead_to_the_same_states(vault: Vault, tmp_path: Path, ends: tuple[int, ...]) -> None:
    note_down(vault)
    copy, redaction = copy_of(vault, tmp_path / "copy", 0), purge_of(vault, CANARY)
    for each in (vault, copy):
        each.redact(redaction)
    base = 0
    for new in ends:
        push(copy, delta_of(vault, base, new))
        base = new
    assert [row.number for row in copy.sequences()] == [0, *ends]
    is_copy(copy, vault)


def test_a_patch_on_bytes_that_were_purged_meanwhile_is_made_anew(vault: Vault, tmp_path: Path) -> None:
    for day, holding in ((10, range(99)), (11, range(0))):
        commit(vault, Draft({NOTE: EntryPut({}, note(day, holding=holding))}), START + timedelta(days=day))
    copy, old, redaction = copy_of(vault, tmp_path / "copy", 0), delta_of(vault, 0, 1), purge_of(vault, CANARY)
    for each in (vault, copy):
        each.redact(redaction)
    with raises_code(ApplyError.BASE_MISMATCH):
        push(copy, old)
    push(copy, delta_of(vault, 0, 1))
    assert copy.state().body(NOTE) == note(11, holding=range(0))
