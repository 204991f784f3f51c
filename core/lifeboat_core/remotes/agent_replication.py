"""Bring one agent up to date at one remote: ask what it has, send what it lacks, note the answer."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Callable, Iterator

from lifeboat_alf.archive import archive_layout, artifact_index
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_alf.errors import LifeboatError, SignatureError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states.agent_state import BodyAbsent, Entry
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture import mass_loss_guard
from lifeboat_core.errors import Cancelled, ReplicationError
from lifeboat_core.health.agent_status import FENCED, HELD, WAITING
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.remotes import (
    acknowledged_states,
    mending_pause,
    remote_verification,
    replication_decision,
    vault_bundles,
    writer_epochs,
)
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import Compactable, RemoteConfig
from lifeboat_core.remotes.mending_pause import MendingPause
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.redactions.listed_redactions import check_erasure
from lifeboat_core.remotes.remote_kinds import check_identity, open_remote
from lifeboat_core.remotes.replication_decision import FenceReason, LocalHistory, ReplicationAction, ReplicationDecision
from lifeboat_core.remotes.replication_outcome import (
    DEFERRED,
    HELD_BACK,
    ReplicationOutcome,
    make_current_outcome,
    make_failed_outcome,
)
from lifeboat_core.remotes.resend_lost_data import LostDataResender
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_keys.errors import KeysError
from lifeboat_vault.errors import AgentErased, EpochBehind, RemoteDamaged, RemoteRefused, StaleBase, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import Remote, RemoteAgent, RemoteBundle, RemoteHead, file_key_of
from lifeboat_vault.vault import SequenceRow, Vault

MaySend = Callable[[int], str | None]
"""Return why so many bytes must not be sent now; None when they may."""

BEHIND = "epoch_begun"
"""The code of a state that waits because it was captured before this machine took the agent over."""
TRIES = 3
"""How often the head may move between asking for it and the push."""


def send_anything(size: int) -> str | None:
    """Allow every transfer."""
    return None


def replicate_agent(
    context: Context,
    agent: Agent,
    config: RemoteConfig,
    *,
    tell: Tell = tell_nobody,
    may_send: MaySend = send_anything,
    asked: bool = True,
) -> ReplicationOutcome:
    """Bring a remote up to date; purges are exchanged before anything else.

    What goes wrong at the remote or on the way is in the outcome and in the notes of the vault (`acknowledged_states`).
    The agent's lock is not taken, so captures go on. If the whole agent was purged, it is erased here too, and the
    outcome says so. Unless a user `asked`, a damaged remote is left alone until its pause is over (`mending_pause`).
    Raises what is wrong on this machine.
    """
    try:
        with purge_exchange.heed_erasure(context, agent):
            return _replicate(context, agent, config, tell, may_send, asked=asked)
    except AgentErased as error:
        return make_failed_outcome(config, None, error)


def _replicate(
    context: Context, agent: Agent, config: RemoteConfig, tell: Tell, may_send: MaySend, *, asked: bool
) -> ReplicationOutcome:
    with context.vault(agent.id) as vault:
        try:
            with contextlib.closing(open_remote(context, config)) as remote:
                outcome = _Replication(context, agent, config, vault, remote, tell, may_send, asked=asked).run()
        except (Cancelled, AgentErased):
            raise  # the receiver of the progress stopped it, where nothing is wrong; or nothing is left to note
        except LifeboatError as error:
            outcome = make_failed_outcome(config, _known(vault, config).number, error)
        _note(context, vault, config, outcome)
        return outcome


def _known(vault: Vault, config: RemoteConfig) -> AcknowledgedState:
    return acknowledged_states.load_acknowledged(vault).get(config.id, AcknowledgedState())


def _note(context: Context, vault: Vault, config: RemoteConfig, outcome: ReplicationOutcome) -> None:
    """Note how the try ended. What the remote acknowledged was noted at that time."""
    known, waits = _known(vault, config), outcome.state == WAITING and outcome.code != DEFERRED
    acknowledged_states.note_acknowledged(
        vault,
        config.id,
        name=config.name,
        state=outcome.state,
        message=outcome.message,
        code=outcome.code,
        tries=known.tries + 1 if waits else 0,
        tried_at=context.now() if outcome.message else known.tried_at,
        fenced=known.fenced if outcome.state == FENCED else None,
    )
    reach_crash_point(CrashPoint.REPLICATE_NOTED)


class _Replication:
    """One try. Every fact is asked for again: another process may have been faster."""

    def __init__(
        self,
        context: Context,
        agent: Agent,
        config: RemoteConfig,
        vault: Vault,
        remote: Remote,
        tell: Tell,
        may_send: MaySend,
        *,
        asked: bool,
    ) -> None:
        self._context = context
        self._agent = agent
        self._config = config
        self._vault = vault
        self._remote = remote
        self._tell = tell
        self._may_send = may_send
        self._asked = asked
        self._machine = context.keys().own_name
        self._sent = 0
        self._was_mended = False
        self._asks_for_all = False
        self._pause: MendingPause | None = None
        """What stays lost at the remote."""
        self._is_unproven = False

    def run(self) -> ReplicationOutcome:
        """Raises RemoteError, OtherVault, ReplicationError.REMOTE_FORGOT."""
        check_identity(self._context, self._config, self._remote)
        try:
            self._exchange()
            return self._brought_up()
        except AgentErased as error:
            check_erasure(error, self._agent.id, self._context.keys().trusted)
            raise
        except (
            UnknownAtRemote
        ) as error:  # it said a moment ago that it has this state: one of the two answers was outdated
            return self._waiting(error.message, error.code)

    def _exchange(self, *, resigned: bool = False) -> None:
        purge_exchange.exchange_purges(
            self._context, self._agent, self._config, self._vault, self._remote, resigned=resigned
        )

    def _brought_up(self) -> ReplicationOutcome:
        target, held = self._target()
        if target is None:
            return self._waiting("the agent has not been captured yet", "empty")
        moved, known = self._moved(), _known(self._vault, self._config)
        for _ in range(TRIES):
            there = self._there()
            decision = replication_decision.decide_replication(self._here(target), there)
            reach_crash_point(CrashPoint.REPLICATE_DECIDED)
            if decision.do is ReplicationAction.FENCED:
                return self._fenced(decision)
            if moved is not None:
                return self._fenced_as(moved)
            if decision.do is ReplicationAction.FORGOT:
                raise self._forgot(decision)
            if there is not None and there.head is not None:
                # Another machine may have sent it without the bytes of ordinary files.
                self._asks_for_all |= there.head.number != known.number and not isinstance(self._remote, Compactable)
                self._mend(there)
            if decision.do is ReplicationAction.NOTHING:
                return self._completed(target, decision.head, held)
            try:
                pushed = self._push(target, decision, there)
            except StaleBase:
                continue
            except EpochBehind as error:
                return self._behind(error)
            except RemoteRefused:
                if there is None or not self._finds_damage(there):
                    raise
                continue  # the base of this bundle was damaged there, or never arrived: it was sent first
            if isinstance(pushed, ReplicationOutcome):
                return pushed
            return self._completed(target, pushed, held)
        return self._waiting("other machines keep pushing to the remote; Lifeboat tries again later", StaleBase.code)

    def _target(self) -> tuple[SequenceRow | None, JsonObject | None]:
        """Return the state that the remote should have: the head, or the sequence before it while a removal is held."""
        held: JsonObject | None = self._vault.get(mass_loss_guard.DECISION)
        if held is None:
            return self._vault.head(), None
        return self._vault.sequence(int(held["previous"])), held

    def _there(self) -> RemoteAgent | None:
        try:
            there = self._remote.agent(self._agent.id)
        except UnknownAtRemote:
            return None
        writer_epochs.check_epoch_believable(self._vault, there.epoch)
        return there

    def _here(self, target: SequenceRow) -> LocalHistory:
        devices = {self._context.keys().device.id}
        known = _known(self._vault, self._config)
        return LocalHistory(target.number, target.digest, self._vault.epoch, self._digest_of, devices, known)

    def _digest_of(self, number: int) -> bytes | None:
        row = self._vault.find(number)
        return None if row is None else row.digest

    # Sending ----------------------------------------------------------------------------------------------------

    def _push(
        self, target: SequenceRow, decision: ReplicationDecision, there: RemoteAgent | None
    ) -> RemoteHead | ReplicationOutcome:
        """Push a bundle; return the new head of the remote, or why nothing was sent."""
        with self._bundle(target, decision) as bundle:
            reach_crash_point(CrashPoint.REPLICATE_BUNDLED)
            why = self._may_send(bundle.size)
            if why is not None:
                return self._waiting(f"{size_text(bundle.size)} of data wait to be sent: {why}", DEFERRED)
            if there is None:
                self._remote.register(self._agent.id, self._agent.name, self._agent.runtime)
                self._exchange()  # before states: it explains bytes that are missing from them
            sent = {"number": target.number, "digest": target.digest.hex()}
            acknowledged_states.note_acknowledged(self._vault, self._config.id, name=self._config.name, sent=sent)
            head = self._remote.push(
                self._agent.id, vault_bundles.track_reading(bundle, self._tell), machine=self._machine
            )
            self._sent += bundle.size
        reach_crash_point(CrashPoint.REPLICATE_SENT)
        if (head.number, head.digest) != (target.number, target.digest):
            raise StaleBase(
                "the remote acknowledged a different sequence from the one that was sent", sequence=head.number
            )
        self._acknowledge(head)
        return head

    @contextlib.contextmanager
    def _bundle(self, target: SequenceRow, decision: ReplicationDecision) -> Iterator[RemoteBundle]:
        base, number = decision.base, target.number
        if base is None:
            with vault_bundles.make_snapshot(self._context, self._vault, number, self._keys()) as bundle:
                yield bundle
        elif self._vault.find(base) is not None:
            with vault_bundles.make_delta(self._context, self._vault, base, number) as bundle:
                self._prove(bundle, base)
                yield bundle
        else:  # it was thinned here because the disk is full: the remote has it, so the delta starts there
            from lifeboat_core.remotes import pulling

            with (
                pulling.open_remote_state(self._remote, self._agent.id, base) as there,
                vault_bundles.make_delta_from(self._context, there, self._vault, number) as bundle,
            ):
                yield bundle

    def _prove(self, bundle: RemoteBundle, base: int) -> None:
        """Check what a reader would make of a bundle before it is sent to a log of bundles.

        An endpoint applies a delta before it accepts it. A log accepts any delta: for one that its reader could not
        apply, a snapshot is sent after it.
        """
        if isinstance(self._remote, Compactable):
            states = self._vault.state(base), self._vault.state(bundle.number)
            self._is_unproven |= bool(vault_bundles.find_unreadable(states[0], bundle.file, states[1]))

    def _acknowledge(self, head: RemoteHead) -> None:
        acknowledged_states.note_head(self._vault, self._config.id, self._config.name, head, self._context.now())

    def _moved(self) -> JsonObject | None:
        """Return whether another remote said that another machine took the agent over.

        Then nothing is sent to any remote: at a remote that the other machine could not reach the histories would
        diverge.
        """
        for known in acknowledged_states.load_acknowledged(self._vault).values():
            fenced = known.fenced
            if (
                known.name == self._config.name
                or fenced is None
                or fenced["reason"] != FenceReason.MOVED
                or "at" in fenced
            ):
                continue
            if fenced["epoch"] > self._vault.epoch:
                return {**fenced, "at": known.name}
        return None

    def _behind(self, error: EpochBehind) -> ReplicationOutcome:
        """Return the outcome for a remote that accepts nothing of the epoch in which the state was captured. Raises
        RemoteDamaged."""
        if error.epoch <= self._vault.epoch:  # the epoch of this machine, which took the agent over since
            return self._waiting(
                "the remote accepts only captures made after the take-over, so Lifeboat sends "
                "everything with the next capture",
                BEHIND,
            )
        writer_epochs.check_epoch_believable(self._vault, error.epoch)
        # The number alone says that another machine took it over; the next contact says which.
        return self._fenced(ReplicationDecision(ReplicationAction.FENCED, why=FenceReason.MOVED, epoch=error.epoch))

    # What belongs to a state and travels apart --------------------------------------------------------------------

    def _completed(self, target: SequenceRow, head: RemoteHead | None, held: JsonObject | None) -> ReplicationOutcome:
        """Send what belongs to the state and travels apart: its large artifacts, the keys and, after a key was
        replaced, the signatures."""
        known = _known(self._vault, self._config)
        if head is not None and known.number != head.number:
            self._acknowledge(head)
        begun = 0 if head is None else head.epoch
        writer_epochs.enforce_epoch(self._vault, self._remote, self._machine, at_least=begun)
        self._send_keys(known)
        self._send_signatures(known)
        why = self._send_objects(target, known)
        if why is not None:
            return self._waiting(why, DEFERRED)
        reach_crash_point(CrashPoint.REPLICATE_OBJECTS_SENT)
        self._compact()
        if self._pause is not None:
            raise self._damaged(self._pause)
        if known.verified_at is None or known.damaged:
            found = remote_verification.read_back_copy(
                self._context, self._vault, self._remote, self._agent, self._config
            )
            if not found.ok:
                if self._was_mended:
                    raise self._damaged(self._note_pause(found.findings[0]))
                raise RemoteDamaged(f"the copy on the remote is damaged: {found.findings[0]}")
        if held is not None:
            reason = f"{held['reason']}; the remote keeps the removed data until you accept the removal"
            return ReplicationOutcome(
                self._config.name, self._config.id, target.number, HELD, reason, HELD_BACK, self._sent
            )
        return make_current_outcome(self._config, target.number, self._sent)

    def _send_keys(self, known: AcknowledgedState) -> None:
        document = self._keys()
        digest = hashlib.sha256(json_codec.encode_canonical(document)).hexdigest()
        if digest != known.keys:
            document = self._put_keys()
            digest = hashlib.sha256(json_codec.encode_canonical(document)).hexdigest()
            acknowledged_states.note_acknowledged(self._vault, self._config.id, keys=digest)

    def _put_keys(self) -> JsonObject:
        """Send the agent's keys and return them.

        The keys that are there are taken in first: this home may have lost a pair that opens older credentials, and no
        other copy exists. Keys that are not the user's are replaced.
        """
        with contextlib.suppress(KeysError, SignatureError, RemoteDamaged):
            there = self._remote.keys(self._agent.id)
            if there is not None:
                self._context.keys().import_agent(there)
        document = self._keys()
        self._remote.put_keys(self._agent.id, document)
        return document

    def _keys(self) -> JsonObject:
        """Return what lets the owner of the user's key open the agent's credentials on another machine, and trust what
        was signed under a key that this one replaced. So an agent without credentials has a pair as well."""
        keys = self._context.keys()
        keys.agent_public(self._agent.id)
        return keys.export_agent(self._agent.id)

    def _send_signatures(self, known: AcknowledgedState) -> None:
        """Send new signatures of the states that are there, if the user's key was replaced.

        The history was signed again here, and the old signatures do not count any more. This can be due before the
        first push: the agent may have come to this machine before the key was replaced. Purges follow the states,
        because a remote accepts them from the signer of the newest state only.
        """
        user = self._context.keys().public.key_id
        if known.signed_for == user:
            return
        rows = ((row.number, row.signature) for row in self._vault.sequences() if row.signature is not None)
        self._remote.put_signatures(self._agent.id, rows)
        if len(self._vault.redactions):
            self._exchange(resigned=True)
        acknowledged_states.note_acknowledged(self._vault, self._config.id, signed_for=user)

    def _send_objects(self, target: SequenceRow, known: AcknowledgedState) -> str | None:
        """Send the large artifacts that the remote lacks, and other files that it may lack.

        Return why some of them wait; None when all are there.
        """
        large = {
            key: place
            for place in self._files_to_ask_for(target, known.files)
            if (key := file_key_of(place[1])) is not None
        }
        lacks = self._remote.missing(self._agent.id, list(large)) if large else []
        for key in lacks:
            number, entry = large[key]
            why = self._may_send(entry.size)
            if why is not None:
                return f"a large file of {size_text(entry.size)} waits: {why}"
            with contextlib.suppress(BodyAbsent):  # this machine has only the description too
                self._tell("sending large files", self._sent, None)
                self._remote.put_object(self._agent.id, key, self._vault.state(number).body(entry.path))
                self._sent += entry.size
        if known.files != target.number:
            acknowledged_states.note_acknowledged(self._vault, self._config.id, files=target.number)
        return None

    def _mend(self, there: RemoteAgent) -> None:
        """Send again what the remote has lost, as it found itself or as this machine found when it read the copy back.

        The copy counts as damaged until all of it was read back. This happens before anything new is sent, which may
        rest on what was lost.
        """
        known = _known(self._vault, self._config)
        if (lost := remote_verification.describe_reported_damage(there)) and not known.damaged:
            known = acknowledged_states.note_acknowledged(self._vault, self._config.id, damaged=lost)
        if not known.damaged:
            return
        damage = mending_pause.describe_known_damage(there, known.damaged)
        if mending_pause.is_mending_due(known.mending, damage, self._context.clock.now(), asked=self._asked):
            self._send_again()
        else:
            self._pause = known.mending

    def _send_again(self) -> None:
        self._tell("sending lost data again", self._sent, None)
        self._put_keys()
        again = LostDataResender(self._context, self._agent.id, self._vault, self._remote, self._machine)
        lost = again.run(self._keys())
        self._sent += again.sent
        self._was_mended = True
        if lost:
            self._note_pause(lost)

    def _note_pause(self, left: str) -> MendingPause:
        known, now = _known(self._vault, self._config), self._context.clock.now()
        damage = mending_pause.describe_known_damage(self._remote.agent(self._agent.id), known.damaged)
        self._pause = mending_pause.extend_pause(known.mending, left, damage, now, random.Random())
        acknowledged_states.note_acknowledged(self._vault, self._config.id, mending=self._pause)
        return self._pause

    def _damaged(self, pause: MendingPause) -> RemoteDamaged:
        fix = f"lifeboat sync {quote_argument(self._agent.name)}   # on another machine that still has the lost data"
        return RemoteDamaged(mending_pause.describe_lost(pause), fix=fix)

    def _finds_damage(self, there: RemoteAgent) -> bool:
        """Return whether the base of a refused bundle has to be sent again first: a sequence that the remote found
        damaged just then, or bytes of files that never arrived."""
        if self._pause is not None:
            return False
        if self._remote.agent(self._agent.id).damaged_states:
            return True
        head = None if there.head is None or self._was_mended else self._vault.find(there.head.number)
        if head is None or not (
            missing := remote_verification.find_missing_files(self._vault.state(head.number), self._remote)
        ):
            return False
        acknowledged_states.note_acknowledged(self._vault, self._config.id, damaged=missing[0])
        return True

    def _files_to_ask_for(self, target: SequenceRow, since: int | None) -> Iterator[tuple[int, Entry]]:
        """Return the large artifacts that came since a state that the remote has completely, each with a sequence that
        has it.

        Sequences in between count too: the remote may have them without the bytes. Without such a state, return the
        artifacts of the target. If the remote has a sequence that this machine was not told it took, return all files
        of all of these sequences.
        """
        found = self._entries_since(since, target)
        return (each for each in found if self._asks_for_all or artifact_index.is_referenced(each[1].meta))

    def _entries_since(self, since: int | None, target: SequenceRow) -> Iterator[tuple[int, Entry]]:
        base = None if since is None or self._vault.find(since) is None else since
        if base is None and not self._asks_for_all:
            yield from (
                (target.number, entry) for entry in self._vault.state(target.number).entries(archive_layout.ARTIFACTS)
            )
            return
        for row in self._vault.sequences(after=-1 if base is None else base):
            if row.number > target.number:
                return
            if base is None:
                yield from ((row.number, entry) for entry in self._vault.state(row.number).entries())
            else:
                changes = self._vault.changes(base, row.number).entries
                yield from ((row.number, change.entry) for change in changes if change.entry is not None)
            base = row.number

    def _compact(self) -> None:
        """Keep a remote small that cannot read what it has."""
        if isinstance(self._remote, Compactable) and (
            self._is_unproven or self._remote.needs_compaction(self._agent.id)
        ):
            material = vault_bundles.VaultBundleSource(self._vault, self._keys())
            self._remote.compact(self._agent.id, material, renewed=self._is_unproven)

    # What is said -------------------------------------------------------------------------------------------------

    def _waiting(self, message: str, code: str) -> ReplicationOutcome:
        number = _known(self._vault, self._config).number
        return ReplicationOutcome(self._config.name, self._config.id, number, WAITING, message, code, self._sent)

    def _fenced(self, decision: ReplicationDecision) -> ReplicationOutcome:
        head, why = decision.head, str(decision.why)
        if decision.why is FenceReason.MOVED and head is not None and head.writer == self._context.keys().device.id:
            head = (
                None  # the machine that took it over has written nothing yet: the newest state there is this machine's
            )
        machine = "" if head is None else head.machine or head.writer
        since = "" if head is None else head.written_at
        fenced = {"reason": why, "machine": machine, "since": since, "epoch": decision.epoch}
        return self._fenced_as(fenced)

    def _fenced_as(self, fenced: JsonObject) -> ReplicationOutcome:
        known = acknowledged_states.note_acknowledged(self._vault, self._config.id, fenced=fenced)
        why = FenceReason(fenced["reason"])
        fix = f"lifeboat agents adopt {quote_argument(self._agent.name)}"
        message = describe_fence_reason(why, fenced["machine"])
        return ReplicationOutcome(self._config.name, self._config.id, known.number, FENCED, message, why, 0, None, fix)

    def _forgot(self, decision: ReplicationDecision) -> LifeboatError:
        known = _known(self._vault, self._config)
        has = "nothing" if decision.base is None else f"only sequence {decision.base}"
        name = self._config.name
        return ReplicationError.REMOTE_FORGOT(
            f"{name} had sequence {known.number} of {self._agent.name} and now has {has}. To push "
            "the missing sequences, remove the remote and add it again",
            fix=f"lifeboat remote remove {name}",
        )


def describe_fence_reason(why: FenceReason | None, machine: str) -> str:
    """Return for people why this machine may not write."""
    if why is FenceReason.MOVED:
        return f"the agent moved to {machine or 'another machine'}"
    if why is FenceReason.CLONED:
        return "a clone of this machine pushes to the remote, or this machine was restored from a backup"
    return f"{machine or 'another machine'} pushed sequences that this machine never had"
