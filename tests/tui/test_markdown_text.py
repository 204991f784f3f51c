"""Memories are shown as rendered text; nothing in them becomes a link, markup or a control character."""

from __future__ import annotations

import msgspec
import pytest
from textual.widgets import Static, TextArea

from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.markdown_text import render_markdown, strip_markdown
from lifeboat_tui.screens.memories import memory_texts
from support.tui.pilots import dashboard, press, recorded, text_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Boat\n\nThe **red** boat.\n", "Boat\n\nThe red boat."),
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
        ("- a\n- b\n  1. c\n  2. d\n- e", "• a\n• b\n  1. c\n  2. d\n• e"),
        ("> said\n> again\n\nend", "│ said\n│ again\n\nend"),
        ("```py\nx = 1\n\ny\n```\nend", "  x = 1\n  \n  y\n\nend"),
        ("[boat](https://example.com/a)", "boat (https://example.com/a)"),
        ("<https://example.com>", "https://example.com"),
        ("![map](map.png)", "map (map.png)"),
        ("---\nname: x\n---\ntext", "name: x\ntext"),
        ("snake_case_name and 3 * 4 * 5", "snake_case_name and 3 * 4 * 5"),
        ("[red]not markup[/red] <b>not html</b>", "[red]not markup[/red] <b>not html</b>"),
        ("", ""),
    ],
)
def test_markdown_is_rendered(text: str, shown: str) -> None:
    assert render_markdown(text).plain == shown


HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "&#8238;hidden &#x1b;[2J &#7; &lrm;",
    "`\x9b31m`",
    "```\n\x1b]8;;https://example.com\x1b\\\\link\n```",
    "[\u202ename](<https://example.com/\u202e>)",
    "![\x07](\x07)",
    "---\n\x1b[5m: x\n---\n",
    "[click](javascript:alert(1)) [file](file:///etc/passwd)",
    "[@click=app.quit]here[/]",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_control_character_and_no_action_survives(text: str) -> None:
    content = render_markdown(text)
    assert all(line == make_plain(line) for line in content.plain.split("\n"))
    assert not any("@click" in str(span.style) or "link" in str(span.style) for span in content.spans)


@pytest.mark.parametrize(
    ("snippet", "shown"),
    [
        ("## Today The letter is written.", "Today The letter is written."),
        ("- 9:00 tea - 12:00 boat", "9:00 tea - 12:00 boat"),
        ("C# and #tag and 3 # 4 ## Next", "C# and #tag and 3 # 4 Next"),
        ("**bold** `code`", "bold code"),
    ],
)
def test_a_snippet_loses_its_marks(snippet: str, shown: str) -> None:
    assert strip_markdown(snippet) == shown


async def test_memories_are_rendered_and_r_shows_the_stored_text() -> None:
    async with dashboard(screen="memories", agent="ada", size=(120, 36)) as pilot:
        assert "Today" in text_of(pilot) and "## " not in text_of(pilot)
        await press(pilot, "r")
        assert "## Today" in text_of(pilot)
        await press(pilot, "r")
        assert "## " not in text_of(pilot)
        await press(pilot, "enter")
        assert "Today" in text_of(pilot) and "## " not in text_of(pilot)
        await press(pilot, "r")
        assert "## Today" in text_of(pilot) and "as stored" in text_of(pilot)


def _with_text(link: RecordedLink, text: str) -> RecordedLink:
    for words, answer in link._answers.items():
        if words[:2] == ("records", "show"):
            document = msgspec.json.decode(msgspec.json.encode(answer.document))
            document["records"][0]["about"]["text"] = text
            link._answers[words] = msgspec.structs.replace(answer, document=document)
    return link


async def test_a_very_long_memory_is_shown_as_it_is_stored() -> None:
    text = "## Day\n" + "x" * memory_texts.LONGEST_RENDERED
    async with dashboard(_with_text(recorded(), text), screen="memories", agent="ada") as pilot:
        await press(pilot, "enter")
        assert pilot.app.screen.query_one("#words", TextArea).text == text
        assert str(pilot.app.screen.query_one("#rendered-text", Static).content) == "Loading..."
