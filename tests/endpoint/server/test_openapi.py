"""The OpenAPI document and the server agree: requests that follow the document are answered as it says."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import httpx
import msgspec
import pytest

from lifeboat_endpoint.server import openapi, route_table
from lifeboat_endpoint.server.api import OPEN, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from support.endpoint.described_requests import client, operations, served, try_out
from support.endpoint.served_apps import ServedApp

__all__ = ["client", "served"]


def test_what_the_document_says_is_what_is_answered(served: ServedApp, client: httpx.Client) -> None:
    known = {"agent_id": served.pushed(client, captures=2).agent_id, "sequence": "1"}
    found = [each for each in operations(served) if each.method != "head"]
    assert len(found) > 30
    for operation in found:
        try_out(served, client, operation, known, examples=2)


def test_the_document_is_openapi_3_1(served: ServedApp) -> None:
    assert served.document["openapi"] == "3.1.0"
    assert served.document["paths"].keys() == {route.path for route in served.server.routes}
    assert served.server.routes[: len(route_table.OWN)] == route_table.OWN


def test_every_operation_has_a_name_of_its_own(served: ServedApp) -> None:
    names = [operation["operationId"] for path in served.document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))


class Found(msgspec.Struct):
    found: bool


def answer(call: Call) -> RouteResponse:
    return RouteResponse(Found(True))


ADDED = (
    Route("GET", "/formats/example", answer, OPEN, {200: Found}, quick=True, summary="A route of another package."),
)


def test_a_package_adds_routes_that_are_described_too(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("example", f"{__name__}:ADDED", route_table.GROUP),
        EntryPoint("broken", "there_is_no_such_package:ROUTES", route_table.GROUP),
    ]
    monkeypatch.setattr(EntryPoint, "load", lambda point: ADDED if point.name == "example" else 1 / 0)
    monkeypatch.setattr(route_table, "entry_points", lambda group: points)
    found = tuple(route_table.load_routes())
    assert found == (*route_table.OWN, *ADDED)
    assert "/formats/example" in openapi.make_document(found, "0")["paths"]


def test_what_is_there_already_is_not_taken_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    taken = Route("GET", "/version", answer, OPEN, {200: Found}, summary="Another version.")
    monkeypatch.setattr(route_table, "_added", lambda: iter([taken]))
    assert tuple(route_table.load_routes()) == route_table.OWN
