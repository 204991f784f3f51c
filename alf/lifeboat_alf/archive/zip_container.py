"""Read and write the ZIP container of archives and deltas (ALF §4.1).

The reader trusts nothing. Opening a file checks every name, size and attribute before a byte is unpacked; reading an
entry checks size, CRC and (where a digest is expected) SHA-256. `zipfile` only parses the table of contents. Unpacking
is done here because `zipfile` neither notices data beyond the declared size nor limits what a broken header makes it
read.

Reader and writer share the same limits, so every written file can be read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from lifeboat_alf.archive import deflate
from lifeboat_alf.errors import ArchiveError, LifeboatError, UnsafeEntry

LINE_LIMIT = 64 << 20
"""Maximum bytes of one JSONL line, for the reader and the writer."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
_CHUNK = 1 << 18
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_END_SIZE = 22
_END_LIMIT = _END_SIZE + 0xFFFF + 76
_WIDE_END_SIZE = 76
"""Bytes of the ZIP64 end record and its locator."""
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_UTF8_NAME = 0x800
_NAME_LIMIT = 0xFFFF
_ZIP64_LIMIT = (1 << 31) - 1
_UNREADABLE = (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, OverflowError, EOFError)


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """Upper bounds of a container. Sizes are unpacked bytes.

    `ratio` (unpacked to packed) applies only to entries larger than `ratio_from`, because small files of zeros are
    harmless.
    """

    entries: int = 500_000
    entry_size: int = 8 << 30
    total_size: int = 64 << 30
    ratio: int = deflate.RATIO_LIMIT
    ratio_from: int = deflate.RATIO_FROM
    line: int = LINE_LIMIT


def check_name(name: str) -> None:
    """Refuse a name that could escape the target directory or mean two paths. Raises UnsafeEntry.

    Legal but unusual names (`a:b.md`, `CON`, names that differ in case) pass. The code that writes to a file system
    decides whether it can hold them.
    """
    if not name or "\0" in name:
        raise UnsafeEntry("the name of an entry is empty or contains a zero byte", entry=name.replace("\0", "\\0"))
    if "\\" in name or name.startswith("/"):
        raise UnsafeEntry("the name of the entry is absolute or contains a backslash", entry=name)
    if any(part in ("", ".", "..") for part in name.removesuffix("/").split("/")):
        raise UnsafeEntry("the name of the entry contains `..` or an empty part", entry=name)
    if len(name.encode("utf-8", "surrogatepass")) > _NAME_LIMIT:
        raise UnsafeEntry("the name of the entry is too long for a ZIP file", entry=name[:80] + "...")


