"""Plan a restore: what happens to which file, and what cannot be done and why. Nothing is written."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from lifeboat_adapters.contract import Adapter, Installation, Placement
from lifeboat_adapters.credential_types import CredentialDelivery
from lifeboat_adapters.memory_stores import DatabaseWrite, ServerWrite
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.redaction.redacted_state import RedactedState
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_alf.states.agent_state import Entry, State
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import NothingToRestore, RestoreError, UnknownAgent
from lifeboat_core.home import home_key
from lifeboat_core.home.context import Context
from lifeboat_core.restore import (
    carried_profiles,
    credential_fates,
    database_plan,
    disk_names,
    foreign_credentials,
    plan_warnings,
    restore_target,
    workspace_databases,
)
from lifeboat_core.restore import wanted_contents as contents_module
from lifeboat_core.restore.credential_fates import CredentialFate, Stands
from lifeboat_core.restore.credential_filler import CredentialFiller
from lifeboat_core.restore.disk_names import UnholdableName
from lifeboat_core.restore.file_decisions import DecisionRules, PlanItem, RestoreAction, decide_files
from lifeboat_core.restore.folder_tree import DiskTree, EmptyTree, FolderTree
from lifeboat_core.restore.hazards import Hazard, find_hazards
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.mapped_paths import map_contents
from lifeboat_core.restore.outside_parts import OutsideParts, divide_by_folder, find_outside_parts
from lifeboat_core.restore.plan_warnings import MOST_NAMES, group_by_reason, select_warned_items
from lifeboat_core.restore.refused_names import find_top_level_heads, reason_against
from lifeboat_core.restore.removed_files import find_captured_since, find_deleted_since
from lifeboat_core.restore.restore_options import RestoreOptions, decide_credentials
from lifeboat_core.restore.state_dir_plan import CUT_OUT, PlanningContext, StateDirPlan, plan_state_dir
from lifeboat_core.restore.target_installation import find_target_installation
from lifeboat_core.restore.wanted_contents import WantedContents, WantedFile, read_wanted_body
from lifeboat_core.state import state_documents
from lifeboat_core.state.state_documents import keeps_all_rights
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_keys.errors import KeysError, NoKey, SignedByAnother
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict
from lifeboat_vault.errors import VaultMissing
from lifeboat_vault.vault import state_inventory as inventories
from lifeboat_vault.vault.state_inventory import ProvenState, StateInventory

_DATABASE_ENDINGS = (".db", ".sqlite", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What a restore would do. `agent` is the registered agent, None for a state of an agent that this home does not
    have.

    `in_place` is true for the agent's own workspace; files are removed only there. `is_fresh` is true when the target
    is missing or empty. `hazards` are listed for unsigned states only. `deliveries` are run after all files are in
    place. `fates` say what becomes of each credential, if credentials are asked for, and `stands` where in the state
    each one is. `databases` are those among the items; `server` is what is put into a server afterwards. `filler` opens
    credentials if they are put back. `options` have the decision about that. `running` names a runtime that uses what
    would be written; `makes_home` says that the state directory is named or created. `new_profile` is where the folder
    profile of the runtime is written, if this machine has none.
    """

    id: str
    state: ProvenState
    inventory: StateInventory
    contents: WantedContents
    adapter: Adapter
    options: RestoreOptions
    verdict: SignatureVerdict
    agent: Agent | None
    agent_id: str
    agent_name: str
    target: Path
    in_place: bool
    is_fresh: bool
    installation: Installation | None
    filler: CredentialFiller | None
    items: list[PlanItem]
    deliveries: list[CredentialDelivery]
    stands: Stands
    fates: list[CredentialFate]
    unholdable: list[UnholdableName]
    hazards: list[Hazard]
    capabilities: list[JsonObject]
    warnings: list[str] = field(default_factory=list)
    without_credentials: list[str] = field(default_factory=list)
    databases: list[DatabaseWrite] = field(default_factory=list)
    server: ServerWrite | None = None
    running: str = ""
    makes_home: bool = False
    new_profile: Path | None = None

    @property
    def executable(self) -> list[str]:
        """Return each hazard with the tool that runs it or reads settings from it."""
        return [each.line for each in self.hazards]

    @property
    def sequence(self) -> int:
        return self.state.sequence.number

    @property
    def runtime(self) -> str:
        return self.adapter.runtime

    def count(self, action: RestoreAction) -> int:
        return sum(item.action == action for item in self.items)

    def skipped(self) -> list[PlanItem]:
        return [item for item in self.items if item.action == RestoreAction.SKIP]

    def warned_by_name(self) -> frozenset[tuple[Path, str]]:
        """Return root and name of each item that a warning names individually."""
        groups = group_by_reason(select_warned_items(self.items)).values()
        return frozenset((item.root, item.name) for found in groups if len(found) <= MOST_NAMES for item in found)

    def lost(self) -> list[PlanItem]:
        """Return what was asked for and the state cannot provide, which makes the restore a partial one."""
        return [item for item in self.items if item.lost]

    def lost_memories(self) -> list[str]:
        """Return the ids of memories with damaged records; their files are restored as captured."""
        return [] if self.options.path_globs else list(self.inventory.damaged_records)

    def to_json(self) -> JsonObject:
        """Return the document of `restore --dry-run --json`: the fields of the receipt so far, and every name that
        changes."""
        return {
            "agent": self.agent_id,
            "sequence": self.sequence,
            "time": self.state.sequence.time,
            "to": str(self.target),
            "runtime": self.runtime,
            "signature": str(self.verdict),
            "files": self.file_counts(),
            "items": [
                _item_json(item) for item in self.items if item.action != RestoreAction.SAME and not item.companion
            ],
            "absent": [{"filename": each.filename, "size": each.size} for each in self.contents.absent],
            "executable": self.executable,
            "capabilities_missing": self.capabilities,
            "credentials": [fate.to_json() for fate in self.fates],
            "unholdable": [{"name": make_printable(each.name), "reason": each.reason} for each in self.unholdable],
            "databases": [
                {"path": make_printable(str(write.path)), "changes": write.changes, "rows": dict(write.counts)}
                for write in self.databases
            ],
            "warnings": self.warnings,
            "with_credentials": self.filler is not None,
            "running": self.running or None,
        }

    def lacking(self) -> list[PlanItem]:
        """Return the files that lack their credentials: written with a gap, or not written."""
        return [item for item in self.items if item.wanted is not None and item.wanted.cuts and item.lacks_credentials]

    def filled(self) -> set[str]:
        """Return the ids of credentials that are in files of the workspace after the restore."""
        put = (each for each in self.items if each.action != RestoreAction.SKIP)
        stand = (each.wanted for each in put if is_of_workspace(each, self.target, self.adapter))
        files = (wanted for wanted in stand if wanted is not None and not wanted.has_gap)
        return {str(cut["credential_id"]) for wanted in files for cut in wanted.cuts}

    def count_replaced(self) -> int:
        """Return how many existing files would lose their content. Files that are merged only gain some."""
        overwritten = (item for item in self.items if item.action is RestoreAction.OVERWRITE and not item.companion)
        return sum(item.wanted is None or item.wanted.basis != contents_module.MERGED for item in overwritten)

    def file_counts(self) -> dict[str, int]:
        counted = Counter(item.action for item in self.items if not item.companion)
        return {
            "created": counted[RestoreAction.CREATE],
            "overwritten": counted[RestoreAction.OVERWRITE],
            "same": counted[RestoreAction.SAME],
            "removed": counted[RestoreAction.REMOVE],
            "skipped": counted[RestoreAction.SKIP],
        }


