"""What is pushed: opened, checked, and put on top of the agent's vault, or refused with nothing done.

Bundles stand in memory; nothing of them touches the disk but what the vault seals.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.errors import AlfError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states.agent_state import Sequence, State
from lifeboat_alf.validation.validate_file import validate_archive
from lifeboat_endpoint.service import accident_guard
from lifeboat_endpoint.service.agent_roster import AgentRow, Roster
from lifeboat_endpoint.service.agent_vaults import AgentVaults
from lifeboat_endpoint.service.append_rules import check_fit, is_head
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.purge.waiting_redactions import WaitingRedactions
from lifeboat_endpoint.service.remote_errors import as_bundle, as_remote
from lifeboat_endpoint.service.tenant_quota import QuotaReservation, TenantQuota
from lifeboat_keys.pairs.strict_base64 import device_id, from_base64
from lifeboat_keys.pairs.user_key import UserPublic
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import DraftInvalid, RemoteRefused, RemoteTooLarge, StaleBase, VaultDamaged
from lifeboat_vault.legacy import legacy_pushes
from lifeboat_vault.remote.remote_contract import BundleKind, RemoteHead
from lifeboat_vault.store.store_protocols import MetadataStore
from lifeboat_vault.vault import Draft, SequenceRow, Vault, draft_of_delta, draft_of_state

KIND = "push"

Reader = SnapshotReader | DeltaReader


@dataclass(frozen=True, slots=True)
class SentBundle:
    """A bundle as it arrived. `base` and `number` are what the sender says beside it, None where nothing is said; those
    of a signed bundle must agree with it. `size` in bytes; `file` is seekable and stays open."""

    kind: BundleKind
    file: BinaryIO
    size: int
    base: int | None = None
    number: int | None = None
    machine: str = ""


@dataclass(frozen=True, slots=True)
class PushResult:
    """The head after a push. `fresh`: the push made it; it had been there before otherwise."""

    head: RemoteHead
    fresh: bool


class BundleReceiver:
    """Of one tenant and one thread."""

    def __init__(
        self,
        metadata: MetadataStore,
        roster: Roster,
        vaults: AgentVaults,
        held: WaitingRedactions,
        *,
        quota: TenantQuota,
        limits: EndpointLimits,
        clock: Clock,
    ) -> None:
        self._metadata = metadata
        self._roster = roster
        self._vaults = vaults
        self._held = held
        self._quota = quota
        self._limits = limits
        self._clock = clock

    def receive(self, agent_id: str, sent: SentBundle) -> PushResult:
        """Raises as `Remote.push`."""
        row = self.open_row(agent_id)
        with self._quota.taking(sent.size) as taking:
            reach_crash_point(CrashPoint.ENDPOINT_RECEIVED)
            with as_bundle():
                reader = self._reader(sent)
            with closing(reader):
                _check_agent(agent_id, reader)
                _check_entries(reader, sent.size, self._limits)
                with as_remote():
                    vault = self._vaults.get(agent_id, row.vault or "")
                if reader.sequence.signature is None:
                    made = self._unsigned(row, vault, reader, sent)
                else:
                    made = self._signed(taking, row, vault, reader, sent)
        self.open_row(agent_id)  # still: nothing of an agent that was purged meanwhile is acknowledged
        return made

    def looks_redirected(self, agent_id: str, sent: SentBundle) -> bool:
        """Whether a client that signs nothing sends changes of a state that another service has. Raises RemoteRefused
        for a delta of such a client that is not valid, and the ArchiveError family."""
        if sent.kind != "delta":
            return False
        with as_bundle(), closing(self._reader(sent)) as reader:
            _check_agent(agent_id, reader)
            is_unsigned = reader.sequence.signature is None
        if is_unsigned:
            self._refuse_invalid(sent)
        return is_unsigned

    def open_row(self, agent_id: str) -> AgentRow:
        """An agent that this endpoint can read. Raises UnknownThere, RemoteRefused."""
        with as_remote():
            row = self._roster.get(agent_id)
        if row.sealed:
            raise RemoteRefused(f"the agent {agent_id} is sealed there: only its own machines can read it")
        return row

    def _reader(self, sent: SentBundle) -> Reader:
        limits = self._limits.of_container()
        if sent.kind == "snapshot":
            return SnapshotReader(sent.file, limits)
        return DeltaReader(sent.file, limits)

    # States of a Lifeboat device --------------------------------------------------------------------------------

    def _signed(
        self, taking: QuotaReservation, row: AgentRow, vault: Vault, reader: Reader, sent: SentBundle
    ) -> PushResult:
        sequence = reader.sequence
        base = reader.base_sequence if isinstance(reader, DeltaReader) else None
        with as_bundle():
            with vault.snapshot():
                head, epoch = vault.head(), vault.epoch
                is_damaged = head is not None and sequence.number <= head.number and _is_damaged(vault, sequence)
            if is_damaged:
                return self._put_back(taking, row, vault, reader, sent)
            if head is not None and is_head(sequence, head):
                return PushResult(self._noted(row, vault, head, reader, sent), False)
            check_fit(sequence, base, head, epoch)
            writer = _check_proof(sequence, base, sent)
            self._held.learn(row, vault, reader.redactions, _user_of(sequence))
            try:
                with vault.snapshot():
                    draft = _draft(vault, head, reader)
                reach_crash_point(CrashPoint.ENDPOINT_CHECKED)
                made = self._accept(taking, vault, sequence, base, draft, writer)
            except (AlfError, DraftInvalid, VaultDamaged):
                vault.note_broken_head()  # then the bundle may be right, and what it rests on is wrong
                raise
        return PushResult(self._noted(row, vault, made or head_of(vault), reader, sent), made is not None)

    def _accept(
        self, taking: QuotaReservation, vault: Vault, sequence: Sequence, base: int | None, draft: Draft, writer: str
    ) -> SequenceRow | None:
        """The new head; None when another process put the same state there a moment ago."""

        def fits(head: SequenceRow | None, epoch: int) -> None:
            if is_head(sequence, head):
                raise _AlreadyThere
            check_fit(sequence, base, head, epoch)
            self._roster.get(vault.agent_id)

        now = self._clock.now()
        reach_crash_point(CrashPoint.ENDPOINT_ACCEPTED)
        try:
            return vault.accept(
                sequence, draft, kind=KIND, writer=writer, raw_time=now, fits=fits, has_room=taking.keeps
            )
        except _AlreadyThere:
            return None

    def _put_back(
        self, taking: QuotaReservation, row: AgentRow, vault: Vault, reader: Reader, sent: SentBundle
    ) -> PushResult:
        """Take the rows of a kept state that is damaged here. Its digest says whether they are right, so nobody has to
        be believed, and no epoch counts. Purges are taken of whoever signed the state that is kept: anybody who knows
        the rows can sign them."""
        base = reader.base_sequence if isinstance(reader, DeltaReader) else None
        _check_proof(reader.sequence, base, sent)
        kept = vault.sequence(reader.sequence.number).as_sequence(vault.agent_id)
        sequence_signatures.verify_sequence(kept, None)
        self._held.learn(row, vault, reader.redactions, None if kept.signature is None else _user_of(kept))

        def state() -> State:
            return reader if isinstance(reader, SnapshotReader) else AppliedState(vault.state(base), reader)

        reach_crash_point(CrashPoint.ENDPOINT_CHECKED)
        reach_crash_point(CrashPoint.ENDPOINT_ACCEPTED)
        vault.put_back(reader.sequence.number, state, has_room=taking.keeps)
        reach_crash_point(CrashPoint.ENDPOINT_COUNTED)
        with self._metadata.transaction():
            row = self._roster.count(self._roster.get(row.id), vault.size())
        self._quota.counted(row.id)
        return PushResult(make_remote_head(head_of(vault), row), False)

    def _noted(self, row: AgentRow, vault: Vault, head: SequenceRow, reader: Reader, sent: SentBundle) -> RemoteHead:
        """What `tenant.db` knows of it, written only where it is news. Whoever pushed twice completes it."""
        reach_crash_point(CrashPoint.ENDPOINT_COUNTED)
        grew = self._quota.grew(row.id, head.bytes)
        keys = reader.keys if isinstance(reader, SnapshotReader) else None
        known = (row.facts.held, row.facts.lacks, row.facts.machine) == (None, None, sent.machine)
        if not known or keys is not None or grew:
            row = self._note(row, vault, keys, sent.machine)
        return make_remote_head(head, row)

    def _note(self, row: AgentRow, vault: Vault, keys: JsonObject | None, machine: str) -> AgentRow:
        with as_remote():
            _let_go(vault, row)  # a device of Lifeboat has a guard of its own
            with self._metadata.transaction():
                if keys is not None:
                    self._roster.set_keys(row.id, keys)
                row = self._roster.note(row, machine=machine, held=None, lacks=None)
                row = self._roster.count(row, vault.size())
        self._quota.counted(row.id)
        return row

    # States that nobody signed ----------------------------------------------------------------------------------

    def _unsigned(self, row: AgentRow, vault: Vault, reader: Reader, sent: SentBundle) -> PushResult:
        """As an older client means it, until a device of Lifeboat writes the agent."""
        self._refuse_invalid(sent)
        with as_bundle():
            legacy_pushes.check_not_adopted(vault)
            before = vault.head()
            reach_crash_point(CrashPoint.ENDPOINT_CHECKED)
            reach_crash_point(CrashPoint.ENDPOINT_ACCEPTED)
            made = self._taken(row, vault, reader, sent)
            fresh = before is None or made.number != before.number
        reach_crash_point(CrashPoint.ENDPOINT_COUNTED)
        with as_remote():
            row = self._judged(row, vault, before, made, sent.machine, _runtime_of(reader))
        return PushResult(make_remote_head(made, row), fresh)

    def _refuse_invalid(self, sent: SentBundle) -> None:
        """Refuse what `lifeboat alf validate` calls invalid: no digest proves such an archive. Raises RemoteRefused."""
        found = validate_archive(sent.file, limits=self._limits.of_container())
        if not found.ok:
            more = f" (and {found.error_count - 1} more)" if found.error_count > 1 else ""
            raise RemoteRefused(f"the {sent.kind} is not valid: {found.errors[0]}{more}")

    def _taken(self, row: AgentRow, vault: Vault, reader: Reader, sent: SentBundle) -> SequenceRow:
        if isinstance(reader, SnapshotReader):
            return legacy_pushes.accept_snapshot(vault, reader, clock=self._clock)
        base = reader.base_sequence if sent.base is None else sent.base
        if row.facts.lacks is not None or vault.head() is None:
            return legacy_pushes.accept_partial_delta(vault, reader, base, clock=self._clock, name=row.facts.name)
        return legacy_pushes.accept_delta(vault, reader, base, clock=self._clock) or head_of(vault)

    def _judged(
        self,
        row: AgentRow,
        vault: Vault,
        before: SequenceRow | None,
        made: SequenceRow,
        machine: str,
        runtime: str,
    ) -> AgentRow:
        """Hold the agent when most of its memory is gone, or was never here; let go when it is back."""
        held, lacks = row.facts.held, row.facts.lacks
        if before is None and made.kind == legacy_pushes.DELTA:
            lacks = made.number - 1
            held = {"reason": f"what it had at sequence {lacks} is only at its former service", "previous": None}
        elif lacks is not None:
            held, lacks = (None, None) if made.kind == legacy_pushes.SNAPSHOT else (held, lacks)
        elif held is not None and accident_guard.is_loss_over(vault, held["previous"], row.facts.runtime or runtime):
            _let_go(vault, row)
            held = None
        if held is None and before is not None and before.number != made.number:
            found = accident_guard.find_loss(
                vault, before, self._clock.now(), row.facts.accepted, row.facts.runtime or runtime
            )
            if found is not None:
                vault.pin(found[1], accident_guard.PIN)
                held = {"reason": found[0], "previous": found[1]}
        with self._metadata.transaction():
            runtime = row.facts.runtime or runtime
            row = self._roster.note(row, machine=machine, held=held, lacks=lacks, runtime=runtime)
            return self._roster.count(row, vault.size())


def _runtime_of(reader: Reader) -> str:
    return str(reader.manifest["agent"].get("source_runtime") or "")


def _let_go(vault: Vault, row: AgentRow) -> None:
    """Pin the state before an accident no more."""
    previous = None if row.facts.held is None else row.facts.held["previous"]
    if previous is not None:
        vault.unpin(previous, accident_guard.PIN)


class _AlreadyThere(Exception):
    """Another process was first with the same state."""


def make_remote_head(head: SequenceRow, row: AgentRow) -> RemoteHead:
    machine, writer = row.facts.machine, head.writer
    return RemoteHead(head.number, head.digest, head.epoch, head.time, writer, machine, head.raw_time)


def _is_damaged(vault: Vault, sequence: Sequence) -> bool:
    """Whether a state is kept here, and is not as it was signed."""
    kept = vault.find(sequence.number) if sequence.number in vault.damaged_states() else None
    return kept is not None and kept.digest == sequence.digest


def head_of(vault: Vault) -> SequenceRow:
    """The head of a vault that is not empty. Raises StaleBase for one that is."""
    head = vault.head()
    if head is None:
        raise StaleBase("the agent has no history there, so there is nothing for a delta to go on top of")
    return head


def _check_agent(agent_id: str, reader: Reader) -> None:
    found = reader.sequence.agent_id
    same = found == agent_id if reader.sequence.signature is not None else found.lower() == agent_id.lower()
    if not same:
        raise RemoteRefused(f"the bundle is of the agent {found}")


def _check_entries(reader: Reader, size: int, limits: EndpointLimits) -> None:
    """Raises RemoteTooLarge where there are more entries than a bundle of this size may have."""
    count = len(reader.items) if isinstance(reader, DeltaReader) else reader.entry_count
    most = limits.entries_in(size)
    if count > most:
        raise RemoteTooLarge(f"{count} entries in {size} bytes: at most {most} are taken at once")


def _check_proof(sequence: Sequence, base: int | None, sent: SentBundle) -> str:
    """That the bundle is what was said, and that its signature is whole; the id of the device that made it."""
    if sent.number not in (None, sequence.number):
        raise RemoteRefused(f"the bundle leads to {sequence.number}, not to {sent.number}")
    if sent.base is not None and sent.base != base:
        raise RemoteRefused(f"the bundle goes on top of {base}, not of {sent.base}")
    try:
        times.parse_time(sequence.time)
    except ValueError:
        raise RemoteRefused(f"{sequence.time!r} is no time") from None
    sequence_signatures.verify_sequence(sequence, None)
    assert sequence.signature is not None
    return device_id(from_base64(sequence.signature["device"]))


def _user_of(sequence: Sequence) -> UserPublic:
    """Under whose key a sequence was signed whose signature holds."""
    assert sequence.signature is not None
    return UserPublic.from_json(sequence.signature["user"])


def _draft(vault: Vault, head: SequenceRow | None, reader: Reader) -> Draft:
    if isinstance(reader, SnapshotReader):
        return draft_of_state(reader)
    assert head is not None, "a delta fits a head only"
    return draft_of_delta(AppliedState(vault.state_of(head), reader))
