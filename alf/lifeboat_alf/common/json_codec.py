"""Encode and decode JSON for the whole project.

msgspec handles data written by this project. Data from outside goes through the standard library first, because msgspec
refuses NaN, lone surrogates and 1e400 but silently keeps the last of duplicate keys. Both keep integers of any size.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import rfc8785

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadJson

_encoder = msgspec.json.Encoder()
_sorted_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder()
_LARGEST_EXACT = 2**53


def encode_json(value: Any) -> bytes:
    """Return compact JSON with keys in insertion order."""
    return _encoder.encode(value)


def encode_pretty(value: Any) -> bytes:
    """Return JSON for people: two spaces of indentation, no newline at the end (as the reference client writes it)."""
    return msgspec.json.format(_encoder.encode(value), indent=2)


def decode_json(data: bytes) -> Any:
    """Decode JSON that this project wrote. Raises `msgspec.DecodeError`."""
    return _decoder.decode(data)


def encode_canonical(value: Any) -> bytes:
    """Return the RFC 8785 form. Integers beyond 2**53, which the RFC cannot represent, are written out in full."""
    try:
        if _is_plain(value) and b"\\" not in (data := _sorted_encoder.encode(value)):
            return data
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_spell_out(value))
    except UnicodeEncodeError:
        return rfc8785.dumps(value)


def _is_plain(value: Any) -> bool:
    """Return whether sorted compact JSON is already the RFC 8785 form apart from escapes: no fractions, no large
    numbers, only ASCII keys.

    This fast path matters because every entry of a state is hashed with its meta in this form.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_LARGEST_EXACT < value < _LARGEST_EXACT)
    if kind is list:
        return all(map(_is_plain, value))
    return kind is dict and all(type(key) is str and key.isascii() and _is_plain(item) for key, item in value.items())


def _spell_out(value: Any) -> Any:
    """Replace integers that RFC 8785 refuses by a tagged string, so that a digest can still cover them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) >= _LARGEST_EXACT:
        return f"integer:{value}"
    if isinstance(value, dict):
        return {key: _spell_out(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spell_out(item) for item in value]
    return value


def decode_strict(data: bytes, *, entry: str, line: int | None = None) -> Any:
    """Decode JSON from outside. Raises BadJson naming `entry` and `line`."""
    try:
        value = _decoder.decode(data)
        json.loads(data, object_pairs_hook=_refuse_duplicates)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadJson(str(error), entry=entry, line=line) from None
    return value


def decode_object(data: bytes, *, entry: str, line: int | None = None) -> JsonObject:
    """Decode a JSON object from outside. Raises BadJson naming `entry` and `line`."""
    value = decode_strict(data, entry=entry, line=line)
    if not isinstance(value, dict):
        raise BadJson("the text must be a JSON object", entry=entry, line=line)
    return value


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"one JSON object contains the key {twice!r} twice")
