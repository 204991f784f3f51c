"""A machine that writes agents without a workspace: states of given sizes, signed like those of a device."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks import prose

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_alf.testing.sample_states import first_day, make_head, make_record, quarter_file
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, SequenceRow, Vault

_LOG = "raw/openclaw/memory/today.md"
_RECORDS = 8
"""Number of 300-character records in each state."""


@dataclass
class Sender:
    """An agent with a separate vault. Each state adds `size` characters to be sent: one half is a log that is
    rewritten, the other half memories."""

    agent_id: str
    vault: Vault
    random: Random
    device: DeviceKey = field(default_factory=lambda: DeviceKey.generate(UserKey.generate()))
    start: datetime = field(default_factory=lambda: datetime.now(UTC) - timedelta(days=1))
    step: timedelta = timedelta(seconds=1)
    made: int = 0

    @classmethod
    def create(cls, folder: Path, agent_id: str, seed: int, **options: object) -> Sender:
        return cls(agent_id, Vault.create(folder, agent_id), Random(seed), **options)  # type: ignore[arg-type]

    def capture(self, log: int = 0, records: int = _RECORDS) -> SequenceRow:
        """Capture one more state: the log is replaced by one of `log` characters, and memories are added."""
        moment = self.start + self.step * self.made
        partition = quarter_file(times.to_text(moment))
        puts: dict[str, EntryPut | None] = {_LOG: EntryPut({}, self._text(log).encode())}
        if self.vault.head() is None:
            listed = [{"file": partition, "from": first_day(partition), "to": None, "sealed": False}]
            document = make_head(self.agent_id, name="Bench", partitions=listed)
            puts[archive_layout.MANIFEST] = EntryPut({}, json_codec.encode_pretty(document))
        lines = [self._record(moment) for _ in range(records)]
        rows = [RecordPut("create", line["id"], partition, json_codec.encode_json(line)) for line in lines]
        self.made += 1
        made = self.vault.commit(Draft(puts, rows), kind="capture", writer=self.device.id, time=moment, sign=self._sign)
        assert made is not None, "every state differs from the one before"
        return made

    def _text(self, length: int) -> str:
        lines = [f"# {self.made}"]
        while length > 0:
            lines.append(f"- {self.random.getrandbits(64):016x} {prose.sentence(self.random)}")
            length -= len(lines[-1])
        return "\n".join(lines)

    def _record(self, moment: datetime) -> JsonObject:
        text = f"{self.random.getrandbits(64):016x} {prose.paragraph(self.random, 280)}"
        return make_record(text, created_at=times.to_text(moment), agent_id=self.agent_id)

    def _sign(self, sequence: Sequence) -> JsonObject:
        return sequence_signatures.sign_sequence(sequence, self.device)

    def snapshot(self) -> bytes:
        out = io.BytesIO()
        write_snapshot(self.vault.state(), out)
        return out.getvalue()

    def delta(self, base: int, number: int) -> bytes:
        out = io.BytesIO()
        write_delta(self.vault.changes(base, number), out)
        return out.getvalue()
