"""Signatures of AIMEM bundles (assertions 64, 73, 74, 76), compared with the library and with a verification by
hand."""

from __future__ import annotations

import base64
import hashlib
import sys
from typing import Any

import cbor2
import cwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aimem.wire import bundle_signatures
from lifeboat_formats.aimem.wire.bundle_reading import canonical_bundle_pieces
from lifeboat_formats.aimem.wire.bundle_signatures import SignatureRefused
from lifeboat_formats.interchange.contract import WriterIdentity
from lifeboat_formats.interchange.errors import ExtraMissing
from lifeboat_keys.installers import extra_command
from lifeboat_keys.pairs.endpoint_key import EndpointKey
from support.formats.aimem_bundles import bundle, chunk, document, sample, stream
from support.formats.aimem_states import open_bundle_bytes

_PAYLOAD = b'{"format":"aimem-bundle"}'
_SECRET = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
_PUBLIC = _SECRET.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
_KEY = bundle_signatures.ed25519_key(_PUBLIC)
_WRITER = WriterIdentity("alf-test", _SECRET.sign, _PUBLIC)
_STRANGER = bundle_signatures.ed25519_key(
    Ed25519PrivateKey.from_private_bytes(b"\x09" * 32).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
)


def signed(payload: bytes = _PAYLOAD) -> bytes:
    return bundle_signatures.sign_detached([payload], _WRITER)


def by_hand(payload: bytes, protected: dict[Any, Any], inside: bytes | None = None, **more: Any) -> bytes:
    """Return a COSE_Sign1 made with CBOR and Ed25519 alone. `more` are unprotected headers by letter, or a
    signature."""
    encoded = cbor2.dumps(protected)
    unprotected = more.get("unprotected", {})
    made = more.get("signature") or _SECRET.sign(cbor2.dumps(["Signature1", encoded, b"", payload]))
    return cbor2.dumps(cbor2.CBORTag(18, [encoded, unprotected, inside, made]))


def code_of(signature: bytes, payload: bytes = _PAYLOAD, *keys: bundle_signatures.PublicKey) -> str:
    with pytest.raises(SignatureRefused) as caught:
        bundle_signatures.verify_detached(signature, [payload], keys or [_KEY])
    assert caught.value.status == 422
    return caught.value.format_code


def test_073_a_signature_is_a_tagged_detached_cose_sign1_with_eddsa() -> None:
    found = cbor2.loads(signed())
    protected, unprotected, payload, signature = found.value
    assert (found.tag, unprotected, payload, len(signature)) == (18, {}, None, 64)
    assert cbor2.loads(protected) == {1: -8, 4: _KEY.kid}


def test_073_what_is_signed_here_holds_by_hand() -> None:
    protected, _, _, signature = cbor2.loads(signed()).value
    structure = cbor2.dumps(["Signature1", protected, b"", _PAYLOAD])
    Ed25519PublicKey.from_public_bytes(_PUBLIC).verify(signature, structure)


def test_073_what_is_signed_here_holds_in_the_library() -> None:
    key = cwt.COSEKey.new({1: 1, 2: _KEY.kid, 3: -8, -1: 6, -2: _PUBLIC})
    assert cwt.COSE.new().decode(signed(), key, detached_payload=_PAYLOAD) == _PAYLOAD


@pytest.mark.parametrize("headers", [{1: -8}, {1: -8, 4: _KEY.kid}], ids=["no name", "named"])
def test_073_what_was_signed_by_hand_holds_here(headers: dict[int, Any]) -> None:
    assert bundle_signatures.verify_detached(by_hand(_PAYLOAD, headers), [_PAYLOAD], [_STRANGER, _KEY]) == _KEY


def test_073_the_name_of_a_key_may_stand_unprotected() -> None:
    made = by_hand(_PAYLOAD, {1: -8}, unprotected={4: _KEY.kid})
    assert bundle_signatures.verify_detached(made, [_PAYLOAD], [_STRANGER, _KEY]) == _KEY


def test_073_the_payload_may_come_in_pieces() -> None:
    made = bundle_signatures.sign_detached(iter([_PAYLOAD[:5], _PAYLOAD[5:]]), _WRITER)
    assert bundle_signatures.verify_detached(made, iter([_PAYLOAD[:9], _PAYLOAD[9:]]), [_KEY]) == _KEY


def test_073_the_same_signature_is_over_the_document_and_over_the_stream() -> None:
    with open_bundle_bytes(document(sample())) as whole:
        made = bundle_signatures.sign_detached(canonical_bundle_pieces(whole), _WRITER)
    with open_bundle_bytes(stream(sample())) as lines:
        assert bundle_signatures.verify_detached(made, canonical_bundle_pieces(lines), [_KEY]) == _KEY


