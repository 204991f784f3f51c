"""Gather the facts about every agent from vaults, caches, workspaces and keys; `health.agent_status` judges them.

For workers and commands. The daemon gets the facts from its workers and judges them itself.
"""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import lost_agents, withheld_items
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.capture import mass_loss_guard, not_captured, rewrite_guard, secret_lookalikes
from lifeboat_core.capture.capture_report import FAILED, LAST_CAPTURE, ROOT_MISSING
from lifeboat_core.errors import ConfigError
from lifeboat_core.grants.agent_grant import read_grant
from lifeboat_core.grants.proposals import expire_old, read_book
from lifeboat_core.health.agent_status import (
    ERROR,
    FENCED,
    HELD,
    LOCAL,
    NEEDS_KEY,
    NEEDS_THE_USER,
    OK,
    OVERDUE,
    PAUSED,
    SYNCING,
    UNVERIFIED_FOR,
    WAITING,
    AgentStatus,
    AwakeTime,
    KeyFacts,
    Status,
    StatusFacts,
    judge_agent,
    make_verdict,
    summarize_agents,
)
from lifeboat_core.health.sleep_ledger import measure_awake_time
from lifeboat_core.history import vault_quota
from lifeboat_core.history.sequence_counts import read_counts
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import is_there
from lifeboat_core.machine import clock_trust
from lifeboat_core.purge.keep_out import FOUND, read_kept_out_lines, read_met_values
from lifeboat_core.remotes import remote_facts as remote_facts
from lifeboat_core.review.reviewed_until import ReviewedUntil
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.state.state_documents import load_credentials
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import path_text, quote_argument
from lifeboat_keys.home.home_keys import KeyStatus
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.vault import LAST_VERIFIED, Vault

__all__ = [
    "ERROR",
    "FENCED",
    "HELD",
    "NEEDS_KEY",
    "NEEDS_THE_USER",
    "OK",
    "OVERDUE",
    "PAUSED",
    "SYNCING",
    "UNVERIFIED_FOR",
    "WAITING",
    "AgentStatus",
    "AwakeTime",
    "KeyFacts",
    "Status",
    "StatusFacts",
    "gather_agent_status",
    "gather_facts",
    "gather_status",
    "make_key_facts",
    "make_verdict",
]

_LEAST_FREE = 1 << 20
"""Bytes that a small capture needs, with its log and caches."""
LAST_WHOLE = "last_whole"
"""The vault's decision that says when every kept sequence was verified: {sequence, time}."""
DAMAGED = "damaged"
"""The vault's decision with what a verification last found wrong: {sequence, whole, first}."""


def gather_status(context: Context, chosen: Agent | None = None) -> Status:
    """Return the status of everything, or of one agent and what it depends on. Never raises for a problem: the status
    says it."""
    key = make_key_facts(context.keys().status())
    wrong = _problems(context)
    try:
        found = list_agents(context) if chosen is None else [chosen]
        agents = [gather_agent_status(context, agent, key) for agent in found]
    except LifeboatError as error:
        agents, wrong = [], [*wrong, error.message]
    trusted = clock_trust.is_clock_trusted(context)
    return summarize_agents(agents, key, wrong, clock_trusted=trusted, now=context.clock.now())


def _problems(context: Context) -> list[str]:
    """Return for people what is wrong apart from agents."""
    try:
        problem = context.config().problem
        told = [] if problem is None else [f"{problem.message}; the last valid settings are in use"]
    except LifeboatError as error:
        told = [error.message]
    return [*told, *_unusable(context), *_full(context), *lost_agents.describe_lost_agents(context)]


def _full(context: Context) -> list[str]:
    """Check the disk: a capture that failed on a full disk could not write that down."""
    try:
        free = context.files.free_space(context.home.folder)
    except OSError:
        return []
    if free >= _LEAST_FREE:
        return []
    return [f"the disk with {context.home.folder} is full ({size_text(free)} free), so changes are not captured"]


def _unusable(context: Context) -> list[str]:
    """Say once why nothing can be kept, if that is so."""
    if context.home.is_read_only:
        return [f"{context.home.folder} is read-only: Lifeboat can read existing sequences, but captures nothing"]
    found = context.home.unusable_folders()
    return [
        f"your user has no permission to read and write {folder}; to allow it: chmod u+rwx "
        f"{quote_argument(str(folder))}"
        for folder in found
    ]


def make_key_facts(key: KeyStatus) -> KeyFacts:
    """Return the facts about the user's key."""
    return KeyFacts(str(key.state), key.key_id, None if key.store is None else str(key.store), key.note, key.proven_at)


def gather_agent_status(context: Context, agent: Agent, key: KeyFacts | KeyStatus) -> AgentStatus:
    """Return the status of one agent."""
    known = key if isinstance(key, KeyFacts) else make_key_facts(key)
    found = gather_facts(context, agent)
    return judge_agent(found, agent, known, context.clock.now(), measure_awake_time(context, agent, found))


