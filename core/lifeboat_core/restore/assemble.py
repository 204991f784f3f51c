"""From a plan to a journal: which file is staged where, what goes aside where, which folders come and go."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.seams.files import FileOperations
from lifeboat_core.agents.name_conflicts import parents
from lifeboat_core.restore import target
from lifeboat_core.restore.contents import DATABASE, FOLDER, Wanted, source_runtime
from lifeboat_core.restore.decide import Action, Item
from lifeboat_core.restore.journal import STAGING, Folder, Journal, Lives, Mode, Move, Time, to_path, to_text
from lifeboat_core.restore.moves import following_no_link, is_inside
from lifeboat_core.restore.plan import Plan
from lifeboat_core.restore.target import Place
from lifeboat_core.state.state_documents import home_mode

TREE = "tree"
INDEX_OF_LOG = "-shm"
"""The end of the one file beside a database that reading changes; it says nothing that the log does not."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A journal, and what has to be staged for it: single files at paths, or a whole tree."""

    journal: Journal
    files: list[tuple[Path, Wanted]]
    tree: tuple[Path, list[Wanted]] | None


def assemble(files: FileOperations, plan: Plan, time: str, report: JsonObject) -> Assembled:
    """The journal of a plan, in phase `staging`. Looks at the disk, writes nothing but a probe."""
    files = following_no_link(files)
    places = target.places(files, plan.target, plan.id)
    own, others = _by_root(plan)
    merges = any(item.action == Action.OVERWRITE for item in others)  # which an undo takes back file by file
    moving = plan.agent if plan.options.adopt and not plan.in_place else None
    as_whole = plan.is_fresh and not merges and moving is None and places[-1].stage.parent == plan.target.parent
    tree = (
        (places[-1].stage / TREE, [item.wanted for item in own if item.wanted and item.is_write]) if as_whole else None
    )
    places += [target.inside(root, plan.id) for root in sorted({item.root for item in others if item.is_write})]
    singles = others if as_whole else own + others
    moves, staged = _moves(singles, places)
    used = [place for place in places if _is_used(place, moves, as_whole, plan.target)]
    journal = Journal(
        id=plan.id,
        agent_id=plan.agent_id,
        kind="restore",
        phase=STAGING,
        sequence=plan.sequence,
        workspace=to_text(plan.target),
        time=time,
        moves=tuple(moves),
        make=(*_home_to_make(plan), *_folders_to_make(singles)),
        drop=tuple(_folders_to_drop(files, plan, singles)),
        fresh=tuple(_fresh_folders(singles)),
        times=tuple(_times(singles)),
        modes=tuple(_modes(singles)),
        whole=(to_text(tree[0]), to_text(plan.target)) if tree else None,
        work=tuple(to_text(place.stage) for place in used),
        undo=tuple(to_text(place.undo) for place in used),
        report=report,
        former=None if moving is None else Lives(to_text(moving.workspace), moving.runtime, moving.native_id),
    )
    return Assembled(journal, staged, tree)


def _by_root(plan: Plan) -> tuple[list[Item], list[Item]]:
    """Items of the workspace, and items of the runtime's own folder."""
    return (
        [item for item in plan.items if item.root == plan.target],
        [item for item in plan.items if item.root != plan.target],
    )


def _is_used(place: Place, moves: Iterable[Move], as_whole: bool, folder: Path) -> bool:
    if as_whole and place.folder == folder:
        return True
    return any(is_inside(to_path(move.aside), place.undo) for move in moves)


def _moves(items: list[Item], places: list[Place]) -> tuple[list[Move], list[tuple[Path, Wanted]]]:
    """Removals first: what stands in the way of a folder has to go before a file is moved into it."""
    whole_folders = [item.name for item in items if _replaces_folder(item)]
    removals = [_move(item, places, None) for item in items if _goes_aside(item, whole_folders)]
    writes: list[Move] = []
    staged: list[tuple[Path, Wanted]] = []
    for number, item in enumerate(item for item in items if item.is_write and item.kind != FOLDER):
        path = target.place_for(places, item.root / item.name).stage / str(number)
        writes.append(_move(item, places, path))
        if item.wanted is not None:
            staged.append((path, item.wanted))
    return removals + writes, staged


