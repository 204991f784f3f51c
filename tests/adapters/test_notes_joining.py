"""Memories from elsewhere can share one note and stay separate."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.notes import memory_comments, note_joining, note_splitting
from lifeboat_adapters.openclaw import ADAPTER
from support.adapters import openclaw_workspaces as workspaces

NOTE = "memory/default.md"
IDS = [f"0198f7a0-0000-7000-8000-0000000{number:05x}" for number in range(40)]

LINES = st.sampled_from(
    [
        *("", " ", "likes tea", "## Boat", "# Top", "### Deep", "```", "~~~ python", "---", "- item", "\tcode"),
        *(
            "<!-- memory -->",
            "<!-- /memory -->",
            "<!-- memory 0000000a -->",
            "<!-- \\memory -->",
            "<!-- \\\\/memory -->",
        ),
        *("<!-- observed: 2026-01-02 -->", "x <!-- memory -->", "a\r", "\x0b\x0c\u2028", "\ufeff# Mark"),
    ]
)
CONTENTS = st.one_of(
    st.builds(
        lambda lines, end: "\n".join(lines) + end, st.lists(LINES, max_size=6), st.sampled_from(["", "\n", "\n\n"])
    ),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.builds(lambda line, times: f"{line}\n\n" * times, LINES, st.integers(300, 700)),
).filter(str.strip)
NAMES = st.sampled_from([NOTE, "MEMORY.md", "USER.md", "memory/2026-02-10.md"])


def named(contents: list[str]) -> list[tuple[str, str]]:
    return list(zip(IDS, contents, strict=False))


@given(NAMES, st.lists(CONTENTS, max_size=8), st.booleans())
@example("MEMORY.md", ["## A\n\none\n", "two", "## B\n\n```\nopen\n", "## C"], True)
def test_any_memories_come_out_of_their_note_as_they_went_in(name: str, contents: list[str], native: bool) -> None:
    text = note_joining.join_note(name, named(contents), native=native)
    assert note_joining.memory_texts(name, text) == contents
    sections = note_splitting.split_note(name, text) or []
    assert "".join(section.content for section in sections) == text


@given(NAMES, st.lists(CONTENTS, min_size=1, max_size=4))
def test_what_is_written_below_is_a_memory_of_its_own(name: str, contents: list[str]) -> None:
    text = note_joining.join_note(name, named(contents), native=False)
    assert note_joining.memory_texts(name, text + "# New\n") == [*contents, "# New\n"]


@given(st.lists(st.sampled_from(["<!-- ", "\\", "/", "memory", " -->", " 0a", "\n", "x", "\r"]), max_size=30))
def test_joining_the_sections_gives_back_any_text_with_comments(parts: list[str]) -> None:
    text = "".join(parts)
    sections = note_splitting.split_note(NOTE, text) or []
    assert "".join(section.content for section in sections) == text


def test_memories_with_headings_of_their_own_need_no_dress() -> None:
    contents = ["## A\n\none\n", "## B\n\n```\n## no heading\n```\n"]
    assert note_joining.join_note(NOTE, named(contents), native=False) == "".join(contents)


def test_a_note_of_openclaw_itself_is_never_dressed() -> None:
    for text in (workspaces.MEMORY, "intro\n\n## A\nno end", "## Long\n\n" + "- an item of a long list\n" * 400):
        contents = note_joining.memory_texts("MEMORY.md", text)
        assert note_joining.join_note("MEMORY.md", named(contents), native=True) == text


def test_only_what_needs_dress_in_a_note_of_openclaw_gets_some() -> None:
    contents = ["intro\n", "## A\n\none\n", "likes tea", "## B\n\ntwo\n"]
    text = note_joining.join_note("MEMORY.md", named(contents), native=True)
    assert text.startswith(
        memory_comments.prefix_comment(IDS[0], "intro\n") + memory_comments.CLOSE + "## A\n\none\n<!-- memory "
    )
    assert text.endswith("<!-- /memory -->\n## B\n\ntwo\n")


def test_the_fields_of_a_memory_follow_from_its_text_alone() -> None:
    text = note_joining.join_note(NOTE, [(IDS[0], "Tide tables #harbour")], native=False)
    (section,) = note_splitting.split_note(NOTE, text) or []
    assert section.fields["tags"] == ["harbour"]
    assert "raw_source_format" not in section.fields
    assert section.heading == (ADAPTER.label(IDS[0]),)


def test_an_emptied_dress_says_nothing() -> None:
    assert note_joining.memory_texts(NOTE, "<!-- memory 0a -->\n<!-- memory 0b -->\n\n\n<!-- /memory -->\n") == []


@pytest.mark.parametrize(
    "mark", ["  <!-- memory -->", "<!--memory-->", "<!-- memory two words -->", "<!-- memories -->"]
)
def test_other_comments_are_plain_text(mark: str) -> None:
    text = f"one\n{mark}\ntwo\n"
    assert note_joining.memory_texts(NOTE, text) == [text]


def test_a_memory_without_its_closing_comment_goes_to_the_end() -> None:
    assert note_joining.memory_texts(NOTE, "one\n<!-- memory -->\ntwo\n## three\n") == ["one\n", "two\n## three"]


def test_an_endless_memory_between_comments_is_divided_like_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_comments, "LARGEST", 10)
    text = "<!-- memory -->\nlonger than that\n## Boat\n<!-- /memory -->\n"
    assert note_joining.memory_texts(NOTE, text) == [
        "<!-- memory -->\nlonger than that\n",
        "## Boat\n<!-- /memory -->\n",
    ]


@pytest.mark.parametrize("text", ["<!-- memory -->\n" * 50_000, "<!-- \\" * 100_000, "<!-- memory \n" * 50_000])
def test_hostile_comments_cost_no_time(text: str) -> None:
    sections = note_splitting.split_note(NOTE, text) or []
    assert "".join(section.content for section in sections) == text
