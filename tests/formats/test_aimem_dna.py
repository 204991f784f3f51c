"""The DNA-class invariant (AIMEM §5.1, assertions 48 and 66 to 68): no background job decays, deletes or supersedes a
preference, a decision, an identity, a pitfall, a procedure, or a pinned memory.

All code that may end a memory is found in the sources and listed here. A new job, or a new place that writes memories,
fails a test until it is listed, and until the properties below cover it if it runs without being asked.
"""

from __future__ import annotations

import ast
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records, partitions, record_lifecycle
from lifeboat_alf.memory.effective_view import effective_records, visible_records
from lifeboat_alf.memory.partitions import Partition, PartitionLedger
from lifeboat_alf.memory.record_lifecycle import RecordContext
from lifeboat_alf.states.agent_state import State
from lifeboat_alf.testing.sample_states import make_record
from lifeboat_core.agents import agent_sync
from lifeboat_core.history import thin_history
from lifeboat_core.memories import edit_records as memory_commands
from lifeboat_daemon.work import operations
from lifeboat_endpoint import maintenance
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import (
    data_key_rotation,
    periodic_maintenance,
    tenant_care,
    tenant_purges,
    tenant_removal,
)
from lifeboat_endpoint.service.memory_import import Additions
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_formats.aimem.convert.bundle_import import plan_import
from lifeboat_formats.aimem.convert.bundle_options import ConsumerOptions
from lifeboat_formats.aimem.convert.existing_memories import index_state
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.vault import Vault
from support.core.harbour import Harbour, harbour
from support.endpoint.keeping import RunningClock, new_endpoint, reopened
from support.endpoint.served_apps import push_delta, served
from support.formats.aimem_bundles import bundle, chunk, document, edge, sealed
from support.formats.aimem_states import open_bundle_bytes
from support.formats.brain_servers import BrainServer, brain, contents
from support.packages import PACKAGES
from support.paths import ROOT

__all__ = ["brain", "served"]

ASKED = "somebody asks for it, each time, by a command or a request"
TRIED = "nobody asks for it: a property below tries it"
PART = "a part of those that are listed"
TEST = "makes data for tests and trials of its own"

WRITERS = {
    "lifeboat_core.capture.sequence_commit": PART,
    "lifeboat_core.capture.memory_capture": TRIED,
    "lifeboat_core.capture.row_matching": TRIED,
    "lifeboat_core.exchange.foreign_state": ASKED,
    "lifeboat_core.exchange.agent_import": ASKED,
    "lifeboat_core.purge.local_redaction": ASKED,
    "lifeboat_core.memories.edit_records": ASKED,
    "lifeboat_core.remotes.pulling": ASKED,
    "lifeboat_core.remotes.redactions.purge_exchange": ASKED,
    "lifeboat_core.remotes.sealed.sealed_log": ASKED,
    "lifeboat_core.restore.memory_rollback": ASKED,
    "lifeboat_core.history.thin_history": TRIED,
    "lifeboat_vault.legacy.legacy_pushes": ASKED,
    "lifeboat_vault.legacy.legacy_memory": PART,
    "lifeboat_endpoint.maintenance.tenant_care": TRIED,
    "lifeboat_endpoint.maintenance.history_thinning": TRIED,
    "lifeboat_vault.remote.checks.purge_checks": TEST,
    "lifeboat_vault.remote.checks.remote_trial": TEST,
    "lifeboat_endpoint.server.routes.redaction_routes": ASKED,
    "lifeboat_endpoint.service.purge.waiting_redactions": ASKED,
    "lifeboat_endpoint.service.purge.tenant_redactions": ASKED,
    "lifeboat_vault.testing.store_conformance": TEST,
    "lifeboat_vault.vault.draft": PART,
}
"""Modules that write or remove memories, and what triggers them. Modules that only pass on a capture or a purge count
as asked: the request is in the signature."""

