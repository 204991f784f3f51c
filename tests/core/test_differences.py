"""What `diff` shows."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_cli.demo.demo_workspace import FAKE_KEY
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.exchange import agent_export
from lifeboat_core.history import differences
from lifeboat_core.history.differences import DifferenceFilter
from support.core.harbour import Harbour, harbour


@pytest.fixture
def ada(tmp_path: Path) -> Harbour:
    return harbour(tmp_path)


def test_nothing_changed_says_so(ada: Harbour) -> None:
    document = differences.compare_sequences(ada.context, ada.agent)
    assert list(differences.format_differences(document)) == ["Nothing changed."]


def test_the_workspace_is_compared_without_being_captured(ada: Harbour) -> None:
    with (ada.workspace / "MEMORY.md").open("a") as memory:
        memory.write("\n## Lamp\n\nThe lamp was mended.\n")
    (ada.workspace / "new.md").write_text("new\n")
    document = differences.compare_sequences(ada.context, ada.agent)
    assert ada.head == 0
    operations = {file["path"].rpartition("/")[2]: file["operation"] for file in document["files"]}
    assert operations["MEMORY.md"] == "changed"
    assert operations["new.md"] == "created"
    created = [record for record in document["records"] if record["operation"] == "created"]
    assert any("The lamp was mended." in record["content"] for record in created)
    assert "+The lamp was mended." in "\n".join(differences.format_differences(document))


def test_other_commands_get_the_lock_while_the_workspace_is_read(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    read_into, entered = agent_export._read_into, []

    def another_command() -> None:
        with agent_lock(ada.context, ada.agent.id, "capture", timeout=0.0):
            entered.append("capture")

    def read(*given: Any) -> Any:
        other = threading.Thread(target=another_command)
        other.start()
        other.join()
        return read_into(*given)

    monkeypatch.setattr(agent_export, "_read_into", read)
    differences.compare_sequences(ada.context, ada.agent)
    assert entered == ["capture"]


def test_two_sequences_are_compared_both_ways(ada: Harbour) -> None:
    newest = ada.day_passes()
    forth = differences.compare_sequences(ada.context, ada.agent, "0", str(newest))
    back = differences.compare_sequences(ada.context, ada.agent, str(newest), "0")
    assert forth["from"]["sequence"] == back["to"]["sequence"] == 0
    assert {file["path"] for file in forth["files"]} == {file["path"] for file in back["files"]}
    assert {"created", "removed"} <= {file["operation"] for file in forth["files"]}


def test_an_edited_memory_shows_both_texts(ada: Harbour) -> None:
    memory = ada.workspace / "MEMORY.md"
    (ada.workspace / "memory" / "2026-11-20.md").write_text("## Boats\n\nThe first boat is blue and small and old.\n")
    ada.capture()
    (ada.workspace / "memory" / "2026-11-20.md").write_text("## Boats\n\nThe first boat is green and small and old.\n")
    assert memory.exists()
    document = differences.compare_sequences(ada.context, ada.agent)
    (record,) = [record for record in document["records"] if record["operation"] == "updated"]
    assert "blue" in record["previous"]
    assert "green" in record["content"]


def test_names_only_leaves_the_lines_out(ada: Harbour) -> None:
    (ada.workspace / "new.md").write_text("new\n")
    document = differences.compare_sequences(ada.context, ada.agent)
    assert not any(line.startswith(("+", "---")) for line in differences.format_differences(document, names_only=True))


def test_a_moment_before_the_history_is_an_error(ada: Harbour) -> None:
    with pytest.raises(NothingToRestore):
        differences.compare_sequences(ada.context, ada.agent, "2001-01-01T00:00:00Z", "0")
    with pytest.raises(NothingToRestore):
        differences.compare_sequences(ada.context, ada.agent, "yesterday", "0")


def test_a_secret_is_never_shown(ada: Harbour) -> None:
    env = ada.workspace.parent / ".env"
    env.write_text(env.read_text() + "NEW_API_KEY=sk-another-0000-not-a-real-key-0000\n")
    document = differences.compare_sequences(ada.context, ada.agent)
    text = "\n".join(differences.format_differences(document))
    assert "sk-another-0000" not in text
    assert FAKE_KEY not in text


def texts(ada: Harbour, first: str, second: str) -> dict[str, tuple[str, str | None, str | None]]:
    """Memories of a comparison: what happened, the text now and before."""
    found = differences.compare_sequences(ada.context, ada.agent, first, second)["records"]
    return {record["id"]: (record["operation"], record["content"], record["previous"]) for record in found}


def test_the_way_back_tells_of_memories_the_other_way_round(ada: Harbour) -> None:
    newest = str(ada.day_passes())
    forth, back = texts(ada, "0", newest), texts(ada, newest, "0")
    mirrored = {"created": "deleted", "deleted": "created", "updated": "updated"}
    assert forth and set(back) == set(forth)
    for record_id, (operation, content, previous) in forth.items():
        assert back[record_id][:2] == (mirrored[operation], previous)
        if operation != "deleted":
            assert back[record_id][2] == content


def test_a_path_chooses_files_with_their_memories_and_shows_every_line(ada: Harbour) -> None:
    (ada.workspace / "MEMORY.md").write_text("".join(f"## Part {n}\n\nText {n}.\n\n" for n in range(150)))
    (ada.workspace / "new.md").write_text("new\n")
    whole = differences.compare_sequences(ada.context, ada.agent)
    (shortened,) = [file for file in whole["files"] if file["path"].endswith("/MEMORY.md")]
    assert shortened["cut"]
    found = differences.compare_sequences(ada.context, ada.agent, narrow=DifferenceFilter(paths=("MEMORY.md",)))
    (file,) = found["files"]
    assert "+Text 149." in file["diff"] and not file["cut"] and found["documents"] == []
    assert 0 < found["total"]["records"] <= whole["total"]["records"]
    assert found["total"]["files"] == 1 and not found["truncated"]


@pytest.mark.parametrize("limit", [1, 3_000, 10_000])
def test_what_is_more_than_the_limit_is_left_out_and_that_is_said(ada: Harbour, limit: int) -> None:
    for number in range(8):
        (ada.workspace / f"memory/rope-{number}.md").write_text(f"# Rope {number}\n\n" + "It is long.\n" * 50)
    newest = str(ada.day_passes())
    whole = differences.compare_sequences(ada.context, ada.agent, "0", newest)
    found = differences.compare_sequences(ada.context, ada.agent, "0", newest, DifferenceFilter(limit=limit))
    assert not whole["truncated"] and len(json_codec.encode_pretty(whole)) > limit
    assert found["truncated"] and found["total"] == whole["total"]
    assert len(json_codec.encode_pretty({**found, "agent": ""})) <= max(limit, 1000)
    for file in found["files"]:
        assert file in whole["files"] or (file["omitted"] and "diff" not in file)
    assert any("--limit" in line for line in differences.format_differences(found))


def test_names_only_reads_no_lines(ada: Harbour) -> None:
    newest = str(ada.day_passes())
    found = differences.compare_sequences(ada.context, ada.agent, "0", newest, DifferenceFilter(names_only=True))
    assert found["files"] and not any("diff" in file for file in found["files"])
