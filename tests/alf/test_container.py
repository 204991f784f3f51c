"""The ZIP container is read safely and written deterministically."""

from __future__ import annotations

import gc
import io
import os
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import deflate
from lifeboat_alf.archive.zip_container import ArchiveReader, ArchiveWriter, ContainerLimits
from lifeboat_alf.errors import ArchiveError, UnsafeEntry
from support.alf.raising import raises_code


def written(entries: dict[str, bytes], level: int = 6) -> bytes:
    out = io.BytesIO()
    writer = ArchiveWriter(out, level)
    for name, data in entries.items():
        writer.add(name, data)
    writer.close()
    return out.getvalue()


def reader(data: bytes, limits: ContainerLimits | None = None) -> ArchiveReader:
    return ArchiveReader(io.BytesIO(data), limits)


ODD_NAMES = [
    "a:b.md",
    "README.md",
    "Readme.md",
    "CON",
    "caf\u00e9/\u65e5\u672c.md",
    "%FF%FE.md",
    "with\nnewline",
    "-rf",
    " ",
]


def test_what_is_written_is_read_back_with_odd_but_legal_names():
    entries = {name: name.encode() * 50 for name in ODD_NAMES}
    with reader(written(entries)) as archive:
        assert archive.names() == ODD_NAMES
        assert {name: archive.read(name) for name in archive.names()} == entries


def test_the_same_content_gives_the_same_bytes_and_every_tool_can_read_them():
    entries = {"a": b"x" * 1000, "b/c": os.urandom(70_000), "empty": b""}
    data = written(entries)
    assert data == written(entries)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == entries
        assert all(info.date_time == (1980, 1, 1, 0, 0, 0) and info.create_system == 3 for info in archive.infolist())
        assert all(info.external_attr >> 16 == 0o100644 and not info.extra for info in archive.infolist())


def test_an_archive_can_be_written_to_a_pipe():
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    writer = ArchiveWriter(pipe)
    with writer.stream("a") as entry:
        entry.write(b"one ")
        entry.write(b"two")
    writer.close()
    assert reader(pipe.data).read("a") == b"one two"


def test_lines_come_with_their_number_and_without_newline():
    data = written({"a.jsonl": b"one\ntwo\r\n\nlast"})
    assert list(reader(data).lines("a.jsonl")) == [(1, b"one"), (2, b"two\r"), (3, b""), (4, b"last")]


def test_a_line_over_the_limit_is_named_and_one_at_the_limit_passes():
    data = written({"a": b"x" * 10 + b"\n" + b"y" * 11 + b"\n"})
    assert list(reader(data, ContainerLimits(line=11)).lines("a"))[1] == (2, b"y" * 11)
    with raises_code(ArchiveError.TOO_LARGE) as caught:
        list(reader(data, ContainerLimits(line=10)).lines("a"))
    assert (caught.value.entry, caught.value.line) == ("a", 2)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../up", "a/../../up", "a\\b", "a//b", "./a", "a/.", "\\\\server\\x", "..", "C:\\x"]
)
def test_names_that_leave_the_folder_are_refused_on_both_sides(name):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"x")
    with pytest.raises(UnsafeEntry):
        reader(out.getvalue())
    with pytest.raises(UnsafeEntry):
        ArchiveWriter(io.BytesIO()).add(name, b"x")


def test_a_zero_byte_in_a_name_is_refused_although_zipfile_cuts_it_off():
    data = written({"good.mdXevil": b"x"}).replace(b"good.mdXevil", b"good.md\0evil")
    with pytest.raises(UnsafeEntry):
        reader(data)


def test_an_entry_that_stands_twice_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    with pytest.raises(UnsafeEntry, match="the archive contains two entries with this name"):
        reader(out.getvalue())
    writer = ArchiveWriter(io.BytesIO())
    writer.add("a", b"1")
    with pytest.raises(UnsafeEntry):
        writer.add("a", b"2")


@pytest.mark.parametrize("mode", [0o120777, 0o010644, 0o060644])
def test_links_and_devices_are_refused(mode):
    out = io.BytesIO()
    info = zipfile.ZipInfo("link")
    info.create_system, info.external_attr = 3, mode << 16
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, b"/etc/passwd")
    with pytest.raises(UnsafeEntry, match="link"):
        reader(out.getvalue())


