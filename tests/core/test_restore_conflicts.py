"""States with names that no folder can hold side by side, as earlier releases captured them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_core.agents import withheld_items
from lifeboat_core.agents.name_conflicts import find_conflicts
from lifeboat_core.capture import sequence_commit
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.restore import RestoreOptions, RestoreReport, restore_agent
from lifeboat_core.verify import samples_and_drills
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import DraftInvalid
from lifeboat_vault.vault import Draft, EntryPut
from support.cli import cli_client
from support.core.protected import Protected, protected_agent
from support.prepared_folders import PreparedFolders

LINK = EntryPut({"type": "link", "target": "MEMORY.md"}, b"")
OLD = EntryPut({}, b"what was there before")

CONFLICTS: Mapping[str, tuple[dict[str, EntryPut | None], str]] = {
    "a file above others": ({"artifacts/projects/report": OLD}, "projects/report"),
    "a link above others": ({"raw/openclaw/projects/report": LINK}, "projects/report"),
    "a link above a note": ({"raw/openclaw/memory": LINK}, "memory"),
    "an artifact that a link has the name of": (
        {"raw/openclaw/current": LINK, "artifacts/current": OLD},
        "current",
    ),
}


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    ada = prepared_folders.restore("agent just added", protected_agent)
    ada.write("projects/report/part1.txt", "part 1\n")
    ada.write("memory/2026-11-12.md", "# Day\n\nThe tide was high.\n")
    (ada.workspace / "current").symlink_to("MEMORY.md")
    ada.capture()
    return ada


def as_an_earlier_release(ada: Protected, entries: dict[str, EntryPut | None]) -> int:
    """Commit entries on top of the head without the check."""
    device = ada.context.keys().device
    with ada.context.vault(ada.agent.id) as vault:
        row = vault.commit(
            Draft(entries),
            kind="capture",
            writer=device.id,
            time=ada.context.now(),
            sign=lambda sequence: sequence_signatures.sign_sequence(sequence, device),
        )
    assert row is not None
    return row.number


def restored(ada: Protected, to: Path | None = None, at: int | None = None) -> RestoreReport:
    return restore_agent(ada.context, ada.agent, RestoreOptions(at=at, to=to, yes=True, reindex=False))


def tree_of(ada: Protected, folder: Path) -> dict[str, tuple[object, ...]]:
    other = Protected.__new__(Protected)
    other.workspace = folder
    return other.tree()


@pytest.mark.parametrize(("entries", "name"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_everything_but_the_conflicting_name_is_restored(
    ada: Protected, tmp_path: Path, entries: dict[str, EntryPut | None], name: str
) -> None:
    number = as_an_earlier_release(ada, entries)
    report = restored(ada, tmp_path / "copy")
    assert [each["name"] for each in report.left_out] == [name]
    assert any(name in warning for warning in report.warnings)
    assert tree_of(ada, tmp_path / "copy") == ada.tree()
    tree = ada.tree()
    shutil.rmtree(ada.workspace)
    assert [each["name"] for each in restored(ada, at=number).left_out] == [name]
    assert ada.tree() == tree


@pytest.mark.parametrize(("entries", "name"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_verify_names_the_conflict_and_the_next_capture_ends_it(
    ada: Protected, tmp_path: Path, entries: dict[str, EntryPut | None], name: str
) -> None:
    number = as_an_earlier_release(ada, entries)
    assert any(
        each.startswith(f"{name}: ") for each in samples_and_drills.drill_vault(ada.context, ada.agent).mismatches
    )
    assert ada.capture().sequence == number + 1
    assert samples_and_drills.drill_vault(ada.context, ada.agent, whole=True).mismatches == []
    assert restored(ada, tmp_path / "copy").left_out == []
    assert tree_of(ada, tmp_path / "copy") == ada.tree()
    assert not ada.capture().changed


def test_a_partial_restore_ends_with_exit_status_1(
    ada: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    as_an_earlier_release(ada, CONFLICTS["a file above others"][0])
    for name in ("HOME", "LIFEBOAT_HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    name = ada.agent.name
    document = cli_client.run("restore", name, "--to", tmp_path / "copy", "--no-reindex", expect=1)
    assert [(each["name"], each["code"]) for each in document["left_out"]] == [("projects/report", "conflict")]
    assert program.run_command(["restore", name, "--to", str(tmp_path / "other"), "--no-reindex"]) == 1
    assert "but 1 file left out" in capsys.readouterr().out
    cli_client.run("restore", name, "--to", tmp_path / "one", "--path", "MEMORY.md", "--no-reindex")


def test_a_commit_refuses_what_a_restore_would_leave_out(ada: Protected) -> None:
    for entries, name in CONFLICTS.values():
        with ada.context.vault(ada.agent.id) as vault:
            overlay = Overlay(vault.state())
            overlay.puts.update(entries)
            with pytest.raises(DraftInvalid, match=f"{name} conflicts with"):
                sequence_commit.refuse_conflicts(overlay, "openclaw")


def test_a_look_at_changed_names_finds_what_a_look_at_all_finds(ada: Protected) -> None:
    for entries, _ in CONFLICTS.values():
        with ada.context.vault(ada.agent.id) as vault:
            overlay = Overlay(vault.state())
            overlay.puts.update(entries)
            every = find_conflicts(overlay, "openclaw")
            assert every
            assert sorted(find_conflicts(overlay, "openclaw", overlay.puts)) == sorted(every)


def test_a_folder_in_the_place_of_a_withheld_file_is_a_deletion(ada: Protected) -> None:
    ada.write("waiting", "a file that a restore left out")
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        withheld_items.note_withheld(vault, ["artifacts/waiting"])
    (ada.workspace / "waiting").unlink()
    assert not ada.capture().changed
    ada.write("waiting/inside.txt", "it came back as a folder")
    ada.capture()
    assert ada.kept() == ada.tree()
