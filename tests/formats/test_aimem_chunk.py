"""Chunks of an AIMEM bundle (section 2.2)."""

from __future__ import annotations

import io
import json
import unicodedata
from typing import Any

import pytest

from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import BundleLimits, BundleRefused, Envelope
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from support.formats import aimem_bundles as made
from support.formats.aimem_bundles import ABSENT


def refused(bundle: dict[str, Any], **options: Any) -> tuple[str, str]:
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(made.document(bundle), **options)
    assert caught.value.status == 422
    return caught.value.format_code, caught.value.where


def taken(**changes: Any) -> dict[str, Any]:
    (chunk,) = bundle_reading.parse_bundle(made.document(made.with_chunk(**changes))).chunks
    return chunk


def writer() -> BundleWriter:
    return BundleWriter(Envelope("aimem-bundle", "1", made.PRODUCER, made.TENANT, made.WHEN, "FULL"))


def written(chunk: dict[str, Any]) -> dict[str, Any]:
    out = io.BytesIO()
    with writer() as into:
        into.chunk(chunk)
        into.write_json(out)
    found: dict[str, Any] = json.loads(out.getvalue())["chunks"][0]
    return found


def not_written(chunk: dict[str, Any]) -> str:
    with writer() as into, pytest.raises(BundleRefused) as caught:
        into.chunk(chunk)
    return caught.value.format_code


@pytest.mark.parametrize("name", ["id", "content", "memory_type", "created_at"])
def test_019_a_chunk_has_what_it_has_to_have(name: str) -> None:
    changes = {name: ABSENT, **({"content_hash": ABSENT} if name == "content" else {})}
    assert refused(made.bundle(chunks=[made.chunk(**changes)])) == ("missing_field", f"chunks[0].{name}")
    assert not_written(made.chunk(**changes)) == "missing_field"


@pytest.mark.parametrize("value", [None, 1, "chunk", [], True])
def test_019_what_is_no_object_is_refused(value: object) -> None:
    assert refused(made.bundle(chunks=[made.chunk(), value])) == ("invalid_type", "chunks[1]")


@pytest.mark.parametrize("name", ["id", "content", "memory_type"])
@pytest.mark.parametrize("value", [None, 1, ["x"], {}, False])
def test_019_what_is_no_text_is_refused(name: str, value: object) -> None:
    assert refused(made.with_chunk(content_hash=ABSENT, **{name: value}))[0] == "invalid_type"


def test_020_an_empty_content_is_refused() -> None:
    assert refused(made.with_chunk(content="")) == ("empty_content", "chunks[0].content")
    assert not_written(made.chunk(content="")) == "empty_content"


@pytest.mark.parametrize("character", ["a", "é", "日", "😀"])
def test_020_65536_code_points_are_taken_whatever_the_bytes(character: str) -> None:
    assert taken(content=character * 65_536)["content"] == character * 65_536


def test_020_a_longer_content_is_taken_up_to_the_limit() -> None:
    assert len(taken(content="x" * 1_048_576)["content"]) == 1_048_576
    assert refused(made.with_chunk(content="x" * 1_048_577)) == ("content_too_long", "chunks[0].content")
    assert refused(made.with_chunk(content="😀" * 11), limits=BundleLimits(content=10))[0] == "content_too_long"


@pytest.mark.parametrize(
    "value", ["", "sha256:", "sha256:" + "0" * 63, "sha256:" + "A" * 64, "md5:" + "0" * 64, "0" * 64, 5, [], False]
)
def test_021_a_hash_in_another_form_is_refused(value: object) -> None:
    assert refused(made.with_chunk(content_hash=value)) == ("bad_hash_format", "chunks[0].content_hash")


def test_021_a_hash_of_something_else_is_refused() -> None:
    assert refused(made.with_chunk(content_hash=made.content_hash("x"))) == ("hash_mismatch", "chunks[0].content_hash")
    assert not_written(made.chunk(content_hash=made.content_hash("x"))) == "hash_mismatch"


def test_021_a_content_is_hashed_as_it_is_without_normalising() -> None:
    composed, parted = unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")
    assert composed != parted
    assert refused(made.with_chunk(content=composed, content_hash=made.content_hash(parted)))[0] == "hash_mismatch"
    assert taken(content=parted)["content"] == parted


@pytest.mark.parametrize("value", [ABSENT, None])
def test_021_a_hash_may_be_missing_and_is_always_written(value: object) -> None:
    assert taken(content_hash=value)["content"]
    chunk = made.chunk(content_hash=value)
    assert written(chunk)["content_hash"] == made.content_hash(chunk["content"])


@pytest.mark.parametrize("value", ["opinion", "", "Fact", "x-own", "semantic", "fact "])
def test_022_another_memory_type_is_refused(value: str) -> None:
    assert refused(made.with_chunk(memory_type=value)) == ("invalid_memory_type", "chunks[0].memory_type")
    assert not_written(made.chunk(memory_type=value)) == "invalid_memory_type"


@pytest.mark.parametrize(
    "value", ["fact", "preference", "decision", "identity", "pitfall", "procedure", "episodic", "goal"]
)
def test_022_all_eight_memory_types_are_taken(value: str) -> None:
    assert taken(memory_type=value)["memory_type"] == value


