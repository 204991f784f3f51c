"""The endpoint's application without a port, for tests: real data, real routes, requests by httpx."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.server.asgi_app import make_app
from lifeboat_endpoint.server.call import ServerContext
from lifeboat_endpoint.server.server_settings import ServerPace, ServerSettings
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.vault import Vault

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PUBLIC = "https://endpoint.example.com"
MACHINE = "laptop"


class ServedApp:
    """An endpoint in `folder` with the tenants `home` and `office`, and its application.

    `office_key` is the key source of `office`; without it, `office` uses the endpoint's.
    """

    def __init__(self, folder: Path, *, key_scope: str = "tenant", office_key: str | None = None, **pace: Any) -> None:
        self.folder = folder
        self._vaults: list[Vault] = []
        source = f"file:{folder / 'endpoint.key'}"
        with Endpoint.create(folder / "data", key_source=source, key_scope=key_scope) as endpoint:
            own = {"home": None, "office": office_key}
            self.tenants = {name: endpoint.add_tenant(name, key_source=key).id for name, key in own.items()}
        self._settings = ServerSettings(PUBLIC, b"the certificate", "ab" * 32, ServerPace(**pace), maintenance=False)
        self.again()
        self.token = self.new_token()

    def again(self) -> ServedApp:
        """Restart the server."""
        self.app = make_app(self.folder / "data", self._settings)
        self.server: ServerContext = self.app.state.server
        return self

    @property
    def document(self) -> JsonObject:
        """Return the OpenAPI document."""
        found: JsonObject = json.loads(self.server.document)
        return found

    def new_token(self, *scopes: str, tenant: str = "home") -> str:
        """Return the secret of a new token."""
        with Endpoint.open(self.folder / "data") as endpoint:
            return endpoint.control.add_token(self.tenants[tenant], "test", scopes or ("push", "pull"))[1]

    @contextlib.contextmanager
    def running(self) -> Iterator[Any]:
        """Yield a client that shows `token`; the application ends with it."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with TestClient(self.app, base_url="http://elsewhere.example.com", headers=headers) as client:
            yield client
        for vault in self._vaults:
            vault.close()

    def machine(self, name: str = "agent") -> TrialMachine:
        """Return a machine with an agent of its own that the endpoint does not know yet."""
        agent_id = ids.make_id("2026-11-20T12:00:00.000Z")
        vault = Vault.create(self.folder / f"vault-{len(self._vaults)}-{name}", agent_id)
        self._vaults.append(vault)
        return TrialMachine(agent_id, vault, DeviceKey.generate(UserKey.generate()), MACHINE)

    def registered(self, client: httpx.Client) -> TrialMachine:
        """Return a machine whose agent is registered."""
        machine = self.machine()
        document = {"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"}
        assert client.post("/agents", json=document).status_code == 201
        return machine

    def pushed(self, client: httpx.Client, captures: int = 1) -> TrialMachine:
        """Return a registered machine with some pushed sequences."""
        machine = self.registered(client)
        first = machine.capture()
        answer = client.put(f"/agents/{machine.agent_id}/snapshot", content=machine.snapshot().file.read())
        assert answer.status_code == 201, answer.text
        for base in range(first.number, first.number + captures - 1):
            machine.capture()
            assert push_delta(client, machine, base).status_code == 201
        return machine


def push_delta(client: httpx.Client, machine: TrialMachine, base: int, **options: Any) -> httpx.Response:
    """Send what the machine has since a sequence."""
    path = f"/agents/{machine.agent_id}/deltas"
    return client.post(path, params={"base_sequence": base}, content=machine.delta(base).file.read(), **options)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def codes(answers: Sequence[httpx.Response]) -> list[int]:
    return [answer.status_code for answer in answers]


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> ServedApp:
    """The application, with a `ServerPace` of its own if a test is parametrized with one."""
    return ServedApp(tmp_path, **getattr(request, "param", {}))


@pytest.fixture
def client(served: ServedApp) -> Iterator[httpx.Client]:
    with served.running() as found:
        yield found
