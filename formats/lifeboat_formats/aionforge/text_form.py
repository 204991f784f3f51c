"""Parses the text answers of an instance: memories between tags, receipts on lines of their own, figures in the first
line.

Releases up to 0.3.0 answer in text only. Memories are written as `<memory id="..." kind="...">TEXT</memory>` over as
many lines as the text has. `<` and `&` are escaped in texts and attributes, so a text cannot end a memory or begin
another. Parsing takes time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_OPEN, _CLOSE = "<memory ", "</memory>"
_LONGEST_HEAD = 100_000
"""Longest tag with its attributes, in characters."""
_ATTRIBUTE = re.compile(r'\s*([a-z_]{1,64})="([^"<]*)"')
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#34;", '"'), ("&apos;", "'"), ("&#39;", "'"))
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_FIGURE = re.compile(r"([a-z_]{1,40})=(\S+)")
_RECEIPT = re.compile(r"\[capture\]\s+(\S+)\s+verdict=([a-z_]+)")
_ITEM_ERROR = re.compile(r"ERR_ITEM\[(\d{1,4})\]\s+(ERR_[A-Z0-9_]{1,60})")
_CREATED = re.compile(r"\[work_create\]\s+(\S+)")


class UnreadableAnswer(ValueError):
    """The answer is truncated or malformed."""


class TaggedMemory(NamedTuple):
    """A memory in a text: its attributes and its text, both unescaped."""

    attributes: dict[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class CaptureReceipt:
    """The result of one captured text. If it was refused, `id` is "" and `error` the instance's code."""

    id: str
    verdict: str = ""
    redactions: int = 0
    flags: int = 0
    error: str = ""


def parse_memories(text: str) -> Iterator[TaggedMemory]:
    """Yield the memories in an answer. Raises UnreadableAnswer if the text is truncated."""
    at = 0
    while (start := _next(text, at)) >= 0:
        end = text.find(">", start, start + _LONGEST_HEAD)
        close = text.find(_CLOSE, end) if end >= 0 else -1
        if close < 0:
            raise UnreadableAnswer("the answer of Aionforge ends in the middle of a memory")
        body = text[end + 1 : close]
        if "<" in body:
            raise UnreadableAnswer("the end mark of a memory is missing from Aionforge's answer")
        yield TaggedMemory(_attributes(text[start + len(_OPEN) : end]), unescape_text(body))
        at = close + len(_CLOSE)


def _next(text: str, at: int) -> int:
    """Return the offset of the next memory, which begins a line, or -1."""
    while (start := text.find(_OPEN, at)) > 0 and text[start - 1] not in "\n\r":
        at = start + 1
    return start


def _attributes(head: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while (hit := _ATTRIBUTE.match(head, at)) is not None:
        found[hit[1]] = unescape_text(hit[2])
        at = hit.end()
    if head[at:].strip(" \t\r\n/"):
        raise UnreadableAnswer("a memory in Aionforge's answer has invalid attributes")
    return found


def unescape_text(text: str) -> str:
    """Unescape a text once: `&amp;lt;` becomes `&lt;`."""
    if "&" not in text:
        return text
    parts = text.split("&amp;")
    for escape, meant in _ESCAPES:
        parts = [part.replace(escape, meant) for part in parts]
    return "&".join(parts)


def parse_figures(text: str, tool: str) -> dict[str, str]:
    """Return the `name=value` pairs of the first line, which begins with `[tool]`. Raises UnreadableAnswer if it does
    not."""
    head = text.lstrip().split("\n", 1)[0]
    if not head.startswith(f"[{tool}]"):
        raise UnreadableAnswer(f"the answer of Aionforge to {tool} begins in an unknown form")
    return {name: value for name, value in _FIGURE.findall(head)}


def ids_by_line(text: str) -> list[str]:
    """Return the first id of every line, each once."""
    found = (_UUID.search(line) for line in text.splitlines())
    return list(dict.fromkeys(hit[0].lower() for hit in found if hit is not None))


def is_id(text: str) -> bool:
    """Return whether a text is an id of an instance."""
    return _UUID.fullmatch(text) is not None


def is_disabled(text: str) -> bool:
    """Return whether a tool reports that it is disabled."""
    return text.split("\n", 1)[0].rpartition("] ")[2].startswith("disabled")


def parse_receipt(text: str) -> CaptureReceipt:
    """Parse the receipt of one capture. Raises UnreadableAnswer."""
    hit = _RECEIPT.search(text)
    if hit is None or _UUID.fullmatch(hit[1]) is None:
        raise UnreadableAnswer("a receipt in Aionforge's answer is not valid")
    said = dict(_FIGURE.findall(text[hit.end() :].split("\n", 1)[0]))
    return CaptureReceipt(hit[1].lower(), hit[2], _count(said.get("redactions")), _count(said.get("flags")))


def parse_batch_receipts(text: str, items: int) -> list[CaptureReceipt]:
    """Parse the receipts of a batch of `items` texts, in order. Raises UnreadableAnswer if any is missing."""
    said = parse_figures(text, "batch_capture")
    lines = [line for line in text.lstrip().splitlines()[1:] if line.strip()]
    if said.get("items") != str(items) or len(lines) != items:
        raise UnreadableAnswer("the number of receipts from Aionforge differs from the number of texts that were sent")
    return [_item(line, place) for place, line in enumerate(lines)]


def _item(line: str, place: int) -> CaptureReceipt:
    failed = _ITEM_ERROR.match(line.strip())
    if failed is None:
        return parse_receipt(line)
    if int(failed[1]) != place:
        raise UnreadableAnswer("Aionforge's receipts are not in the order of the texts that were sent")
    return CaptureReceipt("", error=failed[2])


def parse_created_id(text: str) -> str:
    """Return the id of a created work item. Raises UnreadableAnswer."""
    hit = _CREATED.search(text)
    if hit is None or _UUID.fullmatch(hit[1]) is None:
        raise UnreadableAnswer("the answer of Aionforge does not contain the id of the new item")
    return hit[1].lower()


def _count(text: str | None) -> int:
    digits = re.match(r"\d{1,9}", text or "")
    return int(digits[0]) if digits else 0
