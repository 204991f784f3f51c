"""A file of any dialect read without loss: `emit(parse(data)) == data`, whatever the bytes are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifeboat_formats.aicf import dialects, grammar, json_files, opening, xml_files
from lifeboat_formats.aicf.dialects import Head, Survey, survey
from lifeboat_formats.aicf.lines import lines
from lifeboat_formats.aicf.parts import Dialect, Document, Item, Kind, Section
from lifeboat_formats.aicf.sections import Assembler
from lifeboat_formats.aicf.values import Escaping
from lifeboat_formats.interchange.contract import Notice

__all__ = ["Dialect", "Document", "Escaping", "Item", "Kind", "Section", "emit", "find_section", "parse", "parse_text"]

_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE|!--|AICF)", re.IGNORECASE)


def parse(data: bytes | str, *, name: str = "") -> Document:
    """Read a file: its bytes (compressed or not), or its text. `name` stands in errors only.

    Raises SourceRefused for what is no text at all (`utf8_invalid`, `gzip_bomb`, `gzip_invalid`). Everything else is
    read: what is wrong with it is for `checking`.
    """
    if isinstance(data, str):
        data = opening.encode(data, name=name)
    text, bom = opening.decode(opening.decompress(data), name=name)
    document = parse_text(text, bom=bom)
    document.packed = data if opening.is_packed(data) else None
    return document


def parse_text(text: str, *, bom: bool = False) -> Document:
    """Read a text that was decoded and has no byte order mark."""
    notices: list[Notice] = []
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _json(text, bom)
        except json_files.NotJson:
            notices.append(Notice("json_invalid", "It begins like JSON and is none: read as lines", "line 1"))
    elif _XML.match(text):
        return _xml(text, bom)
    found = survey(text)
    assembler = Assembler(text, found)
    assembler.read()
    return Document(
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


def emit(document: Document) -> bytes:
    """The bytes that were read, put together from the parts. A compressed file comes back compressed as it was."""
    if document.packed is not None:
        return document.packed
    text = "".join(document.text[item.start : item.end] for item in document.items())
    return (opening.BOM if document.bom else b"") + text.encode()


def find_section(text: str, name: str, ident: str | None = None) -> Section | None:
    """What `parse(text).section(name, ident)` gives, without reading the other sections where that can be done."""
    if not name or text.lstrip()[:1] in ("{", "[") or _XML.match(text):
        return parse_text(text).section(name, ident)
    found = survey(text)
    if not _can_be_cut(text, found):
        return parse_text(text).section(name, ident)
    wanted, begun = name.upper(), -1
    for head, begins in _beginnings(text, found):
        if begun >= 0:
            return _read(text, found, begun, head.start)
        if begins == wanted and ident in (None, _ident(text, found, head)):
            begun = head.start
    return _read(text, found, begun, len(text)) if begun >= 0 else None


def _can_be_cut(text: str, found: Survey) -> bool:
    """Whether a section is what it is without those before it, and ends where the next header begins."""
    if found.dialect in (Dialect.SCHEMA_DATA, Dialect.ESCAPED_BLOCKS, Dialect.END_TAGS):
        return False
    if ('"""' in text and not found.is_canonical) or "\\@" in text:
        return False
    return not any(head.name.endswith("_END") for head in found.heads)


def _beginnings(text: str, found: Survey) -> Iterator[tuple[Head, str]]:
    """Where sections begin, with their names."""
    current = ""
    for head in found.heads:
        following = text[head.rest : head.rest + 1]
        if following == "\\" or (head.is_numbered and not found.is_numbered):
            continue
        if following in (" ", "\t"):
            sort = grammar.header_of(_data(text, found, head))
            if sort is None:
                continue
            if sort.kind is Kind.ROW:
                name = grammar.ROW_NAMES[head.name]
                if grammar.ROW_NAMES.get(current) != name:
                    current = name
                    yield head, current
                continue
        current = head.name
        yield head, current


def _ident(text: str, found: Survey, head: Head) -> str:
    data = _data(text, found, head)
    sort = grammar.header_of(data)
    return grammar.ident_of(data, sort) if sort is not None and sort.kind is Kind.HEADER else ""


def _data(text: str, found: Survey, head: Head) -> str:
    line = next(lines(text, head.start, numbered=found.is_numbered))
    return text[line.data : line.data_end]


def _read(text: str, found: Survey, start: int, end: int) -> Section:
    assembler = Assembler(text, found)
    assembler.read(start, end)
    return assembler.sections[0]


def _json(text: str, bom: bool) -> Document:
    value = json_files.loads(text)
    version = value.get("version") if isinstance(value, dict) else None
    is_declared = isinstance(version, str) and len(version) <= 32
    section = json_files.section_of(text, value)
    shown = str(version) if is_declared else dialects.undeclared(Dialect.JSON)
    return Document(text, bom, Dialect.JSON, shown, is_declared, False, [section], [], Escaping.NONE, None, value)


def _xml(text: str, bom: bool) -> Document:
    version = re.search(r"<AICF\s[^<>]{0,500}?version\s*=\s*[\"']([0-9.]{1,16})[\"']", text[:4096], re.IGNORECASE)
    shown = version.group(1) if version else dialects.undeclared(Dialect.XML)
    section = xml_files.section_of(text)
    return Document(text, bom, Dialect.XML, shown, version is not None, False, [section], [], Escaping.NONE)
