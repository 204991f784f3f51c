"""Version 1 as XML: conversations, messages, decisions and insights, with their positions in the text.

No XML parser is involved: the items cover the text with any bytes, and custom entities are not resolved. An
unclosed element is ignored.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.syntax.aicf_times import normalize_time
from lifeboat_formats.aicf.syntax.cell_values import Escaping
from lifeboat_formats.aicf.syntax.document_parts import AicfItem, AicfSection, ItemKind
from lifeboat_formats.aicf.syntax.numbered_lines import count_terminators
from lifeboat_formats.aicf.syntax.older_spellings import TIMES, TOPICS

_CONVERSATIONS = frozenset(("conversation", "chat", "thread", "dialogue"))
_KINDS = {
    **dict.fromkeys(("message", "msg", "turn", "exchange"), aicf_mapping.MESSAGE),
    "decision": aicf_mapping.DECISION,
    "insight": aicf_mapping.INSIGHT,
    "memory": aicf_mapping.MEMORY,
}
"""Elements that are one memory each."""
_ROLES = ("role", "sender", "speaker", "author")
_IDS = ("id", "name")
_RATIONALES = ("rationale", "reason")
_SAID_BESIDE = (*_ROLES, *TIMES, *TOPICS, *_RATIONALES, "id")
"""Fields that describe a memory and are not part of its text."""
_LONGEST_FIELD = 2000
_MARKUP = re.compile(r"<(?:(?P<skipped>!--|!\[CDATA\[|\?)|(?P<closes>/?)(?P<name>[A-Za-z_][\w:.\-]*)(?P<rest>[^<>]*)>)")
_ENDS = {"!--": "-->", "![CDATA[": "]]>", "?": "?>"}
_SECTION = re.compile(r"<(!--|!\[CDATA\[)")
_TAG = re.compile(r"<[^<>]*>")
_FIELD = re.compile(
    rf"<(?P<name>{'|'.join(_SAID_BESIDE)})\b[^<>]*>(?P<value>[^<>]{{0,{_LONGEST_FIELD}}})</(?P=name)\s*>", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"\s(?P<name>[A-Za-z_][\w:.\-]*)\s*=\s*(?:\"(?P<double>[^\"<>]*)\"|'(?P<single>[^'<>]*)')")


class XmlPart(NamedTuple):
    """What an item of an XML file is: a kind of `aicf_mapping`, and its attributes. `is_plain`: its text contains no
    markup, so that it can be replaced."""

    kind: str
    role: str = ""
    topic: str = ""
    time: str | None = None
    ident: str = ""
    conversation: str = ""
    rationale: str = ""
    is_plain: bool = False


@dataclass(slots=True)
class _XmlElement:
    """A conversation or memory element, and the elements inside of it."""

    name: str
    start: int
    inner: int
    inner_end: int = -1
    end: int = -1
    attributes: str = ""
    inside: list[_XmlElement] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return _KINDS.get(self.name, "")


def build_xml_section(text: str) -> AicfSection:
    """Return the only section, `XML`, whose items cover the text."""
    items = list(_XmlItemReader(text).items())
    return AicfSection("XML", "", "", 0, len(text), items)


def _elements(text: str) -> list[_XmlElement]:
    """Return the conversations and memories that are not part of another memory, in order."""
    found: list[_XmlElement] = []
    opened: list[_XmlElement] = []
    names: Counter[str] = Counter()
    at = 0
    while (tag := _MARKUP.search(text, at)) is not None:
        at = tag.end()
        if tag["skipped"]:
            end = text.find(_ENDS[tag["skipped"]], at)
            at = len(text) if end < 0 else end
            continue
        name = tag["name"].lower()
        if name not in _KINDS and name not in _CONVERSATIONS:
            continue
        if not tag["closes"]:
            if not tag["rest"].endswith("/"):
                opened.append(_XmlElement(name, tag.start(), tag.end(), attributes=tag["rest"]))
                names[name] += 1
            continue
        # A closing tag also ends the unclosed elements inside of its element.
        while names[name]:
            closed = opened.pop()
            names[closed.name] -= 1
            if closed.name == name and not _stands_in_a_conversation(closed, names):
                closed.inner_end, closed.end = tag.start(), tag.end()
                closed.inside = _taken(found, closed)
                found.append(closed)
            if closed.name == name:
                break
    return found


def _stands_in_a_conversation(element: _XmlElement, opened: Counter[str]) -> bool:
    """Return whether an element is a conversation inside of another one, and thus a part of it."""
    return not element.kind and any(opened[name] for name in _CONVERSATIONS)


def _taken(found: list[_XmlElement], outer: _XmlElement) -> list[_XmlElement]:
    """Remove the elements inside of `outer` from the list and return them."""
    inside: list[_XmlElement] = []
    while found and found[-1].start > outer.start:
        inside.append(found.pop())
    return inside[::-1] if not outer.kind else []


class _XmlItemReader:
    """Splits one text into items. `_time` and `_topic` are those that the whole file states."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = 1
        self._line_at = 0
        self._time: str | None = None
        self._topic = ""

    def items(self) -> Iterator[AicfItem]:
        elements = _elements(self._text)
        if not elements:
            yield self._whole()
            return
        around = "".join(self._between(elements, 0, len(self._text)))
        self._time, self._topic = _time_of(around, ""), _first(_stated(around, "", TOPICS))
        yield from self._run(elements, 0, len(self._text), XmlPart("", time=self._time, topic=self._topic))

    def _whole(self) -> AicfItem:
        """Return a file without known elements as one item, with its fields as part of the text."""
        text, every = self._text, " ".join(found[0] for found in _ATTRIBUTE.finditer(self._text))
        topic, role = (_first(_stated(text, every, names)) for names in (TOPICS, _ROLES))
        part = XmlPart(aicf_mapping.TEXT, role.lower(), topic, _time_of(text, every))
        said = " ".join(html.unescape(_TAG.sub(" ", text)).split())
        return AicfItem(ItemKind.TEXT, 0, len(text), 1, "", said, 0, len(text), None, Escaping.NONE, False, part)

    def _between(self, elements: Sequence[_XmlElement], start: int, end: int) -> Iterator[str]:
        for element in elements:
            yield self._text[start : element.start]
            start = element.end
        yield self._text[start:end]

    def _run(self, elements: Sequence[_XmlElement], start: int, end: int, known: XmlPart) -> Iterator[AicfItem]:
        """Yield the items of adjacent elements and of the text between them."""
        for element in elements:
            yield from self._gap(start, element.start, known)
            yield from self._conversation(element, known) if element.inside else self._memory(element, known)
            start = element.end
        yield from self._gap(start, end, known)

    def _gap(self, start: int, end: int, known: XmlPart) -> Iterator[AicfItem]:
        if start < end:
            part = XmlPart(aicf_mapping.TEXT, time=known.time)
            yield self._item(start, end, start, end, part, _said(self._text[start:end]))

    def _memory(self, element: _XmlElement, known: XmlPart) -> Iterator[AicfItem]:
        inner = self._text[element.inner : element.inner_end]
        part = self._part(element, inner, known)
        said = html.unescape(inner).strip() if part.is_plain else _said(inner)
        yield self._item(element.start, element.end, element.inner, element.inner_end, part, said)

    def _conversation(self, element: _XmlElement, known: XmlPart) -> Iterator[AicfItem]:
        """Yield what a conversation states of itself, then its elements. Its first item begins after the element's name
        and ends before the last `>`, so that a whole tag remains when the item is removed."""
        head = self._text[element.inner : element.inside[0].start]
        part = self._part(element, "".join(self._between(element.inside, element.inner, element.inner_end)), known)
        start = element.start + 1 + len(element.name)
        end = element.inner + head.rfind(">") if ">" in head else element.inner - 1
        yield self._glue(element.start, start)
        own = part._replace(role="", conversation=part.ident, is_plain=False)
        if end > start:
            said = _said(self._text[element.inner : end + 1])
            yield self._item(start, end, min(element.inner, end), end, own, said)
        yield self._glue(end, end + 1)
        yield from self._run(element.inside, end + 1, element.inner_end, own)
        yield self._glue(element.inner_end, element.end)

    def _part(self, element: _XmlElement, inner: str, known: XmlPart) -> XmlPart:
        attributes = element.attributes
        return XmlPart(
            element.kind or aicf_mapping.CONVERSATION,
            _first(_stated(inner, attributes, _ROLES)).lower(),
            _first(_stated(inner, attributes, TOPICS)) or known.topic,
            _time_of(inner, attributes) or known.time,
            _first(_stated("", attributes, _IDS)),
            known.conversation,
            _first(_stated(inner, attributes, _RATIONALES)),
            "<" not in inner,
        )

    def _item(self, start: int, end: int, value: int, value_end: int, part: XmlPart, said: str) -> AicfItem:
        """Return an item with its text, or glue if it has none."""
        if not said and part.kind == aicf_mapping.CONVERSATION and part.topic:
            said = f"Conversation {part.ident}: {part.topic}" if part.ident else f"Conversation: {part.topic}"
        if not said:
            return self._glue(start, end)
        line = self._count(start)
        return AicfItem(ItemKind.TEXT, start, end, line, "", said, value, value_end, None, Escaping.NONE, False, part)

    def _glue(self, start: int, end: int) -> AicfItem:
        return AicfItem(
            ItemKind.GLUE, start, end, self._count(start), raw=self._text[start:end], escaping=Escaping.NONE
        )

    def _count(self, at: int) -> int:
        self._line += count_terminators(self._text[self._line_at : at], at - self._line_at)
        self._line_at = at
        return self._line


