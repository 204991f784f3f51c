"""Purges of agents at an endpoint, for tests: machines with records to name, redactions that they sign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lifeboat_alf import ids
from lifeboat_alf.redactions import RECORDS, WHOLE_AGENT, Redaction
from lifeboat_alf.state import Record
from lifeboat_endpoint.service.space import TenantSpace
from lifeboat_keys import redacting
from lifeboat_keys.device_key import DeviceKey
from lifeboat_keys.user_key import UserKey
from lifeboat_vault.remote.checks.trial import NAME, Machine
from lifeboat_vault.vault import Vault

NOW = "2026-11-20T12:00:00.000Z"


def machine_in(folder: Path, user: UserKey | None = None) -> Machine:
    """A machine with an empty vault of a new agent."""
    agent_id = ids.new(NOW)
    vault = Vault.create(folder / f"vault-{agent_id}", agent_id)
    return Machine(agent_id, vault, DeviceKey.generate(user or UserKey.generate()), "laptop")


def pushed(space: TenantSpace, machine: Machine, captures: int = 2, runtime: str = "openclaw") -> Machine:
    """Registered and sent, one state as a snapshot and the others as deltas."""
    space.register(machine.agent_id, NAME, runtime)
    machine.capture()
    space.push(machine.agent_id, machine.snapshot())
    for base in range(captures - 1):
        machine.capture()
        space.push(machine.agent_id, machine.delta(base))
    return machine


def record_of(machine: Machine, number: int) -> Record:
    """One that the state `number` has first."""
    before = {record.id for record in machine.vault.state(number - 1).records()} if number else set()
    return next(record for record in machine.vault.state(number).records() if record.id not in before)


def redaction_of(machine: Machine, *records: Record, device: DeviceKey | None = None, **changed: Any) -> Redaction:
    """Of some records, whole; signed."""
    named = {record.id for record in records}
    leaves = {item.leaf.digest: None for item in machine.vault.history() if item.record_id in named}
    made = Redaction(
        id=ids.new(NOW),
        agent_id=machine.agent_id,
        scope=RECORDS,
        reason="user_request",
        requested_at=NOW,
        requested_by="a test",
        record_ids=tuple(sorted(named)),
        partitions_affected=tuple(sorted({record.partition for record in records})),
        searched=tuple(row.number for row in machine.vault.sequences()),
        leaves=leaves,
    )
    return redacting.sign(replace(made, **changed), device or machine.device)


def erasing(machine: Machine, **changed: Any) -> Redaction:
    """Of the whole agent."""
    return redaction_of(machine, scope=WHOLE_AGENT, **changed)
