"""Figures, times and paths as people read them."""

from __future__ import annotations

import time

import pytest

from lifeboat_core.texts import human_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 seconds"),
        (1, "1 second"),
        (119, "119 seconds"),
        (180, "3 minutes"),
        (47 * 3600, "47 hours"),
        (12 * 86400, "12 days"),
    ],
)
def test_ages_are_for_people(seconds: float, text: str) -> None:
    assert human_text.age_text(seconds) == text


def test_times_are_the_readers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert human_text.time_text("2026-11-20T18:40:59.123Z") == "2026-11-20 19:40"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("raw/openclaw/memory/2026-11-20.md", "memory/2026-11-20.md"),
        ("raw/openclaw-home/openclaw.json", "openclaw.json"),
        ("artifacts/images/avatar.png", "images/avatar.png"),
        ("identity.json", "identity.json"),
    ],
)
def test_paths_are_those_of_the_workspace(path: str, name: str) -> None:
    assert human_text.path_text(path) == name


def test_changes_name_memories_and_files_apart() -> None:
    counts = {"created": 1, "updated": 2, "deleted": 0}
    assert human_text.group_changes(counts, {"put": 1, "patched": 2, "removed": 1}) == [
        "1 memory created, 2 updated",
        "3 files written, 1 removed",
    ]
    assert human_text.group_changes({}, {"removed": 1}) == ["1 file removed"]
    assert human_text.group_changes({}, {}) == []
