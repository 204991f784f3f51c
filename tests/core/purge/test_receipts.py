"""Receipts of purges are signed at every change, and every unsigned change is detected."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import stat
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from nacl.signing import VerifyKey

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import DaemonError, SystemRefused
from lifeboat_core.home import user_key_rotation
from lifeboat_core.purge import endpoint_pins, receipt_signing, receipt_store
from lifeboat_core.purge.receipt_signing import ReceiptLevel
from lifeboat_keys.errors import ReceiptInvalid
from lifeboat_keys.pairs.endpoint_key import EndpointKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import purge_receipt
from lifeboat_keys.signed import vault_receipts as vault_receipts
from lifeboat_keys.signed.purge_receipt import VaultPurgeNote
from lifeboat_vault.vault.open_vault import FILE
from support.alf.raising import raises_code
from support.core.purge_receipt_home import ENDPOINT, WAITING, WAITS_UNTIL, Purged, wrong


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Purged:
    return Purged(tmp_path_factory.mktemp("made"))


@pytest.fixture
def ada(made: Purged, tmp_path: Path) -> Purged:
    return made.copied(tmp_path / "copy")


# Keeping --------------------------------------------------------------------------------------------------------------


def test_a_receipt_is_for_its_owner_alone(ada: Purged) -> None:
    path = receipt_store.locate_receipt(ada.context, ada.receipt.id)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_kept_is_what_was_written(ada: Purged) -> None:
    assert receipt_signing.read_receipt(ada.context, ada.receipt.id) == ada.receipt
    assert receipt_signing.load_receipts(ada.context) == [ada.receipt]


def test_the_beginning_of_an_id_is_enough(ada: Purged) -> None:
    assert receipt_signing.find_receipt(ada.context, ada.receipt.id[:8].upper()) == ada.receipt


@pytest.mark.parametrize("named", ["", "ffff", "../../config"])
def test_what_names_no_receipt_finds_none(ada: Purged, named: str) -> None:
    with raises_code(DaemonError.UNKNOWN_RECEIPT):
        receipt_signing.find_receipt(ada.context, named)


def test_a_receipt_that_is_damaged_is_written_again_from_its_second_copy(ada: Purged) -> None:
    path = receipt_store.locate_receipt(ada.context, ada.receipt.id)
    whole = path.read_bytes()
    path.write_text("{")
    assert receipt_signing.load_receipts(ada.context) == [ada.receipt] and path.read_bytes() == whole
    assert list(receipt_signing.list_damaged_receipts(ada.context)) == []


def test_a_receipt_that_is_damaged_in_both_places_is_named(ada: Purged) -> None:
    ada.damage_receipt()
    assert receipt_signing.load_receipts(ada.context) == []
    ((receipt_id, _),) = receipt_signing.list_damaged_receipts(ada.context)
    assert receipt_id == ada.receipt.id


def test_the_audit_record_is_that_of_the_vault_to_the_letter(ada: Purged) -> None:
    with ada.vault() as vault:
        (row,) = [row for row in vault.audit_rows() if row.kind == "purge"]
    assert row.subject == ada.receipt.id and row.details == ada.receipt.audit
    assert list(ada.receipt.audit) == [
        "purge_id",
        "agent_id",
        "scope",
        "record_ids",
        "partitions_affected",
        "reason",
        "requested_at",
        "completed_at",
        "requested_by",
    ]


# Notes ----------------------------------------------------------------------------------------------------------------


def _note(ada: Purged, vault_id: str, **facts: Any) -> receipt_signing.VaultPurgeNote:
    named = {"name": "office", "kind": "endpoint", "id": vault_id, "since": ""} | facts
    refused = named.pop("refused", False)
    made = receipt_signing.note_vault(ada.context, ada.receipt.id, VaultPurgeNote(**named), refused=refused)
    assert made is not None
    note = made.vault(vault_id)
    assert note is not None
    return note


def test_noting_the_same_again_writes_nothing(ada: Purged) -> None:
    path = receipt_store.locate_receipt(ada.context, ada.receipt.id)
    before = path.stat().st_ino, path.read_bytes()
    ada.clock.advance(hours=1)
    _note(ada, WAITING, state=receipt_signing.WAITING, applies_at=WAITS_UNTIL)
    assert (path.stat().st_ino, path.read_bytes()) == before


def test_a_vault_that_is_done_stays_done(ada: Purged) -> None:
    assert (
        _note(ada, ENDPOINT, name="home", state=receipt_signing.PENDING, message="it was away").state
        == receipt_signing.DONE
    )


def test_the_first_receipt_that_held_stays(ada: Purged) -> None:
    """When a purge is repeated, nothing is left to destroy, so a later receipt says less."""
    again = vault_receipts.sign_with_endpoint(ada.of_endpoint(ada.redaction, objects=0), ada.key).to_json()
    note = _note(
        ada, ENDPOINT, name="home", state=receipt_signing.DONE, message="it keeps another state", receipt=again
    )
    assert note.receipt is not None and note.receipt["objects"] == 3 and note.message == "it keeps another state"


def test_since_when_it_is_pending_stays_while_the_reason_changes(ada: Purged) -> None:
    first = _note(ada, "office", state=receipt_signing.PENDING, message="it was away")
    ada.clock.advance(hours=1)
    second = _note(ada, "office", state=receipt_signing.PENDING, message="it was full")
    assert second.since == first.since and second.message == "it was full"


def test_a_vault_that_cannot_be_asked_goes_on_waiting_until_the_wait_is_over(ada: Purged) -> None:
    note = _note(ada, WAITING, state=receipt_signing.PENDING, message="it was away")
    assert (note.state, note.applies_at, note.message) == (receipt_signing.WAITING, WAITS_UNTIL, "it was away")
    ada.clock.advance(days=1)
    assert _note(ada, WAITING, state=receipt_signing.PENDING, message="it was away").state == receipt_signing.PENDING


def test_a_change_is_signed_anew_and_holds(ada: Purged) -> None:
    ada.clock.advance(hours=1)
    _note(ada, WAITING, state=receipt_signing.PENDING, message="it was away")
    made = receipt_signing.find_receipt(ada.context, ada.receipt.id)
    assert made.changed_at != ada.receipt.changed_at and wrong(ada.context, made.to_json()) == []


def test_of_a_purge_that_has_no_receipt_nothing_is_noted(ada: Purged) -> None:
    unknown = "01900000-0000-7000-8000-00000000000b"
    note = VaultPurgeNote("a", WAITING, "endpoint", receipt_signing.PENDING, "")
    noted = receipt_signing.note_vault(ada.context, unknown, note)
    assert noted is None


def _theirs(ada: Purged, key: EndpointKey | None = None, **changes: Any) -> JsonObject:
    unsigned = ada.of_endpoint(ada.redaction, vault_id=WAITING, **changes)
    return vault_receipts.sign_with_endpoint(unsigned, key or EndpointKey(b"o" * 32)).to_json()


def test_a_receipt_that_came_later_ends_the_waiting(ada: Purged) -> None:
    assert _note(ada, WAITING, state=receipt_signing.DONE, receipt=_theirs(ada)).state == receipt_signing.DONE
    assert receipt_signing.find_receipt(ada.context, ada.receipt.id).is_done


def test_the_key_of_an_endpoint_is_remembered_at_first_sight(ada: Purged) -> None:
    _note(ada, WAITING, state=receipt_signing.DONE, receipt=_theirs(ada))
    assert endpoint_pins.load_pinned_keys(ada.context)[WAITING] == EndpointKey(b"o" * 32).public


def test_another_key_than_the_remembered_one_proves_nothing(ada: Purged) -> None:
    assert endpoint_pins.pin_endpoint_key(ada.context, WAITING, "office", EndpointKey(b"o" * 32).public)
    note = _note(ada, WAITING, state=receipt_signing.DONE, receipt=_theirs(ada, EndpointKey(b"x" * 32)))
    assert note.state == receipt_signing.PENDING and note.receipt is None and "another endpoint" in note.message


def test_a_remembered_key_is_not_replaced(ada: Purged) -> None:
    assert not endpoint_pins.pin_endpoint_key(ada.context, ENDPOINT, "home", EndpointKey(b"x" * 32).public)
    assert endpoint_pins.load_pinned_keys(ada.context)[ENDPOINT] == ada.key.public


def test_damaged_notes_of_keys_are_said_and_not_replaced(ada: Purged) -> None:
    path = receipt_store.locate_receipts(ada.context) / "endpoints.json"
    path.write_text("{}x")
    with pytest.raises(SystemRefused):
        endpoint_pins.pin_endpoint_key(ada.context, ENDPOINT, "home", ada.key.public)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"remaining": 1}, "still exist"),
        ({"found": {"hits": 1}}, "search after the purge"),
        ({"agent_id": "01900000-0000-7000-8000-00000000000b"}, "another agent"),
        ({"redaction_id": "01900000-0000-7000-8000-00000000000b"}, "another purge"),
        ({"redaction_digest": "00" * 32}, "another redaction"),
    ],
)
def test_what_an_endpoint_signed_that_is_not_this_purge_leaves_it_pending(
    ada: Purged, change: JsonObject, said: str
) -> None:
    note = _note(ada, WAITING, state=receipt_signing.DONE, receipt=_theirs(ada, **change))
    assert note.state == receipt_signing.PENDING and said in note.message


def test_a_receipt_of_another_vault_leaves_it_pending(ada: Purged) -> None:
    done = ada.receipt.vault(ENDPOINT)
    assert done is not None
    note = _note(ada, WAITING, state=receipt_signing.DONE, receipt=done.receipt)
    assert note.state == receipt_signing.PENDING and "another vault" in note.message


# Holding --------------------------------------------------------------------------------------------------------------


def test_a_receipt_holds_in_the_home_that_made_it(ada: Purged) -> None:
    found = receipt_signing.verify_receipt(ada.context, ada.document())
    assert [each.subject for each in found if each.level is ReceiptLevel.OPEN] == ["office"]
    assert not receipt_signing.has_wrong_finding(found)


def test_without_a_home_it_was_made_by_somebody_whose_key_is_not_known(ada: Purged) -> None:
    found = receipt_signing.verify_receipt(None, ada.document())
    assert not receipt_signing.has_wrong_finding(found) and not any(each.level is ReceiptLevel.HOLDS for each in found)
    assert "a key that this home does not know" in found[0].message


def test_in_another_home_of_the_same_user_the_keys_are_known_and_the_vault_is_not_there(
    ada: Purged, tmp_path: Path
) -> None:
    other = Purged.__new__(Purged)
    super(Purged, other).__init__(tmp_path / "laptop")
    other.context.keys().install(ada.context.keys().user_key())
    found = {each.subject: each.level for each in receipt_signing.verify_receipt(other.context, ada.document())}
    assert found["receipt"] is ReceiptLevel.HOLDS and found["vault on this machine"] is ReceiptLevel.OPEN


def test_a_home_of_another_user_refuses_it(ada: Purged, tmp_path: Path) -> None:
    stranger = Purged(tmp_path / "stranger")
    assert any(
        "another user" in each or "signed with the key" in each for each in wrong(stranger.context, ada.document())
    )


def test_an_earlier_receipt_is_no_lie(ada: Purged) -> None:
    ada.clock.advance(hours=1)
    _note(ada, WAITING, state=receipt_signing.PENDING, message="it was away")
    found = receipt_signing.verify_receipt(ada.context, ada.document())
    assert not receipt_signing.has_wrong_finding(found) and any("is newer" in each.message for each in found)


@pytest.mark.parametrize("compromised", [False, True])
def test_a_receipt_holds_after_the_key_of_the_user_was_replaced(ada: Purged, compromised: bool) -> None:
    user_key_rotation.rotate_user_key(
        ada.context, ada.context.keys().user_key(), UserKey.generate(), compromised=compromised, lost=None
    )
    kept = receipt_signing.find_receipt(ada.context, ada.receipt.id)
    assert wrong(ada.context, kept.to_json()) == []
    found = receipt_signing.verify_receipt(ada.context, kept.to_json())
    assert [each.subject for each in found if each.level is ReceiptLevel.OPEN] == ["office"]


def test_what_was_forged_before_the_key_was_replaced_is_not_signed_again(ada: Purged) -> None:
    document = ada.document()
    document["here"]["undo_folders"] = 3
    receipt_store.locate_receipt(ada.context, ada.receipt.id).write_text(json.dumps(document))
    user_key_rotation.rotate_user_key(
        ada.context, ada.context.keys().user_key(), UserKey.generate(), compromised=True, lost=None
    )
    assert wrong(ada.context, receipt_signing.find_receipt(ada.context, ada.receipt.id).to_json())


def test_a_receipt_can_be_checked_by_hand(ada: Purged) -> None:
    """Use only the documentation: canonical JSON, a line before it, Ed25519."""

    def holds(document: JsonObject, public: str, line: str) -> None:
        statement = {name: value for name, value in document.items() if name != "signature"}
        message = f"{line}\n".encode() + rfc8785.dumps(statement)
        VerifyKey(b64decode(public)).verify(message, b64decode(document["signature"]["signature"]))

    document = ada.document()
    own, home = (each["receipt"] for each in document["vaults"][:2])
    holds(document, document["signature"]["device"], "lifeboat purge receipt 1")
    holds(own, own["signature"]["device"], "lifeboat vault receipt 1")
    holds(home, home["signature"]["endpoint"], "lifeboat endpoint vault receipt 1")
    signed = document["signature"]
    certificate = {
        "device": signed["device"],
        "user": signed["user"],
        "signature": {"signature": signed["certificate"]},
    }
    holds(certificate, signed["user"]["sign"], "lifeboat device certificate 1")


def test_a_row_of_the_audit_can_be_checked_by_hand(ada: Purged) -> None:
    with ada.vault() as vault:
        rows = list(vault.audit_rows())
    previous = b"lifeboat audit 1"
    for row in rows:
        fields = {name: getattr(row, name) for name in ("number", "time", "kind", "subject", "details")}
        previous = hashlib.sha256(previous + rfc8785.dumps(fields)).digest()
        assert previous == row.hash


# Changing -------------------------------------------------------------------------------------------------------------


def _changes(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a document with each part changed, removed or of another type, and with one added."""
    if isinstance(value, dict):
        for name in value:
            yield f"{path}.{name} gone", {key: one for key, one in value.items() if key != name}
            for what, made in _changes(value[name], f"{path}.{name}"):
                yield what, {**value, name: made}
        yield f"{path} and more", {**value, "more": 0}
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield f"{path}[{place}] gone", value[:place] + value[place + 1 :]
            for what, made in _changes(each, f"{path}[{place}]"):
                yield what, [*value[:place], made, *value[place + 1 :]]
        yield f"{path} and more", [*value, *(value[:1] or ["more"])]
    elif isinstance(value, bool):
        yield f"{path} turned", not value
    elif isinstance(value, str):
        yield f"{path} changed", f"{value[:-1]}{'a' if value[-1:] != 'a' else 'b'}"
        yield f"{path} no text", 7
    elif isinstance(value, int):
        yield from ((f"{path} more", value + 1), (f"{path} a float", float(value)), (f"{path} a switch", bool(value)))
    elif value is None:
        yield f"{path} there", "2026-11-20T00:00:00.000Z"


