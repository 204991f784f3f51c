"""Valid and invalid requests that are made from an endpoint's OpenAPI document. The responses have to match the
document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from support.endpoint.served_apps import ServedApp

_DESTROYS = ("delete_token",)


def operations(served: ServedApp) -> list[Any]:
    """Return all operations of the document except one that would revoke the test's own token."""
    from schemathesis.openapi import from_dict  # imported here because it takes half a second

    schema = from_dict(served.document)
    found = [each.ok() for each in schema.get_all_operations()]
    return [each for each in found if each.definition.raw.get("operationId") not in _DESTROYS]


def try_out(served: ServedApp, client: httpx.Client, operation: Any, known: dict[str, str], *, examples: int) -> None:
    """Send requests of an operation. `known` are path parameters of existing things, which every second request has.

    Raises AssertionError for the first response that does not match the document.
    """

    from schemathesis import GenerationMode

    checks = _checks()

    @seed(20261120)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def one(data: st.DataObject) -> None:
        mode = data.draw(st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE]))
        case = data.draw(operation.as_strategy(generation_mode=mode))
        if data.draw(st.booleans()):
            case.path_parameters = {**(case.path_parameters or {}), **_of_path(operation.path, known)}
        case.validate_response(_sent(client, case), checks=checks)

    one()


def _checks() -> list[Any]:
    """Check that responses to invalid requests are documented too."""
    from schemathesis.checks import not_a_server_error, status_code_conformance
    from schemathesis.specs.openapi import checks

    return [
        not_a_server_error,
        status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]


def _of_path(path: str, known: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in known.items() if f"{{{name}}}" in path}


def _sent(client: httpx.Client, case: Any) -> httpx.Response:
    """Return headers without those of authentication: the client adds the token."""
    kwargs = case.as_transport_kwargs(base_url=str(client.base_url))
    given_headers = dict(kwargs["headers"]).items()
    headers = {name: value.encode() for name, value in given_headers if name.lower() != "authorization"}
    body = {"json": kwargs["json"]} if "json" in kwargs else {"content": _bytes(kwargs.get("data"))}
    return client.request(
        kwargs["method"], kwargs["url"], params=kwargs.get("params"), headers=headers, follow_redirects=False, **body
    )


def _bytes(data: Any) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


__all__ = ["operations", "try_out"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ServedApp:
    return ServedApp(tmp_path_factory.mktemp("served"), failure_burst=1e9, token_burst=1e9)


@pytest.fixture(scope="module")
def client(served: ServedApp) -> Iterator[httpx.Client]:
    with served.running() as found:
        yield found
