"""Names of AIMEM chunks and entities (section 2.3), and the record ids derived from them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.common import ids
from lifeboat_formats.aimem.wire import bundle_reading, urn
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused, Envelope
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from support.formats import aimem_bundles as made

LOCAL = st.text(st.sampled_from([chr(code) for code in range(0x21, 0x7F) if code != 0x3A]), min_size=1, max_size=256)
NAMESPACE = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63)
WRONG = [
    "", "c1", "urn:aimem:alf-test:", "urn:aimem::c1", "urn:aimem:ALF:c1", "urn:aimem:a_b:c1", "URN:aimem:alf-test:c1",
    "urn:AIMEM:alf-test:c1", "urn:other:alf-test:c1", "urn:aimem:alf-test:a:b", "urn:aimem:alf-test:a b",
    "urn:aimem:alf-test:é", "urn:aimem:alf-test:c1\n", " urn:aimem:alf-test:c1", "urn:aimem:alf-test:\x7f",
    "urn:aimem:alf-test:\x1b[31m", "urn:aimem:alf-test:" + "x" * 257, f"urn:aimem:{'a' * 64}:c1", "urn:aimem:alf-test",
]  # fmt: skip


def refused(bundle: dict[str, Any], **options: Any) -> tuple[str, int, str]:
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(made.document(bundle), **options)
    return caught.value.format_code, caught.value.status, caught.value.where


@pytest.mark.parametrize("text", WRONG)
def test_029_a_chunk_with_another_name_is_refused(text: str) -> None:
    assert refused(made.with_chunk(id=text)) == ("invalid_urn", 422, "chunks[0].id")
    assert urn.parse_urn(text) is None


@pytest.mark.parametrize("text", WRONG)
def test_029_an_entity_with_another_name_is_refused(text: str) -> None:
    assert refused(made.with_entity(id=text)) == ("invalid_urn", 422, "entities[0].id")


@settings(max_examples=100, deadline=None)
@given(NAMESPACE, LOCAL)
def test_029_every_printable_character_may_stand_in_a_local_name(producer: str, local: str) -> None:
    assert urn.parse_urn(f"urn:aimem:{producer}:{local}") == (producer, local)


@pytest.mark.parametrize("local", ["", 'a"b', "a<b", "a#b", "a?b", "a/b", "a:b", "a b", "é", "x" * 257, "a\n"])
def test_029_our_own_names_have_no_character_that_a_urn_may_not_have(local: str) -> None:
    with pytest.raises(ValueError):
        urn.mint_urn(made.PRODUCER, local)


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=8), st.text(max_size=40))
def test_029_the_name_of_an_entity_is_one_of_ours_whatever_it_is_called(kind: str, name: str) -> None:
    found = urn.parse_urn(urn.of_entity(made.PRODUCER, kind, name))
    assert found is not None and found.local.startswith("e-") and len(found.local) == 34
    assert urn.of_entity(made.PRODUCER, kind, name) == str(found)


def test_030_a_name_of_another_producer_is_taken_with_a_word() -> None:
    chunks = [made.chunk(id=made.urn(f"c{n}", "elsewhere" if n else made.PRODUCER)) for n in range(3)]
    found = bundle_reading.parse_bundle(made.document(made.bundle(chunks=chunks)))
    (notice,) = found.notices
    assert (notice.code, notice.where) == ("foreign_namespace", "elsewhere")
    assert notice.text.startswith("2 ")
    assert [chunk["id"] for chunk in found.chunks] == [chunk["id"] for chunk in chunks]


def test_030_a_name_of_another_producer_is_refused_where_that_is_wanted() -> None:
    bundle = made.with_chunk(id=made.urn("c1", "elsewhere"))
    assert refused(bundle, own_namespace=True) == ("invalid_urn", 422, "chunks[0].id")
    bundle = made.with_entity(id=made.urn("e1", "elsewhere"))
    assert refused(bundle, own_namespace=True) == ("invalid_urn", 422, "entities[0].id")


def test_030_a_writer_names_what_it_writes_after_its_own_producer() -> None:
    envelope = Envelope("aimem-bundle", "1", made.PRODUCER, made.TENANT, made.WHEN, "FULL")
    foreign = made.chunk(id=made.urn("c1", "elsewhere"))
    with BundleWriter(envelope) as writer:
        with pytest.raises(BundleRefused) as caught:
            writer.chunk(foreign)
        assert caught.value.format_code == "invalid_urn"
        with pytest.raises(BundleRefused):
            writer.entity(made.entity(id=made.urn("e1", "elsewhere")))
    with BundleWriter(envelope, own_namespace=False) as writer:
        writer.chunk(foreign)
        assert [notice.code for notice in writer.notices()] == ["foreign_namespace"]


def test_030_a_thousand_foreign_producers_and_more_are_counted() -> None:
    chunks = [made.chunk(id=made.urn("c1", f"other-{number}")) for number in range(1100)]
    (notice,) = bundle_reading.parse_bundle(made.document(made.bundle(chunks=chunks))).notices
    assert notice.text.startswith("1,100 ")


@pytest.mark.parametrize(("one", "other"), [("A", "a"), ("%41", "A"), ("a%2e", "a%2E"), ("01", "1"), ("a.", "a")])
def test_031_local_names_are_compared_byte_for_byte(one: str, other: str) -> None:
    bundle = made.bundle(chunks=[made.chunk(one), made.chunk(other)])
    assert [chunk["id"] for chunk in bundle_reading.parse_bundle(made.document(bundle)).chunks] == [
        made.urn(one),
        made.urn(other),
    ]
    edge = made.bundle(chunks=[made.chunk(one)], edges=[made.edge(one, other)])
    assert refused(edge)[0] == "edge_target_unknown"


def test_031_the_same_name_of_two_producers_is_two_names() -> None:
    chunks = [made.chunk("c1"), made.chunk(id=made.urn("c1", "elsewhere"))]
    assert len(bundle_reading.parse_bundle(made.document(made.bundle(chunks=chunks))).chunks) == 2


@pytest.mark.parametrize("text", ["example-com", "alf-0123abcd", "a" * 63])
def test_032_a_namespace_is_lower_case_ascii(text: str) -> None:
    assert urn.is_namespace(text)
    assert not urn.is_namespace(text.upper()) and not urn.is_namespace(f"{text}.") and not urn.is_namespace(None)


@settings(max_examples=100, deadline=None)
@given(NAMESPACE, st.uuids())
def test_032_a_record_gets_a_name_and_the_name_gives_it_back(producer: str, record: uuid.UUID) -> None:
    name = urn.of_record(producer, str(record))
    assert urn.parse_urn(name) == (producer, str(record))
    assert urn.parse_record_urn(name, producer) == str(record)
    assert urn.record_id(name, made.WHEN, own=producer) == str(record)
    assert urn.parse_record_urn(name, producer + "x") is None


def test_032_a_name_from_elsewhere_gives_the_id_that_everybody_derives() -> None:
    name = "urn:aimem:memoryai-prod:chunk-1"
    assert urn.record_id(name, "2026-04-01T09:30:00Z") == "019d4860-d9c0-7616-9716-0d8801123e99"
    assert urn.record_id(name, "2026-04-01T09:30:00.000+00:00") == "019d4860-d9c0-7616-9716-0d8801123e99"


@settings(max_examples=100, deadline=None)
@given(NAMESPACE, LOCAL)
def test_032_every_name_gives_a_stable_id_of_version_seven(producer: str, local: str) -> None:
    name = f"urn:aimem:{producer}:{local}"
    found = urn.record_id(name, made.WHEN)
    assert ids.is_version_7(found) and found == urn.record_id(name, made.WHEN)


def test_032_a_name_that_only_looks_like_ours_is_one_from_elsewhere() -> None:
    assert urn.parse_record_urn(made.urn(made.TENANT.replace("1", "A")), made.PRODUCER) is None
    assert urn.parse_record_urn(made.urn("c1"), made.PRODUCER) is None
    for record in ("", "c1", made.TENANT + "\n", made.TENANT.replace("1", "A")):
        with pytest.raises(ValueError):
            urn.of_record(made.PRODUCER, record)
