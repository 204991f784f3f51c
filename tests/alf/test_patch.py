"""Patches between two texts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.deltas import zstd_patch
from lifeboat_alf.errors import ApplyError


def text(length, seed=1):
    return random.Random(seed).randbytes(length // 2).hex().encode()


@pytest.mark.parametrize("length", [600, 100_000, 3_000_000])
def test_a_line_inserted_into_a_text_is_a_small_patch(length):
    base = text(length)
    new = base[: length // 3] + b"\nOne more line.\n" + base[length // 3 :]
    made = zstd_patch.make_patch(base, new)
    assert made is not None and len(made) < 1000
    assert zstd_patch.apply_patch(base, made, len(new)) == new


@pytest.mark.parametrize(("base", "new"), [(b"", b"abc" * 99), (b"short", b"abc" * 99), (text(900), text(900, 2))])
def test_what_would_not_pay_is_no_patch(base, new):
    assert zstd_patch.make_patch(base, new) is None


def test_texts_over_the_limit_are_not_patched():
    large = bytes(zstd_patch.SIZE_LIMIT + 1)
    assert zstd_patch.make_patch(large, large) is None
    with pytest.raises(ApplyError):
        zstd_patch.apply_patch(large, b"", 10)


@pytest.mark.parametrize("spoil", [lambda p: p[:-1], lambda p: p + b"x", lambda p: b"no patch", lambda p: b""])
def test_a_damaged_patch_is_refused(spoil):
    base = text(5000)
    made = zstd_patch.make_patch(base, base + b"more")
    with pytest.raises(ApplyError):
        zstd_patch.apply_patch(base, spoil(made), len(base) + 4)


def test_a_patch_that_makes_more_than_it_says_is_stopped():
    base = text(5000)
    made = zstd_patch.make_patch(base, base * 40)
    with pytest.raises(ApplyError, match="5000 bytes"):
        zstd_patch.apply_patch(base, made, 5000)


@given(st.binary(min_size=8, max_size=3000), st.binary(max_size=200), st.integers(0, 3000))
def test_every_patch_gives_the_new_text_back(base, inserted, at):
    new = base[:at] + inserted + base[at:]
    made = zstd_patch.make_patch(base, new)
    assert made is None or zstd_patch.apply_patch(base, made, len(new)) == new
