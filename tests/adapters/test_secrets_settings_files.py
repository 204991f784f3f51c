"""Secrets in the settings of an agent's own tools need both the name of the field and the look of the value."""

from __future__ import annotations

import pytest

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.openclaw.credentials import openclaw_secrets
from lifeboat_adapters.secrets import settings_files

KEY = "q7Zt9Xw2Kp4Rv8Lm"
FILES = {
    "config.json": f'{{"tide": {{"api_key": "{KEY}", "token": "full", "max_tokens": 4096}}}}',
    "settings.json5": f"{{tide: {{apiKey: '{KEY}'}}, // it's\n}}",
    "secrets.toml": f'[tide]\napi_key = """{KEY}"""\npassword = "changeme"\n',
    "credentials.yaml": f"tide:\n  api_key: {KEY}\n  password: |-\n    changeme\n",
    "tide-config.yml": f"- api_key: '{KEY}'\n- id: {KEY}\n",
    "prod.env": f"TIDE_API_KEY={KEY}\nTIDE_TOKEN=full\n",
    ".env": f"TIDE_API_KEY={KEY}\nTIDE_TOKEN=full\n",
    ".env.local": f"TIDE_API_KEY={KEY}\nTIDE_TOKEN=full\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_value_is_one_when_its_name_and_its_look_say_so(name: str) -> None:
    data = FILES[name].encode()
    found = settings_files.find_settings_secrets(name, data)
    assert found is not None
    assert [(secret.value, secret.credential_type) for secret in found] == [(KEY, "api_key")]
    assert KEY.encode() in data[found[0].start : found[0].end]


@pytest.mark.parametrize(
    "name",
    ["notes.md", "config.py", "package.json", "tsconfig.json", "config.example.json", "data.yaml", ".env.example"],
)
def test_other_files_are_not_looked_into(name: str) -> None:
    assert settings_files.find_settings_secrets(name, b"\xff") is None


def test_what_is_larger_than_any_settings_is_not_looked_into() -> None:
    assert settings_files.find_settings_secrets("tokens.json", b" " * settings_files.LARGEST + b"1") is None


def test_one_that_does_not_parse_and_holds_what_looks_like_a_secret_is_named() -> None:
    with pytest.raises(UnparsableSecrets):
        settings_files.find_settings_secrets("config.yaml", f"a: [\nkey: sk-{'a1' * 12}\n".encode())


def test_one_that_does_not_parse_and_holds_nothing_of_the_kind_is_a_file_like_any_other() -> None:
    assert settings_files.find_settings_secrets("config.yaml", b"a: [\n") == []


def test_the_runtime_looks_into_them_in_the_workspace_and_in_skills() -> None:
    data = FILES["config.json"].encode()
    for path in ("raw/openclaw/skills/tide/config.json", "artifacts/tools/config.json"):
        (found,) = openclaw_secrets.find_openclaw_secrets(path, data) or []
        assert (found.label, found.service) == ("config.json: tide.api_key", "tide")