def _item_json(item: PlanItem) -> JsonObject:
    document: JsonObject = {"name": make_printable(item.name), "action": str(item.action), "kind": item.kind}
    if item.wanted is not None:
        document |= {"basis": item.wanted.basis, "size": item.wanted.size}
    if item.reason is not None:
        document |= {"reason": str(item.reason), "reason_code": str(item.reason.code)}
    return document


def plan_restore(
    context: Context,
    given: State,
    target_folder: Path | None,
    options: RestoreOptions,
    newest: State | None = None,
    *,
    partial: bool = False,
) -> RestorePlan:
    """Plan a restore of a state into a folder (None: the agent's own workspace). `newest` is the newest captured state
    of the agent, if there is one. `partial`: damaged entries of a signed state are left out and reported; otherwise,
    and in an unsigned state, one damaged entry refuses the whole state.

    Raises RestoreError.TARGET_REFUSED, SignatureError, RestoreError.UNSAFE_NAME, NothingToRestore, UnknownAgent,
    UnknownRuntime, RuntimeDatabaseError, AgentError.PROJECT_REFUSED.
    """
    state, verdict = _proven(context, _after_purges(context, given), options, partial=partial)
    if verdict is SignatureVerdict.SIGNED:
        context = carried_profiles.with_profiles(context, state)
    place = _place(context, state, target_folder, options)
    deleted = find_deleted_since(place.context, place.agent, state, place.adapter)
    contents, uncertain = _contents(state, verdict, place, deleted), list[str]()
    if options.paths:
        contents, uncertain = map_contents(state, contents, place.adapter, options.paths)
    options, filler = _with_filler(place, state, verdict, options)
    around = _around(place, state, contents, filler, options)
    outside = _outside(place, state, verdict, around)
    found = _outcome(around, place, deleted, newest, outside)
    plan = _plan(place, state, verdict, around, found)
    plan.warnings.extend([*uncertain, *outside.warnings])
    return plan


