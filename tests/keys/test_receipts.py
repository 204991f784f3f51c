"""Receipts of purges: every field is signed, and a signature of one kind never passes as another."""

from __future__ import annotations

import copy
import json
import stat
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_keys.errors import KeyDamaged, KeysError, ReceiptInvalid, SignedByAnother
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.endpoint_key import FILE, EndpointKey
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures, vault_receipts
from lifeboat_keys.signed.vault_receipts import ReceiptAudit, ReceiptHead, ReceiptVerdict, VaultReceipt
from support.alf.raising import raises_code

AGENT = "01900000-0000-7000-8000-00000000000a"
VAULT, PURGE = "11111111-0000-4000-8000-000000000001", "01900000-0000-7000-8000-00000000000b"
KEY = UserKey(b"k" * 32)
TRUSTED = TrustedKeys(KEY.public)
DEVICE = DeviceKey.generate(KEY)
ENDPOINT = EndpointKey(b"e" * 32)
PINNED = {VAULT: ENDPOINT.public}
PLAIN = VaultReceipt(
    vault_id=VAULT,
    kind="endpoint",
    name="home",
    agent_id=AGENT,
    redaction_id=PURGE,
    redaction_digest="ab" * 32,
    applied=2,
    leaves=7,
    objects=5,
    remaining=0,
    completed_at="2026-11-20T18:55:00.123Z",
    head=ReceiptHead(12, "cd" * 32),
    audit=ReceiptAudit(40, "ef" * 32),
    found={"objects": 900, "hits": 0},
)
OF_DEVICE = vault_receipts.sign_with_device(PLAIN, DEVICE)
OF_ENDPOINT = vault_receipts.sign_with_endpoint(PLAIN, ENDPOINT)


def through_json(receipt: VaultReceipt) -> VaultReceipt:
    return vault_receipts.decode_vault_receipt(json.loads(json.dumps(receipt.to_json())))


def holds(receipt: VaultReceipt) -> ReceiptVerdict:
    pinned = PINNED if receipt.signer == vault_receipts.ENDPOINT else {}
    return vault_receipts.verify_vault_receipt(receipt, trusted=TRUSTED, endpoints=pinned)


# Who signed -----------------------------------------------------------------------------------------------------------


def test_a_receipt_of_a_device_holds_for_whoever_has_the_words_of_the_key() -> None:
    again = TrustedKeys(UserKey.from_words(KEY.words()).public)
    assert (
        vault_receipts.verify_vault_receipt(through_json(OF_DEVICE), trusted=again, endpoints={})
        is ReceiptVerdict.SIGNED
    )


def test_a_receipt_of_an_endpoint_holds_against_the_key_that_was_remembered() -> None:
    assert (
        vault_receipts.verify_vault_receipt(through_json(OF_ENDPOINT), trusted=TRUSTED, endpoints=PINNED)
        is ReceiptVerdict.PINNED
    )


@pytest.mark.parametrize("receipt", [OF_DEVICE, OF_ENDPOINT])
def test_without_a_known_key_only_the_consistency_is_known(receipt: VaultReceipt) -> None:
    assert vault_receipts.verify_vault_receipt(receipt, trusted=None, endpoints={}) is ReceiptVerdict.UNKNOWN_SIGNER


def test_the_key_of_another_endpoint_is_refused() -> None:
    theirs = vault_receipts.sign_with_endpoint(PLAIN, EndpointKey.generate())
    with pytest.raises(SignedByAnother):
        vault_receipts.verify_vault_receipt(theirs, trusted=TRUSTED, endpoints=PINNED)


def test_the_device_of_another_user_is_refused() -> None:
    theirs = vault_receipts.sign_with_device(PLAIN, DeviceKey.generate(UserKey.generate()))
    with pytest.raises(SignedByAnother):
        vault_receipts.verify_vault_receipt(theirs, trusted=TRUSTED, endpoints={})


def test_nobody_signs_for_an_endpoint_whose_key_is_known() -> None:
    with pytest.raises(SignatureError, match="signs its own receipts"):
        vault_receipts.verify_vault_receipt(OF_DEVICE, trusted=TRUSTED, endpoints=PINNED)


def test_a_receipt_without_signature_is_refused() -> None:
    with pytest.raises(SignatureError, match="not signed"):
        vault_receipts.verify_vault_receipt(PLAIN, trusted=TRUSTED, endpoints={})


# Changes --------------------------------------------------------------------------------------------------------------

OTHER: JsonObject = {
    "vault_id": "11111111-0000-4000-8000-000000000002",
    "kind": "folder",
    "name": "stick",
    "agent_id": PURGE,
    "redaction_id": AGENT,
    "redaction_digest": "ba" * 32,
    "applied": 3,
    "leaves": 8,
    "objects": 6,
    "remaining": 1,
    "completed_at": "2026-11-20T18:55:00.124Z",
    "head": None,
    "audit": ReceiptAudit(41, "ef" * 32),
    "found": {"objects": 900, "hits": 1},
    "signer": "other",
}


