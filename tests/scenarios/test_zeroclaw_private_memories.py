"""Memories that ZeroClaw keeps for one principal only: without their mark they would be told to everybody."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.adapters.zeroclaw_installs import Install, make_install
from support.cli.cli_client import run

ALICE = "user:alice"


def _ada(folder: Path) -> Install:
    made = make_install(folder / "claw", "0.8.7", agents=("ada",))
    made.remember("shared", "The kettle is in the galley.", "ada")
    made.remember("own", "Alice dreads the open sea.", "ada", principal_id=ALICE)
    run("agents", "add", made.workspace("ada"), "--name", "Ada")
    return made


def test_a_private_memory_is_private_in_a_database_that_is_made_anew(tmp_path: Path) -> None:
    made = _ada(tmp_path)
    before = made.rows()
    shutil.rmtree(made.home)
    run("restore", "Ada", "--yes")
    assert made.rows() == before
    assert {row["key"]: row["principal_id"] for row in made.rows()} == {"own": ALICE, "shared": None}


def test_a_private_memory_is_private_again_after_a_stay_in_another_runtime(tmp_path: Path) -> None:
    made = _ada(tmp_path)
    before = made.rows()
    run("restore", "Ada", "--runtime", "openclaw", "--to", tmp_path / "notes", "--adopt", "--yes")
    assert "Alice" not in (tmp_path / "notes/MEMORY.md").read_text()
    (notes,) = (tmp_path / "notes/memory").glob("private-user-alice-*.md")
    notes.write_text(notes.read_text().replace("dreads the open sea", "loves the open sea"))
    assert run("sync", "Ada")["agents"][0]["records"] == {"created": 0, "updated": 1, "deleted": 0}
    home = tmp_path / "again"
    run("restore", "Ada", "--runtime", "zeroclaw", "--to", home / "agents/ada/workspace", "--adopt", "--yes")
    (row,) = (each for each in Install(home, "0.8.7", ("ada",)).rows() if each["key"] == "own")
    assert (row["content"].strip(), row["principal_id"]) == ("Alice loves the open sea.", ALICE)
    assert len(before) == 2


def test_a_column_that_a_release_added_to_the_database_changes_no_memory(tmp_path: Path) -> None:
    made = make_install(tmp_path / "claw", "0.8.3", agents=("ada",))
    made.remember("shared", "The kettle is in the galley.", "ada")
    run("agents", "add", made.workspace("ada"), "--name", "Ada")
    made.execute("ALTER TABLE memories ADD COLUMN principal_id TEXT")
    assert run("sync", "Ada")["agents"][0]["changed"] is False
