from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.notes import note_splitting
from lifeboat_adapters.notes.note_splitting import LARGEST_SECTION, PRIMARY_PRINCIPAL_NAMESPACE
from lifeboat_adapters.openclaw import ADAPTER
from support.adapters import openclaw_workspaces as workspaces


def split(relative: str, text: str) -> list[MemorySection]:
    sections = note_splitting.split_note(relative, text)
    assert sections is not None
    assert "".join(section.content for section in sections) == text
    return sections


def contents(relative: str, text: str) -> list[str]:
    return [section.content for section in split(relative, text)]


def test_a_file_is_cut_at_its_headings() -> None:
    assert contents("memory/a.md", "# A\n\none\n\n## B\ntwo\n### C\nthree\n#### D\nfour\n") == [
        "# A\n\none\n\n",
        "## B\ntwo\n",
        "### C\nthree\n#### D\nfour\n",
    ]


@pytest.mark.parametrize("blank", ["\n", "\n\n", "  \n\t\r\n"])
def test_a_memory_that_is_added_after_comments_begins_with_its_own_text(blank: str) -> None:
    text = f"<!-- memory 4f1c09ab -->\nLikes green tea.\n<!-- /memory -->\n{blank}  - Sails on Thursdays.\n"
    sections = split("memory/core.md", text)
    assert [section.text for section in sections] == ["Likes green tea.", "  - Sails on Thursdays.\n"]


def test_the_entries_of_memory_md_are_its_top_sections() -> None:
    assert contents("MEMORY.md", "# M\n\n## A\n\n### a\n\n## B\n") == ["# M\n\n", "## A\n\n### a\n\n", "## B\n"]


def test_a_section_inserted_on_top_leaves_every_other_section_alone() -> None:
    before = contents("MEMORY.md", workspaces.MEMORY)
    after = contents("MEMORY.md", workspaces.MEMORY.replace("## Company", "## New\n\nfresh\n\n## Company", 1))
    assert [content for content in after if content not in before] == ["## New\n\nfresh\n\n"]
    assert [content for content in before if content not in after] == []


def test_blank_lines_at_the_top_belong_to_the_first_section() -> None:
    assert contents("memory/a.md", "\n \n## A\n") == ["\n \n## A\n"]


def test_text_before_the_first_heading_is_a_section_of_its_own() -> None:
    assert contents("memory/a.md", "before\n## A\n") == ["before\n", "## A\n"]


def test_a_heading_inside_a_fence_is_code() -> None:
    text = "## A\n```sh\n# no\n## no\n```\n~~~\n# no\n```\n~~~\n## B\n"
    assert contents("memory/a.md", text) == [text[: text.index("## B")], "## B\n"]


def test_an_inline_code_span_of_three_backticks_opens_no_fence() -> None:
    assert contents("memory/a.md", "```x``` is code\n## A\n") == ["```x``` is code\n", "## A\n"]


def test_comments_in_front_matter_are_no_headings() -> None:
    text = "---\n# a comment\ntags: [a]\n---\n# Title\n"
    assert contents("memory/a.md", text) == ["---\n# a comment\ntags: [a]\n---\n", "# Title\n"]


def test_a_word_after_a_hash_without_a_space_is_no_heading() -> None:
    assert contents("memory/a.md", "#harbour is a tag\n####### seven\n") == ["#harbour is a tag\n####### seven\n"]


def test_line_ends_of_every_kind_survive() -> None:
    assert contents("memory/a.md", "# A\r\none\r\n## B\rx\n## C") == ["# A\r\none\r\n", "## B\rx\n", "## C"]


@pytest.mark.parametrize("text", ["", "\n\n", " ", "\ufeff# A\n", "no newline"])
def test_odd_texts_come_back_whole(text: str) -> None:
    assert len(split("memory/a.md", text)) == (1 if text else 0)


def test_the_heading_path_is_for_matching_and_only_where_a_section_begins_with_it() -> None:
    sections = split("memory/a.md", "x\n# A\n## B ##\n### C#\n## D\n")
    assert [section.heading for section in sections] == [(), ("A",), ("A", "B"), ("A", "B", "C#"), ("A", "D")]


def test_a_daily_log_is_episodic_and_was_observed_on_its_day() -> None:
    for name in ("memory/2026-02-10.md", "memory/2026-02-10-offer.md", "memory/archive/2026-02-10.md"):
        fields = split(name, "## A\ntext\n")[0].fields
        assert fields["memory_type"] == "episodic"
        assert fields["category"] == "daily_log"
        assert fields["source"] == {"origin": "daily_log", "extraction_method": "agent_written"}
        assert fields["temporal"] == {"observed_at": "2026-02-10T00:00:00.000Z"}
        assert fields["namespace"] == "default"


def test_memory_md_is_a_summary() -> None:
    fields = split("MEMORY.md", "## A\n")[0].fields
    assert (fields["memory_type"], fields["source"]["origin"]) == ("summary", "memory_md")


@pytest.mark.parametrize("name", ["gating-policies.md", "gating_policies.md", "procedures/ship.md", "team/rules.md"])
def test_rules_are_procedural(name: str) -> None:
    assert split(f"memory/{name}", "## A\n")[0].fields["memory_type"] == "procedural"


