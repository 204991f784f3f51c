"""The tables of a vault in SQLite.

The state at n is every row with `first <= n` and (`last` is null or `n < last`). Snapshot, delta, diff, restore and
thinning are queries on that.
"""

from __future__ import annotations

VERSION = 2

TABLES = (
    """create table vault(
        id text not null, agent_id text not null, seed blob not null, epoch integer not null,
        schema integer not null, created_at text not null)""",
    # When content is destroyed, `salt` and `sha256` are cleared and `body` holds the replacement; the leaf stays,
    # so digests stay valid.
    # Small columns first: a row is read without its body's overflow pages.
    """create table object(
        id integer primary key, leaf blob not null, salt blob, sha256 blob, size integer not null,
        base integer references object(id), depth integer not null, coding text not null,
        file text, body blob)""",
    "create index object_content on object(sha256, size) where sha256 is not null",
    "create index object_base on object(base) where base is not null",
    "create index object_leaf on object(leaf)",
    "create index object_bodyless on object(leaf) where body is null and file is null",
    "create unique index object_file on object(file) where file is not null",
    """create table entry(
        path text not null, first integer not null, last integer, bucket integer not null,
        object integer not null references object(id), meta text not null,
        primary key (path, first)) without rowid""",
    "create index entry_first on entry(first)",
    "create index entry_last on entry(last) where last is not null",
    "create index entry_live on entry(bucket) where last is null",
    "create index entry_object on entry(object)",
    """create table record(
        id text not null, partition text not null, position integer not null, first integer not null, last integer,
        bucket integer not null, object integer not null references object(id), content_key blob)""",
    "create unique index record_id on record(id, first)",
    "create unique index record_place on record(partition, position, first)",
    "create index record_first on record(first)",
    "create index record_last on record(last) where last is not null",
    "create index record_live on record(bucket) where last is null",
    "create index record_object on record(object)",
    "create index record_content on record(content_key) where last is null",
    """create table sequence(
        n integer primary key, base integer, epoch integer not null, time text not null, raw_time text not null,
        kind text not null, writer text not null, digest blob not null, signature text, label text,
        counts text not null, bytes integer not null)""",
    "create table bucket(number integer primary key, hash blob not null)",
    """create table pin(
        n integer not null references sequence(n), reason text not null, until text, primary key (n, reason))""",
    """create table audit(
        number integer primary key, time text not null, kind text not null, subject text not null,
        details text not null, hash blob not null)""",
    # `waits_until`: a time, or that its owner refused it; null once it was applied. `swept`: nothing of what it
    # destroyed is left in the files.
    """create table redaction(
        id text primary key, time text not null, document text not null, waits_until text,
        swept integer not null default 0)""",
    "create table decision(key text primary key, value text not null)",
)
