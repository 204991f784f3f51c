"""Detectors of personal data and secrets in texts: mail addresses, numbers, a user's own words, and suspected secrets.

Every detector takes time linear in the text. They aim at few false alarms: a phone number is recognised by its form or
by a word before it, a card number by its check digit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from lifeboat_adapters.secrets import secret_patterns
from lifeboat_adapters.secrets.secret_finder import KnownSecretSearch

SECRET, EMAIL, CARD, SSN, PHONE, LISTED = KINDS = ("secret", "email", "card", "ssn", "phone", "listed")
"""Kinds of findings by rank: the first kind names overlapping findings."""


class DetectedSpan(NamedTuple):
    """A finding `text[start:end]` of one of KINDS. `pattern` names its form for a report; the finding never holds the
    text."""

    start: int
    end: int
    kind: str
    pattern: str


_EMAIL = re.compile(
    r"(?<![\w.+%'&~-])[\w.+%'&~-]++"
    r"@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+(?:xn--[A-Za-z0-9-]{2,59}|[^\W\d_]{2,63})(?![\w])"
)

_NOT_INSIDE = r"(?<![A-Za-z0-9_])(?<![0-9][.\-/])"
"""Before a number: not within a word, a version, a date or a longer number."""
_NOT_ON = r"(?![A-Za-z0-9_])(?![.\-/][0-9])"
_US = r"(?:\+?1[ .-]?)?(?:\([2-9][0-9]{2}\)[ .-]?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}"
_PHONE_US = re.compile(_NOT_INSIDE + r"(?<!\+)" + _US + _NOT_ON)
_PHONE_PLUS = re.compile(r"(?<![A-Za-z0-9_])\+[2-9](?:[ ./-]?(?:\([0-9]{1,4}\) ?)?[0-9]){7,14}" + _NOT_ON)
"""Numbers of +1 are left to the pattern for the United States and Canada, which have one form."""
_PHONE_PLUS_ONE = re.compile(r"(?<![A-Za-z0-9_])\+1[2-9][0-9]{2}[2-9][0-9]{6}" + _NOT_ON)
_PHONE_ZEROS = re.compile(
    _NOT_INSIDE + r"(?<!\+)00[1-9][0-9]{0,2}(?:[ ./-](?:\([0-9]{1,4}\) ?)?[0-9]{1,8}){1,6}" + _NOT_ON
)
_PHONE_NAMES = ("telephone", "phone", "tel", "mobile", "cell", "fax", "whatsapp", "sms")
_PHONE_NAMED = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(_PHONE_NAMES)})(?![A-Za-z])[^0-9\n+(]{{0,16}}"
    r"((?:\+|\()?[0-9](?:[ ().\-/]{0,2}[0-9]){6,14})" + _NOT_ON,
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"\+[0-9]{1,9}|\+[0-9]+\.[0-9]+")
_DATE = re.compile(r"(?:19|20)[0-9]{2}[.\-/ ]?[0-9]{2}[.\-/ ]?[0-9]{2}(?![0-9])")

_SSN = re.compile(r"(?<![A-Za-z0-9_-])(?!000|666|9)[0-9]{3}([- ])(?!00)[0-9]{2}\1(?!0000)[0-9]{4}(?![A-Za-z0-9_-])")
_NAMED_SSN = re.compile(
    r"(?<![A-Za-z])(?:ssn|social security(?: number| no)?)(?![A-Za-z])[^0-9\n]{0,16}"
    r"((?!000|666|9)[0-9]{3}(?!00)[0-9]{2}(?!0000)[0-9]{4})(?![A-Za-z0-9_-])",
    re.IGNORECASE,
)

_CARD = re.compile(
    r"(?<![A-Za-z0-9_-])(?:[2-6][0-9]{12,18}|[2-6][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}"
    r"|3[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5})(?![A-Za-z0-9_])(?!-[0-9])"
)
_ISSUED = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}|3(?:0[0-5]|[689][0-9])[0-9]{11}"
    r"|35[0-9]{14}|6(?:011|4[4-9][0-9]|5[0-9]{2}|2[0-9]{2})[0-9]{12,15}"
)
"""Numbers that the large networks issue, by first digits and length."""

_SOME_DIGITS = re.compile(r"[0-9][0-9 ().\-/]{4,}[0-9]")
_WORD = re.compile(r"[^\W_]+")
_SPACE = re.compile(r"\s+")


def find_emails(text: str) -> Iterator[DetectedSpan]:
    """Yield mail addresses."""
    if "@" in text:
        for hit in _EMAIL.finditer(text):
            yield DetectedSpan(*hit.span(), EMAIL, EMAIL)


def find_numbers(text: str) -> Iterator[DetectedSpan]:
    """Yield phone numbers, social security numbers of the United States, and payment card numbers."""
    # Most texts contain short numbers only, and each search costs as much as the rest of the cleaning.
    most = max((_digits(run) for run in _SOME_DIGITS.findall(text)), default=0)
    # Payment cards have at least 13 digits, social security numbers 9, phone numbers 7.
    if most >= 13:
        yield from _cards(text)
    if most >= 9:
        yield from (DetectedSpan(*hit.span(), SSN, SSN) for hit in _SSN.finditer(text))
        yield from (DetectedSpan(*hit.span(1), SSN, "ssn_named") for hit in _NAMED_SSN.finditer(text))
    if most >= 7:
        yield from _phones(text, most)


def find_secrets(text: str, known: KnownSecretSearch | None = None) -> Iterator[DetectedSpan]:
    """Yield what a capture takes for a secret, and every value of `known`."""
    data = text.encode("utf-8", "surrogatepass")
    spans = [(look.start, look.end, look.kind) for look in secret_patterns.find_secret_matches(data)]
    if known:
        spans.extend((each.start, each.end, "known_secret") for each in known.spans(data))
    if not spans:
        return
    offsets = _offsets(data, {at for start, end, _ in spans for at in (start, end)})
    for start, end, pattern in spans:
        yield DetectedSpan(offsets[start], offsets[end], SECRET, pattern)


class WordList:
    """A user's own words and names. They are found as whole words, in any case and with any white space between
    them."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Index the entries. Entries without a letter or digit are ignored."""
        self._by_first: dict[str, list[_WordEntry]] = {}
        for entry in entries:
            # A letter with an accent can be one code point or two. Both forms are the same name.
            for form in {unicodedata.normalize("NFC", entry), unicodedata.normalize("NFD", entry)}:
                made = _entry(form.strip())
                if made is not None:
                    self._by_first.setdefault(made.words[0], []).append(made)

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def find(self, text: str) -> Iterator[DetectedSpan]:
        """Yield every entry of the list in a text."""
        if not self._by_first:
            return
        hits = list(_WORD.finditer(text))
        for at, hit in enumerate(hits):
            for entry in self._by_first.get(hit[0].casefold(), ()):
                span = _match(entry, text, hits, at)
                if span is not None:
                    yield DetectedSpan(*span, LISTED, LISTED)


