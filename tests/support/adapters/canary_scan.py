"""Find canaries in bytes, in any spelling and inside any container.

A value is searched by its beginning and its end, so that half of one is found too: plain, as UTF-16, base64,
hexadecimal, percent-encoded or escaped as in JSON. Archives, compressed streams and databases are opened, also inside
each other. Every page of a database is read, including free pages and the log.
"""

from __future__ import annotations

import base64
import contextlib
import re
import shutil
import sqlite3
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from support.adapters.canaries import HEAD, PIN, TAIL, Canary

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DEEPEST = 5
LARGEST = 64 << 20
"""Bytes that one stream may decompress to."""
_SQLITE = b"SQLite format 3\0"
_PIN = re.compile(rb"(?<![0-9A-Za-z.])" + PIN.encode() + rb"(?![0-9A-Za-z])")
_STREAMS = re.compile(rb"\x28\xb5\x2f\xfd|\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|PK\x03\x04")


class Leak(NamedTuple):
    """A canary that was found: what was searched, its spelling there, and the place of the secret."""

    where: str
    spelling: str
    place: str


def spellings(text: str) -> dict[str, set[bytes]]:
    """Return every spelling of a text that programs use, by name."""
    data = text.encode()
    hexadecimal = data.hex()
    percent = "".join(f"%{byte:02x}" for byte in data)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in text)
    return {
        "as it is": {data},
        "in small letters, as an index has it": {text.lower().encode()},
        "utf-16": {text.encode("utf-16-le"), text.encode("utf-16-be")},
        "base64": set(_base64(data)),
        "hexadecimal": {hexadecimal.encode(), hexadecimal.upper().encode()},
        "percent-encoded": {percent.encode(), percent.upper().encode()},
        "escaped as in JSON": {escaped.encode(), escaped.upper().replace("\\U", "\\u").encode()},
    }


def _base64(data: bytes) -> Iterator[bytes]:
    """Return the characters of the encoding that do not depend on the bytes around, for the three alignments."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data)
        certain = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield certain
        yield certain.translate(bytes.maketrans(b"+/", b"-_"))


_MARKS = [(name, mark) for part in (HEAD, TAIL) for name, marks in spellings(part).items() for mark in sorted(marks)]
_AROUND = 400


@dataclass(frozen=True, slots=True)
class Scanner:
    """Searches for canaries. Known ones are named; unknown ones are found, too."""

    canaries: tuple[Canary, ...]

    @classmethod
    def of(cls, canaries: Iterable[Canary]) -> Scanner:
        return cls(tuple(canaries))

    def folders(self, *folders: Path) -> list[Leak]:
        """Search every file below these folders, and the names of the files."""
        return [leak for folder in folders for leak in self._folder(folder)]

    def _folder(self, folder: Path) -> Iterator[Leak]:
        for path in sorted(folder.rglob("*")):
            yield from self.data(str(path).encode("utf-8", "surrogateescape"), f"the name of {path}")
            if path.is_file() and not path.is_symlink():
                yield from self.file(path)

    def file(self, path: Path) -> list[Leak]:
        data = path.read_bytes()
        return [*self.data(data, str(path)), *(self._rows(path) if data.startswith(_SQLITE) else ())]

    def text(self, text: str, where: str) -> list[Leak]:
        """Search the output of a program."""
        return self.data(text.encode("utf-8", "surrogateescape"), where)

    def process(self, pid: int) -> list[Leak]:
        """Search what others can see of a running program: its command line, and its environment for the same user."""
        found = []
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                found += self.data(Path(f"/proc/{pid}/{name}").read_bytes(), f"{name} of process {pid}")
        return found

    def data(self, data: bytes, where: str, depth: int = 0) -> list[Leak]:
        """Search bytes, and everything that is packed in them."""
        found = list(self._plain(data, where))
        if depth < DEEPEST:
            for name, inner in unpacked(data):
                found += self.data(inner, f"{where} > {name}", depth + 1)
        return found

    def _plain(self, data: bytes, where: str) -> Iterator[Leak]:
        for spelling, mark in _MARKS:
            at = data.find(mark)
            if at >= 0:
                yield Leak(where, spelling, self._place(data[max(0, at - _AROUND) : at + _AROUND], spelling))
        if _PIN.search(data):
            yield Leak(where, "as it is", "PIN")

    def _place(self, around: bytes, spelling: str) -> str:
        for one in self.canaries:
            if any(spelled in around for spelled in spellings(one.value)[spelling]):
                return one.place
        return "some canary"

    def _rows(self, path: Path) -> Iterator[Leak]:
        """Search every value of a database, joined from its pages, with its log."""
        with tempfile.TemporaryDirectory() as folder:
            for suffix in ("", "-wal"):
                beside = path.with_name(path.name + suffix)
                if beside.exists():
                    shutil.copyfile(beside, Path(folder) / f"copy{suffix}")
            yield from self._values(Path(folder) / "copy", str(path))

    def _values(self, copy: Path, where: str) -> Iterator[Leak]:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.text_factory = bytes
            tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
            for name in (table[0].decode() for table in tables):
                with contextlib.suppress(sqlite3.Error):
                    for row in connection.execute(f'select * from "{name}"'):
                        for value in row:
                            if isinstance(value, bytes):
                                yield from self.data(value, f"{where}, table {name}")


def unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield every stream that begins in these bytes, decompressed as far as possible."""
    for hit in _STREAMS.finditer(data):
        name, unfold = _KINDS[hit[0][:2]]
        with contextlib.suppress(zlib.error, zstd.ZstdError, struct.error, EOFError):
            inner = unfold(data[hit.start() :])
            if inner:
                yield f"{name} at {hit.start()}", inner


def _unfold_zstd(data: bytes) -> bytes:
    return zstd.ZstdDecompressor().decompress(data, max_length=LARGEST)


def _unfold_gzip(data: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(data, LARGEST)


def _unfold_zlib(data: bytes) -> bytes:
    return zlib.decompressobj(15).decompress(data, LARGEST)


def _unfold_member(data: bytes) -> bytes:
    """Return a member of a zip by its own header, so that half an archive can be read, too. Stored members are already
    readable."""
    method = struct.unpack_from("<H", data, 8)[0]
    name, extra = struct.unpack_from("<HH", data, 26)
    return zlib.decompressobj(-15).decompress(data[30 + name + extra :], LARGEST) if method == 8 else b""


_KINDS: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"\x28\xb5": ("zstd", _unfold_zstd),
    b"\x1f\x8b": ("gzip", _unfold_gzip),
    b"PK": ("zip member", _unfold_member),
    **{bytes((0x78, level)): ("zlib", _unfold_zlib) for level in (0x01, 0x5E, 0x9C, 0xDA)},
}
