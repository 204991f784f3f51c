"""SFTP (version 3) over a pipe, with paramiko's client. No other module of this package imports paramiko.

The server is not trusted. Paramiko pads short answers and believes their counts, so answers with lists and attributes
are read here, by the bytes that are really there.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, cast

from paramiko.message import Message
from paramiko.sftp import (
    CMD_ATTRS,
    CMD_CLOSE,
    CMD_DATA,
    CMD_EXTENDED,
    CMD_EXTENDED_REPLY,
    CMD_FSETSTAT,
    CMD_FSTAT,
    CMD_HANDLE,
    CMD_INIT,
    CMD_LSTAT,
    CMD_NAME,
    CMD_OPEN,
    CMD_OPENDIR,
    CMD_READ,
    CMD_READDIR,
    CMD_STATUS,
    CMD_VERSION,
    CMD_WRITE,
    SFTP_EOF,
    SFTP_FLAG_CREATE,
    SFTP_FLAG_EXCL,
    SFTP_FLAG_READ,
    SFTP_FLAG_WRITE,
    SFTP_OK,
    SFTPError,
    int64,
)
from paramiko.sftp_attr import SFTPAttributes
from paramiko.sftp_client import SFTPClient
from paramiko.ssh_exception import SSHException

from lifeboat_core.remotes.sftp import ssh_pipe
from lifeboat_core.remotes.sftp.sftp_answers import (
    AnswerFields,
    FileFacts,
    GarbledAnswer,
    RefusedOperation,
    read_listing,
)
from lifeboat_core.remotes.sftp.ssh_pipe import FLUSHING, PipeBroken, SshPipe

POSIX_RENAME = "posix-rename@openssh.com"
HARD_LINK = "hardlink@openssh.com"
FLUSH = "fsync@openssh.com"
SPACE = "statvfs@openssh.com"
NEEDED = (HARD_LINK, POSIX_RENAME)
"""Without a hard link that fails for an existing name, two machines could replace the same head."""
_VERSION = 3
_LONGEST_ANSWER = 1 << 19
_PIECE = 32768
_AT_ONCE = 64
"""Requests that are sent before their answers are read."""
_MOST_ENTRIES = 500_000
_READ_ONLY = 1


class ServerSpace(NamedTuple):
    """The file system behind a path: free bytes and inodes for the user, None where it does not count inodes."""

    free: int
    inodes: int | None
    is_read_only: bool


class _Answers:
    """Collects answers, which a server may send in another order than the requests."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[int, Message]] = {}

    def _async_response(self, kind: int, message: Message, number: int) -> None:
        self.found[number] = kind, message


