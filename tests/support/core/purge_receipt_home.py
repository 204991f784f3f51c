"""A home with one purged memory and its receipt: the vault here is done, an endpoint too, another one waits."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import RECORDS, ByteEdit, LeafReplacement, Redaction
from lifeboat_alf.states import merkle
from lifeboat_core.home.context import Context
from lifeboat_core.purge import keep_out, receipt_signing, receipt_store
from lifeboat_core.purge.receipt_signing import MachinePurgeNote, PurgeReceipt, UnreachableCopy
from lifeboat_core.state.state_db import delete_cache
from lifeboat_keys.pairs.endpoint_key import EndpointKey
from lifeboat_keys.signed import redaction_signatures
from lifeboat_keys.signed import vault_receipts as vault_receipts
from lifeboat_keys.signed.purge_receipt import VaultPurgeNote
from lifeboat_keys.signed.vault_receipts import ReceiptAudit, ReceiptHead, VaultReceipt
from lifeboat_vault.vault import Vault
from support.core.protected import Protected, SteadyClock

ENDPOINT, WAITING = "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"
WAITS_UNTIL = "2026-11-13T12:00:00.000Z"


class Purged(Protected):
    """The agent `ada`, whose memory with `text` was purged, and removed from its file."""

    def __init__(self, folder: Path, text: bytes = b"red boat") -> None:
        super().__init__(folder)
        self._begin(text)

    def _begin(self, text: bytes) -> None:
        self.add(name="ada")
        self.text = text
        self.key = EndpointKey(b"e" * 32)
        self.redaction = self.purge(text)
        self.receipt = self.write_receipt(self.redaction)

    def copied(self, folder: Path) -> Purged:
        """Return a copy of the home that a test may change."""
        shutil.copytree(self.folder, folder)
        made = copy.copy(self)
        made.folder, made.clock = folder, SteadyClock(self.clock.moment)
        return made

    def damage_receipt(self) -> None:
        """Overwrite the receipt and its second copy with rubbish."""
        copies = self.context.home.state_folder / receipt_store.FOLDER
        for path in (receipt_store.locate_receipt(self.context, self.receipt.id), copies / f"{self.receipt.id}.json"):
            assert path.exists()
            path.write_text("{")

    def vault(self) -> Vault:
        return self.context.vault(self.agent.id)

    def purge(self, text: bytes) -> Redaction:
        """Sign a redaction of every object with a text, and apply it here."""
        context = self.context
        with self.vault() as vault:
            leaves = dict(_named(vault, text))
            items = [item for item in vault.history() if item.leaf.digest in leaves and item.record_id is not None]
            unsigned = Redaction(
                ids.make_id(context.now()),
                self.agent.id,
                RECORDS,
                "user_request",
                context.now(),
                self.agent.id,
                tuple(sorted({str(item.record_id) for item in items})),
                tuple(sorted({str(item.partition) for item in items})),
                tuple(row.number for row in vault.sequences()),
                leaves,
            )
            signed = redaction_signatures.sign_redaction(unsigned, context.keys().device)
            self.clock.advance(seconds=2)
            self.report = vault.redact(signed, decisions=keep_out.derive_keep_out(context, vault, signed))
        delete_cache(context.home.state_file(self.agent.id))
        return signed

    def write_receipt(self, redaction: Redaction) -> PurgeReceipt:
        """Note what the machine notes when it is done: its own vault, an endpoint that is done, one that waits."""
        context = self.context
        self.clock.advance(seconds=2)
        unreachable = (UnreachableCopy("laptop-2", "it was off", "its copy of the agent"),)
        receipt_signing.begin_receipt(
            context,
            redaction,
            context.now(),
            here=MachinePurgeNote(2, 0, True, None, None, {"objects": 40, "hits": 0}),
            unreachable=unreachable,
        )
        with self.vault() as vault:
            signed = receipt_signing.make_home_receipt(context, vault, redaction, objects=self.report.objects)
        own = {
            "name": signed.name,
            "kind": receipt_signing.HOME,
            "state": receipt_signing.DONE,
            "receipt": signed.to_json(),
        }
        receipt_signing.note_vault(context, redaction.id, VaultPurgeNote(id=signed.vault_id, since="", **own))
        theirs = vault_receipts.sign_with_endpoint(self.of_endpoint(redaction), self.key).to_json()
        done = {"name": "home", "kind": "endpoint", "state": receipt_signing.DONE, "receipt": theirs}
        receipt_signing.note_vault(context, redaction.id, VaultPurgeNote(id=ENDPOINT, since="", **done))
        waits = {"name": "office", "kind": "endpoint", "state": receipt_signing.WAITING, "applies_at": WAITS_UNTIL}
        made = receipt_signing.note_vault(context, redaction.id, VaultPurgeNote(id=WAITING, since="", **waits))
        assert made is not None
        return made

    def of_endpoint(self, redaction: Redaction, **changes: Any) -> VaultReceipt:
        """Return the unsigned receipt of the endpoint `home`."""
        fields: JsonObject = {
            "vault_id": ENDPOINT,
            "kind": "endpoint",
            "name": "home",
            "agent_id": self.agent.id,
            "redaction_id": redaction.id,
            "redaction_digest": redaction.digest.hex(),
            "applied": 1,
            "leaves": len(redaction.leaves),
            "objects": 3,
            "remaining": 0,
            "completed_at": self.context.now(),
            "head": ReceiptHead(0, "cd" * 32),
            "audit": ReceiptAudit(9, "ef" * 32),
        }
        return VaultReceipt(**(fields | changes))

    def document(self) -> JsonObject:
        """Return the receipt as JSON that a test may change."""
        return copy.deepcopy(self.receipt.to_json())

    def sign_again(self, document: JsonObject) -> JsonObject:
        """Sign as an attacker with this machine's device key, or a faulty program, could."""
        statement = {name: value for name, value in document.items() if name != "signature"}
        return {**statement, "signature": vault_receipts.sign_purge(statement, self.context.keys().device)}


def wrong(context: Context | None, document: Any) -> list[str]:
    """Return what is wrong with a receipt."""
    found = receipt_signing.verify_receipt(context, document)
    return [f"{each.subject}: {each.message}" for each in found if each.level is receipt_signing.ReceiptLevel.WRONG]


def _named(vault: Vault, text: bytes) -> Iterable[tuple[bytes, LeafReplacement | None]]:
    for item in vault.history():
        body = vault.read_object(item.object)
        if text not in body or not item.leaf.salt:
            continue
        if item.record_id is not None:
            yield item.leaf.digest, None
        else:
            assert merkle.leaf_holds(item.leaf, body)
            yield item.leaf.digest, redactions.replacement_of(body, [ByteEdit(body.index(text), len(text))])