def _with_filler(
    place: _RestorePlace, state: State, verdict: SignatureVerdict, options: RestoreOptions
) -> tuple[RestoreOptions, CredentialFiller | None]:
    """Return the options with the decision about credentials, and what fills them in, None to leave them out."""
    is_signed, is_own = verdict is SignatureVerdict.SIGNED, place.own is not None
    filler = None
    if is_signed and options.with_credentials:
        filler = CredentialFiller.open(place.context, state)
    elif is_signed and is_own and options.with_credentials is None:
        filler = _filler_at_hand(place.context, state)
    wanted = decide_credentials(
        options.with_credentials, is_own_workspace=is_own, is_signed=is_signed, is_key_usable=filler is not None
    )
    return replace(options, with_credentials=wanted), filler if wanted else None


@dataclass(frozen=True, slots=True)
class _RestorePlace:
    """Where a restore goes. `context` follows no link below `folder`; `agent` is the registered agent, and `own` the
    same if the folder is its own workspace, else None."""

    context: Context
    folder: Path
    agent_id: str
    agent: Agent | None
    own: Agent | None
    adapter: Adapter
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class _PlanDecisions:
    """The decisions about everything that is restored."""

    items: list[PlanItem]
    home: StateDirPlan
    stored: database_plan.DatabasePlan
    deliveries: list[CredentialDelivery]
    stands: Stands
    fates: list[CredentialFate]


def _proven(
    context: Context, given: State, options: RestoreOptions, *, partial: bool
) -> tuple[ProvenState, SignatureVerdict]:
    """Read what is restored and verify its signature."""
    inventory = inventories.take_inventory(given)
    verdict = _verdict(context, given, inventory, options)
    inventory = inventories.prove_entries(given, inventory, _wanted_by(options))
    if inventory.damage is not None and not (partial and verdict is SignatureVerdict.SIGNED):
        raise inventory.damage
    return ProvenState(given, inventory), verdict


def _place(context: Context, state: State, target_folder: Path | None, options: RestoreOptions) -> _RestorePlace:
    agent_id = ids.as_uuid(state.sequence.agent_id)
    agent = find_registered_agent(context, agent_id)
    folder = _folder(target_folder, agent)
    restore_target.check_target(context, folder, agent)
    context = replace(context, files=FilesBeneath(context.files, [folder]))
    own = agent if agent is not None and folder == restore_target.resolve_target(agent.workspace) else None
    adapter = context.adapter(_runtime(state, own, options)).fitted_to(folder, state)
    return _RestorePlace(
        context, folder, agent_id, agent, own, adapter, restore_target.is_empty_folder(context.files, folder)
    )


