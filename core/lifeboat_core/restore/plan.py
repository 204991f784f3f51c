"""The plan of a restore: what happens to which file, what cannot be done and why. Nothing is written here."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from lifeboat_adapters.contract import Adapter, Installation, Placement
from lifeboat_adapters.credentials import Delivery
from lifeboat_adapters.memory_stores import DatabaseWrite, ServerWrite
from lifeboat_alf import ids, layout
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason
from lifeboat_alf.redacted_state import RedactedState
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_alf.state import Entry, State
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import NothingToRestore, TargetRefused, UnknownAgent, UnsafeName
from lifeboat_core.home import user_keys
from lifeboat_core.home.context import Context
from lifeboat_core.restore import contents as contents_module
from lifeboat_core.restore import credentials, databases, foreign, names, own_databases, plan_warnings, target
from lifeboat_core.restore import inventory as inventories
from lifeboat_core.restore.contents import Contents, Wanted, body_of
from lifeboat_core.restore.credentials import Fate, Stands
from lifeboat_core.restore.decide import Action, Item, Rules, decide
from lifeboat_core.restore.filling import Filler
from lifeboat_core.restore.hazards import Hazard, find_hazards
from lifeboat_core.restore.home_files import CUT_OUT, Around, HomePlan, plan_home
from lifeboat_core.restore.inventory import Inventory, Proven
from lifeboat_core.restore.names import Unholdable
from lifeboat_core.restore.never_written import heads_at_top, reason_against
from lifeboat_core.restore.options import RestoreOptions
from lifeboat_core.restore.plan_warnings import MOST_NAMES, are_warned_of, by_reason
from lifeboat_core.restore.reasons import LeftOutCode
from lifeboat_core.restore.removals import captured_since, deleted_since
from lifeboat_core.restore.surroundings import surroundings
from lifeboat_core.restore.tree import DiskTree, NoTree, Tree
from lifeboat_core.state import state_documents
from lifeboat_core.state.state_documents import keeps_all_rights
from lifeboat_core.texts.readable_json import printable
from lifeboat_core.texts.words import argument
from lifeboat_keys.errors import KeysError, NoKey, SignedByAnother
from lifeboat_keys.signing import Verdict
from lifeboat_keys.trusted import Trusted
from lifeboat_vault.errors import VaultMissing

_DATABASE_ENDINGS = (".db", ".sqlite", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a restore would do. `agent` is the registered agent, None for a state of an agent this home does not have.

    `in_place` is true for the agent's own workspace; only then files are removed. `is_fresh` is true when the target
    is missing or empty. `hazards` are listed for unsigned states only. `deliveries` are run after all files are in
    their places; `fates` say what becomes of each credential, where credentials are asked for, and `stands` where in
    the state each one stands. `databases` are those that are among the items, `server` is what is put into a server
    after that. `filler` opens credentials where they are asked for, `file_filler` also those of files in the agent's
    own workspace where the key is at hand. `running` names the runtime that is at work on what would be written, and
    `makes_home` says that the runtime's own folder is named or made.
    """

    id: str
    state: Proven
    inventory: Inventory
    contents: Contents
    adapter: Adapter
    options: RestoreOptions
    verdict: Verdict
    agent: Agent | None
    agent_id: str
    agent_name: str
    target: Path
    in_place: bool
    is_fresh: bool
    installation: Installation | None
    filler: Filler | None
    file_filler: Filler | None
    items: list[Item]
    deliveries: list[Delivery]
    stands: Stands
    fates: list[Fate]
    unholdable: list[Unholdable]
    hazards: list[Hazard]
    capabilities: list[JsonObject]
    warnings: list[str] = field(default_factory=list)
    without_credentials: list[str] = field(default_factory=list)
    databases: list[DatabaseWrite] = field(default_factory=list)
    server: ServerWrite | None = None
    running: str = ""
    makes_home: bool = False

    @property
    def executable(self) -> list[str]:
        """Return each hazard with the tool that runs or obeys it."""
        return [each.line for each in self.hazards]

    @property
    def sequence(self) -> int:
        return self.state.sequence.number

    @property
    def runtime(self) -> str:
        return self.adapter.runtime

    def count(self, action: Action) -> int:
        return sum(item.action == action for item in self.items)

    def skipped(self) -> list[Item]:
        return [item for item in self.items if item.action == Action.SKIP]

    def warned_by_name(self) -> frozenset[tuple[Path, str]]:
        """Return root and name of each item that a warning names by itself, not as one of many."""
        groups = by_reason(are_warned_of(self.items)).values()
        return frozenset((item.root, item.name) for found in groups if len(found) <= MOST_NAMES for item in found)

    def lost(self) -> list[Item]:
        """Return what was asked for and what the state cannot give: the restore is a partial one."""
        return [item for item in self.items if item.lost]

    def lost_memories(self) -> list[str]:
        """Return the ids of memories whose records do not hold; the files that they stand in are as captured."""
        return [] if self.options.path_globs else list(self.inventory.damaged_records)

    def to_json(self) -> JsonObject:
        """For `restore --dry-run --json`: the receipt's fields so far, and every name that is touched."""
        return {
            "agent": self.agent_id,
            "sequence": self.sequence,
            "time": self.state.sequence.time,
            "to": str(self.target),
            "runtime": self.runtime,
            "signature": str(self.verdict),
            "files": self.file_counts(),
            "items": [_item_json(item) for item in self.items if item.action != Action.SAME and not item.companion],
            "absent": [{"filename": each.filename, "size": each.size} for each in self.contents.absent],
            "executable": self.executable,
            "capabilities_missing": self.capabilities,
            "credentials": [fate.to_json() for fate in self.fates],
            "unholdable": [{"name": printable(each.name), "reason": each.reason} for each in self.unholdable],
            "databases": [
                {"path": printable(str(write.path)), "changes": write.changes, "rows": dict(write.counts)}
                for write in self.databases
            ],
            "warnings": self.warnings,
            "running": self.running or None,
        }

    def lacking(self) -> list[Item]:
        """Files that are left without their credentials: written with a gap, or not written."""
        return [item for item in self.items if item.wanted is not None and item.wanted.cuts and item.lacks_credentials]

    def filled(self) -> set[str]:
        """Ids of the credentials that stand in files of the workspace once the plan is carried out."""
        stand = (each.wanted for each in self.items if each.action != Action.SKIP and each.root == self.target)
        files = (wanted for wanted in stand if wanted is not None and not wanted.has_gap)
        return {str(cut["credential_id"]) for wanted in files for cut in wanted.cuts}

    def file_counts(self) -> dict[str, int]:
        counted = Counter(item.action for item in self.items if not item.companion)
        return {
            "created": counted[Action.CREATE],
            "overwritten": counted[Action.OVERWRITE],
            "same": counted[Action.SAME],
            "removed": counted[Action.REMOVE],
            "skipped": counted[Action.SKIP],
        }


