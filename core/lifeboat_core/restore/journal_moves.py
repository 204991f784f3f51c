"""Carry out a journal on the disk. Every function can be repeated: it recognises what is already done.

A target is moved to the undo folder and never overwritten: `rename` onto a file would destroy it together with a write
that the agent makes at that moment. Journals hold resolved paths, so no link is followed in any of them: a link in a
path replaced a folder since.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_alf.seams.held_folder import LinkInPath
from lifeboat_core.errors import RestoreError
from lifeboat_core.processes.progress import ignore_units
from lifeboat_core.restore.restore_journal import (
    JournalFolder,
    JournalMove,
    ModeChange,
    RestoreJournal,
    SeenPath,
    TimeChange,
    stat_path,
    text_to_path,
)
from lifeboat_core.texts.human_text import quote_argument

LOGS = ("-wal", "-shm", "-journal")
"""Endings of the files beside an SQLite database that it reads as its own."""
_GONE_ALREADY = (errno.ENOENT, errno.ENOTDIR)
_STAYS = (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY)


def open_without_links(files: FileOperations, journal: RestoreJournal | None = None) -> FilesBeneath:
    """Return file operations for the paths of a journal that follow no link, with the workspace and the working folders
    held open. The agent could also exchange an undo folder below its workspace."""
    if isinstance(files, FilesBeneath):
        return files
    held = () if journal is None else (journal.workspace, *journal.work, *journal.undo)
    return FilesBeneath(files, (*map(text_to_path, held), "/"))


def find_standing(files: FileOperations, path: Path) -> SeenPath | None:
    """Return what is at a path of a journal, None for nothing. Anything behind a link is elsewhere."""
    try:
        return stat_path(open_without_links(files), path)
    except LinkInPath:
        return None


def check_unchanged(files: FileOperations, moves: Iterable[JournalMove]) -> None:
    """Raise RestoreError.TARGET_CHANGED when a target is not what the plan saw."""
    files, moves = open_without_links(files), list(moves)
    for move in moves:
        if not move.loose and find_standing(files, text_to_path(move.target)) != move.seen:
            raise RestoreError.TARGET_CHANGED(
                f"{text_to_path(move.target)} changed after Lifeboat had planned the restore; nothing was moved"
            )
    new = find_new_log(files, moves)
    if new is not None:
        raise RestoreError.TARGET_CHANGED(
            f"{new} was written after Lifeboat had planned the restore; nothing was moved"
        )


def find_new_log(files: FileOperations, moves: Iterable[JournalMove]) -> Path | None:
    """Return a non-empty log beside a database of a journal that the journal does not know: it may have data that no
    other file has."""
    every = list(moves)
    known = {text_to_path(move.target) for move in every}
    databases = [text_to_path(move.target) for move in every if move.is_database]
    logs = (path.with_name(f"{path.name}{end}") for path in databases for end in LOGS if end != "-shm")
    return next((log for log in logs if log not in known and _has_something(files, log)), None)


def _has_something(files: FileOperations, log: Path) -> bool:
    found = find_standing(files, log)
    return found is not None and found.size > 0


def roll_forward(
    files: FileOperations, journal: RestoreJournal, moved: Callable[[], None] = ignore_units
) -> dict[str, int]:
    """Do what is left of a journal in phase `moving`. `moved` is called after each move, also after that of a whole
    folder. Return the inode of each thing that was moved in now, by its target. Raises OSError."""
    files, put = open_without_links(files, journal), dict[str, int]()
    if journal.whole is not None:
        tree, target = journal.whole
        found = stat_path(files, text_to_path(tree))
        if found is not None:
            _rename_whole(files, text_to_path(tree), text_to_path(target))
            put[target] = found.inode
        moved()
    for move in journal.moves:  # removals are listed first
        if move.staged is None:
            _advance(files, move)
            moved()
    for folder in journal.drop:  # before a link can replace a folder above
        _drop(files, text_to_path(folder.path))
    for move in journal.moves:
        if move.staged is not None:
            found = stat_path(files, text_to_path(move.staged))
            _advance(files, move)
            if found is not None:
                put[move.target] = found.inode
            moved()
    for folder in journal.make:
        _make(files, folder)
    for time in journal.times:
        _settle(files, time)
    for mode in journal.modes:
        _change_mode(files, mode)
    _flush(files, journal)
    return put


def roll_back(files: FileOperations, journal: RestoreJournal) -> None:
    """Undo the done part of a journal: moves, created and removed folders, times, rights. Raises OSError."""
    files = open_without_links(files, journal)
    for mode in journal.modes:
        _change_mode(files, ModeChange(mode.path, mode.old, mode.new))
    for move in reversed(journal.moves):
        _retreat(files, move)
    for path in journal.fresh:
        _drop(files, text_to_path(path))
    for time in journal.times:
        _settle(files, TimeChange(time.path, time.old_ns, time.new_ns))
    for folder in journal.drop:
        _make(files, folder)
    _flush(files, journal)


def _rename_whole(files: FileOperations, tree: Path, target: Path) -> None:
    crash_points.reach_crash_point(CrashPoint.RESTORE_RENAMED)
    files.make_folders(target.parent)
    files.replace(tree, target)
    files.sync_folder(target.parent)


def _advance(files: FileOperations, move: JournalMove) -> None:
    target, aside = text_to_path(move.target), text_to_path(move.aside)
    if move.staged is None:
        if find_standing(files, aside) is None:
            _set_aside(files, target, aside)
        _set_logs_aside(files, move)
        return
    staged = text_to_path(move.staged)
    if stat_path(files, staged) is None:
        return
    files.make_folders(target.parent)
    _set_aside(files, target, _free(files, aside))
    _set_logs_aside(files, move)
    crash_points.reach_crash_point(CrashPoint.RESTORE_MOVED_IN)
    files.replace(staged, target)


def _set_logs_aside(files: FileOperations, move: JournalMove) -> None:
    """Move logs aside that a runtime left since it was started: SQLite would read them into the new database."""
    target, aside = text_to_path(move.target), text_to_path(move.aside)
    for end in LOGS if move.is_database else ():
        log = aside.with_name(f"{aside.name}{end}")
        _set_aside(files, target.with_name(f"{target.name}{end}"), _free(files, log))


def _set_aside(files: FileOperations, target: Path, aside: Path) -> None:
    if find_standing(files, target) is not None:
        crash_points.reach_crash_point(CrashPoint.RESTORE_MOVED_ASIDE)
        files.make_folders(aside.parent, 0o700)
        files.replace(target, aside)


def _free(files: FileOperations, aside: Path) -> Path:
    """Return an unused name in the undo folder, because the agent may have written the file again since. If a link
    above the file was moved aside, the name is beside the link and not behind it."""
    aside = _before_links(files, aside)
    free, count = aside, 1
    while stat_path(files, free) is not None:
        count += 1
        free = aside.with_name(f"{aside.name}.{count}")
    return free


def _before_links(files: FileOperations, aside: Path) -> Path:
    try:
        stat_path(files, aside)
    except LinkInPath:
        for parent in reversed(aside.parents):
            found = find_standing(files, parent)
            if found is not None and stat.S_ISLNK(found.kind):
                return parent.with_name(f"{parent.name}.below") / aside.relative_to(parent)
    return aside


def _retreat(files: FileOperations, move: JournalMove) -> None:
    target, aside = text_to_path(move.target), text_to_path(move.aside)
    if (
        move.staged is not None
        and stat_path(files, text_to_path(move.staged)) is None
        and find_standing(files, target) is not None
    ):
        files.replace(target, text_to_path(move.staged))
    if find_standing(files, aside) is not None and find_standing(files, target) is None:
        files.make_folders(target.parent)
        files.replace(aside, target)


def _drop(files: FileOperations, folder: Path) -> None:
    """Remove a folder if it is empty. One behind a link is another folder."""
    try:
        files.remove_folder(folder)
    except LinkInPath:
        return
    except OSError as error:
        if error.errno not in (*_GONE_ALREADY, *_STAYS):
            raise


def _make(files: FileOperations, folder: JournalFolder) -> None:
    path = text_to_path(folder.path)
    files.make_folders(path)
    if folder.mode is not None:
        files.set_mode(path, folder.mode)
    if folder.mtime_ns is not None:
        files.set_times(path, folder.mtime_ns)


def _settle(files: FileOperations, time: TimeChange) -> None:
    """Set a file's time, unless it was written since the plan."""
    path = text_to_path(time.path)
    found = find_standing(files, path)
    if found is not None and found.mtime_ns == time.old_ns:
        files.set_times(path, time.new_ns)


