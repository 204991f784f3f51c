"""Messages between processes of this program: one JSON document per line, which may contain file names that are not
valid text."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


def encode_line(message: msgspec.Struct) -> bytes:
    """Return a message as one line, including its newline. Raises TypeError for a value that JSON cannot represent."""
    try:
        return _encoder.encode(message) + b"\n"
    except UnicodeEncodeError:  # File names that are not valid text: Python's own JSON encoder writes them reversibly.
        return json.dumps(msgspec.to_builtins(message)).encode() + b"\n"


def decode_line(decoder: msgspec.json.Decoder[T], line: bytes) -> T:
    """Decode such a line. Raises msgspec.MsgspecError."""
    try:
        return decoder.decode(line)
    except RecursionError:
        raise msgspec.DecodeError("the JSON is nested too deeply") from None
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise error from None
        converted: T = msgspec.convert(found, decoder.type)
        return converted
