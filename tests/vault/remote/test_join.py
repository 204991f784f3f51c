"""Join lines are parsed as they were written, and truncated ones are detected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_vault.errors import RemoteError
from lifeboat_vault.remote.join_lines import JoinLine, format_join_line, is_join_line, parse_join_line
from support.alf.raising import raises_code

TOKEN = "lb_" + "example0" + "_" + "A-_z" * 10 + "abc"
PIN = "0123456789abcdef" * 4


def test_a_line_holds_address_token_and_pin() -> None:
    text = format_join_line(JoinLine("https://endpoint.example.com:8443", TOKEN, PIN))
    assert text == f"lifeboat+https://{TOKEN}@endpoint.example.com:8443/?pin={PIN}"


@pytest.mark.parametrize(
    "url",
    ["https://endpoint.example.com", "https://192.0.2.7:8443", "https://[2001:db8::1]:8443", "http://127.0.0.1:80/v1"],
)
@pytest.mark.parametrize("pin", ["", PIN])
def test_what_was_written_is_read_again(url: str, pin: str) -> None:
    join = JoinLine(url, TOKEN, pin)
    assert parse_join_line(f"  {format_join_line(join)}\n") == join


@given(st.text(alphabet="ABCdef012-_.~", min_size=1, max_size=60))
def test_every_token_comes_through(token: str) -> None:
    assert parse_join_line(format_join_line(JoinLine("https://endpoint.example.com:8443", token, PIN))).token == token


def test_the_slash_at_the_end_of_an_address_does_not_count() -> None:
    assert (
        parse_join_line(format_join_line(JoinLine("https://endpoint.example.com/", TOKEN))).url
        == "https://endpoint.example.com"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "https://endpoint.example.com/",
        "lifeboat+https://",
        "lifeboat+https://endpoint.example.com/",
        f"lifeboat+ftp://{TOKEN}@endpoint.example.com/",
        f"lifeboat+https://{TOKEN}@/",
        f"lifeboat+https://{TOKEN}@endpoint.example.com:99999/",
        f"lifeboat+https://{TOKEN}@endpoint.example.com/?pin={PIN[:40]}",
        f"lifeboat+https://{TOKEN}@[endpoint/",
        f"lifeboat+https://{TOKEN} x@endpoint.example.com/",
    ],
)
def test_what_is_no_join_line_is_said_without_repeating_it(text: str) -> None:
    with raises_code(RemoteError.JOIN_INVALID) as caught:
        parse_join_line(text)
    assert TOKEN not in str(caught.value)


def test_a_line_is_known_by_its_beginning() -> None:
    assert is_join_line(" LIFEBOAT+https://cut")
    assert not is_join_line("https://endpoint.example.com")


def test_the_token_is_not_in_what_a_log_would_show() -> None:
    assert TOKEN not in repr(JoinLine("https://endpoint.example.com", TOKEN))
