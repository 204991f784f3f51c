"""A large AIMEM bundle written or read in a process of its own, by Lifeboat or by Python's `json` with all of it in
memory.

    python -m benchmarks.bundles write|read|dump|load CHUNKS FILE

`write` and `read` are Lifeboat, a stream of lines, checked as a foreign one is; `dump` and `load` are `json` with one
document. Prints one JSON document: seconds, peak memory in bytes, how many records were written or read.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from benchmarks import processes, prose

from lifeboat_alf.common.json_types import JsonObject

PRODUCER = "alf-bench"
WHEN = "2026-04-01T09:30:00Z"
_ENVELOPE: JsonObject = {
    "format": "aimem-bundle",
    "version": "1",
    "producer": PRODUCER,
    "tenant_id": "11111111-1111-1111-1111-111111111111",
    "exported_at": WHEN,
    "scope": "FULL",
}
_TYPES = ("fact", "preference", "decision", "episodic", "procedure")
_KINDS = ("person", "place", "technology", "concept")


def chunks(count: int) -> Iterator[JsonObject]:
    """Yield memories of a few sentences. The same count gives the same memories."""
    random = Random(7)
    for number in range(count):
        yield {
            "id": _urn(f"c{number}"),
            "content": prose.paragraph(random, 240),
            "memory_type": random.choice(_TYPES),
            "zone": "standard",
            "is_pinned": number % 50 == 0,
            "created_at": WHEN,
            "tags": [random.choice(prose.NOUNS)],
        }


def edges(count: int) -> Iterator[JsonObject]:
    """Yield one edge for every second chunk."""
    random = Random(8)
    for number in range(0, count - 1, 2):
        ends = {"source_id": _urn(f"c{number}"), "target_id": _urn(f"c{random.randrange(number + 1, count)}")}
        yield {**ends, "edge_type": "semantic", "weight": round(random.random(), 3), "created_at": WHEN}


def entities(count: int) -> Iterator[JsonObject]:
    """Yield one entity for every twenty chunks."""
    for number in range(max(1, count // 20)):
        kind = _KINDS[number % len(_KINDS)]
        yield {"id": _urn(f"e{number}"), "name": f"Name {number}", "kind": kind, "created_at": WHEN}


def links(count: int) -> Iterator[JsonObject]:
    """Yield one link from each chunk to an entity."""
    for number in range(count):
        yield {"chunk_id": _urn(f"c{number}"), "entity_id": _urn(f"e{number % max(1, count // 20)}")}


def write(count: int, path: Path) -> int:
    """Write a stream with Lifeboat, with hashes and checksum."""
    from lifeboat_formats.aimem.wire.bundle_model import Envelope
    from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter

    with BundleWriter(Envelope(**_ENVELOPE), path.parent) as writer, path.open("wb") as stream:
        for chunk in chunks(count):
            writer.chunk(chunk)
        for edge in edges(count):
            writer.edge(edge)
        for entity in entities(count):
            writer.entity(entity)
        for link in links(count):
            writer.link(link)
        writer.write_stream(stream)
        return sum(writer.counts().values())


def read(count: int, path: Path) -> int:
    """Read a stream with Lifeboat: check everything, then visit each record."""
    from lifeboat_formats.aimem.wire.bundle_model import ARRAYS
    from lifeboat_formats.aimem.wire.bundle_reading import open_bundle

    with open_bundle(path, folder=path.parent) as bundle:
        return sum(1 for array in ARRAYS for _ in bundle.array(array))


def dump(count: int, path: Path) -> int:
    """Write the same records as one document with `json`, without hashes."""
    arrays = {
        "chunks": list(chunks(count)),
        "edges": list(edges(count)),
        "entities": list(entities(count)),
        "chunk_entities": list(links(count)),
    }
    path.write_text(json.dumps({**_ENVELOPE, **arrays}), "utf-8")
    return sum(map(len, arrays.values()))


def load(count: int, path: Path) -> int:
    """Read one document with `json` at once, without checks."""
    found = json.loads(path.read_text("utf-8"))
    return sum(len(value) for value in found.values() if isinstance(value, list))


MODES: dict[str, Callable[[int, Path], int]] = {"write": write, "read": read, "dump": dump, "load": load}


def _urn(local: str) -> str:
    return f"urn:aimem:{PRODUCER}:{local}"


def main() -> None:
    mode, count, path = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    tempfile.tempdir = str(path.parent)
    if mode in ("write", "dump"):
        # Making the prose takes as long as writing it, so it is made beforehand and measured separately.
        begun = time.perf_counter()
        for made in (chunks(count), edges(count), entities(count), links(count)):
            for _ in made:
                pass
        making = time.perf_counter() - begun
    else:
        making = 0.0
    begun = time.perf_counter()
    records = MODES[mode](count, path)
    taken = time.perf_counter() - begun - making
    print(json.dumps({"seconds": taken, "peak": processes.peak(os.getpid()), "records": records}))


if __name__ == "__main__":
    main()
