"""Secrets in files of an archive are encrypted for another installation. Every key is invented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import EncryptionKeyFile, ReencryptedFile
from lifeboat_adapters.secrets.parsed_leaves import Path as Place
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_adapters.zeroclaw.credentials.secret_encryption import BadSecretKey
from lifeboat_adapters.zeroclaw.restore import secret_reencryption
from support.adapters import zeroclaw_installs as installs

THERE, ELSEWHERE = bytes.fromhex("5a" * 32), bytes(range(32))
CONFIG = f"{zeroclaw_paths.HOME}config.toml"
PROFILES = f"{zeroclaw_paths.HOME}auth-profiles.json"
SECRET = "an-invented-model-key-0001"
PLACE: Place = ("providers", "models", "anthropic", "default", "api_key")


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    install = installs.make_install(tmp_path / "z")
    return Installation(
        "zeroclaw", install.workspace(), "default", "Ada", state_dir=install.home, layout=zeroclaw_paths.CURRENT
    )


def with_key(value: str) -> bytes:
    return f'# mine\n[providers.models.anthropic.default]\napi_key = "{value}"\n'.encode()


def recrypted(
    installation: Installation, data: bytes, values: dict[Place, str], path: str = CONFIG, *, translated: bool = False
) -> ReencryptedFile:
    key = secret_reencryption.load_key_file(installation)
    return secret_reencryption.reencrypt_file(installation, path, data, values, key, translated=translated)


def key_in(data: bytes) -> str:
    return str(zeroclaw_config.get_nested(zeroclaw_config.parse_zeroclaw_config(data), *map(str, PLACE)))


def test_beside_its_key_a_file_stays_byte_for_byte(installation: Installation) -> None:
    data = with_key(secret_encryption.encrypt_secret(SECRET, THERE))
    assert recrypted(installation, data, {PLACE: SECRET}) == ReencryptedFile(data)


def test_what_another_key_encrypted_is_encrypted_with_this_one(installation: Installation) -> None:
    done = recrypted(installation, with_key(secret_encryption.encrypt_secret(SECRET, ELSEWHERE)), {PLACE: SECRET})
    assert secret_encryption.decrypt_secret(key_in(done.data), THERE) == SECRET


def test_what_stood_in_clear_stays_as_it_was(installation: Installation) -> None:
    data = with_key(SECRET)
    assert recrypted(installation, data, {PLACE: SECRET}).data == data


def test_what_was_translated_is_encrypted(installation: Installation) -> None:
    done = recrypted(installation, with_key(SECRET), {}, translated=True)
    assert secret_encryption.decrypt_secret(key_in(done.data), THERE) == SECRET


def test_a_reference_stays_one(installation: Installation) -> None:
    data = with_key("op://vault/item/key")
    assert recrypted(installation, data, {}, translated=True).data == data


def test_what_nobody_can_read_here_is_named(installation: Installation) -> None:
    spelled = secret_encryption.encrypt_secret(SECRET, ELSEWHERE)
    assert recrypted(installation, with_key(spelled), {PLACE: spelled}).unreadable == {
        PLACE: secret_reencryption.LOCKED
    }


def test_an_installation_that_does_not_encrypt_gets_plain_text(installation: Installation) -> None:
    assert installation.state_dir is not None
    (installation.state_dir / ".secret_key").unlink()
    (installation.state_dir / "config.toml").write_text("[secrets]\nencrypt = false\n")
    done = recrypted(installation, with_key(secret_encryption.encrypt_secret(SECRET, ELSEWHERE)), {PLACE: SECRET})
    assert key_in(done.data) == SECRET


def test_an_installation_without_a_key_gets_a_new_one(installation: Installation) -> None:
    assert installation.state_dir is not None
    (installation.state_dir / ".secret_key").unlink()
    key = secret_reencryption.load_key_file(installation)
    assert key is not None and key.is_new and len(secret_encryption.parse_key_file(key.data)) == 32


def test_a_key_that_is_there_is_kept(installation: Installation) -> None:
    assert secret_reencryption.load_key_file(installation) == EncryptionKeyFile(".secret_key", b"5a" * 32, is_new=False)


def test_a_damaged_key_stops_before_anything_is_encrypted(installation: Installation) -> None:
    assert installation.state_dir is not None
    (installation.state_dir / ".secret_key").write_text("damaged")
    with pytest.raises(BadSecretKey):
        secret_reencryption.load_key_file(installation)


def test_a_folder_that_is_not_there_yet_gets_a_key(installation: Installation, tmp_path: Path) -> None:
    fresh = Installation("zeroclaw", tmp_path / "w", "default", "Ada", state_dir=tmp_path / "new")
    key = secret_reencryption.load_key_file(fresh)
    assert key is not None and key.is_new


def test_each_token_of_a_login_is_encrypted_by_itself(installation: Installation) -> None:
    tokens = {"access_token": "an-invented-access-0001", "refresh_token": "an-invented-refresh-01"}
    spelled = {name: secret_encryption.encrypt_secret(value, ELSEWHERE) for name, value in tokens.items()}
    data = json.dumps({"profiles": {"openai:work": {"kind": "oauth", **spelled}}}).encode()
    sealed = json.dumps(tokens)
    values: dict[Place, str] = {("profiles", "openai:work", name): sealed for name in tokens}
    found = json.loads(recrypted(installation, data, values, PROFILES).data)["profiles"]["openai:work"]
    assert {name: secret_encryption.decrypt_secret(found[name], THERE) for name in tokens} == tokens


def test_a_file_that_does_not_parse_is_named(installation: Installation) -> None:
    with pytest.raises(ValueError, match="line 1"):
        recrypted(installation, b"=", {})


def test_any_other_file_stays(installation: Installation) -> None:
    data = b'token = "enc2:00"'
    assert recrypted(installation, data, {}, f"{zeroclaw_paths.HOME}otp-secret").data == data


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_is_spelled_as_toml_and_json_read_it(text: str) -> None:
    spelled = secret_reencryption.string_literal(text)
    assert zeroclaw_config.parse_zeroclaw_config(b"a = " + spelled)["a"] == json.loads(spelled) == text
