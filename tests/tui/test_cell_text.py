"""Formatted figures and foreign text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lifeboat_tui import cell_text
from lifeboat_tui.glyphs import Glyphs

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (None, "never"),
        ("2026-11-20T11:59:30Z", "just now"),
        ("2026-11-20T11:58:30Z", "1 min ago"),
        ("2026-11-20T09:00:00Z", "3 h ago"),
        ("2026-11-10T12:00:00Z", "10 d ago"),
        ("2026-11-20T12:30:00Z", "just now"),
    ],
)
def test_a_short_age_changes_once_a_minute_at_most(moment: str | None, said: str) -> None:
    assert cell_text.format_short_age(moment, NOW) == said


@pytest.mark.parametrize("evil", ["\x1b[31mred", "a\rb", "\x9b2J", "a\u202eb", "a\nb", "\x07"])
def test_what_an_agent_wrote_moves_no_cursor_and_turns_no_line(evil: str) -> None:
    assert not set(cell_text.make_plain(evil)) & {"\x1b", "\r", "\x9b", "\u202e", "\n", "\x07"}


@pytest.mark.parametrize(
    ("seconds", "said"), [(None, ""), (0, "0:00"), (42, "0:42"), (185, "3:05"), (3729, "1:02:09"), (0.4, "0:00")]
)
def test_a_span_is_minutes_and_seconds(seconds: float | None, said: str) -> None:
    assert cell_text.format_duration(seconds) == said


@pytest.mark.parametrize(
    ("width", "said"), [(6, "harbo…"), (7, "harbour"), (8, "harbour"), (1, "…"), (0, ""), (-1, "")]
)
def test_a_text_is_cut_to_the_width_that_there_is(width: int, said: str) -> None:
    assert cell_text.truncate_text("harbour", width) == said


@pytest.mark.parametrize("ascii", [False, True])
def test_a_chart_has_a_sign_for_every_count_and_its_highest_for_the_most(ascii: bool) -> None:
    glyphs = Glyphs(ascii=ascii)
    bars = glyphs.bars([0, 1, 4, 8])
    assert len(bars) == 4 and bars[0] == " " and bars[3] == glyphs.bars([1]) and bars[1] not in (" ", bars[3])
    assert glyphs.bars([]) == "" and glyphs.bars([0, 0]) == "  "


def test_every_state_has_a_word_beside_its_sign() -> None:
    for state in ("ok", "syncing", "waiting", "paused", "overdue", "needs_key", "fenced", "held", "error"):
        said = Glyphs().state(state)
        assert len(said.split(" ", 1)[1]) >= 2
        assert Glyphs(ascii=True).state(state).isascii()
    assert Glyphs().state("fenced").endswith("moved")
