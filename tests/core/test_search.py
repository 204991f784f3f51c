"""Search over what the agent remembers now."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_core.memories import memory_search
from lifeboat_core.memories.memory_search import MemoryFilters
from lifeboat_core.state.state_db import WORDS, StateDb, delete_cache
from support.core.protected import MEMORY, Protected


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.write("memory/rules.md", "# Rules\n\nNever sail alone in fog #safety\n")
    made.write("memory/cafe.md", "# Café\n\nÜber die Brücke zum Café.\n")
    made.add()
    return made


def found(ada: Protected, words: str, **filters: object) -> list[str]:
    hits = memory_search.search_memories(ada.context, ada.agent, words, MemoryFilters(**filters))  # type: ignore[arg-type]
    return [hit.origin_file for hit in hits]


def test_a_hit_says_id_sequence_snippet_and_file(ada: Protected) -> None:
    (hit,) = memory_search.search_memories(ada.context, ada.agent, "harbour")
    assert hit.to_json() == {
        "id": next(one["id"] for text, one in ada.memories().items() if "harbour" in text),
        "sequence": 0,
        "snippet": "## Boat The red boat lies in the [harbour].",
        "origin_file": "MEMORY.md",
        "memory_type": "summary",
        "namespace": "default",
    }


def test_all_words_have_to_be_there_whatever_their_accents(ada: Protected) -> None:
    assert found(ada, "uber brucke cafe") == ["memory/cafe.md"]
    assert found(ada, "brucke harbour") == []


def test_filters_narrow(ada: Protected) -> None:
    assert found(ada, "fog", memory_type="procedural") == ["memory/rules.md"]
    assert found(ada, "fog", memory_type="summary") == []
    assert found(ada, "fog", tag="safety") == ["memory/rules.md"]
    assert found(ada, "fog", tag="harbour") == []
    assert found(ada, "fog", namespace="default") == ["memory/rules.md"]
    assert found(ada, "fog", identity_version=1) == ["memory/rules.md"]
    assert found(ada, "fog", identity_version=2) == []


@pytest.mark.parametrize("words", ['"', "fog)", "fog OR", "NEAR(", "content:fog", "-fog*", "'; drop table", "^", ""])
def test_no_input_is_a_query_of_its_own(ada: Protected, words: str) -> None:
    memory_search.search_memories(ada.context, ada.agent, words)


def test_an_edit_replaces_and_a_deletion_removes(ada: Protected) -> None:
    ada.write("MEMORY.md", MEMORY.replace("harbour", "shed"))
    ada.capture()
    assert found(ada, "harbour") == [] and found(ada, "shed") == ["MEMORY.md"]
    (ada.workspace / "memory/cafe.md").unlink()
    ada.capture()
    assert found(ada, "brucke") == []


def test_of_a_chain_only_the_last_is_found(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.write("memory/2026-02-03.md", "# Day\n\nSnow on the deck.\n")
    ada.add()
    for word in ("Ice", "Slush"):
        ada.write("memory/2026-02-03.md", f"# Day\n\n{word} on the deck.\n")
        ada.capture()
    assert len(memory_search.search_memories(ada.context, ada.agent, "deck")) == 1
    delete_cache(ada.context.home.state_file(ada.agent.id))
    assert len(memory_search.search_memories(ada.context, ada.agent, "deck")) == 1
    assert found(ada, "slush") == ["memory/2026-02-03.md"] and found(ada, "snow") == []


def test_a_deleted_index_is_made_again(ada: Protected) -> None:
    before = memory_search.search_memories(ada.context, ada.agent, "fog")
    delete_cache(ada.context.home.state_file(ada.agent.id))
    assert memory_search.search_memories(ada.context, ada.agent, "fog") == before


def test_an_index_that_stayed_behind_catches_up(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.write("MEMORY.md", MEMORY + "\n## New\n\nA walrus.\n")
    with monkeypatch.context() as patch:
        patch.setattr("lifeboat_core.capture.capture_run.memory_search.update_index", lambda db, vault: None)
        ada.capture()
    assert found(ada, "walrus") == ["MEMORY.md"]


def sequence_of(ada: Protected, words: str) -> int:
    (hit,) = memory_search.search_memories(ada.context, ada.agent, words)
    return hit.sequence


def test_the_sequence_is_the_one_that_wrote_what_the_memory_says_now(ada: Protected) -> None:
    ada.write("memory/rules.md", "# Rules\n\nNever sail alone in thick fog #safety\n")
    ada.capture()
    ada.write("memory/new.md", "# New\n\nThe anchor was painted.\n")
    ada.capture()
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    ada.capture()
    assert [sequence_of(ada, words) for words in ("harbour", "fog", "anchor")] == [0, 1, 2]


def test_a_memory_that_only_moved_was_not_written_again(ada: Protected) -> None:
    (ada.workspace / "memory/rules.md").unlink()
    ada.write("memory/safety.md", "# Rules\n\nNever sail alone in fog #safety\n")
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        (hit,) = memory_search.search_memories(ada.context, ada.agent, "fog")
        record = vault.state(hit.sequence).record(hit.id)
    assert record is not None and b"fog" in record.line


def test_a_cache_that_is_made_again_says_the_same(ada: Protected) -> None:
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    ada.capture()
    delete_cache(ada.context.home.state_file(ada.agent.id))
    assert sequence_of(ada, "harbour") == 0


def test_no_capture_waits_for_the_full_text(ada: Protected) -> None:
    """It is filled by the first question, and goes along with every capture from then on."""
    delete_cache(ada.context.home.state_file(ada.agent.id))
    ada.capture()
    assert not is_filled(ada)
    assert found(ada, "harbour") == ["MEMORY.md"]
    ada.write("MEMORY.md", MEMORY.replace("harbour", "quay"))
    ada.capture()
    assert is_filled(ada)
    assert found(ada, "harbour") == [] and found(ada, "quay") == ["MEMORY.md"]


def is_filled(ada: Protected) -> bool:
    with (
        ada.context.vault(ada.agent.id) as vault,
        StateDb.open(ada.context.home.state_file(ada.agent.id), vault.id) as db,
    ):
        return bool(db.get(WORDS))
