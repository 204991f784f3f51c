"""Somebody with a push token sends a signed state first and says something else of its files, on PostgreSQL and an
object store, over HTTP: the machine that has the files sends them, and a clean machine gets them byte for byte."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from support.core.machines import Machine, there
from support.endpoint.falsified_bundles import FALSIFICATIONS, Falsify, falsified_delta
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, living

FILM = "artifacts/film.bin"
MEMORY = "raw/openclaw/MEMORY.md"


@pytest.mark.parametrize("false", FALSIFICATIONS.values(), ids=FALSIFICATIONS.keys())
def test_what_was_falsified_is_mended_by_the_next_contact(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path, false: Falsify
) -> None:
    machine = living(tmp_path / "laptop", tenant).machine
    assert machine.push().state == "ok"
    machine.write("film.bin", random.Random(1).randbytes(400_000))
    machine.write("MEMORY.md", "# Facts\n\n" + "".join(f"- Fact {number}.\n" for number in range(300)))
    machine.clock.advance(hours=2)
    machine.capture()
    with (
        machine.context.vault(machine.agent.id) as vault,
        contextlib.closing(open_remote(machine.context, machine.remote())) as remote,
    ):
        base, head = vault.sequences()[-2:]
        remote.push(machine.agent.id, falsified_delta(vault, {FILM: false, MEMORY: false}, base.number, head.number))
    assert len(verify_endpoint(shared.endpoint, [tenant.tenant]).absent) == 2
    outcome = machine.push()
    assert outcome.state == "ok", outcome
    found = verify_endpoint(shared.endpoint, [tenant.tenant])
    assert (found.findings, found.absent) == ([], [])
    a_tenant_is_whole(shared, tenant.tenant)
    clean = Machine(tmp_path / "clean")
    clean.learn_words_of(machine)
    clean.add_remote("home", tenant.url, token=tenant.token)
    for number in (base.number, head.number):
        assert there(clean.context, clean.remote(), machine.agent.id, number) == machine.entries_at(number)
