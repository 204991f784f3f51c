"""Names on disk as archive paths, there and back."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.archive.archive_names import to_archive_name, to_native_name

name_bytes = st.binary(min_size=1, max_size=12).filter(lambda raw: b"\0" not in raw and b"/" not in raw)
odd_text = st.text(alphabet="a%0AéÄ\\:\n", min_size=1, max_size=6)
names = st.one_of(name_bytes.map(os.fsdecode), odd_text)


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("memory/2026-11-20.md", "Größe.md", "100%.md", "a:b.md", "A.md", "日記.md", " x "):
        assert to_archive_name(name) == (name, None)


def test_what_an_archive_cannot_hold_is_percent_encoded() -> None:
    assert to_archive_name("a\nb") == ("a%0Ab", "610a62")
    assert to_archive_name("a\\b")[0] == "a%5Cb"
    assert to_archive_name(os.fsdecode(b"caf\xe9.md")) == ("caf%E9.md", "636166e92e6d64")


def test_a_name_that_looks_encoded_is_no_other_name() -> None:
    assert to_archive_name("a%0Ab")[0] == "a%250Ab"


@given(names)
def test_every_name_comes_back(name: str) -> None:
    path, name_hex = to_archive_name(name)
    path.encode("utf-8")
    assert to_native_name(path, name_hex) == name


@given(names, names)
def test_two_names_never_meet(one: str, other: str) -> None:
    if one != other:
        assert to_archive_name(one)[0] != to_archive_name(other)[0]
