"""Parses a file of any dialect without loss: `emit_document(parse_document(data)) == data` for any bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifeboat_formats.aicf.syntax import dialects, file_encoding, grammar, json_files, xml_files
from lifeboat_formats.aicf.syntax.cell_values import Escaping
from lifeboat_formats.aicf.syntax.dialects import DialectSurvey, HeaderLine, survey_text
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, AicfItem, AicfSection, Dialect, ItemKind
from lifeboat_formats.aicf.syntax.numbered_lines import iterate_lines
from lifeboat_formats.aicf.syntax.section_assembler import SectionAssembler
from lifeboat_formats.interchange.contract import FormatNotice

__all__ = [
    "AicfDocument",
    "AicfItem",
    "AicfSection",
    "Dialect",
    "Escaping",
    "ItemKind",
    "emit_document",
    "find_section",
    "parse_document",
    "parse_text",
]

_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE|!--|AICF)", re.IGNORECASE)


def parse_document(data: bytes | str, *, name: str = "") -> AicfDocument:
    """Parse a file given as bytes (compressed or not) or as text. `name` is used in error messages only.

    Raises SourceRefused for bytes that are not text (`utf8_invalid`, `gzip_bomb`, `gzip_invalid`). Everything else
    parses; `file_checks` reports its defects.
    """
    if isinstance(data, str):
        data = file_encoding.encode_text(data, name=name)
    text, bom = file_encoding.decode_text(file_encoding.decompress_bytes(data), name=name)
    document = parse_text(text, bom=bom)
    document.packed = data if file_encoding.is_compressed(data) else None
    return document


def parse_text(text: str, *, bom: bool = False) -> AicfDocument:
    """Parse a decoded text without a byte order mark."""
    notices: list[FormatNotice] = []
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _json(text, bom)
        except json_files.NotJson:
            notices.append(
                FormatNotice(
                    "json_invalid",
                    "The file begins like JSON but is not valid JSON, so it is read line by line",
                    "line 1",
                )
            )
    elif _XML.match(text):
        return _xml(text, bom)
    found = survey_text(text)
    assembler = SectionAssembler(text, found)
    assembler.read()
    return AicfDocument(
        text,
        bom,
        found.dialect,
        found.version,
        found.is_version_declared,
        found.is_numbered,
        assembler.sections,
        notices + assembler.notices,
        grammar.escaping_of(found.dialect),
    )


def emit_document(document: AicfDocument) -> bytes:
    """Return the bytes that were parsed, assembled from the items. A compressed file is returned compressed as it
    was."""
    if document.packed is not None:
        return document.packed
    text = "".join(document.text[item.start : item.end] for item in document.items())
    return (file_encoding.BOM if document.bom else b"") + text.encode()


def find_section(text: str, name: str, ident: str | None = None) -> AicfSection | None:
    """Return the same as `parse_text(text).section(name, ident)`, without parsing the other sections where that is
    safe."""
    if not name or text.lstrip()[:1] in ("{", "[") or _XML.match(text):
        return parse_text(text).section(name, ident)
    found = survey_text(text)
    if not _can_be_cut(text, found):
        return parse_text(text).section(name, ident)
    wanted, begun = name.upper(), -1
    for head, begins in _beginnings(text, found):
        if begun >= 0:
            return _read(text, found, begun, head.start)
        if begins == wanted and ident in (None, _ident(text, found, head)):
            begun = head.start
    return _read(text, found, begun, len(text)) if begun >= 0 else None


def _can_be_cut(text: str, found: DialectSurvey) -> bool:
    """Return whether a section can be parsed without the sections before it and ends where the next header begins."""
    if found.dialect in (Dialect.SCHEMA_DATA, Dialect.ESCAPED_BLOCKS, Dialect.END_TAGS):
        return False
    if ('"""' in text and not found.is_canonical) or "\\@" in text:
        return False
    return not any(head.name.endswith("_END") for head in found.heads)


def _beginnings(text: str, found: DialectSurvey) -> Iterator[tuple[HeaderLine, str]]:
    """Yield the header lines that begin a section, with the section's name."""
    current = ""
    for head in found.heads:
        following = text[head.rest : head.rest + 1]
        # `@NAME\n...` is an escaped block, and `7|@NAME` in a file without numbers is a row of version 2.
        if following == "\\" or (head.is_numbered and not found.is_numbered):
            continue
        if following in (" ", "\t"):
            sort = grammar.parse_header(_data(text, found, head))
            if sort is None:
                continue
            if sort.kind is ItemKind.ROW:
                name = grammar.ROW_NAMES[head.name]
                if grammar.ROW_NAMES.get(current) != name:
                    current = name
                    yield head, current
                continue
        current = head.name
        yield head, current


def _ident(text: str, found: DialectSurvey, head: HeaderLine) -> str:
    data = _data(text, found, head)
    sort = grammar.parse_header(data)
    return grammar.header_ident(data, sort) if sort is not None and sort.kind is ItemKind.HEADER else ""


def _data(text: str, found: DialectSurvey, head: HeaderLine) -> str:
    line = next(iterate_lines(text, head.start, numbered=found.is_numbered))
    return text[line.data : line.data_end]


def _read(text: str, found: DialectSurvey, start: int, end: int) -> AicfSection:
    assembler = SectionAssembler(text, found)
    assembler.read(start, end)
    return assembler.sections[0]


def _json(text: str, bom: bool) -> AicfDocument:
    value = json_files.loads(text)
    version = value.get("version") if isinstance(value, dict) else None
    is_declared = isinstance(version, str) and len(version) <= 32
    section = json_files.build_json_section(text, value)
    shown = str(version) if is_declared else dialects.assume_version(Dialect.JSON)
    return AicfDocument(text, bom, Dialect.JSON, shown, is_declared, False, [section], [], Escaping.NONE, None, value)


def _xml(text: str, bom: bool) -> AicfDocument:
    version = re.search(r"<AICF\s[^<>]{0,500}?version\s*=\s*[\"']([0-9.]{1,16})[\"']", text[:4096], re.IGNORECASE)
    shown = version.group(1) if version else dialects.assume_version(Dialect.XML)
    section = xml_files.build_xml_section(text)
    return AicfDocument(text, bom, Dialect.XML, shown, version is not None, False, [section], [], Escaping.NONE)
