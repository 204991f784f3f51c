"""Entities of an AIMEM bundle and their links with chunks (sections 2.5 and 2.6)."""

from __future__ import annotations

from typing import Any

import pytest

from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused
from support.formats import aimem_bundles as made
from support.formats.aimem_bundles import ABSENT


def refused(bundle: dict[str, Any]) -> tuple[str, int, str]:
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(made.document(bundle))
    return caught.value.format_code, caught.value.status, caught.value.where


def with_link(**changes: Any) -> dict[str, Any]:
    return made.bundle(chunks=[made.chunk()], entities=[made.entity()], chunk_entities=[made.link(**changes)])


@pytest.mark.parametrize("name", ["id", "name", "kind", "created_at"])
def test_038_an_entity_has_what_it_has_to_have(name: str) -> None:
    assert refused(made.with_entity(**{name: ABSENT})) == ("missing_field", 422, f"entities[0].{name}")


@pytest.mark.parametrize("value", [None, 1, "entity", []])
def test_038_what_is_no_object_is_refused(value: object) -> None:
    assert refused(made.bundle(entities=[made.entity(), value])) == ("invalid_type", 422, "entities[1]")


def test_038_an_entity_has_a_name() -> None:
    assert refused(made.with_entity(name="")) == ("empty_entity_name", 422, "entities[0].name")
    for value in (None, 5, ["x"]):
        assert refused(made.with_entity(name=value)) == ("invalid_type", 422, "entities[0].name")


@pytest.mark.parametrize("value", ["", "tool", "Person", "x-", "x", None, 1, ["person"], False])
def test_038_another_kind_is_refused(value: object) -> None:
    assert refused(made.with_entity(kind=value)) == ("invalid_entity_kind", 422, "entities[0].kind")


@pytest.mark.parametrize("value", ["person", "organization", "place", "technology", "concept", "x-project", "x-é"])
def test_038_the_five_kinds_and_those_of_ones_own_are_taken(value: str) -> None:
    (entity,) = bundle_reading.parse_bundle(made.document(made.with_entity(kind=value))).entities
    assert entity["kind"] == value


@pytest.mark.parametrize("value", ["", "2026-04-01", "2026-04-01T09:30:00-01:00", None, 5])
def test_038_an_entity_has_a_time(value: object) -> None:
    assert refused(made.with_entity(created_at=value)) == ("invalid_timestamp", 422, "entities[0].created_at")


def test_027_an_entity_stands_once() -> None:
    bundle = made.bundle(entities=[made.entity("e1"), made.entity("e1", "Other")])
    assert refused(bundle) == ("duplicate_entity_id", 422, "entities[1].id")


def test_038_two_entities_of_one_name_are_two() -> None:
    bundle = made.bundle(entities=[made.entity("e1"), made.entity("e2")])
    assert len(bundle_reading.parse_bundle(made.document(bundle)).entities) == 2


def test_039_both_ends_of_a_link_are_in_the_bundle() -> None:
    assert refused(with_link(chunk_id=made.urn("e1"))) == ("ce_chunk_unknown", 422, "chunk_entities[0].chunk_id")
    assert refused(with_link(entity_id=made.urn("c1"))) == ("ce_entity_unknown", 422, "chunk_entities[0].entity_id")


@pytest.mark.parametrize("name", ["chunk_id", "entity_id"])
def test_039_a_link_has_two_ends_that_are_texts(name: str) -> None:
    assert refused(with_link(**{name: ABSENT})) == ("missing_field", 422, f"chunk_entities[0].{name}")
    assert refused(with_link(**{name: 1})) == ("invalid_type", 422, f"chunk_entities[0].{name}")


def test_039_what_is_no_object_is_refused() -> None:
    assert refused(made.bundle(chunk_entities=["c1"])) == ("invalid_type", 422, "chunk_entities[0]")


def test_039_good_links_are_taken_as_often_as_they_stand() -> None:
    bundle = with_link()
    links = bundle["chunk_entities"] * 2
    assert (
        list(
            bundle_reading.parse_bundle(made.document(made.sealed({**bundle, "chunk_entities": links}))).chunk_entities
        )
        == links
    )


def test_an_entity_that_nothing_links_is_taken() -> None:
    assert len(bundle_reading.parse_bundle(made.document(made.with_entity())).entities) == 1


def test_a_wrong_edge_is_told_before_a_wrong_entity() -> None:
    bundle = made.bundle(
        chunks=[made.chunk()],
        edges=[made.edge("c1", "c1"), made.edge("c1", "gone")],
        entities=[made.entity(kind="tool")],
        chunk_entities=[made.link("gone")],
    )
    assert refused(bundle)[0] == "edge_target_unknown"
    assert refused(made.sealed({**bundle, "edges": []}))[0] == "invalid_entity_kind"
    assert refused(made.sealed({**bundle, "edges": [], "entities": []}))[0] == "ce_chunk_unknown"
