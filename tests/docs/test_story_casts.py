"""The recordings in docs/ show what the program prints today."""

from __future__ import annotations

from support.docs import story_casts

_FIX = "make casts records it again"


def test_the_picture_of_the_readme_shows_the_commands_as_they_run_today() -> None:
    text = story_casts.RESCUE.read_text(encoding="utf-8")
    assert story_casts.read_svg(text) == story_casts.list_lines(story_casts.record_rescue()), _FIX
    assert len(text) < 200_000 and "docs/rescue.svg" in (story_casts.ROOT / "README.md").read_text(encoding="utf-8")


def test_the_cast_of_the_tutorial_shows_the_commands_as_they_run_today() -> None:
    text = story_casts.TUTORIAL.read_text(encoding="utf-8")
    assert story_casts.read_cast(text) == story_casts.list_lines(story_casts.record_tutorial()), _FIX
