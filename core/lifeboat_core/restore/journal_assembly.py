"""Turn a plan into a journal: which file is staged where, what is moved aside, which folders are created and
removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.agents.name_conflicts import list_parents
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.journal_moves import is_inside, open_without_links
from lifeboat_core.restore.restore_journal import (
    STAGING,
    AgentResidence,
    JournalFolder,
    JournalMove,
    ModeChange,
    RestoreJournal,
    TimeChange,
    path_to_text,
    text_to_path,
)
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.restore_target import WorkingFolders
from lifeboat_core.restore.wanted_contents import DATABASE, FOLDER, WantedFile, find_source_runtime
from lifeboat_core.state.state_documents import find_home_mode

TREE = "tree"
INDEX_OF_LOG = "-shm"
"""Ending of the one file beside a database that reading changes. It has nothing that the log does not have."""


@dataclass(frozen=True, slots=True)
class AssembledJournal:
    """A journal, and what has to be staged for it: single files by path, or a whole tree."""

    journal: RestoreJournal
    files: list[tuple[Path, WantedFile]]
    tree: tuple[Path, list[WantedFile]] | None


def assemble_journal(files: FileOperations, plan: RestorePlan, time: str, report: JsonObject) -> AssembledJournal:
    """Return the journal of a plan, in phase `staging`. Reads the disk, and writes nothing but a probe."""
    files = open_without_links(files)
    places = restore_target.find_working_folders(files, plan.target, plan.id)
    own, others = _by_root(plan)
    # an undo restores merged files individually
    merges = any(item.action == RestoreAction.OVERWRITE for item in others)
    moving = plan.agent if plan.options.adopt and not plan.in_place else None
    as_whole = plan.is_fresh and not merges and moving is None and places[-1].stage.parent == plan.target.parent
    tree = (
        (places[-1].stage / TREE, [item.wanted for item in own if item.wanted and item.is_write]) if as_whole else None
    )
    places += [
        restore_target.place_inside(root, plan.id) for root in sorted({item.root for item in others if item.is_write})
    ]
    singles = others if as_whole else own + others
    moves, staged = _moves(singles, places)
    used = [place for place in places if _is_used(place, moves, as_whole, plan.target)]
    journal = RestoreJournal(
        id=plan.id,
        agent_id=plan.agent_id,
        kind="restore",
        phase=STAGING,
        sequence=plan.sequence,
        workspace=path_to_text(plan.target),
        time=time,
        moves=tuple(moves),
        make=(*_home_to_make(plan), *_folders_to_make(singles)),
        drop=tuple(_folders_to_drop(files, plan, singles)),
        fresh=tuple(_fresh_folders(singles)),
        times=tuple(_times(singles)),
        modes=tuple(_modes(singles)),
        whole=(path_to_text(tree[0]), path_to_text(plan.target)) if tree else None,
        work=tuple(path_to_text(place.stage) for place in used),
        undo=tuple(path_to_text(place.undo) for place in used),
        report=report,
        former=None
        if moving is None
        else AgentResidence(path_to_text(moving.workspace), moving.runtime, moving.native_id),
    )
    return AssembledJournal(journal, staged, tree)


def _by_root(plan: RestorePlan) -> tuple[list[PlanItem], list[PlanItem]]:
    """Divide the items of a plan into those of the workspace and those of the state directory."""
    return (
        [item for item in plan.items if item.root == plan.target],
        [item for item in plan.items if item.root != plan.target],
    )


def _is_used(place: WorkingFolders, moves: Iterable[JournalMove], as_whole: bool, folder: Path) -> bool:
    if as_whole and place.folder == folder:
        return True
    return any(is_inside(text_to_path(move.aside), place.undo) for move in moves)


def _moves(
    items: list[PlanItem], places: list[WorkingFolders]
) -> tuple[list[JournalMove], list[tuple[Path, WantedFile]]]:
    """Return the moves, removals first: what occupies the place of a folder must go before a file is moved into it."""
    files = (item for item in items if item.is_write and item.kind != FOLDER)
    whole_folders = [item.name for item in files if item.seen is not None and stat.S_ISDIR(item.seen.kind)]
    removals = [_move(item, places, None) for item in items if _goes_aside(item, whole_folders)]
    writes: list[JournalMove] = []
    staged: list[tuple[Path, WantedFile]] = []
    for number, item in enumerate(item for item in items if item.is_write and item.kind != FOLDER):
        path = restore_target.choose_working_folders(places, item.root / item.name).stage / str(number)
        writes.append(_move(item, places, path))
        if item.wanted is not None:
            staged.append((path, item.wanted))
    return removals + writes, staged


def _move(item: PlanItem, places: list[WorkingFolders], staged: Path | None) -> JournalMove:
    path = item.root / item.name
    place = restore_target.choose_working_folders(places, path)
    aside = place.undo / os.path.relpath(path, place.folder)
    loose = item.companion and path.name.endswith(INDEX_OF_LOG)
    is_database = item.is_database or (item.wanted is not None and item.wanted.basis == DATABASE)
    return JournalMove(
        path_to_text(path), path_to_text(staged) if staged else None, path_to_text(aside), item.seen, loose, is_database
    )


def _goes_aside(item: PlanItem, whole_folders: list[str]) -> bool:
    """Return whether something is moved aside by itself: removed files and links, and what an empty folder replaces;
    not what is moved with its folder."""
    if item.action == RestoreAction.OVERWRITE:
        return item.kind == FOLDER
    lies_in_one = any(item.name.startswith(f"{folder}/") for folder in whole_folders)
    return item.action == RestoreAction.REMOVE and item.kind != FOLDER and not lies_in_one


def _home_to_make(plan: RestorePlan) -> Iterator[JournalFolder]:
    """Yield the state directory if it has to be created. One of another runtime is created for its owner only, because
    credentials are put into it."""
    folder = plan.installation.state_dir if plan.installation is not None else None
    if folder is None or folder.is_dir() or plan.makes_home:
        return
    folder = restore_target.resolve_target(folder)
    written = [plan.target, *(item.root for item in plan.items if item.is_write)]
    if any(is_inside(path, folder) for path in written):
        is_its_own = find_source_runtime(plan.state) == plan.runtime
        yield JournalFolder(path_to_text(folder), find_home_mode(plan.state) if is_its_own else 0o700)


def _folders_to_make(items: list[PlanItem]) -> Iterator[JournalFolder]:
    for item in items:
        if item.is_write and item.kind == FOLDER and item.wanted is not None:
            yield JournalFolder(path_to_text(item.root / item.name), item.wanted.mode, item.wanted.mtime_ns)


def _folders_to_drop(files: FileOperations, plan: RestorePlan, items: list[PlanItem]) -> Iterator[JournalFolder]:
    """Yield the folders that are empty once the removed files are gone, the deepest first."""
    removed = [item for item in items if item.action == RestoreAction.REMOVE and item.root == plan.target]
    left = {parent for item in removed for parent in list_parents(item.name)}
    left |= {item.name for item in removed if item.kind == FOLDER}
    needed = {parent for name in plan.contents.workspace for parent in (*list_parents(name), name)}
    needed |= {parent for item in items if item.is_write for parent in list_parents(item.name)}
    for name in sorted(left - needed, key=lambda each: each.count("/"), reverse=True):
        path = plan.target / name
        found = files.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            yield JournalFolder(path_to_text(path), stat.S_IMODE(found.st_mode), found.st_mtime_ns)


def _fresh_folders(items: list[PlanItem]) -> list[str]:
    """Return the folders that the restore creates, the deepest first."""
    fresh: set[Path] = {item.root for item in items if item.is_write and not item.root.is_dir()}
    for item in items:
        if item.is_write:
            above = (item.root / parent for parent in list_parents(item.name))
            own = [item.root / item.name] if item.kind == FOLDER else []
            fresh.update(folder for folder in (*above, *own) if not folder.is_dir() or folder.is_symlink())
    return [path_to_text(folder) for folder in sorted(fresh, key=lambda each: len(each.parts), reverse=True)]


def _times(items: list[PlanItem]) -> Iterator[TimeChange]:
    for item in items:
        new = item.wanted.mtime_ns if item.wanted is not None else None
        if item.action == RestoreAction.SAME and item.old_time is not None and new is not None:
            yield TimeChange(path_to_text(item.root / item.name), new, item.old_time)


def _modes(items: list[PlanItem]) -> Iterator[ModeChange]:
    for item in items:
        if item.old_mode is not None and item.wanted is not None:
            yield ModeChange(path_to_text(item.root / item.name), item.wanted.mode, item.old_mode)
