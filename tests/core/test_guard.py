"""Losses that look like an accident are held, and captured all the same."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lifeboat_alf.memory.mass_removal import MassRemovalLimits
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture import mass_loss_guard
from support.core.protected import Protected

NOW = datetime(2026, 11, 12, tzinfo=UTC)
LIMITS = MassRemovalLimits(0.5, 4)


def note(number: int) -> str:
    words = ("harbour", "rope", "lantern", "tide", "gull", "anchor", "sail", "keel", "mast", "chart")
    return f"## {words[number % 10].title()} {number}\n\nFact {number} about the {words[(number * 7) % 10]}.\n\n"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.write("MEMORY.md", "# Memory\n\n" + "".join(note(number) for number in range(12)))
    made.add()
    return made


def test_most_of_the_memory_gone_is_held_but_captured(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    report = ada.capture()
    assert report.changed and report.sequence == 1
    assert report.held is not None and report.held["previous"] == 0
    assert "13 of 13 memories" in report.held["reason"]
    with ada.context.vault(ada.agent.id) as vault:
        assert [pin.reason for pin in vault.sequence(0).pins] == ["held"]


def test_a_template_over_the_memory_is_held(ada: Protected) -> None:
    for number in range(30):
        ada.write(f"memory/fact{number}.md", f"# Fact {number}\n\nStands on its own, number {number}.\n")
    ada.capture()
    ada.write("MEMORY.md", "# MEMORY.md\n\nWrite here what you want to remember.\n")
    report = ada.capture()
    assert report.held is not None and "MEMORY.md was replaced" in report.held["reason"]


def test_small_steps_within_a_day_add_up(ada: Protected) -> None:
    held = []
    for left in (9, 6, 3):
        ada.write("MEMORY.md", "# Memory\n\n" + "".join(note(number) for number in range(left)))
        held.append(ada.capture().held is not None)
    assert held == [False, False, True]


def test_losses_that_add_up_stay_held_when_memories_come_with_and_after_them(ada: Protected) -> None:
    for left in (9, 6):
        ada.write("MEMORY.md", "# Memory\n\n" + "".join(note(number) for number in range(left)))
        ada.capture()
    ada.write("MEMORY.md", "# Memory\n\n" + "".join(note(number) for number in (0, 1, 2, 20)))
    with_it = ada.capture()
    ada.write("MEMORY.md", "# Memory\n\n" + "".join(note(number) for number in (0, 1, 2, 20, 21)))
    assert [report.held is not None for report in (with_it, ada.capture())] == [True, True]


def test_tidying_up_is_not_held(ada: Protected) -> None:
    ada.write("MEMORY.md", "# Memory\n\n" + "".join(note(number) for number in range(10)))
    assert ada.capture().held is None


def test_accepting_takes_the_pin_and_the_flag_away(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    ada.capture()
    assert manage_agents.accept_removals(ada.context, ada.agent) is True
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    assert ada.capture().held is None
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.sequence(0).pins == []
    assert manage_agents.accept_removals(ada.context, ada.agent) is False


def test_what_is_held_stays_held_over_later_captures(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    first = ada.capture().held
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    assert ada.capture().held == first
    assert ada.capture().held == first


def test_ignoring_the_memory_is_under_the_guard_too(ada: Protected) -> None:
    ada.write(".lifeboatignore", "*\n!.lifeboatignore\n")
    report = ada.capture()
    assert report.changed and report.held is not None


def test_a_restore_is_no_accident(ada: Protected) -> None:
    (ada.workspace / "MEMORY.md").unlink()
    assert ada.capture(kind="restore").held is None


def test_additions_make_up_for_nothing_that_was_there(ada: Protected) -> None:
    change = mass_loss_guard.MemoryTurnover(
        10, 1, 9, Counter({"raw/openclaw/MEMORY.md": 9}), {"raw/openclaw/MEMORY.md": 10}, {}
    )
    assert mass_loss_guard.judge_memories(change, [], -1, NOW, LIMITS) is not None


def test_what_is_held_is_over_once_the_memories_are_back(ada: Protected) -> None:
    before = ada.read("MEMORY.md")
    ada.write("MEMORY.md", "# Memory\n")
    assert ada.capture().held is not None
    ada.write("MEMORY.md", before)
    assert ada.capture().held is None
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.get("held") is None and vault.sequence(0).pins == []


def test_files_that_come_back_with_another_time_end_a_hold_too(tmp_path: Path) -> None:
    texts = {f"memory/2026-02-{day:02}.md": f"# Day {day}\n\n{note(day)}" for day in range(1, 9)}
    ada = Protected(tmp_path)
    for path, text in texts.items():
        ada.write(path, text)
    ada.add()
    shutil.rmtree(ada.workspace / "memory")
    assert ada.capture().held is not None
    ada.clock.advance(hours=1)
    for path, text in texts.items():
        ada.write(path, text)
    report = ada.capture()
    assert report.records["created"] and report.held is None


def test_what_is_held_stays_held_while_only_some_of_it_is_back(ada: Protected) -> None:
    half = "# Memory\n\n" + "".join(note(number) for number in range(6))
    ada.write("MEMORY.md", "# Memory\n")
    assert ada.capture().held is not None
    ada.write("MEMORY.md", half)
    assert ada.capture().held is not None


def test_a_memory_that_is_rewritten_as_a_whole_is_not_held() -> None:
    change = mass_loss_guard.MemoryTurnover(20, 12, 11, Counter({"a": 11}), {"a": 12}, {"a": 13})
    assert mass_loss_guard.judge_memories(change, [], -1, NOW, LIMITS) is None


@pytest.mark.parametrize(
    ("before", "created", "deleted", "is_held"),
    [(3, 0, 3, True), (2, 0, 2, True), (3, 0, 2, False), (3, 1, 3, False), (5, 0, 1, False), (1, 0, 1, False)],
)
def test_of_few_memories_the_loss_of_all_looks_like_an_accident(
    before: int, created: int, deleted: int, is_held: bool
) -> None:
    change = mass_loss_guard.MemoryTurnover(before, created, deleted, Counter({"a": deleted}), {"a": before}, {})
    assert (mass_loss_guard.judge_memories(change, [], -1, NOW, LIMITS) is not None) is is_held


@pytest.mark.parametrize(
    ("before", "created", "deleted", "is_held"),
    [
        (3, 0, 3, True),
        (5, 0, 1, False),
        (5, 0, 4, True),
        (5, 0, 3, False),
        (100, 0, 80, True),
        (100, 0, 79, False),
        (100, 90, 100, False),
        (100, 5, 100, True),
        (1, 0, 1, False),
    ],
)
def test_most_of_the_files_look_like_an_accident_unless_others_came(
    before: int, created: int, deleted: int, is_held: bool
) -> None:
    change = mass_loss_guard.FileTurnover(before, created, deleted)
    assert (mass_loss_guard.judge_files(change, [], -1, NOW, LIMITS) is not None) is is_held


# Small agents and files that are no memories ------------------------------------------------------------------------


def small(tmp_path: Path, **files: str) -> Protected:
    made = Protected(tmp_path)
    shutil.rmtree(made.workspace)
    for name, text in files.items():
        made.write(name.replace("__", "/").replace("_md", ".md"), text)
    made.add()
    return made


def memory(count: int) -> str:
    return "# Memory\n\n" + "".join(note(number) for number in range(count))


def test_an_agent_with_three_memories_that_loses_them_all_is_held(tmp_path: Path) -> None:
    days = {f"memory__2026-02-0{day}_md": f"The {day}. day.\n" for day in (1, 2, 3)}
    ada = small(tmp_path, SOUL_md="# Soul\n\nBe kind.\n", AGENTS_md="# Rules\n", **days)
    shutil.rmtree(ada.workspace / "memory")
    report = ada.capture()
    assert report.changed and report.held is not None
    assert report.held["what"] == "memories" and "3 of 3 memories were removed" in report.held["reason"]


def test_one_of_five_memories_may_go(tmp_path: Path) -> None:
    days = {f"memory__2026-02-0{day}_md": f"The {day}. day.\n" for day in range(1, 6)}
    ada = small(tmp_path, **days)
    (ada.workspace / "memory" / "2026-02-03.md").unlink()
    report = ada.capture()
    assert report.changed and report.held is None


def of_artifacts(tmp_path: Path, count: int) -> Protected:
    core = {"SOUL_md": "# Soul\n\nBe kind.\n", "IDENTITY_md": "- Name: Ada\n"}
    return small(tmp_path, **core, **{f"plans__{number}.csv": f"{number}\n" for number in range(count)})


def test_an_agent_with_only_artifacts_that_loses_them_is_held_until_it_is_accepted(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 12)
    shutil.rmtree(ada.workspace / "plans")
    report = ada.capture()
    assert report.changed and report.held is not None and report.held["what"] == "files"
    assert "12 of 14 files were removed" in report.held["reason"]
    with ada.context.vault(ada.agent.id) as vault:
        assert [pin.reason for pin in vault.sequence(report.held["previous"]).pins] == ["held"]
    assert ada.capture().held == report.held
    assert manage_agents.accept_removals(ada.context, ada.agent) is True
    ada.write("plans/new.csv", "1\n")
    assert ada.capture().held is None


def test_one_artifact_of_five_may_go(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 4)
    (ada.workspace / "plans" / "2.csv").unlink()
    report = ada.capture()
    assert report.changed and report.held is None


def test_files_that_are_moved_into_another_folder_are_not_held(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 12)
    (ada.workspace / "plans").rename(ada.workspace / "older")
    report = ada.capture()
    assert report.changed and report.held is None


def test_files_that_come_and_go_are_not_held(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 5)
    for turn in range(4):
        for number in range(20):
            ada.write(f"work/{turn}-{number}.csv", f"{turn} {number}\n")
        assert ada.capture().held is None
        shutil.rmtree(ada.workspace / "work")
        (ada.workspace / "plans" / f"{turn}.csv").touch()
        assert ada.capture().held is None


def test_files_of_the_runtime_do_not_make_up_for_files_of_the_workspace(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 12)
    ada.write_config("{}")
    for number in range(14):
        ada.write_config("x", f"media/inbound/{number}.txt")
    ada.capture()
    shutil.rmtree(ada.workspace / "plans")
    assert ada.capture().held is not None


def test_files_of_the_runtime_that_went_are_none_of_the_workspace(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 12)
    ada.write_config("{}")
    names = [ada.write_config("x", f"media/inbound/{number}.txt") for number in range(60)]
    ada.capture()
    ada.clock.advance(days=2)
    for name in names:
        name.unlink()
    assert ada.capture().held is None
    (ada.workspace / "plans" / "1.csv").unlink()
    assert ada.capture().held is None


def test_small_steps_through_the_files_add_up(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 12)
    held = []
    for end in (4, 8, 12):
        for number in range(end - 4, end):
            (ada.workspace / "plans" / f"{number}.csv").unlink()
        held.append(ada.capture().held is not None)
    assert held == [False, False, True]


@pytest.mark.parametrize("ignored", ["*\n", "*\n!.lifeboatignore\n", "plans/\n"])
def test_an_ignore_file_that_hides_everything_is_held(tmp_path: Path, ignored: str) -> None:
    ada = of_artifacts(tmp_path, 12)
    ada.write(".lifeboatignore", ignored)
    report = ada.capture()
    assert report.changed and report.held is not None and report.held["what"] == "files"


@pytest.mark.parametrize("ignored", ["*\n", "*\n!.lifeboatignore\n"])
def test_an_ignore_file_that_hides_a_small_agent_is_held(tmp_path: Path, ignored: str) -> None:
    ada = small(tmp_path, SOUL_md="# Soul\n\nBe kind.\n", IDENTITY_md="- Name: Ada\n", notes_csv="1\n")
    ada.write_config("{}")
    ada.capture()
    ada.write(".lifeboatignore", ignored)
    assert ada.capture().held is not None


def test_held_files_are_held_no_more_once_they_are_back(tmp_path: Path) -> None:
    ada = of_artifacts(tmp_path, 12)
    (ada.workspace / "plans").rename(tmp_path / "away")
    assert ada.capture().held is not None
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    assert ada.capture().held is not None
    (tmp_path / "away").rename(ada.workspace / "plans")
    assert ada.capture().held is None
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.get("held") is None and vault.sequence(0).pins == []


# Limits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("deleted", "is_held"), [(3, False), (4, True)])
def test_a_loss_counts_from_the_limits_own_number_of_memories_on(deleted: int, is_held: bool) -> None:
    change = mass_loss_guard.MemoryTurnover(4, 0, deleted, Counter({"a": deleted}), {"a": 100}, {"a": 96})
    assert (mass_loss_guard.judge_memories(change, [], -1, NOW, LIMITS) is not None) is is_held


@pytest.mark.parametrize(("before", "is_held"), [(9, False), (8, True)])
def test_a_loss_counts_from_the_limits_own_share_on(before: int, is_held: bool) -> None:
    change = mass_loss_guard.MemoryTurnover(before, 0, 4, Counter({"a": 4}), {"a": 100}, {"a": 96})
    assert (mass_loss_guard.judge_memories(change, [], -1, NOW, LIMITS) is not None) is is_held
