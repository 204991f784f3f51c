"""Bytes of AICF files: bounded decompression, and decoding without guessing."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_formats.aicf import FORMAT
from lifeboat_formats.aicf.records import piece_relations
from lifeboat_formats.aicf.syntax import file_encoding
from lifeboat_formats.aicf.syntax.document import parse_document
from lifeboat_formats.interchange.contract import ConversionContext
from lifeboat_formats.interchange.errors import SourceRefused


def _code(data: bytes, largest: int = file_encoding.LARGEST) -> str:
    with pytest.raises(SourceRefused) as raised:
        file_encoding.decompress_bytes(data, largest=largest)
    return raised.value.format_code


@given(st.binary(max_size=300))
def test_what_was_compressed_is_unpacked(data: bytes) -> None:
    assert file_encoding.decompress_bytes(file_encoding.compress_bytes(data)) == data
    assert file_encoding.decompress_bytes(gzip.compress(data, mtime=0) + gzip.compress(data) + b"\0" * 7) == data * 2


def test_compressed_files_are_the_same_every_time_and_name_no_time() -> None:
    packed = file_encoding.compress_bytes(b"@STATE\n")
    assert packed == file_encoding.compress_bytes(b"@STATE\n")
    assert packed[4:8] == b"\0\0\0\0"


def test_bytes_that_are_not_compressed_stay_as_they_are() -> None:
    assert file_encoding.decompress_bytes(b"@STATE\n") == b"@STATE\n"
    assert file_encoding.decompress_bytes(b"") == b""


def test_a_large_file_in_pieces_is_unpacked_whole() -> None:
    data = bytes(range(256)) * 4000
    assert file_encoding.decompress_bytes(gzip.compress(data, 1, mtime=0)) == data


def test_a_bomb_is_refused_before_it_takes_more_than_its_bound() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000, mtime=0)
    tracemalloc.start()
    try:
        assert _code(bomb, largest=1_000_000) == "gzip_bomb"
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_the_bound_itself_is_allowed() -> None:
    assert len(file_encoding.decompress_bytes(gzip.compress(b"x" * 1000, mtime=0), largest=1000)) == 1000
    assert _code(gzip.compress(b"x" * 1001, mtime=0), largest=1000) == "gzip_bomb"
    assert _code(gzip.compress(b"x" * 600, mtime=0) * 2, largest=1000) == "gzip_bomb"


@pytest.mark.parametrize(
    "data",
    [
        b"\x1f\x8b",
        gzip.compress(b"text", mtime=0)[:-3],
        gzip.compress(b"text", mtime=0)[:-8] + b"\0" * 8,
        gzip.compress(b"text", mtime=0) + b"rest",
        b"\x1f\x8b\x09" + b"\0" * 20,
        gzip.compress(b"text", mtime=0) + zlib.compress(b"text"),
        gzip.compress(b"", mtime=0) * 5000,
    ],
)
def test_damaged_compressed_data_is_refused(data: bytes) -> None:
    assert _code(data) == "gzip_invalid"


def test_a_file_of_another_encoding_is_refused_with_its_line() -> None:
    with pytest.raises(SourceRefused, match=r"boat\.aicf is not valid UTF-8 at byte 13") as raised:
        parse_document(b"@STATE\r\nname=\xe9t\xe9", name="boat.aicf")
    assert (raised.value.format_code, raised.value.where) == ("utf8_invalid", "line 2")


def test_half_a_character_in_a_text_is_refused() -> None:
    with pytest.raises(SourceRefused) as raised:
        parse_document("@STATE\nname=\ud800")
    assert raised.value.format_code == "utf8_invalid"


def test_links_that_are_too_many_to_follow_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_relations, "MOST_LINKS", 2)
    path = tmp_path / "a.aicf"
    path.write_bytes(b"@INSIGHTS a row\n@LINKS\n" + b"@LINKS insight_001->insight_001|x\n" * 5)
    with FORMAT.read(str(path), {}, ConversionContext("2026-01-01T00:00:00Z")) as made:
        found = [fate.outcome for fate in made.fates if fate.kind == "link"]
    assert found == [ItemOutcome.ACCEPTED] * 2 + [ItemOutcome.UNRESOLVED] * 3