def test_074_another_bundle_is_refused() -> None:
    with open_bundle_bytes(document(bundle(chunks=[chunk()]))) as one:
        made = bundle_signatures.sign_detached(canonical_bundle_pieces(one), _WRITER)
    with open_bundle_bytes(document(bundle(chunks=[chunk(content="Prefers coffee.")]))) as other:
        assert code_of(made, b"".join(canonical_bundle_pieces(other))) == "signature_invalid"


def test_074_a_key_that_nobody_trusts_is_unknown() -> None:
    assert code_of(signed(), _PAYLOAD, _STRANGER) == "signature_unknown_key"


def test_074_without_a_name_a_stranger_s_signature_is_invalid() -> None:
    assert code_of(by_hand(_PAYLOAD, {1: -8}), _PAYLOAD, _STRANGER) == "signature_invalid"


def test_074_a_changed_signature_is_invalid() -> None:
    made = bytearray(signed())
    made[-1] ^= 1
    assert code_of(bytes(made)) == "signature_invalid"


def test_074_bytes_behind_the_signature_are_refused() -> None:
    assert code_of(signed() + b"\x00") == "signature_invalid"


def test_074_nothing_of_a_message_names_what_the_bundle_says() -> None:
    with pytest.raises(SignatureRefused) as caught:
        bundle_signatures.verify_detached(signed(b"secret words"), [_PAYLOAD], [_KEY])
    assert "secret" not in caught.value.message


def test_076_a_payload_inside_counts_where_it_is_the_bundle() -> None:
    made = by_hand(_PAYLOAD, {1: -8, 4: _KEY.kid}, inside=_PAYLOAD)
    assert bundle_signatures.verify_detached(made, [_PAYLOAD], [_KEY]) == _KEY


def test_076_another_payload_inside_is_refused_though_it_is_signed() -> None:
    made = by_hand(b"something else", {1: -8, 4: _KEY.kid}, inside=b"something else")
    assert code_of(made) == "signature_invalid"


@pytest.mark.parametrize(
    "headers",
    [{}, {1: -37}, {1: 5}, {1: "EdDSA"}, {1: True}, {1: None}, {1: -8, 2: [1]}],
    ids=["none", "PS256", "HMAC", "text", "flag", "null", "critical"],
)
def test_076_an_algorithm_that_is_not_allowed_is_refused(headers: dict[int, Any]) -> None:
    assert code_of(by_hand(_PAYLOAD, headers)) == "signature_invalid"


def test_076_the_header_does_not_choose_the_algorithm_of_a_key() -> None:
    assert code_of(by_hand(_PAYLOAD, {1: -7, 4: _KEY.kid})) == "signature_invalid"


def test_076_an_algorithm_that_is_named_unprotected_only_is_refused() -> None:
    assert code_of(by_hand(_PAYLOAD, {}, unprotected={1: -8})) == "signature_invalid"


def test_es256_is_checked_with_a_key_of_its_own() -> None:
    secret = ec.derive_private_key(7, ec.SECP256R1())
    numbers = secret.public_key().public_numbers()
    x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
    key = bundle_signatures.PublicKey(bundle_signatures.ES256, x, y)
    full = {1: 2, 2: key.kid, 3: -7, -1: 1, -2: x, -3: y, -4: (7).to_bytes(32, "big")}
    signer = cwt.COSEKey.new(full)
    tagged = cwt.COSE.new(alg_auto_inclusion=True).encode_and_sign(_PAYLOAD, signer, out="cbor2/CBORTag")
    tagged.value[2] = None
    made = cbor2.dumps(tagged)
    assert bundle_signatures.verify_detached(made, [_PAYLOAD], [_KEY, key]) == key
    assert code_of(made, _PAYLOAD + b" ", key) == "signature_invalid"


@pytest.mark.parametrize(
    "spelt",
    [
        lambda raw: base64.b64encode(raw).decode(),
        lambda raw: base64.urlsafe_b64encode(raw).decode(),
        lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="),
        lambda raw: f":{base64.b64encode(raw).decode()}:",
        lambda raw: f"  {base64.b64encode(raw).decode()}  ",
    ],
    ids=["base64", "base64url", "no padding", "structured field", "spaces"],
)
def test_073_the_header_is_read_in_every_spelling(spelt: Any) -> None:
    made = signed()
    assert bundle_signatures.decode_header(spelt(made)) == made


