"""A purge from the user's word to the proof: look, sign the redaction, destroy here, tell every second copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lifeboat_alf import ids, principals
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.purging.losses import blacked
from lifeboat_alf.purging.wanted import Wanted
from lifeboat_alf.redactions import RECORDS, WHOLE_AGENT, Redaction
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture.run import capture
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, quietly
from lifeboat_core.purge import applying, erased, erasing, finding, histories, places, receipts, workspace
from lifeboat_core.purge.applying import Applied
from lifeboat_core.purge.finding import Found
from lifeboat_core.purge.histories import Histories
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.purge.receipts import Unreachable
from lifeboat_core.purge.request import Request
from lifeboat_core.remotes import registry
from lifeboat_core.system_refusals import system_errors
from lifeboat_keys import redacting as signatures
from lifeboat_vault.errors import RemoteDenied, UnknownThere

if TYPE_CHECKING:
    from lifeboat_core.remotes.contract import RemoteConfig
    from lifeboat_vault.remote.contract import RedactionState
    from lifeboat_vault.vault import Vault

TELLING = "Telling "
"""With the name of a second copy: what a purge does there."""
Owners = Mapping[str, str]
"""The second token of a remote, by its name: with it the purge does not wait there."""


@dataclass(slots=True)
class Told:
    """What came of telling one second copy: done, waiting (until `applies_at`) or pending, and then why."""

    name: str
    state: str
    applies_at: str | None = None
    message: str = ""

    def to_json(self) -> JsonObject:
        return {"name": self.name, "state": self.state, "applies_at": self.applies_at, "message": self.message}


@dataclass(slots=True)
class Done:
    """A purge that was carried out here. `receipt` is its id."""

    receipt: str
    found: Found | None
    applied: Applied
    remotes: list[Told] = field(default_factory=list)
    unreachable: tuple[Unreachable, ...] = ()
    partitions: tuple[str, ...] = ()
    records: int = 0


def look(context: Context, agent: Agent, request: Request, tell: Tell = quietly) -> tuple[Found, list[str]]:
    """What a purge would do, and what was in the way of looking. What lies in the workspace now is captured first: the
    history is what everything is measured by. Raises PurgeError, Busy, VaultError."""
    warnings = _captured(context, agent) if request.capture else []
    with histories.opened(context, agent.id) as opened:
        asked = finding.ask(context, agent, opened.own, tell)
        found = finding.find(context, agent, request, opened, asked, tell)
        if opened.own is not None and found.plan.leaves:
            redaction = _redaction(context, agent, request, found, opened)
            planned = KeepOut.planned(context, opened.own, redaction)
            found.live = workspace.plan(context, agent, opened.own, planned)
            found.has_weak = planned.has_weak
    reached(Step.PURGE_FOUND)
    return found, warnings


def _captured(context: Context, agent: Agent) -> list[str]:
    """A capture that fails keeps nobody from purging what is in the history."""
    try:
        capture(context, agent)
    except LifeboatError as error:
        return [f"what lies in the workspace now was not captured: {error.message}"]
    return []


def purge(context: Context, agent: Agent, request: Request, found: Found, owners: Owners, tell: Tell = quietly) -> Done:
    """Do what `look` found, all of it on this machine, then at every second copy that answers. Raises what `apply`
    raises; what goes wrong at a second copy is in the result."""
    with agent_lock(context, agent.id, "purge"):
        with histories.opened(context, agent.id) as opened:
            found = _fresh(context, agent, request, found, opened)
            redaction = signatures.sign(_redaction(context, agent, request, found, opened), context.keys().device)
            _take_names_away(request, opened)
        unreachable = tuple(_unreachable(found, request.wanted))
        applied = applying.apply(
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
    return Done(redaction.id, found, applied, remotes, unreachable, found.plan.partitions)


def _take_names_away(request: Request, opened: Histories) -> None:
    """First of all: what `apply` then rewrites holds them no more."""
    for history in opened.open if request.wanted else ():
        for number in finding.named(history.vault, request.wanted):
            history.vault.label(number, None)


def _fresh(context: Context, agent: Agent, request: Request, found: Found, opened: Histories) -> Found:
    """What was found, or what is found now where something was captured or purged since."""
    own = opened.own
    head = None if own is None else own.head()
    number, purges = (None if head is None else head.number), (0 if own is None else len(own.redactions))
    if (number, purges) == (found.head, found.purges):
        return found
    return finding.find(context, agent, request, opened, found.remotes)


def _redaction(context: Context, agent: Agent, request: Request, found: Found, opened: Histories) -> Redaction:
    now, plan = context.now(), found.plan
    return Redaction(
        id=ids.new(now),
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
    """The primary principal (ALF §3.1.11, `requested_by`)."""
    if vault is None or vault.head() is None:
        return agent.id
    return principals.primary(vault.state())


def _unreachable(found: Found, wanted: Wanted) -> list[Unreachable]:
    """What nobody could look through. It stands in the receipt, so the text is blacked out in names, too."""
    offline = [
        Unreachable(each.config.name, each.problem, "states that only it has") for each in found.remotes if each.problem
    ]
    unread = [
        Unreachable(blacked(name, wanted), why, "a file that was not looked through")
        for name, why in found.looked.unread.items()
    ]
    opaque = [
        Unreachable(blacked(name, wanted), form, "content that was not looked into")
        for name, form in sorted(found.opaque.items())
    ]
    return [*offline, *unread, *opaque]


def _searched(context: Context, agent: Agent, request: Request, opened: Histories) -> dict[str, int]:
    """Once more, after everything: how many hits are left in what was purged. Live files count by themselves."""
    if not request.wanted:
        return {"bodies": sum(1 for each in opened.open for _ in each.vault.history()), "hits": 0}
    looked = finding.beside(context, agent, request.wanted, opened)
    live = sum(sight.place == places.WORKSPACE for sight in looked.sights)
    beside = len(looked.sights) - live
    bodies, hits = finding.count_in(opened, request.wanted)
    return {"bodies": bodies, "files": looked.files, "hits": hits + beside, "live": live}


# Second copies ------------------------------------------------------------------------------------------------------


def _told(context: Context, agent: Agent, redaction: Redaction, owners: Owners, tell: Tell) -> list[Told]:
    configs = registry.everyone(context)
    answers = []
    for number, config in enumerate(configs):
        tell(f"{TELLING}{config.name}", number, len(configs))
        answers.append(_tell_one(context, agent, redaction, config.name, owners))
    return answers


def _tell_one(context: Context, agent: Agent, redaction: Redaction, name: str, owners: Owners) -> Told:
    """Nothing that goes wrong there undoes what was done here: it is told again at the next contact."""
    try:
        with system_errors():  # this disk may be full by now, too
            config = registry.find(context, name)
            state, message = _sent(context, agent, config, redaction, owners.get(name))
            if redaction.scope == WHOLE_AGENT:
                erased.note_told(context, agent.id, config.id)
    except UnknownThere:
        return Told(name, receipts.DONE, None, "it has nothing of the agent")
    except LifeboatError as error:
        return Told(name, receipts.PENDING, None, error.message)
    if state.applies_at is not None:
        return Told(name, receipts.WAITING, state.applies_at, message)
    return Told(name, receipts.DONE)


def _sent(
    context: Context, agent: Agent, config: RemoteConfig, redaction: Redaction, owner: str | None
) -> tuple[RedactionState, str]:
    """With a second token that is refused it is told without one, so that it waits there; and why, else ""."""
    from lifeboat_core.remotes import redacting

    try:
        return redacting.send(context, agent, config, redaction, owner), ""
    except RemoteDenied as error:
        if owner is None:
            raise
        return redacting.send(context, agent, config, redaction), f"the second token was refused: {error.message}"


# A whole agent ------------------------------------------------------------------------------------------------------


def erase(context: Context, agent: Agent, reason: str, owners: Owners, tell: Tell = quietly) -> Done:
    """Purge a whole agent: everything of it on this machine, then at every second copy. Raises as `purge`."""
    with agent_lock(context, agent.id, "purge"):
        tell("Destroying everything on this machine", 0, None)
        with histories.opened(context, agent.id) as opened:
            records = 0 if opened.own is None else erasing.records_in(opened.own)
            redaction = signatures.sign(_whole(context, agent, reason, opened), context.keys().device)
        erasing.erase(context, agent, redaction)
    remotes = _told(context, agent, redaction, owners, tell)
    return Done(redaction.id, None, Applied(), remotes, (), redaction.partitions_affected, records)


def _whole(context: Context, agent: Agent, reason: str, opened: Histories) -> Redaction:
    now, own = context.now(), opened.own
    return Redaction(
        id=ids.new(now),
        agent_id=agent.id,
        scope=WHOLE_AGENT,
        reason=reason,
        requested_at=now,
        requested_by=_asker(agent, own),
        partitions_affected=() if own is None else erasing.partitions_of(own),
    )
