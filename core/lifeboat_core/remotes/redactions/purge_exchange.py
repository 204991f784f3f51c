"""Exchange purges with remotes, before anything else is sent to a remote (see
`lifeboat_alf.redaction.redactions`).

What was purged elsewhere is learnt here, and what was purged here is told there. The remote is not trusted: a redaction
that it lists counts if a trusted key signed it, and what it says it destroyed counts if its receipt is valid.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction.joined_redactions import find_overriding, order_redactions
from lifeboat_alf.redaction.redactions import NONE, WHOLE_AGENT, Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import Busy, ConfigError, OtherVault
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import Mendable, RemoteConfig
from lifeboat_core.remotes.redactions.listed_redactions import ListedRedactions, check_erasure, load_listed
from lifeboat_core.remotes.redactions.purge_notes import PurgeNotes
from lifeboat_core.remotes.redactions.remote_only_items import list_remote_only_items as list_remote_only_items
from lifeboat_core.remotes.remote_kinds import check_identity, open_remote
from lifeboat_vault.errors import AgentErased, PurgesDamaged, RemoteDenied, RemoteError, UnknownAtRemote, VaultMissing
from lifeboat_vault.remote.remote_contract import Remote, RemoteRedaction
from lifeboat_vault.vault import Vault

T = TypeVar("T")

UNTRUSTED = (
    "the remote applied a purge that was signed with a revoked key. Other machines learn of the "
    "purge only when the owner of the remote confirms it: lifeboat receipts confirm"
)
PATIENCE = 30.0
"""Seconds to wait for the lock of an agent: a capture is over by then, a restore may take longer."""
_LOOK_AGAIN = 0.3


@dataclass(frozen=True, slots=True)
class PurgeExchangeResult:
    """What an exchange did. `learnt` were applied here; `told` are those that the remote was told of or asked about,
    with their state there; `doubts` say, for people, what it lists or says that does not count."""

    learnt: tuple[str, ...] = ()
    told: tuple[RemoteRedaction, ...] = ()
    doubts: tuple[str, ...] = ()


def exchange_purges(
    context: Context,
    agent: Agent,
    config: RemoteConfig,
    vault: Vault,
    remote: Remote,
    *,
    owners: Mapping[str, str] | None = None,
    resigned: bool = False,
) -> PurgeExchangeResult:
    """Exchange the purges of an agent with a remote.

    The purges that the remote holds are fetched; those that are new and count are applied here. The remote is told, in
    the order of their making, of those that it lacks, and asked about those whose wait is over. A remote that has
    nothing of the agent is told nothing.

    `owners`: the token of the owner of the data there, by the id of the redaction. `resigned`: the history there was
    signed again a moment ago, so purges that it has under the former key are sent again, and every refused one is asked
    about.

    Raises NoKey, Busy (the agent's lock is held for long), AgentErased (see `heed_erasure`), RemoteError.
    """
    found = _listed(context, agent, config, vault, remote)
    learnt, impossible = _learn(context, agent, vault, found)
    telling = _RedactionTeller(context, agent, config, vault, remote, found, owners or {}, resigned=resigned)
    told = tuple(telling.all())
    doubts = (*found.refused, *impossible, *telling.doubts)
    PurgeNotes(context, config, vault).doubt(doubts)
    return PurgeExchangeResult(learnt, told, doubts)


def send_redaction(
    context: Context, agent: Agent, config: RemoteConfig, redaction: Redaction, owner: str | None = None
) -> RemoteRedaction:
    """Tell one remote of a purge now, with the token of the `owner` of the data there so that it does not wait.

    Its state there is noted. Works also for an agent that was purged whole, of which nothing is left here.

    Raises UnknownAtRemote (it has nothing of the agent), RemoteError, OtherVault, ConfigError, and what
    `exchange_purges` raises.
    """
    with contextlib.ExitStack() as stack:
        vault = _vault(context, agent, stack)
        try:
            remote = stack.enter_context(contextlib.closing(open_remote(context, config)))
            check_identity(context, config, remote)
            found = ListedRedactions()
            if redaction.scope != WHOLE_AGENT:
                found = _listed(context, agent, config, vault, remote)
                if vault is not None:
                    _learn(context, agent, vault, found)
        except (RemoteError, OtherVault, ConfigError) as error:
            if not isinstance(error, AgentErased):
                PurgeNotes(context, config, vault).failed(redaction, error, soon=error.retryable)
            raise
        owners = {} if owner is None else {redaction.id: owner}
        return _RedactionTeller(context, agent, config, vault, remote, found, owners).with_joint(redaction)


@contextmanager
def heed_erasure(context: Context, agent: Agent) -> Iterator[None]:
    """Erase an agent here if a remote says inside the block that it was purged whole, and a trusted key signed that.

    The agent's vault must not be open. The workspace is not touched.

    Raises AgentErased then; RemoteDamaged where no trusted key signed it, and nothing is done.
    """
    try:
        yield
    except AgentErased as error:
        redaction = check_erasure(error, agent.id, context.keys().trusted)
        from lifeboat_core.purge import agent_purge

        retry_while_busy(partial(agent_purge.apply_agent_purge, context, agent, redaction))
        raise


def retry_while_busy(work: Callable[[], T]) -> T:
    """Retry work that needs an agent's lock while another process holds it. Raises Busy in the end."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except Busy:
            if time.monotonic() >= until:
                raise
            time.sleep(_LOOK_AGAIN)


def _learn(
    context: Context, agent: Agent, vault: Vault, found: ListedRedactions
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Apply the new redactions in the order of the list; before each one those that cut more of the same.

    Return the ids of what was applied, and what is wrong with those that cannot be applied: they delay no other one.
    """
    from lifeboat_core.purge import local_redaction

    known = vault.redactions
    fresh = order_redactions([redaction for redaction in found.counting if redaction.id not in known], known)
    learnt, doubts = list[str](), list[str]()
    for redaction in fresh:
        try:
            retry_while_busy(partial(local_redaction.apply_redaction, context, agent, redaction))
            learnt.append(redaction.id)
        except RedactionInvalid as error:
            doubts.append(f"the remote lists the purge {redaction.id}, which cannot be applied: {error.message}")
    return tuple(learnt), tuple(doubts)


def _listed(
    context: Context, agent: Agent, config: RemoteConfig, vault: Vault | None, remote: Remote
) -> ListedRedactions:
    """Return what a remote lists. A damaged list is written again first if this machine knows its content."""
    known = NONE if vault is None else vault.redactions
    try:
        return load_listed(remote, agent.id, context.keys().trusted, known)
    except PurgesDamaged:
        if vault is None or not isinstance(remote, Mendable):
            raise
        every = [row.redaction for row in vault.redaction_rows()]
        told = acknowledged_states.load_acknowledged(vault).get(config.id, AcknowledgedState()).purges
        remote.mend_purges(agent.id, [[each for each in every if each.id in told], every])
        return load_listed(remote, agent.id, context.keys().trusted, known)


def _vault(context: Context, agent: Agent, stack: contextlib.ExitStack) -> Vault | None:
    try:
        return stack.enter_context(context.vault(agent.id))
    except VaultMissing:
        return None


class _RedactionTeller:
    """Tells one remote of redactions, and notes what it answers."""

    def __init__(
        self,
        context: Context,
        agent: Agent,
        config: RemoteConfig,
        vault: Vault | None,
        remote: Remote,
        found: ListedRedactions,
        owners: Mapping[str, str],
        *,
        resigned: bool = False,
    ) -> None:
        self._context = context
        self._agent = agent
        self._config = config
        self._vault = vault
        self._remote = remote
        self._found = found
        self._owners = owners
        self._resigned = resigned
        self._notes = PurgeNotes(context, config, vault)
        self.doubts: list[str] = []

    def all(self) -> Iterator[RemoteRedaction]:
        """Tell the remote of the redactions of this vault that are due.

        Raises RemoteError for one that it does not hold yet and may accept later: what this machine sends would not
        fit.
        """
        assert self._vault is not None
        redactions = order_redactions(row.redaction for row in self._vault.redaction_rows())
        if not self._has_something():
            self._notes.nothing_there()
            return
        for redaction in redactions:
            if not self._is_due(redaction):
                continue
            try:
                yield self.one(redaction)
            except AgentErased:
                raise
            except RemoteError as error:  # it is reported, and what was captured is sent all the same
                if error.retryable and (redaction.id not in self._found.ids or self._is_signed_anew(redaction)):
                    raise

    def with_joint(self, redaction: Redaction) -> RemoteRedaction:
        """Tell of a redaction after those that say what it leaves of bytes that another machine purged too.

        A user who confirms one confirms no other (see `redaction_joining`). Raises RemoteError.
        """
        for each in () if self._vault is None else find_overriding(self._vault.redactions, redaction):
            if each.id not in self._found.ids:
                self.one(each)
        return self.one(redaction)

    def one(self, redaction: Redaction) -> RemoteRedaction:
        """Tell of one redaction. Raises RemoteError after it was noted."""
        owner = self._owners.get(redaction.id)
        try:
            state = self._remote.redact(self._agent.id, redaction.to_json(), owner=owner)
        except AgentErased:
            raise
        except RemoteError as error:
            if owner is not None and isinstance(error, RemoteDenied):  # a wrong token changes nothing there
                raise
            if not isinstance(error, UnknownAtRemote) or self._has_something():
                is_held = redaction.id in self._found.ids
                if self._is_signed_anew(redaction):  # the purge has been carried out there
                    raise
                self._notes.failed(redaction, error, soon=error.retryable and not is_held)
            raise
        reach_crash_point(CrashPoint.PURGE_SENT)
        unsearched = self._unsearched(redaction, state)
        kind, doubt = self._remote.about().kind, self._doubt_of_erased(redaction)
        self._notes.stands(redaction, state, kind=kind, unsearched=unsearched, doubt=doubt)
        reach_crash_point(CrashPoint.PURGE_NOTED)
        return state

    def _has_something(self) -> bool:
        """Return whether the remote has or had the agent: a remote that forgot it, or knows nothing of purges, is
        asked."""
        if self._vault is None:
            return False
        known = self._known()
        return self._found.is_known or known.number is not None or known.sent is not None

    def _is_due(self, redaction: Redaction) -> bool:
        is_listed = redaction.id in self._found.ids
        noted = self._known().purges.get(redaction.id)
        if noted is None or redaction.id in self._owners:
            return True
        if noted.is_done and not is_listed:
            self.doubts.append(
                f"the remote's list did not contain the purge {redaction.id}, so Lifeboat sent the purge again"
            )
            return True
        if noted.is_waiting or self._is_signed_anew(redaction):
            return True  # the owner of the data may have confirmed a waiting one at any time
        return not noted.is_done and (self._resigned or not is_listed or noted.is_due(self._context.clock.now()))

    def _is_signed_anew(self, redaction: Redaction) -> bool:
        return self._resigned and redaction.id in self._found.stale

    def _unsearched(self, redaction: Redaction, state: RemoteRedaction) -> list[int]:
        """Return the states that are kept there and were not searched when the redaction was made.

        States that this machine has and that were not searched are newer than the purge.
        """
        if state.receipt is None or redaction.scope == WHOLE_AGENT:
            return []
        searched, found = frozenset(redaction.searched), []
        for row in self._remote.sequences(self._agent.id):
            here = None if self._vault is None else self._vault.find(row.number)
            if here is None if row.number not in searched else here is not None and here.digest != row.digest:
                found.append(row.number)
        return found

    def _doubt_of_erased(self, redaction: Redaction) -> str:
        """Return a doubt about an agent that is purged whole there according to no current machine of this user.

        Nothing is left there that tells an endpoint who owned it, so its owner has to confirm.
        """
        if redaction.scope != WHOLE_AGENT:
            return ""
        with contextlib.suppress(RemoteError):
            if load_listed(self._remote, self._agent.id, self._context.keys().trusted).refused:
                return UNTRUSTED
        return ""

    def _known(self) -> AcknowledgedState:
        assert self._vault is not None
        return acknowledged_states.load_acknowledged(self._vault).get(self._config.id, AcknowledgedState())