def _move(item: Item, places: list[Place], staged: Path | None) -> Move:
    path = item.root / item.name
    place = target.place_for(places, path)
    aside = place.undo / os.path.relpath(path, place.folder)
    loose = item.companion and path.name.endswith(INDEX_OF_LOG)
    is_database = item.is_database or (item.wanted is not None and item.wanted.basis == DATABASE)
    return Move(to_text(path), to_text(staged) if staged else None, to_text(aside), item.seen, loose, is_database)


def _replaces_folder(item: Item) -> bool:
    return item.is_write and item.kind != FOLDER and item.seen is not None and stat.S_ISDIR(item.seen.kind)


def _goes_aside(item: Item, whole_folders: list[str]) -> bool:
    """Removed files and links, and what stands where an empty folder is wanted; not what goes with its folder."""
    if item.action == Action.OVERWRITE:
        return item.kind == FOLDER
    return item.action == Action.REMOVE and item.kind != FOLDER and not _lies_in(item.name, whole_folders)


def _lies_in(name: str, folders: list[str]) -> bool:
    return any(name.startswith(f"{folder}/") for folder in folders)


def _home_to_make(plan: Plan) -> Iterator[Folder]:
    """The runtime's own folder, where it went. One that is made elsewhere is for its owner only, whatever rights it
    had: credentials come to lie in it."""
    folder = plan.installation.state_dir if plan.installation is not None else None
    if folder is None or folder.is_dir() or plan.makes_home:
        return
    folder = target.resolve(folder)
    written = [plan.target, *(item.root for item in plan.items if item.is_write)]
    if any(is_inside(path, folder) for path in written):
        is_its_own = source_runtime(plan.state) == plan.runtime
        yield Folder(to_text(folder), home_mode(plan.state) if is_its_own else 0o700)


def _folders_to_make(items: list[Item]) -> Iterator[Folder]:
    for item in items:
        if item.is_write and item.kind == FOLDER and item.wanted is not None:
            yield Folder(to_text(item.root / item.name), item.wanted.mode, item.wanted.mtime_ns)


def _folders_to_drop(files: FileOperations, plan: Plan, items: list[Item]) -> Iterator[Folder]:
    """Folders that hold nothing once the removed files are gone, the deepest first."""
    removed = [item for item in items if item.action == Action.REMOVE and item.root == plan.target]
    left = {parent for item in removed for parent in parents(item.name)}
    left |= {item.name for item in removed if item.kind == FOLDER}
    needed = {parent for name in plan.contents.workspace for parent in (*parents(name), name)}
    needed |= {parent for item in items if item.is_write for parent in parents(item.name)}
    for name in sorted(left - needed, key=lambda each: each.count("/"), reverse=True):
        path = plan.target / name
        found = files.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            yield Folder(to_text(path), stat.S_IMODE(found.st_mode), found.st_mtime_ns)


def _fresh_folders(items: list[Item]) -> list[str]:
    """Folders that the restore makes, the deepest first."""
    fresh: set[Path] = {item.root for item in items if item.is_write and not item.root.is_dir()}
    for item in items:
        if item.is_write:
            above = (item.root / parent for parent in parents(item.name))
            own = [item.root / item.name] if item.kind == FOLDER else []
            fresh.update(folder for folder in (*above, *own) if not folder.is_dir() or folder.is_symlink())
    return [to_text(folder) for folder in sorted(fresh, key=lambda each: len(each.parts), reverse=True)]


def _times(items: list[Item]) -> Iterator[Time]:
    for item in items:
        new = item.wanted.mtime_ns if item.wanted is not None else None
        if item.action == Action.SAME and item.old_time is not None and new is not None:
            yield Time(to_text(item.root / item.name), new, item.old_time)


def _modes(items: list[Item]) -> Iterator[Mode]:
    for item in items:
        if item.old_mode is not None and item.wanted is not None:
            yield Mode(to_text(item.root / item.name), item.wanted.mode, item.old_mode)
