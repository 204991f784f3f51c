"""Restores into a new or empty folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import NextStep, RenderedFile
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_record
from lifeboat_core.errors import NothingToRestore, RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.restore import (
    RestoreAction,
    RestoreOptions,
    RestoreReport,
    carry_out_plan,
    plan_restore,
    read_restore_origin,
    recover_restores,
)
from support.alf.raising import raises_code
from support.core.plain_runtime import PlainAdapter, plain_context

RAW = "raw/openclaw/"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return plain_context(tmp_path)


def sample() -> MemoryState:
    state = MemoryState()
    state.put(f"{RAW}SOUL.md", b"# Soul\n", mtime_ns="1790000000000000001")
    state.put(f"{RAW}run.sh", b"#!/bin/sh\n", executable=True)
    state.put(f"{RAW}.env", b"A=1\n", private=True)
    state.put(f"{RAW}private.sh", b"#!/bin/sh\n", private=True, executable=True)
    state.put(f"{RAW}memory/2026-01-01.md", b"Walked.\n")
    state.put(f"{RAW}empty", b"", type="folder", mtime_ns="1780000000000000000", private=True)
    state.put(f"{RAW}now", b"", type="link", target="memory/2026-01-01.md", mtime_ns="1770000000000000000")
    state.put(f"{RAW}caf%E9.md", b"odd\n", name_hex=b"caf\xe9.md".hex())
    state.put_artifact("data/shares.csv", b"a,b\n")
    return state


def restored(context: Context, state: MemoryState, target: Path, **options: Any) -> RestoreReport:
    return carry_out_plan(
        context, plan_restore(context, state, target, RestoreOptions(accept_unsigned=True, **options))
    )


def test_a_restored_tree_is_the_captured_one(context: Context, tmp_path: Path) -> None:
    target = tmp_path / "new" / "ada"
    report = restored(context, sample(), target)
    assert (target / "SOUL.md").read_bytes() == b"# Soul\n"
    assert (target / "SOUL.md").stat().st_mtime_ns == 1790000000000000001
    assert (target / "data" / "shares.csv").read_bytes() == b"a,b\n"
    assert os.readlink(target / "now") == "memory/2026-01-01.md"
    assert os.lstat(target / "now").st_mtime_ns == 1770000000000000000
    assert (os.fsencode(target) + b"/caf\xe9.md") in [os.fsencode(path) for path in target.iterdir()]
    assert list((target / "empty").iterdir()) == []
    assert (target / "empty").stat().st_mtime_ns == 1780000000000000000
    assert report.files["created"] == 9


@pytest.mark.parametrize(
    ("name", "mode"), [("SOUL.md", 0o644), ("run.sh", 0o755), (".env", 0o600), ("private.sh", 0o700), ("empty", 0o700)]
)
def test_rights_come_back_whatever_the_umask(context: Context, tmp_path: Path, name: str, mode: int) -> None:
    before = os.umask(0o077)
    try:
        restored(context, sample(), tmp_path / "ada")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ada" / name).stat().st_mode) == mode


def test_nothing_is_left_beside_the_folder(context: Context, tmp_path: Path) -> None:
    restored(context, sample(), tmp_path / "in" / "ada")
    assert os.listdir(tmp_path / "in") == ["ada"]
    assert [each for each in os.listdir(context.home.restore_folder) if each.endswith(".json")] == []


def test_an_empty_folder_is_filled_and_keeps_its_rights(context: Context, tmp_path: Path) -> None:
    target = tmp_path / "ada"
    target.mkdir(mode=0o700)
    restored(context, sample(), target)
    assert (target / "SOUL.md").exists()
    assert stat.S_IMODE(target.stat().st_mode) == 0o700


def test_the_receipt_is_the_report(context: Context, tmp_path: Path) -> None:
    report = restored(context, sample(), tmp_path / "ada")
    stored = context.home.restore_folder / "receipts" / f"{report.receipt}.json"
    from lifeboat_alf.common import json_codec

    assert json_codec.decode_json(stored.read_bytes()) == report.to_json()
    assert {"agent", "sequence", "to", "runtime", "files", "records", "credentials", "receipt", "warnings"} <= set(
        report.to_json()
    )


def test_where_a_copy_came_from_is_remembered_outside_of_it(context: Context, tmp_path: Path) -> None:
    state = sample()
    restored(context, state, tmp_path / "ada")
    origin = read_restore_origin(context, tmp_path / "ada")
    assert origin is not None
    assert (origin["agent"], origin["sequence"]) == (state.sequence.agent_id, state.sequence.number)
    assert read_restore_origin(context, tmp_path / "elsewhere") is None


def test_an_unsigned_state_needs_to_be_accepted_and_says_what_could_run(context: Context, tmp_path: Path) -> None:
    made = plan_restore(context, sample(), tmp_path / "ada", RestoreOptions())
    assert any(line.startswith("run.sh") for line in made.executable)
    with raises_code(RestoreError.UNSIGNED_STATE, match=r"run\.sh") as refused:
        carry_out_plan(context, made)
    assert refused.value.exit_status == 3
    assert not (tmp_path / "ada").exists()


def test_a_script_hidden_under_another_name_is_listed(context: Context, tmp_path: Path) -> None:
    state = sample().put(f"{RAW}notes.txt", b"#!/usr/bin/env python3\n")
    made = plan_restore(context, state, tmp_path / "ada", RestoreOptions())
    assert "notes.txt: the file begins like a script" in made.executable


class Tampered(MemoryState):
    """A state whose SOUL.md does not match its leaf."""

    def body(self, path: str) -> bytes:
        body = super().body(path)
        return b"# Evil\n" if path == f"{RAW}SOUL.md" else body


def test_an_edited_file_is_refused_and_nothing_is_visible(context: Context, tmp_path: Path) -> None:
    state = Tampered().put(f"{RAW}SOUL.md", b"# Soul\n").put(f"{RAW}A.md", b"a")
    with pytest.raises(SignatureError, match=r"SOUL\.md"):
        restored(context, state, tmp_path / "in" / "ada")
    assert not (tmp_path / "in").exists()
    assert recover_restores(context) == []


def test_an_edit_in_what_is_not_written_is_refused_too(context: Context, tmp_path: Path) -> None:
    class Edited(MemoryState):
        def body(self, path: str) -> bytes:
            return b"{}" if path == "identity.json" and self.ready else super().body(path)

    state = Edited()
    state.ready = False
    state.put_document("identity.json", make_identity()).put(f"{RAW}SOUL.md", b"x")
    state.ready = True
    with pytest.raises(SignatureError, match="identity"):
        restored(context, state, tmp_path / "ada")
    assert not (tmp_path / "ada").exists()


def test_a_link_out_of_the_workspace_is_reported_and_not_made(context: Context, tmp_path: Path) -> None:
    state = sample().put(f"{RAW}secrets", b"", type="link", target="/etc")
    report = restored(context, state, tmp_path / "ada")
    assert not os.path.lexists(tmp_path / "ada" / "secrets")
    assert [each["name"] for each in report.skipped] == ["secrets"]
    assert any("secrets" in warning for warning in report.warnings)


@pytest.mark.parametrize("link", ["/etc", ".", "memory"])
def test_a_file_behind_a_link_of_the_same_state_is_refused(context: Context, tmp_path: Path, link: str) -> None:
    state = sample().put(f"{RAW}a", b"", type="link", target=link).put(f"{RAW}a/x.md", b"x")
    with raises_code(RestoreError.UNSAFE_NAME):
        restored(context, state, tmp_path / "ada")


def test_a_large_artifact_that_is_not_held_is_named(context: Context, tmp_path: Path) -> None:
    state = sample().put_absent("artifacts/video.bin", 12_000_000, None, attachment={"id": "v", "tier": 3})
    report = restored(context, state, tmp_path / "ada")
    assert report.absent == [{"filename": "video.bin", "size": 12_000_000}]


def test_a_large_artifact_that_is_held_comes_back(context: Context, tmp_path: Path) -> None:
    report = restored(context, sample().put_artifact("video.bin", b"v" * 500, tier=3), tmp_path / "ada")
    assert (tmp_path / "ada" / "video.bin").read_bytes() == b"v" * 500
    assert report.absent == []


def test_memories_that_changed_since_are_merged_into_the_raw_file(context: Context, tmp_path: Path) -> None:
    state = MemoryState().put(f"{RAW}MEMORY.md", b"One.\nTwo.\nThree.\n", mtime_ns="1")
    lines = [state.add(make_record(text)) for text in ("One.\n", "Two.\n", "Three.\n")]
    state.set_records_of(f"{RAW}MEMORY.md", [line.id for line in lines])
    assert _basis(context, state, tmp_path) == "raw"
    state.update({**make_record("Two, edited.\n"), "id": lines[1].id})
    state.add(make_record("Three, later.\n", supersedes=lines[2].id))
    state.update({**make_record("One.\n"), "id": lines[0].id, "status": "deleted"})
    assert _basis(context, state, tmp_path) == "merged"
    restored(context, state, tmp_path / "ada")
    assert (tmp_path / "ada" / "MEMORY.md").read_bytes() == b"Two, edited.\nThree, later.\n"


def _basis(context: Context, state: MemoryState, tmp_path: Path) -> str:
    made = plan_restore(context, state, tmp_path / "ada", RestoreOptions())
    return next(item.wanted.basis for item in made.items if item.wanted is not None and item.name == "MEMORY.md")


def test_without_raw_of_the_runtime_files_are_rendered(tmp_path: Path) -> None:
    adapter = PlainAdapter()
    adapter.rendered = [RenderedFile(f"{RAW}SOUL.md", b"# Made\n", "structured")]
    context = plain_context(tmp_path, adapter)
    restored(context, MemoryState().put("raw/zeroclaw/soul.md", b"z"), tmp_path / "ada")
    assert (tmp_path / "ada" / "SOUL.md").read_bytes() == b"# Made\n"
    assert not (tmp_path / "ada" / "soul.md").exists()


def test_files_with_cuts_are_written_with_a_gap_and_named_without_the_key(context: Context, tmp_path: Path) -> None:
    cut = b"KEY={{lifeboat:credential:c1}}\n"
    state = sample().put(f"{RAW}keys.env", cut, cuts=[{"offset": 4, "credential_id": "c1"}])
    report = restored(context, state, tmp_path / "ada")
    assert (tmp_path / "ada" / "keys.env").read_bytes() == cut
    assert (report.lacking, report.gaps) == (["keys.env"], [f"{RAW}keys.env"])
    assert any("keys.env has a gap" in warning for warning in report.warnings)


def test_text_that_looks_like_a_placeholder_is_ordinary_text(context: Context, tmp_path: Path) -> None:
    text = b"{{lifeboat:credential:c1}}\n"
    restored(context, sample().put(f"{RAW}MEMORY.md", text), tmp_path / "ada")
    assert (tmp_path / "ada" / "MEMORY.md").read_bytes() == text


def test_capabilities_that_this_machine_lacks_are_reported(context: Context, tmp_path: Path) -> None:
    docker = {"name": "docker_management", "portability": "host_dependent", "host_requirements": "Docker CLI"}
    state = sample().put_document("identity.json", make_identity(capabilities=[docker, {"name": "talk"}]))
    report = restored(context, state, tmp_path / "ada")
    assert [each["name"] for each in report.capabilities_missing] == ["docker_management"]


def test_only_the_named_files_are_restored(context: Context, tmp_path: Path) -> None:
    restored(context, sample(), tmp_path / "ada", path_globs=("memory/*",))
    assert [path.name for path in (tmp_path / "ada").rglob("*.md")] == ["2026-01-01.md"]


def test_a_glob_that_fits_nothing_is_an_error(context: Context, tmp_path: Path) -> None:
    with pytest.raises(NothingToRestore, match=r"\*\.xyz"):
        plan_restore(context, sample(), tmp_path / "ada", RestoreOptions(path_globs=("*.xyz",)))


def test_names_that_do_not_fit_are_refused_before_anything_is_written(context: Context, tmp_path: Path) -> None:
    state = sample().put(f"{RAW}{'x' * 300}.md", b"long")
    with raises_code(RestoreError.NAMES_DO_NOT_FIT, match="longer than 255"):
        restored(context, state, tmp_path / "in" / "ada")
    assert not (tmp_path / "in").exists()


def test_a_dry_run_writes_nothing(context: Context, tmp_path: Path) -> None:
    report = restored(context, sample(), tmp_path / "ada", dry_run=True)
    assert report.files["created"] == 9
    assert not (tmp_path / "ada").exists()


class Full(SystemFiles):
    """A disk that is full after a few files."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.fired = False

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        if "stage" in os.fspath(path):
            self.room -= 1
            if self.room < 0:
                self.fired = True
                raise OSError(28, "No space left on device", os.fspath(path))
        super().write_new(path, data, mode=mode, sync=sync)


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    files = Full(3)
    context = plain_context(tmp_path, files=files)
    with raises_code(RestoreError.RESTORE_FAILED, match="No space"):
        restored(context, sample(), tmp_path / "in" / "ada")
    assert files.fired
    assert os.listdir(tmp_path / "in") == []
    assert recover_restores(context) == []


