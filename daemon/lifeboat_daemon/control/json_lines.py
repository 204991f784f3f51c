"""Messages between processes of this program: one JSON document a line, which may hold names that are no text."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


def encode_line(message: msgspec.Struct) -> bytes:
    """A message as one line, its newline included. Raises TypeError for what JSON does not know."""
    try:
        return _encoder.encode(message) + b"\n"
    except UnicodeEncodeError:  # names of files that are no text: Python's own JSON writes them so that they come back
        return json.dumps(msgspec.to_builtins(message)).encode() + b"\n"


def decode_line(decoder: msgspec.json.Decoder[T], line: bytes) -> T:
    """What such a line says. Raises msgspec.MsgspecError."""
    try:
        return decoder.decode(line)
    except RecursionError:
        raise msgspec.DecodeError("it is too deep") from None
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise error from None
        converted: T = msgspec.convert(found, decoder.type)
        return converted
