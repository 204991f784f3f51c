"""Credentials of one runtime under the names of another one. Every key is invented."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_purposes import CredentialPurpose, CredentialUse, use_of_credential
from lifeboat_adapters.credential_types import CredentialRefusal, ForeignCredential, TranslatedCredentials
from lifeboat_adapters.folder.profile_key_translation import translate_provider_keys
from lifeboat_adapters.folder.shipped_profiles import load_shipped_profiles
from lifeboat_adapters.openclaw import openclaw_paths as openclaw_paths
from lifeboat_adapters.openclaw.restore import translate_for_openclaw as to_openclaw
from lifeboat_adapters.secrets.parsed_leaves import Path as Keys
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.restore import translate_for_zeroclaw as to_zeroclaw
from lifeboat_alf.common.reason_codes import Reason

KEY = "an-invented-value-0001"
OPENCLAW = openclaw_paths.HOME
CONFIG5 = f"{OPENCLAW}openclaw.json"
STORE = f"{OPENCLAW}agents/main/agent/auth-profiles.json"
TOML = f"{zeroclaw_paths.HOME}config.toml"
LOGINS = f"{zeroclaw_paths.HOME}auth-profiles.json"

ZEROCLAW = Installation("zeroclaw", Path("/w"), "ada", "Ada", state_dir=Path("/z"), layout=zeroclaw_paths.CURRENT)
EARLY = replace(ZEROCLAW, layout=zeroclaw_paths.EARLY)
OLD = Installation("openclaw", Path("/w"), "main", "Ada", state_dir=Path("/o"), layout="2026.2")
NEW = replace(OLD, layout="2026.9", program=Path("/usr/bin/openclaw"))


def credential(path: str, *keys: str | int, **about: Any) -> ForeignCredential:
    given: dict[str, Any] = {"service": "custom", "credential_type": "api_key", "label": ".".join(map(str, keys))}
    return ForeignCredential(id="one", value=KEY, place=(path, keys), **(given | about))


GATEWAY = credential(CONFIG5, "gateway", "auth", "token", service="openclaw-gateway")
GROQ = credential(CONFIG5, "models", "providers", "groq", "apiKey")
TOKENS = {"access_token": "a", "refresh_token": "r", "id_token": "i"}


class State:
    """The few parts of a state that are read."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self._files = files or {}

    def entry(self, path: str) -> object | None:
        return self._files.get(path)

    def body(self, path: str) -> bytes:
        return self._files[path]


def profile(id: str, kind: str = "api_key", path: str = STORE, **about: Any) -> ForeignCredential:
    provider = id.partition(":")[0]
    label = f"auth-profiles.json: {id}"
    return credential(path, "profiles", id, "key", service=provider, credential_type=kind, label=label, **about)


def zeroclaw(
    *credentials: ForeignCredential, installation: Installation = ZEROCLAW, state: Any = None
) -> TranslatedCredentials:
    return to_zeroclaw.translate_for_zeroclaw_config(installation, credentials, state or State())


def openclaw(*credentials: ForeignCredential, installation: Installation = OLD) -> TranslatedCredentials:
    return to_openclaw.translate_for_openclaw_config(installation, credentials, State())


def at(said: TranslatedCredentials, id: str = "one") -> Any:
    """Return the value at the place of a credential."""
    path, keys = said.places[id]
    data = said.files[path]
    if path.endswith(".env"):
        return dict(line.split("=", 1) for line in data.decode().splitlines())[str(keys[0])]
    values: Any = zeroclaw_config.parse_zeroclaw_config(data) if path.endswith(".toml") else None
    if path.endswith(".jsonl"):
        values = [json.loads(line) for line in data.splitlines()]
    elif values is None:
        values = json.loads(data)
    for key in keys:
        values = values[key]
    return values


