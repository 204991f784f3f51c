"""Writes a bundle as a document or a stream, with little memory at any size.

Records arrive one at a time and wait in temporary files in canonical form, because the checksum at the beginning covers
all of them. A writer refuses what a reader would refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire import bundle_checks, strict_json
from lifeboat_formats.aimem.wire import bundle_model as words
from lifeboat_formats.aimem.wire.bundle_model import ARRAYS, KIND, KINDS, LIMITS, BundleLimits, Envelope
from lifeboat_formats.aimem.wire.checksum import canonical_pieces, digest_pieces, hash_content
from lifeboat_formats.aimem.wire.spools import NamesOnDisk, RecordSpool
from lifeboat_formats.interchange.contract import FormatNotice

_DECIMALS = 6
_SMALLEST = 1e-4
_STREAM_ORDER = (words.CHUNKS, words.ENTITIES, words.EDGES, words.LINKS)


def portable_weight(weight: float) -> float:
    """Round a weight so that every canonicalizer writes it alike: to six decimals, with nothing between 0 and 0.0001,
    where exponents differ."""
    rounded = round(weight, _DECIMALS)
    if 0 < rounded < _SMALLEST:
        return _SMALLEST if rounded >= _SMALLEST / 2 else 0.0
    return rounded


class BundleWriter:
    """A bundle being written. A context manager; its temporary files, in `folder`, are removed at the end.

    Records of all kinds can be added in any order. Then the bundle can be written repeatedly, and nothing can be added
    any more. `own_namespace` refuses names of other producers. `envelope` needs its model and dimensions before the
    first chunk with an embedding; its checksum is set by the first writing. Every method raises BundleRefused for what
    a reader would refuse, also for an edge or a link whose end is missing.
    """

    def __init__(
        self,
        envelope: Envelope,
        folder: Path | None = None,
        *,
        own_namespace: bool = True,
        limits: BundleLimits = LIMITS,
    ) -> None:
        bundle_checks.check_envelope(envelope.members(), [])
        self.envelope = envelope
        self._limits = limits
        self._stack = ExitStack()
        try:
            self._spools = {name: self._stack.enter_context(RecordSpool(folder)) for name in ARRAYS}
            chunks, entities = (self._stack.enter_context(NamesOnDisk()) for _ in range(2))
            self._check = bundle_checks.RecordCheck(envelope, chunks, entities, limits, own_namespace)
        except BaseException:
            self._stack.close()
            raise
        self._is_whole = False

    def chunk(self, chunk: JsonObject) -> None:
        """Add a chunk, with its hash if it has none."""
        if chunk.get("content_hash") is None and isinstance(chunk.get("content"), str):
            chunk = {**chunk, "content_hash": hash_content(chunk["content"])}
        self._check.chunk(chunk, len(self._spools[words.CHUNKS]))
        self._add(words.CHUNKS, chunk)

    def edge(self, edge: JsonObject) -> None:
        """Add an edge with a portable weight."""
        self._check.edge(edge, len(self._spools[words.EDGES]))
        self._add(words.EDGES, {**edge, "weight": portable_weight(edge["weight"])})

    def entity(self, entity: JsonObject) -> None:
        """Add an entity."""
        self._check.entity(entity, len(self._spools[words.ENTITIES]))
        self._add(words.ENTITIES, entity)

    def link(self, link: JsonObject) -> None:
        """Add a link between a chunk and an entity."""
        self._check.link(link, len(self._spools[words.LINKS]))
        self._add(words.LINKS, link)

    def counts(self) -> dict[str, int]:
        """Return the number of records of each array."""
        self.finish()
        return {name: len(spool) for name, spool in self._spools.items()}

    def notices(self) -> list[FormatNotice]:
        """Return the notices of a reader about the bundle."""
        return self._check.notices()

    def finish(self) -> str:
        """Finish the bundle and return its checksum. Nothing can be added afterwards."""
        if not self._is_whole:
            self._check_ends(words.EDGES, self._check.edge_ends)
            self._check_ends(words.LINKS, self._check.link_ends)
            self._is_whole = True
            self.envelope.checksum = digest_pieces(self._canonical())
        return self.envelope.checksum

    def canonical(self) -> Iterator[bytes]:
        """Yield the RFC 8785 form without the checksum, which is signed."""
        self.finish()
        return self._canonical()

    def json_pieces(self) -> Iterator[bytes]:
        """Yield the bundle as a document with one record per line."""
        self.finish()
        return self._document()

    def stream_lines(self) -> Iterator[bytes]:
        """Yield the lines of a stream: the envelope, then every record with its `_kind`."""
        self.finish()
        return self._lines()

    def write_json(self, stream: BinaryIO) -> str:
        """Write `json_pieces` and return the checksum."""
        for piece in self.json_pieces():
            stream.write(piece)
        return self.envelope.checksum

    def write_stream(self, stream: BinaryIO) -> str:
        """Write `stream_lines` and return the checksum."""
        for line in self.stream_lines():
            stream.write(line)
        return self.envelope.checksum

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, array: str, record: JsonObject) -> None:
        if self._is_whole:
            raise ValueError("the bundle is already complete, so no record can be added")
        if KIND in record:
            raise ValueError(f"the field {KIND} is reserved for streamed bundles")
        spool = self._spools[array]
        bundle_checks.check_record_count(array, len(spool) + 1, self._limits)
        spool.append(strict_json.canonical_json(record, where=f"{array}[{len(spool)}]"))

    def _check_ends(self, array: str, check: Callable[[JsonObject, int], None]) -> None:
        for index, record in enumerate(self._spools[array]):
            check(record, index)

    def _canonical(self) -> Iterator[bytes]:
        arrays = {name: spool.pieces() for name, spool in self._spools.items()}
        return canonical_pieces(self.envelope.members(), arrays)

    def _head(self) -> bytes:
        return json_codec.encode_json({**self.envelope.members(), "checksum": self.envelope.checksum})

    def _document(self) -> Iterator[bytes]:
        yield self._head().removesuffix(b"}")
        for name in ARRAYS:
            yield b',\n"' + name.encode() + b'":['
            before = b"\n"
            for piece in self._spools[name].pieces():
                yield before + piece
                before = b",\n"
            yield b"\n]" if before == b",\n" else b"]"
        yield b"}\n"

    def _lines(self) -> Iterator[bytes]:
        yield self._head() + b"\n"
        for name in _STREAM_ORDER:
            opening = b'{"' + KIND.encode() + b'":"' + KINDS[name].encode() + b'",'
            for piece in self._spools[name].pieces():
                yield opening + piece[1:] + b"\n"
