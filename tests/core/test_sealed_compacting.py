"""A sealed log stays small: what was thinned here goes there too, and every kept state restores as before."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.remotes.sealed import log_compaction, log_contents
from lifeboat_core.remotes.sealed.log_compaction import PlannedBundle, is_snapshot_due, plan_compaction
from lifeboat_core.remotes.sealed.log_head import FileReference, LogGrowth, LogRow
from lifeboat_core.remotes.vault_bundles import VaultBundleSource
from lifeboat_vault.errors import UnknownAtRemote
from lifeboat_vault.vault import Retention, draft_of_state
from support.core.protected import SteadyClock
from support.core.sealed_logs import CONTENT, Machine, content_there
from support.killing import killed_at


class Thinned(VaultBundleSource):
    """The vault's states, but for those that count as thinned."""

    numbers_here: frozenset[int]
    numbers_gone: frozenset[int]

    def numbers(self) -> Collection[int]:
        return self.numbers_here

    def gone(self) -> Collection[int]:
        return self.numbers_gone

    def write(self, number: int, on: int | None, out: BinaryIO) -> None:
        assert {number, on} - {None} <= self.numbers_here
        super().write(number, on, out)


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(log_compaction, "MANY", 4)
    monkeypatch.setattr(log_compaction, "_SHARE", 1000)
    return Machine(tmp_path / "laptop", tmp_path / "stick")


def compacted(machine: Machine, keep: set[int], here: set[int] | None = None) -> bool:
    with machine.vault() as vault:
        material = Thinned(vault, None)
        material.numbers_here = frozenset(keep if here is None else here)
        material.numbers_gone = frozenset(super(Thinned, material).numbers()) - keep
        return machine.log().compact(AGENT_ID, material)


def test_what_the_settings_let_go_here_goes_there_and_nothing_else(laptop: Machine) -> None:
    laptop.write(6)
    with laptop.vault() as vault:
        report = vault.thin(Retention(0, 0, 0), laptop.context.clock.now() + timedelta(days=40))
        assert laptop.log().compact(AGENT_ID, VaultBundleSource(vault, None))
        numbers = [row.number for row in vault.sequences()]
    assert report.dropped
    assert [each.number for each in laptop.log().sequences(AGENT_ID)] == numbers
    for number in numbers:
        assert content_there(laptop.log(), number) == laptop.content(number)