class _WordEntry(NamedTuple):
    """A listed entry: its folded words, the text between them (white space as one blank), and the text before and
    after."""

    words: tuple[str, ...]
    between: tuple[str, ...]
    before: str
    after: str


def _entry(form: str) -> _WordEntry | None:
    hits = list(_WORD.finditer(form))
    if not hits:
        return None
    between = tuple(_blank(form[one.end() : two.start()]) for one, two in pairwise(hits))
    words = tuple(hit[0].casefold() for hit in hits)
    return _WordEntry(words, between, form[: hits[0].start()], form[hits[-1].end() :])


def _match(entry: _WordEntry, text: str, hits: Sequence[re.Match[str]], at: int) -> tuple[int, int] | None:
    """Return the span of an entry whose first word is `hits[at]`, or None."""
    last = at + len(entry.words) - 1
    if last >= len(hits):
        return None
    for nth, between in enumerate(entry.between):
        one, two = hits[at + nth], hits[at + nth + 1]
        if two[0].casefold() != entry.words[nth + 1] or _blank(text[one.end() : two.start()]) != between:
            return None
    start, end = hits[at].start() - len(entry.before), hits[last].end() + len(entry.after)
    if start < 0 or text[start : hits[at].start()] != entry.before or text[hits[last].end() : end] != entry.after:
        return None
    return start, end


def _blank(between: str) -> str:
    return _SPACE.sub(" ", between)


def merge_overlaps(found: Iterable[DetectedSpan]) -> list[DetectedSpan]:
    """Sort findings and merge overlapping ones into one of the highest rank."""
    merged: list[DetectedSpan] = []
    for each in sorted(found):
        if merged and each.start < merged[-1].end:
            before = merged[-1]
            first = min(before, each, key=lambda one: KINDS.index(one.kind))
            merged[-1] = DetectedSpan(before.start, max(before.end, each.end), first.kind, first.pattern)
        else:
            merged.append(each)
    return merged


def _phones(text: str, most: int) -> Iterator[DetectedSpan]:
    """Yield phone numbers. `most` is the number of digits of the longest number in the text."""
    if most >= 10:
        yield from (DetectedSpan(*hit.span(), PHONE, "phone_us") for hit in _PHONE_US.finditer(text))
    if "+" in text:
        yield from (DetectedSpan(*hit.span(), PHONE, "phone_us") for hit in _PHONE_PLUS_ONE.finditer(text))
        for hit in _PHONE_PLUS.finditer(text):
            if 8 <= _digits(hit[0]) <= 15 and _AMOUNT.fullmatch(hit[0]) is None:
                yield DetectedSpan(*hit.span(), PHONE, "phone_international")
    if "00" in text and most >= 10:
        for hit in _PHONE_ZEROS.finditer(text):
            if 10 <= _digits(hit[0]) <= 17:
                yield DetectedSpan(*hit.span(), PHONE, "phone_international")
    lower = text.lower()
    for hit in _PHONE_NAMED.finditer(text) if any(name in lower for name in _PHONE_NAMES) else ():
        if _DATE.match(hit[1]) is None:
            yield DetectedSpan(*hit.span(1), PHONE, "phone_named")


def _cards(text: str) -> Iterator[DetectedSpan]:
    for hit in _CARD.finditer(text):
        digits = hit[0].replace(" ", "").replace("-", "")
        if _ISSUED.fullmatch(digits) and _luhn(digits):
            yield DetectedSpan(*hit.span(), CARD, CARD)


def _luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(each - 9 if each > 9 else each for each in doubled)) % 10 == 0


def _digits(text: str) -> int:
    return sum(char.isdigit() for char in text)


def _offsets(data: bytes, wanted: Iterable[int]) -> dict[int, int]:
    """Convert byte offsets to character offsets in one pass."""
    offsets, before, count = {}, 0, 0
    for at in sorted(wanted):
        count += len(data[before:at].decode("utf-8", "surrogatepass"))
        offsets[at], before = count, at
    return offsets
