"""Output of programs is stored without the secrets in it."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.secrets.secret_masking import mask_secrets_in_text

SECRET = "tide-secret-0123456789abcdef"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"using {SECRET}.",
        json.dumps({"a": [SECRET]}),
        base64.b64encode(f"u:{SECRET}".encode()).decode(),
        SECRET.encode().hex(),
    ],
)
def test_a_known_value_goes_however_it_is_spelled(text: str) -> None:
    said = mask_secrets_in_text(text, [SECRET])
    assert SECRET not in said and "[secret]" in said


def test_a_short_known_value_goes_as_a_word_of_its_own() -> None:
    assert mask_secrets_in_text("pin 4711, 47110 files", ["4711"]) == "pin [secret], 47110 files"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("token: abc def\nnext", "token: [secret]\nnext"),
        ("OPENAI_API_KEY=abc", "OPENAI_API_KEY=[secret]"),
        ('{"a": {"token": "abc", "b": 1}}', '{"a": {"token": "[secret]", "b": 1}}'),
        ("{ pin: '4711' }", "{ pin: '[secret]' }"),
        ('"Authorization": "Bearer abc"', '"Authorization": "[secret]"'),
        ('said "{\\"token\\": \\"abc\\"}"', 'said "{\\"token\\": \\"[secret]"'),
        ("https://june:abc@example.com/", "https://june:[secret]@example.com/"),
        ("maxTokens: 4000", "maxTokens: 4000"),
        ("indexed 12 files: done", "indexed 12 files: done"),
    ],
)
def test_a_value_under_the_name_of_a_secret_goes(text: str, wanted: str) -> None:
    assert mask_secrets_in_text(text) == wanted


def test_what_looks_like_a_secret_goes() -> None:
    assert mask_secrets_in_text("found ghp_" + "a1B2" * 9 + " somewhere") == "found [secret] somewhere"


@given(st.text(), st.text(min_size=16, max_size=60), st.text())
def test_no_known_value_stays_in_any_text(before: str, value: str, after: str) -> None:
    assert value not in mask_secrets_in_text(before + value + after, [value])
