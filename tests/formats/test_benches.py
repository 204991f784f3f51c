"""The benchmarks of other formats work on the data that they claim."""

from __future__ import annotations

from pathlib import Path

from benchmarks import bundles, interchange_rows

from lifeboat_formats.aicf.syntax.document import emit_document, parse_document
from lifeboat_formats.aimem.wire.bundle_reading import open_bundle


def test_a_bundle_is_the_same_for_the_same_count_and_both_ways_of_writing_hold_the_same_records(tmp_path: Path) -> None:
    first, again, document = (tmp_path / name for name in ("a.ndjson", "b.ndjson", "c.json"))
    assert bundles.write(40, first) == bundles.write(40, again) == bundles.dump(40, document) == 40 + 20 + 2 + 40
    assert first.read_bytes() == again.read_bytes()
    assert bundles.read(40, first) == bundles.load(40, document) == 102
    with open_bundle(first) as bundle:
        counts = [len(each) for each in (bundle.chunks, bundle.edges, bundle.entities, bundle.chunk_entities)]
    assert counts == [40, 20, 2, 40]


def test_a_file_of_lines_is_a_numbered_one_with_a_conversation_for_every_dozen() -> None:
    data = interchange_rows.numbered_file(500).encode()
    document = parse_document(data)
    assert emit_document(document) == data
    assert document.is_numbered
    assert data.count(b"\n") >= 500
    assert sum(section.name == "CONVERSATION" for section in document.sections) == 42
