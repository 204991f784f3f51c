"""A value that spans several pages of an SQLite database is read, in live and in deleted rows, and every part of it
maps back to its place in the file."""

from __future__ import annotations

import base64
import gzip
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.decoding import sqlite_pages
from lifeboat_alf.decoding.decoder import decode_layers
from lifeboat_alf.decoding.decoding_budget import TOO_LARGE, DecodingBudget
from lifeboat_alf.decoding.sqlite_pages import page_readings

SECRET = b"tide-key-0123456789/+abcfgh-jlmnopqrsuvwxz-ZYXWVUTSRQPONML"
PAGES = (512, 1024, 4096, 65536)


def _made(
    page: int, rows: Sequence[object], *, encoding: str = "UTF-8", vacuum: int = 0, schema: str = "", delete: str = ""
) -> bytes:
    """Return a database with these rows. Those that are None are deleted with the row before them, those that match
    `delete` at the end."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(f"pragma page_size = {page}")
    connection.execute(f"pragma encoding = '{encoding}'")
    connection.execute(f"pragma auto_vacuum = {vacuum}")
    connection.execute("pragma secure_delete = off")
    connection.execute(schema or "create table notes (id integer primary key, said)")
    for number, value in enumerate(rows):
        if value is not None:
            connection.execute("insert into notes (id, said) values (?, ?)", (number, value))
        else:
            connection.execute("delete from notes where id = ?", (number - 1,))
    if delete:
        connection.execute(f"delete from notes where {delete}")
    made = connection.serialize()
    connection.close()
    return made


def _masked(data: bytes, secret: bytes = SECRET) -> bytes:
    """Return the database with every found part of the secret overwritten."""
    masked = bytearray(data)
    for reading in page_readings(data, DecodingBudget.for_size(len(data))):
        at = reading.data.find(secret)
        while at >= 0:
            for start, end in reading.spans(at, at + len(secret)):
                masked[start:end] = b"#" * (end - start)
            at = reading.data.find(secret, at + 1)
    return bytes(masked).replace(secret, b"#" * len(secret))


def _rows(data: bytes) -> list[object]:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data)
    found = [row[0] for row in connection.execute("select said from notes")]
    connection.close()
    return found


def _holds(data: bytes, secret: bytes = SECRET) -> bool:
    return any(secret in reading.data for reading in page_readings(data, DecodingBudget.for_size(len(data))))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("vacuum", [0, 1, 2])
def test_a_value_across_pages_is_read_wherever_the_page_ends_in_it(page: int, vacuum: int) -> None:
    split = 0
    for before in _befores(page):
        made = _made(page, ["before", (b"." * before + SECRET).ljust(4 * page, b"."), "after"], vacuum=vacuum)
        assert [row for row in _rows(_masked(made)) if isinstance(row, bytes) and SECRET in row] == []
        split += SECRET not in made
    assert split > 3


def _befores(page: int) -> Iterator[int]:
    """Yield lengths of the data before a value that make it cross the end of a page."""
    made = _made(page, [b"." * 4 * page])
    begin = made.find(b"...", page)
    here = made.find(b"\0\0", begin) - begin
    for end in (here, here + page - 4):
        yield from range(max(end - len(SECRET) - 3, 0), end + 3, 7)


@settings(max_examples=60, deadline=None)
@given(
    page=st.sampled_from(PAGES[:3]),
    seed=st.integers(0, 1 << 30),
    encoding=st.sampled_from(["UTF-8", "UTF-16le", "UTF-16be"]),
    vacuum=st.integers(0, 2),
    is_keyed=st.booleans(),
)
def test_no_row_that_sqlite_shows_holds_it_afterwards(
    page: int, seed: int, encoding: str, vacuum: int, *, is_keyed: bool
) -> None:
    random = Random(seed)
    rows: list[object] = []
    for _ in range(random.randint(1, 12)):
        size = random.choice((3, page // 3, page - 40, page, 3 * page))
        parts = ["." * random.randint(0, size), SECRET.decode() if random.random() < 0.7 else "-", "," * size]
        rows.append("".join(parts) if random.random() < 0.7 else "".join(parts).encode())
        if random.random() < 0.3:
            rows.append(None)
    schema = "create table notes (id, said, primary key (said, id)) without rowid" if is_keyed else ""
    made = _made(page, rows, encoding=encoding, vacuum=vacuum, schema=schema)
    left = _rows(_masked(_masked(made), SECRET.decode().encode(encoding.replace("UTF-16", "utf-16-"))))
    assert [row for row in left if SECRET in (row if isinstance(row, bytes) else str(row).encode())] == []


@pytest.mark.parametrize("page", PAGES[:3])
def test_a_value_of_a_deleted_row_is_read_across_freed_pages(page: int) -> None:
    split = 0
    for before in [*_befores(page), *(at + page - 4 for at in _befores(page))]:
        value = (b"." * before + SECRET).ljust(4 * page, b".")
        for rows in (["before" * 20, value, None, "x"], ["b", value, None], ["b", value, "c", "d" * page, None]):
            made = _made(page, rows)
            is_whole = any(SECRET[:end] in made and SECRET[end:] in made for end in range(4, len(SECRET) - 3))
            if is_whole and SECRET not in made:
                split += 1
                assert _holds(made), before
                assert not _holds(_masked(made))
    assert split > 3


def test_what_is_encoded_or_compressed_in_a_large_row_is_read() -> None:
    noise = Random(3).randbytes(9000)
    for value in (base64.encodebytes(noise + b"." * 600 + SECRET).decode(), gzip.compress(noise + SECRET)):
        made = _made(4096, ["x", value, "y"])
        assert any(SECRET in reading.data for reading in decode_layers(made))


def test_a_database_in_a_row_of_another_and_behind_other_bytes_is_read() -> None:
    rows = (_made(512, [(b"." * before + SECRET).ljust(2048, b".")]) for before in _befores(512))
    inner = next(made for made in rows if SECRET not in made)
    assert any(SECRET in reading.data for reading in decode_layers(_made(1024, [inner])))
    assert any(SECRET in reading.data for reading in decode_layers(b"tar header" * 30 + inner))


def test_a_database_without_large_rows_costs_no_readings() -> None:
    made = _made(4096, ["x" * 100] * 500)
    assert list(page_readings(made, DecodingBudget.for_size(len(made)))) == []


def test_damaged_and_circular_pages_end() -> None:
    made = bytearray(_made(512, [b"." * 3000, b"," * 5000, b";" * 2000, None]))
    random = Random(5)
    for _ in range(300):
        for _ in range(8):
            at = random.randrange(100, len(made))
            made[at] = random.choice((0, 0, 1, 2, 5, 13, random.randrange(256)))
        for number in range(1, len(made) // 512):
            if random.random() < 0.1:
                made[number * 512 : number * 512 + 4] = random.randrange(1, len(made) // 512).to_bytes(4, "big")
        work = DecodingBudget.for_size(len(made))
        for reading in decode_layers(bytes(made), work):
            assert all(0 <= start <= end <= len(made) for start, end in reading.spans(0, len(reading.data)))


def test_of_many_large_rows_everything_is_read() -> None:
    texts: list[object] = [f"{number:03} " + "the calm harbour " * 600 for number in range(600)]
    data = _made(4096, texts)
    work = DecodingBudget.for_size(len(data))
    assert list(page_readings(data, work)) and work.unread == set()


@pytest.mark.parametrize("distance", [2, 3, 8])
def test_of_many_large_rows_that_were_deleted_at_once_everything_is_read(distance: int) -> None:
    """The sizes of the freed space look like page numbers and are equal in every page."""
    length = 1020 * 3 + (300 if distance < 8 else 100)
    texts = [f"{number:05} ".ljust(length, "x") for number in range(500)]
    data = _made(1024, texts, delete=f"id % {distance} = 0")
    work = DecodingBudget.for_size(len(data))
    found = [reading.data for reading in page_readings(data, work)]
    assert work.unread == set()
    assert all(
        any(text.encode()[100:] in each for each in found) for text in texts[distance : 20 * distance : distance]
    )


def test_no_list_is_followed_once_all_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    page, count = 512, 300
    head = bytearray(_made(page, [])[:page])
    head[32:36] = bytes(4)
    chain = [(number + 1).to_bytes(4, "big") + b"x" * (page - 4) for number in range(2, count)]
    last = bytes(4) + b"x" * (page - 4)
    numbers = b"".join((2 + number).to_bytes(4, "big") for number in range(126))
    leaf = b"\x0d" + bytes(7) + numbers
    data = b"".join([bytes(head), *chain, last, *[leaf] * 60])
    followed = Counter[str]()
    follow = sqlite_pages._Pages._list

    def counted(self: sqlite_pages._Pages, number: int, most: int | None) -> Iterator[tuple[int, int]]:
        followed["lists"] += 1
        return follow(self, number, most)

    monkeypatch.setattr(sqlite_pages._Pages, "_list", counted)
    work = DecodingBudget(bytes_left=1 << 20)
    assert list(page_readings(data, work))
    assert work.unread == {TOO_LARGE} and followed["lists"] < 100
