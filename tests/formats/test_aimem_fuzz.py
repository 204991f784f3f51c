"""Any bytes are accepted as an AIMEM bundle or refused soon, without revealing their content."""

from __future__ import annotations

import io
import json
import time
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import BundleLimits, BundleRefused
from support.formats import aimem_bundles as made
from support.formats.aimem_states import open_bundle_bytes

CODES = {
    "malformed_json", "nested_too_deep", "not_canonicalizable", "not_object", "bad_format", "unsupported_version",
    "missing_field", "invalid_producer", "invalid_tenant_id", "invalid_timestamp", "invalid_scope", "since_missing",
    "bad_since", "invalid_type", "missing_checksum", "checksum_mismatch", "too_large", "too_many", "empty_content",
    "content_too_long", "bad_hash_format", "hash_mismatch", "invalid_memory_type", "invalid_zone",
    "invalid_is_pinned", "invalid_tag", "invalid_urn", "duplicate_chunk_id", "duplicate_entity_id",
    "embedding_envelope_missing", "embedding_dim_mismatch", "invalid_embedding", "invalid_edge_type",
    "edge_weight_out_of_range", "edge_source_unknown", "edge_target_unknown", "empty_entity_name",
    "invalid_entity_kind", "ce_chunk_unknown", "ce_entity_unknown", "unknown_kind",
}  # fmt: skip
SEEDS = [form(bundle) for bundle in (made.sample(), made.bundle()) for form in (made.document, made.stream)]
SMALL = BundleLimits(
    document=200_000, stream=200_000, line=100_000, chunks=100, edges=100, entities=100, chunk_entities=100
)
SECRET = "4711-open-sesame"


def outcome(data: bytes, limits: BundleLimits = SMALL) -> str:
    """Return the code with which bytes are refused, "" if they are accepted. Both readers agree."""
    found = _code(data, limits)
    try:
        bundle_reading.parse_bundle(data, limits=limits)
    except BundleRefused as problem:
        assert problem.format_code in CODES and problem.status in (409, 413, 422)
    return found


def _code(data: bytes, limits: BundleLimits) -> str:
    try:
        with open_bundle_bytes(data, limits=limits) as bundle:
            for name in made.ARRAYS:
                assert len(list(bundle.array(name))) == len(bundle.array(name))
            assert b"".join(bundle_reading.canonical_bundle_pieces(bundle))
    except BundleRefused as problem:
        assert problem.format_code in CODES and problem.status in (409, 413, 422)
        assert SECRET not in problem.message and problem.message.isprintable()
        return problem.format_code
    return ""


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
@example(b"\xff\xfe")
@example(b"{}")
@example(b"[" * 100_000)
def test_any_bytes_are_refused(data: bytes) -> None:
    assert outcome(data) != ""


def _mutated(seed: bytes, random: Random) -> bytes:
    data = bytearray(seed)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data) + 1)
        choice = random.randrange(5)
        if choice == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif choice == 1:
            del data[at : at + random.randint(1, 40)]
        elif choice == 2:
            data[at:at] = data[at : at + random.randint(1, 40)]
        elif choice == 3:
            data[at:at] = random.choice([b"\x00", b'"', b"{", b"\\", b"\xff", b"NaN", b"\n", b"1e400", b"[" * 200])
        else:
            data = data.replace(b'"', random.choice([b"'", b'"', b'\\"']), random.randint(1, 3))
    return bytes(data)


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(SEEDS), st.integers())
def test_a_mutated_bundle_is_taken_or_refused(seed: bytes, number: int) -> None:
    outcome(_mutated(seed, Random(number)))


_json: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["x-", "FULL", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [before, *(path for key, item in items for path in _paths(item, (*before, key)))]


PATHS = [path for path in _paths(made.sample()) if path and path != ("checksum",)]


def _set(value: Any, path: tuple[Any, ...], item: Any) -> Any:
    if not path:
        return item
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _set(copy[path[0]], path[1:], item)
    return copy


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PATHS), _json, st.booleans())
def test_a_bundle_with_anything_in_one_place_is_taken_or_refused(path: Any, value: Any, is_stream: bool) -> None:
    bundle = _set(made.sample(), path, value)
    try:
        bundle = made.sealed(bundle)
    except ValueError:  # what RFC 8785 cannot write has no checksum
        bundle["checksum"] = "sha256:" + "0" * 64
    if is_stream and any(not _is_list_of_objects(bundle[name]) for name in made.ARRAYS):
        return
    data = (made.stream if is_stream else _ascii)(bundle) if _is_utf8(bundle) else _ascii(bundle)
    outcome(data)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_utf8(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _ascii(bundle: Any) -> bytes:
    return json.dumps(bundle).encode()


def test_a_secret_in_a_wrong_place_is_not_repeated() -> None:
    for path in PATHS:
        bundle = made.sealed(_set(made.sample(), path, f"{SECRET}\x1b[31m"))
        outcome(_ascii(bundle))


@pytest.mark.parametrize(
    "make",
    [
        lambda: b'{"format":' * 300_000,
        lambda: b"[[]," * 500_000,
        lambda: b'{"a":1,' * 400_000,
        lambda: b"\n" * 3_000_000,
        lambda: b" " * 3_000_000 + b"{}",
        lambda: made.document(made.bundle(x_other=[[]] * 200_000)),
        lambda: made.document(made.with_chunk(tags=["t"] * 300_000)),
        lambda: made.document(made.with_chunk(content="\\\x00" * 500_000)),
        lambda: made.document(made.bundle(**{f"x{number}": number for number in range(40_000)})),
        lambda: made.stream(made.bundle()) + b'{"_kind":"chunk"}\n' * 40_000,
        lambda: made.stream(made.bundle()) + b"\n" * 1_000_000,
        lambda: made.document(made.bundle(chunks=[{}] * 100_000)),
    ],
)
def test_large_nonsense_takes_time_in_proportion_only(make: Any) -> None:
    data, begun = make(), time.process_time()
    with io.BytesIO(data) as source:
        try:
            with bundle_reading.open_bundle(source):
                pass
        except BundleRefused as problem:
            assert problem.format_code in CODES
    assert time.process_time() - begun < 15
