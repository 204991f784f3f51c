"""Documents and records of any shape: malformed parts are ignored, and well-formed parts are unchanged."""

from __future__ import annotations

import io
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.zip_container import ContainerLimits
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.memory import partitions
from lifeboat_alf.memory.record_shapes import keep_fitting_fields
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states.agent_state import Partition
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState, make_full_state, make_record
from lifeboat_alf.validation.validate_file import validate_archive
from support.alf.any_shape import RUBBISH, spoiled

FULL = make_record(
    "Likes tea.",
    tags=["drinks"],
    confidence=0.5,
    category="taste",
    entities=[{"name": "Bo", "type": "person"}],
    related_records=[{"id": sample_states.AGENT_ID, "relation": "caused"}],
    embeddings=[{"model": "openai/m", "dimensions": 2, "vector": [0.5, 1.0], "computed_at": sample_states.TIME}],
    raw_source_format={"openclaw": {"line_start": 1}},
)


def test_a_record_that_fits_stays_as_it_is() -> None:
    assert keep_fitting_fields(FULL) == FULL


@pytest.mark.parametrize(
    ("field", "value", "left"),
    [
        ("tags", "drinks", []),
        ("tags", ["a", 5, None], ["a"]),
        ("entities", [{"name": 5}, "x", {"name": "Bo"}], [{"name": "Bo"}]),
        ("related_records", {"id": "x"}, []),
        ("embeddings", [{"model": "m", "vector": ["x"]}], []),
        ("source", ["x"], {}),
        ("source", {"origin_file": 5, "runtime": "x", "identity_version": "1"}, {"runtime": "x"}),
        ("raw_source_format", "x", {}),
        ("content", None, ""),
    ],
)
def test_what_does_not_fit_is_passed_over(field: str, value: Any, left: Any) -> None:
    assert keep_fitting_fields({**FULL, field: value})[field] == left


@pytest.mark.parametrize("value", ["high", True, float("nan"), [0.5]])
def test_a_confidence_that_is_no_number_is_none(value: Any) -> None:
    assert "confidence" not in keep_fitting_fields({**FULL, "confidence": value})


@given(spoiled(FULL))
def test_records_of_any_shape_fit_once_they_were_fitted(value: Any) -> None:
    if isinstance(value, dict):
        assert keep_fitting_fields(keep_fitting_fields(value)) == keep_fitting_fields(value)


DOCUMENTS = (archive_layout.IDENTITY, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS)


@settings(max_examples=25)
@given(st.data())
def test_a_state_with_documents_of_any_shape_is_written_read_compared_and_checked(data: st.DataObject) -> None:
    """Each operation succeeds or raises a typed error."""
    state = make_full_state()
    for path in DOCUMENTS:
        state.put_document(path, data.draw(spoiled(json_codec.decode_json(state.body(path)))))
    state.set_meta(
        "artifacts/shares.csv",
        attachment={"id": data.draw(RUBBISH), "media_type": "text/csv", "tier": 2, "referenced_by": data.draw(RUBBISH)},
    )
    other = make_full_state()
    for old, new in ((other, state), (state, other)):
        out = io.BytesIO()
        try:
            write_delta(diff_states(old, new), out)
            with DeltaReader(out) as reader:
                assert reader.agent_id == sample_states.AGENT_ID
        except LifeboatError:
            pass
    archive = io.BytesIO()
    try:
        write_snapshot(state, archive)
        with SnapshotReader(archive, ContainerLimits()) as reader:
            reader.check()
    except LifeboatError:
        return
    validate_archive(archive)


@pytest.mark.parametrize("first", ["x", "2026-10-99", ""])
def test_a_partition_without_a_day_that_can_be_read_is_known_by_its_name(first: str) -> None:
    quarter = Partition("memory/partitions/2026-Q4.jsonl", first, "x", sealed=True, extra={})
    assert partitions.first_day(quarter) == date(2026, 10, 1)
    assert partitions.end_of(quarter) == date(2026, 12, 31)
    odd = Partition("memory/partitions/odd.jsonl", first, "x", sealed=True, extra={})
    assert not partitions.covers_day(odd, date(2026, 11, 20))


def test_the_changes_of_principals_without_ids_are_in_no_list() -> None:
    old = MemoryState().put_document(archive_layout.PRINCIPALS, {"principals": None})
    new = old.copy().put_document(archive_layout.PRINCIPALS, {"principals": [{"x": 1}, 5, {"id": 5}]})
    out = io.BytesIO()
    write_delta(diff_states(old, new), out)
    with DeltaReader(out) as reader:
        assert reader.changes["principals"]["changed_ids"] == []
