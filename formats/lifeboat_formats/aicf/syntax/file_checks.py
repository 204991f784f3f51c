"""Checks of a whole file, as findings with codes and line numbers ("Validation Rules" of the specification).

Only a file that cannot be read is an error. Everything else is a warning, because files of other writers are read as
far as possible. `strict` is for files that claim to be version 3.1: it turns format violations into errors. Finding
texts name fields and sections, never their content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from lifeboat_formats.aicf.syntax import cell_values, field_checks, numbered_lines, specification
from lifeboat_formats.aicf.syntax.dialects import is_newer_version
from lifeboat_formats.aicf.syntax.document import parse_document
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, AicfItem, AicfSection, Dialect, ItemKind
from lifeboat_formats.interchange.contract import FormatFinding
from lifeboat_formats.interchange.errors import SourceRefused

MOST = 100
"""Findings reported per code. One more finding says how many were left out."""
_STRICT = frozenset(
    ("field_syntax", "escape_unknown", "required_field_missing", "required_section_missing", "timestamp_invalid")
)
_LINED = frozenset(
    (Dialect.SPECIFIED, Dialect.MIXED, Dialect.BLOCKS, Dialect.COMPILED, Dialect.STREAM, Dialect.ESCAPED_BLOCKS)
)
"""The dialects of version 3, to which its structural rules apply."""

Remark = field_checks.UngradedFinding
Rule = Callable[[AicfDocument], Iterator[Remark]]


def check_file(source: AicfDocument | bytes, *, strict: bool, name: str = "") -> list[FormatFinding]:
    """Return the findings of a file, ordered by line. A file that cannot be read gives one error."""
    if isinstance(source, bytes):
        try:
            source = parse_document(source, name=name)
        except SourceRefused as refused:
            return [FormatFinding(refused.format_code, refused.message, True, _line_of(refused.where), refused.where)]
    remarks = [remark for rule in _rules(source) for remark in rule(source)]
    remarks.sort(key=lambda remark: remark.line or 0)
    return list(_bounded(remarks, strict))


def _line_of(where: str) -> int | None:
    return int(where.removeprefix("line ")) if where.startswith("line ") else None


def _bounded(remarks: list[Remark], strict: bool) -> Iterator[FormatFinding]:
    seen: Counter[str] = Counter()
    for code, text, line, where in remarks:
        seen[code] += 1
        if seen[code] <= MOST:
            yield FormatFinding(code, text, strict and code in _STRICT, line, where)
    for code, count in seen.items():
        if count > MOST:
            yield FormatFinding(code, f"and {count - MOST} more of this kind", strict and code in _STRICT)


def _rules(document: AicfDocument) -> list[Rule]:
    rules: list[Rule] = [_encoding, _sizes, _version, _notices]
    if document.dialect in _LINED:
        rules += [_numbers, _headers, _sections, _items, _required_sections, _fields, field_checks.check_links]
    return rules


# Content.


def _encoding(document: AicfDocument) -> Iterator[Remark]:
    at = document.text.find("\0")
    if at >= 0:
        yield Remark("nul_byte", "The file contains NUL characters", document.text.count("\n", 0, at) + 1)
    found = numbered_lines.find_terminators(document.text)
    if len(found) > 1:
        yield Remark("eol_mixed", "The file contains different kinds of line endings")


def _sizes(document: AicfDocument) -> Iterator[Remark]:
    text = document.text
    if _is_longer(text, specification.LARGEST_FILE):
        yield Remark("file_too_big", f"The file is larger than {specification.LARGEST_FILE} bytes")
    if len(text) * 4 <= specification.LARGEST_FIELD:
        return
    for number, line in enumerate(numbered_lines.iterate_lines(text, numbered=False), 1):
        if _is_longer(text[line.start : line.end], specification.LARGEST_LINE):
            yield Remark("line_too_long", f"The line is longer than {specification.LARGEST_LINE} bytes", number)
    for section in document.sections:
        for item in section.of_kind(ItemKind.PAIR, ItemKind.ROW, ItemKind.CELLS):
            if _is_longer(item.raw, specification.LARGEST_FIELD):
                text = f"A value is longer than {specification.LARGEST_FIELD} bytes"
                yield Remark("field_too_long", text, item.line, _where(section, item))


def _is_longer(text: str, most: int) -> bool:
    """Return whether a text has more than `most` bytes, without encoding short texts."""
    return len(text) * 4 > most and len(text.encode()) > most


def _version(document: AicfDocument) -> Iterator[Remark]:
    if not document.is_version_declared and document.dialect not in (Dialect.JSON, Dialect.XML):
        yield Remark("version_missing", "The file does not declare its version (@AICF_VERSION)")
    if is_newer_version(document.version):
        yield Remark(
            "version_unsupported", "The version of the file is newer than 3.1; the file is read as version 3.1"
        )


def _notices(document: AicfDocument) -> Iterator[Remark]:
    for notice in document.notices:
        yield Remark(notice.code, notice.text, _line_of(notice.where))


# Structure.


def _numbers(document: AicfDocument) -> Iterator[Remark]:
    if not document.is_numbered:
        yield Remark("number_missing", "The lines are not numbered", 1)
        return
    expected: int | None = None
    for line_number, line in enumerate(numbered_lines.iterate_lines(document.text, numbered=True), 1):
        if line.number is None:
            if document.text[line.start : line.end].strip():
                yield Remark("number_missing", "The line has no number", line_number)
            continue
        if expected is None and line.number != 1:
            yield Remark("number_not_from_1", "The line numbers do not begin with 1", line_number)
        elif expected is not None and line.number != expected:
            yield Remark("number_gap", f"The line number is {line.number}, but {expected} was expected", line_number)
        expected = line.number + 1


def _headers(document: AicfDocument) -> Iterator[Remark]:
    text = document.text
    for section in document.sections:
        for item in section.of_kind(ItemKind.HEADER, ItemKind.TEXT, ItemKind.CELLS):
            if item.kind is not ItemKind.HEADER:
                if item.raw.lstrip().startswith("@"):
                    yield Remark(
                        "header_malformed", "The line begins like a section header but is not a valid header", item.line
                    )
            elif item.raw and section.name != "AICF_VERSION" and text[item.value_start - 1] != ":":
                expected = "A colon is missing after the section name"
                yield Remark("header_malformed", expected, item.line, f"@{item.key}"[:80])


def _sections(document: AicfDocument) -> Iterator[Remark]:
    for section in document.sections:
        name = field_checks.section_base_name(section)
        if name and name not in specification.SECTIONS and not name.startswith(specification.OWN_PREFIX):
            expected = "The AICF specification does not define this section; the section is kept"
            yield Remark("section_unknown", expected, section.line, f"@{name}"[:80])


def _items(document: AicfDocument) -> Iterator[Remark]:
    """Check the form of the items in sections that the specification describes."""
    for section in document.sections:
        name = field_checks.section_base_name(section)
        for item in section.items:
            if item.kind in (ItemKind.PAIR, ItemKind.ROW, ItemKind.CELLS) and cell_values.unknown_escapes(
                item.raw, item.escaping
            ):
                yield Remark(
                    "escape_unknown",
                    "A backslash precedes a character that needs no escape",
                    item.line,
                    _where(section, item),
                )
            if name in specification.SECTIONS and not _has_form(document, name, item):
                yield Remark(
                    "field_syntax",
                    "The line has neither the form `key=value` nor the form of a table row",
                    item.line,
                    f"@{name}",
                )


def _has_form(document: AicfDocument, name: str, item: AicfItem) -> bool:
    if item.kind is ItemKind.TEXT:
        # `_headers` reports lines that begin like a header.
        return item.raw.lstrip().startswith("@") or _is_bare_version(document, name, item)
    if item.kind is ItemKind.CELLS:
        return document.dialect is Dialect.COMPILED
    return item.kind not in (ItemKind.COMMENT, ItemKind.FENCE)


def _is_bare_version(document: AicfDocument, name: str, item: AicfItem) -> bool:
    is_declared = name == "AICF_VERSION" and document.is_version_declared
    return is_declared and item.raw.strip().removeprefix("v") == document.version


def _required_sections(document: AicfDocument) -> Iterator[Remark]:
    conversation = document.section("CONVERSATION")
    if conversation is not None and document.section("STATE") is None:
        yield Remark(
            "required_section_missing", "A conversation should have a section @STATE", conversation.line, "@STATE"
        )


# Meaning.


def _fields(document: AicfDocument) -> Iterator[Remark]:
    for section in document.sections:
        yield from field_checks.check_section_fields(section, document.dialect)


def _where(section: AicfSection, item: AicfItem) -> str:
    return f"@{section.name} {item.key}"[:80].rstrip()