class SftpClient(SFTPClient):
    """SFTP over the pipe of an ssh process. Paths are as the server reads them.

    Every method raises PipeBroken, GarbledAnswer, and RefusedOperation for what the server refuses.
    """

    def __init__(self, pipe: SshPipe) -> None:
        self.extensions: frozenset[str] = frozenset()
        self._pipe = pipe
        with _understood():
            super().__init__(cast(Any, pipe))

    # What paramiko calls -----------------------------------------------------------------------------------------

    def _send_version(self) -> int:
        hello = Message()
        hello.add_int(_VERSION)
        self._send_packet(CMD_INIT, hello)  # type: ignore[attr-defined]
        kind, data = self._read_packet()
        fields = AnswerFields(data)
        if kind != CMD_VERSION or fields.number() < _VERSION:
            raise GarbledAnswer
        found = []
        while not fields.is_at_end:
            found.append(fields.text().decode("ascii", "replace"))
            fields.text()
        self.extensions = frozenset(found)
        return _VERSION

    def _read_packet(self) -> tuple[int, bytes]:
        (size,) = struct.unpack(">I", self._read_exactly(4))
        if not 0 < size <= _LONGEST_ANSWER:
            raise GarbledAnswer
        data = self._read_exactly(size)
        return data[0], data[1:]

    def _read_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            data += self._pipe.recv(size - len(data))
        return bytes(data)

    def _convert_status(self, message: Message) -> None:
        fields = AnswerFields(message.get_remainder())
        code = fields.number()
        if code != SFTP_OK:
            raise RefusedOperation(code)

    # Operations --------------------------------------------------------------------------------------------------

    def ask(self, wanted: int, command: int, *words: Any) -> AnswerFields:
        """Send a request, and return the fields of an answer of the `wanted` kind."""
        with self._pipe.limited(), _understood():
            return self._asked(wanted, command, *words)

    def _asked(self, wanted: int, command: int, *words: Any) -> AnswerFields:
        kind, message = self._request(command, *words)  # type: ignore[attr-defined]
        if kind != wanted:
            raise GarbledAnswer
        return AnswerFields(message.get_remainder())

    def facts(self, path: str) -> FileFacts:
        """Return the attributes of a file or folder; a link is not followed."""
        return self.ask(CMD_ATTRS, CMD_LSTAT, path.encode()).facts()

    def entries(self, folder: str) -> dict[str, FileFacts]:
        """Return what a folder contains by name. Names that are not ASCII are left out."""
        end = time.monotonic() + ssh_pipe.LISTING
        handle = self.ask(CMD_HANDLE, CMD_OPENDIR, folder.encode()).text()
        found: dict[str, FileFacts] = {}
        try:
            while True:
                found.update(read_listing(self.ask(CMD_NAME, CMD_READDIR, handle)))
                if len(found) > _MOST_ENTRIES or time.monotonic() > end:
                    raise GarbledAnswer
        except RefusedOperation as answer:
            if answer.code != SFTP_EOF:
                raise
        finally:
            self._close_handle(handle)
        return found

    def make_folder(self, path: str, mode: int) -> None:
        with self._pipe.limited(), _understood():
            self.mkdir(path, mode)

    def remove_file(self, path: str) -> None:
        with self._pipe.limited(), _understood():
            self.remove(path)

    def remove_folder(self, path: str) -> None:
        with self._pipe.limited(), _understood():
            self.rmdir(path)

    def replace(self, source: str, target: str) -> None:
        """Rename a file, also over another one."""
        with self._pipe.limited(), _understood():
            self.posix_rename(source, target)

    def link(self, source: str, target: str) -> None:
        """Give a file another name. The server refuses a name that exists."""
        self.ask(CMD_STATUS, CMD_EXTENDED, HARD_LINK, source.encode(), target.encode())

    def space(self, path: str) -> ServerSpace | None:
        """Return the space for files below a path, None if the server does not tell."""
        if SPACE not in self.extensions:
            return None
        answer = self.ask(CMD_EXTENDED_REPLY, CMD_EXTENDED, SPACE, path.encode())
        # Block size, fragment size, blocks, free, available; inodes, free, available; id, flags, longest name.
        _, fragment, _, _, blocks, inodes, _, available, _, flags, _ = (answer.long_number() for _ in range(11))
        return ServerSpace(blocks * fragment, available if inodes else None, bool(flags & _READ_ONLY))

    def read_file(self, path: str, target: BinaryIO, *, limit: int | None = None) -> int:
        """Write a whole file to `target`; return its size. Raises GarbledAnswer for a file larger than `limit`."""
        handle = self.ask(CMD_HANDLE, CMD_OPEN, path.encode(), SFTP_FLAG_READ, SFTPAttributes()).text()
        try:
            size = self.ask(CMD_ATTRS, CMD_FSTAT, handle).facts().size
            if limit is not None and size > limit:
                raise GarbledAnswer
            with self._pipe.limited(ssh_pipe.transfer_limit(size)), _understood():
                for data in self._read_pieces(handle, size):
                    target.write(data)
        finally:
            self._close_handle(handle)
        return size

    def _read_pieces(self, handle: bytes, size: int) -> Iterator[bytes]:
        answers, asked, offset = _Answers(), deque[tuple[int, int]](), 0
        while offset < size or asked:
            while offset < size and len(asked) < _AT_ONCE:
                piece = min(_PIECE, size - offset)
                number = self._async_request(answers, CMD_READ, handle, int64(offset), piece)  # type: ignore[attr-defined]
                asked.append((number, piece))
                offset += piece
            number, piece = asked.popleft()
            fields = self._collected(answers, number, CMD_DATA)
            data = fields.text()
            if len(data) != piece:
                raise GarbledAnswer
            yield data

    @contextmanager
    def new_file(self, path: str, source: BinaryIO, mode: int | None) -> Iterator[None]:
        """Create a file from a stream, durably, and keep it open meanwhile. At the end it is flushed again, so that
        names which it got meanwhile are durable, too: file systems write a file's new names with it."""
        flags = SFTP_FLAG_WRITE | SFTP_FLAG_CREATE | SFTP_FLAG_EXCL
        handle = self.ask(CMD_HANDLE, CMD_OPEN, path.encode(), flags, _attributes(mode)).text()
        try:
            if mode is not None:
                self.ask(CMD_STATUS, CMD_FSETSTAT, handle, _attributes(mode))
            with self._pipe.limited(ssh_pipe.transfer_limit(_measure_rest(source))), _understood():
                size = self._write_pieces(handle, source)
            self._flush(handle)
            if self.ask(CMD_ATTRS, CMD_FSTAT, handle).facts().size != size:
                raise GarbledAnswer
            yield
            self._flush(handle)
        finally:
            self._close_handle(handle)

    def _write_pieces(self, handle: bytes, source: BinaryIO) -> int:
        answers, asked, offset = _Answers(), deque[int](), 0
        while True:
            data = source.read(_PIECE)
            while asked and (not data or len(asked) >= _AT_ONCE):
                self._collected(answers, asked.popleft(), CMD_STATUS)
            if not data:
                return offset
            asked.append(self._async_request(answers, CMD_WRITE, handle, int64(offset), data))  # type: ignore[attr-defined]
            offset += len(data)

    def _collected(self, answers: _Answers, number: int, wanted: int) -> AnswerFields:
        while number not in answers.found:
            self._read_response()  # type: ignore[attr-defined]
        kind, message = answers.found.pop(number)
        if kind == CMD_STATUS:
            self._convert_status(message)
        if kind != wanted:
            raise GarbledAnswer
        return AnswerFields(message.get_remainder())

    def _flush(self, handle: bytes) -> None:
        if FLUSH in self.extensions:
            with self._pipe.limited(FLUSHING, FLUSHING), _understood():
                self._asked(CMD_STATUS, CMD_EXTENDED, FLUSH, handle)

    def _close_handle(self, handle: bytes) -> None:
        with contextlib.suppress(PipeBroken, RefusedOperation, GarbledAnswer):
            self.ask(CMD_STATUS, CMD_CLOSE, handle)


def _measure_rest(source: BinaryIO) -> int:
    start = source.tell()
    size = source.seek(0, os.SEEK_END) - start
    source.seek(start)
    return size


def _attributes(mode: int | None) -> SFTPAttributes:
    made = SFTPAttributes()
    made.st_mode = mode
    return made


@contextmanager
def _understood() -> Iterator[None]:
    """Raise GarbledAnswer for what paramiko cannot read."""
    try:
        yield
    except (SFTPError, SSHException, UnicodeError, struct.error) as error:
        raise GarbledAnswer from error
