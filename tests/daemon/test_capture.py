"""Capture: what a change of a workspace becomes."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from protected import MEMORY, Protected

from lifeboat_alf import codec, layout, records
from lifeboat_alf.seams import steps
from lifeboat_alf.seams.files import SystemFiles
from lifeboat_alf.seams.steps import Step
from lifeboat_daemon import agents
from lifeboat_daemon.capture import capture
from lifeboat_daemon.state_db import throw_away
from lifeboat_endpoint.vault import Draft, Vault


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.add()
    return made


def test_the_first_capture_holds_the_whole_workspace(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.write("skills/tides/run.sh", "#!/bin/sh\n", mode=0o755)
    ada.write("plans/budget.csv", "a,b\n")
    (ada.workspace / "current").symlink_to("plans/budget.csv")
    (ada.workspace / "later").mkdir()
    report = ada.add()
    assert report.changed and report.sequence == 0
    assert ada.kept() == ada.tree()


def test_nothing_changed_makes_no_sequence_and_writes_nothing(ada: Protected) -> None:
    ada.capture()
    before = _stats(ada.context.home.folder)
    report = ada.capture()
    assert (report.outcome, report.sequence) == ("unchanged", 0)
    assert _without_locks(_stats(ada.context.home.folder)) == _without_locks(before)


def _stats(folder: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


def _without_locks(stats: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in stats.items() if "/locks/" not in name}


def test_touching_a_file_makes_no_sequence(ada: Protected) -> None:
    os.utime(ada.workspace / "MEMORY.md")
    assert ada.capture().outcome == "unchanged"


def test_an_execute_bit_is_a_change(ada: Protected) -> None:
    (ada.workspace / "SOUL.md").chmod(0o755)
    assert ada.capture().changed
    assert (ada.meta("raw/openclaw/SOUL.md") or {})["executable"] is True


def test_a_private_file_stays_private(ada: Protected) -> None:
    ada.write("memory/secret.md", "# Private\n", mode=0o600)
    ada.capture()
    assert (ada.meta("raw/openclaw/memory/secret.md") or {})["private"] is True


def test_a_file_that_went_is_removed_and_an_older_state_still_has_it(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    report = ada.capture()
    assert report.raw["removed"] == 1
    assert "MEMORY.md" not in ada.kept()
    assert "MEMORY.md" in ada.kept(0)


def test_a_file_that_becomes_a_link_is_a_link(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    (ada.workspace / "MEMORY.md").symlink_to("SOUL.md")
    ada.capture()
    assert ada.kept() == ada.tree()


def test_a_folder_that_was_empty_and_got_a_file_is_no_entry_any_more(ada: Protected) -> None:
    (ada.workspace / "notes").mkdir()
    ada.capture()
    assert ada.kept()["notes"] == ("folder",)
    ada.write("notes/one.md", "one\n")
    ada.capture()
    assert ada.kept() == ada.tree()


def test_a_name_that_is_no_utf8_is_kept_with_its_bytes(ada: Protected) -> None:
    raw = b"memory/caf\xe9.md"
    (ada.workspace / "memory").mkdir()
    Path(os.fsdecode(os.fsencode(ada.workspace) + b"/" + raw)).write_bytes(b"# Cafe\n")
    ada.capture()
    meta = ada.meta("raw/openclaw/memory/caf%E9.md")
    assert meta is not None and bytes.fromhex(meta["name_hex"]) == raw
    assert ada.capture(full=True).outcome == "unchanged"


def test_case_twins_and_colons_are_ordinary_names(ada: Protected) -> None:
    ada.write("A.md", "upper\n")
    ada.write("a.md", "lower\n")
    ada.write("a:b.md", "colon\n")
    ada.capture()
    assert ada.kept() == ada.tree()


def test_a_fifo_and_a_socket_are_named_and_do_not_hang(ada: Protected, tmp_path: Path) -> None:
    os.mkfifo(ada.workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(ada.workspace)
        listener.bind("door")
    report = ada.capture()
    assert set(report.left_out) == {"raw/openclaw/pipe", "raw/openclaw/door"}
    assert report.outcome == "unchanged"


def test_a_link_is_stored_as_a_link_and_what_it_leads_to_is_not_read(ada: Protected, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key").write_text("not for the archive")
    (ada.workspace / "memory").symlink_to(tmp_path / "outside")
    ada.capture()
    assert ada.kept()["memory"] == ("link", str(tmp_path / "outside"))
    assert not any("key" in path for path in ada.kept())


def test_capture_writes_nothing_into_the_workspace(ada: Protected) -> None:
    before = {path: path.stat().st_mtime_ns for path in ada.state_dir.rglob("*")}
    ada.write("memory/2026-11-01.md", "# Day\n")
    before |= {path: path.stat().st_mtime_ns for path in ada.state_dir.rglob("*")}
    ada.capture()
    assert {path: path.stat().st_mtime_ns for path in ada.state_dir.rglob("*")} == before


# Errors are no deletions ---------------------------------------------------------------------------------------


class Refuses(SystemFiles):
    """A file system that refuses what `refused` says."""

    def __init__(self) -> None:
        self.refused: Callable[[str], bool] = lambda path: False
        self.fired = 0

    def _check(self, path: object) -> None:
        if self.refused(os.fspath(path)):  # type: ignore[call-overload]
            self.fired += 1
            raise PermissionError(13, "Permission denied", str(path))

    def scan(self, folder):  # type: ignore[no-untyped-def]
        self._check(folder)
        return super().scan(folder)

    def open_regular(self, path):  # type: ignore[no-untyped-def]
        self._check(path)
        return super().open_regular(path)

    def lstat(self, path):  # type: ignore[no-untyped-def]
        self._check(path)
        return super().lstat(path)


@pytest.fixture
def refusing(tmp_path: Path) -> tuple[Protected, Refuses]:
    files = Refuses()
    made = Protected(tmp_path, files=files)
    made.write("memory/2026-11-01.md", "# Day\n\n## Walk\n\nWent to the lighthouse.\n")
    made.write("memory/2026-11-02.md", "# Day\n\n## Rain\n\nStayed in.\n")
    made.add()
    return made, files


def test_an_unreadable_folder_keeps_what_was_in_it(refusing: tuple[Protected, Refuses]) -> None:
    ada, files = refusing
    files.refused = lambda path: path.endswith("/workspace/memory")
    report = ada.capture()
    assert files.fired
    assert report.outcome == "unchanged"
    assert report.unread_files == 2
    assert "raw/openclaw/memory/" in report.unread
    files.refused = lambda path: False
    assert ada.capture().outcome == "unchanged"


def test_an_unreadable_folder_is_kept_too_when_every_file_is_read_again(refusing: tuple[Protected, Refuses]) -> None:
    ada, files = refusing
    files.refused = lambda path: path.endswith("/workspace/memory")
    assert ada.capture(full=True).outcome == "unchanged"
    assert "memory/2026-11-01.md" in ada.kept()


def test_an_unreadable_file_keeps_its_last_version_and_the_rest_goes_on(refusing: tuple[Protected, Refuses]) -> None:
    ada, files = refusing
    files.refused = lambda path: path.endswith("2026-11-01.md")
    ada.write("memory/2026-11-01.md", "changed\n")
    ada.write("memory/2026-11-02.md", "# Day\n\n## Rain\n\nWent out.\n")
    report = ada.capture()
    assert set(report.unread) == {"raw/openclaw/memory/2026-11-01.md"}
    assert b"lighthouse" in ada.body("raw/openclaw/memory/2026-11-01.md")
    assert b"Went out" in ada.body("raw/openclaw/memory/2026-11-02.md")
    files.refused = lambda path: False
    assert ada.capture().changed
    assert ada.kept() == ada.tree()


class Mounted(SystemFiles):
    """`memory/` is another file system while `mounted`, and an empty folder else."""

    mounted = True

    def scan(self, folder):  # type: ignore[no-untyped-def]
        if os.fspath(folder).endswith("/workspace/memory") and not self.mounted:
            return []
        return [self._entry(entry) for entry in super().scan(folder)]

    def _entry(self, entry: os.DirEntry[str]) -> Any:
        if entry.name != "memory" or not self.mounted:
            return entry
        found = entry.stat(follow_symlinks=False)
        moved = os.stat_result((found.st_mode, found.st_ino, found.st_dev + 1, *found[3:10]))
        return SimpleNamespace(
            name=entry.name, path=entry.path, is_dir=entry.is_dir, stat=lambda follow_symlinks: moved
        )


def test_an_unmounted_folder_in_the_workspace_is_no_deletion(tmp_path: Path) -> None:
    files = Mounted()
    ada = Protected(tmp_path, files=files)
    ada.write("memory/2026-11-01.md", "# Day\n")
    ada.add()
    ada.capture()
    files.mounted = False
    report = ada.capture()
    assert report.outcome == "unchanged" and report.unread_files == 1
    assert "memory/2026-11-01.md" in ada.kept()
    files.mounted = True
    assert ada.capture().complete


def test_a_missing_workspace_is_not_captured(ada: Protected, tmp_path: Path) -> None:
    ada.workspace.rename(tmp_path / "elsewhere")
    report = ada.capture()
    assert (report.outcome, report.sequence) == ("root_missing", 0)
    assert "MEMORY.md" in ada.kept()


def test_an_emptied_workspace_is_not_captured(ada: Protected) -> None:
    for file in ada.workspace.iterdir():
        file.unlink()
    assert ada.capture().outcome == "root_missing"
    assert "MEMORY.md" in ada.kept()


def test_another_folder_in_its_place_is_not_captured_until_most_is_back(ada: Protected, tmp_path: Path) -> None:
    for number in range(6):
        ada.write(f"memory/note{number}.md", f"# Note {number}\n")
    ada.capture()
    ada.workspace.rename(tmp_path / "elsewhere")
    ada.write("SOUL.md", "# Soul\n\nA fresh template.\n")
    assert ada.capture().outcome == "root_missing"
    ada.write("MEMORY.md", MEMORY)
    for number in range(6):
        ada.write(f"memory/note{number}.md", f"# Note {number}\n")
    assert ada.capture().changed
    assert ada.kept() == ada.tree()


def test_another_folder_in_its_place_is_captured_when_the_user_accepts_it(ada: Protected, tmp_path: Path) -> None:
    for number in range(6):
        ada.write(f"memory/note{number}.md", f"# Note {number}\n")
    ada.capture()
    ada.workspace.rename(tmp_path / "elsewhere")
    ada.write("SOUL.md", "# Soul\n\nA fresh template.\n")
    assert ada.capture().outcome == "root_missing"
    agents.accept(ada.context, ada.agent)
    report = ada.capture()
    assert report.changed and report.held is not None
    assert ada.kept() == ada.tree()


# Torn reads ----------------------------------------------------------------------------------------------------


def test_a_file_that_never_stands_still_keeps_its_last_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = Protected(tmp_path)
    ada.write("memory/log.md", "# Log\n")
    ada.add()
    tries = _append_while_reading(monkeypatch, ada.workspace / "memory" / "log.md", b"more\n")
    ada.write("memory/log.md", "# Log\n\nchanged\n")
    report = ada.capture()
    assert tries() == 3
    assert set(report.unstable) == {"raw/openclaw/memory/log.md"}
    assert ada.body("raw/openclaw/memory/log.md") == b"# Log\n"
    monkeypatch.undo()
    assert ada.capture().changed
    assert ada.kept() == ada.tree()


def test_a_growing_log_is_taken_up_to_its_last_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = Protected(tmp_path)
    ada.add()
    log = ada.write("memory/events.jsonl", '{"a":1}\n{"a":2}\n{"a"')
    _append_while_reading(monkeypatch, log, b":3}\n")
    ada.capture()
    assert ada.body("raw/openclaw/memory/events.jsonl") == b'{"a":1}\n{"a":2}\n'


def _append_while_reading(monkeypatch: pytest.MonkeyPatch, file: Path, more: bytes) -> Callable[[], int]:
    """Append to a file between the two looks at its stat."""
    from lifeboat_daemon.capture import read

    seen = []
    real = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        if found.st_ino == file.stat().st_ino:
            seen.append(descriptor)
            if len(seen) % 3 == 2:
                with file.open("ab") as stream:
                    stream.write(more)
        return found

    monkeypatch.setattr(read.os, "fstat", fstat)
    return lambda: len(seen) // 3


def test_a_change_of_the_same_size_in_the_same_instant_is_seen(ada: Protected) -> None:
    file = ada.workspace / "MEMORY.md"
    file.write_text(MEMORY + "one\n")
    stamp = file.stat().st_mtime_ns
    ada.capture()
    with file.open("r+") as stream:
        stream.seek(len(MEMORY))
        stream.write("two\n")
    os.utime(file, ns=(stamp, stamp))
    assert ada.capture().changed
    assert ada.body("raw/openclaw/MEMORY.md").endswith(b"two\n")


def test_a_file_that_was_written_a_moment_ago_is_read_again(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ada.workspace / "MEMORY.md"
    file.write_text(MEMORY + "one\n")
    ada.capture()
    opened: list[str] = []
    real = SystemFiles.open_regular

    def open_regular(self: SystemFiles, path: str) -> int:
        opened.append(os.fspath(path))
        return real(self, path)

    monkeypatch.setattr(SystemFiles, "open_regular", open_regular)
    assert ada.capture().outcome == "unchanged"
    assert str(file) in opened


# Ignoring ------------------------------------------------------------------------------------------------------


def test_what_is_ignored_is_not_captured_and_ignoring_it_later_removes_it(ada: Protected) -> None:
    ada.write("private/diary.md", "# Diary\n")
    ada.write("notes.txt", "notes\n")
    ada.capture()
    assert "private/diary.md" in ada.kept()
    ada.write(".lifeboatignore", "private/\n*.txt\n")
    report = ada.capture()
    assert report.raw["removed"] == 2
    assert not {"private/diary.md", "notes.txt"} & set(ada.kept())
    assert report.skipped["raw/openclaw/private/"] == "ignored by .lifeboatignore"
    ada.write(".lifeboatignore", "*.txt\n")
    ada.capture()
    assert "private/diary.md" in ada.kept()


# Artifacts -----------------------------------------------------------------------------------------------------


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
    agents.write_setting(ada.context, ada.agent, "artifacts.max_file", "150KB")
    ada.write("large.bin", b"\0" * 200_000)
    ada.write("small.csv", "a,b\n")
    report = ada.capture()
    assert report.left_out == {"artifacts/large.bin": "larger than artifacts.max_file"}
    assert "small.csv" in ada.kept() and "large.bin" not in ada.kept()


def test_all_large_files_together_have_a_limit(ada: Protected) -> None:
    agents.write_setting(ada.context, ada.agent, "artifacts.max_total", "250KB")
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


def test_a_large_file_is_captured_at_most_hourly(ada: Protected) -> None:
    ada.write("large.bin", b"1" * 200_000)
    ada.capture()
    ada.write("large.bin", b"2" * 200_000)
    report = ada.capture()
    assert not report.changed and "artifacts/large.bin" in report.left_out
    ada.clock.advance(hours=1)
    assert ada.capture().changed
    assert ada.kept() == ada.tree()


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


# The caches ----------------------------------------------------------------------------------------------------


def test_without_its_caches_a_capture_finds_the_same(ada: Protected) -> None:
    ada.write("plans/budget.csv", "a,b\n")
    ada.capture()
    before = ada.kept(), ada.records()
    throw_away(ada.context.home.state_file(ada.agent.id))
    assert ada.capture().outcome == "unchanged"
    assert (ada.kept(), ada.records()) == before


def test_a_folder_that_is_not_empty_any_more_is_seen_without_caches(ada: Protected) -> None:
    (ada.workspace / "notes").mkdir()
    ada.capture()
    throw_away(ada.context.home.state_file(ada.agent.id))
    ada.write("notes/one.md", "one\n")
    ada.capture()
    assert ada.kept() == ada.tree()


def test_a_deletion_is_seen_without_caches_too(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    throw_away(ada.context.home.state_file(ada.agent.id))
    ada.capture()
    assert ada.kept() == ada.tree()


def test_damaged_caches_are_made_anew(ada: Protected) -> None:
    ada.context.home.state_file(ada.agent.id).write_bytes(b"this is no database" * 500)
    ada.write("MEMORY.md", MEMORY + "\n## New\n\nText.\n")
    assert ada.capture().changed
    assert ada.kept() == ada.tree()


def test_a_full_read_sees_what_the_stat_hides(ada: Protected) -> None:
    file = ada.workspace / "MEMORY.md"
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        from lifeboat_daemon.state_db import StateDb

        changed = MEMORY.replace("green", "black")
        stamp = file.stat().st_mtime_ns
        file.write_text(changed)
        os.utime(file, ns=(stamp, stamp))
        with StateDb.open(ada.context.home.state_file(ada.agent.id), vault.id) as db:
            db.connection.execute("update seen set ctime_ns = ?", (file.stat().st_ctime_ns,))
    assert ada.capture().outcome == "unchanged"
    assert ada.capture(full=True).changed
    assert ada.kept() == ada.tree()


class Stopped(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", [step for step in Step if step.value.startswith("capture.")])
def test_a_capture_that_is_stopped_at_any_step_is_made_good_by_the_next(
    ada: Protected, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired = []

    def stop(reached: Step) -> None:
        if reached is step:
            fired.append(step)
            raise Stopped

    ada.write("MEMORY.md", MEMORY + "\n## New\n\nText.\n")
    ada.write("plan.csv", "1\n")
    monkeypatch.setattr(steps, "hook", stop)
    with pytest.raises(Stopped):
        ada.capture()
    monkeypatch.setattr(steps, "hook", None)
    assert fired
    ada.capture()
    assert ada.kept() == ada.tree()
    assert len([one for one in ada.records() if one["content"].startswith("## New")]) == 1
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.verify(trusted=ada.context.keys().public).ok
        assert [row.number for row in vault.sequences()] == [0, 1]
        assert vault.check_audit() == []


def test_the_manifest_says_whose_archive_it_is(ada: Protected) -> None:
    head = ada.document(layout.MANIFEST)
    assert head["agent"]["id"] == ada.agent.id
    assert head["agent"]["source_runtime"] == "openclaw"
    assert head["raw_sources"] == ["openclaw"]
    assert head["artifact_size_threshold"] == 102400
    assert [one["file"] for one in head["partitions"]] == [record_partition(ada)]


def record_partition(ada: Protected) -> str:
    with ada.context.vault(ada.agent.id) as vault:
        return next(iter(vault.state().records())).partition


def test_every_sequence_is_signed_by_this_device(ada: Protected) -> None:
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        verification = vault.verify(trusted=ada.context.keys().public)
    assert verification.ok and not verification.unsigned and verification.sequences == 2


def test_a_second_capture_at_the_same_time_is_told_who_is_at_work(ada: Protected, tmp_path: Path) -> None:
    import subprocess
    import sys

    from lifeboat_daemon.errors import Busy

    code = (
        "import sys, time\n"
        "from lifeboat_daemon.context import Context\n"
        "from lifeboat_daemon.locks import agent_lock\n"
        "context = Context.open({'LIFEBOAT_HOME': sys.argv[1], 'HOME': sys.argv[1]})\n"
        "with agent_lock(context, sys.argv[2], 'restore'):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(ada.context.home.folder), ada.agent.id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(Busy, match=f"process {other.pid} .*restore"):
            ada.capture()
        other.stdin.close()
    assert ada.capture().outcome == "unchanged"


def test_a_setting_of_the_agent_reaches_the_capture(ada: Protected) -> None:
    agents.write_setting(ada.context, ada.agent, "artifacts.threshold", "1KB")
    ada.write("middle.csv", "x" * 2000)
    ada.capture()
    assert (ada.meta("artifacts/middle.csv") or {})["attachment"]["tier"] == 3
    assert ada.document(layout.MANIFEST)["artifact_size_threshold"] == 1024


def test_file_modes_are_what_they_were(ada: Protected) -> None:
    assert stat.S_IMODE(ada.context.home.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(ada.context.home.state_file(ada.agent.id).stat().st_mode) == 0o600


def test_records_validate_and_are_compact(ada: Protected) -> None:
    for record in ada.records():
        assert codec.encode(records.arranged(record)) == codec.encode(record)
        assert record["agent_id"] == ada.agent.id


def test_capture_by_agent_object_alone(ada: Protected) -> None:
    ada.write("SOUL.md", "# Soul\n\nBe calm.\n")
    assert capture(ada.context, ada.agent).changed
