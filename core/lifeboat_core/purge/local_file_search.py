"""Search the files outside the histories of an agent: the live workspace, undo folders, logs and restore receipts.
Nothing is changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_adapters.errors import AdapterError
from lifeboat_alf.archive.archive_names import to_archive_name
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.decoding.decoding_budget import TOO_LARGE
from lifeboat_alf.decoding.unread_forms import unread_in
from lifeboat_alf.purging.mask_match import mask_span
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.seams.file_operations import FileOperations, NotRegular
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture import ignore_file, root_scan
from lifeboat_core.capture.scan_cache import OURS
from lifeboat_core.home.context import Context
from lifeboat_core.purge import undo_folders
from lifeboat_core.restore.journal_moves import is_inside, open_without_links

WORKSPACE, UNDO, HOME = "workspace", "undo", "home"
LARGEST = 256 << 20
"""Bytes. Larger files are reported and not searched."""
_CHUNK, _OVERLAP = 16 << 20, 64 << 10


@dataclass(frozen=True, slots=True)
class FileSight:
    """One place with the text. `line` counts from 1, None in files without lines."""

    place: str
    where: str
    line: int | None
    masked: str

    def to_json(self) -> dict[str, object]:
        return {"place": self.place, "where": self.where, "line": self.line, "match": self.masked}


@dataclass(slots=True)
class LocalFileSearch:
    """The result: what was searched outside the histories, and what could not be. `opaque` is the form of files by name
    whose content cannot be searched."""

    sights: list[FileSight]
    files: int
    unread: dict[str, str]
    opaque: dict[str, str] = field(default_factory=dict)


def search_local_files(context: Context, agent: Agent, wanted: PurgeTerms) -> LocalFileSearch:
    """Search every file of the workspace (also those that are not captured), of undo folders and of the home."""
    looked = LocalFileSearch([], 0, {})
    for files, place, name, path in _files(context, agent, looked.unread):
        try:
            if stat.S_ISLNK(files.lstat(path).st_mode):  # a link has no content
                continue
            unread = set[str]()
            looked.sights += _sights(files, place, name, path, wanted, unread)
            looked.files += 1
            if unread:
                looked.opaque[name] = ", ".join(sorted(unread))
        except OSError as error:
            looked.unread[name] = refusal_reason(error)
        except _FileTooLarge as error:
            looked.unread[name] = str(error)
    return looked


class _FileTooLarge(Exception):
    pass


_Place = tuple[FileOperations, str, str, Path]
"""The operations that read a file, its place, its name for users, and its path. Receipts are JSON, so a name that is
not UTF-8 is spelled as in an archive."""


def _files(context: Context, agent: Agent, unread: dict[str, str]) -> Iterator[_Place]:
    yield from _live(context, agent, unread)
    files = open_without_links(context.files)
    for folder in undo_folders.list_undo_folders(context, agent):
        reads = context.files if is_inside(folder, context.home.folder) else files
        for path in _tree(reads, folder, unread):
            yield reads, UNDO, _text(path), path
    for folder in (context.home.logs_folder, context.home.restore_folder):
        for path in _tree(context.files, folder, unread):
            yield context.files, HOME, _text(path.relative_to(context.home.folder)), path


def _live(context: Context, agent: Agent, unread: dict[str, str]) -> Iterator[_Place]:
    """Yield the files of the workspace. Ignored ones are included, because they may have the text too."""
    adapter = context.adapter(agent.runtime)
    try:
        roots = list(adapter.roots(context.installation(agent)))
    except (AdapterError, OSError):
        return
    seen = root_scan.scan_roots(context.files, roots, adapter, ignore_file.parse_ignore_file(""), {})
    workspace = Path(seen.files.folder_of[roots[0].prefix])
    known = dict.fromkeys(found.real for found in seen.found.values() if found.kind == root_scan.FILE)
    for real in known:
        yield seen.files, WORKSPACE, _name(workspace, Path(real)), Path(real)
    for path in _tree(seen.files, workspace, unread):
        if os.fspath(path) not in known and not _leads_to(path, known) and not _is_ours(path, workspace):
            yield seen.files, WORKSPACE, _name(workspace, path), path


def _leads_to(path: Path, known: Container[str]) -> bool:
    return path.is_symlink() and os.path.realpath(path) in known


def _name(workspace: Path, path: Path) -> str:
    """Return the name for users: inside the workspace relative to it."""
    return _text(path.relative_to(workspace) if path.is_relative_to(workspace) else path)


def _text(path: Path) -> str:
    return to_archive_name(path.as_posix())[0]


def _is_ours(path: Path, workspace: Path) -> bool:
    """Return whether a file is in an undo or staging folder, which is searched separately."""
    return any(OURS in part for part in path.relative_to(workspace).parts[:-1])


def _tree(files: FileOperations, folder: Path, unread: dict[str, str]) -> Iterator[Path]:
    """Yield all files and links below a folder, which may be missing."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = sorted(files.scan(here), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            unread[_text(here)] = refusal_reason(error)
            continue
        waiting += [Path(entry.path) for entry in reversed(entries) if entry.is_dir(follow_symlinks=False)]
        yield from (Path(entry.path) for entry in entries if not os.path.isdir(entry.path))


def _sights(
    files: FileOperations, place: str, name: str, path: Path, wanted: PurgeTerms, unread: set[str]
) -> Iterator[FileSight]:
    """Search a file in overlapping chunks, so that its size needs no memory. What cannot be searched is added to
    `unread`. Raises OSError, _FileTooLarge."""
    try:
        descriptor = files.open_regular(path)
    except NotRegular:
        return
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > LARGEST:
            raise _FileTooLarge(f"the file has {found.st_size} bytes, which is too large to search")
        data, lines, seen = file.read(_CHUNK), 0, set[tuple[int, str]]()
        is_cut = found.st_size > _CHUNK
        while data:
            if form := unread_in(data):
                unread.add(TOO_LARGE if is_cut else form)
            for span in wanted.spans(name, data):
                sight = FileSight(place, name, lines + data.count(b"\n", 0, span[0]) + 1, _masked(data, span))
                if (sight.line or 0, sight.masked) not in seen:
                    seen.add((sight.line or 0, sight.masked))
                    yield sight
            fresh = file.read(_CHUNK)
            kept = data[-_OVERLAP:]
            lines += data.count(b"\n", 0, len(data) - len(kept))
            data = kept + fresh if fresh else b""


def _masked(data: bytes, span: tuple[int, int]) -> str:
    text = data[span[0] : span[1]].decode("utf-8", "replace")
    return mask_span(text, (0, len(text)))
