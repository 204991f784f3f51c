"""What every second copy must do, done by two servers in turns on PostgreSQL and an object store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import manage_remotes
from lifeboat_core.remotes.endpoint import endpoint_remote
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_vault.remote.conformance_checks import CHECKS, RemoteCheck
from lifeboat_vault.remote.remote_contract import Remote
from support.scale.shared_endpoint import Joined, SharedEndpoint

UPLOADS = [check for check in CHECKS if check.name.startswith(("a first snapshot", "a delta goes", "the same push"))]


def run(check: RemoteCheck, tenant: Joined, folder: Path) -> None:
    home = {"LIFEBOAT_HOME": str(folder / "lifeboat"), "HOME": "/nonexistent"}
    context = Context.open(home)
    config = manage_remotes.add_remote(context, "home", manage_remotes.parse_remote_access(tenant.join))[0]
    opened: list[Remote] = []

    def fresh() -> Remote:
        opened.append(open_remote(context, config))
        return opened[-1]

    (folder / "scratch").mkdir()
    try:
        assert check.run(fresh, folder / "scratch") == []
        assert fresh().agents() == []
    finally:
        for remote in opened:
            remote.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name.replace(" ", "_"))
def test_two_servers_in_turns_conform(
    check: RemoteCheck, shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    before = dict(shared.balancer.sent)
    run(check, tenant, tmp_path)
    after = shared.balancer.sent
    assert all(after[server.url] > before.get(server.url, 0) for server in shared.servers)


@pytest.mark.parametrize("check", UPLOADS, ids=lambda check: check.name.replace(" ", "_"))
def test_parts_that_came_through_different_servers_are_put_together(
    check: RemoteCheck, shared: SharedEndpoint, tenant: Joined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is too large for one request."""
    monkeypatch.setattr(endpoint_remote, "PART", 700)
    monkeypatch.setattr(
        endpoint_remote.EndpointRemote,
        "_limit",
        lambda self, name, otherwise: 0 if name == "direct_bytes" else otherwise,
    )
    run(check, tenant, tmp_path)