def _item_json(item: Item) -> JsonObject:
    document: JsonObject = {"name": printable(item.name), "action": str(item.action), "kind": item.kind}
    if item.wanted is not None:
        document |= {"basis": item.wanted.basis, "size": item.wanted.size}
    return document | _reason_fields(item.reason)


def _reason_fields(reason: Reason | None) -> JsonObject:
    return {} if reason is None else {"reason": str(reason), "reason_code": str(reason.code)}


def plan(
    context: Context,
    given: State,
    target_folder: Path | None,
    options: RestoreOptions,
    newest: State | None = None,
    *,
    partial: bool = False,
) -> Plan:
    """Plan a restore of a state into a folder (None: the agent's own workspace). Reads, never writes. `newest` is the
    newest captured state of the agent, where there is one. `partial`: entries of a signed state whose bytes do not hold
    are left out and named; otherwise, and without a signature, one such entry refuses the whole state.

    Raises TargetRefused, SignatureError, UnsafeName, NothingToRestore, UnknownAgent, UnknownRuntime,
    RuntimeDatabaseError.
    """
    state, verdict = _proven(context, _after_purges(context, given), options, partial=partial)
    place = _place(context, state, target_folder, options)
    deleted = deleted_since(place.context, place.agent, state, place.adapter)
    contents = _contents(state, verdict, place, deleted)
    filler = Filler.open(place.context, state) if options.with_credentials and verdict is Verdict.SIGNED else None
    file_filler = filler or (_filler_at_hand(place.context, state) if verdict is Verdict.SIGNED and place.own else None)
    around = _around(place, state, contents, filler, options)
    found = _outcome(around, place, file_filler, deleted, newest)
    return _plan(place, state, verdict, around, found, file_filler)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a restore goes. `context` follows no link below `folder`; `agent` is the registered agent, and `own` the
    same where the folder is its own workspace, else None."""

    context: Context
    folder: Path
    agent_id: str
    agent: Agent | None
    own: Agent | None
    adapter: Adapter
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What becomes of everything that is restored."""

    items: list[Item]
    home: HomePlan
    stored: databases.DatabasePlan
    deliveries: list[Delivery]
    stands: Stands
    fates: list[Fate]


