"""Agents that are replicated to a shared endpoint, and checks of what it must hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lifeboat_core.home.context import Context
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from support.core.replicated import PHRASE, SECRET, Replicated, machine_in
from support.scale.shared_endpoint import Joined, SharedEndpoint


def living(folder: Path, tenant: Joined) -> Replicated:
    """Return an agent with a first state and a remote `home` at the balancer."""
    made = Replicated(machine_in(folder))
    join(made, tenant)
    return made


def join(agent: Replicated, tenant: Joined, *, through: str | None = None) -> None:
    """Register a device. `through` is the address of a proxy in front of the endpoint."""
    agent.machine.add_remote("home", through or tenant.url, token=tenant.token)
    agent.straight["home"] = agent.machine.remote()


def a_tenant_is_whole(shared: SharedEndpoint, tenant: Tenant) -> None:
    """Check everything of every agent: bytes, digests, signatures."""
    space = shared.endpoint.space(tenant.id)
    for agent_id in space.agent_ids():
        if space.is_sealed(agent_id):
            continue
        with space.vault(agent_id) as vault:
            assert vault.verify(trusted=None, whole=True).findings == []
            assert vault.check_audit() == []


def the_audit_is_whole(shared: SharedEndpoint) -> None:
    assert shared.endpoint.control.check_audit() == []


def everything_kept(shared: SharedEndpoint) -> Iterator[tuple[str, bytes]]:
    """Yield all stored data with a description: rows, objects, data folders, logs, dumps."""
    yield "rows", shared.database.dump()
    yield "the log of the database", shared.database.log.encode()
    for path in shared.objects.kept():
        yield f"object file {path.name}", path.read_bytes()
    for path in shared.folder.rglob("*"):
        if path.is_file() and path.parent.name != "key":
            yield str(path.relative_to(shared.folder)), path.read_bytes()


def nothing_shows(shared: SharedEndpoint, *told: bytes) -> None:
    """Check that all stored data is encrypted."""
    words = told or (SECRET.encode(), PHRASE.encode())
    assert [(where, word) for where, data in everything_kept(shared) for word in words if word in data] == []


__all__ = ["Context", "a_tenant_is_whole", "everything_kept", "join", "living", "nothing_shows", "the_audit_is_whole"]
