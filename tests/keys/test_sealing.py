"""Sealed credentials: what opens them, what does not, and what their size tells."""

from __future__ import annotations

import ast
import base64
import json
from pathlib import Path
from typing import Any

import jsonschema
import nacl.public
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_keys import sealing
from lifeboat_keys.errors import PayloadChanged, UnknownSealing, UnsealError, WrongAgentKey, WrongBinding

ROOT = Path(__file__).resolve().parents[2]
PAIR = nacl.public.PrivateKey(b"p" * 32)
SECRET, PUBLIC = bytes(PAIR), bytes(PAIR.public_key)
AGENT = "01900000-0000-7000-8000-00000000000a"
CREDENTIAL = "01900000-0000-7000-8000-00000000000c"


def _sealed(payload: bytes = b"sk-example-not-a-real-key") -> dict[str, Any]:
    record = {
        "id": CREDENTIAL,
        "agent_id": AGENT,
        "service": "openai",
        "credential_type": "api_key",
        "created_at": "2026-11-20T18:55:00.000Z",
    }
    sealed = sealing.seal(
        payload,
        agent_public=PUBLIC,
        agent_id=AGENT,
        credential_id=CREDENTIAL,
        service="openai",
        credential_type="api_key",
        key_id="0123456789abcdef0123456789abcdef",
    )
    return {**record, **sealed}


def _with_encryption(record: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {**record, "encryption": {**record["encryption"], **fields}}


@given(st.binary(max_size=2000))
def test_what_was_sealed_opens_again(payload: bytes) -> None:
    assert sealing.unseal(_sealed(payload), SECRET) == payload


def test_a_sealed_record_validates_against_the_published_schema() -> None:
    schema = json.loads(reference.require("schemas", "alf", "credentials.schema.json").read_text())
    jsonschema.validate({"credentials": [_sealed()]}, schema, format_checker=jsonschema.FormatChecker())


def test_the_header_says_how_it_was_sealed_and_the_nonce_stands_apart() -> None:
    record = _sealed()
    assert record["encryption"]["algorithm"] == "xchacha20-poly1305"
    assert record["encryption"]["kdf"] == "x25519-sealed-box"
    nonce = base64.b64decode(record["encryption"]["nonce"])
    assert len(nonce) == 24
    assert not base64.b64decode(record["encrypted_payload"]).startswith(nonce)


def test_nothing_of_the_payload_stands_in_the_record() -> None:
    assert b"example" not in json.dumps(_sealed()).encode()


def test_the_size_does_not_tell_the_length_of_a_short_secret() -> None:
    sizes = {len(_sealed(b"x" * length)["encrypted_payload"]) for length in range(0, 256, 15)}
    assert len(sizes) == 1


def test_sealing_twice_gives_other_bytes() -> None:
    one, other = _sealed(), _sealed()
    assert one["encrypted_payload"] != other["encrypted_payload"]
    assert one["encryption"]["nonce"] != other["encryption"]["nonce"]
    assert one["encryption"]["wrapped_key"] != other["encryption"]["wrapped_key"]


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(WrongAgentKey):
        sealing.unseal(_sealed(), b"q" * 32)


def test_another_key_does_not_open_it_either_when_the_header_names_that_key() -> None:
    stranger = nacl.public.PrivateKey(b"q" * 32)
    record = _with_encryption(_sealed(), recipient=sealing.pair_id(bytes(stranger.public_key)))
    with pytest.raises(PayloadChanged):
        sealing.unseal(record, bytes(stranger))


@pytest.mark.parametrize("field", ["id", "agent_id", "service", "credential_type"])
@pytest.mark.parametrize("value", ["other", None, 5])
def test_a_credential_under_another_name_does_not_open(field: str, value: object) -> None:
    with pytest.raises(WrongBinding):
        sealing.unseal({**_sealed(), field: value}, SECRET)


def test_a_credential_under_another_users_key_id_does_not_open() -> None:
    with pytest.raises(WrongBinding):
        sealing.unseal(_with_encryption(_sealed(), key_id="f" * 32), SECRET)


def test_the_payload_of_one_credential_does_not_open_in_another() -> None:
    one, other = _sealed(b"one"), _sealed(b"other")
    with pytest.raises(PayloadChanged):
        sealing.unseal({**one, "encrypted_payload": other["encrypted_payload"]}, SECRET)


@given(st.data())
def test_any_flipped_byte_of_what_is_sealed_is_refused(draw: st.DataObject) -> None:
    record = _sealed()
    name = draw.draw(st.sampled_from(["encrypted_payload", "nonce", "wrapped_key", "recipient", "key_id"]))
    holder = record if name == "encrypted_payload" else record["encryption"]
    data = bytearray(holder[name].encode())
    data[draw.draw(st.integers(0, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
    holder[name] = data.decode("latin-1")
    with pytest.raises(UnsealError):
        sealing.unseal(record, SECRET)


def test_a_ciphertext_cut_short_is_refused() -> None:
    record = _sealed()
    short = base64.b64encode(base64.b64decode(record["encrypted_payload"])[:8]).decode()
    with pytest.raises(PayloadChanged):
        sealing.unseal({**record, "encrypted_payload": short}, SECRET)


def test_a_wrapped_key_cut_short_or_replaced_is_refused() -> None:
    box = nacl.public.SealedBox(PAIR.public_key)
    for wrapped in (b"", b"x" * 47, box.encrypt(b"k" * 32)):
        record = _with_encryption(_sealed(), wrapped_key=base64.b64encode(wrapped).decode())
        with pytest.raises(PayloadChanged):
            sealing.unseal(record, SECRET)


def test_a_foreign_sealing_is_named_as_such() -> None:
    foreign = {"id": CREDENTIAL, "encrypted_payload": "AAAA", "encryption": {"algorithm": "aes-256-gcm", "nonce": "AA"}}
    with pytest.raises(UnknownSealing):
        sealing.unseal(foreign, SECRET)
    with pytest.raises(UnknownSealing):
        sealing.unseal({"id": CREDENTIAL}, SECRET)


def test_no_module_uses_the_box_that_is_another_cipher() -> None:
    # nacl.secret.SecretBox is XSalsa20 without associated data, and its name invites.
    names = [
        f"{path.name}: {node.attr if isinstance(node, ast.Attribute) else node.id}"
        for package in ("alf", "keys", "adapters", "endpoint", "daemon")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) == "SecretBox"
    ]
    assert names == []
