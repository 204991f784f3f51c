"""Reads a bundle, a document or a stream, and checks it completely before any record is used.

Checks come in the order of a careful consumer: JSON, bundle, envelope, checksum (409), records (422). A document is
held in memory once; a stream waits in temporary files for its checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire import bundle_checks, strict_json
from lifeboat_formats.aimem.wire import bundle_model as words
from lifeboat_formats.aimem.wire.bundle_model import (
    ARRAYS,
    KIND,
    KINDS,
    LIMITS,
    AimemBundle,
    BundleLimits,
    BundleRecords,
    BundleRefused,
)
from lifeboat_formats.aimem.wire.checksum import canonical_pieces, digest_pieces
from lifeboat_formats.aimem.wire.salvaging import SoundRecords, salvage_bundle
from lifeboat_formats.aimem.wire.spools import NamesInMemory, NamesOnDisk, RecordSpool, SeenNames
from lifeboat_formats.interchange.contract import FormatNotice

_HEAD = 1 << 20
"""Longest first line of a stream, its envelope, in bytes."""
_ARRAY_OF = {kind: array for array, kind in KINDS.items()}
_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class _ReadingRules:
    """How strictly a reader checks."""

    limits: BundleLimits
    own_namespace: bool
    salvages: bool

    def checked(self, bundle: AimemBundle, names: Callable[[], SeenNames]) -> AimemBundle:
        """Return the bundle after checking its records, or without the wrong ones when salvaging. Raises
        BundleRefused."""
        if self.salvages:
            return salvage_bundle(bundle, names, self.limits)
        bundle_checks.check_records(bundle, names, self.limits, own_namespace=self.own_namespace)
        return bundle


def open_bundle(
    source: Path | BinaryIO,
    *,
    limits: BundleLimits = LIMITS,
    own_namespace: bool = False,
    folder: Path | None = None,
    salvages: bool = False,
) -> AbstractContextManager[AimemBundle]:
    """Open a bundle and check it. It is a stream if its first line is a complete object without arrays.

    A byte stream need not be seekable and stays open. `own_namespace` refuses names of other producers; `folder` is for
    temporary files; `salvages` leaves wrong records out instead of refusing the bundle. Raises BundleRefused; OSError
    for unreadable files.
    """
    return _opened(source, _ReadingRules(limits, own_namespace, salvages), folder)


def parse_bundle(
    data: bytes, *, limits: BundleLimits = LIMITS, own_namespace: bool = False, salvages: bool = False
) -> AimemBundle:
    """Parse and check a document in memory, as `open_bundle` does. Raises BundleRefused."""
    if len(data) > limits.document:
        raise _too_large(limits.document)
    found = strict_json.parse_json(data, depth=limits.depth)
    notices: list[FormatNotice] = []
    envelope = bundle_checks.check_envelope(found, notices)
    arrays = bundle_checks.check_arrays(found, limits)
    bundle_checks.require_checksum(found)
    head = {name: value for name, value in found.items() if name != "checksum" and name not in ARRAYS}
    present = tuple(name for name in ARRAYS if name in found)
    chunks, edges, entities, links = (arrays[name] for name in ARRAYS)
    bundle = AimemBundle(envelope, chunks, edges, entities, links, notices, head, present)
    envelope.checksum = bundle_checks.check_checksum(found["checksum"], digest_pieces(canonical_bundle_pieces(bundle)))
    return _ReadingRules(limits, own_namespace, salvages).checked(bundle, NamesInMemory)


def canonical_bundle_pieces(bundle: AimemBundle) -> Iterator[bytes]:
    """Yield the bytes that checksum and signature cover: RFC 8785 without the checksum. Raises BundleRefused."""
    return canonical_pieces(bundle.head, {name: _pieces(bundle.array(name), name) for name in bundle.present})


def _pieces(records: BundleRecords, array: str) -> Iterator[bytes]:
    if isinstance(records, SoundRecords):
        records = records.whole
    if isinstance(records, RecordSpool):
        return records.pieces()
    return (strict_json.canonical_json(record, where=f"{array}[{index}]") for index, record in enumerate(records))


@contextmanager
def _opened(source: Path | BinaryIO, care: _ReadingRules, folder: Path | None) -> Iterator[AimemBundle]:
    limits = care.limits
    with ExitStack() as stack:
        stream = stack.enter_context(source.open("rb")) if isinstance(source, Path) else source
        first = stream.readline(_HEAD)
        head = _envelope_line(first, limits)
        if head is None:
            data = _whole(first, stream, limits)
            yield parse_bundle(data, limits=limits, own_namespace=care.own_namespace, salvages=care.salvages)
            return
        yield _StreamReader(stream, limits, stack, folder).read(head, len(first), care)


def _whole(first: bytes, stream: BinaryIO, limits: BundleLimits) -> bytes:
    pieces, size = [first], len(first)
    while block := stream.read(_HEAD):
        size += len(block)
        if size > limits.document:
            raise _too_large(limits.document)
        pieces.append(block)
    return b"".join(pieces)


def _too_large(most: int) -> BundleRefused:
    return BundleRefused(f"the bundle has more than {most:,} bytes", format_code="too_large", status=words.TOO_LARGE)


def _envelope_line(line: bytes, limits: BundleLimits) -> JsonObject | None:
    """Return the envelope if a line is the first one of a stream, None if it begins a document."""
    try:
        found = strict_json.parse_json(line, depth=limits.depth)
    except BundleRefused:
        return None
    return found if isinstance(found, dict) and not any(name in found for name in ARRAYS) else None


class _StreamReader:
    """Reads the lines of a stream into one spool per array."""

    def __init__(self, stream: BinaryIO, limits: BundleLimits, stack: ExitStack, folder: Path | None) -> None:
        self._stream = stream
        self._limits = limits
        self._stack = stack
        self._spools = {name: stack.enter_context(RecordSpool(folder)) for name in ARRAYS}

    def read(self, found: JsonObject, size: int, care: _ReadingRules) -> AimemBundle:
        """Return the bundle after its first line. Raises BundleRefused."""
        notices: list[FormatNotice] = []
        envelope = bundle_checks.check_envelope(found, notices)
        bundle_checks.require_checksum(found)
        self._take_lines(size)
        head = {name: value for name, value in found.items() if name != "checksum"}
        chunks, edges, entities, links = (self._spools[name] for name in ARRAYS)
        bundle = AimemBundle(envelope, chunks, edges, entities, links, notices, head)
        envelope.checksum = bundle_checks.check_checksum(
            found["checksum"], digest_pieces(canonical_bundle_pieces(bundle))
        )
        with ExitStack() as names:
            return care.checked(bundle, lambda: names.enter_context(NamesOnDisk()))

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
            found = strict_json.parse_json(line, depth=self._limits.depth, where=where)
        except BundleRefused as problem:
            raise _cut_short(where) if _ends_early(line, problem) else problem from None
        if not isinstance(found, dict):
            raise BundleRefused("this line is not a JSON object", format_code="invalid_type", where=where)
        kind = found.pop(KIND, None)
        array = _ARRAY_OF.get(kind) if isinstance(kind, str) else None
        if array is None:
            message = f"the field {KIND} must be one of {', '.join(_ARRAY_OF)}"
            raise BundleRefused(message, format_code="unknown_kind", where=where)
        spool = self._spools[array]
        bundle_checks.check_record_count(array, len(spool) + 1, self._limits)
        spool.append(strict_json.canonical_json(found, where=where))


def _ends_early(line: bytes, problem: BundleRefused) -> bool:
    """Return whether a line is malformed because the stream ends in it."""
    return problem.format_code == "malformed_json" and not line.endswith(b"\n")


def _cut_short(where: str) -> BundleRefused:
    message = "the stream ends in the middle of this line"
    return BundleRefused(message, format_code="checksum_mismatch", status=words.STALE, where=where)
