"""Every file and folder of a home, damaged in every way: what happens is what the documentation says."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.core.home_damage import DAMAGE, Facts, UsedHome, make_used_home, not_root
from support.paths import ROOT

TABLE = ROOT / "docs" / "home.md"
ALLOWED = {
    "written again": {"written again"},
    "made again": {"written again", "not needed"},
    "not needed": {"written again", "not needed"},
    "reported": {"reported"},
    "by doctor": {"by doctor"},
    "by verify": {"reported", "not needed", "written again"},
    "taken as an edit": {"reported", "not needed", "written again", "other"},
}
pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights of files are those of POSIX")


def _rows() -> dict[str, dict[str, str]]:
    """The cells of the table by path and kind of damage. A row may name several paths."""
    found = {}
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(DAMAGE) + 1 and cells[0].startswith("`"):
            for path in re.findall(r"`([^`]+)`", cells[0]):
                found[path] = dict(zip(DAMAGE, cells[1:], strict=True))
    return found


ROWS = _rows()


@pytest.fixture(scope="module")
def prepared() -> Iterator[tuple[UsedHome, Path, Facts]]:
    """A used home, a copy of it, and what its commands give. Another user can reach the folder."""
    around = Path(tempfile.mkdtemp(dir="/tmp"))
    around.chmod(0o755)
    here = around / "user"
    here.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        for name, value in UsedHome(here).surroundings().items():
            patched.setenv(name, value)
        used = make_used_home(here)
        facts = used.facts()
    shutil.copytree(here, around / "original", symlinks=True)
    yield used, around / "original", facts
    shutil.rmtree(around)


@pytest.fixture
def used(prepared: tuple[UsedHome, Path, Facts], monkeypatch: pytest.MonkeyPatch) -> UsedHome:
    for name, value in prepared[0].surroundings().items():
        monkeypatch.setenv(name, value)
    return prepared[0]


def _path(used: UsedHome, row: str) -> Path:
    named = row.replace("ID", used.agent)
    if row == "vault/receipts/ID.json":
        (receipt,) = (used.home / "vault" / "receipts").iterdir()
        named = f"vault/receipts/{receipt.name}"
    return used.home / named


def _outcome(before: Facts, after: Facts, *, comes_back: bool) -> str:
    if after["status"] and after["doctor"]:
        return "reported"
    if after["doctor"] and not after["status"]:
        return "by doctor"
    if after != before:
        return "other"
    return "written again" if comes_back else "not needed"


@pytest.mark.parametrize("row", ROWS)
def test_what_happens_to_a_damaged_file_of_the_home_is_what_the_documentation_says(
    prepared: tuple[UsedHome, Path, Facts], used: UsedHome, row: str
) -> None:
    original, before = prepared[1], dict(prepared[2])
    for how, cell in ROWS[row].items():
        if cell == "-":
            continue
        shutil.rmtree(used.folder)
        shutil.copytree(original, used.folder, symlinks=True)
        path = _path(used, row)
        kept = path.read_bytes() if path.is_file() else None
        DAMAGE[how](path)
        with not_root(used.folder) if how == "unreadable" else contextlib.nullcontext():
            after = used.facts()
        if row == "keys/device.key":  # another key of this machine is another machine
            after["machines"] = before["machines"]
        comes_back = path.is_dir() if kept is None else path.exists() and path.read_bytes() == kept
        found = _outcome(before, after, comes_back=comes_back)
        changed = {name for name in before if before[name] != after[name]}
        assert found in ALLOWED[cell], f"{row}, {how}: {found} instead of {cell}; differs: {changed}"


def test_every_folder_that_every_home_has_is_in_the_table(prepared: tuple[UsedHome, Path, Facts]) -> None:
    home = prepared[1] / "lifeboat"
    assert {path.name for path in home.iterdir()} - ROWS.keys() <= {"offers.toml"}
    keys = {f"keys/{path.name}" for path in (home / "keys").iterdir() if path.name != ".lock"}
    assert keys - ROWS.keys() == set()
