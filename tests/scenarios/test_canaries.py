"""No secret of an agent stands in clear anywhere but where the agent keeps it: every place that a secret can be in,
two generations of OpenClaw, everything a person can do, every file that is left and every word that is said."""

from __future__ import annotations

import stat
from collections.abc import Iterator

import pytest

from lifeboat_cli.demo.tree_comparison import list_differences, read_tree
from support.adapters import canaries
from support.adapters.canaries import canary
from support.adapters.canary_scan import Scanner
from support.adapters.openclaw_workspaces import NEW, OLD
from support.core.canary_story import PLANTED_PLACEHOLDER, Story, kept_bodies, machine, told, whole_life


@pytest.fixture(scope="module", params=[OLD, NEW])
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with machine(tmp_path_factory.mktemp("canaries"), request.param) as made:
        whole_life(made)
        yield made


@pytest.fixture(scope="module")
def scanner(story: Story) -> Scanner:
    return Scanner.of(canaries.of(story.generation))


def test_no_file_of_the_home_and_no_archive_holds_a_canary(story: Story, scanner: Scanner) -> None:
    assert told(scanner.folders(*story.own_folders)) == ""


def test_no_kept_file_or_memory_holds_a_canary(story: Story, scanner: Scanner) -> None:
    assert told([leak for name, data in kept_bodies(story) for leak in scanner.data(data, name)]) == ""


def test_nothing_that_was_said_holds_a_canary(story: Story, scanner: Scanner) -> None:
    assert told([leak for command, said in story.said for leak in scanner.text(said, command)]) == ""


def test_no_program_was_told_a_canary_but_through_its_input(story: Story, scanner: Scanner) -> None:
    assert list(story.seen.iterdir()), "the runtime was never started"
    assert told(scanner.folders(story.seen)) == ""


def test_a_restore_without_credentials_writes_no_canary(story: Story, scanner: Scanner) -> None:
    assert told(scanner.folders(story.out / "plain", story.folder / "elsewhere" / "ada")) == ""


def test_temporary_files_are_all_gone(story: Story) -> None:
    assert list(story.temporary.iterdir()) == []


def test_beside_a_restored_workspace_lies_only_what_undo_needs(story: Story) -> None:
    """The user's own files, for nobody else, until the restore can be taken back no more."""
    beside = [path for path in story.user.rglob("*") if ".lifeboat-" in path.name]
    assert [path.name for path in beside if ".lifeboat-undo-" not in path.name] == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in beside} <= {0o700}


def test_a_restore_with_credentials_is_byte_exact(story: Story) -> None:
    """Every file of the workspace, as it was when it was captured."""
    restored = read_tree(story.out / "filled")
    for path, node in restored.items():
        original = story.before.get(b"workspace/" + path)
        if original is not None and path != b"memory/2026-02-10.md":
            assert node.content == original.content, path
    assert canary("workspace .env") in (story.out / "filled" / ".env").read_text()
    assert canary(".env: bare") in (story.out / "filled" / "MEMORY.md").read_text()


def test_nothing_of_the_runtimes_folder_is_altered(story: Story) -> None:
    """After the undo of the last restore, but for what the story itself wrote."""
    changed = [
        one
        for one in list_differences(story.before, read_tree(story.user / ".openclaw"))
        if not one.startswith(("openclaw.json ", "workspace/memory/2026-02-1", "agents/main/agent/openclaw-agent"))
        and not one.startswith(("state/openclaw.sqlite", ".workspace.lifeboat-undo-"))
    ]
    assert changed == []


def test_a_text_that_looks_like_a_placeholder_is_not_filled(story: Story) -> None:
    for folder in ("plain", "filled"):
        notes = story.out / folder / "MEMORY.md"
        if notes.exists():
            assert PLANTED_PLACEHOLDER in notes.read_text()


def test_every_restore_and_capture_of_the_story_came_to_its_end(story: Story) -> None:
    """A story in which nothing happened would leak nothing."""
    assert (story.out / "filled" / "MEMORY.md").exists()
    if story.generation == NEW:
        assert any(name.endswith("transcript_events.jsonl") for name, _ in kept_bodies(story))
    assert any("openclaw.json" in said and "cannot be parsed" in said for _, said in story.said)
    assert any("openclaw.sqlite" in said and "malformed" in said for _, said in story.said) or story.generation == OLD
    assert {path.name for path in story.archives.iterdir()} >= {"whole.alf", "later.alf-delta", "sealed.alf.age"}
