"""Secrets in prose are found for a report; text that only discusses secrets is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.secrets import secrets_in_prose


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("The password of the door is pw-Tr0ub4dor3x, tell him.\n", "pw-Tr0ub4dor3x", "password"),
        ("My passphrase for the router: Winter2024!x\n", "Winter2024!x", "password"),
        ("**Password** of the hub was `m7Kq2zW9r4`.\n", "m7Kq2zW9r4", "password"),
        ("Das Passwort? The password ist (x9Kd2Lq8Zp).", "x9Kd2Lq8Zp", "password"),
        ("The key is q7Zt 9Xw2 Kp4R v8Lm Q1aS 5dF7.\n", "q7Zt 9Xw2 Kp4R v8Lm Q1aS 5dF7", "key_in_groups"),
        ("licence code X7K2P-9QM4T-B6W8R-Z3N5V\n", "X7K2P-9QM4T-B6W8R-Z3N5V", "key_in_groups"),
    ],
)
def test_what_is_told_as_a_secret_is_found(text: str, secret: str, kind: str) -> None:
    data = f"Some words before.\n{text}".encode()
    (look,) = secrets_in_prose.find_secrets_in_prose(data)
    assert (data[look.start : look.end].decode(), look.kind) == (secret, kind)


@pytest.mark.parametrize(
    "text",
    [
        "The password hash is Argon2id with 64 MiB.",
        "The password manager is KeePass2.",
        "A password is something that nobody else should know.",
        "The password policy is documented in ISO-27001:2022.",
        "The password file is /etc/shadow2/x9Kd2Lq8Zp",
        "The key idea: this that with from have been done over many days.",
        "The key is 123e4567-e89b-12d3-a456-426614174000.",
        "The code was written on 2026-03-01 2026-03-02 2026-03-03 2026-03-04.",
        "The key 1000 2000 3000 4000 5000 6000 are numbers.",
        "password: ${DOOR_PASSWORD}",
        "The password is pw-Tr0ub4dor3x. <!-- lifeboat:allow -->",
    ],
)
def test_what_speaks_of_secrets_is_left_alone(text: str) -> None:
    assert secrets_in_prose.find_secrets_in_prose(text.encode()) == []


@pytest.mark.parametrize(
    "part", ["password ", "password is ", "key abcd ", "key abcd-", "pwd: ", "q7Zt 9Xw2 ", "code "]
)
def test_looking_ends_soon_on_endless_lines(part: str) -> None:
    secrets_in_prose.find_secrets_in_prose(part.encode() * (300_000 // len(part)))


@given(st.binary(max_size=400))
def test_any_bytes_can_be_looked_at(data: bytes) -> None:
    for look in secrets_in_prose.find_secrets_in_prose(b"key " + data):
        assert 0 <= look.start < look.end <= len(data) + 4