def _contents(state: ProvenState, verdict: SignatureVerdict, place: _RestorePlace, deleted: set[str]) -> WantedContents:
    contents = contents_module.gather_contents(state, state.inventory, place.adapter)
    if verdict is not SignatureVerdict.SIGNED:
        _refuse_conflicts(contents)
    for name in deleted:
        contents.workspace.pop(name, None)
    return contents


def _outcome(
    around: PlanningContext,
    place: _RestorePlace,
    deleted: set[str],
    newest: State | None,
    outside: OutsideParts,
) -> _PlanDecisions:
    """Decide about each file, row and credential. Raises NothingToRestore, RestoreError.UNSAFE_NAME,
    RuntimeDatabaseError."""
    context, contents, options = place.context, around.contents, around.options
    goes = deleted if options.adopt else set()
    if place.own is not None:
        goes = find_captured_since(context, place.own, place.adapter, contents)
    removable = sorted(name for name in goes if options.wants(name) and not place.is_fresh)
    rules = _rules(place, around.state, around.filler, options)
    items = _workspace_items(around, removable, rules, outside)
    items = workspace_databases.add_database_logs(context, items, rules)
    translated = foreign_credentials.translate_credentials(around)
    items, became, translated = foreign_credentials.merge_into_workspace(around, place.folder, items, translated)
    home = plan_state_dir(around, translated.files)
    home.translated.update(became)
    is_same_agent = place.own is not None or (place.agent is not None and options.adopt)
    stored = database_plan.plan_databases(around, place.folder, newest if is_same_agent else None)
    in_workspace = (item for item in stored.items if item.root == place.folder)
    databases = {item.name: item.wanted for item in in_workspace if item.wanted is not None}
    contents_module.check_nothing_behind_links(contents.workspace | databases)
    items += [*home.items, *stored.items, *_lost(place.folder, contents, options)]
    sessions = database_plan.plan_sessions(around)
    has_a_server = stored.server is not None and stored.server.write is not None
    if not has_a_server and not any(item.action != RestoreAction.SKIP for item in items):
        refused = NothingToRestore(_nothing(items, options))
        raise refused.with_again("--state-dir", "FOLDER") if _needs_state_dir(items, options) else refused
    stands, fates = _credentials(around, home, translated, items, in_place=place.own is not None)
    return _PlanDecisions(items, home, stored, [*home.deliveries, *sessions], stands, fates)


def _workspace_items(
    around: PlanningContext, removable: Iterable[str], rules: DecisionRules, outside: OutsideParts
) -> list[PlanItem]:
    """Return the items of the workspace that the user asked for, and of its parts that lie `outside`."""
    contents, adapter, options = around.contents, around.adapter, around.options
    wanted = {name: each for name, each in contents.workspace.items() if options.wants(name)}
    left_out, heads = _databases_as_files(contents, adapter), find_top_level_heads(contents.workspace)
    against = {
        name: Reason(LeftOutCode.NEVER, reason=reason)
        for name, each in wanted.items()
        if (reason := reason_against(each, adapter, heads))
    }
    against |= dict.fromkeys(left_out & wanted.keys(), Reason(LeftOutCode.BY_ROWS))
    files = {name: each for name, each in wanted.items() if name not in against}
    skipped = [
        PlanItem(name, RestoreAction.SKIP, Path(), wanted[name], kind=wanted[name].kind, reason=reason)
        for name, reason in against.items()
    ]
    divided = divide_by_folder(around, files, removable, rules, outside)
    return [*(item for each in divided for item in decide_files(*each)), *skipped]


def _hazards(state: State, contents: WantedContents, items: Iterable[PlanItem]) -> list[Hazard]:
    """Return the hazards among what is written."""
    written = {item.wanted.path for item in items if item.wanted is not None and item.action != RestoreAction.SKIP}
    return [each for each in find_hazards(state, contents) if each.wanted is None or each.wanted.path in written]


