"""Rows of a shared database are lost: the machine that has them sends them again, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from support.core.machines import Machine, there
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, living

PLACE = "place = (select number from lifeboat_vault.place where tenant = $${tenant}$$ and agent = $${agent}$$)"
RECORDS = "delete from lifeboat_vault.record where {place} and first >= 1"
POSITIONS = "update lifeboat_vault.record set position = position + 50 where {place}"
LINES = """update lifeboat_vault.object set body = null
    where {place} and id in (select object from lifeboat_vault.record where {place})"""
ENTRIES = "delete from lifeboat_vault.entry where {place} and first in (0, 2)"
EVERY_RECORD = "delete from lifeboat_vault.record where {place}"


@pytest.mark.parametrize("statements", [(RECORDS,), (POSITIONS,), (LINES,), (ENTRIES, EVERY_RECORD)])
def test_rows_that_a_shared_database_lost_come_back_with_the_next_contact(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path, statements: tuple[str, ...]
) -> None:
    agent = living(tmp_path / "laptop", tenant)
    machine = agent.machine
    for number in range(1, 5):
        machine.write("MEMORY.md", f"# Facts\n\n- Fact {number}.\n- Fact {number + 1}.\n")
        machine.clock.advance(hours=2)
        assert machine.capture_and_push().state == "ok"
    place = PLACE.format(tenant=tenant.tenant.id, agent=machine.agent.id)
    for statement in statements:
        shared.database.run(statement.format(place=place), name="lifeboat")
    assert not verify_endpoint(shared.endpoint, [tenant.tenant]).ok
    outcome = machine.push()
    assert outcome.state == "ok", outcome
    a_tenant_is_whole(shared, tenant.tenant)
    assert verify_endpoint(shared.endpoint, [tenant.tenant]).findings == []
    clean = Machine(tmp_path / "clean")
    clean.learn_words_of(machine)
    clean.add_remote("home", tenant.url, token=tenant.token)
    with shared.endpoint.space(tenant.tenant.id).vault(machine.agent.id) as vault:
        kept = [row.number for row in vault.sequences()]
    assert len(kept) >= 4
    for number in kept:
        assert there(clean.context, clean.remote(), machine.agent.id, number) == machine.entries_at(number)
