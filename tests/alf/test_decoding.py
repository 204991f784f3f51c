"""Encoded parts of a text are decoded, and each maps back to the bytes that spell it."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from random import Random
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_alf.decoding.decoder import decode_layers

SECRET = b"tide-key-0123456789/+abcdef"


def spelled(data: bytes, secret: bytes = SECRET) -> set[bytes]:
    """Return the parts of a text that decode to a secret."""
    found = set()
    for reading in decode_layers(data):
        at = reading.data.find(secret)
        if at >= 0:
            found.add(b"".join(data[start:end] for start, end in reading.spans(at, at + len(secret))))
    return found


def test_what_is_written_in_codes_is_read() -> None:
    assert len(spelled(_written_in_codes(SECRET))) == 4


@pytest.mark.parametrize("before", [b"", b"u", b"u:", b"user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_read_wherever_the_secret_begins_in_it(before: bytes, encode: object) -> None:
    encoded = encode(before + SECRET + b"!")  # type: ignore[operator]
    (part,) = spelled(b"Basic " + encoded + b"\n")
    assert part in encoded and len(part) <= len(encoded)


def test_base64_is_read_when_other_letters_stand_before_it() -> None:
    assert spelled(b"xyz" + base64.b64encode(SECRET))


def test_of_a_long_run_only_the_part_with_the_secret_is_named() -> None:
    (part,) = spelled(base64.b64encode(bytes(range(256)) * 100 + SECRET + bytes(range(256)) * 100))
    assert len(part) <= len(SECRET) * 4 // 3 + 8


NOISE = Random(85).randbytes(150_000)


@pytest.mark.parametrize("encode", [base64.b85encode, base64.a85encode])
@pytest.mark.parametrize("before", [b"", b"key=", b'data = "'])
@pytest.mark.parametrize("after", [b"", b"~>", b'";call(1,2)'])
def test_a_long_run_of_base85_is_read_up_to_its_end(
    encode: Callable[[bytes], bytes], before: bytes, after: bytes
) -> None:
    encoded = encode(NOISE + SECRET + b"!")
    assert len(encoded) > 2 * 65536
    (part,) = spelled(before + encoded + after)
    assert part in encoded and len(part) <= len(SECRET) * 5 // 4 + 8


def test_ascii85_with_one_letter_for_four_zero_bytes_is_read() -> None:
    encoded = base64.a85encode(NOISE[:70_000] + bytes(800) + SECRET)
    assert b"z" in encoded
    assert encoded in spelled(encoded)


def test_what_is_compressed_in_a_long_run_of_base85_is_read() -> None:
    assert spelled(base64.b85encode(gzip.compress(NOISE + SECRET)))


@pytest.mark.parametrize("length", range(64, 76))
def test_base64_is_read_where_quoted_printable_breaks_its_line(length: int) -> None:
    encoded = base64.b64encode(b"before " * 6 + SECRET + b" after " * 3)
    assert spelled(encoded[:length] + b"=\n" + encoded[length:] + b"\n")


def test_the_line_behind_padded_base64_is_no_part_of_it() -> None:
    secret = SECRET + b"!!"
    parts = spelled(base64.b64encode(secret) + b"\nafter\n", secret)
    assert parts and not any(b"\n" in part for part in parts)


def test_hexadecimal_is_read_in_both_cases() -> None:
    for text in (SECRET.hex(), SECRET.hex().upper(), "a" + SECRET.hex()):
        assert {part.lower() for part in spelled(text.encode())} == {SECRET.hex().encode()}


def test_percent_encoding_is_read_where_it_need_not_be() -> None:
    whole = "".join(f"%{byte:02x}" for byte in SECRET).encode()
    assert spelled(b"https://example.com/?key=" + whole + b"&x=1") == {whole}
    assert spelled(b"?key=" + quote(SECRET, safe="").encode()) == {quote(SECRET, safe="").encode()}


def test_escapes_are_read() -> None:
    for text in ("".join(f"\\u{byte:04X}" for byte in SECRET), "".join(f"\\x{byte:02x}" for byte in SECRET)):
        assert spelled(f'{{"note": "{text}"}}'.encode()) == {text.encode()}


@given(
    st.text(st.characters(codec="utf-8"), min_size=16, max_size=40), st.text(st.characters(codec="utf-8"), max_size=9)
)
def test_whatever_json_escapes_is_read(secret: str, around: str) -> None:
    inner = json.dumps(secret)[1:-1]
    if "\\" in inner:
        text = json.dumps(around)[1:-1] + inner
        assert inner.encode() in spelled(text.encode(), secret.encode())


def _written_in_codes(secret: bytes) -> bytes:
    """Return the bytes in every supported encoding, concatenated."""
    percent = "".join(f"%{byte:02x}" for byte in secret).encode()
    escaped = "".join(f"\\x{byte:02x}" for byte in secret).encode()
    return b" ".join((base64.b64encode(secret), secret.hex().encode(), percent, escaped))


@given(st.binary(max_size=300) | st.builds(bytes.__add__, st.binary(max_size=9), st.binary().map(_written_in_codes)))
@example(_written_in_codes(SECRET))
def test_any_bytes_can_be_read(data: bytes) -> None:
    for reading in decode_layers(data):
        ((start, end),) = reading.spans(0, len(reading.data))
        assert 0 <= start <= end <= len(data)
