"""The checksum of an AIMEM bundle (section 2.8)."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aimem.wire import bundle_reading, checksum
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused, Envelope
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from support.formats import aimem_bundles as made
from support.formats.aimem_states import open_bundle_bytes


def refused(data: bytes) -> tuple[str, int]:
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(data)
    return caught.value.format_code, caught.value.status


def writer_of(bundle: dict[str, Any]) -> BundleWriter:
    """Return a writer with the contents of a bundle."""
    known = ("format", "version", "producer", "tenant_id", "exported_at", "scope", "embedding_dim", "embedding_model")
    writer = BundleWriter(Envelope(**{name: bundle[name] for name in known if name in bundle}))
    for name, add in (("chunks", writer.chunk), ("edges", writer.edge), ("entities", writer.entity)):
        for record in bundle[name]:
            add(record)
    for record in bundle["chunk_entities"]:
        writer.link(record)
    return writer


def test_014_the_empty_bundle_has_the_checksum_that_others_compute() -> None:
    golden = "sha256:b0022378fae1b546babd882fd67351e16356d0fcd6878b41d13fd3b197bf244d"
    assert made.bundle()["checksum"] == golden
    with writer_of(made.bundle()) as writer:
        assert writer.finish() == golden
    assert bundle_reading.parse_bundle(made.document(made.bundle())).envelope.checksum == golden


def test_014_the_hash_of_a_content_is_the_one_that_others_compute() -> None:
    golden = "sha256:3875aaa120bc9065b67477b5fa1c22e6038e78fb31f08dc41d33de5d5d7418ac"
    assert checksum.hash_content("Prefers PostgreSQL — naïve 日本 😀") == golden


@pytest.mark.parametrize(
    ("weight", "text"),
    [(0, "0"), (1, "1"), (1.0, "1"), (0.42, "0.42"), (1e-6, "0.000001"), (1e-7, "1e-7"), (1e-5, "0.00001"),
     (0.1 + 0.2, "0.30000000000000004"), (-0.0, "0"), (5e-324, "5e-324")],
)  # fmt: skip
def test_014_a_weight_is_hashed_as_ecmascript_writes_it(weight: float, text: str) -> None:
    bundle = made.bundle(chunks=[made.chunk()], edges=[made.edge("c1", "c1", weight=weight)])
    found = bundle_reading.parse_bundle(made.document(bundle))
    assert f'"weight":{text}}}'.encode() in b"".join(bundle_reading.canonical_bundle_pieces(found))


@pytest.mark.parametrize("number", [1e16, 1e20, 1e21, 123456789012345680.0, 1e-6, 0.000123])
def test_014_large_and_small_numbers_are_hashed_as_ecmascript_writes_them(number: float) -> None:
    bundle = made.bundle(x_other=number)
    assert bundle_reading.parse_bundle(made.document(bundle)).envelope.checksum == bundle["checksum"]


def test_014_what_is_written_has_the_checksum_that_fits_it() -> None:
    with writer_of(made.sample()) as writer:
        out = io.BytesIO()
        said = writer.write_json(out)
    found = json.loads(out.getvalue())
    assert said == found["checksum"] == made.checksum(found)


def test_014_names_are_ordered_by_their_utf_16_units() -> None:
    bundle = made.bundle(**{"ﬀ": 1, "😀": 2, "é": 3, "zone": 4, "Z": 5, "": 6})
    found = bundle_reading.parse_bundle(made.document(bundle))
    covered = {name: value for name, value in bundle.items() if name != "checksum"}
    assert b"".join(bundle_reading.canonical_bundle_pieces(found)) == rfc8785.dumps(covered)


@pytest.mark.parametrize("at", ["chunks", "edges", "entities", "chunk_entities", "exported_at", "embedding_model"])
def test_015_a_change_anywhere_does_not_fit_the_checksum(at: str) -> None:
    bundle = made.sample()
    value = bundle[at]
    changed = value[1:] if isinstance(value, list) else value.replace("2", "3").replace("example", "other")
    assert changed != value
    assert refused(made.document({**bundle, at: changed})) == ("checksum_mismatch", 409)


def test_015_a_stale_checksum_comes_before_what_is_wrong_with_records() -> None:
    bundle = made.sample()
    bundle["chunks"][0]["memory_type"] = "opinion"
    assert refused(made.document(bundle)) == ("checksum_mismatch", 409)


@pytest.mark.parametrize(
    "spoil",
    [str.upper, lambda text: text.replace("sha256:", "SHA256:"), lambda text: text.removeprefix("sha256:"),
     lambda text: text.replace("sha256", "sha512"), lambda text: text + "\n", lambda text: " " + text, lambda text: "",
     lambda text: None, lambda text: 7, lambda text: [text], lambda text: text[:-1]],
)  # fmt: skip
def test_016_a_checksum_in_another_form_does_not_fit(spoil: Any) -> None:
    bundle = made.bundle()
    assert refused(made.document({**bundle, "checksum": spoil(bundle["checksum"])})) == ("checksum_mismatch", 409)


@pytest.mark.parametrize("value", ["1e400", "9007199254740992", "-1e999", r'"\ud800"', r'{"\udfff":1}', "[[1e400]]"])
@pytest.mark.parametrize("place", ["x_other", "chunk"])
def test_017_what_cannot_be_hashed_is_told(value: str, place: str) -> None:
    marked = made.bundle(x_other="HERE") if place == "x_other" else made.with_chunk(x_other="HERE")
    assert refused(made.document(marked).replace(b'"HERE"', value.encode())) == ("not_canonicalizable", 422)


def _shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(item, random) for item in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    random.shuffle(names)
    return {name: _shuffled(value[name], random) for name in names}


@settings(max_examples=40, deadline=None)
@given(st.integers(), st.sampled_from([None, 0, 1, 7, "\t"]), st.booleans())
def test_018_the_order_of_members_and_white_space_do_not_matter(seed: int, indent: Any, is_ascii: bool) -> None:
    bundle = _shuffled(made.sample(), Random(seed))
    text = json.dumps(bundle, indent=indent, ensure_ascii=is_ascii)
    found = bundle_reading.parse_bundle(text.encode())
    assert found.envelope.checksum == made.sample()["checksum"]


def test_018_the_canonical_form_is_the_same_of_what_is_read_and_what_is_written() -> None:
    bundle = bundle_reading.parse_bundle(made.document(made.sample()))
    read = b"".join(bundle_reading.canonical_bundle_pieces(bundle))
    assert checksum.digest_pieces((read,)) == bundle.envelope.checksum
    with open_bundle_bytes(made.stream(made.sample())) as streamed:
        assert b"".join(bundle_reading.canonical_bundle_pieces(streamed)) == read
    with writer_of(made.sample()) as writer:
        out = io.BytesIO()
        writer.write_json(out)
        again = b"".join(bundle_reading.canonical_bundle_pieces(bundle_reading.parse_bundle(out.getvalue())))
        assert b"".join(writer.canonical()) == again


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(-5, 5) | st.floats(0, 1)))
def test_the_canonical_form_in_pieces_is_the_canonical_form(head: dict[str, Any]) -> None:
    arrays = {"chunks": [b"1", b"2"], "edges": []}
    whole = rfc8785.dumps({**head, "chunks": [1, 2], "edges": []})
    assert b"".join(checksum.canonical_pieces(head, arrays)) == whole
