"""Read, check and join the meta of an entry: everything about it that is not in its bytes.

    type         "file" (when absent), "link", "folder"
    target       of a link, as text
    executable   true, else absent
    private      true when group and others have no rights, else absent
    mode         the nine bits of the rights as three octal digits, absent where they follow from the two above: 644 or
                 755 for a file, 600 or 700 for a private one, 755 for a folder
    mtime_ns     nanoseconds since 1970, as a decimal string
    target_hex   the raw bytes of a target that is not UTF-8
    name_hex     the raw bytes of a name that is not UTF-8 (the path then holds it percent-encoded)
    attachment   for artifacts: {"id", "media_type", "tier": 2|3, "referenced_by"?, unknown fields}
    records      for files that hold memories: the ids of their records in order
    cuts         [{"offset", "credential_id", "literal"?}]: where secrets were cut out of the bytes

An archive spreads these over four documents that other tools can read; the reader joins them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument

RECORDS = "records"
ATTACHMENT = "attachment"
CUTS = "cuts"
LITERAL = "literal"
"""Key of a cut: which spelling of its credential it is, counted from 0. Used where the file changed since the
credential was sealed: a purge removed a part, or it was edited while the credential was missing."""


def is_file(meta: JsonObject) -> bool:
    return bool(meta.get("type", "file") == "file")


def check_meta(path: str, meta: JsonObject) -> JsonObject:
    """Check a meta from outside, because restoring relies on the types of its fields. Raises BadDocument."""
    for name, fits in _KINDS.items():
        if name in meta and not fits(meta[name]):
            raise BadDocument(f"the property {name} of the file is not valid", entry=path)
    if meta.get("type") == "link" and "target" not in meta:
        raise BadDocument("the file is a link, but its target is missing", entry=path)
    return meta


def mode_of(meta: JsonObject) -> int:
    """Return the permissions of a file or directory. Private ones never have any for group and others."""
    if "mode" in meta:
        mode = int(meta["mode"], 8)
    else:
        mode = 0o755 if meta.get("executable") or meta.get("type") == "folder" else 0o644
    return mode & 0o700 if meta.get("private") else mode


def with_mode(meta: JsonObject, mode: int) -> JsonObject:
    """Return a meta with these nine permission bits, unless they already follow from it."""
    bits = mode & 0o777
    return meta if mode_of(meta) == bits else {**meta, "mode": f"{bits:03o}"}


def _is_mode(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-7]{3}", value) is not None


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_target(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None and abs(int(value)) < _END_OF_TIME


def _is_bytes(value: Any) -> bool:
    """Return whether a value is the bytes of a name in hexadecimal. No name holds a zero byte."""
    return isinstance(value, str) and _HEX.fullmatch(value) is not None and 0 not in bytes.fromhex(value)


def _is_list_of_ids(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_list_of_cuts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) and _is_cut(item) for item in value)


def _is_cut(item: JsonObject) -> bool:
    is_place = type(item.get("offset")) is int and type(item.get(LITERAL, 0)) is int
    return is_place and isinstance(item.get("credential_id"), str)


_TIME = re.compile(r"-?[0-9]{1,28}")
_END_OF_TIME = (1 << 63) * 1_000_000_000
"""Nanoseconds. File systems count seconds in 64 bits."""
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+")
_KINDS: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: isinstance(value, str),
    "target": _is_target,
    "target_hex": _is_bytes,
    "executable": _is_truth,
    "private": _is_truth,
    "mode": _is_mode,
    "mtime_ns": _is_time,
    "name_hex": _is_bytes,
    ATTACHMENT: lambda value: isinstance(value, dict),
    RECORDS: _is_list_of_ids,
    CUTS: _is_list_of_cuts,
}


def file_part(meta: JsonObject) -> JsonObject:
    """Return the part of a meta for `lifeboat/files.json`: everything but records, attachment and cuts. The order is
    fixed so that equal metas are equal bytes."""
    return {key: meta[key] for key in sorted(meta) if key not in (RECORDS, ATTACHMENT, CUTS)}


def join_meta_parts(
    file_part: JsonObject,
    *,
    records: list[str] | None = None,
    attachment: JsonObject | None = None,
    cuts: list[JsonObject] | None = None,
) -> JsonObject:
    """Join a meta from its four parts; empty parts add no key."""
    meta = dict(file_part)
    if records:
        meta[RECORDS] = records
    if attachment:
        meta[ATTACHMENT] = attachment
    if cuts:
        meta[CUTS] = cuts
    return meta
