"""A purge as the benchmark measures it: in a process of its own, of a memory with a history."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import rivals, subject, workspaces
from benchmarks.long_lived import SECRETS

from support.paths import ROOT


def test_what_is_measured_is_found_and_gone(tmp_path: Path) -> None:
    made = workspaces.many_records(tmp_path / "workspace", records=20, files=4)
    note = made.notes[0]
    note.write_text(note.read_text() + f"\n## Documents\n\nThe number of the passport is {SECRETS[0]}.\n")
    subject.protect(made.folder, tmp_path / "home")
    command = [sys.executable, "-m", "benchmarks.one_purge", str(made.folder), str(tmp_path / "home"), "text", "{}"]
    done = subprocess.run(command, input=SECRETS[0], capture_output=True, text=True, check=True, cwd=ROOT)
    told = json.loads(done.stdout)
    assert told["searched"]["hits"] == 0 < told["leaves"]
    assert set(told["purge"]) == {"here"}


def test_git_has_nothing_of_it_either(tmp_path: Path) -> None:
    tree, store = tmp_path / "tree", tmp_path / "git"
    tree.mkdir()
    (tree / "note.md").write_text(f"It is {SECRETS[0]}.\n")
    if rivals.git_committer(tree, store, synced=False) is None:
        pytest.skip("git is not installed")
    rivals.git_rewrite(tree, store, SECRETS[0])
    shown = subprocess.run(["git", f"--git-dir={store}", "log", "-p", "--all"], capture_output=True, check=True).stdout
    assert b"xxxx" in shown
    assert SECRETS[0].encode() not in shown
