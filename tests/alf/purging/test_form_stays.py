"""A search term that occurs by chance in the structure of a document, or in a secret's placeholder, is left there, so
that the document stays readable."""

from __future__ import annotations

import json
import re

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.purging.purge_terms import PurgeTerms

CREDENTIAL = "01a1cfa1-0a00-7b04-af48-44e731d7fad0"
MARK = f"{{{{lifeboat:credential:{CREDENTIAL}}}}}"


def found(text: str, path: str, body: str) -> list[str]:
    data = body.encode()
    return [data[start:end].decode() for start, end in PurgeTerms(texts=(text,)).spans(path, data)]


@pytest.mark.parametrize("path", ["raw/openclaw-home/openclaw.json", "raw/openclaw/.env", "raw/zeroclaw/config.toml"])
def test_digits_of_what_stands_for_a_secret_are_nobodys(path: str) -> None:
    body = f'token = "{MARK}"\npin = "0a00"\n'
    assert found("0a00", path, body) == ["0a00"]
    assert PurgeTerms(texts=("0a00",)).spans(path, body.encode())[0][0] > body.index(MARK) + len(MARK)


@pytest.mark.parametrize("text", ["{", "}", "[", ":", ",", "12"])
def test_what_holds_a_document_of_the_format_together_stays(text: str) -> None:
    body = json.dumps({"id": "x", "version": 12, "names": {"primary": "Ada"}, "list": [12]})
    assert found(text, archive_layout.IDENTITY, body) == []


def test_what_a_document_of_the_format_says_goes() -> None:
    body = json.dumps({"version": 12, "names": {"nickname": "room 12, (left)"}})
    assert found("12, (", archive_layout.IDENTITY, body) == ["12, ("]


@pytest.mark.parametrize("pattern", [r"lifeboat:credential:\S+", r"\{\{\S+", r"\S+\}\}", r'"\{\{life', r"\{.+?\}\}"])
def test_no_match_takes_a_part_of_what_stands_for_a_secret(pattern: str) -> None:
    body = f'token = "{MARK}"\nname = "ada"\n'.encode()
    spans = PurgeTerms(patterns=(re.compile(pattern),)).spans("raw/zeroclaw/config.toml", body)
    left = b"".join(body[start:end] for start, end in spans)
    assert b"lifeboat" not in left or MARK.encode() in left


def test_a_match_that_covers_it_takes_it_along() -> None:
    body = f'x\ntoken = "{MARK}"\nname\n'.encode()
    (span,) = PurgeTerms(patterns=(re.compile("token.+"),)).spans("raw/zeroclaw/config.toml", body)
    assert body[: span[0]] + body[span[1] :] == b"x\n\nname\n"
