"""Purges of agents at an endpoint, for tests: machines with records to name, and redactions that they sign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lifeboat_alf.common import ids
from lifeboat_alf.redaction.redactions import RECORDS, WHOLE_AGENT, Redaction
from lifeboat_alf.states.agent_state import Record
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.remote.checks.remote_trial import NAME, TrialMachine
from lifeboat_vault.vault import Vault

NOW = "2026-11-20T12:00:00.000Z"


def machine_in(folder: Path, user: UserKey | None = None) -> TrialMachine:
    """Return a machine with an empty vault of a new agent."""
    agent_id = ids.make_id(NOW)
    vault = Vault.create(folder / f"vault-{agent_id}", agent_id)
    return TrialMachine(agent_id, vault, DeviceKey.generate(user or UserKey.generate()), "laptop")


def pushed(space: TenantSpace, machine: TrialMachine, captures: int = 2, runtime: str = "openclaw") -> TrialMachine:
    """Register and push a machine: one sequence as a snapshot and the others as deltas."""
    space.register(machine.agent_id, NAME, runtime)
    machine.capture()
    space.push(machine.agent_id, machine.snapshot())
    for base in range(captures - 1):
        machine.capture()
        space.push(machine.agent_id, machine.delta(base))
    return machine


def record_of(machine: TrialMachine, number: int) -> Record:
    """Return a record that the sequence `number` has first."""
    before = {record.id for record in machine.vault.state(number - 1).records()} if number else set()
    return next(record for record in machine.vault.state(number).records() if record.id not in before)


def redaction_of(machine: TrialMachine, *records: Record, device: DeviceKey | None = None, **changed: Any) -> Redaction:
    """Sign a redaction of some whole records."""
    named = {record.id for record in records}
    leaves = {item.leaf.digest: None for item in machine.vault.history() if item.record_id in named}
    made = Redaction(
        id=ids.make_id(NOW),
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
    return redaction_signatures.sign_redaction(replace(made, **changed), device or machine.device)


def erasing(machine: TrialMachine, **changed: Any) -> Redaction:
    """Sign a redaction of the whole agent."""
    return redaction_of(machine, scope=WHOLE_AGENT, **changed)