def _proven(context: Context, given: State, options: RestoreOptions, *, partial: bool) -> tuple[Proven, Verdict]:
    """Read what is restored and hold it against its signature."""
    inventory = inventories.take(given)
    verdict = _verdict(context, given, inventory, options)
    inventory = inventories.prove(given, inventory, _wanted_by(options))
    if inventory.damage is not None and not (partial and verdict is Verdict.SIGNED):
        raise inventory.damage
    return Proven(given, inventory), verdict


def _place(context: Context, state: State, target_folder: Path | None, options: RestoreOptions) -> _Place:
    agent_id = ids.as_uuid(state.sequence.agent_id)
    agent = registered(context, agent_id)
    folder = _folder(target_folder, agent)
    target.check(context, folder, agent)
    context = replace(context, files=FilesBeneath(context.files, [folder]))
    own = agent if agent is not None and folder == target.resolve(agent.workspace) else None
    adapter = context.adapter(_runtime(state, own, options))
    return _Place(context, folder, agent_id, agent, own, adapter, target.is_empty(context.files, folder))


def _contents(state: Proven, verdict: Verdict, place: _Place, deleted: set[str]) -> Contents:
    contents = contents_module.gather(state, state.inventory, place.adapter)
    if verdict is not Verdict.SIGNED:
        _refuse_conflicts(contents)
    for name in deleted:
        contents.workspace.pop(name, None)
    return contents


def _outcome(
    around: Around, place: _Place, file_filler: Filler | None, deleted: set[str], newest: State | None
) -> _Outcome:
    """Decide about each file, row and credential. Raises NothingToRestore, UnsafeName, RuntimeDatabaseError."""
    context, contents, options = place.context, around.contents, around.options
    goes = deleted if options.adopt else set()
    if place.own is not None:
        goes = captured_since(context, place.own, place.adapter, contents)
    removable = sorted(name for name in goes if options.wants(name) and not place.is_fresh)
    rules = _rules(place, around.state, file_filler, options)
    items = _workspace_items(contents, place.adapter, options, removable, rules)
    items = own_databases.with_logs(context, items, rules)
    translated = foreign.translated(around)
    home = plan_home(around, translated.files)
    is_same_agent = place.own is not None or (place.agent is not None and options.adopt)
    stored = databases.plan_databases(around, place.folder, newest if is_same_agent else None)
    contents_module.check_nothing_behind_links(contents.workspace | _files_in(place.folder, stored.items))
    items += [*home.items, *stored.items, *_lost(place.folder, contents, options)]
    sessions = databases.plan_sessions(around)
    has_a_server = stored.server is not None and stored.server.write is not None
    if not has_a_server and not any(item.action != Action.SKIP for item in items):
        raise NothingToRestore(_nothing(items, options))
    stands, fates = _credentials(around, home, translated, items, in_place=place.own is not None)
    return _Outcome(items, home, stored, [*home.deliveries, *sessions], stands, fates)


