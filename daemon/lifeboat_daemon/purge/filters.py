"""The local line filter: keyed digests of lines that are to be kept out, and what goes of them. Without its key, which
never leaves this machine, it says nothing about the lines; it never holds text.

    {"version": 1,
     "bodies": {mark: edits},     a whole body as it once was
     "lines": {mark: rule},       a line anywhere, a short one in its file, or a common one between its neighbours
     "anywhere" | "placed" | "around": [length in bytes...]}      what is worth a look
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lifeboat_alf import redactions
from lifeboat_alf.redactions import Edit, edited
from lifeboat_daemon.purge import lines
from lifeboat_daemon.purge.lines import Rule, Token, Touched

JsonObject = dict[str, Any]

VERSION = 1
LEAST_ANYWHERE = 12
"""Characters. A shorter line is looked for in the file alone that it stood in."""


def scope_of(path: str) -> str:
    """A file as the runtime knows it, whatever folder of the archive it is kept in."""
    if path.startswith("raw/"):
        return path.split("/", 2)[-1]
    return path.removeprefix("artifacts/")


@dataclass(frozen=True, slots=True)
class Marks:
    """Keyed digests, each kind for itself."""

    key: bytes

    def body(self, body: bytes) -> str:
        return self._of(b"body", body)

    def anywhere(self, text: bytes) -> str:
        return self._of(b"line", text)

    def placed(self, scope: str, text: bytes) -> str:
        return self._of(b"placed", scope.encode(), text)

    def around(self, scope: str, before: bytes, text: bytes, after: bytes) -> str:
        return self._of(b"around", scope.encode(), before, text, after)

    def _of(self, *parts: bytes) -> str:
        made = hashlib.blake2b(key=self.key, digest_size=16)
        for part in parts:
            made.update(len(part).to_bytes(8, "big"))
            made.update(part)
        return made.hexdigest()


@dataclass(slots=True)
class Filter:
    """A filter in memory. Lengths are kept for speed alone: of most lines nothing has to be computed."""

    bodies: dict[str, tuple[Edit, ...]] = field(default_factory=dict)
    lines: dict[str, Rule | None] = field(default_factory=dict)
    anywhere: set[int] = field(default_factory=set)
    placed: set[int] = field(default_factory=set)
    around: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.bodies or self.lines)

    def to_json(self) -> JsonObject:
        return {
            "version": VERSION,
            "bodies": {mark: lines.edits_to_json(edits) for mark, edits in sorted(self.bodies.items())},
            "lines": {mark: lines.to_json(rule) for mark, rule in sorted(self.lines.items())},
            "anywhere": sorted(self.anywhere),
            "placed": sorted(self.placed),
            "around": sorted(self.around),
        }

    @classmethod
    def of_json(cls, value: JsonObject | None) -> Filter:
        if not value:
            return cls()
        return cls(
            {mark: lines.edits_of_json(edits) for mark, edits in value["bodies"].items()},
            {mark: lines.of_json(rule) for mark, rule in value["lines"].items()},
            *(set(value[name]) for name in ("anywhere", "placed", "around")),
        )

    # Filling ----------------------------------------------------------------------------------------------------

    def add_body(self, marks: Marks, body: bytes, edits: tuple[Edit, ...]) -> None:
        self.bodies.setdefault(marks.body(body), edits)

    def add_line(self, marks: Marks, scope: str, found: Touched, *, common: bool) -> None:
        """`common`: the line stands somewhere else too and stays there, so only its neighbours tell which one it is."""
        if common or not found.text:
            self._add(marks.around(scope, found.before, found.text, found.after), found, self.around)
        elif lines.length_of(found.text) >= LEAST_ANYWHERE:
            self._add(marks.anywhere(found.text), found, self.anywhere)
        else:
            self._add(marks.placed(scope, found.text), found, self.placed)

    def _add(self, mark: str, found: Touched, lengths: set[int]) -> None:
        self.lines[mark] = lines.joined(self.lines[mark], found.rule) if mark in self.lines else found.rule
        lengths.add(len(found.text))


@dataclass(frozen=True, slots=True)
class Sieve:
    """A filter at work, with its key."""

    filter: Filter
    marks: Marks

    def file(self, path: str, body: bytes) -> tuple[Edit, ...]:
        """What goes of a file."""
        exact = self._exactly(body)
        if exact or lines.is_binary(body):
            return exact
        scope = scope_of(path)
        edits = self.text(scope, body)
        if not lines.is_json(path):
            return edits
        made = edited(body, edits)
        if edits and _breaks(path, body, made):
            edits, made = (), body
        return redactions.on_top(edits, self._strings(scope, made)) if edits else self._strings(scope, made)

    def _exactly(self, body: bytes) -> tuple[Edit, ...]:
        """A body that was here once becomes the one that stands in its place, through one purge after the other."""
        done: tuple[Edit, ...] = ()
        while self.filter.bodies and (edits := self.filter.bodies.get(self.marks.body(body))):
            body, done = edited(body, edits), redactions.on_top(done, edits) if done else edits
        return done

    def text(self, scope: str, text: bytes) -> tuple[Edit, ...]:
        """What goes of a text: lines, or parts of them."""
        if b"\n" in text.strip() and self._rule_of(scope, lines.normalised(text)) is None:
            return (Edit(0, len(text)),)
        pieces = text.split(b"\n")
        normal = [lines.normalised(piece) for piece in pieces]
        beside = lines.neighbours(normal) if self.filter.around else None
        edits, start = list[Edit](), 0
        for place, piece in enumerate(pieces):
            line = piece if place + 1 == len(pieces) else piece + b"\n"
            rule = self._rule_of(scope, normal[place], beside and (beside[0][place], beside[1][place]))
            if rule != () and line:
                edits.extend(_at(start, lines.cuts(line, normal[place], rule if isinstance(rule, Rule) else None)))
            start += len(line)
        return tuple(edits)

    def _rule_of(self, scope: str, text: bytes, beside: tuple[bytes, bytes] | None = None) -> Rule | tuple[()] | None:
        """The rule of a line, between its neighbours where those may tell; () when there is none."""
        kept, marks = self.filter, self.marks
        if len(text) in kept.anywhere and (mark := marks.anywhere(text)) in kept.lines:
            return kept.lines[mark]
        if len(text) in kept.placed and (mark := marks.placed(scope, text)) in kept.lines:
            return kept.lines[mark]
        if (
            beside
            and len(text) in kept.around
            and (mark := marks.around(scope, beside[0], text, beside[1])) in kept.lines
        ):
            return kept.lines[mark]
        return ()

    def _strings(self, scope: str, body: bytes) -> tuple[Edit, ...]:
        """What goes of the strings of JSON."""
        found = ((token, self.text(scope, token.text)) for token in lines.strings(body))
        return tuple(_respelled(token, body, edited(token.text, edits)) for token, edits in found if edits)


def _at(start: int, edits: Iterable[Edit]) -> Iterator[Edit]:
    return (edit._replace(offset=start + edit.offset) for edit in edits)


def _breaks(path: str, body: bytes, made: bytes) -> bool:
    """Whether a file that could be read as JSON cannot be read any more."""
    by_line = not path.endswith((".json", ".json5"))
    return lines.parses(body, by_line=by_line) and bool(made.strip()) and not lines.parses(made, by_line=by_line)


def _respelled(token: Token, body: bytes, text: bytes) -> Edit:
    like = body[token.start : token.end]
    return Edit(token.start, len(like), lines.spelled(text, like))