@pytest.mark.parametrize("at_home", [True, False], ids=["with a home", "without a home"])
def test_no_part_can_be_changed_left_out_or_put_in(ada: Purged, at_home: bool) -> None:
    context = ada.context if at_home else None
    changes = list(_changes(ada.document()))
    assert len(changes) > 200
    assert [what for what, document in changes if not wrong(context, document)] == []


def test_json_that_is_no_receipt_does_not_hold() -> None:
    for document in (None, [], {}, "receipt", 7):
        assert wrong(None, document)


def _exchanged(document: JsonObject, change: Callable[[JsonObject], None]) -> JsonObject:
    change(document)
    return document


def test_receipts_of_two_vaults_cannot_be_exchanged_even_by_who_can_sign(ada: Purged) -> None:
    document = ada.document()
    first, second = document["vaults"][0], document["vaults"][1]
    first["receipt"], second["receipt"] = second["receipt"], first["receipt"]
    assert wrong(None, ada.sign_again(document)) and wrong(ada.context, ada.sign_again(document))


def test_the_receipt_of_another_purge_does_not_pass_even_signed(ada: Purged) -> None:
    ada.clock.advance(minutes=5)
    second = ada.write_receipt(ada.purge(b"green tea"))
    document, own = second.to_json(), ada.document()
    document["vaults"][1]["receipt"] = own["vaults"][1]["receipt"]
    assert any("another purge" in each for each in wrong(None, ada.sign_again(document)))


