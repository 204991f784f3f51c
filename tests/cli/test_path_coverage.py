"""What `lifeboat agents show` says of each file: kept or not, how, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_cli import program
from lifeboat_cli.agents.path_coverage import PathCoverage, find_lost, list_path_coverage
from lifeboat_core.capture import not_captured
from lifeboat_core.settings import config_file
from support.adapters import openclaw_workspaces
from support.cli.cli_client import run
from support.core.protected import Protected
from support.core.unnamed_files import unnamed
from support.core.zeroclaw_protected import ProtectedClaw


def by_path(ada: Protected) -> dict[str, PathCoverage]:
    return {one.path: one for one in list_path_coverage(ada.context, ada.agent)}


def test_what_is_kept_says_as_what(ada: Protected) -> None:
    ada.write("plan.csv", "a,b\n")
    ada.write("chart.bin", os.urandom(200_000))
    (ada.workspace / "now").symlink_to("plan.csv")
    (ada.workspace / "later").mkdir()
    ada.capture()
    found = by_path(ada)
    assert found["raw/openclaw/MEMORY.md"].how == "managed" and "3 memories" in found["raw/openclaw/MEMORY.md"].why
    assert found["artifacts/plan.csv"].how == "artifact" and found["artifacts/chart.bin"].how == "large artifact"
    assert (found["raw/openclaw/now"].how, found["raw/openclaw/later"].how) == ("link", "folder")


def test_what_no_restore_brings_back_is_marked(ada: Protected) -> None:
    ada.write("tide.csv", "a,b\n")
    os.link(ada.workspace / "tide.csv", ada.workspace / "same.csv")
    with (ada.workspace / "sparse.bin").open("wb") as sparse:
        sparse.truncate(1 << 20)
    ada.write("tool", "x", mode=0o4755)
    ada.capture()
    found = by_path(ada)
    lost = {name: found[f"artifacts/{name}"].lost for name in ("tide.csv", "same.csv", "sparse.bin", "tool")}
    assert lost == {
        "tide.csv": ("hard links",),
        "same.csv": ("hard links",),
        "sparse.bin": ("holes",),
        "tool": ("setuid, setgid or sticky bit",),
    }
    assert found["raw/openclaw/MEMORY.md"].lost == ()


def test_an_owner_and_extended_attributes_are_marked(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        os, "listxattr", lambda path, follow_symlinks=True: ["security.selinux", "user.mood"], raising=False
    )
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert find_lost(SystemFiles(), os.fspath(ada.workspace / "MEMORY.md")) == ("owner", "extended attributes")
    assert find_lost(SystemFiles(), os.fspath(ada.workspace / "gone.md")) == ()


@pytest.mark.parametrize(
    ("path", "shown", "reason"),
    [
        ("node_modules/x.js", "raw/openclaw/node_modules/", "packages"),
        (".git/HEAD", "raw/openclaw/.git/", "version control"),
        ("__pycache__/a.pyc", "raw/openclaw/__pycache__/", "cache"),
        ("notes.db-wal", "raw/openclaw/notes.db-wal", "journal file of a database"),
        (".DS_Store", "raw/openclaw/.DS_Store", "the desktop"),
        ("memory/main.sqlite", "raw/openclaw/memory/main.sqlite", "search index"),
    ],
)
def test_what_the_runtime_can_make_again_is_left_out_with_its_own_reason(
    ada: Protected, path: str, shown: str, reason: str
) -> None:
    ada.write(path, "x")
    ada.capture()
    found = by_path(ada)[shown]
    assert not found.kept and found.how == "not captured" and reason in found.why


def test_the_user_s_own_rules_are_named(ada: Protected) -> None:
    ada.write(".lifeboatignore", "drafts/\n")
    ada.write("drafts/one.md", "# One\n")
    ada.capture()
    assert by_path(ada)["raw/openclaw/drafts/"].why == "excluded by .lifeboatignore"


def test_a_capture_has_the_same_reasons(ada: Protected) -> None:
    ada.write("node_modules/x.js", "x")
    assert "packages" in ada.capture().skipped["raw/openclaw/node_modules/"]


def test_a_file_that_is_not_captured_yet_is_named(ada: Protected) -> None:
    ada.write("new.md", "# New\n")
    assert "not captured yet" in by_path(ada)["raw/openclaw/new.md"].why


def test_every_file_that_is_left_out_says_why(tmp_path: Path) -> None:
    workspace = openclaw_workspaces.make_workspace(tmp_path / "workspace")
    run("agents", "add", workspace, "--name", "ada")
    files = run("agents", "show", "ada", "--left-out")["files"]
    assert files and all(one["why"] and "adapter" not in one["why"] for one in files)


FURTHER = (
    "hooks/tide/HOOK.md",
    "extensions/harbour/index.js",
    "wiki/main/entities/mira.md",
    "media/inbound/chart.png",
    "memory/lancedb/memories.lance/data/1.lance",
)
BESIDE = (
    "media/playback-transcode/a.ogg",
    "memory/main.sqlite",
    "logs/a.log",
    "agents/rover/agent/models.json",
    "new/x",
)


@pytest.mark.parametrize("layout", [openclaw_workspaces.OLD, openclaw_workspaces.NEW])
def test_all_that_lies_in_the_folder_of_openclaw_is_captured_or_named(tmp_path: Path, layout: str) -> None:
    state = openclaw_workspaces.make_state_dir(tmp_path / "user/.openclaw", layout=layout)
    for name in (*FURTHER, *BESIDE):
        (state.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (state.folder / name).write_text("x")
        os.utime(state.folder / name, (1_790_000_000, 1_790_000_000))  # a store that is being written is not taken
    run("agents", "add", state.workspace, "--name", "ada")
    files = run("agents", "show", "ada")["files"]
    prefix = "raw/openclaw-home/"
    assert unnamed(state.folder, prefix, [one["path"] for one in files]) == []
    captured = {one["path"].removeprefix(prefix) for one in files if one["kept"]}
    assert set(FURTHER) <= captured
    assert captured.isdisjoint(BESIDE)
    assert all(one["why"] for one in files if not one["kept"])


@pytest.mark.parametrize("generation", ["0.5.9", "0.8.3"])
def test_all_that_lies_in_the_folder_of_zeroclaw_is_captured_or_named(tmp_path: Path, generation: str) -> None:
    ada = ProtectedClaw(tmp_path, generation)
    (ada.install.home / "new").mkdir()
    (ada.install.home / "new/x").write_text("x")
    ada.add()
    told = [one.path for one in list_path_coverage(ada.context, ada.agent)]
    assert unnamed(ada.install.home, "raw/zeroclaw-home/", told) == []


def test_every_file_over_the_limit_of_a_folder_is_named_with_the_reason(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    media = isolated_home / ".openclaw" / "media" / "inbound"
    media.mkdir(parents=True)
    for number in range(230):
        (media / f"{number:03}.jpg").write_bytes(b"\xff\xd8\xff")
    agent = str(run("agents", "add", state.workspace)["id"])
    files = run("agents", "show", agent, "--left-out")["files"]
    over = [one for one in files if one["why"] == "the folder has reached its limit of 200 files"]
    assert [one["path"].rpartition("/")[2] for one in over] == [f"{number:03}.jpg" for number in range(200, 230)]
    (sentence,) = [one for one in run("status")["agents"][0]["reasons"] if "30 files" in one]
    assert sentence.endswith("lifeboat agents show Juniper --left-out")
    capsys.readouterr()
    assert program.run_command(["sync"]) == 0
    said = capsys.readouterr().err
    assert "219.jpg" in said and "220.jpg" not in said and "10 more files" in said and "--left-out" in said


def test_a_file_whose_earlier_version_is_kept_is_left_out_with_the_reason(ada: Protected) -> None:
    ada.write("chart.bin", os.urandom(200_000))
    ada.capture()
    ada.write("chart.bin", os.urandom(300_000))
    ada.capture(paced=True)
    assert by_path(ada)["artifacts/chart.bin"].stale.startswith("Lifeboat captured this large file at ")
    ada.capture()
    assert by_path(ada)["artifacts/chart.bin"].stale == ""


def test_the_command_that_shows_the_rest_of_many_files_is_named(ada: Protected) -> None:
    config_file.write_config(ada.context.home, ada.context.files, "artifacts.max_file", 1 << 20)
    for number in range(25):
        ada.write(f"{number:02}.bin", os.urandom((1 << 20) + 1))
    ada.capture()
    last = not_captured.read_not_captured(ada.context, ada.agent).named[-1]
    assert last == f"and 5 more files: lifeboat agents show {ada.agent.name} --left-out"
    assert len([one for one in by_path(ada).values() if "artifacts.max_file" in one.why]) == 25
