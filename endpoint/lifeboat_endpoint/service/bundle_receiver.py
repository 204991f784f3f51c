"""Acceptance of pushes: open and check a bundle, then append it to the agent's vault, or refuse it without any change.

Bundles are in memory. Only what the vault seals is written to the disk.
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
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states.agent_state import Sequence, State
from lifeboat_alf.validation.validate_file import validate_archive
from lifeboat_endpoint.service import accident_guard
from lifeboat_endpoint.service.agent_roster import AgentRow
from lifeboat_endpoint.service.append_rules import check_fit, is_head
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.purge.waiting_redactions import WaitingRedactions
from lifeboat_endpoint.service.remote_errors import as_bundle, as_remote
from lifeboat_endpoint.service.tenant_quota import QuotaReservation
from lifeboat_endpoint.service.tenant_service import TenantResources, TenantService
from lifeboat_keys.pairs.strict_base64 import device_id, from_base64
from lifeboat_keys.pairs.user_key import UserPublic
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import DraftInvalid, RemoteRefused, RemoteTooLarge, StaleBase, VaultDamaged
from lifeboat_vault.legacy import legacy_pushes
from lifeboat_vault.remote.remote_contract import BundleKind, RemoteHead
from lifeboat_vault.vault import Draft, SequenceRow, Vault, draft_of_delta, draft_of_state

KIND = "push"

Reader = SnapshotReader | DeltaReader


@dataclass(frozen=True, slots=True)
class SentBundle:
    """A bundle as it arrived.

    `base` and `number` are what the sender said beside it, None if it said nothing; a signed bundle must agree with
    them. `size` in bytes; `file` is seekable and stays open.
    """

    kind: BundleKind
    file: BinaryIO
    size: int
    base: int | None = None
    number: int | None = None
    machine: str = ""


@dataclass(frozen=True, slots=True)
class PushResult:
    """The head after a push. `fresh`: the push made it; otherwise it was there before."""

    head: RemoteHead
    fresh: bool


class BundleReceiver(TenantService):
    """Receives the bundles of one tenant. Belongs to one thread."""

    def __init__(self, resources: TenantResources) -> None:
        super().__init__(resources)
        self._held = WaitingRedactions(resources)

    def receive(self, agent_id: str, sent: SentBundle) -> PushResult:
        """Push a bundle. Raises as `Remote.push`."""
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
        self.open_row(agent_id)  # check again: a push to an agent that was purged meanwhile must not be acknowledged
        return made

    def looks_redirected(self, agent_id: str, sent: SentBundle) -> bool:
        """Whether a client that signs nothing sends changes of a state that another service has.

        Raises RemoteRefused for an invalid delta of such a client, and the ArchiveError family.
        """
        if sent.kind != "delta":
            return False
        with as_bundle(), closing(self._reader(sent)) as reader:
            _check_agent(agent_id, reader)
            is_unsigned = reader.sequence.signature is None
        if is_unsigned:
            self._refuse_invalid(sent)
        return is_unsigned

    def open_row(self, agent_id: str) -> AgentRow:
        """Return the row of an agent that this endpoint can read. Raises UnknownAtRemote, RemoteRefused."""
        with as_remote():
            row = self._roster.get(agent_id)
        if row.sealed:
            raise RemoteRefused(f"the agent {agent_id} is sealed, so only the machines of its user can read it")
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
            # A push of a damaged sequence repairs it, whatever the epoch is.
            if is_damaged:
                return self._put_back(taking, row, vault, reader, sent)
            # The push was accepted before, and its acknowledgement was lost.
            if head is not None and is_head(sequence, head):
                return PushResult(self._noted(row, vault, head, reader, sent), False)
            # Check before the expensive work. `_accept` checks again inside of the transaction.
            check_fit(sequence, base, head, epoch)
            writer = _check_proof(sequence, base, sent)
            self._held.learn(row, vault, reader.redactions, _user_of(sequence))
            try:
                with vault.snapshot():
                    draft = _draft(vault, head, reader)
                reach_crash_point(CrashPoint.ENDPOINT_CHECKED)
                made = self._accept(taking, vault, sequence, base, draft, writer)
            except (AlfError, DraftInvalid, VaultDamaged):
                vault.note_broken_head()  # the bundle may be right, and the head that it is based on damaged
                raise
        return PushResult(self._noted(row, vault, made or read_vault_head(vault), reader, sent), made is not None)

    def _accept(
        self, taking: QuotaReservation, vault: Vault, sequence: Sequence, base: int | None, draft: Draft, writer: str
    ) -> SequenceRow | None:
        """Append a sequence; return None if another process appended the same one a moment ago."""

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
        """Repair a kept sequence whose rows are damaged here.

        Its digest shows whether the rows are right, regardless of who sends them, and no epoch is checked. Redactions
        are taken only from the signer of the kept sequence, since anyone who knows the rows could add some.
        """
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
        return PushResult(make_remote_head(read_vault_head(vault), row), False)

    def _noted(self, row: AgentRow, vault: Vault, head: SequenceRow, reader: Reader, sent: SentBundle) -> RemoteHead:
        """Update tenant.db after a push if something changed. Repeating a push completes an interrupted update."""
        reach_crash_point(CrashPoint.ENDPOINT_COUNTED)
        grew = self._quota.grew(row.id, head.bytes)
        keys = reader.keys if isinstance(reader, SnapshotReader) else None
        known = (row.facts.held, row.facts.lacks, row.facts.machine) == (None, None, sent.machine)
        if not known or keys is not None or grew:
            row = self._note(row, vault, keys, sent.machine)
        return make_remote_head(head, row)

    def _note(self, row: AgentRow, vault: Vault, keys: JsonObject | None, machine: str) -> AgentRow:
        with as_remote():
            _let_go(vault, row)  # a device of Lifeboat has its own guard
            with self._metadata.transaction():
                if keys is not None:
                    self._roster.set_keys(row.id, keys)
                row = self._roster.note(row, machine=machine, held=None, lacks=None)
                row = self._roster.count(row, vault.size())
        self._quota.counted(row.id)
        return row

    # Unsigned states --------------------------------------------------------------------------------------------

    def _unsigned(self, row: AgentRow, vault: Vault, reader: Reader, sent: SentBundle) -> PushResult:
        """Accept a push as older clients mean it, until a device of Lifeboat writes the agent."""
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
        """Refuse what `lifeboat alf validate` calls invalid, since no digest proves such an archive. Raises
        RemoteRefused."""
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
        return legacy_pushes.accept_delta(vault, reader, base, clock=self._clock) or read_vault_head(vault)

    def _judged(
        self,
        row: AgentRow,
        vault: Vault,
        before: SequenceRow | None,
        made: SequenceRow,
        machine: str,
        runtime: str,
    ) -> AgentRow:
        """Hold the agent if most of its memory is gone or was never here; release it when the memory is back."""
        held, lacks = row.facts.held, row.facts.lacks
        # The history begins with a delta, so its base is only at another service.
        if before is None and made.kind == legacy_pushes.DELTA:
            lacks = made.number - 1
            held = {
                "reason": f"the content of sequence {lacks} exists only at the service that the agent used before",
                "previous": None,
            }
        # A whole snapshot makes up for what only the other service had.
        elif lacks is not None:
            held, lacks = (None, None) if made.kind == legacy_pushes.SNAPSHOT else (held, lacks)
        elif held is not None and accident_guard.is_loss_over(vault, held["previous"], row.facts.runtime or runtime):
            _let_go(vault, row)
            held = None
        # Only a new sequence can lose anything.
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
    """Unpin the sequence before an accident."""
    previous = None if row.facts.held is None else row.facts.held["previous"]
    if previous is not None:
        vault.unpin(previous, accident_guard.PIN)


class _AlreadyThere(Exception):
    """Another process appended the same sequence first."""


def make_remote_head(head: SequenceRow, row: AgentRow) -> RemoteHead:
    machine, writer = row.facts.machine, head.writer
    return RemoteHead(head.number, head.digest, head.epoch, head.time, writer, machine, head.raw_time)


def _is_damaged(vault: Vault, sequence: Sequence) -> bool:
    """Whether the sequence is kept here and no longer matches its signature."""
    kept = vault.find(sequence.number) if sequence.number in vault.damaged_states() else None
    return kept is not None and kept.digest == sequence.digest


def read_vault_head(vault: Vault) -> SequenceRow:
    """Return the head of a vault. Raises StaleBase if the vault is empty."""
    head = vault.head()
    if head is None:
        raise StaleBase("the endpoint has no history of the agent, so it cannot apply a delta; push a snapshot instead")
    return head


def _check_agent(agent_id: str, reader: Reader) -> None:
    found = reader.sequence.agent_id
    # Clients that sign nothing write ids in either case.
    same = found == agent_id if reader.sequence.signature is not None else found.lower() == agent_id.lower()
    if not same:
        raise RemoteRefused(f"the bundle belongs to another agent, {found}")


def _check_entries(reader: Reader, size: int, limits: EndpointLimits) -> None:
    """Raise RemoteTooLarge if a bundle of this size has too many entries."""
    count = len(reader.items) if isinstance(reader, DeltaReader) else reader.entry_count
    most = limits.entries_in(size)
    if count > most:
        raise RemoteTooLarge(
            f"the bundle has {count} entries in {size} bytes; the endpoint accepts at most {most} at once"
        )


def _check_proof(sequence: Sequence, base: int | None, sent: SentBundle) -> str:
    """Check that the bundle is what the sender said and that its signature is valid; return the id of the signing
    device."""
    if sent.number not in (None, sequence.number):
        raise RemoteRefused(
            f"the bundle results in sequence {sequence.number}, not in the announced sequence {sent.number}"
        )
    if sent.base is not None and sent.base != base:
        raise RemoteRefused(f"the bundle is based on sequence {base}, not on the announced sequence {sent.base}")
    try:
        times.parse_time(sequence.time)
    except ValueError:
        raise RemoteRefused(f"{sequence.time!r} is not a valid time") from None
    sequence_signatures.verify_sequence(sequence, None)
    assert sequence.signature is not None
    return device_id(from_base64(sequence.signature["device"]))


def _user_of(sequence: Sequence) -> UserPublic:
    """Return the user who signed a verified sequence."""
    assert sequence.signature is not None
    return UserPublic.from_json(sequence.signature["user"])


def _draft(vault: Vault, head: SequenceRow | None, reader: Reader) -> Draft:
    if isinstance(reader, SnapshotReader):
        return draft_of_state(reader)
    assert head is not None, "a delta must be based on the newest sequence"
    return draft_of_delta(AppliedState(vault.state_of(head), reader))
