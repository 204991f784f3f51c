"""A sample is requested in parts that fit in memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.states.agent_state import Entry, Leaf, Record
from lifeboat_vault.remote.read_back import ReadBackSample, split_sample

_LEAF = Leaf(b"digest", b"salt")


def sample(sizes: list[int], records: int) -> ReadBackSample:
    entries = [Entry(f"raw/x/{at}", {}, _LEAF, size, None) for at, size in enumerate(sizes)]
    return ReadBackSample(entries, [Record(str(at), "p", at, _LEAF, b"{}") for at in range(records)])


@given(st.lists(st.integers(0, 30)), st.integers(0, 12), st.integers(1, 5), st.integers(1, 40))
def test_every_item_is_in_one_part_and_no_part_is_too_large(
    sizes: list[int], records: int, count: int, size: int
) -> None:
    whole = sample(sizes, records)
    found = list(split_sample(whole, count, size))
    assert [entry for part in found for entry in part.entries] == whole.entries
    assert [record for part in found for record in part.records] == whole.records
    for part in found:
        assert len(part.entries) <= count and len(part.records) <= count
        assert len(part.entries) <= 1 or sum(entry.size for entry in part.entries) <= size


def test_of_nothing_there_is_one_part() -> None:
    assert list(split_sample(ReadBackSample(), 5, 5)) == [ReadBackSample()]
