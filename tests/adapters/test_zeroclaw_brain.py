"""The memory database is read in any shape and state, and stays unchanged."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import DatabaseAbsent, RuntimeConfigError, RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryTable, VectorModel
from lifeboat_adapters.zeroclaw import ADAPTER
from support.adapters.zeroclaw_installs import GENERATIONS, Install, make_database, make_install, stable


def located(made: Install, alias: str = "default") -> Installation:
    return ADAPTER.locate(made.workspace(alias), {}, made.home.parent)


def store_of(made: Install, alias: str = "default") -> MemoryTable:
    found = ADAPTER.databases.memory_store(located(made, alias))
    assert isinstance(found, MemoryTable)
    return found


def contents(made: Install, alias: str = "default") -> list[str]:
    """Return the contents that the condition of the store selects."""
    store = store_of(made, alias)
    query = f"SELECT {store.content} FROM {store.table} WHERE {store.where} ORDER BY 1"
    with closing(made.connect()) as connection:
        return [row[0] for row in connection.execute(query, store.parameters)]


def listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*"))


def meta(made: Install, **values: str) -> None:
    for key, value in values.items():
        made.execute("INSERT OR REPLACE INTO memory_meta VALUES (?, ?)", f"embedding_{key}", value)


COLUMNS = {
    "0.1.0": "id key content category created_at updated_at",
    "0.1.1": "id key content category created_at updated_at",
    "0.1.5": "id key content category created_at updated_at session_id",
    "0.5.9": "id key content category created_at updated_at session_id namespace importance superseded_by",
    "0.8.0": "id key content category created_at updated_at session_id namespace importance superseded_by",
    "0.8.3": "id key content category created_at updated_at session_id namespace importance superseded_by kind pinned"
    " tenant_id",
}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_columns_are_those_of_the_generation(tmp_path: Path, generation: str) -> None:
    made = make_install(tmp_path / ".zeroclaw", generation)
    store = store_of(made)
    assert store.columns == tuple(COLUMNS[generation].split())
    assert store.vector == (None if generation == "0.1.0" else "embedding")
    assert (store.database, store.name) == (made.database, "memory/brain.db")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_row_of_every_generation_comes_back_as_it_was(tmp_path: Path, generation: str) -> None:
    made = make_install(tmp_path / ".zeroclaw", generation)
    made.remember("user_lang", "prefers Rust", session_id="tg_1", kind='"procedural"', pinned=1, importance=0.25)
    columns = store_of(made).columns
    (row,) = ({name: row[name] for name in columns} for row in made.rows())
    section = ADAPTER.databases.memory_of(located(made), row)
    assert ADAPTER.databases.row_of({"content": section.content, **section.fields}, "x") == row


@pytest.mark.parametrize("generation", GENERATIONS)
def test_looking_leaves_nothing_beside_the_database(tmp_path: Path, generation: str) -> None:
    made = make_install(tmp_path / ".zeroclaw", generation)
    made.remember("a", "b")
    before = listing(tmp_path)
    store_of(made)
    assert listing(tmp_path) == before


def test_a_database_in_use_is_read_as_it_is_now(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    with closing(made.connect()) as connection:
        connection.execute("CREATE TABLE other (x)")
        connection.commit()
        before = {name for name, _, _ in listing(tmp_path)}
        assert store_of(made).table == "memories"
        assert {name for name, _, _ in listing(tmp_path)} == before


def test_a_database_behind_a_link_is_refused(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    real = tmp_path / "disk/brain.db"
    real.parent.mkdir()
    made.database.rename(real)
    made.database.symlink_to(real)
    with closing(made.connect()) as connection:
        connection.execute("SELECT * FROM memories").fetchall()
        with pytest.raises(
            RuntimeDatabaseError, match=r"brain\.db contains a symbolic link, which Lifeboat does not follow"
        ):
            store_of(made)


def test_unknown_columns_are_carried(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.execute('ALTER TABLE memories ADD COLUMN "mood of day" TEXT')
    assert store_of(made).columns[-1] == "mood of day"


# Whose rows -----------------------------------------------------------------------------------------------------------


def test_each_agent_has_its_own_memories(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    made.remember("a", "of default")
    made.remember("a", "of rover", alias="rover")
    assert (contents(made), contents(made, "rover")) == (["of default"], ["of rover"])


def test_an_agent_without_a_row_of_its_own_remembers_nothing(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    made.remember("a", "of default")
    made.execute("DELETE FROM agents WHERE alias = 'rover'")
    assert contents(made, "rover") == []


def test_memories_of_nobody_are_those_of_the_default_agent(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    with closing(made.connect()) as connection, connection:
        connection.executescript("ALTER TABLE memories RENAME TO was; CREATE TABLE memories AS SELECT * FROM was;")
        names = "id, key, content, category, created_at, updated_at"
        connection.execute(f"INSERT INTO memories ({names}) VALUES ('1', 'k', 'x', '', '', '')")
    assert (contents(made), contents(made, "rover")) == (["x"], [])


# Vectors --------------------------------------------------------------------------------------------------------------


def test_the_model_of_the_vectors_is_what_the_database_says(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    meta(made, provider="openai", model="text-embedding-3-small", dimensions="384")
    assert store_of(made).model == VectorModel("openai/text-embedding-3-small", 384)


@pytest.mark.parametrize("dimensions", ["", "many", "0", "-3"])
def test_half_a_model_is_none(tmp_path: Path, dimensions: str) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    meta(made, provider="openai", model="m", dimensions=dimensions)
    assert store_of(made).model is None


@pytest.mark.parametrize("generation", GENERATIONS[:-1])
def test_nobody_knows_the_model_of_earlier_releases(tmp_path: Path, generation: str) -> None:
    assert store_of(make_install(tmp_path / ".zeroclaw", generation)).model is None


# What cannot be read --------------------------------------------------------------------------------------------------


def test_a_database_that_is_not_there_is_no_deletion(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.database.unlink()
    with pytest.raises(DatabaseAbsent, match=r"brain\.db does not exist"):
        ADAPTER.databases.memory_store(located(made))


@pytest.mark.parametrize("data", [b"", b"not a database" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_database_that_is_none_is_named(tmp_path: Path, data: bytes) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.database.write_bytes(data)
    with pytest.raises(RuntimeDatabaseError, match=r"brain\.db") as caught:
        ADAPTER.databases.memory_store(located(made))
    assert not isinstance(caught.value, DatabaseAbsent)


def test_a_database_whose_schema_is_no_text_is_named(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.database.write_bytes(
        made.database.read_bytes().replace(b"CREATE TABLE memories", b"CREATE \xff\xfe\xa7LE memories")
    )
    with pytest.raises(RuntimeDatabaseError):
        ADAPTER.databases.memory_store(located(made))


def test_a_broken_configuration_does_not_choose_another_store(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    (made.home / "config.toml").write_text("[agents\n")
    with pytest.raises(RuntimeConfigError, match="line 1"):
        ADAPTER.databases.memory_store(located(made))


def test_a_database_without_memories_is_named(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.execute("DROP TABLE memories")
    with pytest.raises(RuntimeDatabaseError, match="no table memories"):
        ADAPTER.databases.memory_store(located(made))


def test_a_table_without_a_column_that_all_have_is_named(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", "0.1.0")
    made.execute("ALTER TABLE memories RENAME COLUMN content TO text")
    with pytest.raises(RuntimeDatabaseError, match="no column content"):
        ADAPTER.databases.memory_store(located(made))


def test_a_folder_in_the_place_of_the_database_is_none(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.database.unlink()
    made.database.mkdir()
    with pytest.raises(RuntimeDatabaseError):
        ADAPTER.databases.memory_store(located(made))


def test_a_database_that_one_program_keeps_for_itself_is_named(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    with closing(sqlite3.connect(made.database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE other (x)")
        with pytest.raises(RuntimeDatabaseError):
            ADAPTER.databases.memory_store(located(made))


def test_a_write_that_is_under_way_is_not_waited_for(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.remember("a", "b")
    with closing(sqlite3.connect(made.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM memories")
        assert contents(made) == ["b"]
        connection.execute("ROLLBACK")


def test_a_log_without_its_index_is_left_alone(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.database.with_name("brain.db-wal").write_bytes(b"x" * 100)
    before = listing(tmp_path)
    with pytest.raises(RuntimeDatabaseError, match="not closed properly"):
        ADAPTER.databases.memory_store(located(made))
    assert listing(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="folders are not read-only there")
def test_a_database_in_a_read_only_folder_is_read(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    made.remember("a", "b")
    made.database.parent.chmod(0o500)
    try:
        assert store_of(made).table == "memories"
    finally:
        made.database.parent.chmod(0o700)


# Backends -------------------------------------------------------------------------------------------------------------


def with_backend(folder: Path, backend: str) -> Install:
    made = make_install(folder)
    file = made.home / "config.toml"
    file.write_text(file.read_text().replace("sqlite.default", backend))
    return made


@pytest.mark.parametrize("backend", ["markdown.default", "none"])
def test_an_agent_that_keeps_notes_has_no_store(tmp_path: Path, backend: str) -> None:
    made = with_backend(tmp_path / ".zeroclaw", backend)
    made.database.unlink()
    assert ADAPTER.databases.memory_store(located(made)) is None


@pytest.mark.parametrize("backend", ["lucid.default", "markdown.default", "none"])
def test_rows_from_before_another_backend_are_carried(tmp_path: Path, backend: str) -> None:
    made = with_backend(tmp_path / ".zeroclaw", backend)
    made.remember("a", "b")
    assert contents(made) == ["b"]


def test_a_server_is_not_asked_without_leave(tmp_path: Path) -> None:
    made = with_backend(tmp_path / ".zeroclaw", "postgres.main")
    with pytest.raises(RuntimeDatabaseError, match="PostgreSQL"):
        ADAPTER.databases.memory_store(located(made))


def test_a_lone_workspace_has_its_own_database(tmp_path: Path) -> None:
    make_database(tmp_path / "memory/brain.db", "0.1.5")
    (tmp_path / "SOUL.md").write_text("# Soul\n")
    store = ADAPTER.databases.memory_store(ADAPTER.locate(tmp_path, {}, tmp_path / "nobody"))
    assert isinstance(store, MemoryTable)
    assert store.database == tmp_path / "memory/brain.db"


def test_what_agents_are_called_in_rows_is_known_by_their_alias(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("rover",))
    store = store_of(made, "rover")
    assert store.parameters == (stable("agent", "rover"),)


def _change(install: Install, script: str) -> None:
    with closing(sqlite3.connect(install.database)) as connection:
        connection.executescript(script)


def test_computed_columns_of_other_tables_are_no_obstacle(tmp_path: Path) -> None:
    install = make_install(tmp_path / "z")
    _change(install, "ALTER TABLE agents ADD COLUMN loud TEXT GENERATED ALWAYS AS (upper(alias)) VIRTUAL")
    found = [row.values for row in ADAPTER.databases.rows(located(install), transcripts=False) if "alias" in row.values]
    assert [sorted(values) for values in found] == [["alias", "created_at", "id"]]


@pytest.mark.parametrize("name", ["memories", "agents"])
def test_a_view_that_never_ends_is_not_read(tmp_path: Path, name: str) -> None:
    install = make_install(tmp_path / "z")
    columns = ", ".join(f"x AS {row['name']}" for row in install.rows(f"pragma_table_info('{name}')"))
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    _change(install, f"ALTER TABLE {name} RENAME TO old; CREATE VIEW {name} AS {endless} SELECT {columns} FROM c")
    with pytest.raises(RuntimeDatabaseError):
        ADAPTER.databases.memory_store(located(install))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_beside_the_database_is_not_waited_for(tmp_path: Path) -> None:
    install = make_install(tmp_path / "z")
    os.mkfifo(f"{install.database}-journal")
    assert ADAPTER.databases.memory_store(located(install)) is not None


def test_memories_of_agents_that_nobody_lists_are_no_deletion(tmp_path: Path) -> None:
    install = make_install(tmp_path / "z")
    install.remember("tea", "Likes tea.")
    _change(install, "PRAGMA foreign_keys=OFF; DROP TABLE agents")
    with pytest.raises(RuntimeDatabaseError):
        ADAPTER.databases.memory_store(located(install))
