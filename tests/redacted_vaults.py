"""Redactions for the tests of vaults: signed, and made from what a vault holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from canaries import HEAD, TAIL
from canary_scan import Leak, Scanner

from lifeboat_alf import ids, redactions
from lifeboat_alf.redactions import Edit, Redaction, Replacement
from lifeboat_alf.state import BodyAbsent
from lifeboat_alf.testing import AGENT_ID
from lifeboat_endpoint.vault import HistoryItem, Vault
from lifeboat_keys import redacting
from lifeboat_keys.device_key import DeviceKey
from lifeboat_keys.trusted import Trusted
from lifeboat_keys.user_key import UserKey

TIME = "2026-11-21T09:00:00.000Z"
USER = UserKey.generate()
DEVICE = DeviceKey.generate(USER)
TRUSTED = Trusted(USER.public)


def signed(
    leaves: Mapping[bytes, Replacement | None], *, device: DeviceKey = DEVICE, record_ids: tuple[str, ...] = ()
) -> Redaction:
    """A redaction of these leaves, as a machine of the user signs it."""
    made = Redaction(
        id=ids.new(TIME),
        agent_id=AGENT_ID,
        scope=redactions.RECORDS,
        reason="user_request",
        requested_at=TIME,
        requested_by="principal-1",
        record_ids=record_ids,
        partitions_affected=("memory/partitions/2026-Q4.jsonl",) if record_ids else (),
        leaves=leaves,
    )
    return redacting.sign(made, device)


def cuts(body: bytes, *texts: bytes) -> list[Edit]:
    """What has to go from a body, so that none of the texts stands in it; they do not overlap."""
    found = []
    for text in texts:
        at = body.find(text)
        while at >= 0:
            found.append(Edit(at, len(text)))
            at = body.find(text, at + len(text))
    return sorted(found)


def purge_of(vault: Vault, *texts: bytes, passage: bool = False) -> Redaction:
    """A redaction of everything in a vault's history that holds one of the texts: it is cut out of files; records go
    whole, or with `passage` lose the text alone."""
    leaves: dict[bytes, Replacement | None] = {}
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
"""What is purged in these tests."""


def leaks(folder: Path) -> list[Leak]:
    """Where the canary stands in any file below a folder, in whatever spelling, stream or page."""
    return Scanner.of(()).folders(folder)
