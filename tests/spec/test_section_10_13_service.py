"""ALF §10.13.1 to 5 at a whole service, whose own compaction ran: what it stores is read past the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_endpoint.maintenance.tenant_care import TenantCare, compact_tenant
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.at_rest.sealer import Sealer, key_id_of
from lifeboat_vault.errors import KeyRevoked
from lifeboat_vault.vault import Draft, EntryPut
from spec.test_section_10_13 import CONTENT, NOISE, SEALED_PARTITION, everything_kept, opens_nothing
from support.endpoint.keeping import AGENT, OTHER, RunningClock, new_endpoint, tenant_folder
from support.vault.vaults import START, commit, content_of, create

LARGE = "artifacts/scan.bin"
HOURS = 3
Stored = list[tuple[str, bytes]]


@pytest.fixture(params=["tenant", "agent"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Endpoint]:
    """Return a service with one key for each tenant, or for each agent."""
    with new_endpoint(tmp_path, clock=RunningClock(), key_scope=request.param) as made:
        yield made


def _fill(service: Endpoint, tenant: Tenant, agent_id: str = AGENT) -> None:
    """Give an agent a sealed partition, an open one and a large file, in some states of which the first may go."""
    space = service.space(tenant.id)
    space.register(agent_id, "Juniper", "openclaw")
    space.put_keys(agent_id, {"agent": agent_id})
    with space.vault(agent_id) as vault:
        old = create(CONTENT)._replace(partition=SEALED_PARTITION)
        entries = {"identity.json": EntryPut({}, b'{"names": ["Ada of the knee"]}'), LARGE: EntryPut({}, NOISE)}
        commit(vault, Draft(entries, [old, create("The knee is better.")]), START)
        for hour in range(1, HOURS + 1):
            body = CONTENT.encode() * 30 + b"%d" % hour
            commit(vault, Draft({"raw/openclaw/MEMORY.md": EntryPut({}, body)}), START.replace(hour=START.hour + hour))


def _compact_later(service: Endpoint, tenant: Tenant) -> TenantCare:
    """Run the service's compaction when the first states are old enough to go."""
    service.clock.advance(days=40)  # type: ignore[attr-defined]
    return compact_tenant(service, tenant)


def _stored(service: Endpoint, tenant: Tenant, agent_id: str = AGENT) -> Stored:
    """Return all sealed bodies and salts of an agent, past the service."""
    with service.space(tenant.id).vault(agent_id) as vault:
        return list(everything_kept(tenant_folder(service, tenant.id) / "agents" / agent_id, vault))


def _content(service: Endpoint, tenant: Tenant, agent_id: str = AGENT) -> Any:
    with service.space(tenant.id).vault(agent_id) as vault:
        return content_of(vault.state())


def test_after_a_compaction_the_key_of_one_tenant_opens_nothing_of_another(service: Endpoint) -> None:
    mine, theirs = service.add_tenant("home"), service.add_tenant("office")
    for tenant in (mine, theirs):
        _fill(service, tenant)
        assert _compact_later(service, tenant).problems == []
    keys = service.keys(mine.id)
    for agent_id in (AGENT, OTHER, None):
        assert opens_nothing(keys.sealer(agent_id), _stored(service, theirs))


def test_after_a_compaction_the_storage_holds_ciphertext(service: Endpoint) -> None:
    tenant = service.add_tenant("home")
    _fill(service, tenant)
    assert _compact_later(service, tenant).agents[AGENT].sequences > 0, "the compaction had something to do"
    files = {path: path.read_bytes() for path in service.folder.rglob("*") if path.is_file()}
    assert {path.name for path in files} >= {"vault.db", "control.db"}
    words = [b"doctor", b"knee", b"MEMORY.md", b"identity.json", b"2025-Q1", b'"content"', NOISE[:64]]
    assert [(word, path.name) for word in words for path, data in files.items() if word in data] == []


def test_after_a_rotation_the_compaction_puts_everything_under_the_new_key(service: Endpoint) -> None:
    """Sealed partitions too; the old key is destroyed, and opens nothing that is stored."""
    tenant = service.add_tenant("home")
    for agent_id in (AGENT, OTHER):
        _fill(service, tenant, agent_id)
    keys = service.keys(tenant.id)
    old: dict[str, Sealer] = {agent_id: keys.sealer(agent_id) for agent_id in (AGENT, OTHER)}
    before = {agent_id: _content(service, tenant, agent_id) for agent_id in old}
    older = keys.ids()
    data_key_rotation.rotate_keys(service, tenant)
    care = _compact_later(service, tenant)
    assert (care.problems, sorted(care.destroyed)) == ([], sorted(older))
    assert {sealer.key_id for sealer in old.values()} <= set(older)
    for agent_id, sealer in old.items():
        stored = _stored(service, tenant, agent_id)
        assert {key_id_of(sealed) for _, sealed in stored} == {keys.sealer(agent_id).key_id} != {sealer.key_id}
        assert opens_nothing(sealer, stored)
        assert _content(service, tenant, agent_id) == before[agent_id]
        with service.space(tenant.id).vault(agent_id) as vault:
            assert any(record.partition == SEALED_PARTITION for record in vault.state().records())


def test_a_compaction_keeps_each_agent_under_its_own_key_where_it_is_so_configured(service: Endpoint) -> None:
    tenant = service.add_tenant("home")
    for agent_id in (AGENT, OTHER):
        _fill(service, tenant, agent_id)
    data_key_rotation.rotate_keys(service, tenant)
    assert _compact_later(service, tenant).problems == []
    ids = {
        agent_id: {key_id_of(sealed) for _, sealed in _stored(service, tenant, agent_id)} for agent_id in (AGENT, OTHER)
    }
    assert [len(each) for each in ids.values()] == [1, 1]
    assert (ids[AGENT] != ids[OTHER]) == (service.settings.key_scope == "agent")
    if service.settings.key_scope == "agent":
        assert opens_nothing(service.keys(tenant.id).sealer(OTHER), _stored(service, tenant, AGENT))


def test_a_customer_who_takes_the_key_away_makes_reads_and_compactions_fail(service: Endpoint, tmp_path: Path) -> None:
    """No other machine notices; with the key everything is there again."""
    customer = tmp_path / "customer.key"
    mine, theirs = service.add_tenant("home", key_source=f"file:{customer}"), service.add_tenant("office")
    for tenant in (mine, theirs):
        _fill(service, tenant)
    before = _content(service, mine)
    customer.rename(tmp_path / "revoked.key")
    service.clock.advance(days=1)  # type: ignore[attr-defined]
    space = service.space(mine.id)
    reads: list[Callable[[], object]] = [
        lambda: _content(service, mine),
        lambda: space.read(AGENT, 0, ["identity.json"], []),
        lambda: space.keys(AGENT),
        space.agents,
    ]
    for read in reads:
        with pytest.raises(KeyRevoked):
            read()
    care = compact_tenant(service, mine)
    assert care.destroyed == [] and any("key" in problem for problem in care.problems)
    assert compact_tenant(service, theirs).problems == []
    assert len(_content(service, theirs)[1]) == 2
    (tmp_path / "revoked.key").rename(customer)
    assert _content(service, mine) == before
