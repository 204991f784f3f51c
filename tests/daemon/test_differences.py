"""What `diff` shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from harbour import Harbour, harbour

from lifeboat_daemon import differences
from lifeboat_daemon.demo.workspace import FAKE_KEY
from lifeboat_daemon.errors import NothingToRestore


@pytest.fixture
def ada(tmp_path: Path) -> Harbour:
    return harbour(tmp_path)


def test_nothing_changed_says_so(ada: Harbour) -> None:
    document = differences.between(ada.context, ada.agent)
    assert list(differences.lines(document)) == ["Nothing changed."]


def test_the_workspace_is_compared_without_being_captured(ada: Harbour) -> None:
    with (ada.workspace / "MEMORY.md").open("a") as memory:
        memory.write("\n## Lamp\n\nThe lamp was mended.\n")
    (ada.workspace / "new.md").write_text("new\n")
    document = differences.between(ada.context, ada.agent)
    assert ada.head == 0
    operations = {file["path"].rpartition("/")[2]: file["operation"] for file in document["files"]}
    assert operations["MEMORY.md"] == "changed"
    assert operations["new.md"] == "created"
    created = [record for record in document["records"] if record["operation"] == "created"]
    assert any("The lamp was mended." in record["content"] for record in created)
    assert "+The lamp was mended." in "\n".join(differences.lines(document))


def test_two_sequences_are_compared_both_ways(ada: Harbour) -> None:
    newest = ada.day_passes()
    forth = differences.between(ada.context, ada.agent, "0", str(newest))
    back = differences.between(ada.context, ada.agent, str(newest), "0")
    assert forth["from"]["sequence"] == back["to"]["sequence"] == 0
    assert {file["path"] for file in forth["files"]} == {file["path"] for file in back["files"]}
    assert {"created", "removed"} <= {file["operation"] for file in forth["files"]}


def test_an_edited_memory_shows_both_texts(ada: Harbour) -> None:
    memory = ada.workspace / "MEMORY.md"
    (ada.workspace / "memory" / "2026-11-20.md").write_text("## Boats\n\nThe first boat is blue and small and old.\n")
    ada.capture()
    (ada.workspace / "memory" / "2026-11-20.md").write_text("## Boats\n\nThe first boat is green and small and old.\n")
    assert memory.exists()
    document = differences.between(ada.context, ada.agent)
    (record,) = [record for record in document["records"] if record["operation"] == "updated"]
    assert "blue" in record["previous"]
    assert "green" in record["content"]


def test_names_only_leaves_the_lines_out(ada: Harbour) -> None:
    (ada.workspace / "new.md").write_text("new\n")
    document = differences.between(ada.context, ada.agent)
    assert not any(line.startswith(("+", "---")) for line in differences.lines(document, names_only=True))


def test_a_moment_before_the_history_is_an_error(ada: Harbour) -> None:
    with pytest.raises(NothingToRestore):
        differences.between(ada.context, ada.agent, "2001-01-01T00:00:00Z", "0")
    with pytest.raises(NothingToRestore):
        differences.between(ada.context, ada.agent, "yesterday", "0")


def test_a_secret_is_never_shown(ada: Harbour) -> None:
    env = ada.workspace.parent / ".env"
    env.write_text(env.read_text() + "NEW_API_KEY=sk-another-0000-not-a-real-key-0000\n")
    document = differences.between(ada.context, ada.agent)
    text = "\n".join(differences.lines(document))
    assert "sk-another-0000" not in text
    assert FAKE_KEY not in text