def test_what_this_machine_never_had_stays(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(5)
    newcomer = Machine(tmp_path / "newcomer", laptop.stick, key=laptop.key)
    newcomer.vault().close()
    with newcomer.vault() as vault, SnapshotReader(laptop.log().snapshot(AGENT_ID).file) as state:
        vault.accept(state.sequence, draft_of_state(state), kind="pull", writer="", raw_time=state.sequence.time)
        assert newcomer.log().compact(AGENT_ID, VaultBundleSource(vault, None))
    assert [each.number for each in laptop.log().sequences(AGENT_ID)] == [0, 1, 2, 3, 4]


def test_what_was_thinned_goes_and_what_is_kept_restores(laptop: Machine) -> None:
    laptop.write(8)
    keep = {2, 4, 5, 7}
    assert compacted(laptop, keep)
    log = laptop.log()
    assert {each.number for each in log.sequences(AGENT_ID)} == keep
    for number in keep:
        assert content_there(log, number) == laptop.content(number)
    assert [(each.base, each.number) for each in log.deltas(AGENT_ID, 2)] == [(2, 4), (4, 5), (5, 7)]


def test_a_state_that_became_part_of_a_merged_delta_is_not_there(laptop: Machine) -> None:
    laptop.write(6)
    compacted(laptop, {2, 5})
    with pytest.raises(UnknownAtRemote):
        list(laptop.log().deltas(AGENT_ID, 3))


def test_what_this_machine_cannot_make_stays_with_all_it_rests_on(laptop: Machine) -> None:
    laptop.write(8)
    assert compacted(laptop, {2, 5, 7}, here={5, 7})
    log = laptop.log()
    assert [each.number for each in log.sequences(AGENT_ID)] == [0, 1, 2, 3, 4, 5, 7]
    for number in (2, 5, 7):
        assert content_there(log, number) == laptop.content(number)


def test_a_push_goes_on_after_a_compaction(laptop: Machine) -> None:
    laptop.write(6)
    compacted(laptop, {0, 5})
    assert laptop.write(1) == [6]
    assert content_there(laptop.log(), 6) == laptop.content(6)
    assert not laptop.log().needs_compaction(AGENT_ID)


def test_a_compaction_is_wanted_after_many_deltas_and_not_again_at_once(laptop: Machine) -> None:
    laptop.write(4)
    assert not laptop.log().needs_compaction(AGENT_ID)
    laptop.write(1)
    assert laptop.log().needs_compaction(AGENT_ID)
    compacted(laptop, set(range(5)))
    assert not laptop.log().needs_compaction(AGENT_ID)


def test_files_that_nothing_names_any_more_go_after_a_day(laptop: Machine) -> None:
    laptop.write(6)
    for path in laptop.agent_folder.glob("0*"):
        os.utime(path, (path.stat().st_mtime - 90000,) * 2)
    compacted(laptop, {0, 5})
    assert len(list(laptop.agent_folder.glob("0*"))) == 3
    assert content_there(laptop.log(), 0) == laptop.content(0)


@pytest.mark.parametrize("moves", [False, True], ids=["the head stays", "the head moves"])
def test_a_push_that_slept_for_a_day_writes_its_file_again(
    laptop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    laptop.write(6)
    desktop = Machine(tmp_path / "desktop", tmp_path / "stick", key=laptop.key)
    clock = laptop.context.clock
    assert isinstance(clock, SteadyClock)

    def sleep(step: CrashPoint) -> None:
        if step is CrashPoint.SEALED_HEAD_REPLACED:
            monkeypatch.setattr(crash_points, "hook", None)
            clock.sleep(hours=25)
            for path in laptop.agent_folder.glob("0*"):
                os.utime(path, (path.stat().st_mtime - 90000,) * 2)
            if moves:
                desktop.log().put_keys(AGENT_ID, {"agent": "keys of a test"})
            assert desktop.log().sweep(AGENT_ID) == 1

    laptop.put(CONTENT + b"written before the lid was closed\n")
    monkeypatch.setattr(crash_points, "hook", sleep)
    number = laptop.push()
    assert content_there(laptop.log()) == laptop.content(number)


@pytest.mark.parametrize(
    ("step", "nth"),
    [(CrashPoint.SEALED_FILE_WRITTEN, 2), (CrashPoint.SEALED_HEAD_REPLACED, 1), (CrashPoint.SEALED_SWEPT, 1)],
)
def test_a_compaction_that_was_killed_loses_nothing(laptop: Machine, step: CrashPoint, nth: int) -> None:
    laptop.write(6)
    assert killed_at(lambda: compacted(laptop, {1, 3, 5}), step, nth)
    for number in (1, 3, 5):
        assert content_there(laptop.log(), number) == laptop.content(number)
    assert compacted(laptop, {1, 3, 5})
    assert {each.number for each in laptop.log().sequences(AGENT_ID)} == {1, 3, 5}


def test_a_compaction_meets_another_machine_that_wrote(laptop: Machine) -> None:
    laptop.write(5)

    class Interrupting(VaultBundleSource):
        def gone(self) -> Collection[int]:
            return {1, 2, 3}

        def write(self, number: int, on: int | None, out: BinaryIO) -> None:
            super().write(number, on, out)
            if on is not None:
                laptop.log().raise_epoch(AGENT_ID, laptop.log().agent(AGENT_ID).epoch)

    with laptop.vault() as vault:
        assert not laptop.log().compact(AGENT_ID, Interrupting(vault, None))
    assert [each.number for each in laptop.log().sequences(AGENT_ID)] == list(range(5))


def test_rows_that_were_moved_out_of_the_head_are_thinned_too(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_contents, "SEGMENT", 2)
    laptop.write(10)
    keep = {0, 1, 2, 3, 6, 9}
    compacted(laptop, keep)
    assert {each.number for each in laptop.log().sequences(AGENT_ID)} == keep
    for number in keep:
        assert content_there(laptop.log(), number) == laptop.content(number)


# Plans ----------------------------------------------------------------------------------------------------------


def row(number: int, on: int | None, size: int = 10) -> LogRow:
    stored = FileReference(f"{number}-{on}", size, "0" * 64)
    return LogRow(number, on, on, 1, "2026-11-20T12:00:00.000Z", "00" * 32, stored)


LOG = [row(0, None, 100), *(row(number, number - 1) for number in range(1, 10))]


def test_nothing_is_made_where_everything_is_kept() -> None:
    assert plan_compaction(LOG, [], range(10), with_snapshot=False) == LOG


def test_a_new_snapshot_stands_behind_the_newest_delta() -> None:
    assert plan_compaction(LOG, [], range(10), with_snapshot=True) == [*LOG, PlannedBundle(9, None)]


def test_the_newest_state_stays_whatever_goes() -> None:
    assert plan_compaction(LOG, range(10), range(10), with_snapshot=False) == [PlannedBundle(9, None)]


def test_a_snapshot_between_stays_while_it_spares_more_than_it_takes() -> None:
    light, heavy = row(4, None, 20), row(4, None, 100)
    for between, stays in ((light, True), (heavy, False)):
        log = [*LOG[:5], between, *LOG[5:], row(9, None, 50)]
        assert (between in plan_compaction(log, [], range(10), with_snapshot=False)) is stays


@pytest.mark.parametrize(
    ("grown", "due"),
    [
        (LogGrowth(3, 3000, 100_000), False),
        (LogGrowth(64, 3000, 100_000), False),
        (LogGrowth(64, 13_000, 100_000), True),
        (LogGrowth(2, 100_000, 100_000), False),
        (LogGrowth(2, 2 << 20, 2 << 20), True),
        (LogGrowth(1024, 3000, 100_000_000), True),
    ],
)
def test_a_snapshot_pays_by_what_came_since_the_last(grown: LogGrowth, due: bool) -> None:
    assert is_snapshot_due(grown) is due