class ArchiveReader:
    """An open ZIP file from an untrusted source, checked when opened. Not thread-safe.

    `source` is a path or a seekable binary file, which stays open. Raises ArchiveError.NOT_AN_ARCHIVE, UnsafeEntry and
    ArchiveError.TOO_LARGE, and OSError for a missing path.
    """

    def __init__(self, source: Path | BinaryIO, limits: ContainerLimits | None = None) -> None:
        self._limits = limits or ContainerLimits()
        self._expected: Mapping[str, str] = {}
        self._owned = isinstance(source, str | Path)
        self._file = _opened(source)
        try:
            self._entries = _table_of_contents(self._file, self._limits)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._owned:
            self._file.close()

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        """Return all entries in the order of the table of contents, without directories."""
        return list(self._entries)

    def size(self, name: str) -> int:
        """Return the declared unpacked size in bytes. Reading the entry verifies it."""
        return self._info(name).file_size

    def expect(self, digests: Mapping[str, str]) -> None:
        """Check entries against these SHA-256 hex digests when they are read to their end.

        The mapping is kept, not copied, so later additions apply too.
        """
        self._expected = digests

    def open(self, name: str) -> BinaryIO:
        """Return the unpacked entry as a stream. Damage raises where it is met, at the latest at the end."""
        info = self._info(name)
        return io.BufferedReader(_EntryStream(self._file, info, self._expected.get(name)), _CHUNK)

    def read(self, name: str, max_bytes: int | None = None) -> bytes:
        """Return the whole entry. Raises ArchiveError.TOO_LARGE before unpacking when it is larger than `max_bytes`."""
        if max_bytes is not None and self.size(name) > max_bytes:
            raise ArchiveError.TOO_LARGE(
                f"the entry has {self.size(name)} bytes, more than the limit of {max_bytes}", entry=name
            )
        with self.open(name) as stream:
            return stream.read()

    def lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Yield (number from 1, line without newline). Raises ArchiveError.TOO_LARGE for a line over the limit."""
        limit = self._limits.line
        with self.open(name) as stream:
            number = 0
            while line := stream.readline(limit + 2):
                number += 1
                line = line.removesuffix(b"\n")
                if len(line) > limit:
                    raise ArchiveError.TOO_LARGE(f"the line is longer than {limit} bytes", entry=name, line=number)
                yield number, line

    def drain(self, name: str) -> None:
        """Read an entry to its end only to run its checks."""
        with self.open(name) as stream:
            while stream.read(_CHUNK):
                pass

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._entries[name]
        except KeyError:
            raise ArchiveError.MISSING_ENTRY("the archive does not contain this entry", entry=name) from None


def _opened(source: Path | BinaryIO) -> BinaryIO:
    return open(source, "rb") if isinstance(source, str | Path) else source


def _table_of_contents(file: BinaryIO, limits: ContainerLimits) -> dict[str, zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
        declared = _declared_entries(file)
    except _UNREADABLE as error:
        raise ArchiveError.NOT_AN_ARCHIVE(f"the file is not a complete ZIP file ({error})") from None
    if len(infos) != declared:
        raise ArchiveError.NOT_AN_ARCHIVE(f"the ZIP file lists {len(infos)} entries, but declares {declared}")
    if len(infos) > limits.entries:
        raise ArchiveError.TOO_LARGE(f"the archive has {len(infos)} entries, more than the limit of {limits.entries}")
    table: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        _check_entry(info, limits)
        if info.filename in table:
            raise UnsafeEntry("the archive contains two entries with this name", entry=info.filename)
        table[info.filename] = info
    _check_together(list(table.values()), limits)
    return {name: info for name, info in table.items() if not info.is_dir()}


def _declared_entries(file: BinaryIO) -> int:
    """Return how many entries the end record of a ZIP declares.

    `zipfile` does not check it: with a damaged length in the table it silently skips entries.
    """
    file.seek(max(0, file.seek(0, io.SEEK_END) - _END_LIMIT))
    tail = file.read()
    plain = tail[-_END_SIZE:]
    end = plain if plain.startswith(b"PK\x05\x06") and plain.endswith(b"\0\0") else tail[tail.rindex(b"PK\x05\x06") :]
    declared = int.from_bytes(end[10:12], "little")
    wide = tail[: len(tail) - len(end)][-_WIDE_END_SIZE:]
    if declared == 0xFFFF and wide.startswith(b"PK\x06\x06"):
        declared = int.from_bytes(wide[32:40], "little")
    return declared


def _check_entry(info: zipfile.ZipInfo, limits: ContainerLimits) -> None:
    name = info.filename
    check_name(info.orig_filename)
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UnsafeEntry("the entry is a link or a device, but must be a regular file", entry=name)
    if (info.is_dir() or kind == stat.S_IFDIR) and (info.file_size or not info.is_dir()):
        raise UnsafeEntry("the entry is a folder, but has content", entry=name)
    if info.flag_bits & _ENCRYPTED:
        raise ArchiveError.NOT_AN_ARCHIVE("the entry is encrypted", entry=name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveError.NOT_AN_ARCHIVE(f"compression method {info.compress_type} is not supported", entry=name)
    if info.file_size > limits.entry_size:
        raise ArchiveError.TOO_LARGE(
            f"the entry has {info.file_size} bytes, more than the limit of {limits.entry_size}", entry=name
        )
    if info.file_size > limits.ratio_from and info.file_size > info.compress_size * limits.ratio:
        raise ArchiveError.TOO_LARGE(
            f"the unpacked entry is more than {limits.ratio} times as large as the packed one", entry=name
        )


def _check_together(infos: list[zipfile.ZipInfo], limits: ContainerLimits) -> None:
    """Check the total size, and that no two entries share packed bytes (which multiplies what a small file unpacks
    to)."""
    total = sum(info.file_size for info in infos)
    if total > limits.total_size:
        raise ArchiveError.TOO_LARGE(
            f"the entries have {total} bytes in total, more than the limit of {limits.total_size}"
        )
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise UnsafeEntry("the data of the entry overlaps the data of another entry", entry=info.filename)
        end = info.header_offset + _LOCAL_HEADER.size + info.compress_size


class _EntryStream(io.RawIOBase):
    """One entry, unpacked in chunks. Its end checks size, CRC and, when given, SHA-256."""

    def __init__(self, file: BinaryIO, info: zipfile.ZipInfo, expected: str | None) -> None:
        super().__init__()
        self._file, self._info = file, info
        self._packed_left, self._left = info.compress_size, info.file_size
        self._crc, self._expected = 0, expected
        self._hash = hashlib.sha256() if expected is not None else None
        self._inflate = deflate.make_decompressor() if info.compress_type == zipfile.ZIP_DEFLATED else None
        self._offset = self._body_offset()
        self._pending = b""
        self._proven = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if self._left == 0:
            self._prove()
            return 0
        data = self._next(len(buffer))
        if len(data) > self._left:
            raise self._damaged("the entry contains more bytes than it declares")
        self._left -= len(data)
        self._crc = deflate.compute_crc32(data, self._crc)
        if self._hash is not None:
            self._hash.update(data)
        if self._left == 0:
            self._prove()
        buffer[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        """Return between one and `size` bytes. Raises ArchiveError.NOT_AN_ARCHIVE when there are none."""
        if self._inflate is None:
            data = self._packed(size)
        else:
            data = self._unpack(size)
        if not data:
            raise self._damaged("the entry ends before its declared size")
        return data

    def _unpack(self, size: int) -> bytes:
        assert self._inflate is not None
        while not self._inflate.eof:
            packed = self._pending or self._packed(_CHUNK)
            try:
                data: bytes = self._inflate.decompress(packed, size)
            except deflate.ERRORS as error:
                raise self._damaged(f"the entry cannot be decompressed ({error})") from None
            self._pending = self._inflate.unconsumed_tail
            if data:
                return data
            if not packed:
                break
        return b""

    def _packed(self, size: int) -> bytes:
        self._file.seek(self._offset)
        data = self._file.read(min(size, self._packed_left))
        self._offset += len(data)
        self._packed_left -= len(data)
        return data

    def _prove(self) -> None:
        if self._proven:
            return
        if self._inflate is not None and (self._unpack(1) or not self._inflate.eof):
            raise self._damaged("the entry contains more bytes than it declares")
        if self._packed_left or self._pending or (self._inflate is not None and self._inflate.unused_data):
            raise self._damaged("the entry is followed by bytes that belong to no entry")
        if self._crc != self._info.CRC:
            raise self._damaged("the entry has a wrong checksum (CRC)")
        if self._hash is not None and self._hash.hexdigest() != self._expected:
            raise ArchiveError.CHECKSUM(
                "the content of the entry does not match its digest in the manifest", entry=self._info.filename
            )
        self._proven = True

    def _body_offset(self) -> int:
        """Return where the packed bytes begin. The local header must name the same entry as the table."""
        info = self._info
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) != _LOCAL_HEADER.size:
            raise self._damaged("the entry has no ZIP header")
        signature, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        encoding = "utf-8" if info.flag_bits & _UTF8_NAME else "cp437"
        if signature != b"PK\x03\x04" or self._file.read(name_length) != info.orig_filename.encode(encoding):
            raise self._damaged("the entry has the ZIP header of another entry")
        return int(info.header_offset + _LOCAL_HEADER.size + name_length + extra_length)

    def _damaged(self, what: str) -> LifeboatError:
        return ArchiveError.NOT_AN_ARCHIVE(what, entry=self._info.filename)


class EntryWriter:
    """One entry being written, in chunks of any size."""

    def __init__(self, handle: BinaryIO, name: str, limit: int) -> None:
        self._handle, self._name, self._limit = handle, name, limit
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.size > self._limit:
            raise ArchiveError.TOO_LARGE(f"the entry is larger than the limit of {self._limit} bytes", entry=self._name)
        self._hash.update(data)
        self._handle.write(data)

    def digest(self) -> str:
        return self._hash.hexdigest()


class _ZipFile(zipfile.ZipFile):
    """A ZIP file that `zipfile` does not complete on its own: after an error it stays unreadable."""

    def __del__(self) -> None:
        pass


class ArchiveWriter:
    """Writes a ZIP whose bytes depend only on its content and the deflate library.

    Times are 1980, modes 0644, without extra fields; the caller adds names in order. `digests` maps every written name
    to the SHA-256 (hex) of its unpacked bytes. `out` needs no seek and stays open; before `close` it is not a valid
    archive. Raises UnsafeEntry and ArchiveError.TOO_LARGE for what the reader would refuse.
    """

    def __init__(self, out: BinaryIO, level: int = 6, limits: ContainerLimits | None = None) -> None:
        self.digests: dict[str, str] = {}
        self._limits = limits or ContainerLimits()
        self._level = level
        self._total = 0
        self._zip = _ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level)

    def add(self, name: str, data: bytes, *, stored: bool = False) -> None:
        """Add a whole entry. `stored` skips compression for bytes that do not compress (salts)."""
        with self.stream(name, size=len(data), stored=stored or not data) as entry:
            entry.write(data)

    @contextlib.contextmanager
    def stream(self, name: str, *, size: int | None = None, stored: bool = False) -> Iterator[EntryWriter]:
        """Write an entry in pieces. Entries over 2 GiB need `size` (bytes) in advance."""
        self._check_new(name)
        info = zipfile.ZipInfo(name, _EPOCH)
        info.create_system = 3
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
        info._compresslevel = self._level  # type: ignore[attr-defined]
        large = size is not None and size > _ZIP64_LIMIT // 2
        limit = self._limits.entry_size if large else min(_ZIP64_LIMIT, self._limits.entry_size)
        with self._zip.open(info, "w", force_zip64=large) as handle:
            if not stored:
                deflate.use_fast(handle, self._level)
            entry = EntryWriter(handle, name, limit)  # type: ignore[arg-type]
            yield entry
        self._count(name, entry)

    def close(self) -> None:
        """Write the table of contents."""
        self._zip.close()

    def _check_new(self, name: str) -> None:
        check_name(name)
        if name.endswith("/"):
            raise UnsafeEntry("an entry must be a file, but its name is that of a folder", entry=name)
        if name in self.digests:
            raise UnsafeEntry("the archive contains two entries with this name", entry=name)
        if len(self.digests) >= self._limits.entries:
            raise ArchiveError.TOO_LARGE(f"the archive has more entries than the limit of {self._limits.entries}")

    def _count(self, name: str, entry: EntryWriter) -> None:
        self._total += entry.size
        if self._total > self._limits.total_size:
            raise ArchiveError.TOO_LARGE(
                f"the entries have more bytes in total than the limit of {self._limits.total_size}", entry=name
            )
        self.digests[name] = entry.digest()
