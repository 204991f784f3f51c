"""Hard links in a workspace: a file with several names is captured, unless it belongs to another user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_core.capture.root_scan import FOREIGN_LINK
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.core.protected import Protected

OTHER = 65534
SECRET = "only the user may read this\n"
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file to another user"
)


class MetFiles(SystemFiles):
    """Calls `before` once, before the first file of a name is opened."""

    def __init__(self) -> None:
        self.name, self.before = "", lambda: None

    def open_regular(self, path: StrPath) -> int:
        if self.name and os.fspath(path).endswith(self.name):
            self.name = ""
            self.before()
        return super().open_regular(path)


@pytest.fixture
def files() -> MetFiles:
    return MetFiles()


@pytest.fixture
def ada(tmp_path: Path, files: MetFiles) -> Protected:
    made = Protected(tmp_path, files=files)
    made.write("notes/one.md", "# One\n")
    made.add()
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside.txt"
    path.write_text(SECRET)
    path.chmod(0o600)
    return path


def give_away(ada: Protected) -> None:
    """Give a file to another user id than that of the capturing user."""
    for place in (ada.workspace, *ada.workspace.rglob("*")):
        os.chown(place, OTHER, OTHER)


def test_a_file_with_another_name_outside_is_captured_and_a_restore_leaves_the_other_name_alone(
    ada: Protected, outside: Path
) -> None:
    os.link(outside, ada.workspace / "notes" / "two.md")
    assert ada.capture().sequence == 1
    assert ada.body("artifacts/notes/two.md") == SECRET.encode()
    outside.write_text("changed through the other name\n")
    before = (outside.read_bytes(), outside.stat().st_mtime_ns, outside.stat().st_mode)
    restore_agent(ada.context, ada.agent, RestoreOptions(at=1, yes=True, reindex=False))
    assert (ada.workspace / "notes" / "two.md").read_text() == SECRET
    assert (outside.read_bytes(), outside.stat().st_mtime_ns, outside.stat().st_mode) == before
    assert not (ada.workspace / "notes" / "two.md").samefile(outside)


@as_root
def test_a_file_of_another_user_that_is_linked_into_a_workspace_is_not_captured_and_named(
    ada: Protected, outside: Path
) -> None:
    give_away(ada)
    os.link(outside, ada.workspace / "notes" / "two.md")
    report = ada.capture()
    assert report.left_out["artifacts/notes/two.md"] == FOREIGN_LINK
    assert "notes/two.md" not in ada.kept()


@as_root
def test_a_file_of_another_user_that_takes_the_place_of_one_while_it_is_captured_is_not_read(
    ada: Protected, files: MetFiles, outside: Path
) -> None:
    give_away(ada)
    one = ada.workspace / "notes" / "one.md"
    one.write_text("# One\n\nSecond.\n")

    def swap() -> None:
        os.link(outside, ada.workspace / "swap")
        os.replace(ada.workspace / "swap", one)

    files.name, files.before = "notes/one.md", swap
    report = ada.capture()
    assert report.unread["artifacts/notes/one.md"] == FOREIGN_LINK
    assert ada.body("artifacts/notes/one.md") == b"# One\n"


@as_root
def test_a_file_of_another_user_with_one_name_is_captured(ada: Protected) -> None:
    """It was made in the workspace, as a container with another user id does."""
    give_away(ada)
    ada.write("notes/two.md", "# Two\n")
    assert ada.capture().left_out == {}
    assert ada.body("artifacts/notes/two.md") == b"# Two\n"


@as_root
def test_several_names_of_a_file_of_the_agent_are_captured(ada: Protected) -> None:
    os.link(ada.workspace / "notes" / "one.md", ada.workspace / "notes" / "two.md")
    give_away(ada)
    assert ada.capture().left_out == {}
    assert ada.body("artifacts/notes/two.md") == b"# One\n"
