"""Run a purge: preview it, sign the redaction, apply it here, and send it to every remote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.memory import primary_principal
from lifeboat_alf.purging.collateral_losses import black_out
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import RECORDS, WHOLE_AGENT, Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.grants.proposals import drop_proposals
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.purge import (
    agent_purge,
    histories,
    local_file_search,
    local_redaction,
    purge_search,
    purged_agent_files,
    receipt_signing,
    workspace_purge,
)
from lifeboat_core.purge.histories import Histories
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.purge.local_redaction import AppliedRedaction
from lifeboat_core.purge.purge_search import PurgeMatches, PurgeRequest
from lifeboat_core.purge.receipt_signing import UnreachableCopy
from lifeboat_core.remotes import remote_registry
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_keys.signed import redaction_signatures as signatures
from lifeboat_vault.errors import RemoteDenied, UnknownAtRemote

if TYPE_CHECKING:
    from lifeboat_core.remotes.contract import RemoteConfig
    from lifeboat_vault.remote.remote_contract import RemoteRedaction
    from lifeboat_vault.vault import Vault

TELLING = "Telling "
"""Progress text before the name of a remote."""
Owners = Mapping[str, str]
"""The second token of remotes by name, with which a purge does not wait there."""


@dataclass(slots=True)
class RemotePurge:
    """The result of sending a redaction to one remote: done, waiting (until `applies_at`) or pending, then with the
    reason."""

    name: str
    state: str
    applies_at: str | None = None
    message: str = ""

    def to_json(self) -> JsonObject:
        return asdict(self)


@dataclass(slots=True)
class PurgeResult:
    """A purge that was carried out here. `receipt` is its id."""

    receipt: str
    found: PurgeMatches | None
    applied: AppliedRedaction
    remotes: list[RemotePurge] = field(default_factory=list)
    unreachable: tuple[UnreachableCopy, ...] = ()
    partitions: tuple[str, ...] = ()
    records: int = 0


def preview_purge(
    context: Context, agent: Agent, request: PurgeRequest, tell: Tell = tell_nobody
) -> tuple[PurgeMatches, list[str]]:
    """Return what a purge would do, and warnings about the search. The present workspace is captured first, because
    everything is compared with the history. Raises PurgeError, Busy, VaultError."""
    warnings = _captured(context, agent) if request.capture else []
    with histories.open_histories(context, agent.id) as opened:
        asked = purge_search.search_remotes(context, agent, opened.own, tell)
        found = purge_search.find_purge_matches(context, agent, request, opened, asked, tell)
        if opened.own is not None and found.plan.leaves:
            redaction = _redaction(context, agent, request, found, opened)
            planned = KeepOut.planned(context, opened.own, redaction)
            found.live = workspace_purge.plan_workspace_purge(context, agent, opened.own, planned)
            found.has_weak = planned.has_weak
    reach_crash_point(CrashPoint.PURGE_FOUND)
    return found, warnings


def _captured(context: Context, agent: Agent) -> list[str]:
    """Capture the workspace. A failure does not prevent a purge of what is in the history."""
    try:
        capture_agent(context, agent)
    except LifeboatError as error:
        return [f"the current workspace was not captured: {error.message}"]
    return []


def purge_content(
    context: Context, agent: Agent, request: PurgeRequest, found: PurgeMatches, owners: Owners, tell: Tell = tell_nobody
) -> PurgeResult:
    """Do what `preview_purge` found, completely on this machine, then at every remote that answers. Raises what
    `apply_redaction` raises; failures of remotes are in the result."""
    with agent_lock(context, agent.id, "purge"):
        with histories.open_histories(context, agent.id) as opened:
            found = _fresh(context, agent, request, found, opened)
            redaction = signatures.sign_redaction(
                _redaction(context, agent, request, found, opened), context.keys().device
            )
            _take_names_away(request, opened)
        unreachable = tuple(_unreachable(found, request.wanted))
        applied = local_redaction.apply_redaction(
            context,
            agent,
            redaction,
            workspace=request.workspace,
            keep_print=request.keep_print,
            search=lambda opened: _searched(context, agent, request, opened),
            unreachable=unreachable,
            tell=tell,
        )
    remotes = _told(context, agent, redaction, owners, tell)
    return PurgeResult(redaction.id, found, applied, remotes, unreachable, found.plan.partitions)


def _take_names_away(request: PurgeRequest, opened: Histories) -> None:
    """Remove names of sequences and proposals that contain the text, before `apply_redaction` rewrites the vault."""
    for history in opened.open if request.wanted else ():
        for number in purge_search.find_named_sequences(history.vault, request.wanted):
            history.vault.label(number, None)
        drop_proposals(history.vault, purge_search.find_worded_proposals(history.vault, request.wanted))


def _fresh(
    context: Context, agent: Agent, request: PurgeRequest, found: PurgeMatches, opened: Histories
) -> PurgeMatches:
    """Return the matches, found again if something was captured or purged since."""
    own = opened.own
    head = None if own is None else own.head()
    number, purges = (None if head is None else head.number), (0 if own is None else len(own.redactions))
    if (number, purges) == (found.head, found.purges):
        return found
    return purge_search.find_purge_matches(context, agent, request, opened, found.remotes)


def _redaction(
    context: Context, agent: Agent, request: PurgeRequest, found: PurgeMatches, opened: Histories
) -> Redaction:
    now, plan = context.now(), found.plan
    return Redaction(
        id=ids.make_id(now),
        agent_id=agent.id,
        scope=RECORDS,
        reason=request.reason,
        requested_at=now,
        requested_by=_asker(agent, opened.own),
        record_ids=plan.record_ids,
        partitions_affected=plan.partitions,
        searched=found.searched,
        leaves=plan.leaves,
    )


def _asker(agent: Agent, vault: Vault | None) -> str:
    """Return the primary principal (ALF §3.1.11, `requested_by`)."""
    if vault is None or vault.head() is None:
        return agent.id
    return primary_principal.primary_principal_id(vault.state())


def _unreachable(found: PurgeMatches, wanted: PurgeTerms) -> list[UnreachableCopy]:
    """Return what could not be searched. It is written into the receipt, so the text is masked in names too."""
    offline = [
        UnreachableCopy(each.config.name, each.problem, "states that exist only on this remote")
        for each in found.remotes
        if each.problem
    ]
    versions = [
        UnreachableCopy(
            each.config.name, "the bucket keeps versions of deleted objects", "older versions of deleted objects"
        )
        for each in found.remotes
        if each.config.keeps_versions
    ]
    unread = [
        UnreachableCopy(black_out(name, wanted), why, "a file that was not searched")
        for name, why in found.looked.unread.items()
    ]
    opaque = [
        UnreachableCopy(black_out(name, wanted), form, "content that was not searched")
        for name, form in sorted(found.opaque.items())
    ]
    return [*offline, *versions, *unread, *opaque]


def _searched(context: Context, agent: Agent, request: PurgeRequest, opened: Histories) -> dict[str, int]:
    """Search once more at the end, and count the remaining hits. Live files are counted separately."""
    if not request.wanted:
        return {"bodies": sum(1 for each in opened.open for _ in each.vault.history()), "hits": 0}
    looked = purge_search.search_beside_histories(context, agent, request.wanted, opened)
    live = sum(sight.place == local_file_search.WORKSPACE for sight in looked.sights)
    beside = len(looked.sights) - live
    bodies, hits = purge_search.count_matching_bodies(opened, request.wanted)
    return {"bodies": bodies, "files": looked.files, "hits": hits + beside, "live": live}


# Second copies ------------------------------------------------------------------------------------------------------


def _told(context: Context, agent: Agent, redaction: Redaction, owners: Owners, tell: Tell) -> list[RemotePurge]:
    configs = remote_registry.list_remotes(context)
    answers = []
    for number, config in enumerate(configs):
        tell(f"{TELLING}{config.name}", number, len(configs))
        answers.append(_tell_one(context, agent, redaction, config.name, owners))
    return answers


def _tell_one(context: Context, agent: Agent, redaction: Redaction, name: str, owners: Owners) -> RemotePurge:
    """Send a redaction to one remote. A failure there does not affect this machine: it is sent again at the next
    contact."""
    try:
        with convert_system_errors():  # this disk may be full by now
            config = remote_registry.find_remote(context, name)
            state, message = _sent(context, agent, config, redaction, owners.get(name))
            if redaction.scope == WHOLE_AGENT:
                purged_agent_files.note_told(context, agent.id, config.id)
    except UnknownAtRemote:
        return RemotePurge(name, receipt_signing.DONE, None, "the remote has no data of the agent")
    except LifeboatError as error:
        return RemotePurge(name, receipt_signing.PENDING, None, error.message)
    if state.applies_at is not None:
        return RemotePurge(name, receipt_signing.WAITING, state.applies_at, message)
    return RemotePurge(name, receipt_signing.DONE)


def _sent(
    context: Context, agent: Agent, config: RemoteConfig, redaction: Redaction, owner: str | None
) -> tuple[RemoteRedaction, str]:
    """Send a redaction. If the second token is refused, send it without, so that it waits there. Return the state, and
    the reason for waiting or ""."""
    from lifeboat_core.remotes.redactions import purge_exchange

    try:
        return purge_exchange.send_redaction(context, agent, config, redaction, owner), ""
    except RemoteDenied as error:
        if owner is None:
            raise
        return purge_exchange.send_redaction(
            context, agent, config, redaction
        ), f"the remote rejected the given token of its owner: {error.message}"


# A whole agent ------------------------------------------------------------------------------------------------------


def purge_agent(context: Context, agent: Agent, reason: str, owners: Owners, tell: Tell = tell_nobody) -> PurgeResult:
    """Purge a whole agent: everything on this machine, then at every remote. Raises as `purge_content`."""
    with agent_lock(context, agent.id, "purge"):
        tell("Destroying all data of the agent on this machine", 0, None)
        with histories.open_histories(context, agent.id) as opened:
            records = 0 if opened.own is None else agent_purge.count_records(opened.own)
            redaction = signatures.sign_redaction(_whole(context, agent, reason, opened), context.keys().device)
        agent_purge.apply_agent_purge(context, agent, redaction)
    remotes = _told(context, agent, redaction, owners, tell)
    return PurgeResult(redaction.id, None, AppliedRedaction(), remotes, (), redaction.partitions_affected, records)


def _whole(context: Context, agent: Agent, reason: str, opened: Histories) -> Redaction:
    now, own = context.now(), opened.own
    return Redaction(
        id=ids.make_id(now),
        agent_id=agent.id,
        scope=WHOLE_AGENT,
        reason=reason,
        requested_at=now,
        requested_by=_asker(agent, own),
        partitions_affected=() if own is None else agent_purge.list_partitions(own),
    )
