"""The messages between a program and its command server: one JSON document per line, over the server's standard
streams."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_daemon.control import json_lines

MOST_SAID = 64 * 1024 * 1024
"""Bytes that a command may write."""
LONGEST_REQUEST = 16 * 1024 * 1024
"""Bytes of a request: arguments and standard input."""
LONGEST_LINE = 2 * MOST_SAID + 1024 * 1024
"""Bytes. The output of a command is text within JSON, so quotes and line ends take two bytes."""


class RunCommand(msgspec.Struct, frozen=True, tag="run"):
    """To the server: run `lifeboat WORDS` with `text` as its standard input. It is never displayed because it may
    contain secrets."""

    number: int
    words: tuple[str, ...]
    text: str = ""

    def __repr__(self) -> str:
        return f"Run({self.number})"


class CancelCommand(msgspec.Struct, frozen=True, tag="cancel"):
    """To the server: stop this command, as Ctrl-C does in a terminal."""

    number: int


class CommandServerReady(msgspec.Struct, frozen=True, tag="ready"):
    """From the server, first: everything is loaded."""

    pid: int


class CommandTold(msgspec.Struct, frozen=True, tag="told"):
    """From the server: how far a command is, at most a few times a second."""

    number: int
    text: str
    done: int
    total: int | None
    rate: float | None
    seconds_left: float | None


class CommandEnded(msgspec.Struct, frozen=True, tag="ended"):
    """From the server: exit status, standard output and standard error of a command."""

    number: int
    status: int
    out: str
    notes: str = ""


class CommandRunFailed(msgspec.Struct, frozen=True, tag="failed"):
    """From the server: the command has no result. `error` has the fields of every error: code, title, message, fix,
    retryable."""

    number: int
    error: JsonObject


ToServer = RunCommand | CancelCommand
FromServer = CommandServerReady | CommandTold | CommandEnded | CommandRunFailed

_to_server: msgspec.json.Decoder[ToServer] = msgspec.json.Decoder(ToServer)
_from_server: msgspec.json.Decoder[FromServer] = msgspec.json.Decoder(FromServer)
encode = json_lines.encode_line


def decode_for_server(line: bytes) -> ToServer:
    """Decode a message for the server. Raises msgspec.MsgspecError."""
    message: ToServer = json_lines.decode_line(_to_server, line)
    return message


def decode_from_server(line: bytes) -> FromServer:
    """Decode a message from the server or from one of its commands. Raises msgspec.MsgspecError."""
    message: FromServer = json_lines.decode_line(_from_server, line)
    return message
