"""The decoder stays within its limits on any bytes, and every result maps back into them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.disguises import DISGUISES, SECRET
from support.fuzz.fuzz_readers import decode_disguises, seeds

_SEEDS = [*(make(SECRET) for make in DISGUISES.values()), *seeds("decoding")]
_PARTS = st.sampled_from(_SEEDS).flatmap(
    lambda seed: st.tuples(st.integers(0, len(seed)), st.integers(0, len(seed))).map(
        lambda ends: seed[slice(*sorted(ends))]
    )
)
_ODD = st.sampled_from(
    [b"\0", b"\n", b"=\n", b"0x", b"\\x", b"%", b"&#", b"~>", b"PK\3\4", b"BZh", b"\xff\xfe", b"SQLite format 3\0"]
)


@given(st.lists(st.one_of(_PARTS, _ODD, st.binary(max_size=24)), max_size=6).map(b"".join))
def test_the_decoder_ends_and_stays_within_the_bytes(data: bytes) -> None:
    decode_disguises(data)
