"""Artifacts in captures: by size, within limits, and with the memories that name them."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.capture import file_capture
from lifeboat_core.capture.large_artifacts import ArtifactLimits
from lifeboat_core.health import status_gathering
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.verify import samples_and_drills
from lifeboat_vault.vault import Draft, Vault
from support.core.protected import Protected


def test_artifacts_are_divided_by_the_threshold(ada: Protected) -> None:
    ada.write("small.csv", "a,b\n")
    ada.write("large.bin", b"\0" * 200_000)
    ada.capture()
    small, large = ada.meta("artifacts/small.csv"), ada.meta("artifacts/large.bin")
    assert small is not None and large is not None
    assert (small["attachment"]["tier"], small["attachment"]["media_type"]) == (2, "text/csv")
    assert large["attachment"]["tier"] == 3
    assert ada.kept() == ada.tree()


def test_an_artifact_keeps_its_id_when_it_changes(ada: Protected) -> None:
    ada.write("small.csv", "a,b\n")
    ada.capture()
    first = (ada.meta("artifacts/small.csv") or {})["attachment"]["id"]
    ada.write("small.csv", "a,b\n1,2\n")
    ada.capture()
    assert (ada.meta("artifacts/small.csv") or {})["attachment"]["id"] == first


def test_a_file_over_the_limit_is_named_and_the_rest_is_kept(ada: Protected) -> None:
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "150KB")
    ada.write("large.bin", b"\0" * 200_000)
    ada.write("small.csv", "a,b\n")
    report = ada.capture()
    assert report.left_out == {
        "artifacts/large.bin": "the file has 195.3 KB, more than the setting artifacts.max_file allows"
    }
    assert "small.csv" in ada.kept() and "large.bin" not in ada.kept()


def test_all_large_files_together_have_a_limit(ada: Protected) -> None:
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_total", "250KB")
    ada.write("one.bin", b"1" * 150_000)
    ada.write("two.bin", b"2" * 150_000)
    report = ada.capture()
    assert len(report.left_out) == 1
    assert len({"one.bin", "two.bin"} & set(ada.kept())) == 1


def test_large_files_wait_for_the_commit_outside_of_the_memory(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = []
    real = Vault.commit

    def commit(self: Vault, draft: Draft, **options: Any) -> Any:
        bodies.extend(put.body for put in draft.entries.values() if put is not None)
        return real(self, draft, **options)

    monkeypatch.setattr(Vault, "commit", commit)
    for number in range(3):
        ada.write(f"large{number}.bin", os.urandom(200_000))
    ada.capture()
    staged = [body for body in bodies if isinstance(body, Path)]
    assert len(staged) == 3
    assert not any(body.exists() for body in staged)
    assert ada.kept() == ada.tree()


def test_a_large_file_that_changes_again_is_captured_within_two_minutes(ada: Protected) -> None:
    ada.write("large.bin", b"1" * 200_000)
    ada.capture()
    ada.write("large.bin", b"2" * 200_000)
    report = ada.capture(paced=True)
    assert not report.changed and "artifacts/large.bin" in report.left_out
    assert report.due_in == 40.0
    assert (
        stands(ada)
        .reasons[1]
        .startswith("large.bin changed and will be captured later: Lifeboat captured this large file at ")
    )
    assert not stands(ada).over_limit
    ada.clock.advance(seconds=report.due_in)
    assert ada.capture(paced=True).changed
    assert ada.kept() == ada.tree()


def test_a_capture_that_the_user_asks_for_leaves_no_large_file_for_later(ada: Protected) -> None:
    for content in (b"1", b"2"):
        ada.write("large.bin", content * 200_000)
        assert ada.capture().pending == 0
    assert ada.kept() == ada.tree()


def test_a_file_that_takes_longer_to_read_is_captured_less_often() -> None:
    limits = ArtifactLimits(100_000, 1 << 40, 1 << 40, timedelta(seconds=100))
    assert limits.wait_for(50 << 20) == timedelta(seconds=100)
    assert limits.wait_for(500 << 20) == timedelta(seconds=1000)


def test_a_file_over_a_limit_is_named_until_the_limit_is_raised(ada: Protected) -> None:
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "150KB")
    ada.write("large.bin", b"1" * 200_000)
    ada.capture()
    found = stands(ada)
    assert (found.state, found.pending, found.over_limit) == ("waiting", 1, 1)
    named = "large.bin is not captured: the file has 195.3 KB, more than the setting artifacts.max_file allows"
    assert named in found.reasons
    assert found.fix == "lifeboat config set artifacts.max_file 1MB --agent ada"
    assert status_gathering.gather_status(ada.context).needs_the_user
    drill = samples_and_drills.drill_vault(ada.context, ada.agent)
    assert (drill.not_captured, drill.over_limit) == ([named], 1)
    shutil.rmtree(ada.workspace)
    ada.capture()
    report = restore_agent(ada.context, ada.agent, RestoreOptions(reindex=False))
    assert f"not in this sequence: {named}" in report.warnings
    ada.write("large.bin", b"1" * 200_000)
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "1MB")
    ada.capture()
    assert (stands(ada).pending, stands(ada).over_limit) == (0, 0)
    assert samples_and_drills.drill_vault(ada.context, ada.agent).not_captured == []


def test_media_of_the_runtime_are_captured_up_to_the_limit_that_the_user_sets(ada: Protected) -> None:
    ada.write_config("{}")
    photo = ada.write_config("x" * 5_000_000, "media/inbound/photo.jpg")
    assert ada.capture().complete
    assert ada.body("raw/openclaw-home/media/inbound/photo.jpg") == photo.read_bytes()
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "5MB")
    ada.write_config("x" * 6_000_000, "media/inbound/video.mp4")
    report = ada.capture()
    assert list(report.over_limit) == ["raw/openclaw-home/media/inbound/video.mp4"]
    assert report.limit_fix == "lifeboat config set artifacts.max_file 9MB --agent ada"
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "9MB")
    assert ada.capture().over_limit == {}


def test_notes_over_64_mb_are_captured_once_the_user_raises_the_limit(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_capture, "LARGEST", 1 << 20)
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "1MB")
    ada.write("memory/long.md", "A long line.\n" * 200_000)
    report = ada.capture()
    assert report.left_out == {
        "raw/openclaw/memory/long.md": "the file has 2.5 MB, more than the setting artifacts.max_file allows"
    }
    assert report.limit_fix == "lifeboat config set artifacts.max_file 4MB --agent ada"
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "4MB")
    assert ada.capture().complete
    assert "memory/long.md" in ada.kept()


def stands(ada: Protected) -> status_gathering.AgentStatus:
    return status_gathering.gather_agent_status(ada.context, ada.agent, ada.context.keys().status())


def test_a_memory_and_the_artifact_it_names_know_each_other(ada: Protected) -> None:
    ada.write("plans/tide_table.csv", "a,b\n")
    ada.write("memory/plan.md", "# Plan\n\nThe times are in `plans/tide_table.csv`.\n")
    ada.capture()
    memory = ada.memories()["# Plan\n\nThe times are in `plans/tide_table.csv`.\n"]
    assert _referenced_by(ada, "plans/tide_table.csv") == [memory["id"]]
    ada.write("memory/plan.md", "# Plan\n\nNothing any more.\n")
    ada.capture()
    assert _referenced_by(ada, "plans/tide_table.csv") == []


def test_an_artifact_that_comes_later_finds_the_memory_that_names_it(ada: Protected) -> None:
    ada.write("memory/plan.md", "# Plan\n\nSee chart.png for the way in.\n")
    ada.capture()
    ada.write("charts/chart.png", b"\x89PNG")
    ada.write("charts/other.png", b"\x89PNG")
    ada.capture()
    memory = ada.memories()["# Plan\n\nSee chart.png for the way in.\n"]
    assert _referenced_by(ada, "charts/chart.png") == [memory["id"]]
    assert _referenced_by(ada, "charts/other.png") == []


def _referenced_by(ada: Protected, path: str) -> list[str]:
    meta = ada.meta(f"artifacts/{path}")
    assert meta is not None
    return list(meta["attachment"].get("referenced_by", []))
