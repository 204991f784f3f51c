"""Cut secrets out of a file's bytes, and fill them in again, byte for byte.

A cut is a span; the placeholder in its place is for readers only. Filling uses the listed positions and never searches.
So a placeholder that a user wrote into a file stays plain text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.errors import CutMismatch
from lifeboat_adapters.secrets.secret_finder import KnownSecretMatch
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits, move_offset
from lifeboat_alf.states.entry_metas import LITERAL

OFFSET = "offset"
CREDENTIAL = "credential_id"
_NUMBER = re.compile(rb"[+-]?(?:[0-9]|\.[0-9]|Infinity|NaN)[0-9A-Za-z.+-]*")
_QUOTES = (b'"', b"'", b"`")


class CutSpan(NamedTuple):
    """Bytes to cut for a credential. `quote` is put around the placeholder, so that the file still parses."""

    start: int
    end: int
    credential_id: str
    quote: bytes = b""


class CutFile(NamedTuple):
    """A file without its secrets. `cuts` is the list for the entry's meta: [{"offset", "credential_id"}] with rising
    offsets in `data`. `literals` are the bytes that were cut, in the same order."""

    data: bytes
    cuts: list[JsonObject]
    literals: list[bytes]


def placeholder_for(credential_id: str) -> bytes:
    """Return the text that replaces a secret in a cut file."""
    return f"{{{{lifeboat:credential:{credential_id}}}}}".encode()


def span_of_secret(data: bytes, secret: FileSecret, credential_id: str) -> CutSpan:
    """Return the span of a literal that a tokenizer found. Quotes of the literal stay, a number gets quotes."""
    literal = data[secret.start : secret.end]
    quote = literal[:1]
    if quote not in _QUOTES or len(literal) < 2 or literal[-1:] != quote:
        quote = b'"' if _NUMBER.fullmatch(literal) else b""
    return CutSpan(secret.start, secret.end, credential_id, quote)


def span_of_known(known: KnownSecretMatch, credential_id: str) -> CutSpan:
    """Return the span of a known value. It may be part of a string, so its placeholder gets no quotes."""
    return CutSpan(known.start, known.end, credential_id)


def span_of_gap(data: bytes, gap: JsonObject) -> CutSpan:
    """Return the span of the placeholder of a credential in a file, as `find_placeholders` found
    it."""
    start, credential_id = gap[OFFSET], gap[CREDENTIAL]
    end = _end_of_mark(data, start, credential_id)
    quote = b"" if end - start == len(placeholder_for(credential_id)) else data[start : start + 1]
    return CutSpan(start, end, credential_id, quote)


def join_spans(first: Iterable[CutSpan], others: Iterable[CutSpan]) -> list[CutSpan]:
    """Return all spans, sorted and without overlaps. Where two overlap, the one from `first` keeps its bytes and the
    other one the rest."""
    taken = sorted(first)
    pieces: list[CutSpan] = []
    at = number = 0
    for span in sorted(others):
        at = max(at, span.start)
        while number < len(taken) and taken[number].start < span.end:
            other = taken[number]
            if other.start > at:
                pieces.append(span._replace(start=at, end=other.start))
            at = max(at, other.end)
            if other.end > span.end:
                break  # the taken span may also overlap the next one, so do not advance
            number += 1
        if at < span.end:
            pieces.append(span._replace(start=at))
            at = span.end
    return sorted([*taken, *pieces])


def cut_spans(data: bytes, spans: Sequence[CutSpan]) -> CutFile:
    """Replace every span by a placeholder. The spans are sorted and do not overlap; empty ones are skipped."""
    pieces: list[bytes] = []
    cuts: list[JsonObject] = []
    literals: list[bytes] = []
    at = length = 0
    for span in spans:
        if not at <= span.start <= span.end <= len(data):
            raise ValueError("the byte ranges of secrets must be sorted, must not overlap and must lie inside the data")
        if span.start == span.end:
            continue
        mark = span.quote + placeholder_for(span.credential_id) + span.quote
        cuts.append({OFFSET: length + span.start - at, CREDENTIAL: span.credential_id})
        literals.append(data[span.start : span.end])
        pieces += [data[at : span.start], mark]
        length += span.start - at + len(mark)
        at = span.end
    return CutFile(b"".join([*pieces, data[at:]]), cuts, literals)


def with_literals(parts: CutFile, gaps: Iterable[JsonObject]) -> CutFile:
    """Return the same cuts; those of `gaps` get the number of the literal that each one stands for."""
    spelled: dict[str, list[int]] = {}
    for gap in gaps:
        spelled.setdefault(gap[CREDENTIAL], []).append(gap[LITERAL])
    cuts = [
        {**item, LITERAL: spelled[item[CREDENTIAL]].pop(0)} if spelled.get(item[CREDENTIAL]) else item
        for item in parts.cuts
    ]
    return parts._replace(cuts=cuts)


def apply_edits_to_cut_file(parts: CutFile, edits: Sequence[ByteEdit]) -> tuple[bytes, CutFile]:
    """Remove the edited bytes from a cut file, including its secrets. Return the file with the remaining secrets filled
    in, and its cut form."""
    kept = [
        (item, literal)
        for item, literal in zip(parts.cuts, parts.literals, strict=True)
        if not _is_touched(item, edits)
    ]
    cuts = [{**item, OFFSET: move_offset(item[OFFSET], edits)} for item, _ in kept]
    data, literals = apply_edits(parts.data, edits), [literal for _, literal in kept]
    left = iter(literals)
    return fill_placeholders(data, cuts, lambda *_: next(left)), CutFile(data, cuts, literals)


def _is_touched(item: JsonObject, edits: Sequence[ByteEdit]) -> bool:
    start = item[OFFSET]
    end = start + len(placeholder_for(item[CREDENTIAL]))
    return any(edit.offset < end and edit.offset + edit.length > start for edit in edits)


def fill_placeholders(data: bytes, cuts: Sequence[JsonObject], literal_of: Callable[[str, int], bytes]) -> bytes:
    """Put the literals back where they are listed, and nowhere else.

    `literal_of(credential_id, n)` returns the n-th literal (from 0) of a credential in this file: the same secret may
    be spelled in several ways. Raises CutMismatch when a listed offset does not hold the placeholder of the credential.
    """
    pieces: list[bytes] = []
    seen: dict[str, int] = {}
    at = 0
    for item in cuts:
        start, credential_id = _listed(item, at)
        end = _end_of_mark(data, start, credential_id)
        nth = int(item.get(LITERAL, seen.get(credential_id, 0)))
        seen[credential_id] = nth + 1
        pieces += [data[at:start], literal_of(credential_id, nth)]
        at = end
    return b"".join([*pieces, data[at:]])


def find_placeholders(data: bytes, former: bytes, cuts: Iterable[JsonObject]) -> list[JsonObject]:
    """Return where placeholders of the cut file `former` stand in `data`, another version of it: cuts with their
    `literal`, sorted by offset.

    Only placeholders that `cuts` lists are searched, each as often as it is listed. An archive of another program may
    list some that do not exist.
    """
    found: list[JsonObject] = []
    seen: Counter[str] = Counter()
    behind: dict[str, int] = {}
    for item in cuts:
        try:
            start, credential_id = _listed(item, 0)
            mark = former[start : _end_of_mark(former, start, credential_id)]
        except CutMismatch:
            continue
        nth = int(item.get(LITERAL, seen[credential_id]))
        seen[credential_id] = nth + 1
        start = data.find(mark, behind.get(credential_id, 0))
        if start >= 0:
            behind[credential_id] = start + len(mark)
            found.append({OFFSET: start, CREDENTIAL: credential_id, LITERAL: nth})
    return sorted(found, key=lambda each: int(each[OFFSET]))


def _listed(item: JsonObject, at: int) -> tuple[int, str]:
    start, credential_id = item.get(OFFSET), item.get(CREDENTIAL)
    if not isinstance(start, int) or isinstance(start, bool) or not isinstance(credential_id, str):
        raise CutMismatch("the list of secrets that were cut from the file is not valid")
    if start < at:
        raise CutMismatch(f"the list of secrets that were cut from the file is not sorted at offset {start}")
    return start, credential_id


def _end_of_mark(data: bytes, start: int, credential_id: str) -> int:
    quote = data[start : start + 1]
    if quote not in _QUOTES:
        quote = b""
    mark = quote + placeholder_for(credential_id) + quote
    if not data.startswith(mark, start):
        raise CutMismatch(f"the placeholder of the credential {credential_id} is missing at offset {start}")
    return start + len(mark)