def test_073_the_header_is_written_as_base64_of_the_tagged_structure() -> None:
    assert base64.b64decode(bundle_signatures.encode_header(signed()), validate=True)[0] == 0xD2


@pytest.mark.parametrize("text", ["", ":", "::", "***", "ä", "0" * 5])
def test_074_a_header_that_holds_no_signature_is_refused(text: str) -> None:
    with pytest.raises(SignatureRefused) as caught:
        bundle_signatures.verify_detached(bundle_signatures.decode_header(text), [_PAYLOAD], [_KEY])
    assert caught.value.format_code == "signature_invalid"


def test_073_the_file_holds_bytes_or_text_of_them() -> None:
    made = signed()
    assert bundle_signatures.decode_signature_file(made) == made
    assert bundle_signatures.decode_signature_file(base64.encodebytes(made)) == made
    with pytest.raises(SignatureRefused):
        bundle_signatures.decode_signature_file(b"\xff\xfe not a signature")


def test_064_the_published_key_is_a_cose_key_named_by_its_own_digest() -> None:
    data, media_type = bundle_signatures.public_document([_KEY])
    thumb = hashlib.sha256(cbor2.dumps({1: 1, -1: 6, -2: _PUBLIC}, canonical=True)).digest()[:8]
    assert media_type == "application/cose-key"
    assert cbor2.loads(data) == {1: 1, 2: thumb, 3: -8, -1: 6, -2: _PUBLIC}
    assert bundle_signatures.read_keys(data) == [_KEY]


def test_064_several_keys_are_a_set_and_both_are_read() -> None:
    data, media_type = bundle_signatures.public_document([_STRANGER, _KEY])
    assert media_type == "application/cose-key-set"
    assert bundle_signatures.read_keys(data) == [_STRANGER, _KEY]
    assert bundle_signatures.read_keys(base64.b64encode(data)) == [_STRANGER, _KEY]


def test_a_key_of_another_kind_is_left_out_and_nothing_else_is_an_error() -> None:
    odd = [{1: 4, -1: b"x"}, {1: 1, -1: 6, -2: b"short"}, {1: 1, -1: 6, -2: _PUBLIC, 3: -7}, 7, _KEY.to_cose()]
    assert bundle_signatures.read_keys(cbor2.dumps(odd)) == [_KEY]
    with pytest.raises(SignatureRefused):
        bundle_signatures.read_keys(cbor2.dumps(odd[:4]))


def test_a_key_s_stated_name_does_not_count() -> None:
    data = cbor2.dumps({**_KEY.to_cose(), 2: _STRANGER.kid})
    assert bundle_signatures.read_keys(data)[0].kid == _KEY.kid


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_are_a_signature_or_a_key_by_accident(data: bytes) -> None:
    for read in (
        lambda: bundle_signatures.verify_detached(data, [_PAYLOAD], [_KEY]),
        lambda: bundle_signatures.read_keys(data),
    ):
        with pytest.raises(SignatureRefused):
            read()


@pytest.mark.parametrize("data", [b"\x81" * 16_000, b"\xd2" * 16_000, b"\x9f" * 16_000, b"\xbf\x01" * 8_000])
def test_deep_nesting_is_refused_and_ends_nothing(data: bytes) -> None:
    assert code_of(data) == "signature_invalid"


def test_what_is_larger_than_a_signature_is_not_even_read() -> None:
    made = by_hand(_PAYLOAD, {1: -8}, unprotected={"padding": b"\x00" * 20_000})
    assert code_of(made) == "signature_invalid"


def test_an_endpoint_s_key_signs_structures_and_nothing_that_could_be_a_receipt() -> None:
    key = EndpointKey(b"\x05" * 32)
    made = bundle_signatures.sign_detached([_PAYLOAD], WriterIdentity("alf-test", key.sign_structure, key.public))
    assert (
        bundle_signatures.verify_detached(made, [_PAYLOAD], [bundle_signatures.ed25519_key(key.public)]).x == key.public
    )
    with pytest.raises(ValueError, match="structure"):
        key.sign_structure(b'lifeboat endpoint receipt 1\n{"agent":"a"}')


def test_without_the_library_the_error_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cwt", None)
    with pytest.raises(ExtraMissing) as caught:
        signed()
    assert caught.value.fix == extra_command("attest")


def test_an_identity_without_a_key_signs_nothing() -> None:
    with pytest.raises(ValueError, match="cannot sign"):
        bundle_signatures.sign_detached([_PAYLOAD], WriterIdentity("alf-test"))
