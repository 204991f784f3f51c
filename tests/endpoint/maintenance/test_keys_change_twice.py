"""Rotation of data keys while other processes seal data: no key is destroyed that is still used."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.maintenance.tenant_care import compact_tenant
from lifeboat_endpoint.service.tenant_space import TenantSpace
from support.endpoint.keeping import AGENT, CANARY, OTHER, new_endpoint, with_history

NOTE = "raw/openclaw/MEMORY.md"


@pytest.mark.parametrize("scope", ["tenant", "agent"])
def test_a_key_that_is_replaced_while_the_one_before_it_goes_stays(
    tmp_path: Path, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_endpoint(tmp_path, key_scope=scope) as endpoint:
        tenant = endpoint.add_tenant("home")
        for agent_id in (AGENT, OTHER):
            with_history(endpoint, tenant, agent_id)
        first = endpoint.keys(tenant.id).ids()
        data_key_rotation.rotate_keys(endpoint, tenant)
        reseal, passes = TenantSpace.reseal, iter(("first", "second"))

        def resealed(space: TenantSpace) -> None:
            reseal(space)
            if next(passes) == "second":
                data_key_rotation.rotate_keys(endpoint, tenant)  # by another process

        monkeypatch.setattr(TenantSpace, "reseal", resealed)
        care = compact_tenant(endpoint, tenant)
        assert (care.problems, sorted(care.destroyed)) == ([], sorted(first))
        endpoint.forget(tenant.id)
        assert verify_endpoint(endpoint, [tenant]).findings == []
        assert endpoint.space(tenant.id).read(AGENT, 0, [NOTE], [])[0] == CANARY + b"- hour 0\n"


def test_an_agent_whose_key_is_replaced_twice_at_once_keeps_the_one_that_seals_it(tmp_path: Path) -> None:
    with new_endpoint(tmp_path, key_scope="agent") as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        keys, space = endpoint.keys(tenant.id), endpoint.space(tenant.id)
        first = keys.current(AGENT)
        mine = keys.renew(AGENT)
        with space.vault(AGENT) as vault:
            vault.reseal(keys.sealer(AGENT))
        others = keys.renew(AGENT)  # another purge begins before this one destroys keys
        assert keys.destroy_older(AGENT, than=mine) == [first]
        endpoint.forget(tenant.id)
        endpoint.space(tenant.id).reseal_agent(AGENT)
        assert endpoint.keys(tenant.id).destroy_older(AGENT, than=others) == [mine]
        assert endpoint.space(tenant.id).read(AGENT, 0, [NOTE], [])[0] == CANARY + b"- hour 0\n"
