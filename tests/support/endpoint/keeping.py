"""Endpoints for tests in this process: a key file beside the data, a tenant, and agents with a real history."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.states import entry_metas
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import FILE
from lifeboat_endpoint.engines.files_engine import TENANTS
from lifeboat_endpoint.tenancy.control import Control
from lifeboat_endpoint.tenancy.control_file import ControlFile, create_control
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.vault import Draft, EntryPut
from support.vault.vaults import START, ManualClock, commit

AGENT = "0190f0a0-0000-7000-8000-0000000000a1"
OTHER = "0190f0a0-0000-7000-8000-0000000000a2"
CANARY = b"the password of the harbour is halibut\n"


class RunningClock(ManualClock):
    """`advance` lets time pass; `jump` sets the wall clock only."""

    def __init__(self) -> None:
        super().__init__()
        self._running = 1000.0

    def advance(self, **parts: float) -> None:
        super().advance(**parts)
        self._running += timedelta(**parts).total_seconds()

    def jump(self, **parts: float) -> None:
        super().advance(**parts)

    def since_boot(self) -> float:
        return self._running

    def monotonic(self) -> float:
        return self._running


def new_endpoint(folder: Path, *, clock: RunningClock | None = None, key_scope: str = "tenant") -> Endpoint:
    """Create an endpoint in `folder/data` with its key in `folder/endpoint.key`."""
    source = f"file:{folder / 'endpoint.key'}"
    return Endpoint.create(folder / "data", key_source=source, key_scope=key_scope, clock=clock or RunningClock())


def reopened(endpoint: Endpoint, **settings: Any) -> Endpoint:
    """Return the endpoint as another process opens it, after its settings were edited."""
    path = endpoint.folder / FILE
    path.write_bytes(json_codec.encode_pretty({**json_codec.decode_json(path.read_bytes()), **settings}))
    return Endpoint.open(endpoint.folder, clock=endpoint.clock)


def with_history(
    endpoint: Endpoint, tenant: Tenant, agent_id: str = AGENT, *, hours: int = 0, since: datetime = START
) -> None:
    """Add an agent with one sequence, and one more for each hour."""
    space = endpoint.space(tenant.id)
    space.register(agent_id, "Juniper", "openclaw")
    with space.vault(agent_id) as vault:
        for hour in range(hours + 1):
            body = CANARY + b"- hour %d\n" % hour
            commit(vault, Draft({"raw/openclaw/MEMORY.md": EntryPut({}, body)}), since + timedelta(hours=hour))


def with_large_file(endpoint: Endpoint, tenant: Tenant, bodies: list[bytes], agent_id: str = AGENT) -> None:
    """Add sequences of an agent in which one large file changes."""
    space = endpoint.space(tenant.id)
    space.register(agent_id, "Juniper", "openclaw")
    meta = {entry_metas.ATTACHMENT: {"tier": 3}}
    with space.vault(agent_id) as vault:
        for number, body in enumerate(bodies):
            commit(vault, Draft({"artifacts/chart.bin": EntryPut(dict(meta), body)}), START + timedelta(hours=number))


def numbers(endpoint: Endpoint, tenant: Tenant, agent_id: str = AGENT) -> list[int]:
    """Return which sequences are kept."""
    with endpoint.space(tenant.id).vault(agent_id) as vault:
        return [row.number for row in vault.sequences()]


def files_holding(folder: Path, secret: bytes) -> list[Path]:
    """Return the files that contain these bytes."""
    return [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


@pytest.fixture
def clock() -> RunningClock:
    return RunningClock()


@pytest.fixture
def endpoint(tmp_path: Path, clock: RunningClock) -> Iterator[Endpoint]:
    with new_endpoint(tmp_path, clock=clock) as made:
        yield made


@pytest.fixture
def control(tmp_path: Path, clock: RunningClock) -> Iterator[Control]:
    create_control(tmp_path / "control.db", clock)
    made = Control(ControlFile(tmp_path / "control.db"), clock=clock)
    yield made
    made.close()


def tenant_folder(endpoint: Endpoint, tenant_id: str) -> Path:
    """Return the folder of a tenant."""
    return endpoint.folder / TENANTS / tenant_id