@pytest.mark.parametrize("place", ["/", "/etc/ada", "/usr/local/ada", "/tmp", "/home/robin", "user", ".", "home/vault"])
def test_dangerous_folders_are_refused(context: Context, tmp_path: Path, place: str) -> None:
    (tmp_path / "user").mkdir(exist_ok=True)
    with raises_code(RestoreError.TARGET_REFUSED):
        plan_restore(context, sample(), tmp_path / place, RestoreOptions())


def test_a_link_to_a_dangerous_folder_is_refused(context: Context, tmp_path: Path) -> None:
    (tmp_path / "harmless").symlink_to("/etc")
    with raises_code(RestoreError.TARGET_REFUSED):
        plan_restore(context, sample(), tmp_path / "harmless" / "ada", RestoreOptions())


def test_automatic_steps_run_and_the_others_are_listed(tmp_path: Path) -> None:
    steps = [
        NextStep("Index", ("/bin/sh", "-c", "echo indexed $PLAIN $SECRET_TOKEN"), True, {"PLAIN": "yes"}),
        NextStep("Restart", ("/bin/false",)),
    ]
    adapter = PlainAdapter(steps, program=Path("/bin/sh"))
    context = plain_context(tmp_path, adapter, SECRET_TOKEN="not-passed-on")
    report = restored(context, sample(), tmp_path / "ada")
    assert [(step["title"], step["ok"], step["output"]) for step in report.steps] == [("Index", True, "indexed yes\n")]
    assert [step["command"] for step in report.next] == ["/bin/false"]


