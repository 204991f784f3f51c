"""Edges of an AIMEM bundle (section 2.4)."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused, Envelope
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter, portable_weight
from support.formats import aimem_bundles as made
from support.formats.aimem_bundles import ABSENT
from support.formats.aimem_states import open_bundle_bytes


def refused(bundle: dict[str, Any]) -> tuple[str, int, str]:
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(made.document(bundle))
    return caught.value.format_code, caught.value.status, caught.value.where


def taken(**changes: Any) -> dict[str, Any]:
    (edge,) = bundle_reading.parse_bundle(made.document(made.with_edge(**changes))).edges
    return edge


def writer() -> BundleWriter:
    envelope = Envelope("aimem-bundle", "1", made.PRODUCER, made.TENANT, made.WHEN, "FULL")
    return BundleWriter(envelope)


@pytest.mark.parametrize("value", ["", "x-", "x", "X-own", "related", "Hebbian", None, 1, ["hebbian"], True])
def test_033_another_type_of_edge_is_refused(value: object) -> None:
    assert refused(made.with_edge(edge_type=value)) == ("invalid_edge_type", 422, "edges[0].edge_type")


@pytest.mark.parametrize("value", ["hebbian", "semantic", "temporal", "causal", "x-a", "x-part-of", "x-é", "x--"])
def test_033_the_four_types_and_those_of_ones_own_are_taken(value: str) -> None:
    assert taken(edge_type=value)["edge_type"] == value


@pytest.mark.parametrize("value", ["0.5", True, False, None, -0.1, 1.0000001, 2, -1, [0.5], 1e300])
def test_034_a_weight_is_a_number_from_0_to_1(value: object) -> None:
    assert refused(made.with_edge(weight=value)) == ("edge_weight_out_of_range", 422, "edges[0].weight")


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.42, 1e-7, 5e-324, -0.0])
def test_034_every_number_from_0_to_1_is_taken(value: float) -> None:
    assert taken(weight=value)["weight"] == value


def test_035_both_ends_are_in_the_bundle() -> None:
    assert refused(made.with_edge(source_id=made.urn("c9"))) == ("edge_source_unknown", 422, "edges[0].source_id")
    assert refused(made.with_edge(target_id=made.urn("c9"))) == ("edge_target_unknown", 422, "edges[0].target_id")


def test_035_an_entity_is_no_end_of_an_edge() -> None:
    bundle = made.bundle(chunks=[made.chunk()], entities=[made.entity()], edges=[made.edge("c1", "e1")])
    assert refused(bundle) == ("edge_target_unknown", 422, "edges[0].target_id")


@pytest.mark.parametrize("value", [None, 1, ["x"], {}])
def test_035_an_end_is_a_text(value: object) -> None:
    assert refused(made.with_edge(target_id=value))[0] == "invalid_type"


@pytest.mark.parametrize("name", ["source_id", "target_id", "edge_type", "weight", "created_at"])
def test_036_an_edge_has_what_it_has_to_have(name: str) -> None:
    assert refused(made.with_edge(**{name: ABSENT})) == ("missing_field", 422, f"edges[0].{name}")


@pytest.mark.parametrize("value", ["", "2026-04-15", "2026-04-15T08:00:00+01:00", None, 5])
def test_036_an_edge_has_a_time(value: object) -> None:
    assert refused(made.with_edge(created_at=value)) == ("invalid_timestamp", 422, "edges[0].created_at")


@pytest.mark.parametrize("value", [None, 1, "edge", []])
def test_036_what_is_no_object_is_refused(value: object) -> None:
    assert refused(made.bundle(edges=[value])) == ("invalid_type", 422, "edges[0]")


def test_037_an_edge_without_its_end_is_refused() -> None:
    with writer() as into:
        into.chunk(made.chunk("c1"))
        into.edge(made.edge("c1", "gone"))
        with pytest.raises(BundleRefused) as caught:
            into.finish()
    assert caught.value.format_code == "edge_target_unknown"


def test_037_a_link_without_its_end_is_refused() -> None:
    with writer() as into:
        into.chunk(made.chunk("c1"))
        into.link(made.link("c1", "gone"))
        with pytest.raises(BundleRefused) as caught:
            into.finish()
    assert caught.value.format_code == "ce_entity_unknown"


@pytest.mark.parametrize(
    ("weight", "written"),
    [(0.42, 0.42), (0.1 + 0.2, 0.3), (1, 1), (0, 0), (1e-7, 0), (4e-5, 0), (6e-5, 1e-4), (1e-4, 1e-4),
     (0.0001234, 0.000123)],
)  # fmt: skip
def test_034_a_weight_is_written_so_that_every_canonicaliser_agrees(weight: float, written: float) -> None:
    assert portable_weight(weight) == written
    with writer() as into:
        into.chunk(made.chunk("c1"))
        into.edge(made.edge("c1", "c1", weight=weight))
        out = io.BytesIO()
        into.write_json(out)
    assert json.loads(out.getvalue())["edges"][0]["weight"] == written


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1))
def test_034_no_weight_is_written_with_an_exponent(weight: float) -> None:
    text = rfc8785.dumps(portable_weight(weight)).decode()
    assert "e" not in text and len(text) <= 8
    assert 0 <= portable_weight(weight) <= 1
    assert abs(portable_weight(weight) - weight) <= 5e-5
    assert portable_weight(portable_weight(weight)) == portable_weight(weight)


def test_self_edges_and_doubles_are_kept_as_they_came() -> None:
    edges = [made.edge("c1", "c1"), made.edge("c1", "c2"), made.edge("c1", "c2"), made.edge("c2", "c1")]
    bundle = made.bundle(chunks=[made.chunk("c1"), made.chunk("c2")], edges=edges)
    assert list(bundle_reading.parse_bundle(made.document(bundle)).edges) == edges
    with open_bundle_bytes(made.stream(bundle)) as found:
        assert list(found.edges) == edges
