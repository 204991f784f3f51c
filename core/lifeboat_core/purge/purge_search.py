"""Search for the text of a purge: in every history of the agent here, states that only remotes keep, the live
workspace, undo folders and logs. Nothing is changed, and the text is not written anywhere."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from lifeboat_adapters.secrets.secret_prints import SecretPrints
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.decoding.unread_forms import unread_in
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.purging.collateral_losses import find_collateral_losses
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem, PurgeOptions
from lifeboat_alf.purging.purge_planner import plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.secret_cutter import DECISION as SECRETS
from lifeboat_core.grants.proposals import find_with_words, read_book
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, count_units, tell_nobody
from lifeboat_core.purge import histories, local_file_search
from lifeboat_core.purge.histories import Histories
from lifeboat_core.purge.local_file_search import FileSight, LocalFileSearch
from lifeboat_core.purge.memory_pieces import pieces_of
from lifeboat_core.purge.workspace_purge import WorkspaceRemoval
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.texts.human_text import file_name
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class PurgeRequest:
    """Records by id, and everything that has a text or matches a pattern. `wanted` is never written anywhere. `reason`
    is one of the four of ALF §3.1.11. `workspace`: purge the live files too; `capture`: capture the workspace first, so
    that the filter knows its text; `keep_print`: captures also recognise text that can be guessed."""

    record_ids: tuple[str, ...] = ()
    wanted: PurgeTerms = field(default_factory=PurgeTerms, repr=False)
    options: PurgeOptions = field(default_factory=PurgeOptions)
    reason: str = "user_request"
    workspace: bool = False
    capture: bool = True
    keep_print: bool = False


@dataclass(slots=True)
class RemoteSearch:
    """The search at one remote. `problem` says why it could not be asked; `only_there` are states that only the remote
    keeps, which were searched too."""

    config: RemoteConfig
    problem: str | None = None
    only_there: tuple[int, ...] = ()
    items: list[PurgeItem] = field(default_factory=list)


@dataclass(slots=True)
class KeptVersions:
    """The number of versions of one file or memory, and the first and last kept sequence with one of them."""

    versions: int
    first: int
    last: int


@dataclass(slots=True)
class PurgeMatches:
    """The result of a search. `head` and `purges` are the newest sequence and the number of redactions at that time:
    later ones have to be searched again. `sequences` are states with matches, `searched` all that were searched, `live`
    what can be removed from the workspace. `closed` are histories that do not open. `kept` has the states with matches
    by file and memory; `also` what these lose besides the matches, with those masked. `labels` are the names of
    sequences and the proposals with a match, which the purge removes. `opaque` is the form of each file that cannot be
    searched. `has_weak`: part of it can be guessed, so that no print of it is kept unless the user asks.
    """

    plan: CutPlan
    head: int | None
    purges: int
    sequences: tuple[int, ...]
    searched: tuple[int, ...]
    looked: LocalFileSearch
    remotes: list[RemoteSearch]
    closed: dict[str, str]
    elsewhere: dict[str, int] = field(default_factory=dict)
    sealed: bool = False
    live: list[WorkspaceRemoval] = field(default_factory=list)
    kept: dict[str, KeptVersions] = field(default_factory=dict)
    also: dict[str, list[str]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    opaque: dict[str, str] = field(default_factory=dict)
    has_weak: bool = False

    @property
    def is_purgeable(self) -> bool:
        """Return whether a purge would remove anything."""
        return bool(self.plan.leaves or self.labels)

    @property
    def sights(self) -> list[FileSight]:
        return self.looked.sights

    def __bool__(self) -> bool:
        return bool(self.plan.leaves or self.sights)


def find_purge_matches(
    context: Context,
    agent: Agent,
    request: PurgeRequest,
    opened: Histories,
    remotes: list[RemoteSearch],
    tell: Tell = tell_nobody,
) -> PurgeMatches:
    """Search everything. `remotes` is from `search_remotes`, which needs the network. Raises PurgeError for an id that
    no history knows and for a match of too much, VaultDamaged."""

    def items() -> Iterator[PurgeItem]:
        looked = count_units(tell, "Searching the histories", len(opened.open))
        for history in opened.open:
            yield from histories.iter_vault_items(history.vault)
            looked()
        for asked in remotes:
            yield from asked.items

    plan = plan_cuts(
        items, agent.id, request.record_ids, request.wanted, request.options, opened.redactions, pieces_of(context)
    )
    own = opened.own
    looked = (
        search_beside_histories(context, agent, request.wanted, opened)
        if request.wanted
        else LocalFileSearch([], 0, {})
    )
    numbers = [] if own is None else [row.number for row in own.sequences()]
    sequences, kept = ((), {}) if own is None else _kept(own, plan, numbers)
    return PurgeMatches(
        plan=plan,
        head=numbers[-1] if numbers else None,
        purges=0 if own is None else len(own.redactions),
        sequences=sequences,
        searched=tuple(sorted({*numbers, *(number for asked in remotes for number in asked.only_there)})),
        looked=looked,
        remotes=remotes,
        closed=opened.closed,
        elsewhere=_elsewhere(context, agent, request.wanted) if request.wanted else {},
        sealed=own is not None and _is_sealed(context, agent, own, request.wanted),
        kept=kept,
        also=find_collateral_losses(items, plan, request.wanted),
        labels=list(_matching_labels(opened, request.wanted)) if request.wanted else [],
        opaque={**looked.opaque, **_opaque(items())} if request.wanted else {},
    )


def _opaque(items: Iterable[PurgeItem]) -> dict[str, str]:
    """Return the form of entries, by name, that no search can read."""
    found: dict[str, str] = {}
    for item in items:
        if item.path is not None and item.path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)):
            with contextlib.suppress(KeyError):  # the body is not stored
                if form := unread_in(item.body()):
                    found[file_name(item.path)] = form
    return found


def search_beside_histories(context: Context, agent: Agent, wanted: PurgeTerms, opened: Histories) -> LocalFileSearch:
    """Search outside the histories, the names of sequences, and the proposals of the agent."""
    looked = local_file_search.search_local_files(context, agent, wanted)
    looked.sights += [FileSight(local_file_search.HOME, label, None, "") for label in _matching_labels(opened, wanted)]
    return looked


def _matching_labels(opened: Histories, wanted: PurgeTerms) -> Iterator[str]:
    """Yield the names of sequences, then the proposals that contain the text."""
    for history in opened.open:
        for number in find_named_sequences(history.vault, wanted):
            yield f"the name of sequence {number}"
    for history in opened.open:
        for number in find_worded_proposals(history.vault, wanted):
            yield f"proposal {number} of the agent"


def find_worded_proposals(vault: Vault, wanted: PurgeTerms) -> list[int]:
    """Return the numbers of the proposals whose words contain the text."""
    return find_with_words(read_book(vault), wanted.stands_in)


def find_named_sequences(vault: Vault, wanted: PurgeTerms) -> list[int]:
    """Return the sequences whose names contain the text."""
    return [row.number for row in vault.sequences() if row.label and wanted.spans("", row.label.encode())]


def _is_sealed(context: Context, agent: Agent, vault: Vault, wanted: PurgeTerms) -> bool:
    """Return whether a text is a secret that captures cut out: its sealed form reveals nothing without the
    user's key."""
    known = (vault.get(SECRETS) or {}).get("values", {})
    prints = SecretPrints(context.keys(), agent.id)
    return bool(known) and any(prints.of(text.encode()) in known for text in wanted.texts)


