"""The setting `review`: a rewritten memory file is captured, and reported or held."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture import rewrite_guard
from lifeboat_core.health import status_gathering
from lifeboat_core.review import review_inbox
from lifeboat_core.settings import config_file
from support.core.protected import Protected

FACTS = [f"## Part {number}\n\nFact {number} about the harbour, the boats and the tide.\n\n" for number in range(10)]
NOTE = "# Memory\n\n" + "".join(FACTS)
REWRITTEN = "# Memory\n\n" + "".join(FACTS[:4]) + "".join(f"## Part {number}\n\nShort.\n\n" for number in range(4, 10))


def protected(folder: Path, policy: str) -> Protected:
    ada = Protected(folder)
    ada.write("MEMORY.md", NOTE)
    ada.add()
    config_file.write_config(ada.context.home, SystemFiles(), "review", policy)
    return ada


def test_by_default_a_rewrite_is_captured_like_any_change(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.write("MEMORY.md", NOTE)
    ada.add()
    ada.write("MEMORY.md", REWRITTEN)
    report = ada.capture()
    assert report.held is None and report.warnings == []


def test_inform_names_the_file_the_share_and_the_command(tmp_path: Path) -> None:
    ada = protected(tmp_path, "inform")
    ada.write("MEMORY.md", REWRITTEN)
    report = ada.capture()
    (warning,) = report.warnings
    assert report.held is None
    assert "of the file MEMORY.md was replaced or removed by one capture" in warning
    assert warning.endswith(f"to see the changes: lifeboat review {ada.agent.name}")


def test_hold_captures_the_rewrite_and_pins_the_sequence_before(tmp_path: Path) -> None:
    ada = protected(tmp_path, "hold")
    ada.write("MEMORY.md", REWRITTEN)
    report = ada.capture()
    assert report.sequence == 1 and ada.body("raw/openclaw/MEMORY.md") == REWRITTEN.encode()
    assert report.held is not None and report.held["what"] == rewrite_guard.REWRITE and report.held["previous"] == 0
    with ada.context.vault(ada.agent.id) as vault:
        assert [pin.reason for pin in vault.sequence(0).pins] == ["held"]


def test_later_captures_stay_held_until_the_user_accepts(tmp_path: Path) -> None:
    ada = protected(tmp_path, "hold")
    ada.write("MEMORY.md", REWRITTEN)
    ada.capture()
    ada.write("memory/new.md", "## New\n\nText.\n")
    assert ada.capture().held is not None
    assert manage_agents.accept_removals(ada.context, ada.agent) is True
    ada.write("memory/new.md", "## New\n\nOther text.\n")
    assert ada.capture().held is None


def test_the_hold_ends_when_the_text_is_back(tmp_path: Path) -> None:
    ada = protected(tmp_path, "hold")
    ada.write("MEMORY.md", REWRITTEN)
    ada.capture()
    ada.write("MEMORY.md", NOTE + "## More\n\nText.\n")
    assert ada.capture().held is None
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.sequence(0).pins == []


def test_a_removed_memory_file_is_held_and_a_renamed_one_is_not(tmp_path: Path) -> None:
    ada = protected(tmp_path, "hold")
    for number in range(20):
        ada.write(f"memory/other{number}.md", f"## Other {number}\n\nThe note number {number} stands by itself.\n")
    ada.write("memory/facts.md", NOTE.replace("Fact", "Detail"))
    ada.capture()
    (ada.workspace / "memory/facts.md").rename(ada.workspace / "memory/renamed.md")
    assert ada.capture().held is None
    (ada.workspace / "memory/renamed.md").unlink()
    held = ada.capture().held
    assert held is not None and held["path"] == "raw/openclaw/memory/renamed.md"


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [(b"a\nb\n", b"b\n\na\n", 0.0), (b"aa\nbb\n", b"aa\n", 0.5), (b"aa\naa\n", b"aa\n", 0.5), (b"", b"a", 0.0)],
)
def test_lines_that_moved_are_not_rewritten(before: bytes, after: bytes, share: float) -> None:
    assert rewrite_guard.measure_rewrite(before, after) == share


def test_a_small_file_is_never_a_rewrite() -> None:
    assert rewrite_guard.judge_rewrite("raw/x/n.md", "n.md", b"word\n" * 70, b"") is None
    assert rewrite_guard.judge_rewrite("raw/x/n.md", "n.md", b"word\n" * 80, b"") is not None


def test_status_counts_the_changes_since_the_last_look_only_with_the_setting(tmp_path: Path) -> None:
    def count() -> int:
        return status_gathering.gather_facts(ada.context, ada.agent).unreviewed

    ada = protected(tmp_path, "off")
    ada.write("memory/new.md", "## New\n\nText.\n")
    ada.capture()
    assert count() == 0
    config_file.write_config(ada.context.home, SystemFiles(), "review", "inform")
    assert count() == 1
    review_inbox.approve_all(ada.context, ada.agent)
    assert count() == 0
    ada.write("memory/new.md", "## New\n\nOther text.\n")
    ada.capture()
    assert count() == 1
