"""Parses JSON strictly, so that every implementation reads the same (RFC 8259, and what RFC 8785 can write again).

Duplicate names, NaN, trailing text, wrong encodings and deep nesting are refused at once. Numbers that RFC 8785 cannot
write become infinity, which `canonical_json` refuses like lone surrogates. So errors in the envelope are reported
first. No value is rounded silently.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any, Final

import msgspec
import rfc8785

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire.bundle_model import LIMITS, BundleRefused

_BOM = b"\xef\xbb\xbf"
_LARGEST = 2**53 - 1
_DIGITS = len(str(_LARGEST))
_BRACKETS = b'"[]{}'
_OTHERS = bytes(set(range(256)) - set(_BRACKETS))
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_UNWRITABLE = float("inf")
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-4, 1e15
"""Between these values no implementation writes an exponent."""
_sorted_encoder = msgspec.json.Encoder(order="deterministic")


def parse_json(data: bytes, *, depth: int = LIMITS.depth, where: str = "") -> Any:
    """Parse a JSON text. A leading byte order mark is ignored. Raises BundleRefused (`malformed_json`,
    `nested_too_deep`)."""
    data = data.removeprefix(_BOM)
    if nesting_depth(data) > depth:
        raise BundleRefused(
            f"the JSON is nested deeper than {depth} levels", format_code="nested_too_deep", where=where
        )
    try:
        return _decoder.decode(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BundleRefused(
            f"the text is not valid JSON ({_reason(error)})", format_code="malformed_json", where=where
        ) from None


def canonical_json(value: Any, *, where: str = "") -> bytes:
    """Return the RFC 8785 form of a parsed value. Raises BundleRefused (`not_canonicalizable`)."""
    try:
        return _sorted_encoder.encode(value) if _is_plain(value) else rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        reason = "the value contains a number or a character that RFC 8785 (canonical JSON) cannot represent"
        raise BundleRefused(reason, format_code="not_canonicalizable", where=where) from None


def _is_plain(value: Any) -> bool:
    """Return whether sorted compact JSON already is the RFC 8785 form: common numbers and ASCII names only. It takes a
    tenth of the time, and records are hashed by the hundred thousand."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-_LARGEST <= value <= _LARGEST)
    # Integral floats are excluded: RFC 8785 writes 1.0 as 1.
    if kind is float:
        return bool(_SMALLEST_PLAIN <= abs(value) < _LARGEST_PLAIN and not value.is_integer())
    if kind is list:
        return all(map(_is_plain, value))
    return kind is dict and all(type(name) is str and name.isascii() and _is_plain(value[name]) for name in value)


def nesting_depth(data: bytes) -> int:
    """Return the nesting depth of a text. Escapes are removed first, so that every remaining quotation mark begins or
    ends a string."""
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHERS)
    brackets = b"".join(bare.split(b'"')[::2])
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _reason(error: Exception) -> str:
    """Describe a JSON error without quoting the text."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return str(error) if isinstance(error, _JsonRefused) else "the text is nested too deeply"


class _JsonRefused(ValueError):
    """JSON that Python accepts and other implementations may not."""


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _JsonRefused("a JSON object contains the same name twice")
    return found


def _integer(text: str) -> int | float:
    if len(text) <= _DIGITS + 1 and abs(value := int(text)) <= _LARGEST:
        return value
    return _UNWRITABLE


def _constant(name: str) -> Any:
    raise _JsonRefused(f"{name} is not a JSON number")


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant)
