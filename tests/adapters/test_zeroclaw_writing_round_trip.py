from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_adapters.zeroclaw import ADAPTER, zeroclaw_paths
from lifeboat_alf.memory import memory_records
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import zeroclaw_installs as installs
from support.adapters import zeroclaw_restores as restores
from support.adapters.zeroclaw_restores import NEWER, OLDER

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
SAID = TEXT.filter(lambda text: bool(text.strip()))
TIME = st.sampled_from([OLDER, NEWER, "2026-08-22T10:11:12.123456789+02:00"])
FOREIGN = st.fixed_dictionaries(
    {"content": SAID},
    optional={
        "memory_type": st.sampled_from(["semantic", "episodic", "procedural", "preference", "summary", "dream"]),
        "category": SAID,
        "namespace": SAID,
        "confidence": st.floats(0, 1),
        "pinned": st.booleans(),
        "tags": st.lists(SAID, min_size=1, max_size=3),
    },
)
ROW = st.fixed_dictionaries(
    {"content": SAID, "key": SAID, "category": SAID, "created_at": TIME, "updated_at": TIME},
    optional={
        "session_id": TEXT,
        "namespace": TEXT,
        "importance": st.floats(allow_nan=False) | st.integers(-5, 5),
        "superseded_by": SAID,
        "kind": st.sampled_from(['"episodic"', '{"semantic":"fact"}', "nonsense"]),
        "pinned": st.integers(-3, 3),
        "tenant_id": TEXT,
    },
)


def states(memories: list[Any]) -> MemoryState:
    state = MemoryState()
    for number, given_ in enumerate(memories):
        if "key" in given_:
            content, key = given_["content"], given_["key"]
            columns = {name: value for name, value in given_.items() if name not in ("content", "key")}
            state.add(restores.row_record(content, f"{key}{number}", **columns))
        else:
            fields = {name: value for name, value in given_.items() if name != "content"}
            state.add(restores.memory(given_["content"], **fields))
    return state


def read(installation: Any) -> list[dict[str, Any]]:
    """Return the rows as a capture reads them."""
    table = restores.table_of(installation)
    with closing(sqlite3.connect(table.database)) as connection:
        names = ", ".join(f'"{name}"' for name in table.columns)
        found = connection.execute(f"SELECT {names} FROM memories WHERE {table.where}", table.parameters).fetchall()
    return [dict(zip(table.columns, values, strict=True)) for values in found]


@settings(max_examples=60, deadline=None)
@given(memories=st.lists(FOREIGN | ROW, max_size=8))
@pytest.mark.parametrize("layout", [zeroclaw_paths.CURRENT, zeroclaw_paths.EARLY])
def test_every_memory_is_read_back_as_the_row_that_it_was_to_be(layout: str, memories: list[Any]) -> None:
    state = states(memories)
    with tempfile.TemporaryDirectory() as folder:
        installation = restores.fresh(Path(folder), layout)
        write = restores.planned(installation, state)
        found = []
        if write.changes:
            restores.put(write)
            found = read(installation)
        again = restores.planned(installation, state)
    lines = [record.line for record in state.records()]
    assert len(found) == len(lines) == len(write.held)
    assert not again.changes
    wanted = [ADAPTER.databases.row_of(record, record["id"]) for record in map(memory_records.parse_record, lines)]
    known = found[0].keys() if found else set()
    expected = [{name: value for name, value in row.items() if name in known} for row in wanted]
    assert _by_id([{name: row[name] for name in each} for row, each in _paired(found, expected)]) == _by_id(expected)


def _paired(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    rows = {row["id"]: row for row in found}
    return [(rows[each["id"]], each) for each in expected]


def _by_id(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted((sorted(row.items(), key=lambda item: item[0]) for row in rows), key=repr)


@settings(max_examples=40, deadline=None)
@given(memories=st.lists(ROW, min_size=1, max_size=6), generation=st.sampled_from(installs.GENERATIONS))
def test_rows_of_any_release_are_the_same_memories_afterwards(memories: list[Any], generation: str) -> None:
    state = states(memories)
    with tempfile.TemporaryDirectory() as folder:
        install = installs.make_install(Path(folder) / "home", generation)
        installation = restores.located(install)
        restores.restored(installation, state)
        texts = sorted(ADAPTER.databases.memory_of(installation, row).content for row in read(installation))
    assert texts == sorted(each["content"] for each in memories)


def test_many_memories_are_written_once_each(tmp_path: Path) -> None:
    state = MemoryState()
    for number in range(2000):
        state.add(sample_states.make_record(f"The fact {number} about tea."))
    installation = restores.fresh(tmp_path)
    write = restores.restored(installation, state)
    assert (len(write.held), len(read(installation))) == (2000, 2000)