def _workspace_items(
    contents: Contents, adapter: Adapter, options: RestoreOptions, removable: Iterable[str], rules: Rules
) -> list[Item]:
    """What becomes of the workspace, as far as it is asked for."""
    wanted = {name: each for name, each in contents.workspace.items() if options.wants(name)}
    left_out, heads = _databases_as_files(contents, adapter), heads_at_top(contents.workspace)
    against = {
        name: Reason(LeftOutCode.NEVER, reason=reason)
        for name, each in wanted.items()
        if (reason := reason_against(each, adapter, heads))
    }
    against |= dict.fromkeys(left_out & wanted.keys(), Reason(LeftOutCode.BY_ROWS))
    files = {name: each for name, each in wanted.items() if name not in against}
    skipped = [
        Item(name, Action.SKIP, Path(), wanted[name], kind=wanted[name].kind, reason=reason)
        for name, reason in against.items()
    ]
    return [*decide(files, removable, rules), *skipped]


def _hazards(state: State, contents: Contents, items: Iterable[Item]) -> list[Hazard]:
    """Return what would be run or obeyed of what is written."""
    written = {item.wanted.path for item in items if item.wanted is not None and item.action != Action.SKIP}
    return [each for each in find_hazards(state, contents) if each.wanted is None or each.wanted.path in written]


def _wanted_by(options: RestoreOptions) -> Callable[[Entry], bool]:
    """Say which entries are read before a restore: all but artifacts that were not asked for, which may be large."""

    def wants(entry: Entry) -> bool:
        is_artifact = entry.path.startswith(layout.ARTIFACTS)
        return not is_artifact or options.wants(names.name_of(entry.path, entry.meta, layout.ARTIFACTS))

    return wants


def _refuse_conflicts(contents: Contents) -> None:
    """Raise UnsafeName. Earlier releases signed such states; a stranger makes one to write through a link."""
    for each in contents.left_out:
        if each.code == contents_module.CONFLICT:
            raise UnsafeName(f"{printable(each.wanted.name)}: {each.reason}")


def _lost(folder: Path, contents: Contents, options: RestoreOptions) -> Iterator[Item]:
    """Say of everything that the state cannot give that it is left out."""
    for each in contents.left_out:
        if options.wants(each.wanted.name):
            wanted = each.wanted
            reason = Reason(LeftOutCode.LOST, problem=each.reason)
            yield Item(wanted.name, Action.SKIP, folder, wanted, kind=wanted.kind, reason=reason, lost=each.code)


def _credentials(
    around: Around, home: HomePlan, translated: foreign.Foreign, items: list[Item], *, in_place: bool
) -> tuple[Stands, list[Fate]]:
    """Where each credential stands, and what becomes of it; nothing where they are not asked for."""
    if around.filler is None:
        return {}, []
    state = around.state
    stands = credentials.stands_of(state, around.inventory, around.adapter, home, translated.places)
    travelled = not in_place or not credentials.is_of_this_device(around.context, state)
    return stands, credentials.fates(state, stands, around.filler, items, home, translated.reasons, travelled=travelled)


def _databases_as_files(contents: Contents, adapter: Adapter) -> set[str]:
    """Databases and their logs that this runtime is never captured with as files: one that an archive holds all the
    same would take the place of what is read and written row by row."""
    prefix = layout.raw_prefix(adapter.runtime)
    named = (name for name in contents.workspace if name.removesuffix("-wal").endswith(_DATABASE_ENDINGS))
    return {name for name in named if adapter.place(prefix + name, is_folder=False) is Placement.EXCLUDED}