def _wanted_by(options: RestoreOptions) -> Callable[[Entry], bool]:
    """Return a function that selects the entries to read before a restore: all except artifacts that were not asked
    for, which may be large."""

    def wants(entry: Entry) -> bool:
        is_artifact = entry.path.startswith(archive_layout.ARTIFACTS)
        return not is_artifact or options.wants(
            disk_names.name_on_disk(entry.path, entry.meta, archive_layout.ARTIFACTS)
        )

    return wants


def _refuse_conflicts(contents: WantedContents) -> None:
    """Raise RestoreError.UNSAFE_NAME for conflicting entries. Earlier releases signed such states, but a forged one
    could write through a link."""
    for each in contents.left_out:
        if each.code == contents_module.CONFLICT:
            raise RestoreError.UNSAFE_NAME(f"{make_printable(each.wanted.name)}: {each.reason}")


def _lost(folder: Path, contents: WantedContents, options: RestoreOptions) -> Iterator[PlanItem]:
    """Yield an item for everything that the state cannot provide."""
    for each in contents.left_out:
        if options.wants(each.wanted.name):
            wanted = each.wanted
            reason = Reason(LeftOutCode.LOST, problem=each.reason)
            yield PlanItem(
                wanted.name, RestoreAction.SKIP, folder, wanted, kind=wanted.kind, reason=reason, lost=each.code
            )


def _credentials(
    around: PlanningContext,
    home: StateDirPlan,
    translated: foreign_credentials.ForeignTranslation,
    items: list[PlanItem],
    *,
    in_place: bool,
) -> tuple[Stands, list[CredentialFate]]:
    """Return where each credential is, and what becomes of it; nothing when they are not asked for."""
    if around.filler is None:
        return {}, []
    state = around.state
    stands = credential_fates.find_stands(state, around.inventory, around.adapter, home, translated.places)
    travelled = not in_place or not credential_fates.is_of_this_device(around.context, state)
    return stands, credential_fates.decide_fates(
        state, stands, around.filler, items, home, translated.reasons, travelled=travelled
    )


def _databases_as_files(contents: WantedContents, adapter: Adapter) -> set[str]:
    """Return databases and logs that this runtime is never captured with as files. An archive may contain them, and
    they would replace what is written row by row."""
    prefix = archive_layout.raw_prefix(adapter.runtime)
    named = (name for name in contents.workspace if name.removesuffix("-wal").endswith(_DATABASE_ENDINGS))
    return {name for name in named if adapter.place(prefix + name, is_folder=False) is Placement.EXCLUDED}


def is_of_workspace(item: PlanItem, folder: Path, adapter: Adapter) -> bool:
    """Return whether a file belongs to the workspace `folder`, also in a part that lies outside of it."""
    own = archive_layout.raw_prefix(adapter.runtime)
    return item.root == folder or (item.wanted is not None and item.wanted.path.startswith(own))


def find_running_runtime(
    adapter: Adapter,
    installation: Installation | None,
    items: Iterable[PlanItem],
    folder: Path,
    writes: Iterable[DatabaseWrite],
) -> str:
    """Return the runtime that uses what a plan writes into the state directory or databases, "" when none does."""
    placement, databases = adapter.placement, adapter.databases
    if installation is None or placement is None:
        return ""
    files = databases.files(installation) if databases is not None else ()
    stores = {path for path in files if path.is_relative_to(folder)}
    written = [item for item in items if item.is_write]
    touched = any(not is_of_workspace(item, folder, adapter) or item.root / item.name in stores for item in written)
    return placement.running(installation) if touched or any(write.changes for write in writes) else ""


