"""`sequence_timeline` and `label`: what is kept, where it was read back, how much happened when, and what is called
how."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent_sync import send_to_remotes
from lifeboat_core.errors import DaemonError, NothingToRestore
from lifeboat_core.health.status_gathering import DAMAGED
from lifeboat_core.history import sequence_timeline
from lifeboat_core.history.sequence_counts import read_counts
from lifeboat_core.history.sequence_timeline import TimelineRequest
from lifeboat_core.memories import edit_records
from lifeboat_core.remotes import acknowledged_states, manage_remotes, remote_verification
from lifeboat_core.remotes.manage_remotes import RemoteAccess
from lifeboat_core.verify import samples_and_drills
from lifeboat_vault.errors import UnknownSequence
from lifeboat_vault.rows import number_runs
from lifeboat_vault.vault import Retention, SequenceRow
from support.alf.raising import raises_code
from support.core.machines import Machine
from support.core.protected import START, Protected


def note(ada: Protected, text: str = "x") -> None:
    ada.write("notes.md", f"# Note\n\n{text} {ada.clock.now()}\n")
    ada.capture()


def entries(ada: Protected, **wanted: Any) -> list[JsonObject]:
    found: list[JsonObject] = sequence_timeline.make_timeline(ada.context, ada.agent, TimelineRequest(**wanted))[
        "entries"
    ]
    return found


def verified(ada: Protected) -> dict[int, list[str]]:
    return {entry["sequence"]: entry["verified"] for entry in entries(ada)}


def row(number: int, base: int | None, time: datetime) -> SequenceRow:
    text = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return SequenceRow(number, base, 1, text, text, "capture", "", b"", None, None, [], {}, 0)


# What is told of a sequence -----------------------------------------------------------------------------------------


def test_an_entry_counts_files_and_memories_and_says_who_asked(ada: Protected) -> None:
    note(ada)
    edit_records.forget_records(ada.context, ada.agent, [next(iter(ada.memories().values()))["id"]])
    by_hand, capture, first = entries(ada)
    assert (capture["files"], capture["trigger"]) == (1, None)
    assert (by_hand["records_changed"], by_hand["files"], by_hand["trigger"]) == (1, 0, "user")
    assert first["files"] >= 2 and first["records_changed"] >= 2


def test_only_what_lies_between_two_times_is_told_and_everything_is_counted(ada: Protected) -> None:
    for _ in range(3):
        ada.clock.advance(minutes=59)
        note(ada)
    assert [one["sequence"] for one in entries(ada, since="2026-11-12T13:00Z", until="2026-11-12T14:30Z")] == [2, 1]
    assert [one["sequence"] for one in entries(ada, since="2026-11-12T13:30Z", limit=1)] == [3]
    assert entries(ada, until="2026-11-12T11:00Z") == []
    assert sequence_timeline.make_timeline(ada.context, ada.agent, TimelineRequest(limit=1))["total"] == 4
    with pytest.raises(NothingToRestore, match="neither a sequence number nor a time"):
        entries(ada, since="yesterday-ish")


# Where it was read back ---------------------------------------------------------------------------------------------


def test_each_sequence_that_was_read_back_here_says_so(ada: Protected) -> None:
    samples_and_drills.sample_vault(ada.context, ada.agent)
    note(ada)
    note(ada)
    samples_and_drills.sample_vault(ada.context, ada.agent)
    assert verified(ada) == {2: ["local"], 1: [], 0: ["local"]}
    samples_and_drills.drill_vault(ada.context, ada.agent, whole=True)
    note(ada)
    assert verified(ada) == {3: [], 2: ["local"], 1: ["local"], 0: ["local"]}


def test_of_a_vault_that_is_damaged_nothing_counts_as_verified(ada: Protected) -> None:
    samples_and_drills.sample_vault(ada.context, ada.agent)
    with ada.context.vault(ada.agent.id) as vault:
        vault.set(DAMAGED, {"sequence": 0, "whole": False, "first": "something"}, kind="damaged")
    assert verified(ada) == {0: []}


def test_a_second_copy_is_named_where_it_was_read_back_and_where_its_head_is(ada: Protected, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    config, _ = manage_remotes.add_remote(ada.context, "stick", RemoteAccess(f"file://{tmp_path}/stick/copies"))
    for _ in range(2):
        note(ada)
        send_to_remotes(ada.context, ada.agent)
        remote_verification.verify_remote(ada.context, ada.agent, config)
    assert [(one["sequence"], "stick" in one["verified"], one["on"]) for one in entries(ada)] == [
        (2, True, ["stick"]),
        (1, True, []),
        (0, False, []),
    ]
    with ada.context.vault(ada.agent.id) as vault:
        acknowledged_states.note_acknowledged(vault, config.id, damaged="a file is torn")
    assert not any("stick" in one["verified"] for one in entries(ada))
    with ada.context.vault(ada.agent.id) as vault:
        acknowledged_states.note_acknowledged(vault, config.id, verified_number=2, damaged="")
    assert [one["sequence"] for one in entries(ada) if "stick" in one["verified"]] == [2]


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], []), ([5], [[5, 5]]), ([1, 2, 3, 7, 8], [[1, 3], [7, 8]]), ([3, 1, 2, 2], [[1, 3]])],
)
def test_runs_hold_each_number_once(given: list[int], expected: number_runs.Runs) -> None:
    found: number_runs.Runs = []
    for number in given:
        found = number_runs.add_number(found, number)
    assert found == expected
    assert all(number_runs.holds_number(found, number) == (number in given) for number in range(10))


def test_of_very_many_runs_the_newest_are_kept() -> None:
    found: number_runs.Runs = []
    for number in range(0, 1000, 2):
        found = number_runs.add_number(found, number)
    assert (
        len(found) == number_runs.MOST
        and number_runs.holds_number(found, 998)
        and not number_runs.holds_number(found, 0)
    )


# How much happened when ---------------------------------------------------------------------------------------------


def test_each_hour_of_the_last_two_days_has_a_bar() -> None:
    now = START.replace(minute=30)
    made = [row(n, n - 1 if n else None, START - timedelta(hours=n * 47)) for n in (1, 0)]
    found = sequence_timeline.count_activity([made[0], row(2, 1, START + timedelta(minutes=29)), row(3, 2, now)], now)
    assert (found["unit"], len(found["counts"]), sum(found["counts"])) == ("hour", 48, 3)
    assert (found["counts"][0], found["counts"][-1]) == (1, 2)
    assert found["from"] == "2026-11-10T13:00:00.000Z"


def test_what_was_thinned_is_counted_and_a_number_that_was_left_out_is_not() -> None:
    """Sequence 9 stood on 8, of which nothing but this is left; 1253 was written on 9."""
    rows = [row(0, None, START), row(9, 8, START), row(1253, 9, START)]
    assert sequence_timeline.count_activity(rows, START)["counts"][-1] == 1 + 9 + 1


def test_days_are_those_of_the_calendar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    import time

    time.tzset()
    try:
        now = datetime(2026, 10, 26, 12, tzinfo=UTC)
        rows = [row(n, n - 1 if n else None, now - timedelta(hours=36 - n)) for n in range(3)]
        found = sequence_timeline.count_activity(rows, now, days=3)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (found["unit"], found["from"]) == ("day", "2026-10-23T22:00:00.000Z")
    assert found["counts"] == [0, 3, 0]


def test_a_life_without_changes_has_empty_bars() -> None:
    assert sum(sequence_timeline.count_activity([], START, days=7)["counts"]) == 0


# Names --------------------------------------------------------------------------------------------------------------


def test_a_named_sequence_is_never_thinned_until_its_name_is_taken_away(ada: Protected) -> None:
    for _ in range(12):
        note(ada)
    assert sequence_timeline.set_label(ada.context, ada.agent, "1", "  before\nthe move ")["label"] == "before the move"
    now = ada.clock.now() + timedelta(days=3650)
    with ada.context.vault(ada.agent.id) as vault:
        for _ in range(40):
            vault.thin(Retention(), now)
        assert [one.number for one in vault.sequences()] == [1, 12]
    assert sequence_timeline.set_label(ada.context, ada.agent, "1", None)["label"] is None
    with ada.context.vault(ada.agent.id) as vault:
        vault.thin(Retention(), now)
        assert [one.number for one in vault.sequences()] == [12]


def test_a_name_is_told_and_stands_in_the_audit_without_its_words(ada: Protected) -> None:
    sequence_timeline.set_label(ada.context, ada.agent, "0", "the blue one")
    sequence_timeline.set_label(ada.context, ada.agent, "0", "the blue one")
    assert (
        sequence_timeline.load_labelled_sequence(ada.context, ada.agent, "0")["label"]
        == entries(ada)[0]["label"]
        == "the blue one"
    )
    with ada.context.vault(ada.agent.id) as vault:
        (named,) = [one for one in vault.audit_rows() if one.kind == "label"]
    assert named.subject == "0" and "blue" not in str(named.details)


@pytest.mark.parametrize("text", ["", "  \n", "x" * 201, "a\x1b[31m"])
def test_what_cannot_be_a_name_is_refused(ada: Protected, text: str) -> None:
    with raises_code(DaemonError.BAD_LABEL):
        sequence_timeline.set_label(ada.context, ada.agent, "0", text)


def test_only_a_sequence_that_is_kept_can_be_named(ada: Protected) -> None:
    with pytest.raises(UnknownSequence):
        sequence_timeline.set_label(ada.context, ada.agent, "7", "later")


# Sequences that were fetched from a remote --------------------------------------------------------------------------


def test_a_fetched_sequence_has_the_counts_of_its_capture(tmp_path: Path) -> None:
    """Also where an edit and a deletion are new lines, because the quarter of the memory has ended."""
    (tmp_path / "stick").mkdir()
    laptop, desktop = Machine(tmp_path / "laptop"), Machine(tmp_path / "desktop")
    laptop.add(name="ada")
    laptop.add_remote("stick", (tmp_path / "stick").as_uri(), sealed=True)
    laptop.push("stick")
    laptop.write(
        "MEMORY.md", "# Memory\n\n## Tea\n\nLikes black tea.\n\n## Boat\n\nThe red boat lies in the harbour.\n"
    )
    laptop.capture_and_push("stick")
    laptop.clock.advance(days=100)
    laptop.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes white tea.\n\n## Papers\n\nThey are in the blue folder.\n")
    laptop.write("notes.txt", "x")
    laptop.capture_and_push("stick")
    (laptop.workspace / "notes.txt").unlink()
    laptop.capture_and_push("stick")
    desktop.learn_words_of(laptop)
    desktop.add_remote("stick", (tmp_path / "stick").as_uri(), sealed=True)
    desktop.bring_back(laptop.agent.id, tmp_path / "new", "stick", take_over=laptop.context.keys().own_name)
    captured = counted(laptop)
    assert captured[2] == {"records": {"created": 1, "updated": 1, "deleted": 1}, "raw": {"put": 1, "patched": 1}}
    assert captured[3] == {"records": {}, "raw": {"removed": 1}}
    assert {number: found for number, found in counted(desktop).items() if number in captured} == captured


def counted(machine: Protected) -> dict[int, JsonObject]:
    """Return the counts of each sequence, without zeros."""
    found = {entry["sequence"]: entry["changes"] for entry in entries(machine)}
    kinds = ("records", "raw")
    return {number: {kind: _without_zeros(each[kind]) for kind in kinds} for number, each in found.items()}


def _without_zeros(counts: dict[str, int]) -> dict[str, int]:
    return {word: count for word, count in counts.items() if count}


def test_a_history_that_an_older_version_fetched_has_counts_of_its_memories() -> None:
    lines = {"put": 9, "removed": 0, "create": 2, "update": 1, "delete": 0}
    assert read_counts(lines)["records"] == {"created": 2, "updated": 1, "deleted": 0}
    assert read_counts({"records": {"created": 1}}) == {"records": {"created": 1}}
    assert read_counts({}) == {}
