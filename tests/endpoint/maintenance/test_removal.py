"""A removed tenant is gone for good, wherever the removal was interrupted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import periodic_maintenance, tenant_removal
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_vault import errors
from support.endpoint.keeping import AGENT, new_endpoint, tenant_folder, with_history
from support.killing import killed_at

STEPS = (
    CrashPoint.TENANT_MARKED,
    CrashPoint.TENANT_KEYS_DESTROYED,
    CrashPoint.TENANT_FILES_REMOVED,
    CrashPoint.TENANT_ROWS_REMOVED,
)


def test_nothing_of_a_removed_tenant_is_left_but_the_audit(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        gone, stays = endpoint.add_tenant("office"), endpoint.add_tenant("home")
        for tenant in (gone, stays):
            with_history(endpoint, tenant)
            endpoint.control.add_token(tenant.id, "laptop", ["push"])
        assert tenant_removal.remove_tenant(endpoint, gone.id) > 50_000
        assert not tenant_folder(endpoint, gone.id).exists()
        assert [token.tenant_id for token in endpoint.control.tokens()] == [stays.id]
        with pytest.raises(errors.UnknownTenant):
            endpoint.space(gone.id)
        assert endpoint.space(stays.id).agent_ids() == [AGENT] and verify_endpoint(endpoint, [stays]).ok
        about = [row.kind for row in endpoint.control.audit_rows() if row.subject == gone.id]
    assert about == ["tenant.add", "tenant.removing", "tenant.removed"]


def test_the_name_of_a_removed_tenant_is_free_again(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        first = endpoint.add_tenant("home")
        tenant_removal.remove_tenant(endpoint, first.id)
        assert endpoint.add_tenant("home").id != first.id


def test_a_server_that_has_the_tenant_open_serves_nothing_of_it_any_more(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        _, secret = endpoint.control.add_token(tenant.id, "laptop", ["pull"])
        with Endpoint.open(endpoint.folder, clock=endpoint.clock) as server:
            server.control.authenticate(secret)
            server.space(tenant.id).agents()
            tenant_removal.remove_tenant(endpoint, tenant.id)
            with pytest.raises(errors.RemoteDenied):
                server.control.authenticate(secret)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a fork")
@pytest.mark.parametrize("step", STEPS)
def test_a_removal_that_is_cut_off_lets_nobody_in_and_the_server_finishes_it(tmp_path: Path, step: CrashPoint) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        _, secret = endpoint.control.add_token(tenant.id, "laptop", ["pull"])

    def work() -> None:
        with Endpoint.open(endpoint.folder, clock=endpoint.clock) as other:
            tenant_removal.remove_tenant(other, tenant.id)

    assert killed_at(work, step)
    with Endpoint.open(endpoint.folder, clock=endpoint.clock) as again:
        with pytest.raises(errors.RemoteDenied):
            again.control.authenticate(secret)
        if step is not CrashPoint.TENANT_MARKED:
            assert not (tenant_folder(again, tenant.id) / "keys.json").exists()
        periodic_maintenance.run_due(again, again.clock.now())
        assert again.control.tenants() == [] and not tenant_folder(again, tenant.id).exists()
        assert again.control.check_audit() == []


def test_a_folder_that_belongs_to_no_tenant_goes_after_a_day(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        nobodys = tenant_folder(endpoint, "0190f0a0-0000-7000-8000-0000000000ff")
        nobodys.mkdir()
        (nobodys / "keys.json").write_text("{}")
        now = endpoint.clock.now().timestamp()
        os.utime(nobodys, (now, now))
        assert tenant_removal.remove_unknown_tenants(endpoint) == 0
        os.utime(nobodys, (now - 90_000, now - 90_000))
        assert tenant_removal.remove_unknown_tenants(endpoint) == 1
        assert not nobodys.exists() and tenant_folder(endpoint, tenant.id).exists()


def test_figures_need_no_key(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        (tmp_path / "endpoint.key").unlink()
        taken = endpoint.engine.figures(tenant.id)
    assert taken.agents == 1 and taken.bytes > 50_000
