"""The fuzzing target without its fuzzer: random splices into valid files succeed or raise a typed error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.errors import AlfError
from support.fuzz import fuzz_archive

TEXTS = [b"null", b"[]", b"{}", b'"x"', b"-1", b"1e400", b"9" * 30, b"true", b'"', b"}", b"\n", b"\xff", b"../", b"\\"]
splices = st.builds(
    lambda entry, place, length, inserted: bytes([entry]) + place.to_bytes(2, "big") + bytes([length]) + inserted,
    st.integers(0, 255),
    st.integers(0, 4000),
    st.integers(0, 40),
    st.sampled_from(TEXTS) | st.binary(max_size=20),
)


def test_the_good_files_it_starts_from_are_good():
    fuzz_archive.read_snapshot(fuzz_archive.rebuilt(fuzz_archive.snapshot(), fixed=True))
    fuzz_archive.read_delta(fuzz_archive.rebuilt(fuzz_archive.delta(), fixed=True))


@pytest.mark.parametrize("kind", [2, 3, 4], ids=["snapshot", "delta", "unsigned"])
@settings(max_examples=200)
@given(splice=splices)
def test_a_splice_into_an_entry_is_a_typed_error_or_harmless(kind, splice):
    fuzz_archive.one_input(bytes([kind]) + splice)


@pytest.mark.parametrize("kind", [0, 1], ids=["snapshot", "delta"])
@given(data=st.binary(max_size=400))
def test_any_bytes_are_a_typed_error(kind, data):
    fuzz_archive.one_input(bytes([kind]) + data)
    read = fuzz_archive.read_snapshot if kind == 0 else fuzz_archive.read_delta
    with pytest.raises(AlfError):
        read(data)


VALUES = [
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    "",
    "x",
    "../x",
    "a\0b",
    [],
    {},
    [None],
    [{}],
    {"a": None},
    [[]],
    "manifest.json",
]


def places(value, path=()):
    """Yield every place in a JSON value, as keys and indexes."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(value, path, new):
    """Return the value with a new one at a place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("kind", ["snapshot", "delta", "unsigned"])
@settings(max_examples=300)
@given(data=st.data())
def test_any_value_anywhere_in_any_document_is_a_typed_error_or_harmless(kind, data):
    good = getattr(fuzz_archive, kind)()
    name = data.draw(st.sampled_from(sorted(name for name in good if name.endswith((".json", ".jsonl")))))
    first, *rest = good[name].split(b"\n") if name.endswith(".jsonl") else [good[name]]
    document = json.loads(first)
    path = data.draw(st.sampled_from(list(places(document))))
    edited = json.dumps(changed(document, path, data.draw(st.sampled_from(VALUES)))).encode()
    bodies = {**good, name: b"\n".join([edited, *rest])}
    read = fuzz_archive.read_delta if kind == "delta" else fuzz_archive.read_snapshot
    try:
        read(fuzz_archive.rebuilt(bodies, fixed=name != "manifest.json"))
    except AlfError as error:
        assert error.message
