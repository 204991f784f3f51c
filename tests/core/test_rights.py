"""Rights and times of files and folders: all nine bits are restored, and nothing gets wider rights than before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.states import entry_metas
from lifeboat_core.restore import RestoreOptions, restore_agent, undo_restore
from lifeboat_core.state import state_documents
from lifeboat_core.verify import samples_and_drills
from support.core.protected import Protected, protected_agent
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
FILES = {"group.txt": 0o640, "both.txt": 0o664, "read.txt": 0o444, "own.txt": 0o400, "run.sh": 0o750, "tool": 0o711}
FOLDERS = {"private": 0o700, "private/deep": 0o750, "closed": 0o555, "shared": 0o775, "empty": 0o710}


@pytest.fixture
def ada(prepared_folders: PreparedFolders, tmp_path: Path) -> Iterator[Protected]:
    made = prepared_folders.restore("agent just added", protected_agent)
    yield made
    for folder in (made.folder, tmp_path):  # or only root could remove what the test made
        for name, _, _ in os.walk(folder):
            os.chmod(name, 0o700)


def fill(ada: Protected) -> None:
    """Write a file of each kind, in folders of each kind."""
    for name, mode in FILES.items():
        ada.write(name, f"{name}\n", mode=mode)
    for name in FOLDERS:
        if name != "empty":
            ada.write(f"{name}/note.txt", "A note.\n", mode=0o640)
    (ada.workspace / "empty").mkdir()
    for name, mode in FOLDERS.items():
        (ada.workspace / name).chmod(mode)
    ada.workspace.chmod(0o700)


def rights(folder: Path) -> dict[str, int]:
    """Return the rights of a folder and of everything in it, by name."""
    paths = (path for path in folder.rglob("*") if ".lifeboat-" not in os.fspath(path))
    return {os.fspath(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in (folder, *paths)}


def test_all_nine_bits_come_back_in_a_new_folder(ada: Protected, tmp_path: Path) -> None:
    fill(ada)
    ada.capture()
    restore_agent(ada.context, ada.agent, RestoreOptions(to=tmp_path / "new", reindex=False))
    assert rights(tmp_path / "new") == rights(ada.workspace)
    assert (FILES | FOLDERS).items() <= rights(ada.workspace).items()
    assert samples_and_drills.drill_vault(ada.context, ada.agent).mismatches == []


def test_they_come_back_in_place_and_an_undo_takes_them_back(ada: Protected) -> None:
    fill(ada)
    ada.capture()
    before = rights(ada.workspace)
    (ada.workspace / "group.txt").chmod(0o644)
    (ada.workspace / "private").chmod(0o755)
    (ada.workspace / "shared").chmod(0o700)
    wide = rights(ada.workspace)
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.state().sequence.number
    restore_agent(ada.context, ada.agent, RestoreOptions(at=head, yes=True, reindex=False))
    assert rights(ada.workspace) == before
    undo_restore(ada.context, ada.agent)
    assert rights(ada.workspace) == wide


def test_a_workspace_that_went_comes_back_as_private_as_it_was(ada: Protected, tmp_path: Path) -> None:
    fill(ada)
    ada.capture()
    before = rights(ada.workspace)
    ada.workspace.rename(tmp_path / "gone")
    restore_agent(ada.context, ada.agent, RestoreOptions(reindex=False))
    assert rights(ada.workspace) == before


def fill_runtime_folder(ada: Protected) -> dict[str, int]:
    """Write the captured files of the state directory; return the rights of everything that is restored."""
    ada.write_config("{}")
    for name in ("hooks/mine/handler.ts", "wiki/deep/page.md", "media/inbound/photo.jpg"):
        (ada.state_dir / name).parent.mkdir(parents=True)
        (ada.state_dir / name).write_text("As it was.\n")
    for name, mode in {"hooks": 0o700, "wiki": 0o750, "wiki/deep": 0o700, "media": 0o711}.items():
        (ada.state_dir / name).chmod(mode)
    return rights(ada.state_dir)


@pytest.mark.parametrize("own", [0o700, 0o755, 0o711])
def test_folders_of_the_runtime_come_back_as_private_as_they_were(ada: Protected, tmp_path: Path, own: int) -> None:
    ada.state_dir.chmod(own)
    before = fill_runtime_folder(ada)
    ada.capture()
    ada.state_dir.rename(tmp_path / "gone")
    restore_agent(ada.context, ada.agent, RestoreOptions(reindex=False))
    assert rights(ada.state_dir) == before
    assert before["."] == own
    assert not ada.capture().changed


def test_rights_that_are_said_once_are_no_change(tmp_path: Path) -> None:
    made = Protected(tmp_path)
    made.workspace.chmod(0o700)
    made.state_dir.chmod(0o711)
    made.write_config("{}")
    made.add()
    assert not made.capture().changed


def test_rights_of_the_runtimes_folders_that_are_there_stay(ada: Protected) -> None:
    fill_runtime_folder(ada)
    ada.capture()
    (ada.state_dir / "hooks").chmod(0o755)
    (ada.state_dir / "hooks" / "mine" / "handler.ts").unlink()
    ada.state_dir.chmod(0o711)
    before = rights(ada.state_dir)
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.state().sequence.number
    restore_agent(ada.context, ada.agent, RestoreOptions(at=head, yes=True, reindex=False))
    assert {name: mode for name, mode in rights(ada.state_dir).items() if name in before} == before
    undo_restore(ada.context, ada.agent)
    assert rights(ada.state_dir) == before


def test_a_folder_of_the_runtime_that_is_empty_again_is_kept_no_longer(ada: Protected) -> None:
    fill_runtime_folder(ada)
    ada.capture()
    assert ada.meta("raw/openclaw-home/wiki/deep") == {"type": "folder", "mode": "700"}
    (ada.state_dir / "wiki/deep/page.md").unlink()
    ada.capture()
    assert ada.meta("raw/openclaw-home/wiki/deep") is None


def test_folders_of_the_runtime_do_not_count_as_files_of_one_with_a_limit(ada: Protected) -> None:
    for number in range(230):
        folder = ada.state_dir / "media/inbound" / f"{number}"
        folder.mkdir(parents=True, mode=0o700)
        if number < 150:
            (folder / "photo.jpg").write_text("A photo.\n")
    assert ada.capture().left_out == {}
    assert len([name for name in rights(ada.state_dir / "media/inbound") if name.endswith(".jpg")]) == 150


def test_a_change_of_rights_alone_is_captured_and_not_again(ada: Protected) -> None:
    fill(ada)
    ada.capture()
    for path, mode in (("read.txt", 0o440), ("private", 0o750), ("shared", 0o755), (".", 0o755)):
        (ada.workspace / path).chmod(mode)
        ada.write("SOUL.md", f"# Soul\n\n{path}\n")  # the rights of the workspace itself are noted with any change
        assert ada.capture().changed
        assert not ada.capture().changed
        drill = samples_and_drills.drill_vault(ada.context, ada.agent)
        assert drill.mismatches == []


@pytest.mark.parametrize("mode", [0o640, 0o664, 0o600, 0o755])
def test_a_restore_in_place_gives_the_usual_rights_back(ada: Protected, mode: int) -> None:
    (ada.workspace / "empty").mkdir(mode=0o755)
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.state().sequence.number
    (ada.workspace / "MEMORY.md").chmod(mode)
    (ada.workspace / "empty").chmod(0o750)
    ada.write("SOUL.md", "# Soul\n\nAnother one.\n")
    ada.capture()
    restore_agent(ada.context, ada.agent, RestoreOptions(at=head, yes=True, reindex=False))
    assert rights(ada.workspace)["MEMORY.md"] == 0o644
    assert rights(ada.workspace)["empty"] == 0o755


def test_what_is_narrower_than_an_earlier_release_knew_is_not_made_wider(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_documents, "ALL", "two bits")
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.state().sequence.number
    (ada.workspace / "MEMORY.md").chmod(0o640)
    ada.write("SOUL.md", "# Soul\n\nAnother one.\n")
    ada.capture()
    restore_agent(ada.context, ada.agent, RestoreOptions(at=head, yes=True, reindex=False))
    assert rights(ada.workspace)["MEMORY.md"] == 0o640


def test_a_change_of_time_alone_is_captured_and_makes_no_memory(ada: Protected, tmp_path: Path) -> None:
    before = ada.memories()
    for name in ("MEMORY.md", "large.bin"):
        if name == "large.bin":
            ada.write(name, b"1" * 200_000)
            ada.capture()
        os.utime(ada.workspace / name, (5, 5))
        report = ada.capture()
        assert report.changed and not report.records.total()
        assert not ada.capture().changed
    restore_agent(ada.context, ada.agent, RestoreOptions(to=tmp_path / "new", reindex=False))
    assert [(tmp_path / "new" / name).stat().st_mtime for name in ("MEMORY.md", "large.bin")] == [5, 5]
    assert ada.memories() == before


def test_rights_that_follow_from_the_older_fields_need_no_field_of_their_own() -> None:
    for mode, meta in ((0o644, {}), (0o755, {"executable": True}), (0o600, {"private": True})):
        assert entry_metas.with_mode(meta, stat.S_IFREG | mode) == meta
    assert entry_metas.mode_of({"mode": "664", "private": True}) == 0o600
