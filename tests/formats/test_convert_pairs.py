"""Every installed format converted to every other: contents arrive, and the receipt names every loss."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.validation.validate_file import validate_archive
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.conversion_report import LOST, ConversionReport
from support.formats import aicf_files, aimem_bundles
from support.formats.conversions import FACTS, FILES, INSTANCES, SECRET, Bench, bench

__all__ = ["bench"]


def left_out(conversion: ConversionReport) -> set[str]:
    return {fate.name for fate in conversion.fates if fate.kind == "memory" and fate.outcome in LOST}


@pytest.mark.parametrize("name", (*FILES, *INSTANCES))
def test_memories_go_there_and_come_back(bench: Bench, name: str) -> None:
    before = bench.as_archive(bench.name)
    there, done = bench.convert(bench.name, name)
    after = bench.as_archive(there)
    wanted = [text for record_id, text in before.items() if record_id not in left_out(done)]
    assert len(wanted) >= len(FACTS)
    assert sorted(after.values()) == sorted(wanted)


@pytest.mark.parametrize("name", FILES)
def test_memories_that_came_back_have_their_ids_again(bench: Bench, name: str) -> None:
    before = bench.as_archive(bench.name)
    after = bench.as_archive(bench.convert(bench.name, name)[0])
    assert after == {record_id: text for record_id, text in before.items() if record_id in after}


@pytest.mark.parametrize(("first", "second"), list(itertools.product((*FILES, *INSTANCES), repeat=2)))
def test_every_pair(bench: Bench, first: str, second: str) -> None:
    """The second format holds what the first held, except for what the receipt names."""
    one, _ = bench.convert(bench.name, first)
    two, done = bench.convert(one, second)
    assert done.read is not None and done.written is not None
    kept = bench.as_archive(one)
    lost = left_out(done)
    assert sorted(bench.as_archive(two).values()) == sorted(text for id, text in kept.items() if id not in lost)


@pytest.mark.parametrize("name", (*FILES, *INSTANCES))
def test_what_is_made_of_another_format_is_a_strictly_valid_archive(bench: Bench, name: str) -> None:
    archive, done = bench.convert(bench.convert(bench.name, name)[0], "alf")
    found = validate_archive(Path(archive), strict=True)
    assert found.ok, (found.errors, found.warnings)
    assert done.read is not None and done.is_whole


@pytest.mark.parametrize("name", FILES)
def test_what_was_written_is_valid_there(bench: Bench, name: str) -> None:
    path, _ = bench.convert(bench.name, name)
    assert [finding for finding in format_registry.load_format(name).check(path, strict=True) if finding.is_error] == []


@pytest.mark.parametrize("name", FILES)
def test_every_memory_names_the_bytes_it_came_from_which_stand_once(bench: Bench, name: str) -> None:
    path = sample(bench, name)
    archive, _ = bench.convert(path, "alf")
    with SnapshotReader(Path(archive)) as state:
        bodies = [entry.path for entry in state.entries(archive_layout.raw_prefix(name))]
        bodies = [each for each in bodies if state.body(each) == Path(path).read_bytes()]
        assert len(bodies) == 1
        named = {memory_records.origin_file(memory_records.parse_record(record.line)) for record in state.records()}
    assert named == {bodies[0].removeprefix(archive_layout.raw_prefix(name))}


@pytest.mark.parametrize("name", FILES)
def test_a_dry_run_tells_what_the_real_one_does(bench: Bench, name: str) -> None:
    target = bench.place(name)
    dry = bench.convert(bench.name, name, target, dry_run=True)[1].to_json()
    assert not Path(target).exists()
    real = bench.convert(bench.name, name, target)[1].to_json()
    assert {**dry, "dry_run": False} == real


# Files of others ------------------------------------------------------------------------------------------------------

SAMPLES: dict[str, Callable[[], bytes]] = {
    "aimem": lambda: aimem_bundles.document(aimem_bundles.sample()),
    "aicf": lambda: aicf_files.SPECIFIED,
}

AS_IT_WAS: dict[str, dict[str, bool]] = {
    "aimem": {"preserve-ids": True, "pure": True, "include-embeddings": True},
    "aicf": {},
}


def sample(bench: Bench, name: str) -> str:
    path = bench.place(name)
    Path(path).write_bytes(SAMPLES[name]())
    return path


def compared(name: str, data: bytes) -> Any:
    """Return what must be equal: chunks, edges and entities of a bundle (with computed hashes, without empty vectors),
    every byte of AICF."""
    if name == "aicf":
        return data
    bundle = json.loads(data)
    for chunk in bundle["chunks"]:
        chunk.pop("content_hash", None)
        if chunk.get("embedding") is None:
            chunk.pop("embedding", None)
    return {kind: sorted(json.dumps(one, sort_keys=True) for one in bundle[kind]) for kind in aimem_bundles.ARRAYS}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_others_comes_back_as_it_was(bench: Bench, name: str) -> None:
    path = sample(bench, name)
    archive, _ = bench.convert(path, "alf")
    back, _ = bench.convert(archive, name, given=AS_IT_WAS[name])
    assert compared(name, Path(back).read_bytes()) == compared(name, Path(path).read_bytes())


def test_aicf_travels_through_a_bundle_unharmed(bench: Bench) -> None:
    """AICF -> archive -> AIMEM -> archive: every memory has the same content and still has its AICF literal."""
    archive, _ = bench.convert(sample(bench, "aicf"), "alf")
    bundle, done = bench.convert(archive, "aimem", given={"include-history": True})
    back, _ = bench.convert(bundle, "alf")
    lost = left_out(done)
    assert {id: text for id, text in bench.texts(archive).items() if id not in lost} == bench.texts(back)
    assert _literals(archive, "x_aicf", lost) == _literals(back, "x_aicf", lost)


def test_aimem_travels_through_aicf_unharmed(bench: Bench) -> None:
    archive, _ = bench.convert(sample(bench, "aimem"), "alf")
    file, _ = bench.convert(archive, "aicf")
    back, _ = bench.convert(file, "alf")
    assert bench.texts(archive) == bench.texts(back)
    assert _literals(archive, "x_aimem", set()) == _literals(back, "x_aimem", set())


def _literals(archive: str, name: str, without: set[str]) -> dict[str, Any]:
    with SnapshotReader(Path(archive)) as state:
        found = {str(each.record["id"]): each.record.get(name) for each in visible_records(state)}
    return {id: literal for id, literal in found.items() if id not in without}


# What never leaves, and what is never merged --------------------------------------------------------------------------


@pytest.mark.parametrize("name", (*FILES, *INSTANCES))
def test_what_looks_like_a_secret_does_not_leave(bench: Bench, name: str) -> None:
    from lifeboat_formats.interchange.errors import SecretsFound

    bench.agent.write("memory/bill.md", f"Pay with {SECRET} at the office.\n")
    bench.agent.capture()
    target = bench.place(name)
    with pytest.raises(SecretsFound) as refused:
        bench.convert(bench.name, name, target)
    assert SECRET not in str(refused.value) and refused.value.exit_status == 3
    stored = [path for path in bench.folder.glob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert stored == []


@pytest.mark.parametrize("name", (*FILES, *INSTANCES))
def test_what_is_personal_is_counted_always_and_redacted_where_that_is_asked_for(bench: Bench, name: str) -> None:
    bench.agent.write("memory/mail.md", "Write to mira@example.com about the mooring.\n")
    bench.agent.capture()
    _, counted = bench.convert(bench.name, name)
    assert counted.figures["found_email"] == 1
    there, redacted = bench.convert(bench.name, name, given={"redact": True})
    assert redacted.figures["found_email"] == 1
    said = " ".join(bench.as_archive(there).values())
    assert "mira@example.com" not in said and "about the mooring" in said
    assert any(fate.outcome is ItemOutcome.TRANSFORMED for fate in redacted.written or ())


@pytest.mark.parametrize("name", FILES)
def test_the_same_name_twice_stays_two_entities_and_the_same_text_two_memories(bench: Bench, name: str) -> None:
    """Similar things are never merged."""
    chunks = [aimem_bundles.chunk("c1", "The cat is called Ada."), aimem_bundles.chunk("c2", "The cat is called Ada.")]
    entities = [aimem_bundles.entity("e1", "Ada"), aimem_bundles.entity("e2", "Ada")]
    links = [aimem_bundles.link("c1", "e1"), aimem_bundles.link("c2", "e2")]
    bundle = aimem_bundles.bundle(chunks=chunks, edges=[], entities=entities, chunk_entities=links)
    path = bench.place("aimem")
    Path(path).write_bytes(aimem_bundles.document(bundle))
    archive, done = bench.convert(path, "alf")
    assert list(bench.texts(archive).values()) == ["The cat is called Ada."] * 2
    assert done.read is not None
    assert [fate for fate in done.read if fate.outcome is not ItemOutcome.ACCEPTED] == []
    there, _ = bench.convert(archive, name)
    assert len(bench.as_archive(there)) == 2
    again = json.loads(Path(bench.convert(bench.convert(there, "alf")[0], "aimem")[0]).read_bytes())
    assert [one["name"] for one in again["entities"]] == ["Ada", "Ada"]
    assert len({one["id"] for one in again["entities"]}) == 2