def test_every_other_note_is_semantic_with_its_folder_as_category() -> None:
    fields = split("memory/projects/harbour.md", "## A\n")[0].fields
    assert (fields["memory_type"], fields["category"], fields["namespace"]) == ("semantic", "projects", "default")


def test_a_dream_keeps_the_day_of_its_name_and_says_who_wrote_it() -> None:
    fields = split("memory/dreaming/light/2026-02-12.md", workspaces.DREAM)[0].fields
    assert fields["memory_type"] == "semantic"
    assert fields["source"] == {"origin": "dreaming", "extraction_method": "llm_extracted"}
    assert fields["temporal"] == {"observed_at": "2026-02-12T00:00:00.000Z"}


def test_a_day_that_no_calendar_has_is_not_a_day() -> None:
    assert "temporal" not in split("memory/2026-02-31.md", "## A\n")[0].fields


def test_entries_of_user_md_are_preferences_of_the_primary_human() -> None:
    sections = split("USER.md", workspaces.USER)
    assert {section.fields["memory_type"] for section in sections} == {"preference"}
    assert {section.fields["namespace"] for section in sections} == {PRIMARY_PRINCIPAL_NAMESPACE}
    entries = [section for section in sections if "observed" in section.content]
    assert [entry.fields.get("status", "active") for entry in entries] == ["active", "superseded", "active"]
    assert entries[2].fields["temporal"] == {"observed_at": "2026-02-20T00:00:00.000Z"}
    assert entries[2].fields["raw_source_format"]["annotations"] == {
        "observed": "2026-02-20",
        "status": "active",
        "importance": "9",
        "trigger": "invoice, billing",
    }


def test_importance_marks_become_confidence_and_tags() -> None:
    fields = split("memory/a.md", "## A\n- due [deadline|i=0.9] and [risk|i=0.4]\n")[0].fields
    assert (fields["confidence"], fields["tags"]) == (0.9, ["deadline", "risk"])
    assert split("memory/a.md", "[sure|i=7]\n")[0].fields["confidence"] == 1.0


def test_tags_are_words_after_a_hash_outside_headings_code_links_and_comments() -> None:
    text = "# Not #this\n#yes and #yes, (#too) `#no` [a](#no) https://example.com/#no x#no <!-- #no -->\n"
    text += "```\n#no\n```\n#för-sig\n"
    assert split("memory/a.md", text)[0].fields["tags"] == ["yes", "too", "för-sig"]


@pytest.mark.parametrize(
    "path",
    [
        "SOUL.md",
        "notes/memory/a.md",
        "memory/a.txt",
        "memory/.dreams/corpus/a.md",
        "identity.json",
    ],
)
def test_other_files_hold_no_memories(path: str) -> None:
    assert note_splitting.split_note(path, "## A\n") is None


def test_files_outside_the_workspace_hold_no_memories() -> None:
    assert ADAPTER.split("raw/openclaw-home/memory/a.md", "## A\n") is None
    assert ADAPTER.split("identity.json", "## A\n") is None


def test_a_large_section_is_divided_between_its_blocks() -> None:
    items = "".join(f"- item {number}: {'word ' * 20}\n  and more\n" for number in range(200))
    pieces = contents("memory/a.md", f"## Log\n\n{items}")
    assert len(pieces) > 5
    assert all(len(piece) <= LARGEST_SECTION for piece in pieces)
    assert all(piece.startswith(("## Log", "- item")) for piece in pieces)


def test_an_insertion_into_a_divided_section_moves_only_the_cuts_near_it() -> None:
    items = [f"- item {number}: {'word ' * 20}\n" for number in range(300)]
    before = contents("memory/a.md", "## Log\n\n" + "".join(items))
    after = contents("memory/a.md", "## Log\n\n" + "".join([*items[:3], "- something new\n", *items[3:]]))
    assert len(set(after) - set(before)) <= 4


def test_a_fence_is_never_divided() -> None:
    code = "```\n" + "".join(f"line {number}\n\n- not an item\n" for number in range(400)) + "```\n"
    pieces = contents("memory/a.md", f"## A\n\ntext\n\n{code}\nafter\n")
    assert any(code in piece for piece in pieces)


@pytest.mark.parametrize(
    "text", ["# " + " " * 200_000 + "x", "<!--" * 50_000, "`" * 200_001, "[a|i=" * 50_000, "#" * 200_000]
)
def test_hostile_text_costs_no_time(text: str) -> None:
    started = time.process_time()
    split("memory/a.md", text)
    assert time.process_time() - started < 5


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# A",
            "## B",
            "### C",
            "- item",
            "1. one",
            "```",
            "~~~~",
            "---",
            "",
            " ",
            "    deep",
            "text #tag",
            "<!-- observed: 2026-01-02 -->",
        ]
    )
    | st.text(max_size=20),
    max_size=40,
)


@given(MARKDOWN, st.sampled_from(["\n", "\r\n", "\n\n"]), st.sampled_from(["MEMORY.md", "USER.md", "memory/a.md"]))
def test_joining_the_sections_gives_back_any_text(parts: list[str], end: str, name: str) -> None:
    split(name, end.join(parts))


@given(st.text(max_size=300), st.integers(1, 60))
def test_joining_the_pieces_of_a_large_section_gives_back_any_text(text: str, times: int) -> None:
    whole = (text + "\n\n- ") * times
    assert "".join(note_splitting.divide_section(whole)) == whole