@pytest.mark.parametrize(
    ("given", "use"),
    [
        (GROQ, CredentialUse(CredentialPurpose.PROVIDER, "groq")),
        (
            credential(CONFIG5, "channels", "slack", "appToken"),
            CredentialUse(CredentialPurpose.CHANNEL, "slack", "default", "app_token"),
        ),
        (
            credential(CONFIG5, "channels", "telegram", "accounts", "work", "botToken"),
            CredentialUse(CredentialPurpose.CHANNEL, "telegram", "work", "bot_token"),
        ),
        (credential(f"{OPENCLAW}.env", "OPENAI_API_KEY"), CredentialUse(CredentialPurpose.PROVIDER, "openai")),
        (
            credential(f"{OPENCLAW}.env", "SLACK_BOT_TOKEN"),
            CredentialUse(CredentialPurpose.CHANNEL, "slack", "default", "bot_token"),
        ),
        (credential(f"{OPENCLAW}.env", "WEATHER_API_KEY"), CredentialUse(CredentialPurpose.OTHER, "WEATHER_API_KEY")),
        (
            GATEWAY,
            CredentialUse(CredentialPurpose.GATEWAY, "openclaw-gateway"),
        ),
        (profile("anthropic:work"), CredentialUse(CredentialPurpose.PROVIDER, "anthropic", "work")),
        (profile("anthropic:work", "session_token"), CredentialUse(CredentialPurpose.TOKEN, "anthropic", "work")),
        (
            profile("openai:x", "oauth_token", members={"access": KEY}),
            CredentialUse(CredentialPurpose.LOGIN, "openai", "x"),
        ),
        (
            credential(TOML, "providers", "models", "anthropic", "default", "api_key"),
            CredentialUse(CredentialPurpose.PROVIDER, "anthropic", "default"),
        ),
        (
            credential("raw/hermes/auth.json", "credential_pool", "openrouter", 0, "access_token"),
            CredentialUse(CredentialPurpose.PROVIDER, "openrouter"),
        ),
        (credential(TOML, "api_key", service="openrouter"), CredentialUse(CredentialPurpose.PROVIDER, "openrouter")),
        (
            credential(TOML, "channels", "discord", "work", "bot_token"),
            CredentialUse(CredentialPurpose.CHANNEL, "discord", "work", "bot_token"),
        ),
        (
            credential(TOML, "channels_config", "irc", "password"),
            CredentialUse(CredentialPurpose.CHANNEL, "irc", "default", "password"),
        ),
        (
            credential(TOML, "composio", "api_key", service="composio"),
            CredentialUse(CredentialPurpose.OTHER, "COMPOSIO_API_KEY"),
        ),
    ],
)
def test_the_place_of_a_credential_says_what_it_is_for(given: ForeignCredential, use: CredentialUse) -> None:
    assert use_of_credential(given) == use


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        (profile("anthropic:default"), ("providers", "models", "anthropic", "default", "api_key")),
        (profile("anthropic:work"), ("providers", "models", "anthropic", "default", "api_key")),
        (profile("google:default"), ("providers", "models", "gemini", "default", "api_key")),
        (profile("meadow:default"), ("providers", "models", "custom", "meadow", "api_key")),
        (
            credential(CONFIG5, "models", "providers", "groq", "apiKey"),
            ("providers", "models", "groq", "default", "api_key"),
        ),
        (credential(f"{OPENCLAW}.env", "OPENAI_API_KEY"), ("providers", "models", "openai", "default", "api_key")),
        (credential(CONFIG5, "channels", "telegram", "botToken"), ("channels", "telegram", "default", "bot_token")),
        (credential(CONFIG5, "channels", "discord", "token"), ("channels", "discord", "default", "bot_token")),
        (credential(CONFIG5, "channels", "feishu", "appSecret"), ("channels", "lark", "default", "app_secret")),
        (
            credential(CONFIG5, "channels", "telegram", "accounts", "Work", "botToken"),
            ("channels", "telegram", "work", "bot_token"),
        ),
        (credential(f"{OPENCLAW}.env", "BRAVE_API_KEY"), ("web_search", "brave_api_key")),
    ],
)
def test_zeroclaw_has_a_place_for_what_openclaw_kept(given: ForeignCredential, keys: Keys) -> None:
    said = zeroclaw(given)
    assert (said.places["one"], at(said)) == ((TOML, keys), KEY)


def test_two_keys_of_a_provider_get_two_names() -> None:
    said = zeroclaw(profile("openai:work"), replace(profile("openai:default"), id="two", value="another"))
    assert at(said, "two") == "another" and said.places["two"][1][3] == "default"
    assert at(said) == KEY and said.places["one"][1][3] == "work"


def test_a_provider_that_zeroclaw_does_not_know_keeps_its_address() -> None:
    state = State({CONFIG5: b'{"models": {"providers": {"meadow": {"baseUrl": "https://models.example.com"}}}}'})
    said = zeroclaw(profile("meadow:default"), state=state)
    made = zeroclaw_config.parse_zeroclaw_config(said.files[TOML])["providers"]["models"]["custom"]["meadow"]
    assert made == {"api_key": KEY, "uri": "https://models.example.com"}


def test_the_agent_listens_to_channels_that_came_with_it() -> None:
    said = zeroclaw(credential(CONFIG5, "channels", "telegram", "botToken"))
    assert zeroclaw_config.parse_zeroclaw_config(said.files[TOML])["agents"]["ada"]["channels"] == ["telegram.default"]


