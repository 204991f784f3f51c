"""What every package says of itself: read from pyproject.toml and CHANGELOG.md, stated nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
UNRELEASED = "Unreleased"


class NotPossible(Exception):
    """A package cannot be made here; the text says why."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the changelog: its version, or `Unreleased`, its day (YYYY-MM-DD) and its points."""

    version: str
    day: str | None
    points: tuple[str, ...]


def project(source: Path = ROOT) -> dict[str, Any]:
    """The table `[project]` of a source tree."""
    table: dict[str, Any] = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def packages(source: Path = ROOT) -> dict[str, str]:
    """The packages that a wheel of a source tree holds: {folder of the tree: the package in it}."""
    tools = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return dict(place.split("/") for place in tools["hatch"]["build"]["targets"]["wheel"]["packages"])


def version(source: Path = ROOT) -> str:
    """The version of a source tree. It is written in pyproject.toml and nowhere else."""
    return str(project(source)["version"])


def debian_version(text: str) -> str:
    """A version as Debian orders it: `0.2.0rc1` comes before `0.2.0`."""
    return re.sub(r"(?<=\d)\.?(a|b|rc|dev)(?=\d)", r"~\1", text)


def epoch(source: Path = ROOT) -> int:
    """The time that everything in a package bears, in seconds: SOURCE_DATE_EPOCH, else that of the last commit.

    Raises NotPossible when neither is known.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    try:
        return int(_git(source, "log", "-1", "--format=%ct"))
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise NotPossible("no commit to take the time from: set SOURCE_DATE_EPOCH to seconds since 1970") from error


def changelog(source: Path = ROOT) -> list[Section]:
    """The sections of CHANGELOG.md, newest first."""
    found = []
    for part in re.split(r"^## ", (source / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        name, _, day = heading.strip().partition(" - ")
        without_groups = re.sub(r"^### .*$", "", text, flags=re.MULTILINE)
        points = [" ".join(point.split()) for point in re.split(r"^- ", without_groups, flags=re.MULTILINE)[1:]]
        found.append(Section(name, day or None, tuple(points)))
    return found


def unready(source: Path = ROOT) -> list[str]:
    """Why this tree must not be released yet; empty when it may."""
    reasons = []
    newest = changelog(source)[0]
    if newest.version != version(source):
        reasons.append(f"CHANGELOG.md begins with {newest.version}, pyproject.toml says {version(source)}")
    elif newest.day is None:
        reasons.append(f"CHANGELOG.md: {newest.version} has no date (## {newest.version} - YYYY-MM-DD)")
    if _git(source, "status", "--porcelain"):
        reasons.append("there are uncommitted changes")
    if "SOURCE_DATE_EPOCH" in os.environ:
        reasons.append("SOURCE_DATE_EPOCH is set: a release takes its time from its commit")
    return reasons


def tracked(source: Path = ROOT) -> list[str]:
    """The files of a source tree, relative: what is committed or would be, nothing that is ignored."""
    names = _git(source, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return sorted({name for name in names if name and (source / name).is_file()})


def _git(source: Path, *arguments: str) -> str:
    command = ["git", "-C", str(source), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