def _plan(
    place: _RestorePlace,
    state: ProvenState,
    verdict: SignatureVerdict,
    around: PlanningContext,
    found: _PlanDecisions,
) -> RestorePlan:
    written = [item.name for item in found.items if item.root == place.folder and item.action == RestoreAction.CREATE]
    running = find_running_runtime(place.adapter, around.installation, found.items, place.folder, found.stored.writes)
    new_profile = carried_profiles.find_new_profile(place.context, place.adapter)
    return RestorePlan(
        id=f"{place.context.clock.now():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}",
        state=state,
        inventory=state.inventory,
        contents=around.contents,
        adapter=place.adapter,
        options=around.options,
        verdict=verdict,
        agent=place.agent,
        agent_id=place.agent_id,
        agent_name=contents_module.read_agent_name(state) if place.agent is None else place.agent.name,
        target=place.folder,
        in_place=place.own is not None,
        is_fresh=place.is_fresh,
        installation=around.installation,
        filler=around.filler,
        items=found.items,
        deliveries=found.deliveries,
        stands=found.stands,
        fates=found.fates,
        unholdable=disk_names.find_unholdable_names(place.context.files, place.folder, written),
        hazards=[] if verdict is SignatureVerdict.SIGNED else _hazards(state, around.contents, found.items),
        capabilities=find_missing_capabilities(state, place.adapter),
        warnings=[
            *([] if new_profile is None else [carried_profiles.describe_new_profile(place.adapter, new_profile)]),
            *plan_warnings.warn_of_items(state, found.items, around.contents),
            *plan_warnings.warn_of_memories(state.inventory, around.options),
            *plan_warnings.warn_of_uncaptured(place.context, place.agent, state),
            *found.home.warnings,
            *plan_warnings.warn_of_databases(found.stored.writes, running),
        ],
        without_credentials=found.home.without_credentials,
        databases=found.stored.writes,
        server=found.stored.server,
        running=running,
        makes_home=around.is_new_here or around.options.state_dir is not None,
        new_profile=new_profile,
    )


def _outside(
    place: _RestorePlace, state: ProvenState, verdict: SignatureVerdict, around: PlanningContext
) -> OutsideParts:
    """Return the parts of the workspace that lie in other folders; none for a copy in a folder of the user's choice."""
    usual = place.adapter.usual_workspace(place.context.user_home, "main")
    is_home = place.folder == restore_target.resolve_target(usual)
    if verdict is not SignatureVerdict.SIGNED or not (place.own or around.options.adopt or is_home):
        return OutsideParts()
    return find_outside_parts(around, place.folder, state, replaces=place.own is not None)


def _around(
    place: _RestorePlace,
    state: ProvenState,
    contents: WantedContents,
    filler: CredentialFiller | None,
    options: RestoreOptions,
) -> PlanningContext:
    context, adapter = place.context, place.adapter
    found = find_target_installation(context, adapter, place.folder, state, place.own, options)
    server = str(context.setting("memory_server", place.agent))
    found = found.with_remote(bool(context.setting("remote_memory", place.agent)), server)
    barred = _barred(state, filler)

    def rules(home: Path) -> DecisionRules:
        return DecisionRules(home, DiskTree(context.files, home), _equal(state, filler), barred, keep=True)

    return PlanningContext(
        context,
        state,
        state.inventory,
        contents,
        adapter,
        found.installation,
        filler,
        options,
        {} if filler is None else credential_fates.find_bound_credentials(context, state),
        barred,
        rules,
        found.is_new,
    )


def _after_purges(context: Context, given: State) -> State:
    """Return a state after all redactions known here, which an old archive or a remote may lack."""
    agent = find_registered_agent(context, ids.as_uuid(given.sequence.agent_id))
    if agent is None:
        return given
    try:
        with context.vault(agent.id) as vault:
            known = vault.redactions
    except VaultMissing:
        return given
    return given if all(one.id in given.redactions for one in known) else RedactedState(given, known)


def _verdict(context: Context, given: State, inventory: StateInventory, options: RestoreOptions) -> SignatureVerdict:
    try:
        return inventories.check_signature(
            given, inventory, load_trusted_keys(context), accept_others=options.accept_unsigned
        )
    except SignedByAnother as error:
        if type(error) is not SignedByAnother:
            raise
        raise home_key.make_foreign_key_error(context, given.sequence) from None


def load_trusted_keys(context: Context) -> TrustedKeys | None:
    """Return the signers that this home trusts, None when it has no key."""
    try:
        return context.keys().trusted
    except NoKey:
        return None