def _kept(vault: Vault, plan: CutPlan, numbers: list[int]) -> tuple[tuple[int, ...], dict[str, KeptVersions]]:
    """Return the kept states with affected leaves: all of them, and by archive path or memory id."""
    touched, found = set[int](), dict[str, KeptVersions]()
    for item in vault.history() if plan.leaves else ():
        held = _numbers_of(item.first, item.last, numbers)
        if item.leaf.digest not in plan.leaves or not held:
            continue
        touched.update(held)
        where = item.path or str(item.record_id)
        known = found.setdefault(where, KeptVersions(0, held[0], held[-1]))
        known.versions += 1
        known.first, known.last = min(known.first, held[0]), max(known.last, held[-1])
    return tuple(sorted(touched)), found


def _numbers_of(first: int, end: int | None, numbers: list[int]) -> list[int]:
    """Return the kept sequences from `first` up to, but without, `end`."""
    return numbers[bisect_left(numbers, first) : None if end is None else bisect_left(numbers, end)]


def _elsewhere(context: Context, agent: Agent, wanted: PurgeTerms) -> dict[str, int]:
    """Return other agents of this home whose histories match, as {name: places}. They are purged separately."""
    found: dict[str, int] = {}
    for other in agents.list_agents(context):
        if other.id != agent.id:
            with contextlib.suppress(LifeboatError), histories.open_histories(context, other.id) as opened:
                _, count = count_matching_bodies(opened, wanted)
                if count:
                    found[other.name] = count
    return found


def count_matching_bodies(opened: Histories, wanted: PurgeTerms) -> tuple[int, int]:
    """Return the number of bodies in all histories, and how many of them match."""
    bodies = hits = 0
    for item in opened.items():
        bodies += 1
        hits += _holds(item, wanted)
    return bodies, hits


def _holds(item: PurgeItem, wanted: PurgeTerms) -> bool:
    try:
        return bool(wanted.spans(item.path or item.partition or "", item.body()))
    except KeyError:  # the body is not stored
        return False


# Second copies ------------------------------------------------------------------------------------------------------


def search_remotes(context: Context, agent: Agent, vault: Vault | None, tell: Tell = tell_nobody) -> list[RemoteSearch]:
    """Search every remote for what only it keeps. Problems are in the results."""
    configs = remote_registry.list_remotes(context)
    found = []
    for number, config in enumerate(configs):
        tell(f"Searching the remote {config.name}", number, len(configs))
        found.append(_ask(context, agent, vault, config))
    return found


def _ask(context: Context, agent: Agent, vault: Vault | None, config: RemoteConfig) -> RemoteSearch:
    from lifeboat_core.remotes.redactions import remote_only_items
    from lifeboat_core.remotes.remote_kinds import open_remote

    if config.problem is not None:
        return RemoteSearch(config, config.problem)
    if vault is None:
        return RemoteSearch(config)
    try:
        with contextlib.closing(open_remote(context, config)) as remote:
            numbers = tuple(remote_only_items.list_remote_only_numbers(remote, agent.id, vault))
        items = (
            _items_of(remote_only_items.list_remote_only_items(context, agent, config, vault), vault) if numbers else []
        )
        return RemoteSearch(config, None, numbers, items)
    except LifeboatError as error:
        return RemoteSearch(config, error.message)


def _items_of(there: Iterator[PurgeItem], vault: Vault) -> list[PurgeItem]:
    """Return the bodies that this machine lacks, in memory: such states differ little from the ones here."""
    known = {item.leaf.digest for item in vault.history()}
    return [item._replace(body=partial(_same, item.body())) for item in there if item.leaf.digest not in known]


def _same(body: bytes) -> bytes:
    return body
