"""Plan what a restore does in the state directory: missing files, merged files, and stores that only the runtime itself
writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from lifeboat_adapters.contract import (
    Adapter,
    CaptureRoot,
    HomeFileMerge,
    Installation,
    MergedHomeFile,
    Placement,
    find_secret_places,
)
from lifeboat_adapters.credential_types import CredentialDelivery, EncryptionKeyFile, Place, ReencryptedFile
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_names import to_archive_name
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State
from lifeboat_core.capture.root_scan import may_hold
from lifeboat_core.home.context import Context
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.credential_filler import CredentialFiller
from lifeboat_core.restore.file_decisions import DecisionRules, PlanItem, RestoreAction, decide_files
from lifeboat_core.restore.folder_tree import DiskTree, FoundOnDisk
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.restore_options import RestoreOptions
from lifeboat_core.restore.wanted_contents import (
    FILE,
    FOLDER,
    MERGED,
    STRUCTURED,
    WantedContents,
    WantedFile,
    read_wanted_body,
)
from lifeboat_vault.vault.state_inventory import StateInventory

Keys = tuple[str | int, ...]
T = TypeVar("T")

NO_FOLDER = Reason(LeftOutCode.NO_FOLDER)
CUT_OUT = Reason(LeftOutCode.CUT_OUT)
REWRITTEN = "the comments in this file are lost, because merging had to rewrite it"


@dataclass(frozen=True, slots=True)
class StateDirPlan:
    """`merged` has the decisions about merged files by archive path, `translated` those about files with credentials of
    another runtime (an item if the file is not merged). `deliveries` are run after all files are in place.
    `without_credentials` names files that are written although their credentials were cut out."""

    items: list[PlanItem] = field(default_factory=list)
    merged: dict[str, MergedHomeFile] = field(default_factory=dict)
    deliveries: list[CredentialDelivery] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    without_credentials: list[str] = field(default_factory=list)
    translated: dict[str, MergedHomeFile | PlanItem] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """The inputs of decisions about the state directory. `bound` has the reasons, by id, why credentials stay out of
    this machine; `barred` returns why a file cannot be complete; `rules` makes rules for a folder in which nothing is
    replaced; `is_new_here` says that this restore creates the folder, or the agent in it."""

    context: Context
    state: State
    inventory: StateInventory
    contents: WantedContents
    adapter: Adapter
    installation: Installation | None
    filler: CredentialFiller | None
    options: RestoreOptions
    bound: Mapping[str, Reason]
    barred: Callable[[WantedFile], Reason | None]
    rules: Callable[[Path], DecisionRules]
    is_new_here: bool = False

    def body(self, wanted: WantedFile) -> bytes:
        return read_wanted_body(self.state, wanted)

    def is_store(self, path: str) -> bool:
        """Whether a file of the archive is a credential store of the runtime."""
        credentials = self.adapter.credentials
        return credentials is not None and credentials.is_store(path)

    def whole(self, wanted: WantedFile) -> bytes:
        """Return a file with its credentials."""
        body = self.body(wanted)
        return self.filler.fill(wanted, body) if wanted.cuts and self.filler is not None else body


class _PlacedFile(NamedTuple):
    """A file of the archive, and the name that it gets."""

    name: str
    wanted: WantedFile


def plan_state_dir(around: PlanningContext, translated: Mapping[str, bytes] | None = None) -> StateDirPlan:
    """Plan the state directory, if there is or was one around the target, or one is named or created. `translated` are
    files with credentials of another runtime, by archive path, as if this one had been captured with them."""
    home = {name: item for name, item in around.contents.home.items() if around.options.wants_outside(name)}
    root = find_state_dir_root(around.adapter, around.installation)
    if root is None or around.installation is None:
        return StateDirPlan([_left_out(item, NO_FOLDER) for _, item in sorted(home.items())])
    return _StateDirPlanner(around, around.installation, root).plan(home, translated or {})


class WorkspaceMerge(NamedTuple):
    """The items of a workspace after files with credentials of another runtime were merged into it. `became` has the
    decision about each of these files by archive path, and `paths` the archive paths of the files they became part
    of."""

    items: list[PlanItem]
    became: dict[str, MergedHomeFile | PlanItem]
    paths: dict[str, str]


def merge_into_workspace(
    around: PlanningContext, folder: Path, items: list[PlanItem], files: Mapping[str, bytes]
) -> WorkspaceMerge:
    """Merge files with credentials of another runtime into a workspace, on top of what the restore puts there."""
    if around.installation is None or not files:
        return WorkspaceMerge(items, {}, {})
    root = CaptureRoot(archive_layout.raw_prefix(around.adapter.runtime), folder)
    return _StateDirPlanner(around, around.installation, root).merge_into_workspace(items, files)


class _StateDirPlanner:
    """Decides about the state directory file by file."""

    def __init__(self, around: PlanningContext, installation: Installation, root: CaptureRoot) -> None:
        self._around = around
        self._installation = installation
        self._root = root
        self._folder = restore_target.resolve_target(root.folder)
        self._rules = around.rules(self._folder)
        self._tree = DiskTree(around.context.files, self._folder)
        self._merged: dict[str, MergedHomeFile] = {}
        self._done: dict[str, PlanItem] = {}
        self._planned: dict[str, PlanItem] = {}
        self._uses_key = False
        self._warnings: list[str] = []
        self._without_credentials: list[str] = []

    def plan(self, home: Mapping[str, WantedFile], translated: Mapping[str, bytes]) -> StateDirPlan:
        adapter = self._around.adapter
        stores = {item.path: item for item in home.values() if self._around.is_store(item.path)}
        asked = (row for row in self._around.contents.rows if self._around.options.wants(row.name))
        rows = {row.path: row for row in asked if self._around.is_store(row.path)}
        plain = {name: item for name, item in home.items() if item.path not in stores}
        foreign = {name: item for name, item in plain.items() if not _belongs_to_home(item, name, self._root, adapter)}
        items = [_left_out(item, Reason(LeftOutCode.NOT_KEPT)) for _, item in sorted(foreign.items())]
        own = {name: _private(item) for name, item in plain.items() if name not in foreign}
        items += self._plain(own)
        self._planned = {item.name: item for item in items if item.is_write}
        deliveries, left = self._stores(stores, rows)
        taken, delivered = self._translated(translated)
        items = [item for item in items if item.name not in self._done]
        every = [*self._done.values(), *items, *left, *self._new_key()]
        return StateDirPlan(
            every, self._merged, [*deliveries, *delivered], self._warnings, self._without_credentials, taken
        )

    def _translated(
        self, files: Mapping[str, bytes]
    ) -> tuple[dict[str, MergedHomeFile | PlanItem], list[CredentialDelivery]]:
        """Decide about files with credentials of another runtime, on top of the runtime's own."""
        adapter = self._around.adapter
        taken: dict[str, MergedHomeFile | PlanItem] = {}
        delivered: dict[str, bytes] = {}
        for path, data in sorted(files.items()):
            name: str | None = path.removeprefix(archive_layout.home_prefix(adapter.runtime))
            if self._around.is_store(path):
                name = self._home_name(path)
            if name is None:
                delivered[path] = data
            else:
                taken[path] = self._put_translated(name, path, data)
        return taken, self._deliveries(delivered, {}) if delivered else []

    def merge_into_workspace(self, items: list[PlanItem], files: Mapping[str, bytes]) -> WorkspaceMerge:
        self._planned = {item.name: item for item in items if item.root == self._folder}
        became: dict[str, MergedHomeFile | PlanItem] = {}
        paths: dict[str, str] = {}
        for path, data in sorted(files.items()):
            name = path.removeprefix(self._root.prefix)
            before = self._before(name)
            # The file may come from the workspace of the other runtime, as an artifact.
            paths[path] = before.wanted.path if before is not None and before.wanted is not None else path
            reason = self._obstacle(name)
            if reason is None:
                became[paths[path]] = self._put_translated(name, paths[path], data)
            else:
                became[paths[path]] = PlanItem(name, RestoreAction.SKIP, self._folder, reason=reason)
        others = [item for item in items if item.root != self._folder or item.name not in self._done]
        return WorkspaceMerge([*others, *self._done.values()], became, paths)

    def _obstacle(self, name: str) -> Reason | None:
        """Return why nothing can be merged into what the restore puts at a path of the workspace."""
        before = self._before(name)
        if any(other.startswith(f"{name}/") and self._before(other) for other in self._planned):
            return Reason(LeftOutCode.FOLDER_NEEDED)
        if before is None or before.wanted is None:
            return None
        is_whole = before.kind == FILE and not before.lacks_credentials and not before.wanted.data_is_cut
        return None if is_whole else before.reason or Reason(LeftOutCode.UNREADABLE)

    def _home_name(self, path: str) -> str | None:
        placement = self._around.adapter.placement
        return placement.home_name(self._installation, path) if placement is not None else None

    def _deliveries(self, files: Mapping[str, bytes], left_out: Mapping[Place, Reason]) -> list[CredentialDelivery]:
        credentials, now = self._around.adapter.credentials, self._around.context.now()
        return credentials.deliveries(self._installation, files, left_out, now) if credentials is not None else []

    def _put_translated(self, name: str, path: str, data: bytes) -> MergedHomeFile | PlanItem:
        own = self._merged.pop(path, None)
        wanted = WantedFile(name, path, STRUCTURED, {"private": True}, None, data)
        if not self._merge(_PlacedFile(name, wanted), translated=True):
            self._done[name] = decide_files({name: wanted}, [], self._rules)[0]
        became = self._merged.pop(path, self._done[name])
        if own is not None:
            self._merged[path] = own
        return became

    # Files ----------------------------------------------------------------------------------------------------------

    def _plain(self, own: Mapping[str, WantedFile]) -> list[PlanItem]:
        taken: dict[str, WantedFile] = {}
        items: list[PlanItem] = []
        for name, wanted in sorted(own.items()):
            reason = self._rules.barred(wanted) if wanted.kind == FILE else None
            if reason and self._merge_without_credentials(_PlacedFile(name, wanted)):
                continue
            if wanted.kind != FILE or reason or not self._merge(_PlacedFile(name, wanted)):
                bound = next((self._around.bound[id] for id in _ids(wanted) if id in self._around.bound), None)
                if bound and not reason:
                    items.append(replace(_left_out(wanted, bound), name=name))
                else:
                    taken[name] = wanted
        return decide_files(taken, [], self._rules) + items

    def _merge_without_credentials(self, put: _PlacedFile) -> bool:
        """Merge the configuration of an agent that is new to the runtime without its credentials, because without it
        the runtime ignores everything else."""
        around = self._around
        if not around.is_new_here or around.filler is not None or not self._merge(put):
            return False
        if self._done[put.name].is_write:
            self._warnings.append(
                f"{put.name} is written without its credentials; to restore them, use --with-credentials"
            )
            self._without_credentials.append(put.name)
        return True

    def _merge(self, put: _PlacedFile, *, translated: bool = False) -> bool:
        """Merge a file; return False for one that is not merged."""
        found = self._tree.find(put.name)
        bound = self._bound_places(put.wanted) | self._places_left_cut(put.wanted)
        if not self._may_merge(found) or () in bound:
            return False
        there = self._there(put.name)
        if found is not None and there is None:
            reason = Reason(LeftOutCode.UNREADABLE)
            self._done[put.name] = PlanItem(
                put.name, RestoreAction.SKIP, self._folder, put.wanted, found.seen, reason=reason
            )
            return True
        whole = self._around.whole(put.wanted)
        try:
            readable = self._readable(put.wanted, whole, translated=translated)
            merged = self._call(put, there, readable.data, {**readable.unreadable, **bound})
        except ValueError as error:
            reason = Reason(LeftOutCode.UNPARSABLE, problem=str(error))
            self._done[put.name] = PlanItem(put.name, RestoreAction.SKIP, self._folder, put.wanted, None, reason=reason)
            return True
        if merged is None:
            return False
        self._merged[put.wanted.path] = merged
        before = self._before(put.name)
        if before is None or merged.data != there:
            self._done[put.name] = self._item(put, found, there, whole, merged)
        elif self._done.get(put.name) is not before:
            self._done[put.name] = before
        if merged.rewritten:
            self._warnings.append(f"{put.name}: {REWRITTEN}")
        return True

    def _readable(self, wanted: WantedFile, whole: bytes, *, translated: bool = False) -> ReencryptedFile:
        """Return a file as the runtime here can read it: what another installation encrypted is encrypted with its own
        key."""
        filler = self._around.filler
        credentials, path = self._around.adapter.credentials, wanted.path
        if filler is None or credentials is None or not (wanted.cuts or translated):
            return ReencryptedFile(whole)
        values = self._places(wanted, {id: filler.value(id) for id in _ids(wanted)})
        found = credentials.reencrypt(self._installation, path, whole, values, self._key, translated=translated)
        self._uses_key = self._uses_key or found.data != whole
        return found

    @cached_property
    def _key(self) -> EncryptionKeyFile | None:
        credentials = self._around.adapter.credentials
        return credentials.key_file(self._installation) if credentials is not None else None

    def _new_key(self) -> Iterator[PlanItem]:
        """Yield the file of a key that was created for this restore, if something is encrypted with it."""
        if self._uses_key and self._key is not None and self._key.is_new:
            path = archive_layout.home_prefix(self._around.adapter.runtime) + self._key.name
            yield self._new(WantedFile(self._key.name, path, STRUCTURED, {"private": True}, None, self._key.data))

    def _there(self, name: str) -> bytes | None:
        """Return the bytes in the folder, with what was merged into them so far."""
        before = self._before(name)
        if before is None or before.wanted is None:
            return self._tree.read(name)
        return self._around.whole(before.wanted) if before.wanted.data is None else before.wanted.data

    def _before(self, name: str) -> PlanItem | None:
        """Return the decision so far, if it leaves a file."""
        found = self._done.get(name) or self._planned.get(name)
        return found if found is not None and (found.is_write or found.action is RestoreAction.SAME) else None

    def _may_merge(self, found: FoundOnDisk | None) -> bool:
        """Return whether a file may be merged. Without credentials, existing files are changed only if the runtime
        would not know of the agent otherwise."""
        around = self._around
        if found is None:
            named = around.options.state_dir is not None or around.is_new_here
            return around.filler is not None or named
        return found.kind == FILE and (around.filler is not None or around.is_new_here)

    def _call(
        self, put: _PlacedFile, there: bytes | None, whole: bytes, left_out: Mapping[Keys, Reason]
    ) -> MergedHomeFile | None:
        context, placement = self._around.context, self._around.adapter.placement
        if placement is None:
            return None
        merge = HomeFileMerge(
            put.wanted.path, there, whole, left_out, self._around.state, context.user_home, context.now()
        )
        return placement.merge_home(self._installation, merge)

    def _item(
        self, put: _PlacedFile, found: FoundOnDisk | None, there: bytes | None, whole: bytes, merged: MergedHomeFile
    ) -> PlanItem:
        if found is not None and merged.data == there:
            kept = next((reason for reason in merged.decided.values() if reason), None)
            action = RestoreAction.SKIP if kept else RestoreAction.SAME
            wanted = replace(_private(put.wanted), data=merged.data)
            return PlanItem(put.name, action, self._folder, wanted, found.seen, reason=kept)
        if found is None and merged.data == whole:
            return self._new(replace(_private(put.wanted), name=put.name))
        kept_meta = {key: value for key, value in put.wanted.meta.items() if key != "mtime_ns"}
        wanted = WantedFile(
            put.name, put.wanted.path, MERGED, kept_meta | {"private": True}, put.wanted.entry, merged.data
        )
        if found is None:
            return self._new(wanted)
        return PlanItem(put.name, RestoreAction.OVERWRITE, self._folder, wanted, found.seen)

    def _new(self, wanted: WantedFile) -> PlanItem:
        """Decide about a file that is not there yet, unless something occupies the place of its folder."""
        return decide_files({wanted.name: wanted}, [], replace(self._rules, barred=lambda _: None))[0]

    def _bound_places(self, wanted: WantedFile) -> dict[Keys, Reason]:
        """Return the places in a file of credentials that are bound to another machine."""
        bound = self._around.bound
        return self._places(wanted, {id: bound[id] for id in _ids(wanted) if id in bound})

    def _places_left_cut(self, wanted: WantedFile) -> dict[Keys, Reason]:
        """Return the places of credentials that stay out because the user did not ask for them."""
        return self._places(wanted, dict.fromkeys(_ids(wanted), CUT_OUT)) if self._around.filler is None else {}

    def _places(self, wanted: WantedFile, told: Mapping[str, T]) -> dict[Keys, T]:
        """Return what is `told` about credentials by the places where they were cut out."""
        cuts = [cut for cut in wanted.cuts if str(cut.get("credential_id")) in told]
        if not cuts:
            return {}
        offsets = [int(cut["offset"]) for cut in cuts]
        places = find_secret_places(self._around.adapter, wanted.path, self._around.body(wanted), offsets)
        return {place: told[str(cut["credential_id"])] for place, cut in zip(places, cuts, strict=True)}

    # Stores ---------------------------------------------------------------------------------------------------------

    def _stores(
        self, stores: Mapping[str, WantedFile], rows: Mapping[str, WantedFile]
    ) -> tuple[list[CredentialDelivery], list[PlanItem]]:
        """Write stores that are files, and deliver those that are databases. Rows take precedence over files."""
        if self._around.filler is None:
            return [], [_left_out(wanted, CUT_OUT) for wanted in stores.values()]
        left: list[PlanItem] = []
        files: dict[str, bytes] = {}
        left_out: dict[Place, Reason] = {}
        for wanted in [*rows.values(), *stores.values()]:
            reason = self._rules.barred(wanted)
            name = self._home_name(wanted.path)
            if reason:
                left.append(_left_out(wanted, reason))
            elif name is None:
                files[wanted.path] = self._readable(wanted, self._around.whole(wanted)).data
                bound = self._bound_places(wanted).items()
                left_out |= {(wanted.path, place[:length]): why for place, why in bound for length in (1, 2)}
            else:
                self._merge(_PlacedFile(name, wanted))
        return self._deliveries(files, left_out), left