@pytest.mark.parametrize("value", ["low", "", "Critical", 1, False, [], {}])
def test_023_another_zone_is_refused(value: object) -> None:
    assert refused(made.with_chunk(zone=value)) == ("invalid_zone", "chunks[0].zone")


@pytest.mark.parametrize("value", ["critical", "important", "standard", None])
def test_023_every_zone_and_none_is_taken(value: object) -> None:
    assert taken(zone=value)["zone"] == value
    assert "zone" not in taken(zone=ABSENT)


@pytest.mark.parametrize("value", ["false", "true", 0, 1, None, [], 1.0])
def test_024_pinned_is_true_or_false(value: object) -> None:
    assert refused(made.with_chunk(is_pinned=value)) == ("invalid_is_pinned", "chunks[0].is_pinned")


def test_024_pinned_may_be_missing() -> None:
    assert taken(is_pinned=True)["is_pinned"] is True
    assert "is_pinned" not in taken(is_pinned=ABSENT)


@pytest.mark.parametrize("value", ["", "yesterday", "2026-04-01T09:30:00", "2026-04-01T09:30:00+02:00", 1, None, {}])
def test_025_the_time_of_a_chunk_is_utc(value: object) -> None:
    assert refused(made.with_chunk(created_at=value)) == ("invalid_timestamp", "chunks[0].created_at")


def test_025_the_time_of_a_chunk_stays_as_it_was_said() -> None:
    assert taken(created_at="2026-04-01T09:30:00.5000+00:00")["created_at"] == "2026-04-01T09:30:00.5000+00:00"


@pytest.mark.parametrize("value", [None, "db", {}, 1, [""], ["x" * 65], [1], [None], ["db", ["db"]], ["😀" * 65]])
def test_026_tags_are_texts_of_1_to_64_code_points(value: object) -> None:
    code, where = refused(made.with_chunk(tags=value))
    assert code == "invalid_tag" and where.startswith("chunks[0].tags")


def test_026_tags_are_counted_in_code_points_and_may_be_missing() -> None:
    assert taken(tags=["😀" * 64, "a", "a"])["tags"] == ["😀" * 64, "a", "a"]
    assert taken(tags=[])["tags"] == []
    assert "tags" not in taken(tags=ABSENT)


def test_027_an_id_stands_once() -> None:
    chunks = [made.chunk("c1"), made.chunk("c2"), made.chunk("c1", "Something else.")]
    assert refused(made.bundle(chunks=chunks)) == ("duplicate_chunk_id", "chunks[2].id")
    with writer() as into, pytest.raises(BundleRefused) as caught:
        for chunk in chunks:
            into.chunk(chunk)
    assert caught.value.format_code == "duplicate_chunk_id"


def test_028_what_is_no_embedding_is_refused() -> None:
    assert refused(made.with_chunk(embedding=[1.0, 2.0])) == ("invalid_type", "chunks[0].embedding")


def test_a_chunk_that_a_dna_bundle_is_not_for_is_taken_with_a_word() -> None:
    chunks = [made.chunk("c1"), made.chunk("c2", is_pinned=True), made.chunk("c3", memory_type="pitfall")]
    found = bundle_reading.parse_bundle(made.document(made.bundle(scope="DNA_ONLY", chunks=chunks)))
    assert [notice.code for notice in found.notices] == ["scope_violation"]
    assert found.notices[0].text.startswith("1 ")


def test_the_first_wrong_chunk_is_the_one_that_is_told() -> None:
    chunks = [made.chunk("c1"), made.chunk("c2", zone="no"), made.chunk("c3", memory_type="no")]
    assert refused(made.bundle(chunks=chunks)) == ("invalid_zone", "chunks[1].zone")


def test_a_writer_refuses_more_than_a_reader_takes() -> None:
    envelope = Envelope("aimem-bundle", "1", made.PRODUCER, made.TENANT, made.WHEN, "FULL")
    with BundleWriter(envelope, limits=BundleLimits(chunks=1)) as into:
        into.chunk(made.chunk("c1"))
        with pytest.raises(BundleRefused) as caught:
            into.chunk(made.chunk("c2"))
    assert caught.value.format_code == "too_many"


def test_a_writer_takes_nothing_after_the_end_and_no_word_of_the_stream() -> None:
    with writer() as into:
        with pytest.raises(ValueError):
            into.chunk(made.chunk(_kind="chunk"))
        into.finish()
        with pytest.raises(ValueError):
            into.chunk(made.chunk("c2"))


@pytest.mark.parametrize("content_hash", [ABSENT, "sha256:" + "0" * 64])
def test_017_a_writer_refuses_half_a_character(content_hash: object) -> None:
    chunk = {**made.chunk(content_hash=content_hash), "content": "half \ud83d"}
    assert not_written(chunk) == "not_canonicalizable"
    assert not_written(made.chunk(x_alf={"note": "\udfff"})) == "not_canonicalizable"
    assert not_written(made.chunk(x_alf={"confidence": float("nan")})) == "not_canonicalizable"
