from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.zeroclaw.restore import brain_rows
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import zeroclaw_installs as installs
from support.adapters import zeroclaw_restores as restores
from support.adapters.zeroclaw_installs import Install
from support.adapters.zeroclaw_restores import NEWER, OLDER, memory, row_record, state_of
from support.alf.packed_vectors import RecordVector, pack_vectors

TEA = row_record("She drinks green tea.", "tea")


@pytest.fixture(params=installs.GENERATIONS)
def install(request: Any, tmp_path: Path) -> Install:
    return installs.make_install(tmp_path / "home", request.param)


@pytest.fixture
def current(tmp_path: Path) -> Install:
    return installs.make_install(tmp_path / "home", agents=("default", "ada"))


def texts(install: Install) -> dict[str, str]:
    return {row["key"]: row["content"] for row in install.rows()}


def with_text(record: Any, text: str, at: str = NEWER) -> Any:
    """Return a memory that was edited in another runtime."""
    return {**record, "content": text, "temporal": {**record["temporal"], "updated_at": at}}


# Every generation ---------------------------------------------------------------------------------------------------


def test_rows_that_an_archive_never_knew_stay(install: Install) -> None:
    install.remember("grass", "The green grass.")
    restores.restored(restores.located(install), state_of(TEA), exact=True, before=MemoryState())
    assert texts(install) == {"grass": "The green grass.", "tea": "She drinks green tea."}


def test_a_second_restore_changes_nothing(install: Install) -> None:
    state = state_of(TEA, memory("He drinks black coffee."), memory("Ä 日本 \x00 𝄞"))
    restores.restored(restores.located(install), state)
    again = restores.planned(restores.located(install), state)
    assert (again.changes, set(restores.outcomes(again).values())) == (False, {"deduplicated"})


def test_what_the_database_holds_afterwards_is_told(install: Install) -> None:
    write = restores.restored(restores.located(install), state_of(TEA))
    assert write.held == (TEA["id"],)


def test_columns_that_a_release_lacks_are_told_and_left_out(install: Install) -> None:
    pinned = row_record("She drinks tea.", "tea", pinned=1, namespace="work", session_id="s1", kind='"episodic"')
    write = restores.restored(restores.located(install), state_of(pinned))
    known = install.rows()[0].keys()
    lacking = sorted({"pinned", "namespace", "session_id", "kind"} - known)
    told = [fate.reason for fate in write.fates if fate.outcome == "transformed"]
    assert told == (
        [f"the database has no column for these fields of the memory: {', '.join(lacking)}"] if lacking else []
    )


# The same memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", [None, "another-id"])
def test_an_older_row_gives_way_to_a_newer_memory(current: Install, id: str | None) -> None:
    current.remember("tea", "She drinks no tea.", id=id or installs.stable("row", "tea"), updated_at=OLDER)
    restores.restored(restores.located(current), state_of(row_record("She drinks tea.", "tea", updated_at=NEWER)))
    assert texts(current) == {"tea": "She drinks tea."}


@pytest.mark.parametrize("id", [None, "another-id"])
def test_a_newer_row_stays_and_is_told(current: Install, id: str | None) -> None:
    current.remember("tea", "She drinks no tea.", id=id or installs.stable("row", "tea"), updated_at=NEWER)
    write = restores.planned(restores.located(current), state_of(TEA))
    assert (write.changes, [(fate.outcome, fate.reason) for fate in write.fates]) == (
        False,
        [("rejected", brain_rows.NEWER)],
    )


def test_an_exact_restore_brings_an_older_text_back(current: Install) -> None:
    current.remember("tea", "She drinks no tea.", id=installs.stable("row", "tea"), updated_at=NEWER)
    restores.restored(restores.located(current), state_of(TEA), exact=True, before=state_of(TEA))
    assert texts(current) == {"tea": "She drinks green tea."}


def test_an_exact_restore_gives_a_row_its_own_id_again(current: Install) -> None:
    current.remember("tea", "She drinks no tea.", id="made-anew", updated_at=NEWER)
    restores.restored(restores.located(current), state_of(TEA), exact=True, before=MemoryState())
    assert [row["id"] for row in current.rows()] == [installs.stable("row", "tea")]


def test_the_same_words_under_the_same_key_are_one_memory(current: Install) -> None:
    current.remember("tea", "She drinks green tea.", id="another-id")
    write = restores.planned(restores.located(current), state_of(TEA))
    assert (write.changes, restores.outcomes(write)) == (False, {TEA["id"]: "deduplicated"})


def test_a_text_that_was_edited_elsewhere_keeps_the_key_and_the_columns(current: Install) -> None:
    known = row_record("She drinks tea.", "tea", namespace="work", importance=0.25)
    restores.restored(restores.located(current), state_of(known))
    restores.restored(restores.located(current), state_of(with_text(known, "She drinks red tea.")))
    (row,) = current.rows()
    assert (row["key"], row["content"], row["namespace"], row["importance"]) == (
        "tea",
        "She drinks red tea.",
        "work",
        0.25,
    )


