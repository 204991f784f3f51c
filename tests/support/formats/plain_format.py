"""A small format for tests of conversions: a file of lines, and a running instance that is a folder of such lines.

    PLAIN <agent name>
    <key> TAB <time> TAB <text>

It holds facts only. A line without tabs is refused; a line that stands there twice is deduplicated.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.change_marks import mark_record
from lifeboat_formats.interchange.contract import (
    ConversionContext,
    Format,
    FormatFinding,
    FormatOption,
    FormatReading,
    FormatWriteResult,
    MappingRow,
    MappingTable,
    OptionKind,
    Options,
)
from lifeboat_formats.interchange.errors import InstanceFailed, SourceRefused

HEAD = "PLAIN "


class PlainFormat(Format):
    name = "plain"
    title = "Plain lines"
    suffixes: tuple[str, ...] = (".plain", ".plain.gz")
    options: tuple[FormatOption, ...] = (
        FormatOption("gzip", "Press the file together.", writes=True),
        FormatOption("sign", "Sign the file.", writes=True),
        FormatOption("case", "How the text is spelled.", OptionKind.CHOICE, ("as-is", "upper"), "as-is", writes=True),
        FormatOption("prefix", "What every text begins with.", OptionKind.TEXT, reads=True),
        FormatOption("words", "A file of words.", OptionKind.FILE, reads=True),
    )

    def recognises(self, source: str, head: bytes) -> bool:
        return head.startswith(HEAD.encode())

    @contextmanager
    def read(self, source: str, options: Options, around: ConversionContext) -> Iterator[FormatReading]:
        body = Path(source).read_bytes()
        first, *lines = body.decode().splitlines()
        if not first.startswith(HEAD):
            raise SourceRefused(f"{source} does not begin as it should", format_code="head", where="line 1")
        file = f"{hashlib.sha256(body).hexdigest()}.plain"
        reading = FormatReading(first.removeprefix(HEAD), (), {f"raw/plain/{file}": body})
        reading.entries = {
            **reading.entries,
            "identity.json": json_codec.encode_json({"names": {"primary": reading.agent_name}}),
        }
        reading.records = self._records(lines, file, str(options["prefix"]), reading.fates)
        yield reading

    def _records(self, lines: Sequence[str], file: str, prefix: str, fates: list[ItemFate]) -> Iterator[JsonObject]:
        seen: set[str] = set()
        for number, line in enumerate(lines, start=2):
            cells = line.split("\t")
            if len(cells) != 3:
                fates.append(
                    ItemFate("memory", f"line {number}", ItemOutcome.REJECTED, "it has no three cells", "cells")
                )
            elif cells[0] in seen:
                fates.append(ItemFate("memory", cells[0], ItemOutcome.DEDUPLICATED))
            else:
                seen.add(cells[0])
                fates.append(ItemFate("memory", cells[0], ItemOutcome.ACCEPTED))
                yield _record(cells[0], cells[1], prefix + cells[2], file)

    def losses(self, state: State, options: Options) -> list[ItemFate]:
        return [fate for fate in _fates(state) if fate.outcome is not ItemOutcome.ACCEPTED]

    def write(self, state: State, target: BinaryIO, options: Options, around: ConversionContext) -> FormatWriteResult:
        text = "".join(_lines(state, upper=options["case"] == "upper"))
        data = text.encode()
        target.write(gzip.compress(data, mtime=0) if options["gzip"] else data)
        signature = (".sig", around.identity.sign(data)) if options["sign"] else None
        return FormatWriteResult(list(_fates(state)), figures={"lines": text.count("\n")}, signature=signature)

    def check(self, source: str, *, strict: bool) -> Iterable[FormatFinding]:
        for number, line in enumerate(Path(source).read_text().splitlines(), start=1):
            if number > 1 and line.count("\t") != 2:
                yield FormatFinding("cells", "a line has three cells", True, number)
            elif line != line.strip():
                yield FormatFinding("spaces", "spaces at an end", strict, number)

    def mappings(self) -> Sequence[MappingTable]:
        return [MappingTable("Lines", [MappingRow("a line", "a memory", "facts only")])]


class PlainInstance(PlainFormat):
    """The same format behind an address, `plain://FOLDER`: every memory is a file there, named by a number."""

    name = "plainserver"
    title = "Plain server"
    suffixes = ()
    options = ()
    fails_after: int | None = None
    """After so many memories it does not answer any more."""

    def recognises(self, source: str, head: bytes) -> bool:
        return source.startswith("plain://")

    @contextmanager
    def read(self, source: str, options: Options, around: ConversionContext) -> Iterator[FormatReading]:
        folder = Path(source.removeprefix("plain://"))
        cells = [path.read_text().split("\t", 2) for path in sorted(folder.iterdir())]
        records = [_record(key, moment, text, "") for key, moment, text in cells]
        yield FormatReading(
            "served", records, fates=[ItemFate("memory", key, ItemOutcome.ACCEPTED) for key, *_ in cells]
        )

    def write(self, state: State, target: BinaryIO, options: Options, around: ConversionContext) -> FormatWriteResult:
        return Format.write(self, state, target, options, around)

    def send(self, state: State, address: str, options: Options, around: ConversionContext) -> FormatWriteResult:
        folder, written = Path(address.removeprefix("plain://")), FormatWriteResult()
        sent = dict(around.notes.get("ids", {}))
        for number, line in enumerate(list(_lines(state, upper=False))[1:]):
            key = line.split("\t")[0]
            if key in sent:
                written.fates.append(ItemFate("memory", key, ItemOutcome.DEDUPLICATED))
                continue
            if number == self.fails_after:
                raise InstanceFailed("it does not answer")
            sent[key] = f"{len(sent):04}"
            (folder / sent[key]).write_text(line.rstrip("\n"))
            around.notes["ids"] = sent
            written.fates.append(ItemFate("memory", key, ItemOutcome.ACCEPTED))
        return written


def _record(key: str, moment: str, text: str, file: str) -> JsonObject:
    record: JsonObject = {
        "id": ids.derive_id(times.to_milliseconds(moment), f"plain\0{key}"),
        "content": text,
        "memory_type": "semantic",
        "status": "active",
        "namespace": "default",
        "source": {"origin": "plain", "origin_file": file, "extraction_method": "migrated"},
        "temporal": {"created_at": moment},
    }
    return mark_record(record, "x_plain", {"key": key})


def _fates(state: State) -> Iterator[ItemFate]:
    for each in visible_records(state):
        name = str(each.record["id"])
        if each.record["memory_type"] == "semantic":
            yield ItemFate("memory", name, ItemOutcome.ACCEPTED)
        else:
            yield ItemFate("memory", name, ItemOutcome.OMITTED, "it holds facts only", "facts_only")


def _lines(state: State, *, upper: bool) -> Iterator[str]:
    name = json_codec.decode_json(state.body("manifest.json"))["agent"]["name"]
    yield f"{HEAD}{name}\n"
    for each in visible_records(state):
        record = each.record
        if record["memory_type"] == "semantic":
            text = record["content"].upper() if upper else record["content"]
            key = record.get("x_plain", {}).get("key", record["id"])
            yield f"{key}\t{record['temporal']['created_at']}\t{text}\n"


@pytest.fixture
def plain_formats(monkeypatch: pytest.MonkeyPatch) -> dict[str, PlainFormat]:
    """Install the two formats beside the real ones."""
    added: dict[str, PlainFormat] = {"plain": PlainFormat(), "plainserver": PlainInstance()}
    names, loaded = format_registry._points(), format_registry._loaded
    monkeypatch.setattr(format_registry, "_points", lambda: {**names, **dict.fromkeys(added)})
    monkeypatch.setattr(format_registry, "_loaded", lambda name: added.get(name) or loaded(name))
    return added
