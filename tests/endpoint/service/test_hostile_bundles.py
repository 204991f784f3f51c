"""Randomly changed bundles are refused with a reason, or are the signed sequence."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_vault.errors import RemoteError
from lifeboat_vault.remote.checks.remote_trial import RemoteTrial, TrialMachine, make_bundle
from lifeboat_vault.remote.checks.tampering_checks import Files, tamper_with
from lifeboat_vault.remote.remote_contract import RemoteBundle
from support.endpoint.spaces import trial

__all__ = ["trial"]

ROUNDS = 60
PARTITION = "memory/partitions/2026-Q4.jsonl"
ODD: list[Any] = [None, True, -1, 0, 2**63, 2**70, 1.5, "", "../x", "a" * 5000, [], {}, [[]], {"a": 1}, "0" * 64]
ODD += [[[PARTITION, 2**66, 1]], [[PARTITION, 0, 10**9]], "raw/openclaw/SOUL", PARTITION]


def _mutated(value: Any, chance: random.Random) -> Any:
    """Return the same JSON value with one place changed."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if chance.random() < 0.1:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _mutated(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        place = chance.randrange(len(value))
        if chance.random() < 0.15:
            return [*value, value[place]]
        return [*value[:place], _mutated(value[place], chance), *value[place + 1 :]]
    return chance.choice(ODD)


def _mutating(chance: random.Random) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        name = chance.choice(list(files))
        data = files[name]
        lines = data.split(b"\n") if name.endswith(".jsonl") else [data]
        if name.endswith((".json", ".jsonl")) and chance.random() < 0.9:
            place = chance.randrange(len(lines))
            changed = _mutated(json.loads(lines[place] or b"{}"), chance)
            files[name] = b"\n".join([*lines[:place], json.dumps(changed).encode(), *lines[place + 1 :]])
        elif chance.random() < 0.4:
            del files[name]
        else:
            files[name] = data[: chance.randrange(len(data) + 1)]

    return change


def _hostile(data: bytes, true: RemoteBundle, chance: random.Random) -> RemoteBundle | None:
    """Return a changed bundle, None if it could not be packed."""
    if chance.random() < 0.25:
        changed = bytearray(data)
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        return make_bundle(true.kind, true.number, true.base, bytes(changed))
    try:
        return tamper_with(make_bundle(true.kind, true.number, true.base, data), _mutating(chance))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _attack(trial: RemoteTrial, machine: TrialMachine, true: RemoteBundle, chance: random.Random) -> None:
    """Send bundles until one of them is accepted."""
    with true.file:
        data = true.file.read()
    for _ in range(ROUNDS):
        sent = _hostile(data, true, chance)
        if sent is None:
            continue
        with contextlib.suppress(RemoteError):
            machine.push(trial.remote, sent)
            return


@pytest.mark.parametrize("seed", range(3))
def test_a_changed_delta_is_refused_or_is_what_was_signed(trial: RemoteTrial, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(3):
        machine = trial.machine()
        machine.begin(trial.remote)
        machine.capture(raw__openclaw__SOUL=b"Be kind.\n" * 30)
        _attack(trial, machine, machine.delta(0), chance)
        with trial.remote.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
            reader.check()
            assert reader.sequence == machine.vault.state(reader.sequence.number).sequence


@pytest.mark.parametrize("seed", range(3))
def test_a_changed_snapshot_is_refused_or_a_state_that_can_be_read(trial: RemoteTrial, seed: int) -> None:
    """A snapshot without its signature is accepted as that of a client that signs nothing."""
    chance = random.Random(seed)
    for _ in range(3):
        machine = trial.machine()
        machine.capture(raw__openclaw__SOUL=b"Be kind.\n" * 30)
        _attack(trial, machine, machine.snapshot(), chance)
        if trial.remote.agent(machine.agent_id).head is None:
            continue
        with trial.remote.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
            reader.check()
            if reader.sequence.signature is not None:
                assert reader.sequence == machine.vault.state().sequence