def test_the_receipt_of_another_agent_does_not_pass_even_signed(ada: Purged) -> None:
    document = ada.document()
    unsigned = ada.of_endpoint(ada.redaction, agent_id="01900000-0000-7000-8000-00000000000b")
    document["vaults"][1]["receipt"] = vault_receipts.sign_with_endpoint(unsigned, ada.key).to_json()
    assert any("another agent" in each for each in wrong(None, ada.sign_again(document)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: document["vaults"][1].update(receipt=None), "no signature of the vault"),
        (lambda document: document["vaults"][1].update(state="pending"), "has not applied"),
        (lambda document: document["vaults"][2].update(applies_at=None), "does not state when it will be applied"),
        (lambda document: document["vaults"].append(document["vaults"][2]), "a vault twice"),
        (lambda document: document["here"]["searched"].update(hits=2), "after the purge found 2 matches"),
        (lambda document: document["audit"].update(purge_id=document["audit"]["agent_id"]), "another purge"),
        (lambda document: document["audit"].update(reason="because it was 4711"), "reason"),
        (lambda document: document["audit"].update(scope="full_agent"), "an unknown field"),
        (lambda document: document["audit"].update(requested_at="yesterday"), "the format of the receipt is invalid"),
    ],
)
def test_what_contradicts_itself_does_not_hold_even_signed(
    ada: Purged, change: Callable[[JsonObject], None], said: str
) -> None:
    document = ada.sign_again(_exchanged(ada.document(), change))
    found = wrong(None, document)
    assert any(said in each for each in found), found