def _files_in(folder: Path, items: Iterable[Item]) -> dict[str, Wanted]:
    return {item.name: item.wanted for item in items if item.root == folder and item.wanted is not None}


def running_at(
    adapter: Adapter,
    installation: Installation | None,
    items: Iterable[Item],
    folder: Path,
    writes: Iterable[DatabaseWrite],
) -> str:
    """The runtime that is at work on what a plan writes into its own folder or its databases, "" when none is."""
    if installation is None:
        return ""
    stores = {path for path in adapter.databases(installation) if path.is_relative_to(folder)}
    written = [item for item in items if item.is_write]
    touched = any(item.root != folder or folder / item.name in stores for item in written)
    return adapter.running(installation) if touched or any(write.changes for write in writes) else ""


def _plan(
    place: _Place, state: Proven, verdict: Verdict, around: Around, found: _Outcome, file_filler: Filler | None
) -> Plan:
    written = [item.name for item in found.items if item.root == place.folder and item.action == Action.CREATE]
    running = running_at(place.adapter, around.installation, found.items, place.folder, found.stored.writes)
    return Plan(
        id=f"{place.context.clock.now():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}",
        state=state,
        inventory=state.inventory,
        contents=around.contents,
        adapter=place.adapter,
        options=around.options,
        verdict=verdict,
        agent=place.agent,
        agent_id=place.agent_id,
        agent_name=contents_module.agent_name(state) if place.agent is None else place.agent.name,
        target=place.folder,
        in_place=place.own is not None,
        is_fresh=place.is_fresh,
        installation=around.installation,
        filler=around.filler,
        file_filler=file_filler,
        items=found.items,
        deliveries=found.deliveries,
        stands=found.stands,
        fates=found.fates,
        unholdable=names.unholdable(place.context.files, place.folder, written),
        hazards=[] if verdict is Verdict.SIGNED else _hazards(state, around.contents, found.items),
        capabilities=missing_capabilities(state, place.adapter),
        warnings=[
            *plan_warnings.of_items(state, found.items, around.contents),
            *plan_warnings.of_memories(state.inventory, around.options),
            *plan_warnings.of_what_was_not_captured(place.context, place.agent, state),
            *found.home.warnings,
            *plan_warnings.of_databases(found.stored.writes, running),
        ],
        without_credentials=found.home.without_credentials,
        databases=found.stored.writes,
        server=found.stored.server,
        running=running,
        makes_home=around.is_new_here or around.options.state_dir is not None,
    )


def _around(place: _Place, state: Proven, contents: Contents, filler: Filler | None, options: RestoreOptions) -> Around:
    context, adapter = place.context, place.adapter
    found = surroundings(context, adapter, place.folder, state, place.own, options)
    server = str(context.setting("memory_server", place.agent))
    found = found.with_remote(bool(context.setting("remote_memory", place.agent)), server)
    barred = _barred(state, filler)

    def rules(home: Path) -> Rules:
        return Rules(home, DiskTree(context.files, home), _equal(state, filler), barred, keep=True)

    return Around(
        context,
        state,
        state.inventory,
        contents,
        adapter,
        found.installation,
        filler,
        options,
        {} if filler is None else credentials.bound_elsewhere(context, state),
        barred,
        rules,
        found.is_new,
    )


def _after_purges(context: Context, given: State) -> State:
    """A state as it reads after everything that was purged here: an old archive or a remote may not know of it."""
    agent = registered(context, ids.as_uuid(given.sequence.agent_id))
    if agent is None:
        return given
    try:
        with context.vault(agent.id) as vault:
            known = vault.redactions
    except VaultMissing:
        return given
    return given if all(one.id in given.redactions for one in known) else RedactedState(given, known)


