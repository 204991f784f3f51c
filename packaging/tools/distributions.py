"""Wheel and source distribution: made from a copy of the tree, the wheel from the source distribution."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from facts import ROOT, packages, project, tracked, version

PACKAGES = packages()
"""{folder of the tree: the package in it}."""


def copy_tree(target: Path, source: Path = ROOT) -> Path:
    """Copy what belongs to the tree to `target`, which it returns: a build reads no file that is ignored."""
    for name in tracked(source):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, place)
    return target


def set_version(tree: Path, number: str) -> None:
    """Give a copy of the tree another version."""
    settings = tree / "pyproject.toml"
    text, count = re.subn(r'^version = ".*"$', f'version = "{number}"', settings.read_text(), flags=re.MULTILINE)
    assert count == 1, "pyproject.toml states the version once"
    settings.write_text(text)


def build(tree: Path, target: Path, moment: int) -> tuple[Path, Path]:
    """Make the source distribution of a tree, and the wheel from it; returns (wheel, source distribution)."""
    target.mkdir(parents=True, exist_ok=True)
    _hatch(tree, "sdist", target, moment)
    name = f"agent_lifeboat-{version(tree)}"
    sdist = target / f"{name}.tar.gz"
    unpacked = target / "from-sdist"
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    _hatch(unpacked / name, "wheel", target, moment)
    shutil.rmtree(unpacked)
    return target / f"{name}-py3-none-any.whl", sdist


def build_wheel(tree: Path, target: Path, moment: int) -> Path:
    """Make the wheel straight from a tree."""
    target.mkdir(parents=True, exist_ok=True)
    _hatch(tree, "wheel", target, moment)
    return target / f"agent_lifeboat-{version(tree)}-py3-none-any.whl"


def _hatch(tree: Path, kind: str, target: Path, moment: int) -> None:
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-t", kind, "-d", str(target.resolve())]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(moment)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"hatchling: {done.stdout}{done.stderr}")


def expected(tree: Path) -> set[str]:
    """The files of the packages in a tree, as a wheel names them."""
    return {
        path.relative_to(tree / folder).as_posix()
        for folder, package in PACKAGES.items()
        for path in (tree / folder / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def findings(wheel: Path, sdist: Path, tree: Path) -> list[str]:
    """What is wrong with a wheel and a source distribution of a tree; empty when nothing is."""
    return [*_wheel_findings(wheel, tree), *_sdist_findings(sdist, tree)]


def _wheel_findings(wheel: Path, tree: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        bodies = {item.filename: archive.read(item) for item in archive.infolist()}
    info = f"agent_lifeboat-{version(tree)}.dist-info/"
    code = {name for name in bodies if not name.startswith(info)}
    found = [f"wheel lacks {name}" for name in sorted(expected(tree) - code)]
    found += [f"wheel has {name}, which is in no package" for name in sorted(code - expected(tree))]
    found += [f"wheel lacks py.typed of {name}" for name in PACKAGES.values() if f"{name}/py.typed" not in code]
    found += [
        f"wheel lacks {name}"
        for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")
        if info + name not in bodies
    ]
    if f"{info}licenses/LICENSE" not in bodies:
        found.append("wheel lacks the licence")
    found += _metadata_findings(bodies.get(f"{info}METADATA", b"").decode(), tree)
    return found + _paths_of_machines("wheel", bodies)


def _metadata_findings(text: str, tree: Path) -> list[str]:
    table = project(tree)
    wanted = {
        "Name": table["name"],
        "Version": table["version"],
        "Summary": table["description"],
        "License-Expression": table["license"],
        "License-File": "LICENSE",
        "Requires-Python": table["requires-python"],
        "Description-Content-Type": "text/markdown",
    }
    head, _, description = text.partition("\n\n")
    found = [
        f"metadata lack {name}: {value}" for name, value in wanted.items() if f"{name}: {value}" not in head.split("\n")
    ]
    asked = {_distribution_name(line) for line in re.findall(r"^Requires-Dist: (.*)$", head, flags=re.MULTILINE)}
    found += [
        f"metadata do not ask for {each}" for each in table["dependencies"] if _distribution_name(each) not in asked
    ]
    if len(description) < 1000:
        found.append("metadata lack the README")
    return found


def _distribution_name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9._-]", requirement)[0]).lower()


def _sdist_findings(sdist: Path, tree: Path) -> list[str]:
    top = f"agent_lifeboat-{version(tree)}/"
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
        bodies = {m.name: file.read() for m in members if (file := archive.extractfile(m)) is not None}
    names = {name.removeprefix(top) for name in bodies}
    code = {
        f"{folder}/{name}"
        for folder, package in PACKAGES.items()
        for name in expected(tree)
        if name.split("/")[0] == package
    }
    others = {
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "requirements.lock",
        "PKG-INFO",
        ".gitignore",
    }
    found = [f"source distribution lacks {name}" for name in sorted((code | others) - names)]
    found += [f"source distribution has {name}" for name in sorted(names - code - others)]
    found += [f"source distribution: {m.name} has an owner" for m in members if m.uid or m.gid or m.uname or m.gname]
    return found + _paths_of_machines("source distribution", bodies)


def _paths_of_machines(what: str, bodies: dict[str, bytes]) -> list[str]:
    """Files that name the folder in which they were built, or the home of who built them."""
    here = [str(path).encode() for path in (ROOT, Path.home()) if len(path.parts) > 2]
    return [f"{what}: {name} names {path.decode()}" for name, body in bodies.items() for path in here if path in body]