def find_state_dir_root(adapter: Adapter, installation: Installation | None) -> CaptureRoot | None:
    """Return the root of the state directory under `raw/<runtime>-home/`."""
    if installation is None or installation.state_dir is None:
        return None
    prefix = archive_layout.home_prefix(adapter.runtime)
    found = (root for root in adapter.roots(installation) if root.prefix == prefix)
    return next((root for root in found if root.folder.is_dir() or not os.path.lexists(root.folder)), None)


def _belongs_to_home(item: WantedFile, name: str, root: CaptureRoot, adapter: Adapter) -> bool:
    """Return whether a capture would take such a file or folder. An archive must not put others beside the runtime's
    own, where workspaces and credentials of other agents are."""
    is_folder = item.kind == FOLDER
    fits = may_hold if is_folder else lambda glob, name: fnmatchcase(name, glob)
    if root.only is not None and not any(fits(glob, name) for glob in root.only):
        return False
    return adapter.place(root.prefix + to_archive_name(name)[0], is_folder=is_folder) is not Placement.EXCLUDED


def _ids(wanted: WantedFile) -> Iterator[str]:
    return (str(cut.get("credential_id")) for cut in wanted.cuts)


def _private(wanted: WantedFile) -> WantedFile:
    """Restrict a file that held a credential to its owner, regardless of the rights that it had."""
    return replace(wanted, meta={**wanted.meta, "private": True}) if wanted.meta.get(entry_metas.CUTS) else wanted


def _left_out(item: WantedFile, reason: Reason) -> PlanItem:
    return PlanItem(item.name, RestoreAction.SKIP, Path(), item, kind=item.kind, reason=reason)