def _verdict(context: Context, given: State, inventory: Inventory, options: RestoreOptions) -> Verdict:
    try:
        return inventories.check_signature(given, inventory, trusted(context), accept_others=options.accept_unsigned)
    except SignedByAnother as error:
        if type(error) is not SignedByAnother:
            raise
        raise user_keys.signed_by_another(context, given.sequence) from None


def trusted(context: Context) -> Trusted | None:
    """Whose signatures this home trusts, None when it has no key."""
    try:
        return context.keys().trusted
    except NoKey:
        return None


def registered(context: Context, agent_id: str) -> Agent | None:
    try:
        return agents.read(context, agent_id)
    except UnknownAgent:
        return None


def _folder(target_folder: Path | None, agent: Agent | None) -> Path:
    if target_folder is not None:
        return target.resolve(target_folder)
    if agent is None:
        raise UnknownAgent("this agent has no workspace here; name a folder", fix="lifeboat restore AGENT --to FOLDER")
    return target.resolve(agent.workspace)


def _runtime(state: State, agent: Agent | None, options: RestoreOptions) -> str:
    """`agent` is given for its own workspace: files of another runtime among its own would be its memories twice."""
    if agent is not None and options.runtime not in (None, agent.runtime):
        raise TargetRefused(
            f"{agent.workspace} is {agent.name}'s workspace in {agent.runtime}; for {options.runtime} it needs another",
            fix=f"lifeboat restore {argument(agent.name)} --runtime {options.runtime} --to NEW-FOLDER",
        )
    if options.runtime:
        return options.runtime
    return agent.runtime if agent is not None else contents_module.source_runtime(state)


def _rules(place: _Place, state: State, filler: Filler | None, options: RestoreOptions) -> Rules:
    tree: Tree = NoTree() if place.is_fresh else DiskTree(place.context.files, place.folder)
    all_rights = keeps_all_rights(state)
    resets_folders = all_rights and place.own is not None and not options.path_globs and os.name != "nt"
    return Rules(
        place.folder,
        tree,
        _equal(state, filler),
        _barred(state, filler),
        all_rights=all_rights,
        resets_folders=resets_folders,
    )


def _filler_at_hand(context: Context, state: State) -> Filler | None:
    """Open credentials of the workspace without being asked to: None where the key is not here, or is locked."""
    try:
        return Filler.open(context, state)
    except KeysError:
        return None


def _equal(state: State, filler: Filler | None) -> Callable[[Wanted, bytes], bool]:
    barred = _barred(state, filler)

    def equal(wanted: Wanted, data: bytes) -> bool:
        if wanted.data is not None and not wanted.data_is_cut:
            return data == wanted.data
        if wanted.entry is None:
            return False
        if not wanted.cuts:
            return data == wanted.data if wanted.data is not None else inventories.same_bytes(wanted.entry, data)
        body = body_of(state, wanted)
        if filler is None or barred(wanted):
            return data == body
        return filler.fill(wanted, body) == data

    return equal


def _barred(state: State, filler: Filler | None) -> Callable[[Wanted], Reason | None]:
    def barred(wanted: Wanted) -> Reason | None:
        if not wanted.cuts:
            return None
        return CUT_OUT if filler is None else filler.gap(wanted, body_of(state, wanted))

    return barred


def _nothing(items: list[Item], options: RestoreOptions) -> str:
    if options.path_globs and not items:
        return f"no file fits {' '.join(options.path_globs)}"
    reasons = sorted({str(item.reason) for item in items if item.reason})
    return "; ".join(reasons) if reasons else "the state holds no files of this runtime"


def missing_capabilities(state: State, adapter: Adapter) -> list[JsonObject]:
    """Host-dependent capabilities that this machine lacks (ALF §3.2.6, §6.2)."""
    identity = state_documents.of(state, layout.IDENTITY)
    return adapter.missing_on_host(identity) if identity else []
