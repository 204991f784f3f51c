"""Model of a workspace and of what must come back of it. It uses no code of Lifeboat, so that a comparison proves
something."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

FILE, LINK, FOLDER, DATABASE, CUT = "file", "link", "folder", "database", "cut"
"""Kinds of nodes. A DATABASE was in use while it was captured and comes back with equal rows. A CUT file contained a
purged text and comes back without it."""


class Node(NamedTuple):
    """One path. `content` is the digest of a file, the target of a link, or the digest of a database's rows; for a CUT
    file it is the purged text and the lines that must remain. `mode` is the nine permission bits of a file or folder,
    `mtime_ns` is for files."""

    kind: str
    content: str = ""
    mode: int = 0
    mtime_ns: int = 0
    text: bytes = b""
    lines: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.content[:12]!r} {self.mode:o} {self.mtime_ns}"


Tree = dict[bytes, Node]
"""Nodes by path relative to the workspace, including folders."""


def read_disk(folder: Path, live: Collection[bytes] = (), is_out: Callable[[bytes], bool] = lambda path: False) -> Tree:
    """Return the nodes below `folder`. `live` are databases in use, by path; `is_out` tells what is never captured."""
    root, tree = os.fsencode(folder), Tree()
    for parent, folders, names in os.walk(root):
        below = os.path.relpath(parent, root)
        kept = [name for name in folders if not is_out(_joined(below, name))]
        folders[:] = kept
        for name in (*kept, *names):
            path = _joined(below, name)
            if not is_out(path) and not _is_log(path, live):
                node = _node(os.path.join(parent, name), is_live=path in live)
                if node is not None:
                    tree[path] = node
    return tree


def _joined(below: bytes, name: bytes) -> bytes:
    return name if below == b"." else below + b"/" + name


def _is_log(path: bytes, live: Collection[bytes]) -> bool:
    """Return True if a file is the log of a live database: its rows come back in the database itself."""
    return any(path == one + end for one in live for end in (b"-wal", b"-shm", b"-journal"))


def _node(path: bytes, *, is_live: bool) -> Node | None:
    """Return the node of a path; None for what no capture keeps: FIFOs, sockets and devices."""
    info = os.lstat(path)
    mode = stat.S_IMODE(info.st_mode) & 0o777
    if stat.S_ISLNK(info.st_mode):
        return Node(LINK, os.fsdecode(os.readlink(path)))
    if stat.S_ISDIR(info.st_mode):
        return Node(FOLDER, mode=mode)
    if not stat.S_ISREG(info.st_mode):
        return None
    if is_live:
        return Node(DATABASE, rows_of(Path(os.fsdecode(path))), mode)
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Node(FILE, digest, mode, info.st_mtime_ns)


def rows_of(database: Path) -> str:
    """Return a digest of everything in a database, read from a copy. Raises sqlite3.Error for a damaged one."""
    with tempfile.TemporaryDirectory() as scratch:
        for end in ("", "-wal"):
            if (beside := database.with_name(database.name + end)).exists():
                shutil.copyfile(beside, Path(scratch, "copy.db" + end))
        with closing(sqlite3.connect(Path(scratch, "copy.db"))) as connection:
            (state,) = connection.execute("pragma quick_check").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError(state)
            return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()


def rows_without(body: bytes, text: bytes) -> str:
    """Return the digest of a database's rows with spaces in place of `text`."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(body)
        blank = " " * len(text)
        connection.execute("update fact set text = replace(text, ?, ?)", (text.decode(), blank))
        return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()


def differences(wanted: Tree, found: Tree, folder: Path) -> list[str]:
    """Return one sentence for each path that is missing, unexpected or different. `found` is in `folder`."""
    said = [f"{os.fsdecode(path)!r} is missing: {wanted[path]}" for path in sorted(wanted.keys() - found.keys())]
    said += [
        f"{os.fsdecode(path)!r} should not be there ({found[path].kind})"
        for path in sorted(found.keys() - wanted.keys())
    ]
    for path in sorted(wanted.keys() & found.keys()):
        why = _difference(wanted[path], found[path], folder / os.fsdecode(path))
        said += [f"{os.fsdecode(path)!r}: {why}"] if why else []
    return said


def _difference(wanted: Node, found: Node, path: Path) -> str:
    if wanted.kind == DATABASE and found.kind == FILE:
        return _difference_of_rows(wanted, found, path)
    if wanted.kind == CUT and found.kind == FILE:
        return _difference_of_cut(wanted, path)
    return "" if wanted == found else f"{wanted} became {found}"


def _difference_of_rows(wanted: Node, found: Node, path: Path) -> str:
    try:
        rows = rows_of(path)
    except sqlite3.Error as error:
        return f"the database came back damaged: {error}"
    if rows != wanted.content:
        return "the database came back with other rows"
    return "" if wanted.mode == found.mode else f"mode {wanted.mode:o} became {found.mode:o}"


def _difference_of_cut(wanted: Node, path: Path) -> str:
    body = path.read_bytes()
    if wanted.text in body:
        return "the purged text came back"
    lost = [line for line in wanted.lines if line not in body]
    return f"the purge took more than the text: {lost}" if lost else ""


def without_links_out(tree: Tree) -> Tree:
    """Return a tree without the links that lead out of the workspace, which no restore creates."""
    return without(tree, links_out(tree))


def without(tree: Tree, out: Collection[bytes]) -> Tree:
    """Return a tree without some of its paths, and without folders that contain nothing else."""
    left = {path: node for path, node in tree.items() if path not in out}
    above = {path[:place] for path in out for place, byte in enumerate(path) if byte == ord("/")}
    gone = {path for path in above if not any(one.startswith(path + b"/") and one not in above for one in left)}
    return {path: node for path, node in left.items() if path not in gone}


def links_out(tree: Tree) -> set[bytes]:
    return {path for path, node in tree.items() if node.kind == LINK and _leads_out(path, node.content)}


def _leads_out(path: bytes, target: str) -> bool:
    place = os.path.normpath(os.path.join("/top/workspace", os.path.dirname(os.fsdecode(path)), target))
    return not (place + "/").startswith("/top/workspace/")


def with_rested_databases(tree: Tree, former: Tree, folder: Path) -> Tree:
    """Return a tree in which a database that was live and is closed now counts as unchanged if it has the same rows:
    closing it changes bytes but no content."""
    changed = dict(tree)
    for path, node in tree.items():
        before = former.get(path)
        rests = node.kind == FILE and before is not None and before.kind == DATABASE
        if rests and before is not None and _rows_or_none(folder / os.fsdecode(path)) == before.content:
            changed[path] = Node(DATABASE, before.content, node.mode)
    return changed


def _rows_or_none(database: Path) -> str | None:
    try:
        return rows_of(database)
    except sqlite3.Error:
        return None


def without_text(tree: Tree, bodies: Mapping[bytes, bytes], text: bytes) -> Tree:
    """Return what must come back of a tree after `text` was purged. `bodies` are the files that could contain it. A
    file that contains it keeps every other line, a database its rows with spaces in place of the text."""
    changed = dict(tree)
    for path, body in bodies.items():
        if text in body and body.startswith(b"SQLite format 3"):
            changed[path] = Node(DATABASE, rows_without(body, text), tree[path].mode)
        elif text in body:
            lines = tuple(line for line in body.split(b"\n") if line.strip() and text not in line)
            changed[path] = Node(CUT, text=text, lines=lines)
    return changed
