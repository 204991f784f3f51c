"""Notes as the older client divides them, and back to the byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_endpoint.legacy.notes import renewed
from lifeboat_endpoint.legacy.sections import Section, join, split

NOTE = "# Memory\n\n## Tea\n\nLikes tea.\n\n## Home\nLives in Lisbon.\n"


def test_a_note_is_divided_at_second_level_headings_only() -> None:
    assert split("MEMORY.md", NOTE + "### Not here\n") == [
        Section(1, "# Memory\n"),
        Section(3, "## Tea\n\nLikes tea.\n"),
        Section(7, "## Home\nLives in Lisbon.\n### Not here"),
    ]


def test_the_active_context_is_one_memory_to_the_byte() -> None:
    assert split("memory/active-context.md", "## a\r\n## b\n\n") == [Section(1, "## a\r\n## b\n\n")]


def test_a_blank_beginning_is_no_memory_but_keeps_its_lines() -> None:
    note = "\n\n## Tea\nLikes tea.\n"
    assert join("MEMORY.md", split("MEMORY.md", note)) == note


@pytest.mark.parametrize(
    "note",
    [NOTE, NOTE.rstrip("\n"), NOTE + "\n\n", NOTE.replace("\n", "\r\n"), "one line", "\n## Only\n"],
    ids=["usual", "no last line end", "blank lines at the end", "CRLF", "one line", "blank beginning"],
)
def test_a_note_that_still_says_the_same_stays_to_the_byte(note: str) -> None:
    assert renewed("MEMORY.md", note.encode(), split("MEMORY.md", note)) == note.encode()


@pytest.mark.parametrize("note", [NOTE, NOTE.rstrip("\n"), NOTE.replace("\n", "\r\n")], ids=["usual", "open", "CRLF"])
def test_a_note_that_changed_has_the_line_ends_it_had(note: str) -> None:
    edited = note.replace("Likes tea", "Prefers coffee")
    assert renewed("MEMORY.md", note.encode(), split("MEMORY.md", edited)) == edited.encode()


MIXED = "# Memory\r\n\n## Tea\r\n\r\nLikes tea.\n\n## Home\nLives in Lisbon."


def test_a_note_with_mixed_line_ends_keeps_those_of_every_line_that_is_still_there() -> None:
    edited = MIXED.replace("Lives in Lisbon.", "Lives in Lisbon.\nBy the sea.")
    assert renewed("MEMORY.md", MIXED.encode(), split("MEMORY.md", edited)) == edited.encode()
    without = MIXED.replace("## Tea\r\n\r\nLikes tea.\n\n", "")
    assert renewed("MEMORY.md", MIXED.encode(), split("MEMORY.md", without)) == without.encode()


@given(
    st.lists(st.tuples(st.sampled_from(["## A", "## B", "text", "more"]), st.sampled_from(["\n", "\r\n"])), min_size=1),
    st.sampled_from(["", "open"]),
)
def test_a_section_that_is_added_changes_no_byte_before_it(lines: list[tuple[str, str]], rest: str) -> None:
    note = "".join(f"{line}{end}" for line, end in lines) + rest
    sections = split("MEMORY.md", note)
    made = renewed("MEMORY.md", note.encode(), [*sections, Section(len(lines) + 2, "## New\nNever here before.")])
    assert made is not None
    grown = made.decode()
    assert grown.removeprefix(note).lstrip("\r\n").startswith("## New") and grown.endswith("\n") is note.endswith("\n")


@given(st.lists(st.sampled_from(["", "## A", "## B", "text", "### C", "  ", "# D"])))
def test_what_was_divided_comes_together_again_unless_it_began_with_spaces(lines: list[str]) -> None:
    note = "".join(f"{line}\n" for line in lines)
    sections = split("MEMORY.md", note)
    blank = note[: len(note) - len(note.lstrip())]
    if sections and " " not in blank:
        assert join("MEMORY.md", sections) == note


def test_a_note_without_memories_is_no_more() -> None:
    assert renewed("MEMORY.md", NOTE.encode(), []) is None


def test_a_note_that_nobody_can_read_as_text_stays() -> None:
    assert renewed("memory/odd.md", b"\xff\xfe", [Section(1, "something")]) == b"\xff\xfe"