def test_a_vaults_receipt_that_was_removed_is_missed_by_the_home_even_signed(ada: Purged) -> None:
    document = ada.document()
    del document["vaults"][1]
    assert wrong(ada.context, ada.sign_again(document)) == ["receipt in this home: differs"]


# The vault ------------------------------------------------------------------------------------------------------------


def _in_vault(ada: Purged, *statements: str) -> None:
    """Write into the file of the vault as an attacker would."""
    with sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / FILE) as database:
        for statement in statements:
            assert database.execute(statement).rowcount != 0
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET details = replace(details, 'user_request', 'ccpa_deletion') WHERE kind = 'purge'",
        "UPDATE audit SET details = replace(details, '}', ',\"note\":1}') WHERE kind = 'purge'",
        "UPDATE audit SET time = '2026-01-01T00:00:00.000Z' WHERE kind = 'purge'",
        "UPDATE audit SET subject = 'nothing' WHERE kind = 'purge'",
        "UPDATE audit SET kind = 'capture' WHERE kind = 'purge'",
        "UPDATE audit SET hash = x'00' WHERE kind = 'purge'",
        "UPDATE audit SET number = number + 10 WHERE kind = 'purge'",
        "DELETE FROM audit WHERE kind = 'purge'",
        "DELETE FROM audit WHERE number = 2",
        "UPDATE audit SET details = '{}' WHERE number = 1",
    ],
)
def test_an_audit_row_that_was_changed_or_removed_is_caught(ada: Purged, change: str) -> None:
    _in_vault(ada, change)
    assert any(each.startswith("audit log of the vault on this machine") for each in wrong(ada.context, ada.document()))


