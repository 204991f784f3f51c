"""`records list`: what an agent remembers, page by page, newest first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.history import record_listing
from lifeboat_cli.history.record_listing import RecordPageRequest
from lifeboat_core.errors import RecordError, UnknownRecord
from lifeboat_core.memories import edit_records, memory_search
from lifeboat_core.memories.memory_search import MemoryFilters
from lifeboat_core.state.state_db import delete_cache
from support.alf.raising import raises_code
from support.core.protected import MEMORY, Protected

TEA = "## Tea\n\nLikes green tea in the morning.\n\n"
SNOW = "# Day\n\nSnow on the deck.\n"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.write("memory/rules.md", "# Rules\n\nNever sail alone in fog #safety\n")
    made.write("memory/2026-02-03.md", SNOW)
    made.add()
    return made


def page(ada: Protected, **wanted: Any) -> JsonObject:
    return record_listing.list_records_page(ada.context, ada.agent, RecordPageRequest(**wanted))


def snippets(ada: Protected, **wanted: Any) -> list[str]:
    return [one["snippet"] for one in page(ada, **wanted)["records"]]


def made_again(ada: Protected) -> JsonObject:
    delete_cache(ada.context.home.state_file(ada.agent.id))
    return page(ada)


def test_every_memory_is_listed_with_what_a_browser_shows(ada: Protected) -> None:
    found = page(ada)
    assert (found["agent"], found["sequence"], found["next"]) == (ada.agent.id, 0, None)
    assert found["total"] == found["shown"] == len(found["records"]) == len(ada.memories())
    fog = next(one for one in found["records"] if "fog" in one["snippet"])
    assert fog == {
        "id": next(one["id"] for text, one in ada.memories().items() if "fog" in text),
        "memory_type": "procedural",
        "status": "active",
        "namespace": "default",
        "created_at": "2026-11-12T11:59:00.000Z",
        "observed_at": None,
        "origin_file": "memory/rules.md",
        "snippet": "# Rules Never sail alone in fog #safety",
        "identity_version": 1,
        "pinned": False,
        "forgotten": False,
        "tags": ["safety"],
    }


def test_the_newest_come_first_and_each_kind_is_counted(ada: Protected) -> None:
    ada.clock.advance(days=1)
    ada.write("memory/new.md", "# New\n\nThe anchor was painted.\n")
    ada.capture()
    found = page(ada, filters=MemoryFilters(tag="safety"))
    assert found["total"] == 1 and sum(found["types"].values()) == len(ada.memories())
    assert found["statuses"] == {"active": len(ada.memories())} and found["namespaces"] == {
        "default": len(ada.memories())
    }
    assert found["types"]["procedural"] == 1 and set(found["identity_versions"]) == {"1"}
    listed = snippets(ada)
    assert listed[0] == "# New The anchor was painted." and listed[-1] == "# Day Snow on the deck."


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"filters": MemoryFilters(memory_type="procedural")}, 1),
        ({"filters": MemoryFilters(memory_type="preference")}, 0),
        ({"filters": MemoryFilters(namespace="other")}, 0),
        ({"filters": MemoryFilters(tag="safety")}, 1),
        ({"filters": MemoryFilters(identity_version=1), "words": "fog"}, 1),
        ({"filters": MemoryFilters(identity_version=2)}, 0),
        ({"words": "sail fo"}, 1),
        ({"words": "sail fog tea"}, 0),
        ({"words": '" OR fog*)'}, 0),
        ({"status": "archived"}, 0),
    ],
)
def test_filters_narrow(ada: Protected, wanted: JsonObject, count: int) -> None:
    found = page(ada, **wanted)
    assert found["total"] == len(found["records"]) == count


def test_pages_give_every_memory_once(ada: Protected) -> None:
    whole = [one["id"] for one in page(ada)["records"]]
    found, after = [], None
    while True:
        part = page(ada, limit=2, after=after)
        assert part["total"] == len(whole) and part["shown"] <= 2
        found += [one["id"] for one in part["records"]]
        after = part["next"]
        if after is None:
            break
    assert found == whole


def test_a_page_ends_before_it_is_too_large_for_a_client(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_listing, "LARGEST_PAGE", 2_000)
    found = page(ada)
    assert 0 < found["shown"] < found["total"] and found["next"] == found["records"][-1]["id"]
    monkeypatch.setattr(record_listing, "LARGEST_PAGE", 1)
    assert page(ada)["shown"] == 1


def test_going_on_after_what_is_not_there_is_refused(ada: Protected) -> None:
    with pytest.raises(UnknownRecord):
        page(ada, after="01900000-0000-7000-8000-000000000001")


def test_a_type_or_a_status_that_is_none_is_refused_with_those_that_there_are(ada: Protected) -> None:
    with raises_code(RecordError.UNKNOWN_KIND, match="episodic, preference, procedural, semantic and summary"):
        page(ada, filters=MemoryFilters(memory_type="nonsense"))
    with raises_code(RecordError.UNKNOWN_KIND, match="active, archived and deleted"):
        page(ada, status="nonsense")
    with raises_code(RecordError.UNKNOWN_KIND):
        memory_search.search_memories(ada.context, ada.agent, "fog", MemoryFilters(memory_type="nonsense"))


def test_a_deleted_memory_is_listed_only_on_request_with_its_last_words(ada: Protected) -> None:
    """One in an open partition keeps its text, one in a sealed partition is a tombstone."""
    ids = [ada.memories()[text]["id"] for text in (TEA, SNOW)]
    edit_records.forget_records(ada.context, ada.agent, ids)
    assert not {"# Day Snow on the deck.", "## Tea Likes green tea in the morning."} & set(snippets(ada))
    gone = page(ada, status="deleted")
    assert {one["snippet"] for one in gone["records"]} == {
        "# Day Snow on the deck.",
        "## Tea Likes green tea in the morning.",
    }
    assert gone["statuses"]["deleted"] == 2 and all(one["status"] == "deleted" for one in gone["records"])
    assert all(one["forgotten"] for one in gone["records"])
    assert [one["id"] for one in page(ada, status="deleted", words="green te")["records"]] == [ids[0]]
    assert made_again(ada)["statuses"] == gone["statuses"]
    edit_records.restore_records(ada.context, ada.agent, [one["id"] for one in gone["records"]])
    back = page(ada)
    assert page(ada, status="deleted")["total"] == 0 and "# Day Snow on the deck." in snippets(ada)
    assert not any(one["forgotten"] for one in back["records"])


def test_a_memory_that_vanished_although_it_was_pinned_is_listed_as_archived(ada: Protected) -> None:
    edit_records.pin_records(ada.context, ada.agent, [ada.memories()[TEA]["id"]])
    ada.write("MEMORY.md", MEMORY.replace(TEA, ""))
    ada.capture()
    (tea,) = page(ada, status="archived")["records"]
    assert tea["pinned"] and tea["snippet"].startswith("## Tea")
    assert tea in page(ada)["records"]


def test_of_a_chain_only_the_memory_that_counts_is_listed(ada: Protected) -> None:
    for word in ("Ice", "Slush"):
        ada.write("memory/2026-02-03.md", SNOW.replace("Snow", word))
        ada.capture()
    assert [one for one in snippets(ada) if "deck" in one] == ["# Day Slush on the deck."]
    found = page(ada)
    assert made_again(ada) == found


def test_a_snippet_is_one_short_line_that_steers_no_terminal(ada: Protected) -> None:
    ada.write("memory/odd.md", "# Odd\n\nA\x1b[31mB\x07 \u202eC " + "word " * 100 + "\n")
    ada.capture()
    (odd,) = [one for one in snippets(ada) if one.startswith("# Odd")]
    assert odd.isprintable() and odd.startswith("# Odd A [31mB C word") and len(odd) <= 160 and odd.endswith("…")


def test_an_agent_of_which_nothing_was_captured_has_no_memories(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.add()
    delete_cache(ada.context.home.state_file(ada.agent.id))
    assert page(ada)["sequence"] == 0
