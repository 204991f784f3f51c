"""Names in a workspace that change their kind from capture to capture, written without any of the product's code."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path

ABSENT, FILE, NOTE, LINK, FOLDER, EMPTY, DATABASE, LARGE = KINDS = (
    "absent",
    "file",
    "note",
    "link",
    "folder",
    "empty",
    "database",
    "large",
)
THRESHOLD = "2KB"
"""`artifacts.threshold` under which a `large` file is a large artifact and a `file` is none."""

PLACES = ("{}", "{}.md", "memory/{}.md", "projects/deep/{}", "skills/{}", "memory/{}", "{}.d/{}")
"""Where a name stands: as an artifact, as Markdown of the agent, as a note, in folders, and alone in a folder."""

Triple = tuple[str, str, str]


def every_triple() -> list[Triple]:
    """Return the kinds before, between and after, in every combination."""
    return list(product(KINDS, repeat=3))


def named(triples: Iterable[Triple], places: Iterable[str] = PLACES) -> dict[str, Triple]:
    """Return a name of its own for each triple in each place. Names without a suffix can be told apart by it."""
    return {
        place.format(name, name): triple
        for number, triple in enumerate(triples)
        for name in ["-".join(["t", *triple, str(number)])]
        for place in places
    }


def turn_into(workspace: Path, changes: Mapping[str, str], step: int, moment: int) -> None:
    """Make each name the kind that it has to be at a step, with bytes that no other step has. `moment` is the time of
    every file, in seconds since 1970."""
    for name, kind in changes.items():
        path = workspace / name
        _remove(path)
        if kind != ABSENT:
            path.parent.mkdir(parents=True, exist_ok=True)
        for file in _made(path, kind, f"{name} at step {step}"):
            os.utime(file, (moment + step, moment + step))


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _made(path: Path, kind: str, text: str) -> Iterator[Path]:
    """Yield the files that were written."""
    match kind:
        case "file":
            path.write_bytes(b"\0" + text.encode())
        case "note":
            path.write_text(f"# Note\n\n## First\n\nWhat {text} says.\n\n## Second\n\nMore about {text}.\n")
        case "large":
            path.write_bytes((text.encode() + b"\1") * (4096 // len(text) + 1))
        case "link":
            path.symlink_to(f"target-of-{path.name}")
            return
        case "empty":
            path.mkdir()
            return
        case "folder":
            path.mkdir()
            (path / "inside.md").write_text(f"# Inside\n\n{text}\n")
            (path / "deeper").mkdir()
            (path / "deeper" / "data").write_bytes(b"\2" + text.encode())
            yield path / "inside.md"
            yield path / "deeper" / "data"
            return
        case "database":
            _write_database(path, text)
        case _:
            return
    yield path


def _write_database(path: Path, text: str) -> None:
    """A database of the agent's own, at rest."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("create table note(text)")
        connection.execute("insert into note values (?)", (text,))
    connection.close()
