"""Hundreds of requests of every kind, right and wrong, are answered as the OpenAPI document says."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from described_requests import operations, try_out
from served_apps import ServedApp

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ServedApp:
    return ServedApp(tmp_path_factory.mktemp("served"), failure_burst=1e9, token_burst=1e9)


@pytest.fixture(scope="module")
def client(served: ServedApp) -> Iterator[httpx.Client]:
    with served.running() as found:
        yield found


def test_hundreds_of_requests_are_answered_as_described(served: ServedApp, client: httpx.Client) -> None:
    known = {"agent_id": served.pushed(client, captures=5).agent_id, "sequence": "3"}
    for operation in operations(served):
        try_out(served, client, operation, known, examples=200)
