"""An archive without files of this runtime comes in, and goes on: nothing that it holds is made twice, or lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.openclaw import ADAPTER
from lifeboat_alf.common import json_codec
from lifeboat_alf.memory import memory_matching
from lifeboat_alf.memory.memory_matching import SAME, ChangedFile, FileSection, HeldMemory, SectionMatch
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_record
from support.cli.cli_client import run, run_accepting

TEA = "Likes green tea."
BOAT = "The red boat lies in the harbour.\n\n## Since when\n\n```\nsince 1911\n```"
MARKS = "Lifeboat writes\n<!-- memory -->\nbetween memories.\n"
DAY = "Sailed to the island."
CHOSEN = "## Summary\n\nA pilot of few words."
CONTENTS = (TEA, BOAT, MARKS, DAY, CHOSEN, TEA)


def archive(path: Path, contents: tuple[str, ...] = CONTENTS, **documents: Any) -> Path:
    """What another runtime remembers, without a file of OpenClaw."""
    state = MemoryState()
    for content in contents:
        source = {"runtime": "zeroclaw", "origin": "sqlite_store"}
        kind = {"memory_type": "summary"} if content == CHOSEN else {"memory_type": "semantic"}
        day = {"memory_type": "episodic", "category": "daily_log"} if content == DAY else kind
        state.add(make_record(content, source=source, x_kept={"unknown": True}, **day))
    state.put_document("identity.json", make_identity(1))
    for name, document in documents.items():
        state.put_document(f"{name}.json", document)
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    run_accepting("alf", "import", archive(tmp_path / "a.alf"), "--to", tmp_path / "new")
    return tmp_path / "new"


def memories(workspace: Path) -> dict[str, dict[str, Any]]:
    """The memories in force, by id."""
    out = workspace.parent / "out.alf"
    run("alf", "export", "openclaw", workspace, "-o", out, "--force")
    with SnapshotReader(out) as state:
        every = [json_codec.decode_json(item.line) for item in state.records()]
    return {one["id"]: one for one in every if one["status"] == "active"}


def synced() -> tuple[int, int, int]:
    """How many records the next capture creates, updates and deletes."""
    (capture,) = run("sync")["agents"]
    counts = capture["records"]
    return counts["created"], counts["updated"], counts["deleted"]


def holding(workspace: Path, text: str) -> Path:
    return next(path for path in sorted(workspace.rglob("*.md")) if text in path.read_text())


@pytest.mark.parametrize("begin", ["add", "resume"])
def test_a_capture_after_an_import_makes_no_memory_again(workspace: Path, begin: str) -> None:
    with SnapshotReader(workspace.parent / "a.alf") as state:
        before = {item.id: json_codec.decode_json(item.line) for item in state.records()}
    (agent,) = run("agents", "list")["agents"]
    run("agents", begin, workspace if begin == "add" else agent["id"])
    assert synced() == (0, 0, 0)
    assert memories(workspace) == before
    assert synced() == (0, 0, 0)


def test_an_edited_memory_is_updated_alone_also_before_the_first_capture(workspace: Path) -> None:
    file = holding(workspace, BOAT)
    file.write_text(file.read_text().replace(BOAT, "It is blue now."))
    added = run("agents", "add", workspace)["capture"]["records"]
    assert (added["created"], added["updated"], added["deleted"]) == (0, 1, 0)
    (edited,) = [one for one in memories(workspace).values() if one["content"] == "It is blue now."]
    assert edited["x_kept"] == {"unknown": True}
    file.write_text(file.read_text().replace("It is blue now.", "Sold."))
    assert synced() == (0, 1, 0)
    assert memories(workspace)[edited["id"]]["content"] == "Sold."


def test_a_removed_memory_is_deleted_alone(workspace: Path) -> None:
    run("agents", "add", workspace)
    before = memories(workspace)
    file = holding(workspace, BOAT)
    file.write_text(file.read_text().replace(BOAT + "\n", ""))
    assert synced() == (0, 0, 1)
    assert [one["content"] for id, one in before.items() if id not in memories(workspace)] == [BOAT]


@pytest.mark.parametrize("added", ["- Buy ink.\n", "\n## Ink\n\nBuy ink.\n", "<!-- memory -->\nBuy ink.\n"])
def test_an_added_memory_is_created_alone(workspace: Path, added: str) -> None:
    run("agents", "add", workspace)
    before = memories(workspace)
    file = holding(workspace, TEA)
    file.write_text(file.read_text() + added)
    assert synced() == (1, 0, 0)
    after = memories(workspace)
    assert {id: one for id, one in after.items() if id in before} == before
    (new,) = [one["content"] for id, one in after.items() if id not in before]
    assert new.strip() == added.removeprefix("<!-- memory -->\n").strip()


def test_a_restore_writes_the_files_as_they_were_captured(workspace: Path) -> None:
    agent = run("agents", "add", workspace)["id"]
    planned = run("restore", agent, "--to", workspace.parent / "copy")
    assert planned["files"]
    for file in workspace.rglob("*.md"):
        assert (workspace.parent / "copy" / file.relative_to(workspace)).read_bytes() == file.read_bytes()


def test_a_forgotten_memory_is_not_written_and_the_others_stay_apart(workspace: Path) -> None:
    agent = run("agents", "add", workspace)["id"]
    (boat,) = [id for id, one in memories(workspace).items() if one["content"] == BOAT]
    run("records", "forget", agent, boat)
    run("restore", agent, "--yes")
    assert synced() == (0, 0, 0)
    assert sorted(one["content"] for one in memories(workspace).values()) == sorted(set_without(CONTENTS, BOAT))


def set_without(contents: tuple[str, ...], content: str) -> list[str]:
    return [one for one in contents if one != content]


def test_what_a_profile_says_is_no_memory_of_its_own(tmp_path: Path) -> None:
    profile = {"id": "p", "agent_id": "a", "principal_id": "h", "version": 1}
    human = {"id": "h", "principal_type": "human", "profile": {**profile, "structured": {"name": "Bo"}}}
    path = archive(tmp_path / "a.alf", principals={"principals": [human]})
    run_accepting("alf", "import", path, "--to", tmp_path / "new")
    added = run("agents", "add", tmp_path / "new")["capture"]["records"]
    assert (added["created"], added["updated"], added["deleted"]) == (0, 0, 0)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip), min_size=1, max_size=8))
def test_any_memories_find_their_ids_again(contents: list[str]) -> None:
    state = MemoryState()
    olds = {
        item.id: content for content in contents for item in [state.add(make_record(content, memory_type="semantic"))]
    }
    (made,) = ADAPTER.render(state)
    sections = ADAPTER.split(made.path, made.data.decode()) or []
    file = ChangedFile(
        made.path,
        [HeldMemory(id, text) for id, text in olds.items()],
        [FileSection(one.text, one.heading) for one in sections],
    )
    memory_matching.match_sections([file], lambda content: None, lambda file: [])
    assert (file.left_new(), file.left_old()) == ([], [])
    assert [olds[found.id] for _, found in sorted(file.found.items())] == [one.text for one in sections]
    assert all(found == SectionMatch(found.id, SAME) for found in file.found.values())
