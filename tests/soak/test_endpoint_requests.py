"""Hundreds of requests of every kind, right and wrong, are answered as the OpenAPI document says."""

from __future__ import annotations

import httpx
import pytest

from support.endpoint.described_requests import client, operations, served, try_out
from support.endpoint.served_apps import ServedApp

__all__ = ["client", "served"]

pytestmark = pytest.mark.timeout(1800)


def test_hundreds_of_requests_are_answered_as_described(served: ServedApp, client: httpx.Client) -> None:
    known = {"agent_id": served.pushed(client, captures=5).agent_id, "sequence": "3"}
    for operation in operations(served):
        try_out(served, client, operation, known, examples=200)
