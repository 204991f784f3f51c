"""Fixtures and expectations of the checks: remotes, new agents, and machines that write them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.states.agent_state import LEAF_BYTES, SALT_BYTES, Leaf, Sequence
from lifeboat_alf.testing.sample_states import first_day, make_head, make_record, quarter_file
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.remote.remote_contract import (
    TRIAL,
    BundleKind,
    FileKey,
    Remote,
    RemoteBundle,
    RemoteHead,
    RemoteSequence,
    file_key_of,
)
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, SequenceRow, Vault, draft_of_state

NAME = "Lifeboat remote test"
RUNTIME = TRIAL
UNKNOWN_FILE = FileKey(Leaf(b"\x01" * LEAF_BYTES, b"\x01" * SALT_BYTES), "0" * 64)
"""A file that no state names."""
NOTE = "raw/openclaw/NOTE.md"
_START = datetime(2026, 10, 1, 12, tzinfo=UTC)
_CREATED = "2026-10-01T08:00:00.000Z"

E = TypeVar("E", bound=LifeboatError)


def expect_that(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with the sentence unless `holds`. (`assert` may be disabled.)"""
    if not holds:
        raise AssertionError(otherwise)


def expect_equal(found: object, wanted: object, what: str) -> None:
    expect_that(found == wanted, f"{what}: expected {wanted!r}, got {found!r}")


def expect_refused(kind: type[E], work: Callable[[], object], what: str) -> E:
    """Return the error that the work raises. Raises AssertionError when it raises none, or one of another kind."""
    try:
        work()
    except kind as error:
        return error
    except LifeboatError as error:
        raise AssertionError(
            f"{what}: the remote must refuse this with the error {kind.code}, but refused it with "
            f"{error.code}: {error.message}"
        ) from error
    raise AssertionError(f"{what}: the remote must refuse this with the error {kind.code}, but accepted it")


@dataclass
class TrialMachine:
    """A machine that writes one agent, with its own vault and device key, both temporary."""

    agent_id: str
    vault: Vault
    device: DeviceKey
    name: str
    made: int = 0

    def capture(self, *, number: int | None = None, **entries: bytes) -> SequenceRow:
        """Capture another state: a growing note, a memory, and `entries` by path with `/` written `__`."""
        self.made += 1
        note = "\n".join(f"- {count}: the lamp was lit" for count in range(self.made * 7)).encode()
        puts: dict[str, EntryPut | None] = {NOTE: EntryPut({}, note)}
        puts |= {path.replace("__", "/"): EntryPut({}, body) for path, body in entries.items()}
        line = make_record(f"Day {self.made} was fine.", created_at=_CREATED, agent_id=self.agent_id)
        return self.commit(puts, [line], number=number)

    def commit(
        self, puts: dict[str, EntryPut | None], lines: list[JsonObject] | None = None, *, number: int | None = None
    ) -> SequenceRow:
        self.made += 1
        partition = quarter_file(_CREATED)
        if self.vault.head() is None:
            listed = [{"file": partition, "from": first_day(partition), "to": None, "sealed": False}]
            document = make_head(self.agent_id, name=NAME, partitions=listed)
            puts = {archive_layout.MANIFEST: EntryPut({}, json_codec.encode_pretty(document)), **puts}
        records = [RecordPut("create", line["id"], partition, json_codec.encode_json(line)) for line in lines or []]
        row = self.vault.commit(
            Draft(puts, records),
            kind="capture",
            writer=self.device.id,
            time=_START + timedelta(minutes=self.made),
            sign=self.sign,
            number=number,
        )
        expect_that(row is not None, "the test could not create a new sequence for its temporary agent")
        assert row is not None
        return row

    def sign(self, sequence: Sequence) -> JsonObject:
        return sequence_signatures.sign_sequence(sequence, self.device)

    def file_key(self, path: str) -> FileKey:
        """Return the key by which a remote is asked for a file of the newest state."""
        entry = self.vault.state().entry(path)
        assert entry is not None
        found = file_key_of(entry)
        assert found is not None
        return found

    @property
    def here(self) -> SequenceRow:
        found = self.vault.head()
        assert found is not None
        return found

    def snapshot(self, number: int | None = None, *, keys: JsonObject | None = None) -> RemoteBundle:
        out = io.BytesIO()
        state = self.vault.state(number)
        write_snapshot(state, out, keys=keys)
        return make_bundle("snapshot", state.sequence.number, None, out.getvalue())

    def delta(self, base: int, number: int | None = None) -> RemoteBundle:
        out = io.BytesIO()
        to = self.here.number if number is None else number
        write_delta(self.vault.changes(base, to), out)
        return make_bundle("delta", to, base, out.getvalue())

    def begin(self, remote: Remote, captures: int = 1) -> RemoteHead:
        """Capture, and push the first state as a snapshot and each further one as a delta."""
        first = self.capture()
        pushed = self.push(remote, self.snapshot())
        for base in range(first.number, first.number + captures - 1):
            self.capture()
            pushed = self.push(remote, self.delta(base))
        return pushed

    def push(self, remote: Remote, sent: RemoteBundle) -> RemoteHead:
        with sent.file:
            return remote.push(self.agent_id, sent, machine=self.name)

    def expect_there(self, remote: Remote) -> None:
        """Expect that the newest state of this machine is the remote's."""
        there = remote.agent(self.agent_id).head
        expect_that(there is not None, "the remote has no newest sequence after a push")
        assert there is not None
        expect_equal((there.number, there.digest), (self.here.number, self.here.digest), "the head")

    def sequences(self, remote: Remote) -> list[RemoteSequence]:
        return list(remote.sequences(self.agent_id))

    def numbers(self, remote: Remote) -> list[int]:
        return [found.number for found in self.sequences(remote)]


