"""Which events matter by the rules of a plan, without any file."""

from __future__ import annotations

import pytest

from lifeboat_daemon.watch.event_filter import EventFilter
from lifeboat_daemon.watch.watch_plan import PlannedFolder

HERE = "/srv/ada/workspace"
PLAN = PlannedFolder(
    HERE, ignored=("node_modules/", "sub/.git/", "run.log", "odd[1].md"), noise=("*.sqlite-shm", "openclaw*.sqlite")
)


@pytest.mark.parametrize(
    "name",
    [
        *("MEMORY.md", "memory/2026-11-12.md", "memory/run.log", "node_modules.md", "sub/node_modules/x"),
        *(".git/HEAD", "openclaw-notes/data.sqlite", "odd1.md", ".lifeboatignore", "x.lifeboat-y/z", "\udcff.md"),
    ],
)
def test_what_matters(name: str) -> None:
    assert EventFilter(PLAN).matters(f"{HERE}/{name}")


@pytest.mark.parametrize(
    "name",
    [
        *("node_modules", "node_modules/x", "node_modules/x/y.js", "sub/.git/HEAD", "run.log", "odd[1].md"),
        *("memory/index.sqlite-shm", "deep/openclaw-1.sqlite"),
        *(".lifeboat-stage-1/MEMORY.md", ".MEMORY.md.lifeboat-undo-1", "memory/.x.lifeboat-undo-1/x"),
    ],
)
def test_what_does_not(name: str) -> None:
    assert not EventFilter(PLAN).matters(f"{HERE}/{name}")


def test_the_log_of_a_database_matters_as_the_database_does() -> None:
    interest = EventFilter(PlannedFolder(HERE, ignored=("old.db", "new.db-wal"), noise=("*.db-wal", "*.db-shm")))
    names = ("new.db-wal", "deep/new.db-wal", "old.db-wal", "new.db-shm")
    assert [name for name in names if interest.matters(f"{HERE}/{name}")] == ["new.db-wal", "deep/new.db-wal"]


def test_only_what_is_named_matters_where_names_are_given() -> None:
    interest = EventFilter(PlannedFolder(HERE, only=("*.toml", "skills/**")))
    matter = [name for name in ("a.toml", "b.md", "skills/tea/SKILL.md") if interest.matters(f"{HERE}/{name}")]
    assert matter == ["a.toml", "skills/tea/SKILL.md"]
    assert not EventFilter(PlannedFolder(HERE, only=())).matters(f"{HERE}/a.toml")


def test_the_folder_itself_and_its_neighbours_do_not() -> None:
    assert not any(map(EventFilter(PLAN).matters, (HERE, f"{HERE}-2/MEMORY.md", "/srv/ada", "/")))
    assert EventFilter(PlannedFolder("/")).matters("/MEMORY.md")


def test_folders_in_which_nothing_matters_are_left_out() -> None:
    interest = EventFilter(PLAN)
    assert interest.skips(f"{HERE}/node_modules/deep/er") and interest.skips(f"{HERE}/.lifeboat-1")
    assert not interest.skips(f"{HERE}/memory") and not interest.skips(HERE) and not interest.skips("/elsewhere")
    assert set(interest.left_out()) == {f"{HERE}/node_modules", f"{HERE}/sub/.git"}
