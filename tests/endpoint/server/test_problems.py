"""An error that an endpoint raises is raised again by its client."""

from __future__ import annotations

import json

import pytest

from lifeboat_alf.errors import BadJson, LifeboatError
from lifeboat_core.network.http_session import SessionReply
from lifeboat_core.remotes.endpoint import endpoint_problems
from lifeboat_endpoint.server.problems import MEDIA_TYPE, HttpRefusal, make_problem
from lifeboat_vault import errors

RAISED: list[tuple[LifeboatError, int]] = [
    (errors.RemoteRefused("x"), 422),
    (errors.RemoteDenied("x"), 401),
    (errors.RemoteDenied("x", scope="pull"), 403),
    (errors.UnknownAtRemote("x"), 404),
    (errors.StaleBase("x", sequence=7), 409),
    (errors.HeadMoved("x"), 409),
    (errors.EpochBehind("x", epoch=3), 409),
    (errors.EpochMoved("x", epoch=4), 409),
    (errors.RemoteTooLarge("x"), 413),
    (errors.RemoteBusy("x", retry_after=5), 503),
    (errors.RemoteFull("x", retry_after=60), 507),
]


@pytest.mark.parametrize(("error", "status"), RAISED, ids=lambda each: str(getattr(each, "code", each)))
def test_an_error_comes_through_as_itself(error: LifeboatError, status: int) -> None:
    found = make_problem(error, "request")
    assert found.status == found.document["status"] == status
    headers = {name.lower(): value for name, value in found.headers.items()}
    reply = SessionReply(status, {"content-type": MEDIA_TYPE, **headers}, json.dumps(found.document).encode(), 0)
    again = endpoint_problems.make_remote_error(reply)
    assert type(again) is type(error)
    assert isinstance(error, errors.RemoteError)
    assert {**again.details(), "scope": None} == {**error.details(), "scope": None}


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (BadJson("MEMORY is no JSON"), "remote_refused", 422),
        (errors.VaultFull("no space on /srv/example"), "remote_full", 507),
        (errors.VaultBusy("/srv/example/vault.db is locked"), "remote_busy", 503),
        (errors.VaultUnusable("/srv/example: permission denied"), "remote_busy", 503),
        (errors.VaultDamaged("/srv/example/vault.db: malformed"), "remote_damaged", 500),
        (errors.UnknownSequence("7"), "unknown_there", 404),
        (errors.KeyRevoked("/srv/example.key is gone"), "key_revoked", 403),
        (errors.KeySourceRefused("/srv/example.key may be read by others"), "remote_busy", 503),
        (errors.KeySourceAway("https://vault.example.com/srv/example gives no answer"), "remote_busy", 503),
        (errors.UnknownTenant("removed"), "remote_denied", 401),
        (ZeroDivisionError("/srv/example"), "accident", 500),
        (HttpRefusal(429, errors.RemoteBusy("slowly")), "remote_busy", 429),
        (HttpRefusal(412, errors.HeadMoved("moved")), "head_moved", 412),
    ],
    ids=lambda each: str(each),
)
def test_trouble_of_this_side_is_told_without_its_places(error: Exception, code: str, status: int) -> None:
    found = make_problem(error, "request-7")
    assert (found.document["code"], found.status) == (code, status)
    assert "/srv/example" not in json.dumps(found.document)
    assert found.document["request_id"] == "request-7"


@pytest.mark.parametrize("status", [429, 503, 507])
def test_who_is_asked_to_wait_is_told_for_how_long(status: int) -> None:
    assert make_problem(HttpRefusal(status, errors.RemoteBusy("x", retry_after=2.6)), "r").headers["Retry-After"] == "3"
    assert make_problem(HttpRefusal(status, errors.RemoteBusy("x")), "r").headers["Retry-After"] == "1"


def test_a_conflict_names_the_head() -> None:
    assert make_problem(errors.StaleBase("x", sequence=7), "r").headers["X-Latest-Sequence"] == "7"
    assert make_problem(errors.StaleBase("x"), "r").headers["X-Latest-Sequence"] == "0"
