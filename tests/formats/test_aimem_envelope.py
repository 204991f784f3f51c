"""The envelope of an AIMEM bundle (sections 2.1 and 7), and the order of its checks."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import AimemBundle, BundleLimits, BundleRefused, Envelope
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from support.formats import aimem_bundles as made
from support.formats.aimem_bundles import ABSENT

STALE = "sha256:" + "0" * 64


def refused(data: bytes | dict[str, Any]) -> tuple[str, int]:
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(data if isinstance(data, bytes) else made.document(data))
    return caught.value.format_code, caught.value.status


def taken(bundle: dict[str, Any]) -> AimemBundle:
    return bundle_reading.parse_bundle(made.document(bundle))


def codes(bundle: AimemBundle) -> list[str]:
    return [notice.code for notice in bundle.notices]


def envelope(**changes: Any) -> Envelope:
    return Envelope(**{"format": "aimem-bundle", "version": "1", "producer": made.PRODUCER, "tenant_id": made.TENANT,
                       "exported_at": made.WHEN, "scope": "FULL", **changes})  # fmt: skip


def written(**changes: Any) -> dict[str, Any]:
    out = io.BytesIO()
    with BundleWriter(envelope(**changes)) as writer:
        writer.write_json(out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.mark.parametrize("what", made.INVALID)
def test_056_what_is_wrong_in_one_way_is_refused_for_that(what: str) -> None:
    bundle, code, status = made.INVALID[what]
    assert refused(bundle) == (code, status)


@pytest.mark.parametrize("what", made.ODD)
def test_056_what_is_at_the_edge_of_what_is_allowed_is_taken(what: str) -> None:
    bundle = made.ODD[what]
    found = taken(bundle)
    assert [list(found.array(name)) for name in made.ARRAYS] == [bundle.get(name, []) for name in made.ARRAYS]
    assert found.envelope.checksum == bundle["checksum"]


def test_001_what_is_written_is_utf_8_without_a_byte_order_mark() -> None:
    out = io.BytesIO()
    with BundleWriter(envelope()) as writer:
        writer.chunk(made.chunk(content="naïve 日本 😀"))
        writer.write_json(out)
    assert out.getvalue().startswith(b"{") and "naïve 日本 😀".encode() in out.getvalue()


@pytest.mark.parametrize("data", [b'{"format":', b"{}x", b'{"a":NaN}', b"\xff", b'{"format":1,"format":1}', b""])
def test_001_bad_json_comes_before_everything_else(data: bytes) -> None:
    assert refused(data) == ("malformed_json", 422)


@pytest.mark.parametrize("data", [b"[]", b'"aimem-bundle"', b"null", b"1", b"true"])
def test_002_a_root_that_is_no_object_is_refused(data: bytes) -> None:
    assert refused(data) == ("not_object", 422)


@pytest.mark.parametrize("value", ["AIMEM-bundle", "", None, 1, ["aimem-bundle"], ABSENT, "aimem-bundle "])
def test_003_another_format_is_refused(value: object) -> None:
    assert refused(made.bundle(format=value)) == ("bad_format", 422)


def test_003_the_name_before_the_draft_is_taken_with_a_word_and_never_written() -> None:
    assert codes(taken(made.bundle(format="memoryai-bundle"))) == ["legacy_format"]
    assert written()["format"] == "aimem-bundle"


@pytest.mark.parametrize("value", ["2", 1, "1.0", ABSENT, None, "01", 1.0, True])
def test_004_another_version_is_refused(value: object) -> None:
    assert refused(made.bundle(version=value)) == ("unsupported_version", 422)


@pytest.mark.parametrize("value", ["", "A", "a_b", "a.b", "a" * 64, "alf\n", "é", None, 7, ["alf"]])
def test_005_a_producer_that_is_no_namespace_is_refused(value: object) -> None:
    assert refused(made.bundle(producer=value)) == ("invalid_producer", 422)
    if isinstance(value, str):
        with pytest.raises(BundleRefused):
            BundleWriter(envelope(producer=value))


@pytest.mark.parametrize("value", ["a", "-", "0", "a" * 63, "memoryai-prod"])
def test_005_every_namespace_is_taken(value: str) -> None:
    assert taken(made.bundle(producer=value)).envelope.producer == value


@pytest.mark.parametrize("name", ["producer", "tenant_id", "exported_at", "scope"])
def test_005_a_member_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(BundleRefused) as caught:
        taken(made.bundle(**{name: ABSENT}))
    assert (caught.value.format_code, caught.value.where) == ("missing_field", name)


@pytest.mark.parametrize("value", ["", "ada", "11111111", ":x", "1a:b", "did:", 5, None, "a b:c", "did:exa mple", {}])
def test_006_a_tenant_that_is_neither_uuid_nor_uri_is_refused(value: object) -> None:
    assert refused(made.bundle(tenant_id=value)) == ("invalid_tenant_id", 422)


@pytest.mark.parametrize(
    "value", [made.TENANT, made.TENANT.replace("1", "A"), "did:example:123", "urn:uuid:" + made.TENANT, "mailto:a@b"]
)
def test_006_a_uuid_a_uri_and_a_did_are_tenants(value: str) -> None:
    assert taken(made.bundle(tenant_id=value)).envelope.tenant_id == value


NO_TIMES = [
    "", "now", "2026-06-12", "2026-06-12T10:00:00", "2026-06-12T10:00:00+02:00", "2026-06-12 10:00:00Z",
    "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-06-12T24:00:00Z", "2026-06-12T10:60:00Z",
    "2026-06-12T10:00:61Z", "2026-06-12T10:00:60Z", "2026-06-12T10:00:00.Z", "0000-01-01T00:00:00Z",
    "2026-06-12T10:00:00Z\n", "٢٠٢٦-06-12T10:00:00Z", "2026-06-12t10:00:00z", 1781258400, None,
    ["2026-06-12T10:00:00Z"],
]  # fmt: skip


@pytest.mark.parametrize("value", NO_TIMES)
def test_007_a_time_that_is_none_or_not_utc_is_refused(value: object) -> None:
    assert refused(made.bundle(exported_at=value)) == ("invalid_timestamp", 422)


@pytest.mark.parametrize(
    "value",
    ["2026-06-12T10:00:00Z", "2026-06-12T10:00:00+00:00", "2026-06-12T10:00Z", "2026-06-12T10:00:00,5Z",
     "2026-06-12T10:00:00.123456789012Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "2024-02-29T00:00:00Z"],
)  # fmt: skip
def test_007_every_time_in_utc_is_taken_and_stays_as_it_was_said(value: str) -> None:
    assert taken(made.bundle(exported_at=value)).envelope.exported_at == value


@pytest.mark.parametrize("value", ["full", "", "ALL", None, 1, ["FULL"]])
def test_008_another_scope_is_refused(value: object) -> None:
    assert refused(made.bundle(scope=value)) == ("invalid_scope", 422)


def test_008_all_three_scopes_are_taken() -> None:
    for scope in ("FULL", "DNA_ONLY", "SINCE"):
        assert taken(made.bundle(scope=scope, since=made.WHEN)).envelope.scope == scope


@pytest.mark.parametrize("value", [ABSENT, None])
def test_009_a_window_needs_a_beginning(value: object) -> None:
    assert refused(made.bundle(scope="SINCE", since=value)) == ("since_missing", 422)


@pytest.mark.parametrize("value", ["x", 5, "2026-06-12", "", "2026-06-12T10:00:00+01:00"])
def test_009_the_beginning_of_a_window_is_a_time(value: object) -> None:
    assert refused(made.bundle(scope="SINCE", since=value)) == ("bad_since", 422)


def test_009_a_beginning_counts_in_a_window_only() -> None:
    assert taken(made.bundle(scope="SINCE", since=made.WHEN)).envelope.since == made.WHEN
    ignored = taken(made.bundle(scope="FULL", since="long ago"))
    assert (ignored.envelope.since, codes(ignored)) == (None, ["since_ignored"])


def test_009_a_writer_refuses_a_window_without_a_beginning() -> None:
    with pytest.raises(BundleRefused) as caught:
        BundleWriter(envelope(scope="SINCE"))
    assert caught.value.format_code == "since_missing"
    assert written(scope="SINCE", since=made.WHEN)["since"] == made.WHEN


def test_010_all_eleven_members_are_written() -> None:
    names = {"format", "version", "producer", "tenant_id", "exported_at", "scope", "checksum"}
    assert set(written()) == names | set(made.ARRAYS)
    assert written() == made.bundle()


def test_010_chunks_have_to_be_there() -> None:
    assert refused(made.bundle(chunks=ABSENT)) == ("missing_field", 422)


@pytest.mark.parametrize("name", ["edges", "entities", "chunk_entities"])
def test_010_other_arrays_may_be_missing(name: str) -> None:
    assert list(taken(made.bundle(**{name: ABSENT})).array(name)) == []


@pytest.mark.parametrize("name", made.ARRAYS)
@pytest.mark.parametrize("value", [None, {}, "", 0, False])
def test_010_what_is_no_array_is_refused(name: str, value: object) -> None:
    assert refused(made.bundle(**{name: value})) == ("invalid_type", 422)


def test_011_a_bundle_without_a_checksum_is_refused() -> None:
    assert refused(made.bundle(checksum=ABSENT)) == ("missing_checksum", 422)


EMBEDDED = [made.chunk("c0"), made.chunk("c1", embedding=made.packed(1.0, 2.0))]


@pytest.mark.parametrize("dimensions", [ABSENT, None, "2", True, 0, -2, 2.5, [2]])
def test_012_an_embedding_needs_its_length_in_the_envelope(dimensions: object) -> None:
    bundle = made.bundle(chunks=EMBEDDED, embedding_dim=dimensions, embedding_model=made.MODEL)
    assert refused(bundle) == ("embedding_envelope_missing", 422)


@pytest.mark.parametrize("model", [ABSENT, None, "", 3, ["m"]])
def test_012_an_embedding_needs_its_model_in_the_envelope(model: object) -> None:
    bundle = made.bundle(chunks=EMBEDDED, embedding_dim=2, embedding_model=model)
    assert refused(bundle) == ("embedding_envelope_missing", 422)


def test_012_without_an_embedding_nothing_is_needed() -> None:
    assert taken(made.bundle(chunks=[made.chunk()], embedding_dim=None)).envelope.embedding_dim is None
    found = taken(made.bundle(chunks=EMBEDDED, embedding_dim=2, embedding_model=made.MODEL)).envelope
    assert (found.embedding_dim, found.embedding_model) == (2, made.MODEL)


def test_013_unknown_members_are_kept_and_covered() -> None:
    bundle = made.bundle(x_other={"a": [1]}, chunks=[made.chunk(x_alf={"b": 2})])
    found = taken(bundle)
    assert found.envelope.extra == {"x_other": {"a": [1]}}
    assert next(iter(found.chunks))["x_alf"] == {"b": 2}
    assert refused({**bundle, "x_other": {"a": [2]}}) == ("checksum_mismatch", 409)
    assert refused({**bundle, "x_more": 1}) == ("checksum_mismatch", 409)


def test_013_unknown_members_of_an_envelope_are_written_again() -> None:
    assert written(extra={"x_other": {"a": [1]}}) == made.bundle(x_other={"a": [1]})


@pytest.mark.parametrize("version", ["2", "2.0", "10"])
def test_077_a_later_major_version_is_never_taken(version: str) -> None:
    for bundle in (made.bundle(version=version), {**made.sample(), "version": version}):
        assert refused(bundle) == ("unsupported_version", 422)


def test_077_what_is_written_is_version_one() -> None:
    assert written()["version"] == "1"


BAD_CHUNK = [made.chunk(memory_type="opinion")]
IN_ORDER: list[tuple[dict[str, Any], str]] = [
    ({"format": "other"}, "bad_format"),
    ({"version": "2"}, "unsupported_version"),
    ({"producer": "NO"}, "invalid_producer"),
    ({"tenant_id": "no"}, "invalid_tenant_id"),
    ({"exported_at": "no"}, "invalid_timestamp"),
    ({"scope": "no"}, "invalid_scope"),
    ({"edges": None}, "invalid_type"),
    ({"checksum": STALE}, "checksum_mismatch"),
    ({"chunks": BAD_CHUNK}, "invalid_memory_type"),
    ({"chunk_entities": [made.link()]}, "ce_chunk_unknown"),
]
"""What may be wrong, each in another member, in the order in which it is said."""


@pytest.mark.parametrize(
    ("first", "second"), [(a, b) for a in range(len(IN_ORDER)) for b in range(a + 1, len(IN_ORDER))]
)
def test_of_two_things_that_are_wrong_the_first_in_order_is_said(first: int, second: int) -> None:
    bundle = made.bundle(**IN_ORDER[second][0], **IN_ORDER[first][0])
    assert refused(bundle)[0] == IN_ORDER[first][1]


@pytest.mark.parametrize("wrong", IN_ORDER[:7])
def test_an_envelope_comes_before_a_stale_checksum(wrong: tuple[dict[str, Any], str]) -> None:
    assert refused(made.bundle(**wrong[0], checksum=STALE)) == (wrong[1], 422)


def test_a_number_that_cannot_be_hashed_comes_after_the_envelope() -> None:
    text = made.document(made.bundle(scope="no", x_other=0)).replace(b'"x_other": 0', b'"x_other": 1e400')
    assert refused(text) == ("invalid_scope", 422)
    text = made.document(made.bundle(x_other=0)).replace(b'"x_other": 0', b'"x_other": 1e400')
    assert refused(text) == ("not_canonicalizable", 422)


@pytest.mark.parametrize("name", made.ARRAYS)
def test_more_records_than_a_reader_takes_are_too_many(name: str) -> None:
    bundle = made.bundle(**{name: [{}] * 3})
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(
            made.document(bundle), limits=BundleLimits(chunks=2, edges=2, entities=2, chunk_entities=2)
        )
    assert (caught.value.format_code, caught.value.status, caught.value.where) == ("too_many", 413, name)


def test_a_document_over_the_limit_is_too_large() -> None:
    data = made.document(made.sample())
    limits = BundleLimits(document=len(data) - 1)
    for read in (
        lambda: bundle_reading.parse_bundle(data, limits=limits),
        lambda: list(map(str, _opened(data, limits))),
    ):
        with pytest.raises(BundleRefused) as caught:
            read()
        assert (caught.value.format_code, caught.value.status) == ("too_large", 413)
    assert bundle_reading.parse_bundle(data, limits=BundleLimits(document=len(data))).envelope.producer == made.PRODUCER


def _opened(data: bytes, limits: BundleLimits) -> list[AimemBundle]:
    with bundle_reading.open_bundle(io.BytesIO(data), limits=limits) as bundle:
        return [bundle]


def test_a_refusal_names_the_place_and_nothing_of_the_content() -> None:
    chunks = [made.chunk("c1"), made.chunk("c2", "The door opens with 4711.", memory_type="\x1b[31m4711")]
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(made.document(made.bundle(chunks=chunks)))
    assert caught.value.where == "chunks[1].memory_type"
    assert "4711" not in caught.value.message and "\x1b" not in caught.value.message
    assert caught.value.fix
