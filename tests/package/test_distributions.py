"""Wheel and source distribution: what is in them, and that they follow from the tree alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import distributions
import make
from facts import version


def test_the_packages_their_data_and_nothing_else_are_in_them(tree: Path, distributed: tuple[Path, Path]) -> None:
    assert distributions.findings(*distributed, tree) == []
    with zipfile.ZipFile(distributed[0]) as wheel:
        names = set(wheel.namelist())
    assert {"lifeboat_alf/schemas/manifest.schema.json", "lifeboat_daemon/units/lifeboat.service"} <= names
    assert {name.split("/")[0] for name in names} == {*distributions.PACKAGES.values(), _info(tree)}


def _info(tree: Path) -> str:
    return f"agent_lifeboat-{version(tree)}.dist-info"


def test_two_builds_in_two_places_give_the_same_bytes(
    tree: Path, distributed: tuple[Path, Path], moment: int, tmp_path: Path
) -> None:
    shutil.copytree(tree, tmp_path / "copy", copy_function=shutil.copyfile)
    again = distributions.build(tmp_path / "copy", tmp_path / "again", moment)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in distributed]


def test_the_wheel_of_the_tree_is_the_wheel_of_the_source_distribution(
    tree: Path, distributed: tuple[Path, Path], moment: int, tmp_path: Path
) -> None:
    straight = distributions.build_wheel(tree, tmp_path, moment)
    assert straight.read_bytes() == distributed[0].read_bytes()


def test_everything_bears_the_time_it_was_given(distributed: tuple[Path, Path], moment: int) -> None:
    with tarfile.open(distributed[1]) as sdist:
        assert {member.mtime for member in sdist} == {moment}


def test_what_is_wrong_with_a_wheel_is_found(tree: Path, distributed: tuple[Path, Path], tmp_path: Path) -> None:
    """A file too many, one too few, a path of this machine, other metadata: each is named."""
    wheel, sdist = distributed
    spoilt = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(spoilt, "w") as new:
        for name in old.namelist():
            if not name.endswith(("tui/py.typed", "LICENSE")):
                new.writestr(name, old.read(name).replace(b"Requires-Dist: click", b"Requires-Dist: clack"))
        new.writestr("tests/test_x.py", "")
        new.writestr("lifeboat_alf/__init__.py2", str(distributions.ROOT))
    found = distributions.findings(spoilt, sdist, tree)
    for finding in (
        "wheel lacks lifeboat_tui/py.typed",
        "wheel lacks the licence",
        "wheel has tests/test_x.py, which is in no package",
        f"wheel: lifeboat_alf/__init__.py2 names {distributions.ROOT}",
        "metadata do not ask for click>=8.5",
    ):
        assert finding in found


def test_the_installed_wheel_is_the_program(tree: Path, distributed: tuple[Path, Path], tmp_path: Path) -> None:
    """Not the tree beside it: modules come from where the wheel was installed."""
    place = tmp_path / "place"
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(place)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(distributed[0])], check=True)
    script = "import sys; sys.path.insert(0, sys.argv.pop(1)); import lifeboat_daemon as x; print(x.__file__); "
    script += "from lifeboat_cli import main; main()"
    command = [sys.executable, "-P", "-c", script, str(place), "--version"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout.splitlines()
    assert said[0].startswith(str(place))
    assert said[1].split()[-1] == version(tree)


def test_sums_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("b")
    (tmp_path / "a").write_text("a")
    make.write_sums(tmp_path, [tmp_path / "b", tmp_path / "a"])
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True)
    assert [line[-1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()] == ["a", "b"]