def test_two_memories_that_exchange_their_keys_exchange_them(current: Install) -> None:
    restores.restored(restores.located(current), state_of(row_record("A", "a"), row_record("B", "b")))
    swapped = [
        row_record("A", "b", id=installs.stable("row", "a")),
        row_record("B", "a", id=installs.stable("row", "b")),
    ]
    restores.restored(restores.located(current), state_of(*swapped), exact=True, before=MemoryState())
    assert texts(current) == {"a": "B", "b": "A"}


def test_two_memories_of_one_key_get_distinct_keys_each_time(current: Install) -> None:
    state = state_of(row_record("A", "k", id="id-of-the-first"), row_record("B", "k", id="id-of-the-second"))
    restores.restored(restores.located(current), state)
    first = texts(current)
    again = restores.planned(restores.located(current), state)
    assert (sorted(first.values()), again.changes) == (["A", "B"], False)


def test_two_memories_of_one_row_become_two_rows(current: Install) -> None:
    state = state_of(row_record("A", "a", id="one"), row_record("B", "b", id="one"))
    restores.restored(restores.located(current), state)
    assert texts(current) == {"a": "A", "b": "B"}


# Other agents -------------------------------------------------------------------------------------------------------


def test_rows_of_other_agents_are_not_touched(current: Install) -> None:
    current.remember("tea", "Ada drinks milk.", "ada", id=installs.stable("row", "tea"), updated_at=OLDER)
    before = [row for row in current.rows() if row["content"] == "Ada drinks milk."]
    restores.restored(restores.located(current), state_of(TEA), exact=True, before=state_of(TEA))
    assert [row for row in current.rows() if row["content"] == "Ada drinks milk."] == before


def test_a_copy_beside_its_original_is_the_same_at_every_restore(current: Install) -> None:
    current.remember("tea", "Ada drinks milk.", "ada", id=installs.stable("row", "tea"))
    restores.restored(restores.located(current), state_of(TEA))
    assert not restores.planned(restores.located(current), state_of(TEA)).changes


def test_the_agent_that_is_there_keeps_its_id(current: Install) -> None:
    restores.restored(restores.located(current, "ada"), state_of(TEA))
    assert {row["alias"]: row["id"] for row in current.rows("agents")}["ada"] == installs.stable("agent", "ada")


# What goes ----------------------------------------------------------------------------------------------------------


def test_an_exact_restore_takes_away_what_came_later(current: Install) -> None:
    later = row_record("Learned later.", "later")
    restores.restored(restores.located(current), state_of(TEA, later))
    restores.restored(restores.located(current), state_of(TEA), exact=True, before=state_of(TEA, later))
    assert list(texts(current)) == ["tea"]


@pytest.mark.parametrize("exact", [False, True])
def test_a_memory_that_was_deleted_elsewhere_goes(current: Install, exact: bool) -> None:
    restores.restored(restores.located(current), state_of(TEA))
    write = restores.restored(restores.located(current), state_of({**TEA, "status": "deleted"}), exact=exact)
    assert (write.changes, texts(current)) == (True, {})


def test_a_memory_that_ended_with_a_tombstone_goes(current: Install) -> None:
    restores.restored(restores.located(current), state_of(TEA))
    tombstone = sample_states.make_record("[deleted]", status="deleted", supersedes=TEA["id"])
    restores.restored(restores.located(current), state_of(TEA, tombstone))
    assert texts(current) == {}


def test_a_deleted_memory_that_was_changed_here_stays_and_is_told(current: Install) -> None:
    restores.restored(restores.located(current), state_of(TEA))
    current.execute("UPDATE memories SET content = 'She drinks red tea.'")
    write = restores.planned(restores.located(current), state_of({**TEA, "status": "deleted"}))
    assert (write.changes, len(write.warnings)) == (False, 1)


def test_a_superseded_row_of_the_runtime_comes_back(current: Install) -> None:
    old = row_record("She drank milk.", "old", superseded_by=installs.stable("row", "tea"))
    restores.restored(restores.located(current), state_of(old, TEA))
    assert texts(current) == {"old": "She drank milk.", "tea": "She drinks green tea."}


def test_an_archived_memory_is_no_row(current: Install) -> None:
    write = restores.planned(restores.located(current), state_of({**TEA, "status": "archived"}))
    assert restores.outcomes(write) == {TEA["id"]: "omitted"}


# Cuts ---------------------------------------------------------------------------------------------------------------


def test_a_memory_is_whole_again_where_its_text_is_given(current: Install) -> None:
    restores.restored(
        restores.located(current), state_of(TEA), texts={TEA["id"]: {"content": "She drinks sk-invented tea."}}
    )
    assert texts(current) == {"tea": "She drinks sk-invented tea."}


