"""Captures of changes of a workspace."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.memory import memory_records
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.state.state_db import delete_cache
from support.core.protected import MEMORY, Protected


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


def test_a_fifo_and_a_socket_are_named_and_do_not_hang(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(ada.workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, monkeypatch.context() as patch:
        patch.chdir(ada.workspace)
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
    """Append to a file between the two stats of its content: the last two of four, because the first two belong to
    opening."""
    from lifeboat_adapters.stable_reads import file_reading

    seen = []
    real = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        if found.st_ino == file.stat().st_ino:
            seen.append(descriptor)
            if len(seen) % 4 == 3:
                with file.open("ab") as stream:
                    stream.write(more)
        return found

    monkeypatch.setattr(file_reading.os, "fstat", fstat)
    return lambda: len(seen) // 4


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
    assert report.skipped["raw/openclaw/private/"] == "excluded by .lifeboatignore"
    ada.write(".lifeboatignore", "*.txt\n")
    ada.capture()
    assert "private/diary.md" in ada.kept()


# The caches ----------------------------------------------------------------------------------------------------


def test_without_its_caches_a_capture_finds_the_same(ada: Protected) -> None:
    ada.write("plans/budget.csv", "a,b\n")
    ada.capture()
    before = ada.kept(), ada.records()
    delete_cache(ada.context.home.state_file(ada.agent.id))
    assert ada.capture().outcome == "unchanged"
    assert (ada.kept(), ada.records()) == before


def test_a_folder_that_is_not_empty_any_more_is_seen_without_caches(ada: Protected) -> None:
    (ada.workspace / "notes").mkdir()
    ada.capture()
    delete_cache(ada.context.home.state_file(ada.agent.id))
    ada.write("notes/one.md", "one\n")
    ada.capture()
    assert ada.kept() == ada.tree()


def test_a_deletion_is_seen_without_caches_too(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    delete_cache(ada.context.home.state_file(ada.agent.id))
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
        from lifeboat_core.state.state_db import StateDb

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
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", [step for step in CrashPoint if step.value.startswith("capture.")])
def test_a_capture_that_is_stopped_at_any_step_is_made_good_by_the_next(
    ada: Protected, step: CrashPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired = []

    def stop(reached: CrashPoint) -> None:
        if reached is step:
            fired.append(step)
            raise Stopped

    ada.write("MEMORY.md", MEMORY + "\n## New\n\nText.\n")
    ada.write("plan.csv", "1\n")
    monkeypatch.setattr(crash_points, "hook", stop)
    with pytest.raises(Stopped):
        ada.capture()
    monkeypatch.setattr(crash_points, "hook", None)
    assert fired
    ada.capture()
    assert ada.kept() == ada.tree()
    assert len([one for one in ada.records() if one["content"].startswith("## New")]) == 1
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.verify(trusted=ada.context.keys().trusted).ok
        assert [row.number for row in vault.sequences()] == [0, 1]
        assert vault.check_audit() == []


def test_the_manifest_says_whose_archive_it_is(ada: Protected) -> None:
    head = ada.document(archive_layout.MANIFEST)
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
        verification = vault.verify(trusted=ada.context.keys().trusted)
    assert verification.ok and not verification.unsigned and verification.sequences == 2


def test_a_second_capture_at_the_same_time_is_told_who_is_at_work(ada: Protected, tmp_path: Path) -> None:
    import subprocess
    import sys

    from lifeboat_core.errors import Busy

    code = (
        "import sys, time\n"
        "from lifeboat_core.home.context import Context\n"
        "from lifeboat_core.agents.locks import agent_lock\n"
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
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.threshold", "1KB")
    ada.write("middle.csv", "x" * 2000)
    ada.capture()
    assert (ada.meta("artifacts/middle.csv") or {})["attachment"]["tier"] == 3
    assert ada.document(archive_layout.MANIFEST)["artifact_size_threshold"] == 1024


def test_file_modes_are_what_they_were(ada: Protected) -> None:
    assert stat.S_IMODE(ada.context.home.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(ada.context.home.state_file(ada.agent.id).stat().st_mode) == 0o600


def test_records_validate_and_are_compact(ada: Protected) -> None:
    for record in ada.records():
        assert json_codec.encode_json(memory_records.arrange_fields(record)) == json_codec.encode_json(record)
        assert record["agent_id"] == ada.agent.id


def test_capture_by_agent_object_alone(ada: Protected) -> None:
    ada.write("SOUL.md", "# Soul\n\nBe calm.\n")
    assert capture_agent(ada.context, ada.agent).changed
