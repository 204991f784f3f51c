"""Read the answers of an SFTP server strictly: by the bytes that are there, not by what they announce."""

from __future__ import annotations

import stat
import struct
from typing import NamedTuple

_SIZE, _OWNER, _MODE, _TIMES, _EXTENDED = 1, 2, 4, 8, 0x80000000
NO_SUCH_FILE, PERMISSION_DENIED, FAILURE, UNSUPPORTED = 2, 3, 4, 8


class GarbledAnswer(Exception):
    """The server does not speak SFTP, or its answer is damaged."""


class RefusedOperation(Exception):
    """The server refused an operation. `code` is the number of the protocol; its text is not used."""

    def __init__(self, code: int) -> None:
        super().__init__(f"status {code}")
        self.code = code


class FileFacts(NamedTuple):
    """Attributes of a file. `modified` is in seconds, by the clock of the server, 0 if unknown. A `mode` of 0 means
    that the server does not tell."""

    size: int
    mode: int
    modified: int

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)


class AnswerFields:
    """The fields of one answer, in their order. Every method raises GarbledAnswer at the end of the data."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._data)

    def number(self) -> int:
        return int.from_bytes(self._take(4), "big")

    def long_number(self) -> int:
        return int.from_bytes(self._take(8), "big")

    def text(self) -> bytes:
        return self._take(self.number())

    def facts(self) -> FileFacts:
        """Read the attributes of a file."""
        flags = self.number()
        size = self.long_number() if flags & _SIZE else 0
        if flags & _OWNER:
            self._take(8)
        mode = self.number() if flags & _MODE else 0
        modified = struct.unpack(">II", self._take(8))[1] if flags & _TIMES else 0
        if flags & _EXTENDED:
            for _ in range(self.number()):
                self.text()
                self.text()
        return FileFacts(size, mode, modified)

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise GarbledAnswer
        self._at += size
        return self._data[self._at - size : self._at]


def read_listing(fields: AnswerFields) -> dict[str, FileFacts]:
    """Return the entries of one part of a listing. Names that are not ASCII are not Lifeboat's."""
    found: dict[str, FileFacts] = {}
    for _ in range(fields.number()):
        name, _, facts = fields.text(), fields.text(), fields.facts()
        if name.isascii() and name not in (b".", b".."):
            found[name.decode()] = facts
    return found
