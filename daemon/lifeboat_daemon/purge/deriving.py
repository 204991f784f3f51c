"""From what a redaction names to the filter that keeps it out: read from the bytes themselves, while they are here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from lifeboat_alf import codec, layout, records
from lifeboat_alf.redactions import Edit, edited
from lifeboat_daemon.purge import lines
from lifeboat_daemon.purge.filters import LEAST_ANYWHERE, Filter, Marks, scope_of
from lifeboat_daemon.purge.lines import EDGE, Touched

Text = tuple[str, list[bytes]]
"""The lines of a text, in a file as the runtime knows it."""


class Found(NamedTuple):
    """A line that goes, in a file as the runtime knows it."""

    scope: str
    line: Touched


@dataclass(slots=True)
class Derived:
    """What is to be kept out, still as text: it lives as long as one purge is being carried out."""

    marks: Marks
    filter: Filter = field(default_factory=Filter)
    found: list[Found] = field(default_factory=list)

    def entry(self, path: str, body: bytes, edits: tuple[Edit, ...]) -> None:
        """A file of which edits take something."""
        if not path.startswith((layout.RAW, layout.ARTIFACTS)) or not edits:
            return
        self.filter.add_body(self.marks, body, edits)
        if lines.is_binary(body):
            return
        scope = scope_of(path)
        if not _takes_all(body, edits) or not lines.is_json(path):
            self.found.extend(Found(scope, line) for line in lines.touched(body, edits))
        if lines.is_json(path):
            self._strings(scope, body, edits)

    def _strings(self, scope: str, body: bytes, edits: Iterable[Edit]) -> None:
        for token in lines.strings(body):
            made, is_whole = lines.edits_within(token, body, edits)
            if made and (not is_whole or _is_prose(token.text)):
                self._text(scope, token.text, tuple(made))

    def _text(self, scope: str, text: bytes, edits: tuple[Edit, ...]) -> None:
        """A text on its own: all of it, where all of it goes, and each of its lines."""
        if _takes_all(text, edits) and b"\n" in text.strip():
            self.found.append(Found(scope, Touched(EDGE, lines.normalised(text), EDGE, None)))
        self.found.extend(Found(scope, line) for line in lines.touched(text, edits))

    def record(self, line: bytes, edits: tuple[Edit, ...] | None) -> None:
        """A memory that is gone (None), or of whose line edits take a part."""
        record = _decoded(line)
        content = record.get("content")
        if not isinstance(content, str):
            return
        scope = _origin(record)
        if edits is None or _decoded(edited(line, edits)).get("content") == records.TOMBSTONE:
            text = content.encode("utf-8", "surrogatepass")
            self._text(scope, text, (Edit(0, len(text)),))
        else:
            self._strings(scope, line, edits)

    # The end ----------------------------------------------------------------------------------------------------

    def finish(self, remaining: Iterable[Text]) -> Filter:
        """The filter. `remaining` are the texts that stay: a line that stands in one of them is kept out only between
        the neighbours it had, and not at all where it stays between just those."""
        wanted = {found.line.text for found in self.found}
        common, staying = {b""}, set[tuple[str, bytes, bytes, bytes]]()
        for scope, text in remaining if wanted else ():
            normal = list(map(lines.normalised, text))
            if here := wanted.intersection(normal):
                common |= here
                beside = lines.neighbours(normal)
                staying.update(
                    (scope, *each) for each in zip(beside[0], normal, beside[1], strict=True) if each[1] in here
                )
        for scope, line in self.found:
            is_common = line.text in common
            if not (is_common and (scope, line.before, line.text, line.after) in staying):
                self.filter.add_line(self.marks, scope, line, common=is_common)
        return self.filter


def texts_of_entry(path: str, body: bytes) -> Iterator[Text]:
    """The lines of a file, and those of the strings in it."""
    scope = scope_of(path)
    if not lines.is_binary(body):
        yield scope, body.split(b"\n")
        if lines.is_json(path):
            for token in lines.strings(body):
                yield from _texts(scope, token.text)


def texts_of_record(line: bytes) -> Iterator[Text]:
    record = _decoded(line)
    content = record.get("content")
    if isinstance(content, str):
        yield from _texts(_origin(record), content.encode("utf-8", "surrogatepass"))


def _texts(scope: str, text: bytes) -> Iterator[Text]:
    yield scope, text.split(b"\n")
    if b"\n" in text:
        yield scope, [text]


def _origin(record: dict[str, object]) -> str:
    """The file that a memory came from, as the runtime knows it."""
    source = record.get("source")
    return str(source.get("origin_file") or "") if isinstance(source, dict) else ""


def _takes_all(text: bytes, edits: tuple[Edit, ...]) -> bool:
    return len(edits) == 1 and edits[0][:2] == (0, len(text))


def _is_prose(text: bytes) -> bool:
    """Whether a string says something of its own: names of models and roles stand everywhere."""
    return len(text.split()) > 1 and lines.length_of(text) >= LEAST_ANYWHERE


def _decoded(line: bytes) -> dict[str, object]:
    try:
        found = codec.decode(line)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
