"""Older clients of an agent with purged content receive nothing of it, and bring nothing of it back."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.memory import memory_records
from lifeboat_alf.redaction.redactions import RECORDS, ByteEdit, LeafReplacement, Redaction, replacement_of
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.legacy import legacy_pushes
from lifeboat_vault.legacy.legacy_state import legacy_view
from lifeboat_vault.vault import SequenceRow, Vault
from support.endpoint import reference_archives as reference
from support.vault.vaults import ManualClock

SECRET = "The number is 4711 0815."
MEMORY = f"# Memory\n\n## Tea\n\nLikes tea.\n\n## Card\n\n{SECRET}\n"
NOTE = "raw/openclaw/MEMORY.md"
DAY = 1_790_000_000_000_000_000


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    for name, text in {"SOUL.md": "# Ada\n", "MEMORY.md": MEMORY}.items():
        (folder / name).write_text(text)
        os.utime(folder / name, ns=(DAY, DAY))
    return folder


@pytest.fixture
def vault(tmp_path: Path, workspace: Path) -> Iterator[Vault]:
    with Vault.create(tmp_path / "vault", reference.agent_id(workspace), clock=ManualClock()) as made:
        send(made, workspace)
        purge(made)
        yield made


def send(vault: Vault, workspace: Path) -> SequenceRow:
    data = reference.write_snapshot(reference.export(workspace))
    with SnapshotReader(io.BytesIO(data)) as reader:
        return legacy_pushes.accept_snapshot(vault, reader, clock=ManualClock())


def purge(vault: Vault) -> Redaction:
    """Purge the memory that contains the number, and the number in the note."""
    secret = SECRET.encode()
    leaves: dict[bytes, LeafReplacement | None] = {}
    gone = set()
    for item in vault.history():
        body = vault.read_object(item.object)
        if item.record_id is not None and secret in body:
            leaves[item.leaf.digest] = None
            gone.add(item.record_id)
        elif item.path is not None and secret in body:
            leaves[item.leaf.digest] = replacement_of(body, [ByteEdit(body.index(secret), len(secret))])
    assert len(gone) == 1 and len(leaves) == 2
    now = "2026-11-20T12:00:00.000Z"
    made = Redaction(
        ids.make_id(now), vault.agent_id, RECORDS, "user_request", now, "a test", tuple(gone), leaves=leaves
    )
    signed = redaction_signatures.sign_redaction(replace(made, signature=None), DeviceKey.generate(UserKey.generate()))
    vault.redact(signed)
    return signed


def contents(vault: Vault) -> list[str]:
    return [str(memory_records.parse_record(item.line)["content"]) for item in vault.state().records()]


def test_what_such_a_client_restores_has_nothing_of_it(vault: Vault) -> None:
    out = io.BytesIO()
    write_snapshot(legacy_view(vault.state()), out)
    with SnapshotReader(out) as reader:
        bodies = [reader.body(entry.path) for entry in reader.entries()]
        lines = [record.line for record in reader.records()]
        assert len(lines) == 2 and reader.body(NOTE) == MEMORY.replace(SECRET, "").encode()
    assert not [body for body in (*bodies, *lines) if SECRET.encode() in body]


def test_a_purged_memory_that_is_sent_again_stays_away(vault: Vault, workspace: Path) -> None:
    (workspace / "SOUL.md").write_text("# Ada, renamed\n")
    assert send(vault, workspace).number == 1
    assert not [content for content in contents(vault) if SECRET in content]
    assert len(contents(vault)) == 2


def test_other_memories_go_on(vault: Vault, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text(f"{MEMORY}\n## Home\n\nLives in Lisbon.\n")
    send(vault, workspace)
    assert any("Lisbon" in content for content in contents(vault))
    assert not [content for content in contents(vault) if SECRET in content]
