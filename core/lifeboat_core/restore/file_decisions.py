"""Decide what a restore does to each name, from what the state has and what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from lifeboat_alf.common.reason_codes import Reason
from lifeboat_core.agents.name_conflicts import list_parents
from lifeboat_core.restore import disk_names
from lifeboat_core.restore.folder_tree import OTHER, FolderTree, FoundOnDisk
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.restore_journal import SeenPath
from lifeboat_core.restore.wanted_contents import FILE, FOLDER, LINK, RAW, WantedFile
from lifeboat_core.texts.readable_json import make_printable


class RestoreAction(StrEnum):
    CREATE = "create"
    OVERWRITE = "overwrite"
    SAME = "same"
    REMOVE = "remove"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One name of a plan, relative to `root`.

    `seen` is what is there, if it matters. `reason` says why something is skipped or written without its credentials,
    or why something that was never captured is moved aside. `old_time` is set if only the time differs, `old_mode` if a
    folder has other rights. A `companion` is moved aside with its database and not counted. `lost` is the code of why
    the state cannot provide it (see `LeftOutFile`), else "". `is_database`: an SQLite database is there, and a log that
    appears beside it belongs to it. `lacks_credentials`: the file should have credentials and is written without them,
    or not written because of that.
    """

    name: str
    action: RestoreAction
    root: Path
    wanted: WantedFile | None = None
    seen: SeenPath | None = None
    kind: str = FILE
    reason: Reason | None = None
    old_time: int | None = None
    old_mode: int | None = None
    companion: bool = False
    lost: str = ""
    is_database: bool = False
    lacks_credentials: bool = False

    @property
    def is_write(self) -> bool:
        return self.action in (RestoreAction.CREATE, RestoreAction.OVERWRITE)


@dataclass(frozen=True, slots=True)
class DecisionRules:
    """How to compare files. `equal` says whether bytes on disk are what is wanted; `barred` why a file cannot have its
    credentials (None when it can or has none). `keep` forbids replacing anything (in the state directory). `all_rights`
    says that the state keeps all nine permission bits; `resets_folders` that folders without an entry get default
    rights again."""

    root: Path
    tree: FolderTree
    equal: Callable[[WantedFile, bytes], bool]
    barred: Callable[[WantedFile], Reason | None]
    keep: bool = False
    all_rights: bool = False
    resets_folders: bool = False


def decide_files(wanted: Mapping[str, WantedFile], removable: Iterable[str], rules: DecisionRules) -> list[PlanItem]:
    """Return the items of a plan, sorted by name. `removable` are names that the newest state captured and this one
    lacks."""
    gone = _removals(removable, rules)
    items = dict(gone)
    for item in wanted.values():
        in_the_way = list(_obstacles(item.name, rules))
        if in_the_way and rules.keep:
            reason = Reason(LeftOutCode.NO_FOLDER_ABOVE, name=in_the_way[0].name)
            items[item.name] = PlanItem(item.name, RestoreAction.SKIP, rules.root, item, kind=item.kind, reason=reason)
            continue
        for obstacle in in_the_way:
            items.setdefault(obstacle.name, obstacle)
        items[item.name] = _decide_one(item, gone.keys(), rules)
    if rules.resets_folders:
        items |= _folders_with_other_rights(wanted, rules)
    return [items[name] for name in sorted(items)]


def _folders_with_other_rights(wanted: Mapping[str, WantedFile], rules: DecisionRules) -> dict[str, PlanItem]:
    """Return items for non-empty folders whose rights differ from the default: only other rights would have given them
    an entry."""
    found = {
        name: rules.tree.find(name)
        for name in {parent for name in wanted for parent in list_parents(name)} - wanted.keys()
    }
    items = {}
    for name, there in found.items():
        usual = WantedFile(name, "", RAW, {"type": FOLDER})
        if there is not None and there.kind == FOLDER and there.mode != usual.mode:
            items[name] = PlanItem(name, RestoreAction.SAME, rules.root, usual, there.seen, FOLDER, old_mode=there.mode)
    return items


