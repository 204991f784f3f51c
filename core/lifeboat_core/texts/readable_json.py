"""JSON for people and programs that read output. Names of files that are not UTF-8 are escaped, so that they can be
shown.

What is signed, hashed or read back by this program is encoded by `lifeboat_alf.common.json_codec`, which refuses such
names.
"""

from __future__ import annotations

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


def encode_json(document: Any) -> bytes:
    """Return a document as compact JSON."""
    try:
        return _encoder.encode(document)
    except UnicodeEncodeError:
        return _encoder.encode(_spelled(msgspec.to_builtins(document)))


def encode_pretty_json(document: Any) -> bytes:
    """Return a document as JSON for people: two spaces, no newline at the end."""
    return msgspec.json.format(encode_json(document), indent=2)


def make_printable(name: str) -> str:
    """Return a name as JSON can contain it: a byte that is not UTF-8 as `\\xe9`."""
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a surrogate pair that represents no byte
        return name.encode("utf-8", "backslashreplace").decode()


def is_utf8(text: str) -> bool:
    """Return whether a text is UTF-8 throughout."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return make_printable(value)
    if isinstance(value, dict):
        return {_spelled(name): _spelled(one) for name, one in value.items()}
    return [_spelled(one) for one in value] if isinstance(value, list) else value
