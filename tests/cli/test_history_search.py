"""`search --history`: everything that is kept, also what an agent does not know any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.history import history_search
from lifeboat_cli.history.history_search import fold_text
from lifeboat_core.errors import RecordError
from lifeboat_core.memories import edit_records
from lifeboat_core.memories.memory_search import MemoryFilters
from support.alf.raising import raises_code
from support.core.protected import MEMORY, Protected
from support.core.purged_here import purge

SNOW = "# Day\n\nSnow on the deck.\n"
TEA = "## Tea\n\nLikes green tea in the morning.\n\n"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.write("memory/2026-02-03.md", SNOW)
    made.write("data/plan.txt", "first line\nbuy a lamp\nlast line\n")
    made.add()
    return made


def find(ada: Protected, words: str, limit: int = 20, **filters: Any) -> JsonObject:
    return history_search.search_history(ada.context, ada.agent, words, MemoryFilters(**filters), limit=limit)


def spans(ada: Protected, words: str, **filters: Any) -> list[tuple[str, str, int, int, bool]]:
    hits = find(ada, words, **filters)["hits"]
    return [(one["kind"], one["origin_file"], one["first"], one["last"], one["present"]) for one in hits]


def other_change(ada: Protected) -> None:
    ada.write("SOUL.md", f"# Soul\n\nBe brave at {ada.clock.now()}.\n")
    ada.capture()


def test_a_memory_that_was_edited_is_found_with_when_it_stood_there(ada: Protected) -> None:
    other_change(ada)
    ada.write("MEMORY.md", MEMORY.replace("green", "white"))
    ada.capture()
    other_change(ada)
    assert spans(ada, "green tea") == [("memory", "MEMORY.md", 0, 1, False)]
    assert spans(ada, "white tea") == [("memory", "MEMORY.md", 2, 3, True)]
    assert [hit[2:] for hit in spans(ada, "tea morning")] == [(2, 3, True), (0, 1, False)]


def test_a_hit_tells_what_it_is(ada: Protected) -> None:
    (hit,) = find(ada, "GREEN")["hits"]
    assert hit["id"] == ada.memories()[TEA]["id"] and (hit["path"], hit["line"]) == (None, None)
    assert hit["snippet"] == "## Tea Likes [green] tea in the morning." and hit["sequence"] == 0
    assert hit["memory_type"] == "summary"


def test_a_line_of_a_file_is_found_with_its_number(ada: Protected) -> None:
    ada.write("data/plan.txt", "first line\nsecond line\nbuy a lamp\n")
    ada.capture()
    ada.write("data/plan.txt", "first line\n")
    ada.capture()
    (hit,) = find(ada, "lamp")["hits"]
    assert (hit["kind"], hit["path"], hit["line"], hit["id"]) == ("file", "data/plan.txt", 3, None)
    assert (hit["first"], hit["last"], hit["present"], hit["snippet"]) == (0, 1, False, "buy a [lamp]")


def test_a_file_that_is_gone_is_found(ada: Protected) -> None:
    (ada.workspace / "data/plan.txt").unlink()
    ada.capture()
    assert spans(ada, "lamp") == [("file", "data/plan.txt", 0, 0, False)]


def test_notes_are_found_as_memories_and_not_once_more_as_lines(ada: Protected) -> None:
    assert spans(ada, "snow") == [("memory", "memory/2026-02-03.md", 0, 0, True)]


def test_a_superseded_memory_was_there_until_its_successor_came(ada: Protected) -> None:
    """Its record stays in its sealed partition for ever."""
    other_change(ada)
    ada.write("memory/2026-02-03.md", SNOW.replace("Snow", "Ice"))
    ada.capture()
    assert spans(ada, "snow deck") == [("memory", "memory/2026-02-03.md", 0, 1, False)]


@pytest.mark.parametrize("text", [TEA, SNOW])
def test_what_was_forgotten_is_found_once_and_not_as_present(ada: Protected, text: str) -> None:
    record_id = ada.memories()[text]["id"]
    word = "green" if text == TEA else "snow"
    edit_records.forget_records(ada.context, ada.agent, [record_id])
    assert [hit[2:] for hit in spans(ada, word)] == [(0, 0, False)]
    edit_records.restore_records(ada.context, ada.agent, [record_id])
    assert [hit[2:] for hit in spans(ada, word)] == [(0, 2, True)]


def test_what_was_purged_is_found_nowhere(ada: Protected) -> None:
    ada.write("memory/2026-02-03.md", SNOW.replace("Snow", "Ice"))
    ada.capture()
    purge(ada, texts=["Snow on", "buy a lamp"])
    assert find(ada, "snow")["total"] == find(ada, "lamp")["total"] == 0
    assert find(ada, "last line")["total"] == find(ada, "harbour")["total"] == 1


def test_no_secret_is_found(tmp_path: Path) -> None:
    secret = "sk-" + "5471canary" * 4
    ada = Protected(tmp_path, config='{"channels": {"telegram": {"botToken": "' + secret + '"}}}')
    ada.add()
    ada.write_config('{"channels": {"telegram": {}}}')
    ada.capture()
    assert find(ada, "5471canary")["total"] == 0


def test_filters_are_about_memories(ada: Protected) -> None:
    assert spans(ada, "lamp", memory_type="episodic") == []
    assert len(spans(ada, "snow", memory_type="episodic", namespace="default", identity_version=1)) == 1
    assert spans(ada, "snow", tag="nothing") == spans(ada, "snow", memory_type="semantic") == []
    with raises_code(RecordError.UNKNOWN_KIND):
        find(ada, "snow", memory_type="nonsense")


def test_more_than_was_asked_for_is_said(ada: Protected) -> None:
    found = find(ada, "line", limit=1)
    assert (len(found["hits"]), found["total"], found["truncated"]) == (1, 2, True)


def test_old_versions_that_are_too_much_to_read_are_said(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.write("data/plan.txt", "a newer plan\n")
    ada.capture()
    monkeypatch.setattr(history_search, "MOST_BYTES", len("a newer plan\n" + "# Soul\n\nBe kind.\n"))
    found = find(ada, "plan")
    assert [hit["last"] for hit in found["hits"]] == [1] and found["unread"] > 0 and found["truncated"]


@pytest.mark.parametrize("words", ["", " ", '"', "fog)", "\u0301", "\\u", "%_"])
def test_no_words_break_it(ada: Protected, words: str) -> None:
    assert find(ada, words)["total"] == 0


def test_accents_and_case_make_no_difference(ada: Protected) -> None:
    ada.write("memory/cafe.md", "# Café\n\nÜber die BRÜCKE zum Café, wo ﬁsche sind.\n")
    ada.write("data/wege.txt", "eins\nzur Brücke\n")
    ada.capture()
    (memory,) = find(ada, "brucke cafe")["hits"]
    assert memory["snippet"] == "# [Café] Über die [BRÜCKE] zum [Café], wo ﬁsche sind."
    assert find(ada, "fisch")["hits"][0]["snippet"].endswith("wo [ﬁsch]e sind.")
    assert {hit["line"] for hit in find(ada, "BRÜCKE")["hits"]} == {None, 2}
    assert fold_text("ÅNGSTRÖM") == "angstrom"


def test_a_long_text_is_shown_around_the_place_without_control_characters(ada: Protected) -> None:
    ada.write("data/long.txt", "word " * 100 + "the \x1b[31mneedle is here " + "word " * 100 + "\n")
    ada.capture()
    (hit,) = find(ada, "needle")["hits"]
    assert "[needle] is here" in hit["snippet"] and len(hit["snippet"]) < 250 and hit["snippet"].isprintable()
    assert hit["snippet"].startswith("...") and hit["snippet"].endswith("...")


def test_what_is_no_text_is_passed_over(ada: Protected) -> None:
    ada.write("data/picture.bin", b"\x00needle\n")
    ada.write("data/odd.txt", b"\xff\xfe needle\n")
    ada.capture()
    assert [hit["path"] for hit in find(ada, "needle")["hits"]] == ["data/odd.txt"]
