"""The number of an exported state: the agent's history has that state, and a delta from it fits no other one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_core.agents import manage_agents
from lifeboat_core.exchange import export_agent, import_archive
from lifeboat_core.exchange.agent_export import ExportOptions
from lifeboat_core.restore.restore_options import RestoreOptions
from support.alf import archive_files
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.core.machines import Machine

LARGE = 200_000
HOWS: dict[str, dict[str, Any]] = {
    "with a larger threshold": {"threshold": LARGE},
    "with a smaller threshold": {"threshold": 100},
    "as usual": {},
}


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path / "laptop")
    made.write("film.bin", b"\x01" * LARGE)
    made.write("notes/table.csv", "1,2\n" * 100)
    made.add(name="ada")
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, made.context.environment[name])
    return made


def remember(ada: Machine, text: str) -> None:
    ada.clock.advance(minutes=1)
    ada.write("MEMORY.md", f"# Memory\n\n## Note\n\n{text}\n")


def exported(ada: Machine, name: str, **options: Any) -> Path:
    path = ada.folder / name
    export_agent(ada.context, "openclaw", ada.workspace, path, ExportOptions(**options))
    return path


@pytest.mark.parametrize("is_paused", [False, True], ids=["captured", "paused"])
@pytest.mark.parametrize("how", HOWS)
def test_an_exported_state_is_one_of_the_agents_history(ada: Machine, how: str, is_paused: bool) -> None:
    if is_paused:
        manage_agents.pause_agent(ada.context, ada.known_agent)
    remember(ada, "Likes tea.")
    path = exported(ada, "base.alf", **HOWS[how])
    with SnapshotReader(path) as base, ada.context.vault(ada.agent.id) as vault:
        assert base.sequence.signature is not None
        assert vault.sequence(base.sequence.number).digest == base.sequence.digest
        number = base.sequence.number
    remember(ada, "Likes the sea.")
    ada.capture()
    delta = exported(ada, "since.alf-delta", since=number)
    full = exported(ada, "full.alf")
    run("alf", "apply", path, delta, "-o", ada.folder / "made.alf")
    assert ArchiveFile(ada.folder / "made.alf").bodies == ArchiveFile(full).bodies


# Bases that are not what a delta was made from --------------------------------------------------------------------


@pytest.fixture
def twin(ada: Machine) -> tuple[Path, Path]:
    """Make a signed sequence 1 that differs from the one in the agent's history, as earlier versions exported it, and
    the delta since sequence 1 of that history."""
    home = ada.context.home.folder
    shutil.copytree(home, ada.folder / "kept")
    ada.write("diary.md", "Was never kept.\n")
    ada.capture()
    base = exported(ada, "base.alf")
    shutil.rmtree(home)
    (ada.folder / "kept").rename(home)
    remember(ada, "Likes tea.")
    ada.capture()
    ada.write("notes/table.csv", "3,4\n")
    ada.capture()
    return base, exported(ada, "since.alf-delta", since=1)


def test_a_delta_from_another_state_of_the_same_number_is_refused(ada: Machine, twin: tuple[Path, Path]) -> None:
    base, delta = twin
    made = ada.folder / "made.alf"
    error = run("alf", "apply", base, delta, "-o", made, expect=1)["error"]
    assert error["code"] == "base_mismatch" and "sequence 1" in error["message"]
    assert not made.exists()


def test_a_delta_that_does_not_fit_its_base_names_what_helps(ada: Machine, twin: tuple[Path, Path]) -> None:
    """The record that it changes is in another state with the base's number."""
    base, _ = twin
    remember(ada, "Likes the sea.")
    ada.capture()
    delta = exported(ada, "later.alf-delta", since=1)
    error = run("alf", "apply", base, delta, "-o", ada.folder / "made.alf", expect=1)["error"]
    assert error["code"] == "apply" and error["fix"].startswith("lifeboat alf export ")


def test_an_import_of_such_files_writes_nothing(ada: Machine, twin: tuple[Path, Path]) -> None:
    base, delta = twin
    other = Machine(ada.folder / "other")
    other.learn_words_of(ada)
    with pytest.raises(Exception, match="was made from a different sequence"):
        import_archive(other.context, base, ada.folder / "arrived", RestoreOptions(yes=True), deltas=[delta])
    assert not (ada.folder / "arrived").exists()


def test_a_base_that_was_changed_since_it_was_signed_is_refused(ada: Machine) -> None:
    base = exported(ada, "base.alf")
    remember(ada, "Likes the sea.")
    ada.capture()
    delta = exported(ada, "since.alf-delta", since=0)
    name = f"{archive_layout.RAW}openclaw/SOUL.md"
    edited = archive_files.edit(base, ada.folder / "edited.alf", {name: b"# Soul\n\nBe cruel.\n"})
    error = run("alf", "apply", edited, delta, "-o", ada.folder / "made.alf", expect=3)["error"]
    assert error["code"] == "signature"
    assert not (ada.folder / "made.alf").exists()