def test_folder_entries_of_other_tools_are_passed_over():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.mkdir("raw")
        archive.writestr("raw/a", b"x")
    assert reader(out.getvalue()).names() == ["raw/a"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_is_refused_by_name(method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a", b"x" * 100)
    with raises_code(ArchiveError.NOT_AN_ARCHIVE, match="compression") as caught:
        reader(out.getvalue())
    assert caught.value.entry == "a"


def test_an_encrypted_entry_is_refused_by_name():
    data = bytearray(written({"a": b"x"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with raises_code(ArchiveError.NOT_AN_ARCHIVE, match="encrypted"):
        reader(bytes(data))


def test_too_many_entries_too_large_ones_and_too_much_in_all_are_refused():
    data = written({"a": b"x" * 100, "b": b"y" * 100})
    for limits in (ContainerLimits(entries=1), ContainerLimits(entry_size=99), ContainerLimits(total_size=199)):
        with raises_code(ArchiveError.TOO_LARGE):
            reader(data, limits)
    with raises_code(ArchiveError.TOO_LARGE):
        reader(data).read("a", max_bytes=99)


def test_a_bomb_is_refused_before_it_is_unpacked():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(20 << 20))
    with raises_code(ArchiveError.TOO_LARGE, match="times"):
        reader(out.getvalue())


def test_a_large_file_of_zeros_that_we_write_can_be_read():
    data = written({"zeros": bytes(40 << 20)})
    assert len(data) < 25 << 20
    assert reader(data).read("zeros") == bytes(40 << 20)


def test_overlapping_entries_are_refused():
    data = bytearray(written({"a": b"x" * 500, "b": b"y" * 500}))
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = (10).to_bytes(4, "little")
    with pytest.raises(UnsafeEntry, match="overlaps the data of another entry"):
        reader(bytes(data))


def test_more_data_than_declared_is_noticed():
    data = bytearray(written({"a": b"x" * 5000}))
    table = data.index(b"PK\x01\x02")
    short = deflate.compute_crc32(b"x" * 10, 0)
    data[table + 16 : table + 20] = short.to_bytes(4, "little")
    data[table + 24 : table + 28] = (10).to_bytes(4, "little")
    with raises_code(ArchiveError.NOT_AN_ARCHIVE, match="more bytes than it declares"):
        reader(bytes(data)).read("a")


def test_a_digest_that_is_expected_is_proven_at_the_end():
    archive = reader(written({"a": b"text"}))
    archive.expect({"a": "00" * 32})
    with raises_code(ArchiveError.CHECKSUM) as caught:
        archive.read("a")
    assert caught.value.entry == "a"
    with raises_code(ArchiveError.CHECKSUM):
        archive.drain("a")


def test_an_empty_entry_is_proven_too():
    archive = reader(written({"a": b""}))
    archive.expect({"a": "00" * 32})
    with raises_code(ArchiveError.CHECKSUM):
        archive.read("a")


def test_a_missing_entry_is_named():
    with raises_code(ArchiveError.MISSING_ENTRY, match=r"nope\.json"):
        reader(written({"a": b""})).read("nope.json")


@pytest.mark.parametrize("data", [b"", b"PK", b"hello world" * 100])
def test_what_is_no_zip_is_refused(data):
    with raises_code(ArchiveError.NOT_AN_ARCHIVE):
        reader(data)


WHOLE = written({"a.md": b"some text " * 400, "b.bin": bytes(range(256)) * 20})


def read_all(data: bytes) -> dict[str, bytes]:
    with reader(data) as archive:
        return {name: archive.read(name) for name in archive.names()}


@given(st.integers(0, len(WHOLE) - 1))
def test_a_truncated_file_is_a_typed_error(length):
    with pytest.raises(ArchiveError):
        read_all(WHOLE[:length])


def test_no_flipped_bit_changes_content_silently():
    good = sorted(read_all(WHOLE).values())
    for place in range(len(WHOLE) * 8):
        data = bytearray(WHOLE)
        data[place // 8] ^= 1 << place % 8
        try:
            found = read_all(bytes(data))
        except ArchiveError:
            continue
        assert sorted(found.values()) == good, f"bit {place}"


def test_more_entries_than_a_plain_zip_can_count_are_read():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(70_000):
            archive.writestr(str(number), b"")
    assert len(reader(out.getvalue()).names()) == 70_000


def test_a_comment_of_the_file_is_passed_over():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", b"x")
        archive.comment = b"made by a tool PK\x05\x07"
    assert reader(out.getvalue()).read("a") == b"x"


def test_the_hook_of_zipfile_for_the_fast_compressor_is_there():
    with (
        zipfile.ZipFile(io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a", "w") as handle,
    ):
        assert deflate.use_fast(handle, 6), f"zipfile lost {deflate.HOOK}: exports fall back to slow zlib"


def test_without_the_hook_the_standard_compressor_writes_on(monkeypatch):
    monkeypatch.setattr(deflate, "HOOK", "gone")
    assert reader(written({"a": b"x" * 1000})).read("a") == b"x" * 1000


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=400), max_size=20), st.sampled_from([1, 2, 6, 9]))
def test_any_chunks_come_back_whole(chunks, level):
    out = io.BytesIO()
    writer = ArchiveWriter(out, level)
    with writer.stream("a") as entry:
        for chunk in chunks:
            entry.write(chunk)
    writer.close()
    assert reader(out.getvalue()).read("a") == b"".join(chunks)


def test_without_zlib_ng_the_standard_zlib_reads_and_writes(monkeypatch):
    entries = {"a": b"some text " * 9000, "zeros": bytes(20 << 20)}
    fast = written(entries)
    monkeypatch.setattr(deflate, "_zlib", zlib)
    slow = written(entries)
    assert {name: reader(fast).read(name) for name in entries} == entries
    assert {name: reader(slow).read(name) for name in entries} == entries


def test_an_archive_that_was_not_closed_is_none():
    out = io.BytesIO()
    writer = ArchiveWriter(out)
    writer.add("a", b"1")
    with pytest.raises(UnsafeEntry):
        writer.add("../b", b"2")
    del writer
    gc.collect()
    with raises_code(ArchiveError.NOT_AN_ARCHIVE):
        reader(out.getvalue())


@pytest.mark.parametrize(
    "limits", [ContainerLimits(entries=1), ContainerLimits(total_size=3), ContainerLimits(entry_size=1)]
)
def test_the_writer_holds_the_limits_of_the_reader(limits):
    writer = ArchiveWriter(io.BytesIO(), limits=limits)
    with raises_code(ArchiveError.TOO_LARGE):
        for name in ("a", "b"):
            writer.add(name, b"12")
