"""Rows about the formats of other memory systems: a large bundle, and one section of a file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks import measure, prose
from benchmarks.measure import Budget, Row
from benchmarks.scale import Scale

MORE = 8 << 20
"""Additional bytes of memory that ten times as many chunks may take."""
MILLISECOND = 0.001
_TYPICAL = 500
"""Lines of a file with a few conversations."""


def many_chunks(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a large AIMEM stream, written and read with all checks, and one with a tenth of the chunks."""
    folder.mkdir(parents=True)
    few, many = scale.records // 10, scale.records
    stream, document = folder / "bundle.ndjson", folder / "bundle.json"
    for ours, theirs, words in (("write", "dump", "json.dumps"), ("read", "load", "json.loads")):
        small = _taken(ours, few, folder / "few.ndjson")
        large = _taken(ours, many, stream)
        rival = _taken(theirs, many, document)
        work = f"AIMEM stream of {many:,} chunks: {ours}"
        yield measure.beside(work, large["seconds"], f"{words} of the whole", rival["seconds"])
        more = large["peak"] - small["peak"]
        yield Row(
            f"{work}, peak memory",
            measure.size(large["peak"]),
            f"{words} of the whole",
            measure.size(rival["peak"]),
            measure.times_as(large["peak"] / rival["peak"], "smaller"),
        )
        yield Row(
            f"{work}, more than of {few:,}",
            measure.size(max(0, more)),
            budgets=[Budget(f"<= {MORE >> 20} MiB", more, MORE)],
        )
    yield Row(f"AIMEM stream of {many:,} chunks: the file", measure.size(stream.stat().st_size))


def _taken(mode: str, count: int, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.bundles", mode, str(count), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def one_section(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure one section of an AICF file with some hundred lines, and of a long one."""
    for lines in (_TYPICAL, 50 * scale.files):
        data = numbered_file(lines).encode()
        opened, found, whole, split = _times(data, scale.quick_runs if lines == _TYPICAL else scale.slow_runs)
        work = f"AICF file of {lines:,} lines ({measure.size(len(data))})"
        budgets = [Budget("< 1 ms", each, MILLISECOND) for each in (opened, found)] if lines == _TYPICAL else [None] * 2
        yield _beside(f"{work}: a section of it, opened", opened, whole, budgets[0])
        yield _beside(f"{work}: its last section, not opened", found, whole, budgets[1])
        yield measure.beside(f"{work}: all of it", whole, "str.splitlines", split)


def _times(data: bytes, runs: int) -> list[float]:
    """Return median seconds for the last conversation of a file that was read, of a file that was not, for the whole
    file, and for its lines."""
    from lifeboat_formats.aicf.syntax.document import emit_document, find_section, parse_document

    text = data.decode()
    name, ident = "CONVERSATION", text.rpartition("@CONVERSATION:")[2].partition("\n")[0]
    document = parse_document(data)
    if emit_document(document) != data or document.section(name, ident) != find_section(text, name, ident):
        raise SystemExit("a file of AICF was not read as it is written")
    found = measure.in_turn(
        runs,
        lambda _: document.section(name, ident),
        lambda _: find_section(text, name, ident),
        lambda _: parse_document(data),
        lambda _: text.splitlines(),
    )
    return [measure.median(each) for each in found if each is not None]


def _beside(work: str, ours: float, whole: float, budget: Budget | None) -> Row:
    budgets = [] if budget is None else [budget]
    ratio = measure.times_as(ours / whole, "faster")
    return Row(work, _short(ours), "all of it read", measure.duration(whole), ratio, budgets)


def _short(seconds: float) -> str:
    return f"{seconds * 1_000_000:.0f} µs" if seconds < MILLISECOND else measure.duration(seconds)


def numbered_file(lines: int) -> str:
    """Return a numbered v3.1 file with conversations of ten lines, each followed by what was learned."""
    random = Random(11)
    rows = ["@AICF_VERSION", "version=3.1", "", "@METADATA", "format_version=3.1", "created_at=2026-04-01T09:30:00Z"]
    while len(rows) < lines:
        number = len(rows)
        rows += [
            "",
            f"@CONVERSATION:c{number}",
            f"timestamp_start=2026-04-{1 + number % 28:02}T09:30:00Z",
            f"title={prose.heading(random)}",
            "participants=user|assistant",
            f"summary={prose.paragraph(random, 200)}",
            "@STATE",
            "status=done",
            "@INSIGHTS",
            f"@INSIGHTS {prose.sentence(random)}|GENERAL|HIGH|HIGH|memory_type=semantic",
            "@DECISIONS",
            f"@DECISIONS {prose.sentence(random)}|MEDIUM|HIGH|{prose.sentence(random)}",
        ]
    return "".join(f"{number}|{row}\n" for number, row in enumerate(rows, 1))
