"""After any order of inserts, edits, deletions and lost caches, the vault has the rows of the database."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lifeboat_adapters.zeroclaw.memories import brain_records as rows_of_zeroclaw
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader, write_delta
from lifeboat_alf.memory import memory_records as record_fields
from lifeboat_alf.memory.effective_view import effective_records
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_core.exchange.agent_export import export_agent
from support.adapters.zeroclaw_installs import make_install, packed
from support.core.zeroclaw_protected import ProtectedClaw
from support.vault.vaults import content_of

KEYS = ("tea", "boat", "dog", "ada's")
TEXTS = ("Likes green tea", "The red boat", "The red boat ", "A dog \u2603\x00 called\nRex", "", "x" * 5000)
TIMES = ("2026-11-10T08:00:00+00:00", "2026-08-01T08:00:00.123456789+02:00", "yesterday")
COLUMNS: dict[str, tuple[Any, ...]] = {
    "content": TEXTS,
    "category": ("core", "daily", "conversation", "project"),
    "importance": (0.5, 1, 0.25, None),
    "pinned": (0, 1),
    "superseded_by": (None, "other"),
    "kind": (None, '{"semantic":"preference"}', "nonsense"),
    "embedding": (None, packed(1.0, 2.0), packed(3.0, 4.0)),
    "updated_at": TIMES,
    "session_id": (None, "s-1"),
}

keys, texts = st.sampled_from(KEYS), st.sampled_from(TEXTS)
changes = st.sampled_from([(name, value) for name, values in COLUMNS.items() for value in values])


class Database(RuleBasedStateMachine):
    """Changes of rows between captures. Every capture is compared with the database."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        install = make_install(self.folder / "zeroclaw")
        for key, value in (("provider", "example"), ("model", "example"), ("dimensions", "2")):
            install.execute("insert into memory_meta values (?, ?)", f"embedding_{key}", value)
        self.ada = ProtectedClaw(self.folder, install=install)
        self.number = itertools.count()
        self.clean = False

    @initialize()
    def protect(self) -> None:
        self.ada.add()
        self.clean = True

    @rule(key=keys, text=texts, moment=st.sampled_from(TIMES))
    def insert(self, key: str, text: str, moment: str) -> None:
        if not any(row["key"] == key for row in self.ada.install.rows()):
            number = next(self.number)
            self.ada.install.remember(key, text, id=f"row-{number}", created_at=moment, updated_at=f"now {number}")
            self.clean = False

    @rule(key=keys, change=changes)
    def update(self, key: str, change: tuple[str, Any]) -> None:
        self.ada.install.execute(f"update memories set {change[0]} = ? where key = ?", change[1], key)
        self.clean = False

    @rule(key=keys)
    def give_another_id(self, key: str) -> None:
        self.ada.install.execute("update memories set id = ? where key = ?", f"row-{next(self.number)}", key)
        self.clean = False

    @rule(key=keys, other=keys)
    def rename(self, key: str, other: str) -> None:
        self.ada.install.execute("update or ignore memories set key = ? where key = ?", other, key)
        self.clean = False

    @rule(key=keys)
    def delete(self, key: str) -> None:
        self.ada.install.execute("delete from memories where key = ?", key)
        self.clean = False

    @rule()
    def lose_the_caches(self) -> None:
        self.ada.lose_caches()

    @rule(days=st.sampled_from([1, 20, 60]))
    def time_passes(self, days: int) -> None:
        self.ada.clock.advance(days=days)

    @rule(full=st.booleans())
    def capture(self, full: bool) -> None:
        report = self.ada.capture(full=full)
        assert not report.unread
        self.clean = True

    @precondition(lambda self: self.clean)
    @rule(full=st.booleans(), lost=st.booleans())
    def nothing_more_to_capture(self, full: bool, lost: bool) -> None:
        if lost:
            self.ada.lose_caches()
        report = self.ada.capture(full=full)
        assert (report.records, report.raw) == ({}, {})

    @invariant()
    def each_row_is_one_memory_with_its_text(self) -> None:
        if not self.clean:
            return
        with self.ada.context.vault(self.ada.agent.id) as vault:
            counting = [item.record for item in effective_records(vault.state())]
        live = [one for one in counting if one["status"] in ("active", "superseded") and "raw_source_format" in one]
        held = {rows_of_zeroclaw.row_of_memory(one, one["id"])["id"]: one for one in live}
        assert len(held) == len(live)
        wanted = {row["id"]: row for row in self.ada.install.rows()}
        assert held.keys() == wanted.keys()
        for identity, record in held.items():
            row = wanted[identity]
            assert record["content"] == (row["content"] if row["content"].strip() else row["key"])
            assert (record["status"] == "superseded") == (row["superseded_by"] is not None)
            assert bool(record.get(record_fields.PINNED)) == bool(row["pinned"])

    def teardown(self) -> None:
        with self.ada.context.vault(self.ada.agent.id) as vault:
            assert vault.verify(trusted=self.ada.context.keys().trusted).ok
        self.check_that_deltas_and_a_complete_read_agree()
        shutil.rmtree(self.folder)

    def check_that_deltas_and_a_complete_read_agree(self) -> None:
        whole = self.folder / "whole.alf"
        export_agent(self.ada.context, "zeroclaw", self.ada.install.workspace(), whole)
        first, delta = self.folder / "first.alf", self.folder / "all.alf-delta"
        with self.ada.context.vault(self.ada.agent.id) as vault:
            head = self.ada.head()
            if head == 0:
                return
            with first.open("wb") as out:
                write_snapshot(vault.state(0), out)
            with delta.open("wb") as out:
                write_delta(vault.changes(0, head), out)
        with SnapshotReader(first) as base, DeltaReader(delta) as read, SnapshotReader(whole) as wanted:
            assert content_of(AppliedState(base, read)) == content_of(wanted)


TestDatabase = Database.TestCase
TestDatabase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