OPERATIONS = {
    "capture": TRIED,
    "discover": "reads",
    "key": "reads",
    "notify": "reads",
    "ping": "reads",
    "push": "sends what was captured",
    "recover": "finishes a restore or a purge that somebody began",
    "standing": "reads",
    "tell_erased": "tells of purges that somebody asked for",
    "verify": "reads",
    "verify_remote": "reads",
}
"""Everything that the daemon runs by itself in a worker."""

MAINTENANCE = {
    "data_key_rotation": TRIED,
    "endpoint_verification": "reads",
    "history_thinning": TRIED,
    "periodic_maintenance": TRIED,
    "tenant_care": TRIED,
    "tenant_purges": TRIED,
    "tenant_removal": TRIED,
    "trusted_time": "reads",
}
"""Everything that an endpoint runs by itself."""

_OUTSIDE = {"lifeboat_alf", "lifeboat_adapters", "lifeboat_formats", "lifeboat_tui"}
"""Packages without a vault: other packages write the memories that they make."""
_CALLS = {"redact", "thin", "thin_vault", "thin_agent", "thin_history", "drop_old_versions"}
_LIFECYCLE = {
    *("create_record", "edit_record", "delete_record"),
    *("archive_record", "retire_vanished_record", "revive_record"),
}


def _writes(tree: ast.AST) -> bool:
    """Return whether a module puts records, uses the life cycle of records, purges or thins."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "RecordPut":
            return True
        if isinstance(called, ast.Attribute):
            of = called.value.id if isinstance(called.value, ast.Name) else ""
            if called.attr in _CALLS or (of == "record_lifecycle" and called.attr in _LIFECYCLE):
                return True
    return False


def _writers() -> Iterator[str]:
    for folder, package in PACKAGES.items():
        if package not in _OUTSIDE:
            for path in (ROOT / folder / package).rglob("*.py"):
                if _writes(ast.parse(path.read_text())):
                    yield ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)


def test_066_every_place_that_may_end_a_memory_is_listed() -> None:
    assert sorted(_writers()) == sorted(WRITERS)


@pytest.mark.parametrize(
    ("package", "known"), [(operations, OPERATIONS), (maintenance, MAINTENANCE)], ids=["daemon", "endpoint"]
)
def test_066_every_background_job_is_listed(package: Any, known: dict[str, str]) -> None:
    assert {each.name for each in pkgutil.iter_modules(package.__path__)} == known.keys()


# What may become of one memory ----------------------------------------------------------------------------------------

_KINDS = ("fact", "preference", "decision", "identity", "pitfall", "procedure", "episodic", "goal")
_DNA = {"preference", "decision", "identity", "pitfall", "procedure"}


@st.composite
def _records(draw: st.DrawFn) -> JsonObject:
    """Draw a record of any kind, with and without data of another system."""
    made: JsonObject = {
        "id": ids.make_id("2026-04-01T09:30:00.000Z"),
        "content": draw(st.text(min_size=1, max_size=20)),
        "memory_type": draw(st.sampled_from(["semantic", "episodic", "procedural", "preference", "summary", "odd"])),
        "category": draw(st.sampled_from(["", "decision", "identity", "goal", "bad_pattern", "aimem:fact"])),
        "tags": draw(st.lists(st.sampled_from(["pitfall", "tea"]), max_size=2)),
        "status": "active",
        "temporal": {"created_at": "2026-04-01T09:30:00.000Z"},
    }
    if made["memory_type"] != "odd" and draw(st.booleans()):
        foreign = {"memory_type": draw(st.sampled_from(_KINDS)), "is_pinned": draw(st.booleans())}
        made["x_aimem"] = {**foreign, "mapped_from": made["memory_type"]}
    if draw(st.booleans()):
        made[memory_records.PINNED] = True
    return made


@settings(max_examples=100)
@given(_records(), st.booleans())
def test_066_a_kept_memory_that_vanishes_is_archived_with_every_word(record: JsonObject, is_sealed: bool) -> None:
    now = times.parse_time("2026-11-20T12:00:00.000Z")
    old = Partition("memory/partitions/2026-Q2.jsonl", "2026-04-01", "2026-06-30" if is_sealed else None, is_sealed)
    ledger = PartitionLedger([old], now)
    scribe = RecordContext(
        "0190f0a0-0000-7000-8000-0000000000a1", ledger, lambda at, *parts: ids.derive_id(0, repr(parts))
    )
    after = memory_records.parse_record(record_lifecycle.retire_vanished_record(scribe, record, old.file).line)
    foreign = record.get("x_aimem", {})
    is_kept = record.get(memory_records.PINNED) or foreign.get("is_pinned") or foreign.get("memory_type") in _DNA
    is_kept = is_kept or (not foreign and record["memory_type"] in ("preference", "procedural"))
    if is_kept:
        assert (after["status"], after["content"]) == ("archived", record["content"])
    if not memory_records.is_kept(record):
        assert not is_kept
        assert after["status"] == "deleted"
    assert partitions.locate_partition("2026-04-02", ledger.partitions) is not None


# An endpoint's jobs ---------------------------------------------------------------------------------------------------


@dataclass
class Kept:
    """An endpoint with the shortest retention, and an agent of one tenant."""

    endpoint: Endpoint
    tenant: Tenant
    agent: str
    clock: RunningClock

    @property
    def space(self) -> TenantSpace:
        return self.endpoint.space(self.tenant.id)

    def take(self, made: JsonObject) -> None:
        with open_bundle_bytes(document(made)) as found:

            def planned(state: State) -> Additions:
                wanted = plan_import(index_state(state), found, ConsumerOptions(namespace="alf-kept"))
                return Additions(wanted.inserts, wanted.updates, wanted.entries)

            self.space.add_to(self.agent, 0, planned)

    def memories(self) -> dict[str, JsonObject]:
        """What counts now, by the id that it began with."""
        with self.space.vault(self.agent) as vault:
            return {item.chain_ids[0]: item.record for item in effective_records(vault.state())}


def _rotated(kept: Kept) -> None:
    data_key_rotation.rotate_keys(kept.endpoint, kept.tenant)
    tenant_care.compact_tenant(kept.endpoint, kept.tenant)


JOBS: dict[str, Callable[[Kept], Any]] = {
    "thin": lambda kept: tenant_care.look_after(kept.endpoint, kept.tenant),
    "compact": lambda kept: tenant_care.compact_tenant(kept.endpoint, kept.tenant),
    "rotate": _rotated,
    "due": lambda kept: periodic_maintenance.run_due(kept.endpoint, kept.clock.now()),
    "purges": lambda kept: tenant_purges.apply_due_purges(kept.endpoint, kept.endpoint.control.tenants()),
    "removals": lambda kept: (
        tenant_removal.finish_removals(kept.endpoint),
        tenant_removal.remove_unknown_tenants(kept.endpoint),
    ),
    "sweep": lambda kept: kept.space.sweep(kept.clock.now()),
    "recount": lambda kept: kept.space.recount(kept.agent),
}

_TEXTS = st.sampled_from([f"Memory of {word}." for word in ("tea", "rope", "tides", "gulls", "rain")])


@st.composite
def _bundles(draw: st.DrawFn) -> JsonObject:
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True))
    chunks = [
        chunk(
            name,
            draw(_TEXTS),
            memory_type=draw(st.sampled_from(_KINDS)),
            is_pinned=draw(st.booleans()),
            created_at=f"2026-0{draw(st.integers(1, 9))}-01T09:30:00Z",
        )
        for name in names
    ]
    edges = [edge(one, other) for one, other in itertools.pairwise(names)]
    return bundle(chunks=chunks, edges=edges)


@pytest.fixture(scope="module")
def kept_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Endpoint, Tenant, RunningClock]]:
    folder, clock = tmp_path_factory.mktemp("kept"), RunningClock()
    with new_endpoint(folder, clock=clock) as made:
        tenant = made.add_tenant("home")
        with reopened(
            made,
            retention={"all_hours": 1, "hourly_days": 1, "daily_days": 1},
            size_cap={"agent": 1, "tenant": 1},
            large_file_versions=1,
        ) as endpoint:
            yield endpoint, tenant, clock


@settings(max_examples=12)
@given(
    st.lists(_bundles(), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from(sorted(JOBS)), st.integers(0, 400)), min_size=1, max_size=5),
)
def test_066_no_job_of_an_endpoint_changes_what_an_agent_remembers(
    kept_endpoint: tuple[Endpoint, Tenant, RunningClock], bundles: list[JsonObject], jobs: list[tuple[str, int]]
) -> None:
    endpoint, tenant, clock = kept_endpoint
    kept = Kept(endpoint, tenant, ids.make_id(times.to_text(clock.now())), clock)
    kept.space.register(kept.agent, "ada", "aimem")
    for made in bundles:
        kept.take(made)
        clock.advance(days=3)
    before = kept.memories()
    assert before
    for name, days in jobs:
        clock.advance(days=days)
        JOBS[name](kept)
        assert kept.memories() == before, name
    kept.space.remove_agent(kept.agent)


def test_066_the_jobs_that_are_tried_are_all_that_an_endpoint_has() -> None:
    tried = {
        "tenant_care": "thin",
        "periodic_maintenance": "due",
        "history_thinning": "thin",
        "tenant_purges": "purges",
    }
    tried |= {"tenant_removal": "removals", "data_key_rotation": "rotate"}
    assert tried.keys() == {name for name, how in MAINTENANCE.items() if how == TRIED}
    assert set(tried.values()) <= JOBS.keys()


# A machine's jobs -----------------------------------------------------------------------------------------------------


def _remove(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_text("")


def _template(path: Path) -> None:
    path.write_text("# A fresh file\n\nNothing is noted here yet.\n")


def _halve(path: Path) -> None:
    text = path.read_text()
    path.write_text(text[: len(text) // 2].rpartition("\n")[0] + "\n")


ACCIDENTS = {"remove": _remove, "empty": _empty, "template": _template, "halve": _halve}


def _capture(home: Harbour) -> None:
    agent_sync.sync_agent(home.context, home.agent, full=True)


def _thin(home: Harbour) -> None:
    thin_history.apply_retention(home.context, home.agent)
    thin_history.thin_agent(home.context, home.agent, whatever_remotes_need=True)


MACHINE_JOBS: dict[str, Callable[[Harbour], Any]] = {"capture": _capture, "thin": _thin}


def _kept_memories(home: Harbour) -> dict[str, JsonObject]:
    """Return the current memories that are of the DNA class or pinned, by their current id."""
    found = [record for _, record in _chains(home)]
    return {
        each["id"]: each
        for each in found
        if memory_records.is_kept(each) and memory_records.read_record_status(each) == "active"
    }


def _chains(home: Harbour) -> list[tuple[tuple[str, ...], JsonObject]]:
    with home.context.vault(home.agent.id) as vault:
        return [(item.chain_ids, item.record) for item in effective_records(vault.state())]


@settings(max_examples=6)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(ACCIDENTS)),
            st.integers(0, 30),
            st.sampled_from(sorted(MACHINE_JOBS)),
            st.sampled_from([0, 1, 40, 400]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_066_no_job_of_a_machine_lets_go_of_a_kept_memory_whatever_becomes_of_its_files(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str, int]]
) -> None:
    clock = RunningClock()
    home = harbour(tmp_path_factory.mktemp("harbour"), clock)
    before = _kept_memories(home)
    assert len(before) >= 2
    for accident, place, job, days in steps:
        notes = sorted(path for path in home.workspace.rglob("*.md") if path.is_file())
        if notes:
            ACCIDENTS[accident](notes[place % len(notes)])
        clock.advance(days=days)
        _capture(home)
        MACHINE_JOBS[job](home)
        ends = {record_id: last for chain, last in _chains(home) for record_id in chain}
        for record_id, was in before.items():
            last = ends[record_id]
            assert memory_records.read_record_status(last) in ("active", "archived"), (accident, job)
            assert last["content"] == was["content"]


# What is asked for ----------------------------------------------------------------------------------------------------


def test_067_a_kept_memory_goes_when_its_user_says_so(tmp_path: Path) -> None:
    home = harbour(tmp_path)
    record_id = next(iter(_kept_memories(home)))
    memory_commands.forget_records(home.context, home.agent, [record_id])
    assert record_id not in _kept_memories(home)
    (last,) = [last for chain, last in _chains(home) if record_id in chain]
    assert memory_records.is_deleted(last)


def test_067_a_purge_of_a_kept_memory_is_carried_out(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(
        bundle(chunks=[chunk("a", "Likes tea.", memory_type="preference", is_pinned=True), chunk("b", "Rain.")])
    )
    brain.purge(agent, "Likes tea.")
    assert contents(brain.exported(include_history=True)) == {"Rain."}


# What contradicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(_DNA))
@pytest.mark.parametrize("days", [0, 1])
def test_048_a_bundle_does_not_change_a_kept_memory(brain: BrainServer, kind: str, days: int) -> None:
    brain.agent()
    brain.taken(bundle(chunks=[chunk("a", "Likes tea.", memory_type=kind)]))
    other = chunk("a", "Likes coffee.", memory_type=kind, created_at=f"2026-04-0{1 + days}T09:30:00Z")
    summary = brain.taken(bundle(chunks=[other]))
    codes = [each["code"] for each in summary["chunks_rejected_conflict"]]
    assert codes == [["idempotency_conflict", "dna_protected"][days]]
    assert contents(brain.exported(include_history=True)) == {"Likes tea."}


def test_048_with_leave_it_does_and_the_history_keeps_what_was(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(bundle(chunks=[chunk("a", "Likes tea.", memory_type="preference")]))
    other = chunk("a", "Likes coffee.", memory_type="preference", created_at="2026-05-01T00:00:00Z")
    summary = brain.taken(bundle(chunks=[other]), allow_dna_update=True)
    assert (summary["updated"], summary["sequence"]) == (1, 1)
    assert contents(brain.exported()) == {"Likes coffee."}
    with brain.space().vault(agent) as vault:
        assert any(b"Likes tea." in record.line for record in vault.state(0).records())


def test_048_a_pinned_memory_is_kept_whatever_its_type(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(bundle(chunks=[chunk("a", "Rain.", is_pinned=True)]))
    later = chunk("a", "Sun.", created_at="2026-05-01T00:00:00Z")
    summary = brain.taken(sealed({**bundle(), "chunks": [later]}))
    assert [each["code"] for each in summary["chunks_rejected_conflict"]] == ["dna_protected"]
    assert contents(brain.exported()) == {"Rain."}


def test_068_two_machines_that_contradict_each_other_both_keep_what_they_wrote(brain: BrainServer) -> None:
    """The second machine is fenced: it overwrites nothing of the first, and loses nothing of its own."""
    one = brain.served.pushed(brain.client)
    base = one.here.number
    one.vault.copy_to(brain.served.folder / "twin")
    with Vault.open(brain.served.folder / "twin") as vault:
        two = TrialMachine(one.agent_id, vault, one.device, "desktop", one.made)
        for machine, text in ((one, "Likes tea."), (two, "Likes coffee.")):
            made = make_record(
                text, created_at="2026-10-01T08:00:00.000Z", agent_id=one.agent_id, memory_type="preference"
            )
            machine.commit({}, [made])
        assert push_delta(brain.client, one, base).status_code == 201
        assert push_delta(brain.client, two, base).status_code == 409
        with brain.space().vault(one.agent_id) as there:
            assert _texts(there.state()) == _texts(one.vault.state()) >= {"Likes tea."}
        assert "Likes coffee." in _texts(two.vault.state())


def _texts(state: State) -> set[str]:
    return {item.record["content"] for item in visible_records(state)}
