"""Kinds of damage to the rows of a vault's database, as with a database tool."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable

Harm = Callable[[sqlite3.Connection, random.Random], None]


def some(connection: sqlite3.Connection, chance: random.Random, table: str, count: int = 1) -> list[int]:
    """Return the places of some rows; of entries, which have none, the places of objects."""
    table = "object" if table == "entry" else table
    every = [number for (number,) in connection.execute(f"select rowid from {table}")]
    return chance.sample(every, min(count, len(every)))


def delete_records(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "record", 3):
        connection.execute("delete from record where rowid = ?", (number,))


def delete_oldest_records(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("delete from record where first < 3")


def delete_every_record(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("delete from record")


def delete_entries(connection: sqlite3.Connection, chance: random.Random) -> None:
    rows = connection.execute("select path, first from entry").fetchall()
    connection.executemany("delete from entry where path = ? and first = ?", chance.sample(rows, 3))


def delete_every_row(connection: sqlite3.Connection, chance: random.Random) -> None:
    for table in ("entry", "record", "object", "bucket"):
        connection.execute(f"delete from {table}")


def delete_objects(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "object", 3):
        connection.execute("delete from object where id = ?", (number,))


def change_leaves(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "object", 2):
        connection.execute("update object set leaf = ? where id = ?", (chance.randbytes(32), number))


def change_bodies(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "object", 3):
        connection.execute("update object set body = ? where id = ?", (chance.randbytes(9), number))


def lose_bodies(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update object set body = null where id in (select object from record)")


def lose_salts(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "object", 3):
        connection.execute("update object set salt = null where id = ?", (number,))


def change_sizes(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "object", 2):
        connection.execute("update object set size = size + 1 where id = ?", (number,))


def move_records(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "record", 2):
        connection.execute("update record set position = position + 50 where rowid = ?", (number,))


def rename_records(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "record", 2):
        connection.execute("update record set id = 'r-' || rowid where rowid = ?", (number,))


def change_partitions(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in some(connection, chance, "record", 2):
        connection.execute("update record set partition = 'elsewhere' where rowid = ?", (number,))


def swap_objects(connection: sqlite3.Connection, chance: random.Random) -> None:
    one, other = some(connection, chance, "record", 2) or (0, 0)
    objects = {0: 0} | dict(connection.execute("select rowid, object from record"))
    connection.execute("update record set object = ? where rowid = ?", (objects[other], one))
    connection.execute("update record set object = ? where rowid = ?", (objects[one], other))


def swap_positions(connection: sqlite3.Connection, chance: random.Random) -> None:
    one, other = some(connection, chance, "record", 2) or (0, 0)
    places = {0: 0} | dict(connection.execute("select rowid, position from record"))
    for number, place in ((one, 999), (other, places[one]), (one, places[other])):
        connection.execute("update or ignore record set position = ? where rowid = ?", (place, number))


def open_ends(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update record set last = null where last % 3 = 0")


def end_early(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update record set last = first + 1 where first % 2 = 0")
    connection.execute("update entry set last = first where first % 3 = 1")


def end_after_the_newest(connection: sqlite3.Connection, chance: random.Random) -> None:
    for table in ("record", "entry"):
        connection.execute(f"update {table} set last = (select max(n) from sequence) + 1 where last is null")


def begin_after_the_newest(connection: sqlite3.Connection, chance: random.Random) -> None:
    for table in ("record", "entry"):
        connection.execute(
            f"update {table} set first = (select max(n) from sequence) + 1 where last is null and object % 2 = 0"
        )


def begin_early(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update or ignore record set first = 0 where first % 4 = 2")
    connection.execute("update or ignore entry set first = first - 1 where first % 4 = 2")


def change_metas(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update entry set meta = '{\"mtime\":77}' where first % 2 = 1")


def break_metas(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update entry set meta = 'no json' where first % 5 = 2")


def rename_paths(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update entry set path = path || '~' where first % 4 = 1")


def change_buckets(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("update record set bucket = bucket + 1")
    connection.execute("update entry set bucket = 3")


def delete_buckets(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("delete from bucket where number > 5")


HARMS: tuple[Harm, ...] = (
    delete_records,
    delete_every_record,
    delete_entries,
    delete_every_row,
    delete_objects,
    change_leaves,
    change_bodies,
    lose_bodies,
    lose_salts,
    change_sizes,
    move_records,
    rename_records,
    change_partitions,
    swap_objects,
    swap_positions,
    open_ends,
    end_early,
    end_after_the_newest,
    begin_after_the_newest,
    begin_early,
    change_metas,
    break_metas,
    rename_paths,
    change_buckets,
    delete_buckets,
)