def test_a_memory_whose_credential_stays_out_is_withheld(current: Install) -> None:
    current.remember("tea", "She drinks sk-invented tea.", id=installs.stable("row", "tea"), updated_at=OLDER)
    write = restores.planned(restores.located(current), state_of(TEA), cut=frozenset([TEA["id"]]), exact=True)
    assert (write.changes, write.withheld, write.held) == (False, (TEA["id"],), ())


# Rows that no database takes ----------------------------------------------------------------------------------------


def broken(**columns: Any) -> Any:
    record = row_record("A broken one.", "broken")
    record["raw_source_format"]["zeroclaw"]["row"].update(columns)
    return record


@pytest.mark.parametrize(
    "columns",
    [
        {"key": None},
        {"created_at": None, "updated_at": None},
        {"importance": {"nested": 1}},
        {"pinned": 2**70},
        {"category": ["a"]},
        {"importance": {"real": "inf"}},
        {"importance": {"real": "nan"}},
        {"unknown_column": "x"},
        {"id": 5, "key": 7},
    ],
)
def test_a_row_that_does_not_fit_hinders_no_other(current: Install, columns: Any) -> None:
    state = state_of(broken(**columns), TEA)
    restores.restored(restores.located(current), state)
    assert texts(current)["tea"] == "She drinks green tea."
    assert not restores.planned(restores.located(current), state).changes


def test_a_row_without_a_key_is_rejected_with_why(current: Install) -> None:
    record = broken(key=None)
    write = restores.planned(restores.located(current), state_of(record))
    assert [(fate.outcome, fate.reason) for fate in write.fates] == [
        ("rejected", "the captured row has no value for: key")
    ]


# Vectors ------------------------------------------------------------------------------------------------------------

MODEL = "openai/text-embedding-3-small"
SETTINGS = 'embedding_provider = "openai"\nembedding_model = "text-embedding-3-small"\nembedding_dimensions = 2\n'


def with_vector(record: Any, *numbers: float, model: str = MODEL) -> MemoryState:
    state = MemoryState()
    added = state.add(record)
    vector = sample_states.make_embedding(list(numbers), model)
    for path, body in pack_vectors([RecordVector(added.partition, added.id, vector)]).items():
        state.put(path, body)
    return state


def configured(install: Install, settings: str = SETTINGS) -> Install:
    config = install.home / "config.toml"
    config.write_text(config.read_text().replace("[memory]\n", f"[memory]\n{settings}"))
    return install


def vectors(install: Install) -> list[bytes | None]:
    return [row["embedding"] for row in install.rows()]


def test_vectors_of_the_same_model_are_carried_and_named(current: Install) -> None:
    restores.restored(restores.located(configured(current)), with_vector(TEA, 1.0, -2.5))
    meta = {row["key"]: row["value"] for row in current.rows("memory_meta")}
    assert vectors(current) == [installs.packed(1.0, -2.5)]
    assert meta == {
        "embedding_provider": "openai",
        "embedding_model": "text-embedding-3-small",
        "embedding_dimensions": "2",
    }


@pytest.mark.parametrize(
    "settings",
    [
        "",
        SETTINGS.replace("openai", "custom"),
        SETTINGS.replace("3-small", "3-large"),
        SETTINGS.replace("= 2", "= 3"),
    ],
)
def test_vectors_of_another_model_are_not(current: Install, settings: str) -> None:
    restores.restored(restores.located(configured(current, settings)), with_vector(TEA, 1.0, -2.5))
    assert vectors(current) == [None]


def test_vectors_are_not_mixed_with_those_of_another_model_that_are_there(current: Install) -> None:
    current.execute("INSERT INTO memory_meta VALUES ('embedding_provider', 'other')")
    current.execute("INSERT INTO memory_meta VALUES ('embedding_model', 'm')")
    current.execute("INSERT INTO memory_meta VALUES ('embedding_dimensions', '2')")
    restores.restored(restores.located(configured(current)), with_vector(TEA, 1.0, -2.5))
    assert vectors(current) == [None]


def test_a_text_that_was_edited_elsewhere_has_no_vector(current: Install) -> None:
    restores.restored(restores.located(configured(current)), with_vector(with_text(TEA, "Other words."), 1.0, -2.5))
    assert vectors(current) == [None]


def test_a_row_whose_text_stays_keeps_its_vector(current: Install) -> None:
    id = installs.stable("row", "tea")
    current.remember(
        "tea", "She drinks green tea.", id=id, updated_at=OLDER, embedding=installs.packed(3.0), category="daily"
    )
    newer = row_record("She drinks green tea.", "tea", updated_at=NEWER)
    restores.restored(restores.located(current), state_of(newer))
    assert vectors(current) == [installs.packed(3.0)]


# What the runtime does by itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "count"),
    [("", 1), ("hygiene_enabled = false\n", 0), ("conversation_retention_days = 9999\n", 0)],
)
def test_conversations_that_the_runtime_will_delete_are_warned_of(current: Install, settings: str, count: int) -> None:
    talk = row_record("We talked.", "talk", category="conversation")
    write = restores.planned(restores.located(configured(current, settings)), state_of(talk, TEA))
    assert len(write.warnings) == count
