"""YAML as leaves with exact byte spans, from the events of PyYAML.

PyYAML reads YAML 1.1. That moves no span of a value: words such as `yes` stay texts here, because only the spelling of
a plain scalar decides what it means. Events come one by one, aliases are never expanded, and keys are no leaves. A
document that PyYAML refuses, or whose keys are not texts, raises: a value without a known place cannot be cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path, PositionedText, Scalar

MAX_DEPTH = 100

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""libyaml reads a mebibyte in a fifth of a second. The parser in Python needs four; it refuses more tabs, and never
gives other spans."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_PROPERTIES = re.compile(r"(?:(?:&[0-9A-Za-z_-]++|!\S*+)(?:\s++|#[^\r\n]*+)*+)*+")
_BREAK = re.compile(r"[\r\n]")
_INTEGER = re.compile(r"[+-]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?")
_LITERALS: dict[str, Scalar] = {
    **dict.fromkeys(("~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MOST_DIGITS = 4000
"""Python refuses to read a number of more than 4,300 digits."""


def scan_yaml(data: bytes) -> list[ParsedLeaf]:
    """Return every scalar value of every document, in order. The paths of each document begin at its root.

    Raises UnparsableSecrets (with line and column) for anything but YAML in UTF-8.
    """
    document = PositionedText.read(data)
    found = _UNPRINTABLE.search(document.text)
    if found is not None:
        document.fail(found.start(), "a control character")
    reader = _YamlReader(document)
    try:
        for event in yaml.parse(document.text, Loader=_LOADER):
            reader.take(event)
    except UnparsableSecrets:
        raise
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # escapes of no character are a ValueError
        # The messages of PyYAML can quote the text.
        document.fail(_offset_of(getattr(error, "problem_mark", None), reader.last), "the file is not valid YAML")
    return reader.leaves


@dataclass(slots=True)
class _YamlLevel:
    """An open collection: its path, and the index of the current item or the key whose value comes next."""

    path: Path
    is_sequence: bool
    index: int = -1
    key: str | None = None


class _YamlReader:
    """Turns events into leaves. `last` is where the last event began."""

    def __init__(self, document: PositionedText) -> None:
        self.leaves: list[ParsedLeaf] = []
        self.last = 0
        self._document = document
        self._levels: list[_YamlLevel] = []

    def take(self, event: yaml.Event) -> None:
        self.last = _offset_of(event.start_mark)
        # The parser in Python takes a collection that is glued to a tag for a part of the tag.
        if "[" in (getattr(event, "tag", None) or ""):
            self._fail("a YAML tag with brackets is not supported")
        if isinstance(event, yaml.CollectionStartEvent):
            path = self._next_path()
            if path is None:
                self._fail("a YAML list or mapping as a key is not supported")
            if len(self._levels) == MAX_DEPTH:
                self._fail(f"the document is nested deeper than {MAX_DEPTH} levels")
            self._levels.append(_YamlLevel(path, isinstance(event, yaml.SequenceStartEvent)))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._levels.pop()
        elif isinstance(event, yaml.AliasEvent):
            if self._next_path() is None:
                self._fail("a YAML alias as a key is not supported")
        elif isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)

    def _next_path(self) -> Path | None:
        """Return the path of the node that begins here, or None if the node is a key."""
        if not self._levels:
            return ()
        level = self._levels[-1]
        if level.is_sequence:
            level.index += 1
            return (*level.path, level.index)
        if level.key is None:
            return None
        key, level.key = level.key, None
        return (*level.path, key)

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        event.value.encode()  # raises ValueError for half of a surrogate pair, which only an escape can spell
        path = self._next_path()
        if path is None:
            self._levels[-1].key = event.value
        elif event.value or event.style:  # else nothing stands there
            value = event.value if event.style else _read_plain_scalar(event.value)
            self.leaves.append(self._document.leaf(path, value, *self._span(event)))

    def _span(self, event: yaml.ScalarEvent) -> tuple[int, int]:
        """Return where a scalar is spelled, without its anchor and tag, and without the empty lines that end a block
        scalar."""
        text, start, end = self._document.text, _offset_of(event.start_mark), _offset_of(event.end_mark)
        properties = _PROPERTIES.match(text, start) if event.anchor or event.tag else None
        start = start if properties is None else properties.end()
        if event.style and event.style in "|>":
            said = start + len(text[start:end].rstrip(" \r\n"))
            line_end = _BREAK.search(text, said, end)
            end = end if line_end is None else line_end.start()
        return start, end

    def _fail(self, problem: str) -> NoReturn:
        self._document.fail(self.last, problem)


def _offset_of(mark: Any, default: int = 0) -> int:
    """Return the character that a mark of PyYAML names; an event that stands nowhere has no mark."""
    return default if mark is None else int(mark.index)


def _read_plain_scalar(spelled: str) -> Scalar:
    """Return what a plain scalar means in the core schema of YAML 1.2."""
    if spelled in _LITERALS:
        return _LITERALS[spelled]
    if len(spelled) > _MOST_DIGITS:
        return spelled
    if _INTEGER.fullmatch(spelled):
        return int(spelled, 0 if spelled[:2] in ("0x", "0o") else 10)
    return float(spelled) if _FLOAT.fullmatch(spelled) else spelled
