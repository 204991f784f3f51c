from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters import database_checks
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import zeroclaw_installs as installs
from support.adapters import zeroclaw_restores as restores
from support.adapters.zeroclaw_restores import memory, row_record, state_of
from support.flushes import Flushes, flushes

__all__ = ["flushes"]

LAYOUTS = (zeroclaw_paths.CURRENT, zeroclaw_paths.EARLY)
TEA, COFFEE = memory("She drinks green tea."), memory("He drinks black coffee.")
WITH_FULL_TEXT = [each for each in installs.GENERATIONS if each != "0.1.0"]


def opened(path: Path) -> Any:
    return closing(sqlite3.connect(path))


def folder_of(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in sorted(path.iterdir())}


# A new database -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_database_holds_every_memory_once(tmp_path: Path, layout: str) -> None:
    write = restores.restored(restores.fresh(tmp_path, layout), state_of(TEA, COFFEE))
    with opened(write.path) as connection:
        found = connection.execute("SELECT content FROM memories ORDER BY 1").fetchall()
    assert found == [("He drinks black coffee.",), ("She drinks green tea.",)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_database_is_closed_and_for_its_owner_only(tmp_path: Path, layout: str) -> None:
    write = restores.restored(restores.fresh(tmp_path, layout), state_of(TEA))
    assert list(folder_of(write.path.parent)) == ["brain.db"]
    assert stat.S_IMODE(write.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_database_is_on_the_disk_with_all_its_bytes(tmp_path: Path, layout: str, flushes: Flushes) -> None:
    write = restores.restored(restores.fresh(tmp_path, layout), state_of(TEA))
    (kind, _, size), renamed = flushes.seen
    assert (kind, size) == ("file", write.path.stat().st_size) and renamed[:2] == ("renamed", write.path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_database_is_kept_as_the_runtime_keeps_it(tmp_path: Path, layout: str) -> None:
    write = restores.restored(restores.fresh(tmp_path, layout), state_of(TEA))
    assert write.path.read_bytes()[18:20] == b"\x02\x02"


def test_the_runtime_does_not_take_a_new_table_for_an_old_one(tmp_path: Path) -> None:
    """ZeroClaw rebuilds a table that it takes for an old one, and drops columns. It checks the owner column and the
    unique key."""
    write = restores.restored(restores.fresh(tmp_path), state_of(TEA))
    with opened(write.path) as connection:
        columns = {row[1]: row[3] for row in connection.execute("PRAGMA table_info(memories)")}
        keys = [(row[2], row[3]) for row in connection.execute("PRAGMA foreign_key_list(memories)")]
        unique = [row[1] for row in connection.execute("PRAGMA index_list(memories)") if row[2]]
        covered = [sorted(row[2] for row in connection.execute(f'PRAGMA index_info("{each}")')) for each in unique]
    assert columns["agent_id"] == 1
    assert keys == [("agents", "agent_id")]
    assert ["agent_id", "key"] in covered


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_database_has_every_column_of_the_last_release_of_its_layout(tmp_path: Path, layout: str) -> None:
    write = restores.restored(restores.fresh(tmp_path, layout), state_of(TEA))
    last = tmp_path / "last.db"
    installs.make_database(last, "0.8.7" if layout == zeroclaw_paths.CURRENT else "0.5.9")
    query = "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info('memories') ORDER BY 1"
    with opened(write.path) as made, opened(last) as expected:
        assert made.execute(query).fetchall() == expected.execute(query).fetchall()


def test_a_new_database_says_its_version_and_its_agent(tmp_path: Path) -> None:
    write = restores.restored(restores.fresh(tmp_path), state_of(TEA))
    with opened(write.path) as connection:
        assert connection.execute("SELECT component, version FROM schema_version").fetchall() == [("memories", 1)]
        assert connection.execute("SELECT alias FROM agents ORDER BY 1").fetchall() == [("ada",), ("default",)]


def test_zeroclaws_own_agent_can_store_something_in_a_new_database(tmp_path: Path) -> None:
    """ZeroClaw makes the row together with the table only, and stores nothing without it."""
    write = restores.restored(restores.fresh(tmp_path), state_of(TEA))
    with opened(write.path) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        (id,) = connection.execute("SELECT id FROM agents WHERE alias = 'default'").fetchone()
        connection.execute(
            "INSERT INTO memories (id, key, content, created_at, updated_at, agent_id) VALUES ('n','n','n','','',?)",
            (id,),
        )


def test_the_agent_keeps_the_id_that_it_had(tmp_path: Path) -> None:
    former = restores.lines({"id": "a-former-id", "alias": "old", "created_at": restores.OLDER})
    tables = {f"{zeroclaw_paths.BRAIN_ROWS}agents.jsonl": former}
    write = restores.restored(restores.fresh(tmp_path), state_of(TEA), tables=tables)
    with opened(write.path) as connection:
        found = connection.execute("SELECT id, alias, created_at FROM agents WHERE alias = 'ada'").fetchall()
    assert found == [("a-former-id", "ada", restores.OLDER)]


def test_an_agent_without_memories_gets_no_database(tmp_path: Path) -> None:
    assert not restores.planned(restores.fresh(tmp_path), MemoryState()).changes


def test_an_old_snapshot_never_stands_without_a_database(tmp_path: Path) -> None:
    """The runtime would make memories of the snapshot."""
    state = MemoryState().put(f"{zeroclaw_paths.RAW}MEMORY_SNAPSHOT.md", b"# old\n")
    write = restores.restored(restores.fresh(tmp_path, zeroclaw_paths.EARLY), state)
    assert write.path.stat().st_size > 4096


@pytest.mark.parametrize("backend", ["markdown", "none", "postgres", "qdrant.main"])
def test_a_backend_without_a_local_database_gets_none(tmp_path: Path, backend: str) -> None:
    install = installs.make_install(tmp_path / "home")
    config = install.home / "config.toml"
    config.write_text(config.read_text().replace('"sqlite.default"', f'"{backend}"'))
    state = state_of(TEA)
    assert restores.plan_database_writes(restores.located(install), restores.order(state)) == []


def test_memories_of_a_note_are_no_rows(tmp_path: Path) -> None:
    state = state_of(TEA, COFFEE).put(f"{zeroclaw_paths.RAW}MEMORY.md", b"She drinks green tea.", records=[TEA["id"]])
    write = restores.restored(restores.fresh(tmp_path), state)
    assert write.held == (COFFEE["id"],)


# Full text ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", WITH_FULL_TEXT)
def test_the_full_text_finds_what_was_restored(tmp_path: Path, generation: str) -> None:
    install = installs.make_install(tmp_path / "home", generation)
    restores.restored(restores.located(install), state_of(row_record("She drinks green tea.", "tea")))
    assert install.search("green") == ["tea"]


@pytest.mark.parametrize("generation", WITH_FULL_TEXT)
def test_the_full_text_follows_what_the_runtime_does_afterwards(tmp_path: Path, generation: str) -> None:
    install = installs.make_install(tmp_path / "home", generation)
    tea, coffee = row_record("She drinks green tea.", "tea"), row_record("He drinks green coffee.", "coffee")
    restores.restored(restores.located(install), state_of(tea, coffee))
    install.remember("grass", "The green grass.")
    install.execute("UPDATE memories SET content = 'She drinks red tea.' WHERE key = 'tea'")
    install.execute("DELETE FROM memories WHERE key = 'coffee'")
    assert (install.search("green"), install.search("red")) == (["grass"], ["tea"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_full_text_of_a_new_database_follows_the_runtime(tmp_path: Path, layout: str) -> None:
    made = restores.fresh(tmp_path, layout)
    restores.restored(made, state_of(row_record("She drinks green tea.", "tea")))
    install = restores.as_install(made, "0.8.3" if layout == zeroclaw_paths.CURRENT else "0.5.9")
    install.remember("grass", "The green grass.", "ada")
    install.execute("UPDATE memories SET content = 'She drinks red tea.' WHERE key = 'tea'")
    assert (install.search("green"), install.search("red")) == (["grass"], ["tea"])


def test_a_full_text_that_does_not_fit_its_table_is_made_anew(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    install.remember("grass", "The green grass.")
    install.execute("INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')")
    restores.restored(restores.located(install), state_of(row_record("She drinks green tea.", "tea")))
    assert install.search("green") == ["grass", "tea"]


# What is there and cannot be merged into ----------------------------------------------------------------------------


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def zeros_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 : 4096 * 3] = bytes(4096 * 2)
    path.write_bytes(bytes(data))


def no_database(path: Path) -> None:
    path.write_bytes(b"this is no database at all" * 400)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def without_tables(path: Path) -> None:
    path.unlink()
    with opened(path) as connection:
        connection.execute("CREATE TABLE other (id TEXT)")
        connection.commit()


def of_a_later_release(path: Path) -> None:
    with opened(path) as connection:
        connection.execute("UPDATE schema_version SET version = 2")
        connection.commit()


def with_a_column_that_nobody_knows(path: Path) -> None:
    with opened(path) as connection:
        connection.executescript(
            "DROP TABLE memories; CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT, content TEXT, category TEXT,"
            " created_at TEXT, updated_at TEXT, agent_id TEXT, owner_signature BLOB NOT NULL)"
        )
        connection.commit()


BROKEN = [
    cut_short,
    zeros_inside,
    no_database,
    empty,
    without_tables,
    of_a_later_release,
    with_a_column_that_nobody_knows,
]


@pytest.mark.parametrize("damage", BROKEN)
def test_a_database_that_cannot_be_merged_into_is_named_and_stays(tmp_path: Path, damage: Any) -> None:
    install = installs.make_install(tmp_path / "home")
    install.remember("grass", "The green grass.")
    damage(install.database)
    before = folder_of(install.database.parent)
    with pytest.raises(RuntimeDatabaseError) as raised:
        restores.planned(restores.located(install), state_of(TEA))
    assert str(install.database) in str(raised.value)
    assert folder_of(install.database.parent) == before


def test_a_database_in_the_middle_of_a_write_is_named_and_stays(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    with closing(sqlite3.connect(install.database, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode=DELETE")
        holder.execute("PRAGMA cache_size=1")
        holder.execute("BEGIN EXCLUSIVE")
        holder.executemany(
            "INSERT INTO embedding_cache VALUES (?, zeroblob(4000), 'x', 'x')", ((str(n),) for n in range(50))
        )
        with pytest.raises(RuntimeDatabaseError):
            restores.planned(restores.located(install), state_of(TEA))


def test_a_database_that_changed_since_the_plan_is_not_written_over(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    write = restores.planned(restores.located(install), state_of(TEA))
    install.remember("grass", "The green grass.")
    with pytest.raises(RuntimeDatabaseError, match="changed since"):
        write.write(tmp_path / "staged.db")
    assert not (tmp_path / "staged.db").exists()


ENDLESS = """
CREATE TRIGGER endless AFTER INSERT ON memories BEGIN
    UPDATE memories SET content = content
    WHERE (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n) = 0;
END
"""


def test_a_trigger_that_never_ends_does_not_stop_a_restore_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install = installs.make_install(tmp_path / "home")
    with closing(sqlite3.connect(install.database)) as connection:
        connection.execute(ENDLESS)
    write = restores.planned(restores.located(install), state_of(TEA))
    monkeypatch.setattr(database_checks, "SECONDS", 0.0)
    monkeypatch.setattr(database_checks, "BYTES_PER_SECOND", 1 << 40)
    with pytest.raises(RuntimeDatabaseError, match="check the triggers"):
        write.write(tmp_path / "staged.db")
    assert not (tmp_path / "staged.db").exists()


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "staged.db").write_bytes(b"mine")
    write = restores.planned(restores.fresh(tmp_path), state_of(TEA))
    with pytest.raises(RuntimeDatabaseError):
        write.write(tmp_path / "staged.db")
    assert (tmp_path / "staged.db").read_bytes() == b"mine"


def test_what_only_stands_in_the_log_is_taken_along(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    with closing(install.connect()) as runtime:
        runtime.execute("PRAGMA wal_autocheckpoint=0")
        runtime.execute("PRAGMA foreign_keys=ON")
        owner = installs.stable("agent", "default")
        values = ("m-1", "grass", "The green grass.", "core", restores.OLDER, restores.OLDER, owner)
        runtime.execute(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at, agent_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        runtime.commit()
        write = restores.planned(restores.located(install), state_of(row_record("She drinks tea.", "tea")))
        before = folder_of(install.database.parent)
        write.write(tmp_path / "staged.db")
        assert folder_of(install.database.parent).keys() == before.keys()
        assert {path.name for path in write.replaces} == {"brain.db-wal", "brain.db-shm"}
    with opened(tmp_path / "staged.db") as connection:
        assert connection.execute("SELECT key FROM memories ORDER BY 1").fetchall() == [("grass",), ("tea",)]


@pytest.mark.parametrize("generation", installs.GENERATIONS)
def test_planning_and_writing_leave_the_old_database_byte_for_byte(tmp_path: Path, generation: str) -> None:
    install = installs.make_install(tmp_path / "home", generation)
    install.remember("grass", "The green grass.")
    before = folder_of(install.database.parent)
    restores.planned(restores.located(install), state_of(TEA)).write(tmp_path / "staged.db")
    assert folder_of(install.database.parent) == before


def test_the_rights_of_a_database_stay(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    install.database.chmod(0o640)
    restores.restored(restores.located(install), state_of(TEA))
    assert stat.S_IMODE(install.database.stat().st_mode) == 0o640


def test_nothing_points_to_what_is_not_there(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    restores.restored(restores.located(install), state_of(TEA, COFFEE))
    with opened(install.database) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
