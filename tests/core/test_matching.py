"""Matching: which section is which memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.memory import memory_matching
from lifeboat_alf.memory.memory_matching import (
    EDITED,
    REVIVED,
    SAME,
    ChangedFile,
    FileSection,
    Heading,
    HeldMemory,
    SectionMatch,
)


def run(*files: ChangedFile, dead: dict[str, str] | None = None, headings: list[Heading] | None = None) -> None:
    left = dict(dead or {})
    memory_matching.match_sections(
        files,
        lambda text: SectionMatch(left.pop(text), REVIVED) if text in left else None,
        lambda file: headings or [()] * len(file.old),
    )


def file(old: str, new: str, path: str = "a") -> ChangedFile:
    """Texts divided by `|`; the old ones have ids a0, a1 ..."""
    olds = [HeldMemory(f"{path}{number}", text) for number, text in enumerate(old.split("|")) if text]
    return ChangedFile(path, olds, [FileSection(text) for text in new.split("|") if text])


def test_equal_texts_keep_their_ids_wherever_they_stand() -> None:
    one = file("tea|boat|rope", "rope|new|tea|boat")
    run(one)
    assert one.found == {0: SectionMatch("a2", SAME), 2: SectionMatch("a0", SAME), 3: SectionMatch("a1", SAME)}


def test_equal_texts_are_taken_in_order() -> None:
    one = file("x|x|x", "x|x")
    run(one)
    assert [one.found[place].id for place in (0, 1)] == ["a0", "a1"]
    assert [old.id for old in one.left_old()] == ["a2"]


def test_a_text_moves_to_another_file() -> None:
    one, other = file("tea|boat", "boat", "a"), file("", "tea", "b")
    run(one, other)
    assert other.found == {0: SectionMatch("a0", SAME)} and one.left_old() == []


def test_a_copy_is_new_while_the_original_stays() -> None:
    one, other = file("tea", "tea", "a"), file("", "tea", "b")
    run(one, other)
    assert other.found == {}


def test_a_deleted_text_is_revived_before_an_edit_is_assumed() -> None:
    one = file("the cat sat on the mat", "the cat sat on the hat")
    run(one, dead={"the cat sat on the hat": "z9"})
    assert one.found == {0: SectionMatch("z9", REVIVED)}


def test_a_heading_that_stands_once_on_both_sides_names_the_memory() -> None:
    one = ChangedFile(
        "a",
        [HeldMemory("a0", "one"), HeldMemory("a1", "two")],
        [FileSection("three", ("T",)), FileSection("one", ("S",))],
    )
    run(one, headings=[("S",), ("T",)])
    assert one.found == {0: SectionMatch("a1", EDITED), 1: SectionMatch("a0", SAME)}


def test_a_heading_that_stands_twice_names_nothing() -> None:
    one = ChangedFile(
        "a",
        [HeldMemory("a0", "one"), HeldMemory("a1", "two")],
        [FileSection("three", ("T",)), FileSection("four", ("T",))],
    )
    run(one, headings=[("T",), ("T",)])
    assert one.found == {}


def test_six_words_in_ten_are_enough_and_the_best_pair_comes_first() -> None:
    one = file("a b c d e f g h i j|a b c d e f g h x y", "a b c d e f g h i k")
    run(one)
    assert one.found == {0: SectionMatch("a0", EDITED)}
    other = file("a b c d e f g h i j", "a b c d e 1 2 3 4 5")
    run(other)
    assert other.found == {}


def test_headings_are_only_asked_for_when_something_is_left() -> None:
    asked = []
    one = file("tea|boat", "new|tea|boat")
    memory_matching.match_sections([one], lambda text: None, lambda found: asked.append(found) or [])  # type: ignore[func-returns-value]
    assert asked == []


def test_a_forgotten_text_is_matched_by_its_bytes_alone() -> None:
    one = ChangedFile("a", [HeldMemory("a0", "a b c d", gone=True)], [FileSection("a b c e")])
    run(one)
    assert one.found == {}
    two = ChangedFile("a", [HeldMemory("a0", "a b c d", gone=True)], [FileSection("a b c d")])
    run(two)
    assert two.found == {0: SectionMatch("a0", SAME)}


def test_too_many_to_compare_go_by_order() -> None:
    count = memory_matching.MOST_PAIRS + 1
    one = file("|".join(f"old{n}" for n in range(count)), "|".join(f"new{n}" for n in range(count)))
    run(one)
    assert all(one.found[place] == SectionMatch(f"a{place}", EDITED) for place in range(count))


texts = st.lists(st.sampled_from(["tea", "boat", "a b c d e", "a b c d f", "a b c e f", "rope", "x"]), max_size=8)


@given(texts, texts, texts, texts)
def test_no_memory_is_two_sections_and_nothing_is_lost(
    old_a: list[str], new_a: list[str], old_b: list[str], new_b: list[str]
) -> None:
    files = [file("|".join(old_a), "|".join(new_a), "a"), file("|".join(old_b), "|".join(new_b), "b")]
    run(*files)
    used = [match.id for one in files for match in one.found.values()]
    assert len(used) == len(set(used))
    known = {old.id: old.content for one in files for old in one.old}
    left = {old.id for one in files for old in one.left_old()}
    assert left | set(used) == set(known) and not left & set(used)
    for one in files:
        for place, match in one.found.items():
            assert (match.how == SAME) == (known[match.id] == one.new[place].content)
