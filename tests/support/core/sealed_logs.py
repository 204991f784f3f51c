"""Machines that keep one agent in a sealed log: a home with the user's key, a vault with signed states, a folder."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states import entry_metas
from lifeboat_alf.testing.sample_states import AGENT_ID, make_head
from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.sealed.folder_kind import REMOTE_KIND
from lifeboat_core.remotes.sealed.sealed_log import SealedLog
from lifeboat_core.remotes.sealed.sealed_log_setup import RemovableLog
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.remote.remote_contract import RemoteBundle
from lifeboat_vault.vault import Draft, EntryPut, SequenceRow, Vault
from support.core.protected import SteadyClock
from support.vault.vaults import content_of

SOUL = "raw/openclaw/SOUL.md"
CONTENT = b"Canary: the red boat lies in the harbour of Example.\n"
NAME, RUNTIME, MACHINE = "canary-ada", "openclaw", "canary-laptop"


class Machine:
    """One home in `folder`. `stick` is the folder remote; the second machine of a user gets the key of the first."""

    def __init__(
        self,
        folder: Path,
        stick: Path,
        *,
        key: UserKey | None = None,
        sealed: bool = True,
        files: FileOperations | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.folder = folder
        self.stick = stick
        self.sealed = sealed
        self.remote_id = ""
        folder.mkdir(parents=True, exist_ok=True)
        around = {"LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder), "PATH": "/usr/bin:/bin"}
        self.context = Context.open(around, files, clock or SteadyClock())
        if key is not None:
            self.context.keys().install(key)
        self.context.keys().ensure()

    @property
    def key(self) -> UserKey:
        return self.context.keys().user_key()

    def log(self) -> RemovableLog:
        config = RemoteConfig("stick", f"file://{self.stick}", id=self.remote_id, sealed=self.sealed)
        log = REMOTE_KIND.open(self.context, config, None)
        assert isinstance(log, RemovableLog)
        return log

    def vault(self) -> Vault:
        if not self.context.home.vault_folder(AGENT_ID).exists():
            self.context.create_vault(AGENT_ID).close()
        return self.context.vault(AGENT_ID)

    def put(self, body: bytes = CONTENT, path: str = SOUL, *, number: int | None = None, **meta: Any) -> SequenceRow:
        """Commit one file; the first time the head of the manifest too."""
        entries = {path: EntryPut(dict(meta), body)}
        keys = self.context.keys()
        with self.vault() as vault:
            if vault.head() is None:
                entries[archive_layout.MANIFEST] = EntryPut({}, json_codec.encode_pretty(make_head(AGENT_ID)))
            made = vault.commit(
                Draft(entries),
                kind="capture",
                writer=keys.device.id,
                time=self.context.clock.now(),
                sign=lambda sequence: sequence_signatures.sign_sequence(sequence, keys.device),
                number=number,
            )
        assert made is not None
        return made

    def large(self, body: bytes, path: str = "artifacts/canary.bin") -> SequenceRow:
        fields = {"id": "019a0000-0000-7000-8000-0000000000aa", "media_type": "application/octet-stream", "tier": 3}
        return self.put(body, path, **{entry_metas.ATTACHMENT: fields})

    def bundle(self, number: int, on: int | None = None) -> RemoteBundle:
        out = io.BytesIO()
        with self.vault() as vault:
            if on is None:
                write_snapshot(vault.state(number), out)
            else:
                write_delta(vault.changes(on, number), out)
        size = out.tell()
        out.seek(0)
        return RemoteBundle("snapshot" if on is None else "delta", number, on, out, size)

    def push(self, log: SealedLog | None = None) -> int:
        """What the vault has and the log has not, as one bundle."""
        log = log or self.log()
        log.register(AGENT_ID, NAME, RUNTIME)
        there = log.agent(AGENT_ID).head
        with self.vault() as vault:
            newest = vault.head()
        assert newest is not None
        if there is not None and there.number == newest.number:
            return newest.number
        bundle = self.bundle(newest.number, None if there is None else there.number)
        log.push(AGENT_ID, bundle, machine=MACHINE)
        return newest.number

    def write(self, count: int) -> list[int]:
        """So many states, each pushed by itself; their numbers."""
        log, numbers = self.log(), []
        for index in range(count):
            self.put(CONTENT + f"line {index} of {count}\n".encode())
            numbers.append(self.push(log))
        return numbers

    def content(self, number: int) -> Any:
        """A state as this vault has it."""
        with self.vault() as vault:
            return content_of(vault.state(number))

    @property
    def agent_folder(self) -> Path:
        return self.stick / "agents" / AGENT_ID


def content_there(log: SealedLog, number: int | None = None) -> Any:
    """A state as the log gives it back, read to its end."""
    bundle = log.snapshot(AGENT_ID, number)
    with bundle.file, SnapshotReader(bundle.file) as reader:
        reader.check()
        return content_of(reader)
