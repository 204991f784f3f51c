"""Text that looks like a secret: the formats of many services, and random values under a name for a secret."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.secrets import secret_patterns

_PHRASE_12 = "legal winner thank year wave sausage worth useful legal winner thank yellow"
_PHRASE_24 = f"{'abandon ' * 23}art"
_RANDOM = "q7Zt9Xw2Kp4Rv8Lm"


def _found(text: str) -> list[tuple[str, str]]:
    data = text.encode()
    return [(look.kind, data[look.start : look.end].decode()) for look in secret_patterns.find_secret_matches(data)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sk-" + "a1" * 20, "api_key"),
        ("sk-ant-" + "a1" * 20, "anthropic_key"),
        ("sk-proj-" + "a1" * 20, "openai_key"),
        ("sk-admin-" + "a1" * 20, "openai_key"),
        ("gsk_" + _RANDOM * 2, "provider_key"),
        ("ghp_" + "a1" * 18, "github_token"),
        ("github_pat_" + "a1" * 20, "github_token"),
        ("glpat-" + "a1" * 10, "gitlab_token"),
        ("xoxb-" + "1234567890-abcdef", "slack_token"),
        ("https://hooks.slack.com/services/" + "T00/B00/" + "x" * 20, "slack_webhook"),
        ("https://discord.com/api/webhooks/123456789012345678/" + "a1" * 34, "discord_webhook"),
        ("AKIA" + "0EXAMPLE" * 2, "aws_access_key"),
        ("AIza" + "x" * 35, "google_api_key"),
        ("GOCSPX-" + "a1" * 14, "google_oauth_secret"),
        ("abc8Q~" + "a1" * 17, "azure_key"),
        ("sk_live_" + "a1" * 12, "stripe_key"),
        ("rk_test_" + "a1" * 12, "stripe_key"),
        ("whsec_" + "a1" * 16, "stripe_key"),
        ("SK" + "a1" * 16, "twilio_key"),
        ("SG." + "a1" * 11 + "." + "b2" * 21 + "c", "sendgrid_key"),
        ("hf_" + "a1" * 17, "huggingface_token"),
        ("npm_" + "a1" * 18, "npm_token"),
        ("pypi-AgEIcHlwaS5vcmc" + "a1" * 40, "pypi_token"),
        ("dop_v1_" + "a1" * 32, "digitalocean_token"),
        ("123456789:" + "A" * 35, "telegram_bot_token"),
        ("M" + "a" * 23 + ".abcdef." + "b" * 27, "discord_bot_token"),
        ("AGE-SECRET-KEY-1" + "Q" * 58, "age_secret_key"),
        ("eyJ" + "a" * 12 + ".eyJ" + "b" * 12 + "." + "c" * 12, "json_web_token"),
        ("-----BEGIN PRIVATE KEY-----\n" + "MIIB" * 8 + "\n-----END PRIVATE KEY-----", "private_key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\\n" + "b3Bl" * 8 + "\\n-----END OPENSSH PRIVATE KEY-----", "private_key"),
    ],
)
def test_what_looks_like_a_secret_is_found_with_its_kind(text: str, kind: str) -> None:
    assert _found(f"mine is {text}, keep it") == [(kind, text)]


@pytest.mark.parametrize("phrase", [_PHRASE_12, _PHRASE_24])
def test_the_words_of_a_wallet_are_known_by_their_checksum(phrase: str) -> None:
    assert _found(f"# Wallet\n\nSeed: {phrase}\n\nDone.") == [("recovery_phrase", phrase)]
    assert _found(f"{phrase.replace('legal', 'abandon').replace('art', 'able')}\n") == []


def test_the_secret_of_an_aws_key_is_found_beside_it() -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "0123456789"
    key = "AKIA" + "0EXAMPLE" * 2
    assert _found(f"id {key}\nsecret {secret}\n") == [("aws_access_key", key), ("aws_secret_key", secret)]


@pytest.mark.parametrize(
    "before",
    [
        "password: ",
        "- Password = ",
        "API_KEY=",
        '"apiKey": "',
        "the token is ",
        "Authorization: Bearer ",
        "`secret`: `",
    ],
)
def test_a_random_value_under_a_name_that_promises_one_is_found(before: str) -> None:
    assert _found(f"{before}{_RANDOM}\n") == [("secret_value", _RANDOM)]


def test_the_password_in_an_address_is_found() -> None:
    assert _found("postgres://ada:Kw7pQz2m@db.example.com/x") == [("url_password", "Kw7pQz2m")]


@pytest.mark.parametrize(
    "text",
    [
        "risk-averse people keep their sk-short keys",
        "task-0123456789abcdef0123456789",
        "a note about AKIA and ghp_ prefixes",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "the 12:30 train",
        "token: 123e4567-e89b-12d3-a456-426614174000",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it",
        "https://example.com/a/3f786850e387550fdab836ed7e6dc881de23001b?token",
        "![chart](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)",
        "password: ask Ada, she keeps it",
        "password: correct-horse-battery-staple",
        "the secret: never skip the second coat of varnish",
        "token budget: 200000, max tokens = 4096",
        "api_key: ${OPENAI_API_KEY}",
        "secret: /people/ada/.config/tide/2026-02-10",
        "key: memory/2026-02-10.md",
        "postgres://user:password@localhost/x and https://example.com:8080/a@b",
        "the words are able to carry every boat over any cold dark wave again",
    ],
)
def test_a_note_that_speaks_of_secrets_is_left_alone(text: str) -> None:
    assert _found(text) == []


def test_a_line_can_say_that_it_holds_no_secret() -> None:
    assert _found(f"password: {_RANDOM} <!-- lifeboat:allow -->\nsk-{'a1' * 20} # lifeboat:allow\n") == []
    assert len(_found(f"<!-- lifeboat:allow -->\npassword: {_RANDOM}\n")) == 1


def test_a_look_says_on_which_line_it_stands() -> None:
    data = f"# Note\n\npassword: {_RANDOM}\n".encode()
    (look,) = secret_patterns.find_secret_matches(data)
    assert secret_patterns.line_of_match(data, look) == 3


@pytest.mark.parametrize("value", ["sk-" + "a1" * 20, _RANDOM, "ghp_" + "a1" * 18])
def test_a_value_by_itself_looks_like_a_secret(value: str) -> None:
    assert secret_patterns.is_likely_secret(value)


@pytest.mark.parametrize("value", ["", "full", "changeme", "correct-horse", "2026-02-10", "https://example.com/a"])
def test_a_setting_by_itself_does_not(value: str) -> None:
    assert not secret_patterns.is_likely_secret(value)


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----" * 5_000,
        "sk-" * 50_000,
        "eyJ" + "a" * 100_000,
        "1" * 200_000,
        "password=" * 20_000,
        "abandon " * 20_000,
        "a://" * 50_000,
        "AKIA" + "0EXAMPLE" * 30_000,
    ],
)
def test_looking_ends_soon_on_hostile_text(text: str) -> None:
    assert len(secret_patterns.find_secret_matches(text.encode())) <= len(text)


LOOKALIKES = (b"ghp_" + b"a1B2" * 9, b"AKIA" + b"0EXAMPLE" * 2)


def test_lookalikes_are_found() -> None:
    assert len(secret_patterns.find_secret_matches(b" ".join(LOOKALIKES))) == len(LOOKALIKES)


@given(st.binary(max_size=300) | st.lists(st.binary(max_size=9) | st.sampled_from(LOOKALIKES)).map(b" ".join))
@example(b" ".join(LOOKALIKES))
def test_any_bytes_can_be_looked_at(data: bytes) -> None:
    found = secret_patterns.find_secret_matches(data)
    assert all(0 <= look.start < look.end <= len(data) for look in found)
    assert all(first.end <= second.start for first, second in pairwise(found))
