"""The local keep-out filter of purged text: keyed digests of removed lines and values, and the edits that remove them.
It has no text. The key never leaves this machine, and without it the digests reveal nothing. The key is on the same
disk, however, so nothing that a program could guess gets a digest: such text is recognised by what is left of its body
or row, which is not secret.

    {"version": 2,
     "bodies": {mark: edits},     a whole body as it once was
     "lines": {mark: rule},       a line anywhere, a short one in its file, or a common one between its neighbours
     "anywhere" | "placed" | "around": [length in bytes...],      lengths for which a digest is computed
     "values": {mark: [letters, rolling sum]},     what was removed, in any other words
     "shapes": {file: [[length, mark of what is left, edits]...]},     a body, or a line of a table, by what is left
     "rows": {mark of its id and time: [length, edits]},               a row of a memory store
     "binaries": {file: whether all that it lost has a print},         files that cannot be compared line by line
     "let_in": [file...]}                                              files that the user has captured unchanged
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from lifeboat_adapters.secrets.entropy import LEAST_PRINTED
from lifeboat_adapters.secrets.value_prints import ValuePrint, ValuePrints, may_search_everywhere
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.purging import purged_lines
from lifeboat_alf.purging.purged_lines import JsonString, LineRule, TouchedLine
from lifeboat_alf.purging.sqlite_cuts import blank_spans, is_sqlite
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits

VERSION = 2
"""Since 2 without digests of text that can be guessed."""
LEAST_ANYWHERE = 12
"""Characters. A shorter line is kept out only of the file that it was in."""


def runtime_file_name(path: str) -> str:
    """Return the file as the runtime names it, regardless of its folder in the archive."""
    if path.startswith("raw/"):
        return path.split("/", 2)[-1]
    return path.removeprefix("artifacts/")


@dataclass(frozen=True, slots=True)
class KeepOutMarks:
    """Keyed digests, a separate kind for each use."""

    key: bytes

    def body(self, body: bytes) -> str:
        return self._of(b"body", body)

    def anywhere(self, text: bytes) -> str:
        return self._of(b"line", text)

    def placed(self, scope: str, text: bytes) -> str:
        return self._of(b"placed", scope.encode(), text)

    def around(self, scope: str, before: bytes, text: bytes, after: bytes) -> str:
        return self._of(b"around", scope.encode(), before, text, after)

    def left(self, scope: str, text: bytes) -> str:
        return self._of(b"left", scope.encode(), text)

    def row(self, scope: str, row: object, time: object) -> str:
        return self._of(b"row", scope.encode(), str(row).encode(), str(time).encode())

    def _of(self, *parts: bytes) -> str:
        made = hashlib.blake2b(key=self.key, digest_size=16)
        for part in parts:
            made.update(len(part).to_bytes(8, "big"))
            made.update(part)
        return made.hexdigest()


class RedactedShape(NamedTuple):
    """A body or line that was changed: its former length, the mark of what is left, and the edits."""

    length: int
    left: str
    edits: tuple[ByteEdit, ...]


class RedactedRowShape(NamedTuple):
    """The former length of the content of a row, and the edits that change it."""

    length: int
    edits: tuple[ByteEdit, ...]


@dataclass(slots=True)
class KeepOutFilter:
    """A filter in memory. The lengths are for speed: most lines need no digest."""

    bodies: dict[str, tuple[ByteEdit, ...]] = field(default_factory=dict)
    lines: dict[str, LineRule | None] = field(default_factory=dict)
    anywhere: set[int] = field(default_factory=set)
    placed: set[int] = field(default_factory=set)
    around: set[int] = field(default_factory=set)
    values: dict[str, ValuePrint] = field(default_factory=dict)
    shapes: dict[str, list[RedactedShape]] = field(default_factory=dict)
    rows: dict[str, RedactedRowShape] = field(default_factory=dict)
    binaries: dict[str, bool] = field(default_factory=dict)
    let_in: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return any((self.bodies, self.lines, self.values, self.shapes, self.rows, self.binaries))

    def to_json(self) -> JsonObject:
        return {
            "version": VERSION,
            "bodies": {mark: purged_lines.edits_to_json(edits) for mark, edits in sorted(self.bodies.items())},
            "lines": {mark: purged_lines.rule_to_json(rule) for mark, rule in sorted(self.lines.items())},
            "anywhere": sorted(self.anywhere),
            "placed": sorted(self.placed),
            "around": sorted(self.around),
            "values": {mark: list(found) for mark, found in sorted(self.values.items())},
            "shapes": {
                scope: [[one.length, one.left, purged_lines.edits_to_json(one.edits)] for one in found]
                for scope, found in sorted(self.shapes.items())
            },
            "rows": {
                mark: [one.length, purged_lines.edits_to_json(one.edits)] for mark, one in sorted(self.rows.items())
            },
            "binaries": dict(sorted(self.binaries.items())),
            "let_in": sorted(self.let_in),
        }

    @classmethod
    def of_json(cls, value: JsonObject | None) -> KeepOutFilter:
        if not value:
            return cls()
        found = cls(
            {mark: purged_lines.edits_from_json(edits) for mark, edits in value["bodies"].items()},
            {mark: purged_lines.rule_from_json(rule) for mark, rule in value["lines"].items()},
            anywhere=set(value["anywhere"]),
            placed=set(value["placed"]),
            around=set(value["around"]),
        )
        if value["version"] < VERSION:
            found._give_up_what_is_short()
            return found
        found.values = {mark: ValuePrint(*one) for mark, one in value["values"].items()}
        found.shapes = {
            scope: [RedactedShape(length, left, purged_lines.edits_from_json(edits)) for length, left, edits in shapes]
            for scope, shapes in value["shapes"].items()
        }
        found.rows = {
            mark: RedactedRowShape(length, purged_lines.edits_from_json(edits))
            for mark, (length, edits) in value["rows"].items()
        }
        found.binaries = dict(value["binaries"])
        found.let_in = set(value.get("let_in", ()))
        return found

    def _give_up_what_is_short(self) -> None:
        """Drop digests of guessable text that an earlier release kept. A digest does not show the length of its line,
        so all digests of whole lines are dropped if one of them may be short."""
        short = min((*self.anywhere, *self.placed, *self.around), default=LEAST_PRINTED) < LEAST_PRINTED
        self.bodies = {mark: edits for mark, edits in self.bodies.items() if _taken(edits) >= LEAST_PRINTED}
        self.lines = {
            mark: rule
            for mark, rule in self.lines.items()
            if (not short if rule is None else _taken(rule.edits) >= LEAST_PRINTED)
        }

    # Filling ----------------------------------------------------------------------------------------------------

    def add_body(self, marks: KeepOutMarks, body: bytes, edits: tuple[ByteEdit, ...]) -> None:
        self.bodies.setdefault(marks.body(body), edits)

    def add_line(self, marks: KeepOutMarks, scope: str, found: TouchedLine, *, common: bool) -> None:
        """Add a line. `common`: it also occurs elsewhere and stays there, so only its neighbours identify it."""
        if common or not found.text:
            self._add(marks.around(scope, found.before, found.text, found.after), found, self.around)
        elif purged_lines.count_characters(found.text) >= LEAST_ANYWHERE:
            self._add(marks.anywhere(found.text), found, self.anywhere)
        else:
            self._add(marks.placed(scope, found.text), found, self.placed)

    def add_shape(self, marks: KeepOutMarks, scope: str, body: bytes, edits: tuple[ByteEdit, ...]) -> None:
        """Make a body recognisable by what is left of it."""
        shape = RedactedShape(len(body), marks.left(scope, apply_edits(body, edits)), edits)
        known = self.shapes.setdefault(scope, [])
        if shape not in known:
            known.append(shape)

    def _add(self, mark: str, found: TouchedLine, lengths: set[int]) -> None:
        self.lines[mark] = purged_lines.join_rules(self.lines[mark], found.rule) if mark in self.lines else found.rule
        lengths.add(len(found.text))


class UncertainBinary(Exception):
    """A binary file that was redacted has changed since, and may or may not have the purged text."""


@dataclass(frozen=True)
class KeepOutSieve:
    """A filter with its key. With `cuts_values` False, purged values in other words are only reported: `met` counts
    those captured."""

    filter: KeepOutFilter
    marks: KeepOutMarks
    cuts_values: bool = True
    met: list[int] = field(default_factory=list)

    def file(self, path: str, body: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits for a file. Raises UncertainBinary."""
        scope = runtime_file_name(path)
        exact = self._exactly(scope, body)
        if exact:
            return exact
        if purged_lines.is_binary_body(body):
            return self._binary(scope, body)
        return self._json(scope, path, body) if purged_lines.is_json_path(path) else self.text(scope, body)

    def _json(self, scope: str, path: str, body: bytes) -> tuple[ByteEdit, ...]:
        edits = self._table_lines(scope, body) if path.endswith(".jsonl") else ()
        edits = _on_top(edits, body, lambda left: self._lines(scope, left))
        if edits and _breaks(path, body, apply_edits(body, edits)):
            edits = ()
        edits = _on_top(edits, body, lambda left: self._strings(scope, left))
        more = _on_top(edits, body, self._values)  # also member names, and strings in other spellings
        if not _breaks(path, body, apply_edits(body, more)):
            return more
        self.met.append(1)
        return edits

    def _exactly(self, scope: str, body: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits that turn a known former body into the present one, through several redactions."""
        done: tuple[ByteEdit, ...] = ()
        while edits := self._known_body(scope, body):
            body, done = apply_edits(body, edits), redactions.compose_edits(done, edits) if done else edits
        return done

    def _known_body(self, scope: str, body: bytes) -> tuple[ByteEdit, ...]:
        if self.filter.bodies and (edits := self.filter.bodies.get(self.marks.body(body))):
            return edits
        return self._shaped(scope, body)

    def _shaped(self, scope: str, text: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits for a body or line that equals a redacted one in everything else."""
        for shape in self.filter.shapes.get(scope, ()):
            if shape.length == len(text):
                left = apply_edits(text, shape.edits)
                if left != text and self.marks.left(scope, left) == shape.left:
                    return shape.edits
        return ()

    def _table_lines(self, scope: str, body: bytes) -> tuple[ByteEdit, ...]:
        edits, start = list[ByteEdit](), 0
        for line in body.split(b"\n") if scope in self.filter.shapes else ():
            edits.extend(_at(start, self._shaped(scope, line)))
            start += len(line) + 1
        return tuple(edits)

    def _binary(self, scope: str, body: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits for a binary file; only SQLite databases can be edited. Raises UncertainBinary if another
        one would have to be."""
        is_sure = self.filter.binaries.get(scope)
        shapes = self.filter.shapes.get(scope, ())
        if is_sure is not None and any(self.marks.left(scope, body) == shape.left for shape in shapes):
            return ()  # the live file is redacted already
        is_small = may_search_everywhere(body, self.filter.values)
        spans = self._prints.find(body, self.filter.values, everywhere=is_small and is_sqlite(body))
        if spans:
            edits = blank_spans(body, spans) if self.cuts_values and is_sqlite(body) else None
            if edits is not None:
                return edits
            if self.cuts_values and scope not in self.filter.let_in:
                raise UncertainBinary
            self.met.append(len(spans))
            return ()
        if is_sure is False or (is_sure and not is_small):
            raise UncertainBinary
        return ()

    @cached_property
    def _prints(self) -> ValuePrints:
        return ValuePrints(self.marks.key)

    def text(self, scope: str, text: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits for a text: lines, parts of lines, and values in other words."""
        return _on_top(self._lines(scope, text), text, self._values)

    def _values(self, text: bytes) -> tuple[ByteEdit, ...]:
        spans = self._prints.find(text, self.filter.values, everywhere=False) if self.filter.values else []
        if spans and not self.cuts_values:
            self.met.append(len(spans))
            return ()
        return tuple(ByteEdit(start, end - start) for start, end in spans)

    def row(self, scope: str, row: object, time: object) -> RedactedRowShape | None:
        """Return the edits for the content of a row that did not change since it was purged."""
        return self.filter.rows.get(self.marks.row(scope, row, time)) if self.filter.rows else None

    def _lines(self, scope: str, text: bytes) -> tuple[ByteEdit, ...]:
        if b"\n" in text.strip() and self._rule_of(scope, purged_lines.normalise_line(text)) is None:
            return (ByteEdit(0, len(text)),)
        pieces = text.split(b"\n")
        normal = [purged_lines.normalise_line(piece) for piece in pieces]
        beside = purged_lines.find_neighbours(normal) if self.filter.around else None
        edits, start = list[ByteEdit](), 0
        for place, piece in enumerate(pieces):
            line = piece if place + 1 == len(pieces) else piece + b"\n"
            rule = self._rule_of(scope, normal[place], beside and (beside[0][place], beside[1][place]))
            if rule != () and line:
                edits.extend(
                    _at(
                        start,
                        purged_lines.apply_line_rule(line, normal[place], rule if isinstance(rule, LineRule) else None),
                    )
                )
            start += len(line)
        return tuple(edits)

    def _rule_of(
        self, scope: str, text: bytes, beside: tuple[bytes, bytes] | None = None
    ) -> LineRule | tuple[()] | None:
        """Return the rule of a line, also by its neighbours; () when there is none."""
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

    def _strings(self, scope: str, body: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits for the strings of JSON."""
        found = ((token, self.text(scope, token.text)) for token in purged_lines.find_json_strings(body))
        return tuple(_respelled(token, body, apply_edits(token.text, edits)) for token, edits in found if edits)


def _at(start: int, edits: Iterable[ByteEdit]) -> Iterator[ByteEdit]:
    return (edit._replace(offset=start + edit.offset) for edit in edits)


def _on_top(
    edits: tuple[ByteEdit, ...], body: bytes, more: Callable[[bytes], tuple[ByteEdit, ...]]
) -> tuple[ByteEdit, ...]:
    """Return edits combined with those of their result."""
    rest = more(apply_edits(body, edits) if edits else body)
    return redactions.compose_edits(edits, rest) if edits and rest else edits or rest


def _taken(edits: Iterable[ByteEdit]) -> int:
    return sum(edit.length for edit in edits)


def _breaks(path: str, body: bytes, made: bytes) -> bool:
    """Return whether valid JSON becomes invalid."""
    by_line = not path.endswith((".json", ".json5"))
    return (
        purged_lines.can_parse_json(body, by_line=by_line)
        and bool(made.strip())
        and not purged_lines.can_parse_json(made, by_line=by_line)
    )


def _respelled(token: JsonString, body: bytes, text: bytes) -> ByteEdit:
    like = body[token.start : token.end]
    return ByteEdit(token.start, len(like), purged_lines.spell_json_string(text, like))
