"""Update the digest that restored files carry of their own text.

A restore writes it as a comment in the first line of a text, or as a member of a JSON object, to recognise untouched
files. A short passage could be guessed from it, so a purge replaces it by the digest of the remaining text.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.redaction.redactions import ByteEdit

_COMMENT = re.compile(rb"<!-- Written by Lifeboat[^\n]*\(([0-9a-f]{16,64})\)\. -->\n")
_MEMBER = "@lifeboat"
_DIGEST = re.compile(rb'"digest"\s*:\s*"([0-9a-f]{16,64})"')


def update_digest_mark(body: bytes, after: bytes) -> ByteEdit | None:
    """Return the edit of `body` that replaces its digest by that of `after`; None for a file without one."""
    comment = _COMMENT.match(body)
    if comment is not None:
        return _edit(comment, hashlib.sha256(after.partition(b"\n")[2]).hexdigest())
    if not body.lstrip().startswith(b"{") or _MEMBER.encode() not in body:
        return None
    member = _DIGEST.search(body, body.find(_MEMBER.encode()))
    return None if member is None else _edit(member, _of_object(after))


def _edit(found: re.Match[bytes], digest: str) -> ByteEdit:
    start, end = found.span(1)
    return ByteEdit(start, end - start, digest[: end - start].encode())


def _of_object(after: bytes) -> str:
    """Return the digest of the canonical form of the object without the mark; of empty bytes where it is not an
    object."""
    try:
        document = json_codec.decode_json(after)
    except msgspec.DecodeError:
        return hashlib.sha256().hexdigest()
    rest = {name: value for name, value in document.items() if name != _MEMBER} if isinstance(document, dict) else {}
    return hashlib.sha256(json_codec.encode_canonical(rest)).hexdigest()
