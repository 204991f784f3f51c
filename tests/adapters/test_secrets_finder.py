"""Finding secrets by name and by value."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets import secret_finder
from lifeboat_adapters.secrets.secret_finder import KnownSecretSearch

_VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=16, max_size=40)
CONFIG = b"""{
  // the gateway's own
  gateway: { auth: { mode: "token", token: 'gw-0123456789' }, port: 18789 },
  channels: { telegram: { botToken: "42:not-a-real-token", enabled: true } },
  models: { providers: { "openai": {
    apiKey: "sk-\\u0065xample", maxTokens: 4096,
    other: { apiKey: { source: "env", provider: "default", id: "OPENAI_API_KEY" } } } } },
  empty: { apiKey: "" }, fromEnvironment: { apiKey: "${OPENAI_API_KEY}" },
  lock: { password: 0123 },
}""".replace(b"0123 }", b"1234 }")


def test_a_configuration_gives_its_secrets_with_spans_values_and_labels() -> None:
    found = secret_finder.secrets_in_json5(CONFIG)
    assert [(secret.label, secret.value, CONFIG[secret.start : secret.end]) for secret in found] == [
        ("gateway.auth.token", "gw-0123456789", b"'gw-0123456789'"),
        ("channels.telegram.botToken", "42:not-a-real-token", b'"42:not-a-real-token"'),
        ("models.providers.openai.apiKey", "sk-example", b'"sk-\\u0065xample"'),
        ("lock.password", "1234", b"1234"),
    ]
    assert [(secret.service, secret.credential_type) for secret in found] == [
        ("gateway", "session_token"),
        ("telegram", "api_key"),
        ("openai", "api_key"),
        ("lock", "custom"),
    ]


def test_an_adapter_may_name_the_services_itself() -> None:
    found = secret_finder.secrets_in_json5(CONFIG, lambda leaf: str(leaf.path[0]))
    assert [secret.service for secret in found] == ["gateway", "channels", "models", "lock"]


def test_a_dotenv_file_gives_its_secrets_and_leaves_its_settings() -> None:
    data = b"# keys\nexport OPENAI_API_KEY='sk-example' # mine\nLOG_LEVEL=debug\nGITHUB_TOKEN=\nPOSTGRES_PASSWORD=pw\n"
    found = secret_finder.secrets_in_dotenv(data)
    assert [(secret.label, secret.service, data[secret.start : secret.end]) for secret in found] == [
        ("OPENAI_API_KEY", "openai", b"'sk-example'"),
        ("POSTGRES_PASSWORD", "postgres", b"pw"),
    ]


def test_half_a_surrogate_pair_stops_nobody() -> None:
    data = rb'{"a\ud800": {"token": "\ud800-0123456789abcdef"}}'
    (secret,) = secret_finder.secrets_in_json5(data, lambda leaf: str(leaf.path[0]))
    assert (secret.value, secret.label, secret.service) == ("?-0123456789abcdef", "a?.token", "a?")
    assert KnownSecretSearch(["\ud800" * 16]).spans(b"?" * 15) == []


def test_a_file_that_does_not_parse_gives_no_secrets_but_an_error() -> None:
    with pytest.raises(UnparsableSecrets):
        secret_finder.secrets_in_json5(CONFIG[:-3])
    with pytest.raises(UnparsableSecrets):
        secret_finder.secrets_in_dotenv(b'A="')


@given(
    st.lists(_VALUES, min_size=1, max_size=4), st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=10))
)
def test_a_known_value_is_found_wherever_it_stands(values: list[str], between: list[str]) -> None:
    search = KnownSecretSearch(values)
    for value in values:
        data = "|".join([*between, value, *between]).encode()
        hits = search.spans(data)
        start = data.index(value.encode())
        assert any(hit.start <= start and start + len(value.encode()) <= hit.end for hit in hits) or _overlapped(
            hits, data, value
        )


def _overlapped(hits: list[secret_finder.KnownSecretMatch], data: bytes, value: str) -> bool:
    """Return whether another value that begins earlier overlaps this one. Then its bytes are cut there."""
    start = data.index(value.encode())
    return any(hit.start < start + len(value.encode()) and start < hit.end for hit in hits)


@pytest.mark.parametrize(
    "spelled",
    [
        lambda value: value,
        lambda value: json.dumps(value)[1:-1],
        lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
        lambda value: json.dumps(value)[1:-1].replace("/", "\\/"),
        lambda value: quote(value, safe=""),
    ],
)
def test_a_known_value_is_found_in_every_usual_spelling(spelled: object) -> None:
    value = 'Bäc"k\\slash/and\nline-0123'
    text = spelled(value)  # type: ignore[operator]
    data = f"before {text} after {text}".encode()
    hits = KnownSecretSearch([value]).spans(data)
    assert [data[hit.start : hit.end].decode() for hit in hits] == [text, text]
    assert {hit.value for hit in hits} == {value}


def test_of_two_values_the_longer_is_found_first() -> None:
    short, long = "sk-0123456789abcdef", "sk-0123456789abcdef-and-more"
    hits = KnownSecretSearch([short, long]).spans(f"{long} {short}".encode())
    assert [hit.value for hit in hits] == [long, short]


def test_a_short_value_is_not_looked_for() -> None:
    search = KnownSecretSearch(["123456789012345", "", "pass"])
    assert not search
    assert search.spans(b"123456789012345 pass") == []


def test_spans_are_sorted_and_apart() -> None:
    values = ["abcdefghijklmnopqrst", "klmnopqrstuvwxyz0123"]
    hits = KnownSecretSearch(values).spans(b"abcdefghijklmnopqrstuvwxyz0123 klmnopqrstuvwxyz0123")
    assert [hit.value for hit in hits] == values
