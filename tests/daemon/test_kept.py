"""What `lifeboat agents show` says of each file: kept or not, how, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_daemon.kept import Kept, kept
from support.adapters import openclaw_workspaces
from support.daemon.cli_client import run
from support.daemon.protected import Protected


def by_path(ada: Protected) -> dict[str, Kept]:
    return {one.path: one for one in kept(ada.context, ada.agent)}


def test_what_is_kept_says_as_what(ada: Protected) -> None:
    ada.write("plan.csv", "a,b\n")
    ada.write("chart.bin", os.urandom(200_000))
    (ada.workspace / "now").symlink_to("plan.csv")
    (ada.workspace / "later").mkdir()
    ada.capture()
    found = by_path(ada)
    assert found["raw/openclaw/MEMORY.md"].how == "managed" and "3 memories" in found["raw/openclaw/MEMORY.md"].why
    assert found["artifacts/plan.csv"].how == "artifact" and found["artifacts/chart.bin"].how == "large artifact"
    assert (found["raw/openclaw/now"].how, found["raw/openclaw/later"].how) == ("link", "empty folder")


@pytest.mark.parametrize(
    ("path", "shown", "reason"),
    [
        ("node_modules/x.js", "raw/openclaw/node_modules/", "packages"),
        (".git/HEAD", "raw/openclaw/.git/", "version control"),
        ("__pycache__/a.pyc", "raw/openclaw/__pycache__/", "cache"),
        ("notes.db-wal", "raw/openclaw/notes.db-wal", "side file of a database"),
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
    assert not found.kept and found.how == "not kept" and reason in found.why


def test_the_user_s_own_rules_are_named(ada: Protected) -> None:
    ada.write(".lifeboatignore", "drafts/\n")
    ada.write("drafts/one.md", "# One\n")
    ada.capture()
    assert by_path(ada)["raw/openclaw/drafts/"].why == "ignored by .lifeboatignore"


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
