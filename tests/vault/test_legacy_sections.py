"""Notes are divided as the older client does, and joined again byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_vault.legacy.legacy_notes import renew_note
from lifeboat_vault.legacy.note_sections import NoteSection, join_sections, split_sections

NOTE = "# Memory\n\n## Tea\n\nLikes tea.\n\n## Home\nLives in Lisbon.\n"


def test_a_note_is_divided_at_second_level_headings_only() -> None:
    assert split_sections("MEMORY.md", NOTE + "### Not here\n") == [
        NoteSection(1, "# Memory\n"),
        NoteSection(3, "## Tea\n\nLikes tea.\n"),
        NoteSection(7, "## Home\nLives in Lisbon.\n### Not here"),
    ]


def test_the_active_context_is_one_memory_to_the_byte() -> None:
    assert split_sections("memory/active-context.md", "## a\r\n## b\n\n") == [NoteSection(1, "## a\r\n## b\n\n")]


def test_a_blank_beginning_is_no_memory_but_keeps_its_lines() -> None:
    note = "\n\n## Tea\nLikes tea.\n"
    assert join_sections("MEMORY.md", split_sections("MEMORY.md", note)) == note


@pytest.mark.parametrize(
    "note",
    [NOTE, NOTE.rstrip("\n"), NOTE + "\n\n", NOTE.replace("\n", "\r\n"), "one line", "\n## Only\n"],
    ids=["usual", "no last line end", "blank lines at the end", "CRLF", "one line", "blank beginning"],
)
def test_a_note_that_still_says_the_same_stays_to_the_byte(note: str) -> None:
    assert renew_note("MEMORY.md", note.encode(), split_sections("MEMORY.md", note)) == note.encode()


@pytest.mark.parametrize("note", [NOTE, NOTE.rstrip("\n"), NOTE.replace("\n", "\r\n")], ids=["usual", "open", "CRLF"])
def test_a_note_that_changed_has_the_line_ends_it_had(note: str) -> None:
    edited = note.replace("Likes tea", "Prefers coffee")
    assert renew_note("MEMORY.md", note.encode(), split_sections("MEMORY.md", edited)) == edited.encode()


MIXED = "# Memory\r\n\n## Tea\r\n\r\nLikes tea.\n\n## Home\nLives in Lisbon."


def test_a_note_with_mixed_line_ends_keeps_those_of_every_line_that_is_still_there() -> None:
    edited = MIXED.replace("Lives in Lisbon.", "Lives in Lisbon.\nBy the sea.")
    assert renew_note("MEMORY.md", MIXED.encode(), split_sections("MEMORY.md", edited)) == edited.encode()
    without = MIXED.replace("## Tea\r\n\r\nLikes tea.\n\n", "")
    assert renew_note("MEMORY.md", MIXED.encode(), split_sections("MEMORY.md", without)) == without.encode()


LINE = st.sampled_from(["", "  ", "## A", "## B", "text", "more", "a\rb", "\u2028"])
END = st.sampled_from(["\n", "\r\n"])
WRITTEN = st.lists(st.tuples(LINE, END), min_size=1, max_size=12)
CHANGES = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["## New {}", "new {}", "a\rnew {}"])), min_size=1, max_size=3
)


def _note(lines: list[tuple[str, str]], *, is_open: bool) -> str:
    text = "".join(line + end for line, end in lines)
    return text.removesuffix("\n").removesuffix("\r") if is_open else text


def _first_said(lines: list[tuple[str, str]]) -> int:
    """Return the first line that is not blank; earlier ones are in no memory."""
    return next((place for place, (line, _) in enumerate(lines) if line.strip()), len(lines))


@given(WRITTEN, st.booleans(), CHANGES)
def test_lines_that_were_changed_in_their_places_change_no_line_end(
    lines: list[tuple[str, str]], is_open: bool, changes: list[tuple[int, str]]
) -> None:
    is_open = is_open and lines[-1][0] != ""  # without its end an empty line is none
    note, first = _note(lines, is_open=is_open), _first_said(lines)
    for number, (at, text) in enumerate(changes):
        if first < len(lines):
            place = first + at % (len(lines) - first)
            lines[place] = (text.format(number), lines[place][1])
    edited = _note(lines, is_open=is_open)
    if split_sections("MEMORY.md", edited):
        assert renew_note("MEMORY.md", note.encode(), split_sections("MEMORY.md", edited)) == edited.encode()


@given(WRITTEN, st.booleans(), CHANGES)
def test_lines_that_are_added_change_no_line_end_of_others(
    lines: list[tuple[str, str]], is_open: bool, changes: list[tuple[int, str]]
) -> None:
    is_open = is_open and lines[-1][0] != ""  # without its end an empty line is none
    note, first = _note(lines, is_open=is_open), _first_said(lines)
    usual = "\r\n" if 2 * note.count("\r\n") > note.count("\n") else "\n"
    for number, (at, text) in enumerate(changes):
        if first < len(lines):
            lines.insert(first + at % (len(lines) - first), (text.format(number), usual))
    edited = _note(lines, is_open=is_open)
    if split_sections("MEMORY.md", edited):
        assert renew_note("MEMORY.md", note.encode(), split_sections("MEMORY.md", edited)) == edited.encode()


OPEN = st.sampled_from(
    ["", "\r", "\r\r", "\r\r\r", "\x0b", "\x0c", "\u2028", "\u2029", "\x85", "\n\r", "\r\n\r\r", "\n"]
)
"""Possible ends of a note."""


@given(WRITTEN, OPEN, CHANGES, st.booleans())
def test_a_note_keeps_the_characters_that_it_ends_with(
    lines: list[tuple[str, str]], rest: str, changes: list[tuple[int, str]], client_keeps: bool
) -> None:
    """Some releases of that client drop a lone CR at the end of a note, others keep it."""
    last, end = "text", rest
    note, first = _note(lines, is_open=False) + last + end, _first_said(lines)
    for number, (at, text) in enumerate(changes):
        place = first + at % (len(lines) - first + 1)
        if place < len(lines):
            lines[place] = (text.format(number), lines[place][1])
        else:
            last = text.format(number)
    edited = _note(lines, is_open=False) + last + end
    sections = split_sections("MEMORY.md", edited)
    if client_keeps and edited.endswith("\r"):
        sections[-1] = sections[-1]._replace(content=sections[-1].content + "\r")
    assert renew_note("MEMORY.md", note.encode(), sections) == edited.encode()


@pytest.mark.parametrize("end", ["", "\r", "\r\r", "\r\n"])
def test_a_line_behind_the_last_one_takes_none_of_its_characters(end: str) -> None:
    note = f"## A\ntext{end}"
    made = renew_note("MEMORY.md", note.encode(), [*split_sections("MEMORY.md", note), NoteSection(3, "## B")])
    assert made is not None and made.startswith(note.encode())


def test_a_section_that_was_moved_keeps_its_line_ends() -> None:
    first, second, third = "## A\r\none\n", "## B\n\r\ntwo\r\n", "## C\nthree\n"
    edited = second + third + first
    assert (
        renew_note("MEMORY.md", (first + second + third).encode(), split_sections("MEMORY.md", edited))
        == edited.encode()
    )


def test_a_long_note_of_which_all_changed_is_made_without_comparing_all_of_it() -> None:
    note = "".join(f"## {number}\r\nsame\n" for number in range(3000))
    edited = "".join(f"## new {number}\nsame\n" for number in range(3001))
    made = renew_note("MEMORY.md", note.encode(), split_sections("MEMORY.md", edited))
    assert made is not None and made.decode().replace("\r", "") == edited


def test_a_memory_that_claims_to_stand_far_below_makes_no_large_note() -> None:
    assert len(join_sections("MEMORY.md", [NoteSection(1 << 50, "## A")])) < 1_000_000


@given(
    st.lists(st.tuples(st.sampled_from(["## A", "## B", "text", "more"]), st.sampled_from(["\n", "\r\n"])), min_size=1),
    st.sampled_from(["", "open"]),
)
def test_a_section_that_is_added_changes_no_byte_before_it(lines: list[tuple[str, str]], rest: str) -> None:
    note = "".join(f"{line}{end}" for line, end in lines) + rest
    sections = split_sections("MEMORY.md", note)
    made = renew_note(
        "MEMORY.md", note.encode(), [*sections, NoteSection(len(lines) + 2, "## New\nNever here before.")]
    )
    assert made is not None
    grown = made.decode()
    assert grown.removeprefix(note).lstrip("\r\n").startswith("## New") and grown.endswith("\n") is note.endswith("\n")


@given(st.lists(st.sampled_from(["", "## A", "## B", "text", "### C", "  ", "# D"])))
def test_what_was_divided_comes_together_again_unless_it_began_with_spaces(lines: list[str]) -> None:
    note = "".join(f"{line}\n" for line in lines)
    sections = split_sections("MEMORY.md", note)
    blank = note[: len(note) - len(note.lstrip())]
    if sections and " " not in blank:
        assert join_sections("MEMORY.md", sections) == note


def test_a_note_without_memories_is_no_more() -> None:
    assert renew_note("MEMORY.md", NOTE.encode(), []) is None


def test_a_note_that_nobody_can_read_as_text_stays() -> None:
    assert renew_note("memory/odd.md", b"\xff\xfe", [NoteSection(1, "something")]) == b"\xff\xfe"


def test_a_note_that_was_empty_takes_what_is_added() -> None:
    assert renew_note("memory/new.md", b"", [NoteSection(1, "## New"), NoteSection(2, "")]) == b"## New\n"
