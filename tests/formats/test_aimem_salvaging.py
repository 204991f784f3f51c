"""Salvaging the valid records of a bundle with wrong ones, on request."""

from __future__ import annotations

import pytest

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_formats.aimem.aimem_format import FORMAT
from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import AROUND

FORMS = {".aimem.json": bundles.document, ".aimem.ndjson": bundles.stream}


def damaged():
    """Return a bundle with two valid chunks and a valid entity among wrong ones, and records that refer to each."""
    return bundles.bundle(
        chunks=[
            bundles.chunk("c1", "Right."),
            bundles.chunk("bad", "Wrong.", memory_type="opinion"),
            bundles.chunk("c2", "Right too."),
            bundles.chunk("c1", "Comes twice."),
            bundles.chunk(id="\u001b[31mmy secret", content="No name."),
        ],
        edges=[bundles.edge("c1", "c2"), bundles.edge("c1", "bad"), bundles.edge("c2", "c1", weight=2)],
        entities=[bundles.entity("e1", "Alpha"), bundles.entity("e2", "")],
        chunk_entities=[bundles.link("c1", "e1"), bundles.link("c1", "e2"), bundles.link("bad", "e1")],
    )


def read(path, **options):
    with FORMAT.read(str(path), options, AROUND) as found:
        return found, list(found.records)


@pytest.mark.parametrize("ending", FORMS)
def test_the_right_records_come_in_and_each_wrong_one_is_told(tmp_path, ending):
    path = tmp_path / f"one{ending}"
    path.write_bytes(FORMS[ending](damaged()))
    found, made = read(path, salvage=True)
    assert [record["content"] for record in made] == ["Right.", "Right too."]
    assert [each["id"] for each in made[0]["related_records"]] == [made[1]["id"]]
    assert [each["name"] for each in made[0]["entities"]] == ["Alpha"]
    rejected = {fate.name: (fate.kind, fate.code) for fate in found.fates if fate.outcome is ItemOutcome.REJECTED}
    assert rejected == {
        bundles.urn("bad"): ("memory", "invalid_memory_type"),
        bundles.urn("c1"): ("memory", "duplicate_chunk_id"),
        "chunks[4]": ("memory", "invalid_urn"),
        "edges[1]": ("relation", "edge_target_unknown"),
        "edges[2]": ("relation", "edge_weight_out_of_range"),
        bundles.urn("e2"): ("entity", "empty_entity_name"),
        "chunk_entities[1]": ("link", "ce_entity_unknown"),
        "chunk_entities[2]": ("link", "ce_chunk_unknown"),
    }
    assert len(found.fates) == 13 and "my secret" not in repr((found.fates, found.notices))
    assert [notice.text[:1] for notice in found.notices if notice.code == "salvaged"] == ["8"]


@pytest.mark.parametrize("ending", FORMS)
def test_nothing_is_salvaged_unless_it_is_asked_for(tmp_path, ending):
    path = tmp_path / f"one{ending}"
    path.write_bytes(FORMS[ending](damaged()))
    with pytest.raises(BundleRefused, match="must be one of"):
        read(path)


@pytest.mark.parametrize("ending", FORMS)
@pytest.mark.parametrize(("changes", "code"), [({"checksum": "sha256:" + "0" * 64}, "checksum_mismatch"),
                                               ({"producer": "ALF"}, "invalid_producer")])  # fmt: skip
def test_an_envelope_or_a_checksum_that_is_wrong_leaves_nothing_to_salvage(tmp_path, ending, changes, code):
    path = tmp_path / f"one{ending}"
    path.write_bytes(FORMS[ending]({**damaged(), **changes}))
    with pytest.raises(BundleRefused) as refused:
        read(path, salvage=True)
    assert refused.value.format_code == code


@pytest.mark.parametrize("ending", FORMS)
def test_a_bundle_that_is_right_is_read_as_ever(tmp_path, ending):
    path = tmp_path / f"one{ending}"
    path.write_bytes(FORMS[ending](bundles.sample()))
    plain, made = read(path)
    salvaged, again = read(path, salvage=True)
    assert made == again and plain.fates == salvaged.fates and plain.notices == salvaged.notices


@pytest.mark.parametrize("ending", FORMS)
def test_a_signature_is_checked_over_everything_that_the_bundle_holds(tmp_path, ending):
    path = tmp_path / f"one{ending}"
    path.write_bytes(FORMS[ending](damaged()))
    whole = {name: value for name, value in damaged().items() if name != "checksum"}
    with bundle_reading.open_bundle(path, salvages=True) as found:
        assert b"".join(bundle_reading.canonical_bundle_pieces(found)) == bundles.rfc8785.dumps(whole)


def test_a_record_that_is_no_object_is_left_out_by_its_place(tmp_path):
    path = tmp_path / "one.aimem.json"
    path.write_bytes(bundles.document(bundles.bundle(chunks=[bundles.chunk(), 7, None])))
    found, made = read(path, salvage=True)
    assert len(made) == 1
    assert [fate.name for fate in found.fates if fate.outcome is ItemOutcome.REJECTED] == ["chunks[1]", "chunks[2]"]