def find_registered_agent(context: Context, agent_id: str) -> Agent | None:
    try:
        return agents.load_agent(context, agent_id)
    except UnknownAgent:
        return None


def _folder(target_folder: Path | None, agent: Agent | None) -> Path:
    if target_folder is not None:
        return restore_target.resolve_target(target_folder)
    if agent is None:
        raise UnknownAgent("this agent has no workspace on this machine", fix="the same command with --to FOLDER")
    return restore_target.resolve_target(agent.workspace)


def _runtime(state: State, agent: Agent | None, options: RestoreOptions) -> str:
    """Return the runtime to write for. `agent` is given for its own workspace: there, files of another runtime would
    duplicate its memories."""
    if agent is not None and options.runtime not in (None, agent.runtime):
        raise RestoreError.TARGET_REFUSED(
            f"{agent.workspace} is the workspace of {agent.name} in {agent.runtime}; an agent of "
            f"{options.runtime} needs another workspace",
            fix=f"lifeboat restore {quote_argument(agent.name)} --runtime {options.runtime} --to NEW-FOLDER",
        )
    if options.runtime:
        return options.runtime
    return agent.runtime if agent is not None else contents_module.find_source_runtime(state)


def _rules(
    place: _RestorePlace, state: State, filler: CredentialFiller | None, options: RestoreOptions
) -> DecisionRules:
    tree: FolderTree = EmptyTree() if place.is_fresh else DiskTree(place.context.files, place.folder)
    all_rights = keeps_all_rights(state)
    resets_folders = all_rights and place.own is not None and not options.path_globs and os.name != "nt"
    return DecisionRules(
        place.folder,
        tree,
        _equal(state, filler),
        _barred(state, filler),
        all_rights=all_rights,
        resets_folders=resets_folders,
    )


def _filler_at_hand(context: Context, state: State) -> CredentialFiller | None:
    """Return a filler for files of the workspace, None when the key is not here or is locked."""
    try:
        return CredentialFiller.open(context, state)
    except KeysError:
        return None


def _equal(state: State, filler: CredentialFiller | None) -> Callable[[WantedFile, bytes], bool]:
    barred = _barred(state, filler)

    def equal(wanted: WantedFile, data: bytes) -> bool:
        if wanted.data is not None and not wanted.data_is_cut:
            return data == wanted.data
        if wanted.entry is None:
            return False
        if not wanted.cuts:
            return data == wanted.data if wanted.data is not None else inventories.has_same_bytes(wanted.entry, data)
        body = read_wanted_body(state, wanted)
        if filler is None or barred(wanted):
            return data == body
        return filler.fill(wanted, body) == data

    return equal


def _barred(state: State, filler: CredentialFiller | None) -> Callable[[WantedFile], Reason | None]:
    def barred(wanted: WantedFile) -> Reason | None:
        if not wanted.cuts:
            return None
        return CUT_OUT if filler is None else filler.gap(wanted, read_wanted_body(state, wanted))

    return barred


def _needs_state_dir(items: list[PlanItem], options: RestoreOptions) -> bool:
    """Return whether nothing is written only because no state directory of the runtime is known."""
    left_out = [item.reason.code is LeftOutCode.NO_FOLDER for item in items if item.reason is not None]
    return options.state_dir is None and bool(left_out) and all(left_out)


def _nothing(items: list[PlanItem], options: RestoreOptions) -> str:
    if options.path_globs and not items:
        return f"no file matches {' '.join(options.path_globs)}"
    reasons = sorted({str(item.reason) for item in items if item.reason})
    return "; ".join(reasons) if reasons else "the state contains no file for this runtime"


def find_missing_capabilities(state: State, adapter: Adapter) -> list[JsonObject]:
    """Return the host-dependent capabilities that this machine lacks (ALF §3.2.6, §6.2)."""
    identity = state_documents.load_document(state, archive_layout.IDENTITY)
    return adapter.placement.missing_on_host(identity) if identity and adapter.placement is not None else []
