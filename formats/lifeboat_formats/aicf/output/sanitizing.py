"""Applies the cleaning step to a whole file: every value is cleaned unescaped, and changed values are escaped again in
their place. So an escape cannot hide anything, and the rest of the file stays as it is."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifeboat_formats.aicf.records import extension, identity_layers
from lifeboat_formats.aicf.records.file_pieces import EXTENSION, own_span
from lifeboat_formats.aicf.syntax import cell_values, long_values
from lifeboat_formats.aicf.syntax.cell_values import Escaping, escape_cell, join_cells
from lifeboat_formats.aicf.syntax.document import parse_document
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, AicfItem, AicfSection, Dialect, ItemKind
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.text_edits import replace_spans

_RESPELLABLE = frozenset(Dialect) - {Dialect.JSON, Dialect.XML, Dialect.ESCAPED_BLOCKS}
_TAG = re.compile(r"<[^<>]*>")
_PEOPLE = ("user_id", "participants")


@dataclass(slots=True)
class Sanitizer:
    """Cleaner of a whole file. With `cleaner` None nothing is searched for. `users` maps user names to pseudonyms."""

    cleaner: Cleaner | None = None
    users: Mapping[str, str] = field(default_factory=dict)

    def clean(self, text: str, *, where: str) -> str | None:
        """Return the cleaned file, or None if a value has to change in a dialect that cannot be changed in place.
        Raises SecretsFound and SanitizerFailed."""
        document = parse_document(text, name=where)
        if document.dialect is Dialect.JSON:
            return self._json(text, document, where)
        if document.dialect is Dialect.XML:
            return self._xml(text, document, where)
        changes = list(self._changes(document, where))
        if not changes:
            return text
        if document.dialect not in _RESPELLABLE:
            return None
        return text[: len(text) - len(document.text)] + replace_spans(document.text, changes)

    def _json(self, text: str, document: AicfDocument, where: str) -> str:
        made = self._value(document.json, where)
        return text if made == document.json else json.dumps(made, ensure_ascii=False, indent=2) + "\n"

    def _xml(self, text: str, document: AicfDocument, where: str) -> str | None:
        """Return the text if neither the markup nor the unescaped text needs cleaning, else None."""
        texts = [document.text, html.unescape(_TAG.sub(" ", document.text)), *(item.raw for item in document.items())]
        return text if all(self._text(each, where) == each for each in texts) else None

    def _changes(self, document: AicfDocument, where: str) -> Iterator[tuple[int, int, str]]:
        for section in document.sections:
            if section.name.startswith(EXTENSION) and extension.read_extension(section) is not None:
                yield from self._extension(section, where)
                continue
            for item in section.items:
                place = f"{where} line {item.line}"
                yield from self._around(document, item, place)
                if item.raw:
                    yield from self._item(item, place)

    def _around(self, document: AicfDocument, item: AicfItem, where: str) -> Iterator[tuple[int, int, str]]:
        """Clean the text before and after the value: a key, or a whole comment."""
        start, end = own_span(document.text, item)
        spans = [(start, item.value_start), (item.value_end, end)] if item.raw else [(start, end)]
        for begin, finish in spans:
            text = document.text[begin:finish]
            made = self._text(text, where) if text.strip() else text
            if made != text:
                yield begin, finish, made

    def _item(self, item: AicfItem, where: str) -> Iterator[tuple[int, int, str]]:
        if item.key in _PEOPLE and item.kind is ItemKind.PAIR:
            texts = [self.users.get(text, text) for text in item.as_list]
            if texts != item.as_list:
                yield item.value_start, item.value_end, join_cells([self._text(text, where) for text in texts])
                return
        # The numbers of a vector are no text to search.
        if item.key == "vector" and cell_values.parse_vector(item.raw).is_whole:
            return
        texts = [item.value] if item.is_triple or item.escaping is Escaping.NONE else item.values
        made = [self._text(text, where) for text in texts]
        if made != texts:
            yield (
                item.value_start,
                item.value_end,
                "|".join(text if item.is_triple else escape_cell(text, item.escaping) for text in made),
            )

    def _extension(self, section: AicfSection, where: str) -> Iterator[tuple[int, int, str]]:
        told = extension.read_extension(section)
        made = self._value(told, f"{where} {section.name}")
        if made == told:
            return
        fields = [item for item in section.items if item.kind is ItemKind.PAIR and item.key.partition(".")[0] == "json"]
        text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
        parts = [part for _, part in long_values.spell_long_field("json", text)]
        # The cleaned document may need fewer fields or more: empty the rest, or put the surplus into the last one.
        parts += [""] * (len(fields) - len(parts))
        parts[len(fields) - 1 :] = ["".join(parts[len(fields) - 1 :])]
        for item, part in zip(fields, parts, strict=True):
            yield item.value_start, item.value_end, escape_cell(part)

    def _text(self, text: str, where: str) -> str:
        return text if self.cleaner is None else self.cleaner.clean(text, where=where)

    def _value(self, value: Any, where: str) -> Any:
        renamed = self._renamed(value) if self.users else value
        return renamed if self.cleaner is None else self.cleaner.clean_value(renamed, where=where)

    def _renamed(self, value: Any) -> Any:
        """Return a JSON value with pseudonyms for user names."""
        if isinstance(value, str):
            return self.users.get(value, value)
        if isinstance(value, list):
            return [self._renamed(each) for each in value]
        if isinstance(value, dict):
            return {name: self._renamed(each) for name, each in value.items()}
        return value


def choose_pseudonyms(text: str) -> dict[str, str]:
    """Return pseudonyms for the users of a file's sessions, numbered by first appearance."""
    return {user: f"user_{number}" for number, user in enumerate(identity_layers.list_users(text), 1)}
