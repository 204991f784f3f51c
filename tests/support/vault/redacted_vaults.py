"""Signed redactions for the tests of vaults, made from what a vault holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import ByteEdit, LeafReplacement, Redaction
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures, sequence_signatures
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.store import disk_blobs
from lifeboat_vault.vault import Draft, EntryPut, HistoryItem, RecordPut, Vault
from support.adapters.canaries import HEAD, TAIL
from support.adapters.canary_scan import Leak, Scanner
from support.endpoint.sealed import new_sealer
from support.vault.vaults import START, commit, create, edit

TIME = "2026-11-21T09:00:00.000Z"
USER = UserKey.generate()
DEVICE = DeviceKey.generate(USER)
TRUSTED = TrustedKeys(USER.public)


def signed(
    leaves: Mapping[bytes, LeafReplacement | None], *, device: DeviceKey = DEVICE, record_ids: tuple[str, ...] = ()
) -> Redaction:
    """Return a redaction of these leaves, signed by a machine of the user."""
    made = Redaction(
        id=ids.make_id(TIME),
        agent_id=AGENT_ID,
        scope=redactions.RECORDS,
        reason="user_request",
        requested_at=TIME,
        requested_by="principal-1",
        record_ids=record_ids,
        partitions_affected=("memory/partitions/2026-Q4.jsonl",) if record_ids else (),
        leaves=leaves,
    )
    return redaction_signatures.sign_redaction(made, device)


def cuts(body: bytes, *texts: bytes) -> list[ByteEdit]:
    """Return disjoint edits that remove all the texts from a body."""
    found = []
    for text in texts:
        at = body.find(text)
        while at >= 0:
            found.append(ByteEdit(at, len(text)))
            at = body.find(text, at + len(text))
    return sorted(found)


def purge_of(vault: Vault, *texts: bytes, passage: bool = False) -> Redaction:
    """Return a redaction of everything in a vault's history that contains one of the texts: files are cut; records go
    whole or, with `passage`, lose only the text."""
    leaves: dict[bytes, LeafReplacement | None] = {}
    gone: list[str] = []
    for item in vault.history():
        body = body_of(vault, item)
        edits = cuts(body, *texts)
        if not edits or item.leaf.digest in leaves:
            continue
        if item.record_id is not None and not passage:
            leaves[item.leaf.digest] = None
            gone.append(item.record_id)
        else:
            made = redactions.replacement_of(body, edits)
            leaves[item.leaf.digest] = vault.redactions.on_top(item.leaf.digest, made)
    return signed(leaves, record_ids=tuple(dict.fromkeys(gone)))


def body_of(vault: Vault, item: HistoryItem) -> bytes:
    try:
        return vault.read_object(item.object)
    except BodyAbsent:
        return b""


CANARY = f"{HEAD}-of-the-vault-{TAIL}".encode()
"""The text that these tests purge."""


def leaks(folder: Path) -> list[Leak]:
    """Return where the canary occurs in any file below a folder, in any spelling, stream or page."""
    return Scanner.of(()).folders(folder)


# A history with a canary ------------------------------------------------------------------------------------------

NOTE = "raw/openclaw/memory.md"
BIG = "artifacts/chart.bin"
LARGE = {"attachment": {"id": "a", "media_type": "image/png", "tier": 3}}

either = pytest.mark.parametrize("sealer", [PLAIN, new_sealer()], ids=["plain", "sealed"])
"""Run with plain and with sealed vaults."""


@pytest.fixture
def sealer() -> Sealer:
    return PLAIN


@pytest.fixture(autouse=True)
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move small bodies to files too, because searching large noise for a canary takes long."""
    monkeypatch.setattr(disk_blobs, "LARGEST_INLINE", 2_000)


@pytest.fixture
def vault(tmp_path: Path, sealer: Sealer) -> Vault:
    return Vault.create(tmp_path / "vault", AGENT_ID, sealer=sealer)


def line(number: int) -> bytes:
    return b"- line %d of the note, which nobody purges\n" % number


def note(days: int, *, holding: range) -> bytes:
    """Return a growing note; on some days a line contains the canary."""
    lines = [line(number) for number in range(days * 5)]
    if days in holding:
        lines.insert(3, b"- the passport has the number " + CANARY + b"\n")
    return b"".join(lines)


def live(vault: Vault, days: int = 8) -> None:
    """Make a history in which the canary comes and goes: in a note, in a large file and in records."""
    telling, other = create(f"The passport has the number {CANARY.decode()}."), create("Likes tea.")
    noise = os.urandom(3_000)
    for day in range(days):
        records: list[RecordPut] = []
        if day == 1:
            records = [telling, other]
        if day == 3:
            records = [edit(telling, content=f"The number is {CANARY.decode()}, until 2030.")]
        entries = {
            NOTE: EntryPut({"records": [telling.id]}, note(day + 1, holding=range(3, 6))),
            BIG: EntryPut(LARGE, noise + CANARY + b"%d" % day),
        }
        commit(
            vault,
            Draft(entries, records),
            START + timedelta(hours=day),
            sign=lambda state: sequence_signatures.sign_sequence(state, DEVICE),
        )


def digests(vault: Vault) -> list[bytes]:
    return [row.digest for row in vault.sequences()]


def check(vault: Vault, expected: list[bytes]) -> None:
    """Check that every sequence still is the one that was digested and signed."""
    assert digests(vault) == expected
    assert [merkle.state_digest(vault.state(row.number)) for row in vault.sequences()] == expected
    assert vault.verify(trusted=TRUSTED).findings == []