def gather_facts(context: Context, agent: Agent) -> StatusFacts:
    """Return all facts about an agent. Writes nothing, and never raises for a problem."""
    is_gone = not agent.workspace.is_dir()
    try:
        with convert_system_errors(), context.vault(agent.id) as vault:
            return _of_vault(context, agent, vault, is_gone)
    except LifeboatError as error:
        fix = None if isinstance(error, VaultDamaged) else error.fix  # a verification could not open it either
        return StatusFacts(is_gone=is_gone, unreadable=error.message, vault_opened=False, vault_fix=fix)


def _of_vault(context: Context, agent: Agent, vault: Vault, is_gone: bool) -> StatusFacts:
    head = vault.head()
    verified: JsonObject = vault.get(LAST_VERIFIED) or {}
    whole: JsonObject = vault.get(LAST_WHOLE) or {}
    captured, alike, unread, cache_problem = _of_caches(context, vault)
    space = vault_quota.measure_quota(context, agent, vault)
    left = not_captured.parse_not_captured(captured)
    grant, waiting = read_grant(vault), expire_old(read_book(vault), context.now()).open
    return StatusFacts(
        sequence=None if head is None else head.number,
        last_captured_at=captured.get("time") or (None if head is None else head.recorded_at),
        last_verified_at=verified.get("time"),
        last_whole_at=whole.get("time"),
        verified_in=LOCAL if verified else None,
        verified_sequence=verified.get("sequence"),
        failed=captured.get(FAILED),
        damaged=vault.get(DAMAGED),
        pending=left.count,
        over_limit=left.over_limit,
        limit_fix=left.fix,
        unread=left.unread,
        pending_kinds=dict(left.kinds),
        absent=captured.get("absent"),
        reasons=(*(captured.get("warnings") or ()), *left.named),
        held=vault.get(mass_loss_guard.DECISION),
        missing=captured.get("outcome") == ROOT_MISSING,
        is_gone=is_gone,
        no_room=space.shortage() or captured.get("no_room"),
        kept_out=tuple(map(path_text, sorted(read_kept_out_lines(vault.get(FOUND))))),
        purged_again=tuple(map(path_text, sorted(read_met_values(vault.get(FOUND))))),
        gaps=tuple(map(path_text, sorted(withheld_items.list_paths_without_credentials(vault)))),
        shut=_shut(context, vault),
        lookalikes=sum(len(places) for places in alike.values()),
        not_looked_into=len(unread),
        vault_bytes=space.used,
        grant=None if grant is None else grant.to_json(context.now()),
        proposals=len(waiting),
        newest_proposal=max((one.number for one in waiting), default=0),
        unreviewed=_count_unreviewed(context, agent, vault),
        remotes=remote_facts.gather_remote_facts(context, vault, head),
        unreadable=cache_problem,
    )


def _count_unreviewed(context: Context, agent: Agent, vault: Vault) -> int:
    """Return how often memories changed since the last look, by the counts of the kept sequences. The review itself
    compares texts and may show fewer."""
    try:
        if context.setting("review", agent) == rewrite_guard.OFF:
            return 0
    except ConfigError:  # `status` says what is wrong with it
        return 0
    seen = ReviewedUntil.load(vault).sequence
    first = next(iter(vault.sequences(limit=1)), None)
    if first is None:
        return 0
    rows = vault.sequences(first.number if seen is None else seen)
    return sum(sum(read_counts(row.counts).get("records", {}).values()) for row in rows)


def _shut(context: Context, vault: Vault) -> tuple[str, ...]:
    """Return the labels of credentials of the newest state whose key was lost with a file of this home. None if their
    document is damaged, which a verification reports."""
    if vault.head() is None:
        return ()
    try:
        credentials = load_credentials(vault.state())
    except VaultDamaged:
        return ()
    found = context.keys().lost_pairs_of(vault.agent_id, credentials.values())
    return tuple(sorted(str(one.get("label") or one["id"]) for one in found))


def _of_caches(
    context: Context, vault: Vault
) -> tuple[JsonObject, secret_lookalikes.Places, dict[str, str], str | None]:
    """Return what the last capture said, what looks like a secret, what was not searched, and why the cache cannot be
    used; nothing before the first capture."""
    path = context.home.state_file(vault.agent_id)
    if not is_there(context.files, path):
        return {}, {}, {}, None
    with StateDb.open(path, vault.id) as db:
        captured = db.get(LAST_CAPTURE)
        if db.is_lasting:
            problem = None
        elif captured is None:
            problem = f"{path} cannot be read and written, so the result of the last capture is unknown"
        else:
            problem = f"{path} cannot be written, so the result of any capture after {captured.get('time')} is unknown"
        return captured or {}, secret_lookalikes.read_lookalikes(db), secret_lookalikes.read_opaque_files(db), problem
