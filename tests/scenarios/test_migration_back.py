"""An agent of ZeroClaw moves into OpenClaw, lives there, and comes home: into every shape of its database."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.restore import recover_restores
from support.adapters.zeroclaw_installs import Install
from support.cli.cli_client import run
from support.core.migrating import (
    LARGE,
    ZEROCLAW_KEYS,
    Traveller,
    Tree,
    ada_in_zeroclaw,
    found_by,
    prepared_home,
    rows_of,
    tree_of,
)
from support.prepared_folders import PreparedFolders

DATABASE_FILES = (".db", ".db-wal", ".db-shm")


class Moved(NamedTuple):
    ada: Traveller
    install: Install
    old_tree: Tree
    rows: list[JsonObject]
    memories: dict[str, JsonObject]
    workspace: Path
    report: JsonObject

    @property
    def old(self) -> Path:
        return self.install.workspace(self.install.agents[0])


def files_of(folder: Path) -> Tree:
    """Without databases, which are compared row by row."""
    return {name: data for name, data in tree_of(folder).items() if not name.endswith(DATABASE_FILES)}


def _moved(user: Path, folder: Path, generation: str) -> Moved:
    ada, install = ada_in_zeroclaw(folder, generation)
    tree, rows, memories = files_of(install.home), rows_of(install.database), ada.memories()
    workspace = folder / "open" / "workspace"
    state_dir = folder / "open" / ".openclaw"
    report = ada.adopt("openclaw", workspace, "--state-dir", str(state_dir))
    return Moved(ada, install, tree, rows, memories, workspace, report)


@pytest.fixture(params=["0.8.3", "0.5.9"])
def moved(request: pytest.FixtureRequest, prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Moved:
    build = partial(_moved, generation=request.param)
    return prepared_home(prepared_folders, monkeypatch, f"ada moved to openclaw {request.param}", build)


@pytest.mark.parametrize("generation", ["0.8.3", "0.5.9"])
def test_the_agent_is_rich(tmp_path: Path, generation: str) -> None:
    ada, _ = ada_in_zeroclaw(tmp_path, generation)
    found = ada.memories().values()
    assert len(found) >= 100
    assert len(set(ada.secrets().values()) & set(ZEROCLAW_KEYS.values())) == 5


def test_every_memory_stands_in_a_note(moved: Moved) -> None:
    text = "".join(path.read_text() for path in sorted(moved.workspace.rglob("*.md")))
    assert [each["content"] for each in moved.memories.values() if each["content"] not in text] == []


def test_no_memory_changed_by_moving(moved: Moved) -> None:
    assert moved.ada.memories() == moved.memories
    assert moved.ada.sync()["changed"] is False


def test_identity_and_principal_are_there_as_prose(moved: Moved) -> None:
    said = "".join(path.read_text() for path in sorted(moved.workspace.glob("*.md")))
    for text in ("Ada", "keep boats afloat", "Mira"):
        assert text in said


def test_artifacts_travel(moved: Moved) -> None:
    assert (moved.workspace / "charts/large.tif").read_bytes() == LARGE


def test_credentials_arrive_under_the_names_of_the_target(moved: Moved) -> None:
    text = b"".join(tree_of(moved.workspace.parent / ".openclaw").values()).decode(errors="replace")
    assert ZEROCLAW_KEYS["telegram"] in text
    assert moved.report["credentials"]["injected"] >= 1


def test_what_has_no_place_there_is_named_and_stays(moved: Moved) -> None:
    assert {"raw/zeroclaw-home/config.toml"} <= moved.ada.paths("raw/zeroclaw-home/")

    fates = [each for each in moved.report["fates"] if each["outcome"] == "omitted"]
    omitted = {name: each["reason"] for each in fates for name in each["names"]}
    assert omitted["raw/zeroclaw-home/config.toml"] == "specific to zeroclaw; kept in the archive"
    assert moved.report["outcomes"]["omitted"] >= len(omitted) >= 4


@pytest.mark.parametrize("into", ["old", "fresh"])
def test_unchanged_it_comes_back_equal(moved: Moved, into: str, tmp_path: Path) -> None:
    if into == "old":
        target, home = moved.old, moved.install.home
    else:
        home = tmp_path / "again"
        target = home / moved.old.relative_to(moved.install.home)
    moved.ada.adopt("zeroclaw", target)
    assert rows_of(home / moved.install.database.relative_to(moved.install.home)) == moved.rows
    if into == "old":
        assert files_of(home) == moved.old_tree
    assert moved.ada.memories() == moved.memories
    assert moved.ada.sync()["changed"] is False


@pytest.mark.parametrize("into", ["old", "fresh"])
def test_an_edit_an_addition_and_a_deletion_come_back_as_exactly_these(moved: Moved, into: str, tmp_path: Path) -> None:
    _edit_notes(moved.workspace)
    assert moved.ada.sync()["records"] == {"created": 1, "updated": 1, "deleted": 1}
    home = moved.install.home if into == "old" else tmp_path / "again"
    moved.ada.adopt("zeroclaw", home / moved.old.relative_to(moved.install.home))
    database = home / moved.install.database.relative_to(moved.install.home)
    before = {row["id"]: row for row in moved.rows}
    after = {row["id"]: row for row in rows_of(database)}
    assert [before[id]["content"] for id in before.keys() - after.keys()] == ["Mooring 45 is held by buoy 0."]
    assert [after[id]["content"].strip() for id in after.keys() - before.keys()] == ["The buoy is green now."]
    edited = {id for id in before.keys() & after.keys() if before[id] != after[id]}
    assert [after[id]["content"].strip() for id in edited] == ["Mooring 30 has broken loose."]
    assert {name for id in edited for name in before[id] if before[id][name] != after[id][name]} <= {
        "content",
        "updated_at",
    }
    if moved.install.generation != "0.1.0":
        assert found_by(database, '"broken loose"') == ["Mooring 30 has broken loose."]
    assert moved.ada.sync()["changed"] is False


def _edit_notes(workspace: Path) -> None:
    """The three changes, as OpenClaw or its user make them in Markdown."""
    for path in sorted(workspace.rglob("*.md")):
        text = path.read_text()
        changed = text.replace("Mooring 30 is held by buoy 3.", "Mooring 30 has broken loose.")
        changed = changed.replace("Mooring 45 is held by buoy 0.\n", "")
        if changed != text:
            path.write_text(changed)
    memory = workspace / "memory/2026-11-21.md"
    memory.write_text("The buoy is green now.\n")


@pytest.mark.parametrize("generation", ["0.1.0", "0.1.1", "0.1.5", "0.8.0", "0.8.7"])
def test_every_shape_of_the_database_comes_back_equal(isolated_home: Path, tmp_path: Path, generation: str) -> None:
    moved = _moved(isolated_home, tmp_path, generation)
    moved.ada.adopt("zeroclaw", moved.old)
    assert rows_of(moved.install.database) == moved.rows
    assert files_of(moved.install.home) == moved.old_tree


def test_without_adopt_nothing_of_the_agent_changes(tmp_path: Path) -> None:
    ada, install = ada_in_zeroclaw(tmp_path, "0.8.3")
    before = ada.agent, ada.head, files_of(install.home), rows_of(install.database)
    run("restore", "Ada", "--runtime", "openclaw", "--to", tmp_path / "copy")
    assert (ada.agent, ada.head, files_of(install.home), rows_of(install.database)) == before
    assert recover_restores(Context.open()) == []