def test_a_login_becomes_one() -> None:
    members = {"access": "an-access", "refresh": "a-refresh"}
    given = profile("openai:work", "oauth_token", members=members, expires_at="2026-12-01T08:00:00.000Z")
    assert at(zeroclaw(given)) == {
        "model_provider": "openai",
        "profile_name": "work",
        "kind": "oauth",
        "access_token": "an-access",
        "refresh_token": "a-refresh",
        "expires_at": "2026-12-01T08:00:00.000Z",
    }


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (GATEWAY, to_zeroclaw.NEW_GATEWAY),
        (credential(CONFIG5, "channels", "zalo", "botToken"), to_zeroclaw.NO_CHANNEL),
        (
            credential(f"{OPENCLAW}credentials/whatsapp/creds.json", label="credentials/whatsapp/creds.json"),
            to_zeroclaw.LINK,
        ),
        (credential(f"{OPENCLAW}.env", "WEATHER_API_KEY"), to_zeroclaw.NO_PLACE),
        (replace(profile("openai:x"), value=""), to_zeroclaw.EMPTY),
        (profile("openai:x", "oauth_token", members={"note": "x"}), to_zeroclaw.EMPTY),
    ],
)
def test_what_zeroclaw_has_no_place_for_is_named(given: ForeignCredential, reason: str) -> None:
    said = zeroclaw(given)
    assert (said.reasons, said.places) == ({"one": reason}, {})


def test_an_early_release_gets_one_key_and_channels_without_names() -> None:
    said = zeroclaw(
        profile("openai:default"),
        replace(credential(CONFIG5, "channels", "telegram", "botToken"), id="two"),
        installation=EARLY,
    )
    assert zeroclaw_config.parse_zeroclaw_config(said.files[TOML]) == {
        "default_provider": "openai",
        "api_key": KEY,
        "channels_config": {"telegram": {"bot_token": KEY}},
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            credential(TOML, "providers", "models", "anthropic", "default", "api_key"),
            {"type": "api_key", "key": KEY, "provider": "anthropic"},
        ),
        (
            credential(TOML, "providers", "models", "gemini", "default", "api_key"),
            {"type": "api_key", "key": KEY, "provider": "google"},
        ),
        (
            credential(TOML, "providers", "models", "custom", "meadow", "api_key"),
            {"type": "api_key", "key": KEY, "provider": "meadow"},
        ),
        (
            profile("groq:x", "session_token", LOGINS, expires_at="1970-01-01T00:00:01.000Z"),
            {"type": "token", "token": KEY, "provider": "groq", "expires": 1000},
        ),
        (
            profile("openai:x", "oauth_token", LOGINS, members=TOKENS),
            {"type": "oauth", "access": "a", "refresh": "r", "provider": "openai"},
        ),
    ],
)
def test_what_zeroclaw_signs_in_with_becomes_an_auth_profile(
    given: ForeignCredential, expected: dict[str, Any]
) -> None:
    assert at(openclaw(given)) == expected


def test_a_later_release_gets_its_profiles_as_rows() -> None:
    said = openclaw(credential(TOML, "providers", "models", "anthropic", "default", "api_key"), installation=NEW)
    assert said.places["one"] == (openclaw_paths.AUTH_PROFILES, (0,))
    assert at(said)["credential"] == {"type": "api_key", "key": KEY, "provider": "anthropic"}


def test_without_its_program_a_later_release_gets_a_variable() -> None:
    given = credential(TOML, "providers", "models", "anthropic", "default", "api_key")
    said = openclaw(given, installation=replace(NEW, program=None))
    assert said.places["one"] == (f"{OPENCLAW}.env", ("ANTHROPIC_API_KEY",))


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (("channels", "telegram", "default", "bot_token"), ("channels", "telegram", "botToken")),
        (("channels", "telegram", "work", "bot_token"), ("channels", "telegram", "accounts", "work", "botToken")),
        (("channels", "discord", "default", "bot_token"), ("channels", "discord", "token")),
        (("channels_config", "slack", "app_token"), ("channels", "slack", "appToken")),
    ],
)
def test_the_token_of_a_channel_gets_openclaws_name(keys: Keys, place: Keys) -> None:
    said = openclaw(credential(TOML, *keys))
    assert (said.places["one"], at(said)) == ((CONFIG5, place), KEY)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (credential(TOML, "composio", "api_key", service="composio"), "COMPOSIO_API_KEY"),
        (credential(TOML, "web_search", "brave_api_key", service="brave"), "BRAVE_API_KEY"),
        (credential(TOML, "channels", "nostr", "home", "private_key"), "NOSTR_HOME_PRIVATE_KEY"),
        (credential(TOML, "mcp", "servers", 0, "env", "NOTES_TOKEN", service="notes"), "NOTES_TOKEN"),
    ],
)
def test_whatever_else_there_is_becomes_a_variable(given: ForeignCredential, name: str) -> None:
    said = openclaw(given)
    assert (said.places["one"][1], at(said)) == ((name,), KEY)


