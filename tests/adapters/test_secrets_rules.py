"""Which names hold secrets, and for which service."""

from __future__ import annotations

import pytest

from lifeboat_adapters.secrets import secret_names
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path, Scalar


def _leaf(path: Path, value: Scalar = "0123456789abcdef") -> ParsedLeaf:
    return ParsedLeaf(path, value, 0, 1)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("apiKey",), "api_key"),
        (("api_key",), "api_key"),
        (("OPENAI_API_KEY",), "api_key"),
        (("openAIApiKey",), "api_key"),
        (("X-Api-Key",), "api_key"),
        (("apiKeys", 0), "api_key"),
        (("APIKEY",), "api_key"),
        (("botToken",), "api_key"),
        (("DISCORD_BOT_TOKEN",), "api_key"),
        (("accessToken",), "oauth_token"),
        (("refresh",), "oauth_token"),
        (("access",), "oauth_token"),
        (("clientSecret",), "oauth_token"),
        (("signingSecret",), "webhook_secret"),
        (("webhookSecret",), "webhook_secret"),
        (("token",), "session_token"),
        (("tokens", 1), "session_token"),
        (("Authorization",), "session_token"),
        (("privateKey",), "ssh_key"),
        (("private_key_pem",), "ssh_key"),
        (("password",), "custom"),
        (("passphrase",), "custom"),
        (("secret",), "custom"),
        (("pass",), "custom"),
        (("SMTP_PASS",), "custom"),
        (("DB_PWD",), "custom"),
        (("pin",), "custom"),
        (("GITHUB_PAT",), "api_key"),
    ],
)
def test_names_that_hold_secrets(path: Path, kind: str) -> None:
    assert secret_names.credential_type_of_leaf(_leaf(("somewhere", *path))) == kind


@pytest.mark.parametrize(
    "path",
    [
        ("maxTokens",),
        ("maxToken",),
        ("contextTokens",),
        ("tokens",),
        ("publicKey",),
        ("sessionKey",),
        ("keyRef",),
        ("tokenFile",),
        ("passwordFile",),
        ("workspaceAccess",),
        ("compass",),
        ("bypass",),
        ("typingPin",),
        ("serviceAccount",),
        ("mode",),
        ("hotkey",),
        ("expires",),
        (0,),
        (),
    ],
)
def test_names_that_only_sound_like_it(path: Path) -> None:
    assert secret_names.credential_type_of_leaf(_leaf(path)) is None


@pytest.mark.parametrize(
    "value", ["", None, True, False, "${OPENAI_API_KEY}", "env:OPENAI_API_KEY", "secretref-env:OPENAI_API_KEY", 5]
)
def test_empty_values_flags_and_references_stay(value: Scalar) -> None:
    assert secret_names.credential_type_of_leaf(_leaf(("apiKey",), value)) is None


@pytest.mark.parametrize("value", ["$ummer2024", "$UMMER2024", "${A:-sk-example}", "env:not-a-name", "${A}sk-example"])
def test_what_only_resembles_a_reference_is_a_secret(value: str) -> None:
    assert secret_names.credential_type_of_leaf(_leaf(("apiKey",), value)) == "api_key"


@pytest.mark.parametrize("field", ["source", "provider", "id"])
def test_a_reference_to_a_secret_is_none(field: str) -> None:
    assert secret_names.credential_type_of_leaf(_leaf(("models", "apiKey", field))) is None


def test_a_number_is_a_secret_only_where_people_type_one() -> None:
    assert secret_names.credential_type_of_leaf(_leaf(("password",), 1234)) == "custom"
    assert secret_names.credential_type_of_leaf(_leaf(("token",), 1234)) is None


def test_a_short_word_under_access_is_a_setting() -> None:
    assert secret_names.credential_type_of_leaf(_leaf(("access",), "full")) is None


def test_a_password_inside_of_an_address_is_a_secret_under_any_name() -> None:
    assert (
        secret_names.credential_type_of_leaf(_leaf(("DATABASE_URL",), "postgres://app:pw@db.example.com/x")) == "custom"
    )
    assert secret_names.credential_type_of_leaf(_leaf(("DATABASE_URL",), "postgres://db.example.com/x")) is None


@pytest.mark.parametrize("host", ["https://hooks.slack.com/services/", "https://discord.com/api/webhooks/"])
def test_an_address_that_lets_its_reader_post_is_a_secret_under_any_name(host: str) -> None:
    assert secret_names.credential_type_of_leaf(_leaf(("url",), host + "T0EXAMPLE/" + "x" * 20)) == "webhook_secret"
    assert secret_names.credential_type_of_leaf(_leaf(("url",), host)) is None


@pytest.mark.parametrize(
    ("path", "service"),
    [
        (("channels", "telegram", "botToken"), "telegram"),
        (("channels", "slack", "accounts", "default", "appToken"), "slack"),
        (("models", "providers", "openai", "apiKey"), "openai"),
        (("models", "providers", "My Provider!", "apiKey"), "my-provider"),
        (("gateway", "auth", "token"), "gateway"),
        (("env", "OPENAI_API_KEY"), "openai"),
        (("TELEGRAM_BOT_TOKEN",), "telegram"),
        (("AWS_SECRET_ACCESS_KEY",), "aws"),
        (("token",), "custom"),
        ((), "custom"),
    ],
)
def test_the_names_around_a_secret_say_who_it_is_for(path: Path, service: str) -> None:
    assert secret_names.service_of_leaf(_leaf(path)) == service
