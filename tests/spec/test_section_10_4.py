"""ALF §10.4: incremental sync."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.adapters.openclaw_workspaces import API_KEY, make_state_dir
from support.aged_files import age_files
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.core.archive_travel import exporting_into
from support.core.migrating import prepared_home
from support.prepared_folders import PreparedFolders

Values = Callable[[ArchiveFile], dict[str, str]]
NEW_KEY = "sk-example-orchard-1111-rotated-not-real"
TOLD = "The plotter needs new ink."


@dataclass(frozen=True)
class Story:
    """The snapshot at S0, the workspace, and the delta of everything done since."""

    workspace: Path
    s0: ArchiveFile
    delta: ArchiveFile
    full: ArchiveFile


@pytest.fixture
def story(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Story:
    return prepared_home(prepared_folders, monkeypatch, "openclaw synchronised by deltas", _incremental_story)


def _incremental_story(user: Path, folder: Path) -> Story:
    """Memories added, edited and removed, the identity updated, a credential rotated."""
    openclaw, export = make_state_dir(user / ".openclaw"), exporting_into(folder)
    age_files(openclaw.folder)
    workspace = openclaw.workspace
    run("agents", "add", workspace)
    s0 = export(workspace, "s0.alf")
    memory = workspace / "MEMORY.md"
    memory.write_text(memory.read_text() + f"\n## Ink\n\n{TOLD}\n")
    (workspace / "memory/2026-02-11.md").unlink()
    project = workspace / "memory/projects/harbour-chart.md"
    project.write_text(project.read_text().replace("80 %", "85 %"))
    (workspace / "SOUL.md").write_text((workspace / "SOUL.md").read_text() + "\nBe brief on Mondays.\n")
    openclaw.config.write_text(openclaw.config.read_text().replace(API_KEY, NEW_KEY))
    (workspace / "data/soundings.csv").write_text("east,north,depth\n1,2,3\n")
    run("sync")
    return Story(workspace, s0, export(workspace, "d.alf-delta", "--since", "0"), export(workspace, "full.alf"))


def test_a_snapshot_at_s0_is_a_valid_archive(story: Story) -> None:
    assert story.s0.manifest["sync"]["last_sequence"] == 0
    assert run("alf", "validate", story.s0.path, "--strict")["ok"]


def test_the_changes_of_the_story_are_captured(story: Story) -> None:
    assert story.full.record_with(TOLD)
    assert not [item for item in story.full.active if "Recalibrated" in item["content"]]
    assert story.full.identity["version"] == 2
    assert story.full.json("credentials.json") != story.s0.json("credentials.json")


def test_the_delta_names_its_base_and_a_larger_new_sequence(story: Story) -> None:
    sync = story.delta.manifest["sync"]
    assert sync["base_sequence"] == 0
    assert sync["new_sequence"] == story.full.manifest["sync"]["last_sequence"] > 0
    assert sync["new_timestamp"] > sync["base_timestamp"]
    assert run("alf", "validate", story.delta.path, "--strict")["ok"]


def _applied(story: Story) -> ArchiveFile:
    target = story.s0.path.with_name("applied.alf")
    run("alf", "apply", story.s0.path, story.delta.path, "-o", target)
    return ArchiveFile(target)


def test_the_delta_applies_to_a_copy_of_s0(story: Story) -> None:
    before = story.s0.path.read_bytes()
    applied = _applied(story)
    assert run("alf", "validate", applied.path, "--strict")["ok"]
    assert story.s0.path.read_bytes() == before


def test_the_result_equals_a_full_snapshot_entry_by_entry(story: Story) -> None:
    applied = _applied(story)
    assert list(applied.bodies) == list(story.full.bodies)
    assert [name for name, data in story.full.bodies.items() if applied.bodies[name] != data] == []


def test_sequence_numbers_rise_over_consecutive_deltas(story: Story, export: Callable[..., ArchiveFile]) -> None:
    numbers = [story.delta.manifest["sync"]["new_sequence"]]
    for text in ("Ink was bought.", "Ink was spilled."):
        memory = story.workspace / "MEMORY.md"
        memory.write_text(memory.read_text() + f"\n## {text}\n\n{text} Again.\n")
        run("sync")
        delta = export(story.workspace, f"{text[:9]}.alf-delta", "--since", str(numbers[-1]))
        assert delta.manifest["sync"]["base_sequence"] == numbers[-1]
        numbers.append(delta.manifest["sync"]["new_sequence"])
    assert numbers == sorted(set(numbers))


def test_a_delta_since_s0_holds_exactly_the_changes_made(story: Story) -> None:
    lines = story.delta.lines("memory/delta.jsonl")
    before = {item["id"]: item for item in story.s0.records}
    after = {item["id"]: item for item in story.full.records}
    changed = {key for key, item in after.items() if before.get(key) != item}
    assert {line["id"] for line in lines} == changed
    assert len(lines) == len(changed)
    for line in lines:
        operation = line.pop("operation")
        assert line == after[line["id"]]
        assert operation in ({"update", "delete"} if line["id"] in before else {"create", "delete"})
    kept = {name: data for name, data in story.full.bodies.items() if name.startswith(("raw/", "artifacts/"))}
    expected = {name for name in {*kept, *story.s0.bodies} if kept.get(name) != story.s0.bodies.get(name)}
    expected = {name for name in expected if name.startswith(("raw/", "artifacts/"))}
    changes = story.delta.manifest["changes"]
    assert {item["path"] for part in ("raw", "artifacts") for item in changes.get(part, [])} == expected


def test_of_five_credentials_exactly_the_rotated_one_changes_its_value(story: Story, values: Values) -> None:
    """In a full snapshot and in what the delta makes of the first one; each keeps its id."""
    before, after, applied = values(story.s0), values(story.full), values(_applied(story))
    assert len(before) >= 5
    assert applied == after
    changed = {key for key in before if before[key] != after[key]}
    assert {before[key] for key in changed} == {API_KEY} and {after[key] for key in changed} == {NEW_KEY}
    documents = {each["id"]: each for each in story.full.json("credentials.json")["credentials"]}
    assert {key for key, each in documents.items() if each.get("last_rotated_at")} == changed


def test_neither_the_old_nor_the_new_secret_stands_in_a_delta(story: Story) -> None:
    for archive in (story.s0, story.delta, story.full, _applied(story)):
        for secret in (API_KEY, NEW_KEY):
            assert [name for name, data in archive.bodies.items() if secret.encode() in data] == []
