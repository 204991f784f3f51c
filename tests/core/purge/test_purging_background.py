"""Background work drops nothing that must stay, with any settings (AIMEM §5.1): preferences, decisions, identity,
pitfalls, procedures, and pinned memories. What a user forgot stays forgotten, and can come back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.memory import memory_records as alf_records
from lifeboat_core.memories import edit_records
from lifeboat_core.memories.memory_search import search_memories
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.sealed import log_compaction
from lifeboat_core.remotes.vault_bundles import VaultBundleSource
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import tenant_care
from lifeboat_vault.vault import Retention
from support.core.machines import Machine, there
from support.core.purged import TEXT, purge, request
from support.core.replicated import Replicated, in_this_process

NOTHING = Retention(0, 0, 0)
"""Settings that keep as little as possible."""


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return an agent with a pinned memory, a preference, a forgotten memory and an ordinary one, whose files lost the
    first two many days ago."""
    machine = Machine(tmp_path / "laptop")
    machine.write("MEMORY.md", memory("Pinned", "Preference", "Forgotten", "Common", TEXT))
    machine.write("USER.md", "# User\n\nPrefers short answers.\n")
    machine.add(name="ada")
    edit_records.pin_records(machine.context, machine.known_agent, [id_of(machine, "Pinned")])
    edit_records.forget_records(machine.context, machine.known_agent, [id_of(machine, "Forgotten")])
    for day in range(6):
        machine.clock.advance(days=9)
        machine.write("notes/day.txt", f"day {day}\n")
        if day == 3:
            machine.write("MEMORY.md", memory("Forgotten", "Common", TEXT))
        machine.capture()
    return machine


def memory(*words: str) -> str:
    return "# Memory\n" + "".join(f"\n## Of {word.split()[0]}\n\n{word} is said here.\n" for word in words)


def id_of(ada: Machine, word: str) -> str:
    return next(str(record["id"]) for record in ada.records() if f"{word} is said" in record["content"])


def held(ada: Machine) -> dict[str, str]:
    """Return {id: status} of what only the user may drop, at the head."""
    return {one["id"]: one["status"] for one in ada.records() if alf_records.is_kept(one)}


def thinned(ada: Machine, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run retention here with the smallest settings."""
    with ada.context.vault(ada.agent.id) as vault:
        before, later = len(vault.sequences()), ada.clock.now() + timedelta(days=400)
        while vault.thin(NOTHING, later).dropped:
            pass
        assert len(vault.sequences()) < before
        vault.compact()


def cared_for(ada: Machine, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run the maintenance of an endpoint; then read the agent back from it."""
    agent = Replicated(ada)
    with in_this_process(agent, folder / "endpoint", patch):
        assert ada.push().state == "ok"
        with Endpoint.open(folder / "endpoint") as endpoint:
            for tenant in endpoint.control.tenants():
                tenant_care.look_after(endpoint, tenant)
                tenant_care.compact_tenant(endpoint, tenant)
        back_from_there(ada)


def kept_small(ada: Machine, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Rewrite a sealed log so that it stays small; then read the agent back from it."""
    patch.setattr(log_compaction, "MANY", 2)
    (folder / "stick").mkdir()
    ada.add_remote("home", (folder / "stick").as_uri(), sealed=True)
    assert ada.push().state == "ok"
    ada.write("notes/day.txt", "one more\n")
    assert ada.capture_and_push().state == "ok"
    with ada.context.vault(ada.agent.id) as vault:
        log = open_remote(ada.context, ada.remote())
        log.compact(ada.agent.id, VaultBundleSource(vault, None))  # type: ignore[attr-defined]
        log.close()
    back_from_there(ada)


def purged_of_another(ada: Machine, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Purge something else."""
    purge(ada, request())


def back_from_there(ada: Machine) -> None:
    assert held(ada).keys() <= there(ada.context, ada.remote(), ada.agent.id).keys()


WORKS = [thinned, cared_for, kept_small, purged_of_another]


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_what_must_not_go_is_dropped_by_no_background_work(
    ada: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[..., None]
) -> None:
    before = held(ada)
    pinned = id_of(ada, "Pinned")
    assert before[pinned] == "archived"
    assert len(before) >= 2
    work(ada, tmp_path, monkeypatch)
    assert held(ada) == before
    ada.capture()
    assert held(ada) == before


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_what_was_forgotten_stays_so_and_can_come_back(
    ada: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[..., None]
) -> None:
    forgotten = id_of(ada, "Forgotten")
    work(ada, tmp_path, monkeypatch)
    ada.capture()
    assert search_memories(ada.context, ada.agent, "Forgotten") == []
    edit_records.restore_records(ada.context, ada.known_agent, [forgotten])
    assert len(search_memories(ada.context, ada.agent, "Forgotten")) == 1


def test_a_user_purges_what_is_pinned(ada: Machine) -> None:
    pinned = id_of(ada, "Pinned")
    purge(ada, request(text=None, records=[pinned]))
    assert pinned not in held(ada)