def _removals(removable: Iterable[str], rules: DecisionRules) -> dict[str, PlanItem]:
    found = ((name, rules.tree.find(name)) for name in removable)
    return {
        name: PlanItem(name, RestoreAction.REMOVE, rules.root, seen=there.seen, kind=there.kind)
        for name, there in found
        if there is not None and there.kind != OTHER
    }


def _obstacles(name: str, rules: DecisionRules) -> Iterator[PlanItem]:
    """Yield a file or link that stands where a parent folder is needed."""
    for parent in list_parents(name):
        found = rules.tree.find(parent)
        if found is None:
            return
        if found.kind != FOLDER:
            reason = Reason(LeftOutCode.FOLDER_NEEDED)
            yield PlanItem(parent, RestoreAction.REMOVE, rules.root, seen=found.seen, kind=found.kind, reason=reason)
            return


def _decide_one(wanted: WantedFile, gone: Iterable[str], rules: DecisionRules) -> PlanItem:
    found, lacks = rules.tree.find(wanted.name), rules.barred(wanted)
    if lacks and not rules.keep:
        wanted = replace(wanted, has_gap=True)
    if found is not None and _is_same(wanted, found, rules):
        return replace(_same(wanted, found, rules), reason=lacks, lacks_credentials=bool(lacks))
    # The present file may have the credentials, so it is not replaced by one without them.
    refusal = _refusal(wanted, found, gone, rules)
    if refusal or (lacks and (found is not None or rules.keep)):
        left = found.seen if found is not None and rules.keep else None
        item = PlanItem(wanted.name, RestoreAction.SKIP, rules.root, wanted, left, wanted.kind, refusal or lacks)
        return replace(item, lacks_credentials=not refusal)
    action = RestoreAction.CREATE if found is None else RestoreAction.OVERWRITE
    item = PlanItem(wanted.name, action, rules.root, wanted, found.seen if found else None, wanted.kind, lacks)
    return replace(item, lacks_credentials=bool(lacks))


def _same(wanted: WantedFile, found: FoundOnDisk, rules: DecisionRules) -> PlanItem:
    wrong_time = wanted.kind == FILE and wanted.mtime_ns not in (None, found.mtime_ns) and not rules.keep
    old_time = found.mtime_ns if wrong_time else None
    wrong_mode = (
        wanted.kind == FOLDER and not wanted.has_rights(found.mode, all_kept=rules.all_rights) and not rules.keep
    )
    old_mode = found.mode if wrong_mode else None
    return PlanItem(
        wanted.name,
        RestoreAction.SAME,
        rules.root,
        wanted,
        found.seen,
        wanted.kind,
        old_time=old_time,
        old_mode=old_mode,
    )


def _is_same(wanted: WantedFile, found: FoundOnDisk, rules: DecisionRules) -> bool:
    if found.kind != wanted.kind:
        return False
    if wanted.kind == FOLDER:
        return True
    if wanted.kind == LINK:
        return found.target == wanted.target
    return wanted.has_rights(found.mode, all_kept=rules.all_rights) and _same_bytes(wanted, found, rules)


def _same_bytes(wanted: WantedFile, found: FoundOnDisk, rules: DecisionRules) -> bool:
    if not wanted.cuts and found.size != wanted.size:
        return False
    data = rules.tree.read(wanted.name)
    return data is not None and rules.equal(wanted, data)


def _refusal(wanted: WantedFile, found: FoundOnDisk | None, gone: Iterable[str], rules: DecisionRules) -> Reason | None:
    """Return why a file is not written, None when it is."""
    if wanted.kind not in (FILE, LINK, FOLDER):
        return Reason(LeftOutCode.UNKNOWN_KIND, kind=wanted.kind)
    if wanted.kind == LINK and disk_names.leaves_folder(wanted.name, wanted.target, rules.root):
        return Reason(LeftOutCode.LEAVES_WORKSPACE, target=make_printable(wanted.target))
    if found is not None and rules.keep:
        return Reason(LeftOutCode.THERE_ALREADY)
    if found is not None and found.kind == OTHER:
        return Reason(LeftOutCode.SPECIAL_FILE)
    if found is not None and found.kind == FOLDER and not set(rules.tree.below(wanted.name)) <= set(gone):
        return Reason(LeftOutCode.UNCAPTURED_FOLDER)
    return None
