"""Sealed credentials: what opens them, what does not, and what their size reveals."""

from __future__ import annotations

import ast
import base64
import json
from typing import Any

import nacl.public
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_keys.errors import UnknownSealing, UnsealError
from lifeboat_keys.signed import credential_sealing
from support.alf.published_schemas import validate_as_published
from support.alf.raising import raises_code
from support.packages import PACKAGES
from support.paths import ROOT

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
    sealed = credential_sealing.seal_credential(
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


TYPES = [
    "api_key",
    "oauth_token",
    "webhook_secret",
    "session_token",
    "ssh_key",
    "certificate",
    "custom",
    "a type of tomorrow",
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(payload=st.binary(max_size=2000), fields=st.tuples(TEXTS, TEXTS, TEXTS), kind=st.sampled_from(TYPES) | TEXTS)
def test_what_was_sealed_opens_again(payload: bytes, fields: tuple[str, str, str], kind: str) -> None:
    agent, credential, service = fields
    record = {"id": credential, "agent_id": agent, "service": service, "credential_type": kind}
    sealed = credential_sealing.seal_credential(
        payload,
        agent_public=PUBLIC,
        agent_id=agent,
        credential_id=credential,
        service=service,
        credential_type=kind,
        key_id="0" * 32,
    )
    assert credential_sealing.unseal_credential({**record, **sealed}, SECRET) == payload


def test_a_sealed_record_validates_against_the_published_schema() -> None:
    validate_as_published("credentials", {"credentials": [_sealed()]})


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
    with raises_code(UnsealError.WRONG_AGENT_KEY):
        credential_sealing.unseal_credential(_sealed(), b"q" * 32)


def test_another_key_does_not_open_it_either_when_the_header_names_that_key() -> None:
    stranger = nacl.public.PrivateKey(b"q" * 32)
    record = _with_encryption(_sealed(), recipient=credential_sealing.pair_id(bytes(stranger.public_key)))
    with raises_code(UnsealError.PAYLOAD_CHANGED):
        credential_sealing.unseal_credential(record, bytes(stranger))


@pytest.mark.parametrize("field", ["id", "agent_id", "service", "credential_type"])
@pytest.mark.parametrize("value", ["other", None, 5])
def test_a_credential_under_another_name_does_not_open(field: str, value: object) -> None:
    with raises_code(UnsealError.WRONG_BINDING):
        credential_sealing.unseal_credential({**_sealed(), field: value}, SECRET)


def test_a_credential_under_another_users_key_id_does_not_open() -> None:
    with raises_code(UnsealError.WRONG_BINDING):
        credential_sealing.unseal_credential(_with_encryption(_sealed(), key_id="f" * 32), SECRET)


def test_the_payload_of_one_credential_does_not_open_in_another() -> None:
    one, other = _sealed(b"one"), _sealed(b"other")
    with raises_code(UnsealError.PAYLOAD_CHANGED):
        credential_sealing.unseal_credential({**one, "encrypted_payload": other["encrypted_payload"]}, SECRET)


@given(st.data())
def test_any_flipped_byte_of_what_is_sealed_is_refused(draw: st.DataObject) -> None:
    record = _sealed()
    name = draw.draw(st.sampled_from(["encrypted_payload", "nonce", "wrapped_key", "recipient", "key_id"]))
    holder = record if name == "encrypted_payload" else record["encryption"]
    data = bytearray(holder[name].encode())
    data[draw.draw(st.integers(0, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
    holder[name] = data.decode("latin-1")
    with pytest.raises(UnsealError):
        credential_sealing.unseal_credential(record, SECRET)


FIRST_RELEASE = {
    "id": CREDENTIAL,
    "agent_id": AGENT,
    "service": "openai",
    "credential_type": "api_key",
    "encrypted_payload": (
        "LsQRwY16cOZcwiLHz6YrIWe5bf5trRSTzW75qnNFcg78k0ItYHWo3i4Fv7YWQHMtDZQ708RjmuJYBGgtGhnsxk0d"
        "JkKj06FUxpqK5wPAFhcMehqN0nM7nTdHZdEczJN8Yt0ybNvLZ4NzBTVH2kMNd/yBm8SMAzsA8x7qazULT4vIUQB2"
        "dwxmTrtCNUM3d3ywMYsGg6Jn6aspZ9r1yLisIA5XfcN5AnbtdiHhFfdGrLc0OKInKZMc+Pnmnx76i8I7mVcXhMA4"
        "ISPnnGJuWgoDYF/7xLzncUjFABu6oLaDEEe3MKdeXgD8a9TVYQEOd8sqpco406WGk7/LBAN99/gC/+knNRnRgTFb"
        "/EoUELCNYoU="
    ),
    "encryption": {
        "algorithm": "xchacha20-poly1305",
        "kdf": "x25519-sealed-box",
        "nonce": "Qe9qIGYla8ibvwVvLsXLnoArpUYXJEkF",
        "padding": "iso7816-4/256",
        "key_id": "0123456789abcdef0123456789abcdef",
        "recipient": "f70d1ffae9f0c06c",
        "wrapped_key": (
            "MeHlihAe4oUSadvDAYkDs4ubt5kM4ce5dI2/1RUXgTKFygp1pZ4nV1EOX9iw69ZwaR4RjySOf7huvmBy"
            "8Siin51Fbh0yH6KoDsQzV9KGGnQsN2G7h7tNCfW0G0+2HaBL6ls3colzx7NQ3c1GejYy9w=="
        ),
    },
}


def test_what_the_first_release_sealed_opens_for_ever() -> None:
    assert credential_sealing.unseal_credential(FIRST_RELEASE, SECRET) == b"sk-example-not-a-real-key"


@pytest.mark.parametrize("kept", [0, 1, 16, 255, 271])
def test_a_ciphertext_cut_short_is_told_from_a_changed_one(kept: int) -> None:
    record = _sealed()
    short = base64.b64encode(base64.b64decode(record["encrypted_payload"])[:kept]).decode()
    with raises_code(UnsealError.PAYLOAD_TRUNCATED):
        credential_sealing.unseal_credential({**record, "encrypted_payload": short}, SECRET)


@pytest.mark.parametrize("name", ["nonce", "wrapped_key"])
@pytest.mark.parametrize("kept", [0, 1, 23])
def test_a_header_cut_short_is_told_from_a_changed_one(name: str, kept: int) -> None:
    record = _sealed()
    short = base64.b64encode(base64.b64decode(record["encryption"][name])[:kept]).decode()
    with raises_code(UnsealError.PAYLOAD_TRUNCATED):
        credential_sealing.unseal_credential(_with_encryption(record, **{name: short}), SECRET)


def test_text_of_base64_that_breaks_off_is_cut_short() -> None:
    record = _sealed()
    with raises_code(UnsealError.PAYLOAD_TRUNCATED):
        credential_sealing.unseal_credential({**record, "encrypted_payload": record["encrypted_payload"][:-3]}, SECRET)


@pytest.mark.parametrize("name", ["encrypted_payload", "nonce", "wrapped_key"])
def test_a_flipped_bit_is_a_change(name: str) -> None:
    record = _sealed()
    holder = record if name == "encrypted_payload" else record["encryption"]
    data = bytearray(base64.b64decode(holder[name]))
    data[7] ^= 1
    holder[name] = base64.b64encode(data).decode()
    with raises_code(UnsealError.PAYLOAD_CHANGED):
        credential_sealing.unseal_credential(record, SECRET)


def test_a_wrapped_key_that_somebody_else_made_is_refused() -> None:
    box = nacl.public.SealedBox(PAIR.public_key)
    for wrapped, error in (
        (b"x" * 112, UnsealError.PAYLOAD_CHANGED),
        (box.encrypt(b"k" * 32), UnsealError.PAYLOAD_TRUNCATED),
    ):
        record = _with_encryption(_sealed(), wrapped_key=base64.b64encode(wrapped).decode())
        with raises_code(error):
            credential_sealing.unseal_credential(record, SECRET)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("algorithm", "aes-128-ecb"),
        ("algorithm", "none"),
        ("algorithm", None),
        ("algorithm", {"x": 1}),
        ("kdf", "argon2id"),
        ("kdf", "pbkdf2"),
        ("padding", "none"),
        ("padding", "iso7816-4/1"),
    ],
)
def test_a_downgraded_or_unknown_algorithm_is_refused_by_name(name: str, value: object) -> None:
    with raises_code(UnknownSealing.ALGORITHM_REFUSED, match=name):
        credential_sealing.unseal_credential(_with_encryption(_sealed(), **{name: value}), SECRET)


ARGON2ID = {
    "algorithm": "xchacha20-poly1305",
    "kdf": "argon2id",
    "kdf_params": {"memory_cost": 4_000_000_000, "time_cost": 3_000_000, "parallelism": 4},
    "nonce": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
}
"""As in the example of ALF §3.4.2, with parameters that would keep a machine busy for years."""


@pytest.mark.parametrize("encryption", [ARGON2ID, {"algorithm": "aes-256-gcm", "nonce": "AA"}, {}, None, 5])
def test_what_another_program_sealed_is_named_as_such_without_any_work(encryption: object) -> None:
    foreign = {"id": CREDENTIAL, "encrypted_payload": "AAAA", "encryption": encryption}
    with pytest.raises(UnknownSealing, match="not sealed by Lifeboat"):
        credential_sealing.unseal_credential(foreign, SECRET)


def test_no_module_uses_the_box_that_is_another_cipher() -> None:
    # nacl.secret.SecretBox is XSalsa20 without associated data, and its name invites.
    names = [
        f"{path.name}: {node.attr if isinstance(node, ast.Attribute) else node.id}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "SecretBox" in (source := path.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) == "SecretBox"
    ]
    assert names == []