def test_no_reindex_lists_every_step(tmp_path: Path) -> None:
    adapter = PlainAdapter([NextStep("Index", ("/bin/true",), True)], program=Path("/bin/sh"))
    report = restored(plain_context(tmp_path, adapter), sample(), tmp_path / "ada", reindex=False)
    assert report.steps == []
    assert len(report.next) == 1


def test_finish_runs_all_and_a_failure_is_a_warning(tmp_path: Path) -> None:
    adapter = PlainAdapter([NextStep("Restart", ("/bin/false",))], program=Path("/bin/sh"))
    report = restored(plain_context(tmp_path, adapter), sample(), tmp_path / "ada", finish=True)
    assert [step["exit_status"] for step in report.steps] == [1]
    assert any("Restart" in warning for warning in report.warnings)


def test_a_step_that_hangs_is_ended(tmp_path: Path) -> None:
    step = NextStep("Index", ("/bin/sh", "-c", "echo begun; sleep 60"), True, timeout_seconds=0.3)
    adapter = PlainAdapter([step], program=Path("/bin/sh"))
    report = restored(plain_context(tmp_path, adapter), sample(), tmp_path / "ada")
    assert report.steps[0]["timed_out"]


def test_files_of_the_runtimes_home_are_written_where_missing(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    state_dir.mkdir()
    (state_dir / "workspace.txt").write_text(str(tmp_path / "ada"))
    (state_dir / "there.json").write_bytes(b"mine")
    context = plain_context(tmp_path, PLAIN_HOME=str(state_dir))
    home = "raw/openclaw-home/"
    state = sample().put(f"{home}plain.json", b"{}", private=True).put(f"{home}there.json", b"theirs")
    state.put(f"{home}db/state/cron_jobs.jsonl", b"{}\n")
    report = restored(context, state, tmp_path / "ada")
    assert (state_dir / "plain.json").read_bytes() == b"{}"
    assert (state_dir / "there.json").read_bytes() == b"mine"
    assert [each["name"] for each in report.skipped] == ["there.json"]
    assert sorted(os.listdir(state_dir)) == ["plain.json", "there.json", "workspace.txt"]


def test_files_of_the_runtimes_home_are_left_out_elsewhere(context: Context, tmp_path: Path) -> None:
    state = sample().put("raw/openclaw-home/plain.json", b"{}")
    report = restored(context, state, tmp_path / "ada")
    assert [each["name"] for each in report.skipped] == ["plain.json"]
    made = plan_restore(context, state, tmp_path / "other", RestoreOptions())
    assert made.count(RestoreAction.SKIP) == 1
