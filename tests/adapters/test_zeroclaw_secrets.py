"""Credentials in files of ZeroClaw, and the values that ZeroClaw reads from them. Every key is invented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import secret_encryption, zeroclaw_secrets
from support.adapters import zeroclaw_installs as installs

KEY = bytes.fromhex("5a" * 32)
CONFIG = f"{zeroclaw_paths.HOME}config.toml"
PROFILES = f"{zeroclaw_paths.HOME}auth-profiles.json"
MODEL_KEY = "an-invented-model-key-0001"
BOT_TOKEN = "an-invented-bot-token-0002"


def found(path: str, text: str) -> list[FileSecret]:
    return zeroclaw_secrets.find_zeroclaw_secrets(path, text.encode()) or []


def one(path: str, text: str) -> FileSecret:
    (secret,) = found(path, text)
    return secret


def installed(folder: Path) -> Installation:
    install = installs.make_install(folder)
    return Installation("zeroclaw", install.workspace(), "default", "Ada", state_dir=install.home)


def test_an_encrypted_value_is_a_secret_under_any_name() -> None:
    assert one(CONFIG, '[widget]\nsetting = "enc2:00ff"\n').value == "enc2:00ff"


def test_a_token_that_an_early_release_left_in_clear_is_a_secret() -> None:
    secret = one(CONFIG, f'[channels_config.telegram]\nbot_token = "{BOT_TOKEN}"\n')
    assert (secret.value, secret.service) == (BOT_TOKEN, "telegram")


def test_a_span_is_the_literal_with_its_quotes() -> None:
    text = f"[providers.models.anthropic.default]\napi_key = '{MODEL_KEY}'  # mine\n"
    secret = one(CONFIG, text)
    assert text.encode()[secret.start : secret.end] == f"'{MODEL_KEY}'".encode()


@pytest.mark.parametrize(
    ("text", "service"),
    [
        ('[providers.models.anthropic.default]\napi_key = "k"', "anthropic"),
        ('[providers.models.openai.agent_scout]\napi_key = "k"', "openai"),
        ('[model_providers.groq]\napi_key = "k"', "groq"),
        ('[channels.discord.work]\nbot_token = "k"', "discord"),
        ('api_key = "k"\ndefault_provider = "openrouter"', "openrouter"),
        ('api_key = "k"', "model-provider"),
        ('[reliability]\napi_keys = ["k"]', "model-provider"),
        ('[gateway]\npaired_tokens = ["k"]', "zeroclaw-gateway"),
        ('[storage.postgres.default]\ndb_url = "postgres://localhost/x"', "postgres"),
        ('[[mcp.servers]]\nname = "notes"\n[mcp.servers.env]\nNOTES = "something-long"', "notes"),
        ('[composio]\napi_key = "k"', "composio"),
    ],
)
def test_a_place_says_whom_a_secret_is_for(text: str, service: str) -> None:
    assert [secret.service for secret in found(CONFIG, text)] == [service]


def test_every_item_of_an_array_is_a_secret() -> None:
    text = '[reliability]\napi_keys = ["first", "second"]\n'
    assert [secret.label for secret in found(CONFIG, text)] == [
        "config.toml: reliability.api_keys.0",
        "config.toml: reliability.api_keys.1",
    ]


def test_tokens_of_paired_devices_are_bound_to_this_machine() -> None:
    assert one(CONFIG, '[gateway]\npaired_tokens = ["enc2:00"]\n').bound


def test_a_reference_stays() -> None:
    assert found(CONFIG, '[providers.models.openai.default]\napi_key = "op://vault/openai/key"\n') == []


@pytest.mark.parametrize("name", ["max_tokens = 8192", 'access = "full"', 'api_key_env = "FIRECRAWL_API_KEY"'])
def test_settings_stay(name: str) -> None:
    assert found(CONFIG, f"[agent]\n{name}\n") == []


def test_a_setting_among_headers_stays() -> None:
    assert found(CONFIG, '[extra_headers]\n"HTTP-Referer" = "https://ada.example.com"\n') == []


def test_a_key_in_a_comment_is_cut() -> None:
    key = "sk-ant-" + "Zq8vT2mR5xW9bN4kP7cL1dF6"
    assert one(CONFIG, f"# the old one was {key}\nschema_version = 3\n").value == key


def test_a_configuration_that_does_not_parse_is_named() -> None:
    with pytest.raises(UnparsableSecrets, match="line 1"):
        found(CONFIG, "api_key = ")


def test_a_configuration_that_is_far_too_large_is_not_read() -> None:
    with pytest.raises(UnparsableSecrets, match="larger than the limit of 4 MB"):
        found(CONFIG, "#" * (5 << 20))


def test_a_note_is_no_such_file() -> None:
    assert zeroclaw_secrets.find_zeroclaw_secrets(f"{zeroclaw_paths.RAW}MEMORY.md", b'api_key = "x"') is None


def test_a_configuration_in_the_workspace_is_no_configuration_of_the_runtime() -> None:
    assert zeroclaw_secrets.find_zeroclaw_secrets(f"{zeroclaw_paths.RAW}config.toml", b'name = "x"') == []


def test_variables_of_a_skill_are_secrets() -> None:
    assert (
        one(f"{zeroclaw_paths.HOME}shared/skills/main/weather/.env", f"WEATHER_API_KEY={MODEL_KEY}\n").service
        == "weather"
    )


def profile(**values: object) -> str:
    return json.dumps({"schema_version": 1, "profiles": {"openai:work": {"model_provider": "openai", **values}}})


def test_the_tokens_of_a_login_are_one_credential() -> None:
    text = profile(kind="oauth", access_token="enc2:00", refresh_token="enc2:01", id_token="enc2:02", token=None)
    assert {(secret.group, secret.member) for secret in found(PROFILES, text)} == {
        ("openai:work", "access_token"),
        ("openai:work", "refresh_token"),
        ("openai:work", "id_token"),
    }


def test_a_token_alone_is_a_credential_of_its_own() -> None:
    secret = one(PROFILES, profile(kind="token", token="enc2:00"))
    assert (secret.group, secret.credential_type, secret.service) == ("", "session_token", "openai")


def test_a_login_says_when_it_ends() -> None:
    text = profile(kind="oauth", access_token="enc2:00", expires_at="2026-12-01T10:00:00.5+02:00")
    assert one(PROFILES, text).expires_at == "2026-12-01T08:00:00.500Z"


@pytest.mark.parametrize("time", [None, 12, "soon", "0001-01-01T00:00:00+14:00", "2026-12-01"])
def test_an_end_that_is_no_time_is_none(time: object) -> None:
    assert one(PROFILES, profile(kind="oauth", access_token="enc2:00", expires_at=time)).expires_at is None


def test_the_early_name_of_the_provider_counts() -> None:
    text = '{"profiles": {"x:y": {"provider": "groq", "kind": "token", "token": "enc:00"}}}'
    assert one(PROFILES, text).service == "groq"


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 5000])
def test_profiles_that_do_not_parse_are_named(text: str) -> None:
    with pytest.raises(UnparsableSecrets):
        found(PROFILES, text)


@pytest.mark.parametrize("text", ["{}", '{"profiles": []}', '{"profiles": {"a": 1}}', '{"profiles": {"a": null}}'])
def test_profiles_of_an_odd_shape_hold_no_secret(text: str) -> None:
    assert found(PROFILES, text) == []


@pytest.mark.parametrize("name", ["otp-secret", "webauthn_credentials.json"])
def test_a_file_that_is_a_secret_is_cut_whole(name: str) -> None:
    assert one(f"{zeroclaw_paths.HOME}{name}", "invented\n").value == "invented\n"


def test_a_key_in_a_scheduled_command_is_cut() -> None:
    key = "sk-ant-" + "Zq8vT2mR5xW9bN4kP7cL1dF6"
    line = json.dumps({"id": "1", "command": f"curl -H 'x: {key}' https://example.com"})
    assert one(zeroclaw_paths.CRON_JOBS, line + "\n").value == key


def test_a_span_in_a_later_row_is_where_it_is() -> None:
    text = '{"id": "1"}\n{"id": "2", "delivery": {"token": "an-invented-token"}}\n'
    secret = one(zeroclaw_paths.CRON_JOBS, text)
    assert text[secret.start : secret.end] == '"an-invented-token"'


def test_what_is_said_in_a_session_is_not_cut_for_its_look() -> None:
    line = json.dumps({"session_key": "main", "content": "never write sk-ant-Zq8vT2mR5xW9bN4kP7cL1dF6 down"})
    assert found(f"{zeroclaw_paths.SESSIONS}sessions.jsonl", line) == []


def test_the_value_of_a_secret_is_what_the_runtime_reads(tmp_path: Path) -> None:
    secret = one(CONFIG, f'api_key = "{secret_encryption.encrypt_secret(MODEL_KEY, KEY)}"\n')
    assert [each.value for each in zeroclaw_secrets.decrypt_found_secrets(installed(tmp_path / "z"), [secret])] == [
        MODEL_KEY
    ]


def test_a_secret_that_cannot_be_read_is_locked(tmp_path: Path) -> None:
    secret = one(CONFIG, f'api_key = "{secret_encryption.encrypt_secret(MODEL_KEY, bytes(32))}"\n')
    (opened,) = zeroclaw_secrets.decrypt_found_secrets(installed(tmp_path / "z"), [secret])
    assert (opened.locked, opened.value) == (True, secret.value)


@pytest.mark.parametrize("key", [None, b"", b"no key"])
def test_without_a_usable_key_what_stands_in_clear_is_read(tmp_path: Path, key: bytes | None) -> None:
    installation = installed(tmp_path / "z")
    path = tmp_path / "z" / ".secret_key"
    path.unlink() if key is None else path.write_bytes(key)
    text = f'api_key = "enc2:00"\n[channels_config.telegram]\nbot_token = "{BOT_TOKEN}"\n'
    opened = zeroclaw_secrets.decrypt_found_secrets(installation, found(CONFIG, text))
    assert [(each.locked, each.value) for each in opened] == [(True, "enc2:00"), (False, BOT_TOKEN)]


@given(st.text(min_size=1), st.sampled_from(["'", '"']))
def test_spans_of_a_configuration_bound_its_literals(value: str, quote: str) -> None:
    value = value.encode("utf-8", "replace").decode()
    literal = json.dumps(value, ensure_ascii=True) if quote == '"' else None
    if literal is None or "\\ud" in literal or "\x7f" in value:
        return
    text = f'# Grüße\n[channels.telegram."a ü"]\nbot_token = {literal}\nenabled = true\n'.encode()
    for secret in zeroclaw_secrets.find_zeroclaw_secrets(CONFIG, text) or []:
        assert text[secret.start : secret.end] == literal.encode() and secret.value == value


@given(st.binary(max_size=200) | st.binary(max_size=9).map(lambda data: data + b'\n[widget]\nsetting = "enc2:00ff"\n'))
@example(b'[widget]\nsetting = "enc2:00ff"\n')
def test_rubbish_is_unparsable_or_without_secrets(data: bytes) -> None:
    for path in (CONFIG, PROFILES):
        try:
            for secret in zeroclaw_secrets.find_zeroclaw_secrets(path, data) or []:
                assert 0 <= secret.start < secret.end <= len(data)
        except UnparsableSecrets:
            continue