def _said(inner: str) -> str:
    """Return the text of an element without markup and without its descriptive fields."""
    return " ".join(html.unescape(_TAG.sub(" ", _FIELD.sub(" ", _flat(inner)))).split())


def _flat(inner: str) -> str:
    """Return markup without comments and with CDATA sections as text."""
    pieces, at = list[str](), 0
    while (found := _SECTION.search(inner, at)) is not None:
        end = inner.find(_ENDS[found[1]], found.end())
        if end < 0:
            break
        own = html.escape(inner[found.end() : end]) if found[1] == "![CDATA[" else ""
        pieces += [inner[at : found.start()], own]
        at = end + len(_ENDS[found[1]])
    return "".join([*pieces, inner[at:]])


def _stated(inner: str, attributes: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the values of attributes and fields with the given names, in the order of the names."""
    said: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(attributes):
        said.setdefault(found["name"].lower(), found["double"] if found["double"] is not None else found["single"])
    for found in _FIELD.finditer(inner):
        said.setdefault(found["name"].lower(), found["value"])
    return (html.unescape(said[name]).strip() for name in names if said.get(name, "").strip())


def _first(found: Iterator[str]) -> str:
    return next(found, "")


def _time_of(inner: str, attributes: str) -> str | None:
    return next((time for each in _stated(inner, attributes, TIMES) if (time := normalize_time(each))), None)
