"""Purges of memories from files of other systems: their escaped forms are removed too, and the files stay readable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_core.testing.runtime_harness import Harness
from lifeboat_formats.aicf import ADAPTER as AICF
from lifeboat_formats.aimem import ADAPTER as AIMEM
from lifeboat_formats.aimem import FORMAT as BUNDLES
from support.cli.cli_client import run
from support.core.purged_here import purge
from support.formats import aicf_files, aimem_bundles

ROW = b"@DECISIONS take berth nine|HIGH|HIGH|it is deep enough"


def begun(folder: Path, adapter: Adapter, name: str, data: bytes) -> Harness:
    workspace = folder / "installed" / "lark"
    workspace.mkdir(parents=True)
    (workspace / name).write_bytes(data)
    return Harness.begin(
        adapter, SampleInstallation(workspace=workspace, user_home=folder / "installed"), folder / "home"
    )


def purged(harness: Harness, is_one: Callable[[str], bool]) -> dict[str, str]:
    """Purge one memory and return the remaining ones."""
    memories = harness.memories()
    (name,) = [name for name, text in memories.items() if is_one(text)]
    purge(harness, name)
    return {other: text for other, text in memories.items() if other != name}


def held(harness: Harness) -> bytes:
    """Return every byte of the newest state."""
    with harness.context.vault(harness.agent.id) as vault:
        state = vault.state()
        bodies = [state.body(entry.path) for entry in state.entries("raw/")]
        return b"\n".join([*bodies, *(record.line for record in state.records())])


@pytest.mark.parametrize(
    ("name", "begins", "words"),
    [
        ("D1-specified", "take berth nine", [b"take berth nine", b"deep enough"]),
        ("D1-specified", "status: completed; actions", [b"chose a berth", b"told the crew", b"look at tides"]),
        ("D1-specified", "preferred language", [b"Portuguese"]),
        ("D1-specified", "Conversation talk_1", [b"mooring_plan", b"0.25,-0.5", b"tide|berth"]),
        ("D2-mixed-numbers", "status: in_progress", [b"wash the bilge", b"call the yard"]),
        ("D3-blocks", "Is berth 4 free", [b"Is berth 4", b"berth 5"]),
        ("D4-compiled", "Label the lockers", [b"Label the lockers", b"everybody finds"]),
        ("D6-escaped-blocks", "Diesel is cheaper", [b"Diesel", b"north pier"]),
        ("D7-schema-data", "D#: 1", [b"It comes undone"]),
        ("D9-eight-columns", "column 1: C1", [b"bought a new one", b"the old one dragged"]),
        ("D10a-json-export", "user: Which chart", [b"Which chart is newest", b"The one of 2023"]),
        ("D10b-json-web", "Tighten the backstay", [b"Tighten the backstay", b"leans forward"]),
        ("D11-xml", "Fish & chips", [b"chips at the quay"]),
    ],
)
def test_a_purged_memory_is_gone_from_its_file_however_that_spells_it(
    tmp_path: Path, name: str, begins: str, words: list[bytes]
) -> None:
    harness = begun(tmp_path, AICF, "a.aicf", aicf_files.FILES[name])
    assert all(word in aicf_files.FILES[name] for word in words)
    left = purged(harness, lambda text: text.startswith(begins))
    assert [word for word in words if word in held(harness)] == []
    assert harness.memories() == left
    harness.restore(tmp_path / "restored")
    again = AICF.split("raw/aicf/a.aicf", (tmp_path / "restored" / "a.aicf").read_text()) or []
    assert sorted(each.text for each in again if each.text) == sorted(left.values())


def test_one_memory_after_the_other_goes(tmp_path: Path) -> None:
    harness = begun(tmp_path, AICF, "a.aicf", aicf_files.SPECIFIED)
    purged(harness, lambda text: text.startswith("take berth nine"))
    purged(harness, lambda text: text.startswith("status: completed"))
    assert b"deep enough" not in held(harness) and b"told the crew" not in held(harness)


def test_what_a_text_says_behind_the_escapes_of_a_row_is_found(tmp_path: Path) -> None:
    harness = begun(tmp_path, AICF, "a.aicf", b"@INSIGHTS ropes \\| knots for the crew|DATA|LOW|LOW\n")
    purge(harness, texts=["ropes | knots for the crew"])
    assert b"ropes" not in held(harness)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_purged_row_that_lies_in_the_live_file_stays_out_under_another_number(
    tmp_path: Path, line_end: bytes
) -> None:
    harness = begun(tmp_path, AICF, "a.aicf", aicf_files.SPECIFIED)
    left = purged(harness, lambda text: text.startswith("take berth nine"))
    lines = [line.partition(b"|")[2] for line in aicf_files.SPECIFIED.split(b"\n")[:-1]]
    assert ROW in lines
    lines[2:2] = [b"# a line more", b""]
    moved = b"".join(b"%d|%s%s" % (number, line, line_end) for number, line in enumerate(lines, 1))
    (harness.made.workspace / "a.aicf").write_bytes(moved)
    assert harness.capture().kept_out == {"raw/aicf/a.aicf": 1}
    assert b"deep enough" not in held(harness)
    assert harness.memories() == left


@pytest.mark.parametrize("name", ["lark.aimem.json", "lark.aimem.ndjson"])
def test_a_bundle_that_lost_a_chunk_for_good_is_a_whole_bundle_again_when_it_is_restored(
    tmp_path: Path, name: str
) -> None:
    sample = aimem_bundles.sample()
    data = aimem_bundles.document(sample) if name.endswith(".json") else aimem_bundles.stream(sample)
    harness = begun(tmp_path, AIMEM, name, data)
    left = purged(harness, lambda text: text == "Prefers tea in the morning.")
    assert aimem_bundles.content_hash("Prefers tea in the morning.").encode() in data
    assert aimem_bundles.content_hash("Prefers tea in the morning.").encode() not in held(harness)
    assert harness.memories() == left
    harness.restore(tmp_path / "restored")
    file = tmp_path / "restored" / name
    assert list(BUNDLES.check(str(file), strict=False)) == []
    again = AIMEM.split(f"raw/aimem/{name}", file.read_text()) or []
    assert sorted(each.text for each in again if each.text) == sorted(left.values())


def test_every_part_of_a_long_memory_goes(tmp_path: Path) -> None:
    long = "".join(f"Line {number} of a very long log of the harbour. " for number in range(3000))
    text = AIMEM.join("raw/aimem/a.aimem.json", [("019d4860-d9c0-7ca5-8db6-08dfe451d5fc", long)])
    harness = begun(tmp_path, AIMEM, "a.aimem.json", text.encode())
    assert list(harness.memories().values()) == [long]
    assert purged(harness, lambda _: True) == {}
    assert b"harbour" not in held(harness)


def test_a_file_with_a_wrong_checksum_that_lost_nothing_comes_back_as_it_was(tmp_path: Path) -> None:
    data = aimem_bundles.document(aimem_bundles.sample()).replace(b"On Monday", b"On Friday")
    harness = begun(tmp_path, AIMEM, "a.aimem.json", data)
    harness.restore(tmp_path / "restored")
    assert (tmp_path / "restored" / "a.aimem.json").read_bytes() == data


def test_a_memory_is_purged_from_an_archive_alone(tmp_path: Path) -> None:
    source, archive, without = tmp_path / "lark.aicf", tmp_path / "a.alf", tmp_path / "without.alf"
    source.write_bytes(aicf_files.SPECIFIED)
    run("alf", "convert", source, "--to", "alf", "-o", archive, "--yes")
    with SnapshotReader(archive) as state:
        (name,) = [one.id for one in state.records() if b"take berth nine" in one.line]
    run("alf", "purge", archive, "--record", name, "-o", without)
    with SnapshotReader(without) as state:
        bodies = [state.body(entry.path) for entry in state.entries("raw/")]
        said = b"".join([*bodies, *(one.line for one in state.records())])
    assert b"the quay floods" in said and b"deep enough" not in said
