"""Reading a bundle: a document or a stream, checked whole before anybody sees a record of it.

The order is that of a careful consumer: is it JSON, is it a bundle, is its envelope right, does the checksum fit (409),
are the records right (422). A document is in memory once; of a stream, what waits for its checksum lies in temporary
files.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.json_types import JsonObject
from lifeboat_formats.aimem import bundle as words
from lifeboat_formats.aimem import checking, strict_json
from lifeboat_formats.aimem.bundle import ARRAYS, KIND, KINDS, LIMITS, Bundle, BundleRefused, Limits, Records
from lifeboat_formats.aimem.checksum import canonical_pieces, digest
from lifeboat_formats.aimem.salvaging import Sound, salvaged
from lifeboat_formats.aimem.spools import Names, NamesInMemory, NamesOnDisk, Spool
from lifeboat_formats.interchange.contract import Notice

_HEAD = 1 << 20
"""Bytes that the first line of a stream, its envelope, may have."""
_ARRAY_OF = {kind: array for array, kind in KINDS.items()}
_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class _Care:
    """How careful a reader is."""

    limits: Limits
    own_namespace: bool
    salvages: bool

    def checked(self, bundle: Bundle, names: Callable[[], Names]) -> Bundle:
        """The bundle, once its records are right, or without those that are not. Raises BundleRefused."""
        if self.salvages:
            return salvaged(bundle, names, self.limits)
        checking.records(bundle, names, self.limits, own_namespace=self.own_namespace)
        return bundle


def opened(
    source: Path | BinaryIO,
    *,
    limits: Limits = LIMITS,
    own_namespace: bool = False,
    folder: Path | None = None,
    salvages: bool = False,
) -> AbstractContextManager[Bundle]:
    """A bundle that was checked, a document or a stream: the first line of a stream is a whole object without arrays.
    A stream of bytes need not be one that can be wound back, and stays open. `own_namespace` refuses names outside the
    producer's; `folder` takes temporary files; `salvages` leaves wrong records out instead of refusing them. Raises
    BundleRefused; OSError for what cannot be read."""
    return _opened(source, _Care(limits, own_namespace, salvages), folder)


def parse(data: bytes, *, limits: Limits = LIMITS, own_namespace: bool = False, salvages: bool = False) -> Bundle:
    """A document in memory, checked as `opened` does. Raises BundleRefused."""
    if len(data) > limits.document:
        raise _too_large(limits.document)
    found = strict_json.parse(data, depth=limits.depth)
    notices: list[Notice] = []
    envelope = checking.envelope(found, notices)
    arrays = checking.arrays(found, limits)
    checking.has_checksum(found)
    head = {name: value for name, value in found.items() if name != "checksum" and name not in ARRAYS}
    present = tuple(name for name in ARRAYS if name in found)
    chunks, edges, entities, links = (arrays[name] for name in ARRAYS)
    bundle = Bundle(envelope, chunks, edges, entities, links, notices, head, present)
    envelope.checksum = checking.checksum(found["checksum"], digest(canonical(bundle)))
    return _Care(limits, own_namespace, salvages).checked(bundle, NamesInMemory)


def canonical(bundle: Bundle | bytes) -> Iterator[bytes]:
    """The bytes that the checksum and a signature are made of: RFC 8785 without the checksum. `bundle` is one that was
    read, or a document of which nothing but its JSON is looked at. Raises BundleRefused."""
    if isinstance(bundle, bytes):
        return iter((_canonical_document(bundle),))
    return canonical_pieces(bundle.head, {name: _pieces(bundle.array(name), name) for name in bundle.present})


def _canonical_document(data: bytes) -> bytes:
    found = strict_json.parse(data)
    if not isinstance(found, dict):
        raise BundleRefused("a bundle is a JSON object", format_code="not_object")
    return strict_json.canonical({name: value for name, value in found.items() if name != "checksum"})


def _pieces(records: Records, array: str) -> Iterator[bytes]:
    if isinstance(records, Sound):
        records = records.whole
    if isinstance(records, Spool):
        return records.pieces()
    return (strict_json.canonical(record, where=f"{array}[{index}]") for index, record in enumerate(records))


@contextmanager
def _opened(source: Path | BinaryIO, care: _Care, folder: Path | None) -> Iterator[Bundle]:
    limits = care.limits
    with ExitStack() as stack:
        stream = stack.enter_context(source.open("rb")) if isinstance(source, Path) else source
        first = stream.readline(_HEAD)
        head = _envelope_line(first, limits)
        if head is None:
            data = _whole(first, stream, limits)
            yield parse(data, limits=limits, own_namespace=care.own_namespace, salvages=care.salvages)
            return
        yield _Stream(stream, limits, stack, folder).read(head, len(first), care)


def _whole(first: bytes, stream: BinaryIO, limits: Limits) -> bytes:
    pieces, size = [first], len(first)
    while block := stream.read(_HEAD):
        size += len(block)
        if size > limits.document:
            raise _too_large(limits.document)
        pieces.append(block)
    return b"".join(pieces)


def _too_large(most: int) -> BundleRefused:
    return BundleRefused(f"it has more than {most:,} bytes", format_code="too_large", status=words.TOO_LARGE)


def _envelope_line(line: bytes, limits: Limits) -> JsonObject | None:
    """The envelope where a line is the first one of a stream, None where a document begins."""
    try:
        found = strict_json.parse(line, depth=limits.depth)
    except BundleRefused:
        return None
    return found if isinstance(found, dict) and not any(name in found for name in ARRAYS) else None


class _Stream:
    """The lines of a stream, sorted into one spool an array."""

    def __init__(self, stream: BinaryIO, limits: Limits, stack: ExitStack, folder: Path | None) -> None:
        self._stream = stream
        self._limits = limits
        self._stack = stack
        self._spools = {name: stack.enter_context(Spool(folder)) for name in ARRAYS}

    def read(self, found: JsonObject, size: int, care: _Care) -> Bundle:
        """The bundle behind its first line. Raises BundleRefused."""
        notices: list[Notice] = []
        envelope = checking.envelope(found, notices)
        checking.has_checksum(found)
        self._take_lines(size)
        head = {name: value for name, value in found.items() if name != "checksum"}
        chunks, edges, entities, links = (self._spools[name] for name in ARRAYS)
        bundle = Bundle(envelope, chunks, edges, entities, links, notices, head)
        envelope.checksum = checking.checksum(found["checksum"], digest(canonical(bundle)))
        with ExitStack() as names:
            return care.checked(bundle, self._names(names))

    def _take_lines(self, size: int) -> None:
        number = 1
        while line := self._stream.readline(self._limits.line + 1):
            number += 1
            size += len(line)
            if len(line) > self._limits.line or size > self._limits.stream:
                raise _too_large(self._limits.line if len(line) > self._limits.line else self._limits.stream)
            if line.strip(_BLANK):
                self._take(line, number)

    def _take(self, line: bytes, number: int) -> None:
        where = f"line {number}"
        try:
            found = strict_json.parse(line, depth=self._limits.depth, where=where)
        except BundleRefused as problem:
            raise _cut_short(where) if _ends_early(line, problem) else problem from None
        if not isinstance(found, dict):
            raise BundleRefused("this is no object", format_code="invalid_type", where=where)
        kind = found.pop(KIND, None)
        array = _ARRAY_OF.get(kind) if isinstance(kind, str) else None
        if array is None:
            message = f"its {KIND} is none of {', '.join(_ARRAY_OF)}"
            raise BundleRefused(message, format_code="unknown_kind", where=where)
        spool = self._spools[array]
        checking.count(array, len(spool) + 1, self._limits)
        spool.append(strict_json.canonical(found, where=where))

    def _names(self, stack: ExitStack) -> Callable[[], Names]:
        return lambda: stack.enter_context(NamesOnDisk())


def _ends_early(line: bytes, problem: BundleRefused) -> bool:
    """Whether a line is no JSON because the stream ends in it."""
    return problem.format_code == "malformed_json" and not line.endswith(b"\n")


def _cut_short(where: str) -> BundleRefused:
    message = "the stream ends in the middle of it"
    return BundleRefused(message, format_code="checksum_mismatch", status=words.STALE, where=where)


def reads_as(data: bytes, *, limits: Limits = LIMITS) -> AbstractContextManager[Bundle]:
    """`opened` for bytes in memory."""
    return opened(io.BytesIO(data), limits=limits)