@dataclass
class RemoteTrial:
    """Fixtures of one check."""

    fresh: Callable[[], Remote]
    scratch: Path
    user: UserKey = field(default_factory=UserKey.generate)
    agents: list[str] = field(default_factory=list)
    _remotes: list[Remote] = field(default_factory=list)
    _vaults: list[Vault] = field(default_factory=list)

    @property
    def remote(self) -> Remote:
        return self._remotes[0] if self._remotes else self.another()

    def another(self) -> Remote:
        """Return the same remote as another machine sees it."""
        self._remotes.append(self.fresh())
        return self._remotes[-1]

    def agent(self, name: str = NAME) -> str:
        """Register a new agent and return its id."""
        agent_id = self.unknown_agent()
        self.agents.append(agent_id)
        self.remote.register(agent_id, name, RUNTIME)
        return agent_id

    def unknown_agent(self) -> str:
        return ids.make_id(times.to_text(SystemClock().now()))

    def machine(self, name: str = "laptop", agent_id: str | None = None) -> TrialMachine:
        """Return a machine of this user with an empty vault, for a new agent unless given."""
        agent_id = agent_id or self.agent()
        vault = Vault.create(self.scratch / f"vault-{len(self._vaults)}", agent_id)
        self._vaults.append(vault)
        return TrialMachine(agent_id, vault, DeviceKey.generate(self.user), name)

    def copy_of(self, machine: TrialMachine, name: str) -> TrialMachine:
        """Return another machine that restored the first one's head."""
        made = self.machine(name, machine.agent_id)
        state = machine.vault.state()
        made.vault.accept(
            state.sequence, draft_of_state(state), kind="pull", writer="test", raw_time=state.sequence.time
        )
        made.made = machine.made
        return made

    def finish(self) -> list[str]:
        """Remove what was made, where the remote can; return the ids of agents that remain."""
        for vault in self._vaults:
            vault.close()
        if not self.agents:
            return []
        remove = getattr(self.remote, "remove_agent", None)
        if remove is None:
            return self.agents
        for agent_id in self.agents:
            remove(agent_id)
        return []


def make_bundle(kind: BundleKind, number: int, base: int | None, data: bytes) -> RemoteBundle:
    return RemoteBundle(kind, number, base, io.BytesIO(data), len(data))


def reopen_bundle(sent: RemoteBundle) -> RemoteBundle:
    """Return the same bundle for another push."""
    sent.file.seek(0)
    return make_bundle(sent.kind, sent.number, sent.base, sent.file.read())
