"""Read and compare folders without using any of Lifeboat's own code, so that the comparison proves something."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple


class TreeEntry(NamedTuple):
    """One path: `kind` is file, link, folder or other (a FIFO, a socket); `content` is a digest or a link's target;
    `mode` are the permission bits of a file; `mtime_ns` is that of a file."""

    kind: str
    content: str
    mode: int
    mtime_ns: int


Tree = dict[bytes, TreeEntry]
_PROPERTIES = ("type", "content", "permissions", "time")
"""What the fields of a `TreeEntry` are called in a sentence."""


def read_tree(folder: Path) -> Tree:
    """Return every path below a folder, as raw bytes, with everything that a restore has to reproduce."""
    tree: Tree = {}
    root = os.fsencode(folder)
    for parent, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            tree[os.path.relpath(path, root)] = _node(path)
    return tree


def _node(path: bytes) -> TreeEntry:
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        return TreeEntry("link", os.fsdecode(os.readlink(path)), 0, 0)
    if stat.S_ISDIR(info.st_mode):
        return TreeEntry("folder", "", 0, 0)
    if not stat.S_ISREG(info.st_mode):
        return TreeEntry("other", "", 0, 0)
    with open(path, "rb") as stream:
        digest = hashlib.sha256(stream.read()).hexdigest()
    return TreeEntry("file", digest, stat.S_IMODE(info.st_mode), info.st_mtime_ns)


def list_differences(wanted: Tree, found: Tree) -> list[str]:
    """Return one sentence for each path that is missing, extra or different."""
    sentences = [f"{os.fsdecode(path)} is missing" for path in sorted(wanted.keys() - found.keys())]
    sentences += [f"{os.fsdecode(path)} should not exist" for path in sorted(found.keys() - wanted.keys())]
    for path in sorted(wanted.keys() & found.keys()):
        if wanted[path] != found[path]:
            pairs = zip(_PROPERTIES, wanted[path], found[path], strict=True)
            names = ", ".join(name for name, before, after in pairs if before != after)
            sentences.append(f"{os.fsdecode(path)} differs in: {names}")
    return sentences


def find_files_holding(folder: Path, needle: bytes) -> list[Path]:
    """Return every file below a folder that contains some bytes in plain text."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and needle in path.read_bytes()
    ]
