"""Compare the lock files with a vulnerability database that lies on this machine; nothing is asked over a network.

    python packaging/tools/audit.py [--database PATH]

PATH is the export of PyPI from osv.dev (`all.zip`, or a folder with its JSON files). Without it the package `safety-db`
is used, if it is installed: its last release is of 2021. Exit status: 0 nothing is known against what is locked; 1
something is; 2 it could not be checked, or the database is older than 60 days, so that it says nothing about today.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

import locked
from facts import ROOT

LOCKS = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-fuzz.lock",
    "packaging/container/endpoint.lock",
)
OLDEST = timedelta(days=60)
CLEAN, FOUND, UNKNOWN = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Advisory:
    """One vulnerability of one package; `affects` says of which versions."""

    id: str
    package: str
    affects: Callable[[Version], bool]


@dataclass(frozen=True, slots=True)
class Database:
    """`until`: the newest change that it knows."""

    name: str
    until: datetime
    advisories: list[Advisory]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the lock files with a vulnerability database.")
    parser.add_argument("--database", type=Path, help="all.zip of PyPI from osv.dev, or a folder with its files")
    given = parser.parse_args(arguments).database
    try:
        database = read_osv(given) if given is not None else read_safety_db()
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
        print(f"Not checked: {given or 'safety-db'} cannot be read as a database: {error!r}", file=sys.stderr)
        return UNKNOWN
    if database is None and given is not None:
        print(f"Not checked: {given} is not a file of a vulnerability database.", file=sys.stderr)
        return UNKNOWN
    if database is None:
        print("Not checked: there is no vulnerability database on this machine.", file=sys.stderr)
        print("To fix it: make audit AUDIT_DB=all.zip, with PyPI's all.zip from osv.dev", file=sys.stderr)
        return UNKNOWN
    return report(database, locked_versions(), datetime.now(UTC))


def locked_versions() -> set[tuple[str, str]]:
    return {(canonicalize_name(each.name), each.version) for lock in LOCKS for each in locked.read(ROOT / lock)}


def report(database: Database, versions: set[tuple[str, str]], now: datetime) -> int:
    found = sorted(
        (name, version, advisory.id)
        for advisory in database.advisories
        for name, version in versions
        if advisory.package == name and advisory.affects(Version(version))
    )
    for name, version, advisory_id in found:
        print(f"{name} {version}: {advisory_id}")
    known = f"{len(database.advisories)} advisories of {database.name}, until {database.until:%Y-%m-%d}"
    print(f"{len(versions)} locked distributions, {len(found)} findings ({known})")
    if found:
        return FOUND
    if now - database.until > OLDEST:
        days = (now - database.until).days
        print(f"Not checked for today: the database is {days} days old.", file=sys.stderr)
        return UNKNOWN
    return CLEAN


# OSV ------------------------------------------------------------------------------------------------------------------


def read_osv(path: Path) -> Database | None:
    """None where no file of it can be read."""
    documents = [
        document for document in _documents(path) if isinstance(document, dict) and not document.get("withdrawn")
    ]
    if not documents:
        return None
    advisories = [advisory for document in documents for advisory in _of_osv(document)]
    until = max(datetime.fromisoformat(document["modified"]) for document in documents)
    return Database(path.name, until if until.tzinfo else until.replace(tzinfo=UTC), advisories)


def _documents(path: Path) -> Iterator[Any]:
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            yield json.loads(file.read_bytes())
    elif path.is_file():
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield json.loads(archive.read(name))


def _of_osv(document: dict[str, Any]) -> Iterator[Advisory]:
    for affected in document.get("affected", []):
        package = affected.get("package", {})
        if package.get("ecosystem") == "PyPI":
            named = frozenset(affected.get("versions", []))
            ranges = [each["events"] for each in affected.get("ranges", []) if each.get("type") == "ECOSYSTEM"]
            yield Advisory(document["id"], canonicalize_name(package["name"]), _affected_by(named, ranges))


def _affected_by(named: frozenset[str], ranges: list[list[dict[str, str]]]) -> Callable[[Version], bool]:
    versions = {version for text in named if (version := _version(text)) is not None}
    return lambda version: version in versions or any(_is_in(version, events) for events in ranges)


def _is_in(version: Version, events: list[dict[str, str]]) -> bool:
    """Events come in the order of their versions: `introduced` begins a range, `fixed` and `last_affected` end it."""
    inside = False
    for event in events:
        ((kind, text),) = event.items()
        at = Version("0.dev0") if text == "0" else _version(text)
        if at is None:
            continue
        if kind == "introduced" and version >= at:
            inside = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            inside = False
    return inside


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


# safety-db ------------------------------------------------------------------------------------------------------------


def read_safety_db() -> Database | None:
    try:
        installed = metadata.distribution("safety-db")
    except metadata.PackageNotFoundError:
        return None
    # Not imported: it opens a file of the folder that it is run in.
    text = Path(str(installed.locate_file("safety_db/insecure_full.json"))).read_bytes()
    year, month, day = (int(part) for part in installed.version.split(".")[:3])
    advisories = [
        Advisory(found.get("cve") or found["id"], canonicalize_name(name), _affected_as(found["specs"]))
        for name, entries in json.loads(text).items()
        if name != "$meta"
        for found in entries
    ]
    return Database("safety-db", datetime(year, month, day, tzinfo=UTC), advisories)


def _affected_as(specs: list[str]) -> Callable[[Version], bool]:
    return lambda version: any(SpecifierSet(spec).contains(version, prereleases=True) for spec in specs)


if __name__ == "__main__":
    sys.exit(main())
