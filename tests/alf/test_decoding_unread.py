"""Undecodable content is reported: unsupported formats by their first bytes, oversized and damaged content."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable
from random import Random

import pytest

from lifeboat_alf.decoding.decoder import decode_layers
from lifeboat_alf.decoding.decoding_budget import DecodingBudget
from lifeboat_alf.decoding.unread_forms import unread_form, unread_in


@pytest.mark.parametrize(
    ("start", "form"),
    [
        (b"PK\x03\x04rest", ""),
        (b"%PDF-1.7", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "a picture"),
        (b"\0\0\0\x18ftypmp42", "a film"),
        (b"age-encryption.org/v1\n", "encrypted"),
        (b"BMW is a company of cars", ""),
        (b"", ""),
    ],
)
def test_a_form_is_known_by_its_first_bytes(start: bytes, form: str) -> None:
    assert unread_form(start) == form


def test_texts_and_archives_are_looked_into() -> None:
    assert unread_in(b"# A note about PK\x03\x04 and x^2\n" + b"0123456789abcdef" * 4) == ""
    assert unread_in(gzip.compress(b"text " * 100)) == ""


@pytest.mark.parametrize("sign", [b"x\x01", b"x^", b"x\x9c", b"x\xda"])
@pytest.mark.parametrize("number", range(8))
def test_an_id_that_begins_like_zlib_by_chance_is_not_named_as_damaged(sign: bytes, number: int) -> None:
    digest = bytes(byte | 0x80 for byte in hashlib.sha512(bytes([number])).digest())  # without a word by chance
    assert unread_in(b'"id": "' + base64.b64encode(sign + digest) + b'"\n') == ""


@pytest.mark.parametrize("sign", [b"x\x01", b"x^", b"x\x9c", b"x\xda"])
@pytest.mark.parametrize("size", [100, 1000, 10_000])
def test_random_bytes_that_begin_like_zlib_are_not_named_as_damaged(sign: bytes, size: int) -> None:
    random = Random(size)
    for _ in range(20):
        drawn = sign + random.randbytes(size)
        assert unread_in(b"key: " + base64.b64encode(drawn) + b"\n") == ""
        assert unread_in(drawn) == ""
        assert unread_in(b"\0\1" + drawn) == ""


TEXT = b"".join(b"line %d of the text about boats\n" % number for number in range(5000))
CUT_OFF = "damaged or incomplete compressed data"


@pytest.mark.parametrize("length", [90, 300, 6000])
@pytest.mark.parametrize(
    "spelled", [bytes, base64.b64encode, lambda data: b"\0\1\2" + data], ids=["raw", "base64", "later"]
)
@pytest.mark.parametrize("compress", [zlib.compress, gzip.compress])
def test_a_stream_that_is_cut_off_is_named(
    compress: Callable[[bytes], bytes], spelled: Callable[[bytes], bytes], length: int
) -> None:
    assert unread_in(spelled(compress(TEXT)[:length])) == CUT_OFF


def test_a_short_stream_that_is_cut_off_is_named() -> None:
    assert unread_in(zlib.compress(b"the token is ghp_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3fG, keep it")[:40]) == CUT_OFF


@pytest.mark.parametrize("at", [300, 6000])
def test_a_zlib_stream_that_is_damaged_within_is_named_and_read_up_to_there(at: int) -> None:
    data = bytearray(zlib.compress(TEXT))
    data[at : at + 40] = bytes(40 * [255])
    work = DecodingBudget.for_size(len(data))
    (reading, *_) = decode_layers(bytes(data), work)
    assert reading.data.startswith(b"line 0 of the text")
    assert work.unread == {CUT_OFF}


def test_an_encrypted_member_of_an_archive_is_named() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.txt", "text " * 100)
    data = bytearray(out.getvalue())
    data[6] |= 1
    assert unread_in(bytes(data)) == "encrypted data"


def test_a_damaged_archive_is_named_and_read_up_to_the_damage() -> None:
    data = gzip.compress(b"".join(b"line %d of the text\n" % number for number in range(5000)))
    work = DecodingBudget.for_size(len(data))
    (reading, *_) = decode_layers(data[:6000], work)
    assert reading.data.startswith(b"line 0 of the text")
    assert work.unread == {"damaged or incomplete compressed data"}


def test_what_is_compressed_three_times_is_named() -> None:
    data = b"text " * 100
    for _ in range(3):
        data = gzip.compress(data)
    assert unread_in(data) == "data that is encoded or compressed more than twice"


def test_a_bomb_is_stopped_and_named() -> None:
    work = DecodingBudget(bytes_left=1 << 20)
    assert sum(len(reading.data) for reading in decode_layers(gzip.compress(bytes(64 << 20)), work)) <= 1 << 20
    assert work.unread == {"damaged or incomplete compressed data", "more data than the limit for decoding"}


def test_many_streams_are_too_many() -> None:
    work = DecodingBudget(streams_left=3)
    list(decode_layers(gzip.compress(b"text" * 9) * 5, work))
    assert work.unread == {"more data than the limit for decoding"}


def test_the_work_grows_with_the_input_alone() -> None:
    spelled = base64.b64encode(b"some words " * 10)
    for _ in range(12):
        spelled = base64.b64encode(spelled)
    work = DecodingBudget.for_size(len(spelled))
    most = work.bytes_left
    decoded = sum(len(reading.data) for reading in decode_layers(spelled, work))
    assert decoded <= most
