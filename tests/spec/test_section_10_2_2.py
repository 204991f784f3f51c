"""ALF §10.2.2: links between memories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_record
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

RoundTrip = Callable[[MemoryState], ArchiveFile]
WELL_KNOWN = ("caused_by", "contradicts", "elaborates_on")


@pytest.fixture
def round_trip(tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]) -> RoundTrip:
    """Through a runtime that keeps no links: written into an OpenClaw workspace and exported from it again."""

    def through(state: MemoryState) -> ArchiveFile:
        path = tmp_path / "linked.alf"
        with path.open("wb") as out:
            write_snapshot(state, out)
        return export(import_into("linked", path), "again.alf")

    return through


def _agent() -> MemoryState:
    return MemoryState().put_document("identity.json", make_identity())


def _links(archive: ArchiveFile) -> dict[str, list[JsonObject]]:
    return {item["content"]: item["related_records"] for item in archive.records if "related_records" in item}


def test_links_of_well_known_relations_survive(round_trip: RoundTrip) -> None:
    state = _agent()
    target = state.add(make_record("The deploy failed on Friday."))
    links = [{"id": target.id, "relation": relation} for relation in WELL_KNOWN]
    state.add(make_record("Never deploy on Fridays.", memory_type="procedural", related_records=links))
    assert _links(round_trip(state)) == {"Never deploy on Fridays.": links}


def test_custom_relations_survive_unchanged(round_trip: RoundTrip) -> None:
    state = _agent()
    target = state.add(make_record("The first draft."))
    links = [{"id": target.id, "relation": "x-graph:Weakened By ⟂", "weight": 0.25, "note": None}]
    state.add(make_record("The second draft.", related_records=links))
    assert _links(round_trip(state)) == {"The second draft.": links}


def test_both_directions_of_a_link_are_kept_independently(round_trip: RoundTrip) -> None:
    hot, mild = make_record("Likes spicy food."), make_record("Asked to avoid spicy food.")
    hot["related_records"] = [{"id": mild["id"], "relation": "contradicts"}]
    mild["related_records"] = [{"id": hot["id"], "relation": "contradicts", "since": "2026-11-01"}]
    links = _links(round_trip(_agent().add_all([hot, mild])))
    assert links == {hot["content"]: hot["related_records"], mild["content"]: mild["related_records"]}


def test_a_link_whose_target_was_purged_imports_without_error(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    state = _agent()
    target = state.add(make_record("The passport number is 0000."))
    state.add(make_record("Renew it in May.", related_records=[{"id": target.id, "relation": "related_to"}]))
    path, purged = tmp_path / "whole.alf", tmp_path / "purged.alf"
    with path.open("wb") as out:
        write_snapshot(state, out)
    run("alf", "purge", path, "--record", target.id, "-o", purged)
    archive = export(import_into("purged", purged))
    assert [item["content"] for item in archive.records] == ["Renew it in May."]
    assert archive.records[0]["related_records"] == [{"id": target.id, "relation": "related_to"}]


def test_links_survive_a_runtime_that_knows_no_links(round_trip: RoundTrip) -> None:
    """OpenClaw's files say nothing of links; the history that the import began does."""
    state = _agent().put("raw/openclaw/MEMORY.md", b"# Memory\n\nThe harbour silts up.\n\nDredge in spring.\n")
    state.put("raw/openclaw/SOUL.md", b"# Soul\n\nCurious and kind.\n")
    first = state.add(make_record("# Memory\n\nThe harbour silts up.\n\n"))
    links = [{"id": first.id, "relation": "derived_from"}]
    second = state.add(make_record("Dredge in spring.\n", related_records=links))
    state.set_records_of("raw/openclaw/MEMORY.md", [first.id, second.id])
    assert _links(round_trip(state)) == {"Dredge in spring.\n": links}
