"""Signatures in the HTTP profile of AIMEM: assertions 64 and 73 to 75."""

from __future__ import annotations

import base64
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from lifeboat_formats.aimem import brain_routes as profile
from lifeboat_formats.aimem.wire import bundle_signatures
from lifeboat_formats.aimem.wire.bundle_reading import canonical_bundle_pieces, parse_bundle
from lifeboat_formats.interchange.contract import WriterIdentity
from support.endpoint.served_apps import served
from support.formats.aimem_bundles import bundle, chunk, document, many, sample
from support.formats.aimem_states import open_bundle_bytes
from support.formats.brain_servers import BrainServer, brain, problem

__all__ = ["brain", "served"]

_SECRET = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
_PUBLIC = _SECRET.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
_PARTNER = WriterIdentity("alf-test", _SECRET.sign, _PUBLIC)
_VOUCHED = {
    "AIMEM-Public-Key": base64.b64encode(
        bundle_signatures.public_document([bundle_signatures.ed25519_key(_PUBLIC)])[0]
    ).decode()
}


def partner_signature(made: Any) -> dict[str, str]:
    """Return the header of a bundle that a partner signed."""
    return {
        "AIMEM-Signature": bundle_signatures.encode_header(
            bundle_signatures.sign_detached(canonical_bundle_pieces(parse_bundle(document(made))), _PARTNER)
        )
    }


def test_064_the_key_of_the_endpoint_is_published_as_a_cose_key(brain: BrainServer) -> None:
    for path in ("/.well-known/aimem-pubkey", "/v1/.well-known/aimem-pubkey"):
        answer = brain.client.get(path, headers={"Authorization": ""})
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/cose-key")
    found = cbor2.loads(answer.content)
    assert (found[1], found[3], found[-1]) == (1, -8, 6)
    assert found[-2] == brain.served.server.endpoint.signing_key().public


def test_073_an_export_is_signed_and_the_signature_holds_by_hand(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(sample())
    public = cbor2.loads(brain.client.get("/.well-known/aimem-pubkey").content)[-2]
    for path in ("export", "export/stream"):
        answer = brain.client.get(f"/v1/brain/{path}")
        protected, _, payload, signature = cbor2.loads(base64.b64decode(answer.headers["aimem-signature"])).value
        assert payload is None
        with open_bundle_bytes(answer.content) as found:
            whole = b"".join(canonical_bundle_pieces(found))
        structure = cbor2.dumps(["Signature1", protected, b"", whole])
        Ed25519PublicKey.from_public_bytes(public).verify(signature, structure)


def test_073_an_own_export_is_taken_with_its_own_signature(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(sample())
    answer = brain.fetch()
    summary = brain.taken(answer.content, headers={"AIMEM-Signature": answer.headers["aimem-signature"]})
    assert (
        summary["signature"]
        == bundle_signatures.ed25519_key(brain.served.server.endpoint.signing_key().public).kid.hex()
    )


def test_073_a_partner_s_bundle_is_checked_with_the_key_that_the_caller_vouches_for(brain: BrainServer) -> None:
    brain.agent()
    summary = brain.taken(sample(), headers={**partner_signature(sample()), **_VOUCHED})
    assert summary["signature"] == bundle_signatures.ed25519_key(_PUBLIC).kid.hex()
    assert brain.audit("signature_check_skipped") == []


def test_074_a_signature_that_does_not_hold_is_422_and_nothing_is_imported(brain: BrainServer) -> None:
    agent = brain.agent()
    other = bundle(chunks=[chunk(content="Something else.")])
    problem(brain.send(sample(), headers={**partner_signature(other), **_VOUCHED}), 422, "signature_invalid")
    for text in ("***", "AAAA", ""):
        sent = {"AIMEM-Signature": text or ":", **_VOUCHED}
        problem(brain.send(sample(), headers=sent), 422, "signature_invalid")
    assert brain.head(agent) is None


def test_074_an_unknown_key_is_422_and_nothing_is_imported(brain: BrainServer) -> None:
    agent = brain.agent()
    problem(brain.send(sample(), headers=partner_signature(sample())), 422, "signature_unknown_key")
    assert brain.head(agent) is None


def test_075_skipping_the_check_stands_in_the_audit_with_its_reason(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(sample())
    brain.taken(sample(), headers=partner_signature(sample()), signature="skip")
    rows = brain.audit("signature_check_skipped")
    assert [(row.subject, row.details["reason"]) for row in rows] == [(agent, "none sent"), (agent, "asked for")]
    assert brain.served.server.endpoint.control.check_audit() == []


def test_without_the_library_exports_are_unsigned_and_signatures_are_not_believed(
    brain: BrainServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, sent = brain.agent(), {**partner_signature(sample()), **_VOUCHED}
    monkeypatch.setitem(__import__("sys").modules, "cwt", None)
    assert "aimem-signature" not in brain.fetch().headers
    assert "cwt" in problem(brain.send(sample(), headers=sent), 422, "extra_missing")["fix"]
    problem(brain.client.get("/.well-known/aimem-pubkey"), 404, "no_public_key")
    assert brain.head(agent) is None


def test_over_what_cannot_stand_in_memory_there_is_no_signature(
    brain: BrainServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain.agent()
    brain.taken(many(50))
    monkeypatch.setattr(profile, "_SIGNED_AT_MOST", 1000)
    answer = brain.client.get("/v1/brain/export/stream")
    assert (answer.status_code, "aimem-signature" in answer.headers) == (200, False)
