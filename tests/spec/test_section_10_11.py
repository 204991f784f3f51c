"""ALF §10.11: partitions by time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams.system_clock import SystemClock
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

Export = Callable[..., ArchiveFile]
DAYS = ("2025-02-03", "2025-05-20", "2025-08-11", "2025-11-30")
QUARTERS = ["2025-Q1", "2025-Q2", "2025-Q3", "2025-Q4"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An agent with a log in each quarter of 2025 and one of today."""
    folder = tmp_path / "ada" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Soul\n\nYou are Ada.\n")
    (folder / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Ada\n")
    for day in (*DAYS, _today()):
        (folder / f"memory/{day}.md").write_text(f"# {day}\n\n## Work\n\nDone on {day}.\n\n## Talk\n\nSaid on {day}.\n")
    run("agents", "add", folder, "--runtime", "openclaw")
    return folder


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _sealed(archive: ArchiveFile) -> dict[str, bytes]:
    return {item["file"]: archive.bodies[item["file"]] for item in archive.partitions if item["sealed"]}


def test_memories_of_several_quarters_lie_in_one_file_per_quarter(workspace: Path, export: Export) -> None:
    archive = export(workspace)
    now = datetime.now(UTC)
    wanted = [*QUARTERS, f"{now.year}-Q{(now.month + 2) // 3}"]
    files = [f"memory/partitions/{name}.jsonl" for name in wanted]
    assert [item["file"] for item in archive.partitions] == files
    assert sorted(name for name in archive.bodies if name.startswith("memory/partitions/")) == files


def test_every_partition_but_the_current_one_is_sealed(workspace: Path, export: Export) -> None:
    *past, current = export(workspace).partitions
    assert [item["sealed"] for item in past] == [True] * len(past)
    assert [item["to"] for item in past] == ["2025-03-31", "2025-06-30", "2025-09-30", "2025-12-31"]
    assert (current["sealed"], current["to"]) == (False, None)


def test_every_record_lies_in_the_partition_of_its_creation(workspace: Path, export: Export) -> None:
    (workspace / "memory/2025-05-20.md").write_text("# 2025-05-20\n\n## Work\n\nDone on 2025-05-20, and better.\n")
    run("sync")
    archive = export(workspace)
    for partition in archive.partitions:
        for item in archive.lines(partition["file"]):
            day = item["temporal"]["created_at"][:10]
            assert partition["from"] <= day <= (partition["to"] or _today())


def test_sealed_partitions_stay_byte_identical_when_memories_are_added(workspace: Path, export: Export) -> None:
    before = _sealed(export(workspace, "before.alf"))
    (workspace / "MEMORY.md").write_text("# Memory\n\n## New\n\nSomething new.\n")
    late = workspace / "memory/2025-08-12.md"
    late.write_text("# 2025-08-12\n\n## Late\n\nWritten long after its day.\n")
    run("sync")
    after = export(workspace, "after.alf")
    assert _sealed(after) == before
    found = after.record_with("long after its day")
    assert found["temporal"]["created_at"][:10] == _today()
    assert found["temporal"]["observed_at"][:10] == "2025-08-12"


def test_a_change_of_a_sealed_record_is_a_new_record_in_the_current_partition(workspace: Path, export: Export) -> None:
    before = export(workspace, "before.alf")
    old = before.record_with("Done on 2025-02-03")
    log = workspace / "memory/2025-02-03.md"
    log.write_text(log.read_text().replace("Done on 2025-02-03", "Done on 2025-02-03 at noon"))
    run("sync")
    after = export(workspace, "after.alf")
    new = after.record_with("at noon")
    assert new["supersedes"] == old["id"]
    assert new in after.lines(after.partitions[-1]["file"])
    assert _sealed(after) == _sealed(before)


def test_a_deletion_of_a_sealed_record_is_a_tombstone_in_the_current_partition(workspace: Path, export: Export) -> None:
    before = export(workspace, "before.alf")
    old = before.record_with("Said on 2025-11-30")
    log = workspace / "memory/2025-11-30.md"
    log.write_text(log.read_text().partition("## Talk")[0])
    run("sync")
    after = export(workspace, "after.alf")
    stones = [item for item in after.lines(after.partitions[-1]["file"]) if item.get("supersedes") == old["id"]]
    assert [(item["status"], item["content"]) for item in stones] == [("deleted", "[deleted]")]
    assert _sealed(after) == _sealed(before)
    assert not [item for item in after.active if "Said on 2025-11-30" in item["content"]]


def test_an_agent_can_switch_to_monthly_partitions(
    workspace: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The open quarter ends with the day of the switch; what comes after goes by the month."""
    before = export(workspace, "before.alf")
    run("config", "set", "memory.granularity", "monthly")
    (workspace / "MEMORY.md").write_text("# Memory\n\n## Old\n\nThe last of the quarter.\n")
    run("sync")
    _a_day_passes(monkeypatch)
    (workspace / "MEMORY.md").write_text(
        "# Memory\n\n## Old\n\nThe last of the quarter.\n\n## New\n\nFrom now on by the month.\n"
    )
    run("sync")
    after = export(workspace, "after.alf")
    assert _sealed(after).items() >= _sealed(before).items()
    month = after.record_with("by the month")["temporal"]["created_at"][:7]
    *past, current = after.partitions
    assert current["file"] == f"memory/partitions/{month}.jsonl"
    assert (current["from"][:7], current["to"], current["sealed"]) == (month, None, False)
    assert all(item["sealed"] for item in past)
    assert run("alf", "validate", after.path, "--strict")["ok"]
    _assert_no_overlap(after)


def _a_day_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    now, since_boot = SystemClock.now, SystemClock.since_boot
    monkeypatch.setattr(SystemClock, "now", lambda clock: now(clock) + timedelta(days=1))
    monkeypatch.setattr(SystemClock, "since_boot", lambda clock: since_boot(clock) + 86400)


def _assert_no_overlap(archive: ArchiveFile) -> None:
    ends = [item["to"] for item in archive.partitions[:-1]]
    starts = [item["from"] for item in archive.partitions[1:]]
    for end, start in zip(ends, starts, strict=True):
        assert datetime.fromisoformat(end) + timedelta(days=1) <= datetime.fromisoformat(start)