def _change_mode(files: FileOperations, mode: ModeChange) -> None:
    """Set a folder's rights, unless they were changed since the plan."""
    path = text_to_path(mode.path)
    try:
        found = files.lstat(path)
    except (FileNotFoundError, NotADirectoryError, LinkInPath):
        return
    if stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) & 0o777 == mode.old:
        files.set_mode(path, mode.new)


def _flush(files: FileOperations, journal: RestoreJournal) -> None:
    if journal.moves or journal.make or journal.drop or journal.times or journal.modes:
        folder = text_to_path(journal.workspace)
        files.sync_file_system(folder if _is_folder(find_standing(files, folder)) else folder.parent)


def list_installed(files: FileOperations, journal: RestoreJournal) -> tuple[SeenPath | None, ...]:
    """Return what is at each target after the journal has run."""
    files = open_without_links(files, journal)
    return tuple(find_standing(files, text_to_path(move.target)) for move in journal.moves)


def remove_tree(files: FileOperations, folder: Path) -> None:
    """Remove a working folder of a journal with its contents, if it exists. Raises OSError."""
    files = open_without_links(files)
    if find_standing(files, folder) is not None:
        remove_own_tree(files, folder)


def remove_own_tree(files: FileOperations, folder: Path) -> None:
    """Remove a folder with its contents, if it exists, at a place where only Lifeboat writes. Raises OSError."""
    if not _is_folder(stat_path(files, folder)):
        return
    left = [folder]
    for each in left:
        files.set_mode(each, 0o700)  # it may be a copy of a read-only folder
        for entry in files.scan(each):
            if not entry.is_dir(follow_symlinks=False):
                files.remove(entry.path)
            elif each == folder:
                left.append(Path(entry.path))
            else:
                # Move nested folders up first: an agent may have nested more of them than a path can name.
                files.set_mode(entry.path, 0o700)
                left.append(folder / f".{secrets.token_hex(8)}")
                files.replace(entry.path, left[-1])
        if each != folder:
            files.remove_folder(each)
    files.remove_folder(folder)


def remove_empty_tree(files: FileOperations, folder: Path) -> None:
    """Remove a working folder if it has nothing but folders. Files stay, and so do a link in its place and what is
    nested deeper than a path can name."""
    files = open_without_links(files)
    if not _is_folder(find_standing(files, folder)):
        return
    found = [folder]
    for each in found:
        try:
            found += [Path(entry.path) for entry in files.scan(each) if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            break
    for each in reversed(found):
        _drop(files, each)


def _is_folder(found: SeenPath | None) -> bool:
    return found is not None and stat.S_ISDIR(found.kind)


def suggest_way_out(error: Exception) -> str | None:
    """Return the command that removes a link that blocks a journal, None for another error."""
    if not isinstance(error, LinkInPath):
        return None
    path = Path(os.fsdecode(error.filename))
    link = next((each for each in (*reversed(path.parents), path) if os.path.islink(each)), None)
    return None if link is None else f"mv {quote_argument(str(link))} {quote_argument(f'{link}.aside')}"


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path is a folder or lies in it; both absolute and resolved."""
    return path == folder or os.fspath(path).startswith(os.path.join(folder, ""))
