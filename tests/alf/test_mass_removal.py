"""Which losses look like an accident, for clients and endpoints alike."""

from __future__ import annotations

import pytest

from lifeboat_alf.memory.mass_removal import MassRemovalLimits, is_file_loss, is_memory_loss, is_workspace_file

LIMITS = MassRemovalLimits()


@pytest.mark.parametrize(
    ("before", "created", "deleted", "is_held"),
    [
        (1, 0, 1, False),
        (2, 0, 2, True),
        (3, 0, 3, True),
        (3, 0, 2, False),
        (3, 1, 3, False),
        (4, 0, 3, False),
        (8, 0, 4, True),
        (9, 0, 4, False),
        (8, 4, 4, False),
        (8, 3, 4, True),
    ],
)
def test_half_of_the_memories_or_all_of_a_few_are_a_loss(
    before: int, created: int, deleted: int, is_held: bool
) -> None:
    assert is_memory_loss(before, created, deleted, LIMITS) is is_held


@pytest.mark.parametrize(
    ("before", "created", "deleted", "is_held"),
    [(1, 0, 1, False), (2, 0, 2, True), (10, 0, 7, False), (10, 0, 8, True), (10, 3, 10, False), (3, 3, 3, False)],
)
def test_most_of_the_files_or_all_of_a_few_are_a_loss(before: int, created: int, deleted: int, is_held: bool) -> None:
    assert is_file_loss(before, created, deleted, LIMITS) is is_held


@pytest.mark.parametrize(
    ("path", "is_counted"),
    [
        ("raw/openclaw/SOUL.md", True),
        ("artifacts/skills/door/tool.py", True),
        ("raw/openclaw-home/openclaw.json", False),
        ("artifacts/.lifeboatignore", False),
        ("identity.json", False),
    ],
)
def test_files_of_the_workspace_are_counted(path: str, is_counted: bool) -> None:
    assert is_workspace_file(path, {}, "openclaw") is is_counted
