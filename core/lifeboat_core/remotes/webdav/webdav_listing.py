"""Read the answer to PROPFIND (RFC 4918, 9.1) as it arrives.

A server decides what is in it, so nothing is expanded and everything is bounded: a document type or an entity ends the
reading, and so do deep nesting, long texts and too many entries.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from xml.parsers import expat

from lifeboat_vault.errors import RemoteDamaged

REQUEST = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/></prop></propfind>'
)
MOST_ENTRIES = 2_000_000
_DEEPEST = 32
_LONGEST_TEXT = 8192
"""Characters of an address or a property."""
_DAV = "DAV: "
_TEXTS = frozenset(f"{_DAV}{tag}" for tag in ("status", "getcontentlength", "getlastmodified"))


class ListingEntry(NamedTuple):
    """One resource: the last segments of its path, and what the server tells of it. `size` and `modified` are None if
    it does not."""

    folder: str
    name: str
    is_folder: bool
    size: int | None
    modified: datetime | None


class ListingReader:
    """A target for the body of an answer. `finish` returns the entries."""

    def __init__(self) -> None:
        self._entries: list[ListingEntry] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self._length = 0
        self._found: dict[str, str] = {}
        """What was found of the resource."""
        self._told: dict[str, str] = {}
        """What was found in the current group of properties, which counts if its status is 2xx."""
        self._is_listing = False
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text
        self._parser.StartDoctypeDeclHandler = _refuse_declaration
        self._parser.EntityDeclHandler = _refuse_declaration

    def write(self, data: bytes, /) -> None:
        """Raises RemoteDamaged."""
        self._parse(data, is_last=False)

    def finish(self) -> list[ListingEntry]:
        """Return the entries. Raises RemoteDamaged for an incomplete listing."""
        self._parse(b"", is_last=True)
        if not self._is_listing:
            raise RemoteDamaged("the answer of the server is not a listing: it may not be a WebDAV server")
        return self._entries

    def _parse(self, data: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(data, is_last)
        except (expat.ExpatError, ValueError, LookupError):
            raise RemoteDamaged("the listing that the server sent is not valid XML") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        if len(self._open) > _DEEPEST:
            raise RemoteDamaged("the listing that the server sent is nested too deeply")
        self._text, self._length = [], 0
        if self._is_at("multistatus", depth=1):
            self._is_listing = True
        elif self._is_at("response", depth=2):
            self._found = {}
        elif self._is_at("propstat", depth=3):
            self._told = {}
        elif name == f"{_DAV}collection" and self._open[-2:-1] == [f"{_DAV}resourcetype"]:
            self._told["collection"] = "1"

    def _end(self, name: str) -> None:
        text = "".join(self._text).strip()
        if self._is_at("href", depth=3):
            self._found.setdefault("href", text)
        elif name in _TEXTS and len(self._open) in (4, 5):
            self._told[name.removeprefix(_DAV)] = text
        elif self._is_at("propstat", depth=3):
            if _is_success(self._told.get("status", "")):
                self._found |= self._told
        elif self._is_at("response", depth=2):
            self._add_entry()
        self._open.pop()
        self._text, self._length = [], 0

    def _is_at(self, tag: str, *, depth: int) -> bool:
        return len(self._open) == depth and self._open[-1] == f"{_DAV}{tag}"

    def _add_text(self, text: str) -> None:
        self._length += len(text)
        if self._length > _LONGEST_TEXT:
            raise RemoteDamaged("the listing that the server sent contains a text that is too long")
        self._text.append(text)

    def _add_entry(self) -> None:
        if len(self._entries) >= MOST_ENTRIES:
            raise RemoteDamaged("the listing that the server sent has too many entries")
        try:
            path = unquote(urlsplit(self._found.get("href", "")).path, errors="strict")
        except ValueError:
            raise RemoteDamaged("the listing that the server sent contains an invalid address") from None
        above, _, name = path.rstrip("/").rpartition("/")
        size = self._found.get("getcontentlength", "")
        self._entries.append(
            ListingEntry(
                above.rpartition("/")[2],
                name,
                "collection" in self._found,
                int(size[:20]) if size.isascii() and size.isdecimal() else None,
                _parse_time(self._found.get("getlastmodified", "")),
            )
        )


def _is_success(status: str) -> bool:
    """Return whether a status line is 2xx; one that is missing counts as that."""
    words = status.split()
    return not words or (len(words) > 1 and words[1].startswith("2"))


def _parse_time(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _refuse_declaration(*_: object) -> None:
    raise RemoteDamaged("the listing that the server sent declares a document type, which is refused")