def test_every_field_has_a_changed_value_here() -> None:
    assert {one.name for one in fields(VaultReceipt)} == {*OTHER, "signature"}


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("receipt", [OF_DEVICE, OF_ENDPOINT], ids=["device", "endpoint"])
def test_no_field_can_be_changed(receipt: VaultReceipt, name: str) -> None:
    value = OTHER[name]
    if name == "signer":
        value = vault_receipts.ENDPOINT if receipt.signer == vault_receipts.DEVICE else vault_receipts.DEVICE
    with pytest.raises(SignatureError):
        vault_receipts.verify_vault_receipt(replace(receipt, **{name: value}), trusted=TRUSTED, endpoints={})


def _mutations(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every part of a document changed, removed, of another type, and one added."""
    if isinstance(value, dict):
        for name in value:
            yield f"{path}.{name} gone", {key: one for key, one in value.items() if key != name}
            for what, made in _mutations(value[name], f"{path}.{name}"):
                yield what, {**value, name: made}
        yield f"{path} and more", {**value, "more": 0}
    elif isinstance(value, str):
        yield f"{path} changed", f"{value[:-1]}{'a' if value[-1:] != 'a' else 'b'}"
        yield f"{path} empty", ""
        yield f"{path} no text", 7
    elif type(value) is int:
        yield from ((f"{path} more", value + 1), (f"{path} a float", float(value)), (f"{path} a switch", bool(value)))
        yield f"{path} negative", -1
    elif value is None:
        yield f"{path} there", {}


@pytest.mark.parametrize("receipt", [OF_DEVICE, OF_ENDPOINT], ids=["device", "endpoint"])
def test_no_part_of_the_document_can_be_changed_left_out_or_put_in(receipt: VaultReceipt) -> None:
    assert holds(through_json(receipt)) in (ReceiptVerdict.SIGNED, ReceiptVerdict.PINNED)
    passed = []
    for what, document in _mutations(receipt.to_json()):
        try:
            holds(vault_receipts.decode_vault_receipt(document))
        except (ReceiptInvalid, SignatureError):
            continue
        passed.append(what)
    assert passed == []


# Kinds ----------------------------------------------------------------------------------------------------------------


def test_the_signature_of_a_redaction_is_none_of_a_receipt() -> None:
    statement = PLAIN.statement()
    signature = redaction_signatures.sign_redaction(_redaction(), DEVICE).signature
    with pytest.raises(SignatureError):
        vault_receipts.verify_purge(statement, signature, TRUSTED)


def test_the_signature_of_a_vaults_receipt_is_none_of_the_whole_purge() -> None:
    with pytest.raises(SignatureError):
        vault_receipts.verify_purge(OF_DEVICE.statement(), OF_DEVICE.signature, TRUSTED)


def test_the_signature_of_the_whole_purge_is_none_of_a_vaults_receipt() -> None:
    signature = vault_receipts.sign_purge(PLAIN.statement(), DEVICE)
    assert vault_receipts.verify_purge(PLAIN.statement(), signature, TRUSTED) is ReceiptVerdict.SIGNED
    with pytest.raises(SignatureError):
        vault_receipts.verify_vault_receipt(replace(PLAIN, signature=signature), trusted=TRUSTED, endpoints={})


def test_the_key_of_an_endpoint_signs_nothing_that_passes_as_a_devices() -> None:
    made = replace(PLAIN, signature=ENDPOINT.sign("vault receipt", PLAIN.statement()))
    with pytest.raises(SignatureError):
        vault_receipts.verify_vault_receipt(made, trusted=None, endpoints={})


def _redaction() -> Redaction:
    return Redaction(PURGE, AGENT, "record_purge", "user_request", PLAIN.completed_at, "somebody")


# The endpoint's key ---------------------------------------------------------------------------------------------------


def test_the_key_of_an_endpoint_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    made = EndpointKey.load(tmp_path, SystemFiles())
    assert EndpointKey.load(tmp_path, SystemFiles()).public == made.public
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    EndpointKey.load(tmp_path, SystemFiles())
    (tmp_path / FILE).chmod(0o644)
    with raises_code(KeysError.UNSAFE):
        EndpointKey.load(tmp_path, SystemFiles())


@pytest.mark.parametrize("change", [{"kind": "another"}, {"version": 2}, {"secret": to_base64(b"short")}])
def test_what_holds_no_key_is_damaged(change: JsonObject) -> None:
    with pytest.raises(KeyDamaged):
        EndpointKey.of_document({**ENDPOINT.to_document(), **change})


def test_the_secret_shows_nowhere() -> None:
    secret = ENDPOINT.to_document()["secret"]
    shown = repr(ENDPOINT) + json.dumps(OF_ENDPOINT.to_json())
    assert secret not in shown and (b"e" * 32).hex() not in shown


def test_a_receipt_is_read_as_it_was_written() -> None:
    document = copy.deepcopy(OF_ENDPOINT.to_json())
    assert vault_receipts.decode_vault_receipt(document).to_json() == OF_ENDPOINT.to_json()