def test_two_values_of_a_variable_get_two_names() -> None:
    one = credential(TOML, "composio", "api_key", service="composio")
    said = openclaw(one, replace(one, id="two", value="another"))
    assert {at(said), at(said, "two")} == {KEY, "another"}


def test_what_does_not_fit_into_a_variable_is_named() -> None:
    given = replace(credential(TOML, "jira", "api_token"), value="two\nlines")
    assert openclaw(given).reasons == {"one": to_openclaw.NOT_A_LINE}


def test_what_opens_zeroclaws_gateway_stays_out() -> None:
    given = credential(TOML, "gateway", "paired_tokens", 0, service="zeroclaw-gateway")
    assert openclaw(given).reasons == {"one": to_openclaw.NEW_GATEWAY}


def test_there_and_back_every_provider_and_channel_has_its_name_again() -> None:
    given = [
        profile("anthropic:default"),
        replace(profile("meadow:default"), id="two"),
        replace(credential(CONFIG5, "channels", "telegram", "botToken"), id="three"),
    ]
    there = zeroclaw(*given)
    back = openclaw(*(replace(each, place=there.places[each.id], label="") for each in given))
    assert {id: keys for id, (_, keys) in back.places.items()} == {
        "one": ("profiles", "anthropic:default"),
        "two": ("profiles", "meadow:default"),
        "three": ("channels", "telegram", "botToken"),
    }


def test_without_credentials_there_are_no_files() -> None:
    assert zeroclaw() == openclaw() == TranslatedCredentials({}, {}, {})


def test_a_newcomer_does_not_speak_through_the_channel_of_another_agent(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('schema_version = 3\n[agents.bob]\nchannels = ["telegram.default"]\n')
    there = replace(ZEROCLAW, state_dir=tmp_path, config=file)
    token = credential(CONFIG5, "channels", "telegram", "botToken", service="telegram", credential_type="oauth_token")
    made = zeroclaw_config.parse_zeroclaw_config(zeroclaw(token, installation=there).files[TOML])
    assert made["channels"]["telegram"] == {"ada": {"bot_token": KEY}}
    assert made["agents"]["ada"]["channels"] == ["telegram.ada"]


HERMES = Installation("hermes", Path("/h"), "default", "Ada")
DOTENV = "raw/hermes/.env"


def hermes(*credentials: ForeignCredential) -> TranslatedCredentials:
    found = load_shipped_profiles()["hermes"]
    return translate_provider_keys(found, HERMES, credentials)


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        (profile("anthropic:default"), "ANTHROPIC_API_KEY"),
        (profile("google:default"), "GEMINI_API_KEY"),
        (credential(TOML, "providers", "models", "openai", "default", "api_key"), "OPENAI_API_KEY"),
        (credential("raw/nanobot-home/config.json", "providers", "openrouter", "apiKey", service="openrouter"),
         "OPENROUTER_API_KEY"),
        (credential("raw/claude-code/settings.json", "env", "DEEPSEEK_API_KEY"), "DEEPSEEK_API_KEY"),
    ],
)  # fmt: skip
def test_hermes_reads_the_key_of_a_service_from_its_variable(given: ForeignCredential, variable: str) -> None:
    said = hermes(given)
    assert said.places == {"one": (DOTENV, (variable,))}
    assert at(said) == KEY


@pytest.mark.parametrize(
    "given",
    [
        GATEWAY,
        GROQ,
        credential(CONFIG5, "channels", "slack", "appToken"),
        credential(f"{OPENCLAW}.env", "WEATHER_API_KEY"),
        profile("openai:x", "oauth_token", members=TOKENS),
        profile("anthropic:work", "session_token"),
    ],
)
def test_what_hermes_does_not_read_from_a_variable_is_named_and_not_written(given: ForeignCredential) -> None:
    said = hermes(given)
    assert said.files == {}
    assert said.reasons == {"one": Reason(CredentialRefusal.NO_PLACE, runtime="hermes")}


def test_the_usual_account_of_a_provider_gets_its_only_variable() -> None:
    work = replace(profile("anthropic:a-work"), id="two", value=f"{KEY}-work")
    said = hermes(work, profile("anthropic:default"))
    assert (at(said), said.reasons) == (KEY, {"two": Reason(CredentialRefusal.TAKEN)})


@pytest.mark.parametrize("value", ["two\nlines", "a 'quoted' key"])
def test_a_key_that_not_every_reader_of_dotenv_files_reads_alike_is_not_written(value: str) -> None:
    said = hermes(replace(profile("anthropic:default"), value=value))
    assert (said.files, said.reasons) == ({}, {"one": Reason(CredentialRefusal.NOT_A_LINE)})