def test_an_audit_that_was_written_anew_is_caught(ada: Purged) -> None:
    """The chain is valid again, with other rows before the purge."""
    from lifeboat_vault.rows import audit_chain

    with ada.vault() as vault:
        rows = list(vault.audit_rows())
        metadata = vault._metadata
        with metadata.transaction():
            metadata.execute("DELETE FROM audit", ())
            audit_chain.append_rows(
                metadata, [audit_chain.AuditEntry(r.time, r.kind, r.subject, r.details) for r in rows[1:]]
            )
        assert vault.check_audit() == []
    assert any(
        "does not match the receipt: its number or its hash differs" in each
        for each in wrong(ada.context, ada.document())
    )


def test_a_redaction_that_is_gone_from_the_list_is_caught(ada: Purged) -> None:
    _in_vault(ada, "DELETE FROM redaction")
    assert any("does not record this purge as done" in each for each in wrong(ada.context, ada.document()))


def test_what_came_back_into_the_vault_is_caught(ada: Purged) -> None:
    with ada.vault() as vault:
        item = next(one for one in vault.history() if one.leaf.digest in ada.redaction.leaves)
        sealed = vault._columns.salt(b"s" * 16)
        with vault._metadata.transaction():
            vault._metadata.execute("UPDATE object SET salt = ? WHERE id = ?", (sealed, item.object))
    assert any("still exist" in each for each in wrong(ada.context, ada.document()))


# Nothing in it --------------------------------------------------------------------------------------------------------


def test_no_part_of_a_receipt_is_content(ada: Purged) -> None:
    text = json.dumps(ada.document())
    assert all(word not in text for word in ("boat", "harbour", "Memory", "MEMORY.md", "Tea"))


def test_a_receipt_is_strict_json_with_its_fields_in_order(ada: Purged) -> None:
    data = receipt_store.locate_receipt(ada.context, ada.receipt.id).read_bytes()
    document = json_codec.decode_strict(data, entry="receipt.json")
    assert document == ada.receipt.to_json()
    with pytest.raises(ReceiptInvalid, match="'vaults' is missing"):
        purge_receipt.decode_purge_receipt({name: one for name, one in document.items() if name != "vaults"})
