"""`records show`: what there is to know about one memory beside its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records as lines
from lifeboat_alf.memory import record_lifecycle
from lifeboat_alf.memory.record_lifecycle import RecordContext, RecordStep
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_cli.history import record_listing
from lifeboat_cli.history.record_listing import RecordPageRequest
from lifeboat_core.errors import UnknownRecord
from lifeboat_core.memories import edit_records
from lifeboat_core.memories.edit_records import commit_changes
from support.alf.raising import raises_code
from support.core.protected import MEMORY, Protected
from support.core.purged_here import purge

TEA = "## Tea\n\nLikes green tea in the morning.\n\n"
SNOW = "# Day\n\nSnow on the deck.\n"
NOBODY = "01900000-0000-7000-8000-000000000001"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.write("memory/2026-02-03.md", SNOW)
    made.add()
    return made


def about(ada: Protected, record_id: str) -> JsonObject:
    (shown,) = edit_records.show_records(ada.context, ada.agent, [record_id])
    found: JsonObject = shown["about"]
    return found


def write_day(ada: Protected, word: str) -> str:
    ada.write("memory/2026-02-03.md", SNOW.replace("Snow", word))
    ada.capture()
    found: str = ada.memories()[SNOW.replace("Snow", word)]["id"]
    return found


def link(ada: Protected, text: str, links: Any) -> None:
    """What a runtime or an import says of a memory."""

    def change(scribe: RecordContext, old: JsonObject, item: Record, state: State) -> RecordStep:
        return record_lifecycle.edit_record(scribe, old, item.partition, old["content"], {"related_records": links})

    with ada.context.vault(ada.agent.id) as vault:
        item = vault.state().record(ada.memories()[text]["id"])
        assert item is not None
        commit_changes(ada.context, ada.agent, vault, [item], change, "updated")


def test_it_says_where_a_memory_came_from_and_since_when_it_says_this(ada: Protected) -> None:
    ada.write("memory/other.md", "# Other\n\nSomething else.\n")
    ada.capture()
    found = about(ada, ada.memories()[TEA]["id"])
    assert found["provenance"]["runtime"] == "openclaw" and found["provenance"]["origin_file"] == "MEMORY.md"
    assert found["provenance"]["identity_version"] == 1 and found["provenance"]["session_id"] is None
    assert (found["first_sequence"], found["last_sequence"], found["present"]) == (0, 1, True)
    assert (found["text"], found["links"], found["stats"]) == (TEA, [], None)
    assert [(one["sequence"], one["current"], one["purged"]) for one in found["chain"]] == [(0, True, False)]


def test_an_edit_in_place_begins_what_it_says_now_anew(ada: Protected) -> None:
    ada.write("MEMORY.md", MEMORY.replace("green", "white"))
    ada.capture()
    found = about(ada, ada.memories()[TEA.replace("green", "white")]["id"])
    assert (found["first_sequence"], found["last_sequence"]) == (1, 1)
    assert [one["sequence"] for one in found["chain"]] == [0]


def test_a_chain_is_told_from_its_beginning_by_any_of_its_ids(ada: Protected) -> None:
    ids: list[str | None] = [ada.memories()[SNOW]["id"], write_day(ada, "Ice")]
    ada.clock.advance(days=100)
    ids.append(write_day(ada, "Slush"))
    for place, one in enumerate(ids):
        found = about(ada, str(one))
        assert [each["id"] for each in found["chain"]] == ids
        assert [each["sequence"] for each in found["chain"]] == [0, 1, 2]
        assert [each["current"] for each in found["chain"]] == [False, False, True]
        assert found["supersedes"] == ids[1] and found["superseded_by"] == [*ids, None][place + 1]
        assert (found["first_sequence"], found["last_sequence"]) == (2, 2)


def test_a_text_that_came_back_was_there_from_its_first_time_on(ada: Protected) -> None:
    write_day(ada, "Ice")
    found = about(ada, write_day(ada, "Snow"))
    assert (found["first_sequence"], found["last_sequence"]) == (0, 2)


@pytest.mark.parametrize("text", [TEA, SNOW])
def test_of_a_deleted_memory_its_last_words_are_told(ada: Protected, text: str) -> None:
    record_id = ada.memories()[text]["id"]
    edit_records.forget_records(ada.context, ada.agent, [record_id])
    ada.write("memory/other.md", "# Other\n\nSomething else.\n")
    ada.capture()
    found = about(ada, record_id)
    assert (found["text"], found["first_sequence"], found["last_sequence"]) == (text, 0, 0)
    assert found["present"] is False


def test_links_say_whether_their_target_is_there(ada: Protected) -> None:
    snow, boat = ada.memories()[SNOW]["id"], next(text for text in ada.memories() if "harbour" in text)
    given = [{"id": snow, "relation": "explains"}, {"id": NOBODY, "relation": "contradicts", "confidence": 0.5}]
    link(ada, boat, given)
    first, second = about(ada, ada.memories()[boat]["id"])["links"]
    assert (first["target"], first["relation"], first["state"]) == (snow, "explains", "present")
    assert first["snippet"] == "# Day Snow on the deck."
    assert (second["target"], second["state"], second["confidence"]) == (None, "missing", 0.5)
    ice = write_day(ada, "Ice")
    assert about(ada, ada.memories()[boat]["id"])["links"][0]["target"] == ice
    edit_records.forget_records(ada.context, ada.agent, [ice])
    assert about(ada, ada.memories()[boat]["id"])["links"][0]["state"] == "deleted"


@pytest.mark.parametrize("odd", ["none", [1, {"id": 2}, {"relation": "x"}], {"id": NOBODY}])
def test_links_that_are_none_are_passed_over(ada: Protected, odd: Any) -> None:
    boat = next(text for text in ada.memories() if "harbour" in text)
    link(ada, boat, odd)
    assert about(ada, ada.memories()[boat]["id"])["links"] == []


def test_a_thinned_beginning_is_no_beginning(ada: Protected) -> None:
    snow = ada.memories()[SNOW]["id"]
    ada.write("memory/other.md", "# Other\n\nSomething else.\n")
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        vault._metadata.execute("delete from sequence where n = 0")
    found = about(ada, snow)
    assert (found["first_sequence"], found["last_sequence"]) == (1, 1)
    assert found["chain"][0]["sequence"] == 1 and found["chain"][0]["time"] is not None


def test_what_a_record_says_of_itself_stays_as_it_is(ada: Protected) -> None:
    record_id = ada.memories()[TEA]["id"]
    (shown,) = edit_records.show_records(ada.context, ada.agent, [record_id])
    with ada.context.vault(ada.agent.id) as vault:
        item = vault.state().record(record_id)
    assert item is not None
    assert {name: value for name, value in shown.items() if name not in ("forgotten", "about")} == lines.parse_record(
        item.line
    )


def test_nothing_of_what_was_purged_is_told(ada: Protected) -> None:
    snow, boat = ada.memories()[SNOW]["id"], next(text for text in ada.memories() if "harbour" in text)
    link(ada, boat, [{"id": snow, "relation": "explains"}])
    purge(ada, snow)
    (found,) = about(ada, ada.memories()[boat]["id"])["links"]
    assert (found["target"], found["state"], found["snippet"]) == (None, "purged", "")
    with raises_code(UnknownRecord.PURGED):
        about(ada, snow)
    for status in ("active", "deleted"):
        assert "Snow" not in str(
            record_listing.list_records_page(ada.context, ada.agent, RecordPageRequest(status=status))
        )


def test_what_is_left_of_a_chain_does_not_tell_what_was_purged(ada: Protected) -> None:
    snow, ice = ada.memories()[SNOW]["id"], write_day(ada, "Ice")
    purge(ada, snow, only=True)
    found = about(ada, ice)
    assert "Snow" not in str(found) and found["text"] == SNOW.replace("Snow", "Ice")
    assert all(one["purged"] == (one["id"] == snow) for one in found["chain"])
