"""Rows of a vault are lost or changed, and sequences are repaired from another copy of it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.errors import DraftInvalid, UnknownSequence
from lifeboat_vault.rows.row_spans import KeptSequences, RowSpan, replace_at_sequence
from lifeboat_vault.vault import Draft, EntryPut, Vault
from support.endpoint.row_damage import (
    HARMS,
    Harm,
    delete_every_record,
    delete_every_row,
    delete_oldest_records,
    delete_records,
)
from support.endpoint.spaces import TestKeys
from support.vault.vaults import ManualClock, commit, content_of, create, edit, new_vault

Content = dict[int, Any]

SEALERS = {"plain": PLAIN, "sealed": TestKeys().sealer("agent")}


class VaultPair:
    """A vault and an unchanged copy."""

    def __init__(self, folder: Path, sealer: Sealer) -> None:
        self.folder = folder
        self.sealer = sealer
        self._fill()
        shutil.copytree(folder / "vault", folder / "copy")
        self.content = self.content_of("copy")

    def _fill(self) -> None:
        chance = random.Random(5)
        records = [create(f"fact {number}") for number in range(8)]
        with new_vault(self.folder, sealer=self.sealer) as vault:
            commit(vault, Draft({"MEMORY.md": EntryPut({}, b"0"), "logo.png": EntryPut({}, b"\x89")}, list(records)))
            for number in range(1, 12):
                changed = [edit(each, mood=number) for each in chance.sample(records, 2)]
                body = b"line\n" * 40 + chance.randbytes(number)
                entries: dict[str, EntryPut | None] = {"MEMORY.md": EntryPut({"mtime": number}, body)}
                if number in (4, 9):
                    entries["logo.png"] = None if number == 4 else EntryPut({}, b"\x89")
                commit(vault, Draft(entries, [*changed, create(f"new {number}")]))

    def opened(self, name: str = "vault") -> Vault:
        return Vault.open(self.folder / name, clock=ManualClock(), sealer=self.sealer)

    def content_of(self, name: str = "vault") -> Content:
        with self.opened(name) as vault:
            return {row.number: content_of(vault.state(row.number)) for row in vault.sequences()}

    def harm(self, how: Harm, chance: random.Random) -> None:
        with closing(sqlite3.connect(self.folder / "vault" / "vault.db")) as connection, connection:
            how(connection, chance)

    def mend(self) -> list[int]:
        """Repair damaged sequences, the oldest first; return the numbers that were sent."""
        sent = []
        with self.opened() as vault, self.opened("copy") as copy:
            vault.note_damage(vault.verify(trusted=None))
            vault.check_rows()
            while damaged := vault.damaged_states():
                vault.put_back(damaged[0], lambda: copy.state(damaged[0]))
                sent.append(damaged[0])
            vault.check_rows()
        return sent

    def is_as_before(self) -> bool:
        with self.opened() as vault:
            found = vault.verify(trusted=None)
            assert found.findings == []
            assert (vault.damage(), vault.damaged_states()) == ([], [])
        return self.content_of() == self.content


@pytest.fixture(params=[*SEALERS])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> VaultPair:
    return VaultPair(tmp_path, SEALERS[request.param])


@pytest.mark.parametrize("harm", HARMS)
def test_what_rows_lost_comes_back_from_another_copy(pair: VaultPair, harm: Harm) -> None:
    pair.harm(harm, random.Random(1))
    pair.mend()
    assert pair.is_as_before()


@pytest.mark.parametrize("seed", range(12))
def test_several_kinds_of_damage_at_once_are_mended(pair: VaultPair, seed: int) -> None:
    chance = random.Random(seed)
    for harm in chance.sample(HARMS, 4):
        pair.harm(harm, chance)
    pair.mend()
    assert pair.is_as_before()


def test_rows_of_a_sequence_that_the_other_copy_thinned_come_back_with_those_beside_it(pair: VaultPair) -> None:
    pair.harm(delete_oldest_records, random.Random(1))
    with pair.opened() as vault, pair.opened("copy") as copy:
        vault.check_rows()
        assert len(vault.damaged_states()) > 3
        newest = vault.damaged_states()[-1]
        done = vault.put_back(newest, lambda: copy.state(newest))
        assert len(done.numbers) > 1
        assert not set(done.numbers) & set(vault.damaged_states())


def test_rows_that_do_not_give_the_digest_are_refused_and_nothing_changes(pair: VaultPair) -> None:
    pair.harm(delete_records, random.Random(1))
    with pair.opened() as vault, pair.opened("copy") as copy:
        commit(copy, Draft({}, [create("planted")]))
        vault.check_rows()
        damaged, audit = vault.damaged_states(), vault.audit_end()
        for number in damaged:
            with pytest.raises(DraftInvalid):
                vault.put_back(number, copy.state)
        assert (vault.damaged_states(), vault.audit_end()) == (damaged, audit)
    pair.mend()
    assert pair.is_as_before()


def test_a_sequence_that_is_not_damaged_is_not_put_back(pair: VaultPair) -> None:
    with pair.opened() as vault, pair.opened("copy") as copy:
        with pytest.raises(DraftInvalid):
            vault.put_back(3, lambda: copy.state(3))
        with pytest.raises(UnknownSequence):
            vault.put_back(99, lambda: copy.state(3))


def test_a_mend_that_finds_no_room_changes_nothing(pair: VaultPair) -> None:
    def refuse(size: int) -> None:
        raise MemoryError

    pair.harm(delete_every_row, random.Random(1))
    with pair.opened() as vault, pair.opened("copy") as copy:
        vault.check_rows()
        damaged = vault.damaged_states()
        with pytest.raises(MemoryError):
            vault.put_back(damaged[0], lambda: copy.state(damaged[0]), has_room=refuse)
        assert vault.damaged_states() == damaged


def test_the_head_takes_changes_again_once_its_rows_are_back(pair: VaultPair) -> None:
    pair.harm(delete_every_record, random.Random(1))
    pair.mend()
    with pair.opened() as vault:
        commit(vault, Draft({}, [create("later")]))
        assert vault.verify(trusted=None).ok


# Spans --------------------------------------------------------------------------------------------------------------

NUMBERS = st.sets(st.integers(0, 20), min_size=1, max_size=8)
SPANS = st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(1, 22), st.sampled_from("abc")), max_size=4)


def seen(stays: list[RowSpan], number: int) -> list[str]:
    return sorted(stay.content[0] for stay in stays if stay.covers(number))


@given(numbers=NUMBERS, spans=SPANS, place=st.integers(0, 7), wanted=st.none() | st.sampled_from("abc"))
def test_only_one_kept_sequence_reads_otherwise_afterwards(
    numbers: set[int], spans: list[tuple[int, int | None, str]], place: int, wanted: str | None
) -> None:
    stays = [RowSpan(first, last, (text,), (text,)) for first, last, text in spans]
    number = sorted(numbers)[place % len(numbers)]
    content = None if wanted is None else RowSpan(0, None, (wanted,), (wanted,))
    made = replace_at_sequence(stays, KeptSequences([*numbers]), number, content)
    assert seen(made, number) == ([] if wanted is None else [wanted])
    for other in numbers - {number}:
        assert {*seen(made, other)} == {*seen(stays, other)}


@given(numbers=NUMBERS, first=st.integers(0, 20), last=st.none() | st.integers(1, 22))
def test_a_row_that_is_put_back_sequence_by_sequence_is_one_row(
    numbers: set[int], first: int, last: int | None
) -> None:
    kept = KeptSequences([*numbers])
    made: list[RowSpan] = []
    for number in kept.within(first, last):
        made = replace_at_sequence(made, kept, number, RowSpan(0, None, ("a",), ("a",)))
    assert len(made) == bool(kept.within(first, last))
    assert [number for number in numbers if seen(made, number)] == [
        number for number in numbers if number in kept.within(first, last)
    ]
