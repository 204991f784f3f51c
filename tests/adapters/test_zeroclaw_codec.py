"""ZeroClaw's spelling of secrets, compared with results of another implementation of ChaCha20-Poly1305."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_adapters.zeroclaw.credentials.secret_encryption import BadSecretKey, UnreadableSecret

KEY = bytes(range(32))
VECTORS = (
    (
        "6465666768696a6b6c6d6e6f",
        "an-invented-key-0001",
        "enc2:6465666768696a6b6c6d6e6f557f96a3f6d3133c8fbb715299eca1be40f6a2053479923da752fbed168adfd452236e6c",
    ),
    ("000000000000000000000000", "", "enc2:00000000000000000000000010324f800a160bd9a1794255be7ec29d"),
    (
        "ffffffffffffffffffffffff",
        "schlüssel \U0001f511\n\"'",
        "enc2:ffffffffffffffffffffffffb2c03749a319c863b1c6efa3c8cf228840cfb0f1cd0d00f15c63855d3fb020f50a3b",
    ),
)
LEGACY = "enc:616f2f6a6a7363697c6c6e266068696e73683f78716c3b6370786e36756e33736f6f656676"
LEGACY_TEXT = "an-invented-legacy-key-that-is-longer"


@pytest.mark.parametrize(("nonce", "text", "spelled"), VECTORS)
def test_a_text_is_encrypted_as_another_implementation_does_it(nonce: str, text: str, spelled: str) -> None:
    assert secret_encryption.encrypt_secret(text, KEY, bytes.fromhex(nonce)) == spelled


@pytest.mark.parametrize(("nonce", "text", "spelled"), VECTORS)
def test_what_another_implementation_encrypted_is_read(nonce: str, text: str, spelled: str) -> None:
    assert secret_encryption.decrypt_secret(spelled, KEY) == text


def test_the_legacy_spelling_repeats_the_key_over_the_text() -> None:
    assert secret_encryption.decrypt_secret(LEGACY, KEY) == LEGACY_TEXT


@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary(min_size=32, max_size=32))
def test_every_text_comes_back(text: str, key: bytes) -> None:
    assert secret_encryption.decrypt_secret(secret_encryption.encrypt_secret(text, key), key) == text


@given(st.text().filter(lambda text: not text.startswith(("enc:", "enc2:"))))
def test_what_is_not_encrypted_is_what_it_is(text: str) -> None:
    assert secret_encryption.decrypt_secret(text, None) == text


def test_a_reference_stays_one() -> None:
    assert secret_encryption.decrypt_secret("op://vault/item/field", KEY) == "op://vault/item/field"


@given(st.text())
def test_rubbish_behind_the_prefix_is_no_crash(rubbish: str) -> None:
    for prefix in ("enc2:", "enc:"):
        try:
            secret_encryption.decrypt_secret(prefix + rubbish, KEY)
        except UnreadableSecret as error:
            assert len(rubbish) < 8 or rubbish not in str(error)


@pytest.mark.parametrize("value", ["enc2:xyz", "enc2:00", "enc2:" + "0" * 54, "enc2:0", "enc:0", "enc:gg"])
def test_a_value_that_nobody_can_read_is_said_to_be_damaged(value: str) -> None:
    with pytest.raises(UnreadableSecret) as caught:
        secret_encryption.decrypt_secret(value, KEY)
    assert caught.value.damaged


def test_a_value_of_another_key_is_readable_elsewhere() -> None:
    with pytest.raises(UnreadableSecret) as caught:
        secret_encryption.decrypt_secret(VECTORS[0][2], b"\1" * 32)
    assert not caught.value.damaged


def test_without_a_key_nothing_is_said_of_the_value() -> None:
    with pytest.raises(UnreadableSecret) as caught:
        secret_encryption.decrypt_secret(VECTORS[0][2], None)
    assert VECTORS[0][2][5:] not in str(caught.value)


def test_a_new_key_is_one(tmp_path: Path) -> None:
    (tmp_path / ".secret_key").write_bytes(secret_encryption.new_key())
    assert len(secret_encryption.read_key(tmp_path) or b"") == 32


def test_a_key_file_may_end_its_line(tmp_path: Path) -> None:
    (tmp_path / ".secret_key").write_bytes(KEY.hex().encode() + b"\n")
    assert secret_encryption.read_key(tmp_path) == KEY


def test_a_missing_key_file_is_no_error(tmp_path: Path) -> None:
    assert secret_encryption.read_key(tmp_path) is None


@pytest.mark.parametrize("data", [b"", b"00", b"zz" * 32, b"00" * 33, b"\xff" * 64, b"0" * 5000])
def test_a_key_file_that_holds_no_key_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ".secret_key").write_bytes(data)
    with pytest.raises(BadSecretKey, match="64 hexadecimal digits"):
        secret_encryption.read_key(tmp_path)


def test_a_link_is_no_key_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(secret_encryption.new_key())
    (tmp_path / ".secret_key").symlink_to("key")
    with pytest.raises(BadSecretKey, match="link"):
        secret_encryption.read_key(tmp_path)


def test_a_pipe_in_the_place_of_the_key_stops_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".secret_key")
    with pytest.raises(BadSecretKey, match="is not a regular file"):
        secret_encryption.read_key(tmp_path)


def test_a_folder_in_the_place_of_the_key_is_no_key(tmp_path: Path) -> None:
    (tmp_path / ".secret_key").mkdir()
    with pytest.raises(BadSecretKey):
        secret_encryption.read_key(tmp_path)
