"""All SQL statements of the vault, in portable SQL with `?` parameters.

Three shapes recur: rows alive at n (`first <= n` and not yet ended), rows alive now (`last is null`), and rows alive at
one of two sequences but not at the other, found by where they begin or end in between.
"""

from __future__ import annotations

# The vault itself
ADD_VAULT = "insert into vault(id, agent_id, seed, epoch, schema, created_at) values (?, ?, ?, ?, ?, ?)"
VAULT = "select id, agent_id, seed, epoch from vault"
RAISE_EPOCH = "update vault set epoch = epoch + 1"
SET_EPOCH = "update vault set epoch = ?"

# Sequences
_SEQUENCE = "select n, base, epoch, time, raw_time, kind, writer, digest, signature, label, counts, bytes from sequence"
HEAD = f"{_SEQUENCE} order by n desc limit 1"
SEQUENCES = f"{_SEQUENCE} where n > ? order by n limit ?"
SEQUENCE = f"{_SEQUENCE} where n = ?"
SEQUENCES_WITHIN = "select min(n), max(n) from sequence where n >= ? and n < ?"
SEQUENCES_BETWEEN = "select count(*), min(time) from sequence where n > ? and n <= ?"
SEQUENCE_AT = f"{_SEQUENCE} where time <= ? or raw_time <= ? order by n desc limit 1"
ADD_SEQUENCE = """insert into sequence(
    n, base, epoch, time, raw_time, kind, writer, digest, signature, label, counts, bytes)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
DROP_SEQUENCE = "delete from sequence where n = ?"
SET_SIGNATURE = "update sequence set signature = ? where n = ?"
SET_LABEL = "update sequence set label = ? where n = ?"
PINS = "select n, reason, until from pin order by n, reason"
PINS_OF = "select n, reason, until from pin where n = ? order by reason"
ADD_PIN = "insert into pin(n, reason, until) values (?, ?, ?)"
DROP_PIN = "delete from pin where n = ? and reason = ?"
DROP_PINS = "delete from pin where n = ?"

# Objects
NEXT_OBJECT = "select coalesce(max(id), 0) + 1 from object"
ADD_OBJECT = """insert into object(id, leaf, salt, sha256, size, base, depth, coding, file, body)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
OBJECT = "select coding, body, file, base, size from object where id = ?"
# An object and its chain of bases, the object first; the depth of patches is limited, so one query fetches all.
OBJECT_CHAIN = """with recursive chain(id, coding, body, file, base, size, step) as (
    select id, coding, body, file, base, size, 0 from object where id = ?
    union all
    select o.id, o.coding, o.body, o.file, o.base, o.size, c.step + 1 from chain c join object o on o.id = c.base
    where c.step < ?)
    select id, coding, body, file, base, size from chain order by step"""
OBJECTS_OF_SHA256 = """select id, leaf, salt, size, body is not null or file is not null from object
    where sha256 = ? order by id"""
HELD_OBJECT = "select id from object where sha256 = ? and (body is not null or file is not null) order by id limit 1"
OBJECT_DEPTH = "select depth from object where id = ?"
OBJECTS = "select id, leaf, salt, sha256, size, body is not null or file is not null from object order by id"
OBJECT_WITH_CONTENT = """select id from object
    where sha256 = ? and size = ? and (body is not null or file is not null) limit 1"""
OBJECTS_WITH_LEAF = """select id, sha256, size from object
    where leaf = ? and (body is not null or file is not null) order by id"""
OBJECTS_AT = """select id, leaf, salt, sha256, size, body is not null or file is not null from object where id in (
    select object from entry where first <= ? and (last is null or last > ?)
    union select object from record where first <= ? and (last is null or last > ?)) order by id"""
OBJECT_CHECK = "select id, leaf, salt, sha256, size, body is not null or file is not null from object where id = ?"
OBJECT_USED = "select 1 from entry where object = ? union all select 1 from record where object = ? limit 1"
OBJECTS_ON = "select id from object where base = ? order by id"
OBJECT_BASE = "select base from object where id = ?"
OBJECTS_OF_LEAF = """select id, salt, sha256, size, body is not null or file is not null from object
    where leaf = ? order by id"""
REPLACED_OBJECTS = """select id from object
    where leaf = ? and salt is null and (body is not null or file is not null) order by id"""
REDACT = """update object set salt = null, sha256 = null, size = ?, base = ?, depth = ?, coding = ?, file = ?, body = ?
    where id = ?"""
IS_RECORD = "select 1 from record where object = ? limit 1"
REENCODE = "update object set base = ?, depth = ?, coding = ?, file = ?, body = ? where id = ?"
DROP_OBJECT = "delete from object where id = ?"
FILES = "select file from object where file is not null"

# Entries
_ENTRY = """select e.path, e.meta, o.leaf, o.salt, o.size, o.sha256, o.id,
    o.body is not null or o.file is not null from entry e join object o on o.id = e.object"""
_ALIVE = "first <= ? and (last is null or last > ?)"
# Of one path or record only the newest row can be alive, so no query walks through its history. `>=`, although
# none is larger: with `=` a planner might scan all rows that began with that sequence.
LIVE_ENTRY = """select e.object, e.meta, o.leaf from entry e join object o on o.id = e.object
    where e.path = ? and e.first >= (select max(first) from entry where path = ?) and e.last is null"""
END_ENTRY = """update entry set last = ?
    where path = ? and first >= (select max(first) from entry where path = ?) and last is null"""
ADD_ENTRY = "insert into entry(path, object, meta, bucket, first) values (?, ?, ?, ?, ?)"
ENTRIES = f"{_ENTRY} where {_ALIVE} order by path"
ENTRIES_FROM = f"{_ENTRY} where path >= ? and {_ALIVE} order by path"
ENTRIES_BETWEEN = f"{_ENTRY} where path >= ? and path < ? and {_ALIVE} order by path"
_NEWEST_ENTRY = f"where path = ? and {_ALIVE} order by first desc limit 1"
ENTRY = f"{_ENTRY} {_NEWEST_ENTRY}"
ENTRY_BODY = f"""select o.id, o.coding, o.body, o.file, o.base, o.size from entry e join object o on o.id = e.object
    {_NEWEST_ENTRY}"""
OBJECTS_OF_ENTRIES = f"select distinct object from entry where {_ALIVE} order by object"
LIVE_ENTRIES = (
    "select e.bucket, e.path, e.meta, o.leaf from entry e join object o on o.id = e.object where e.last is null"
)

# Records
_RECORD = """select r.id, r.partition, r.position, o.leaf, o.salt, o.id, o.coding, o.body, o.file, o.base, o.size
    from record r join object o on o.id = r.object"""
ANY_RECORD = "select 1 from record limit 1"
HAS_RECORD = "select 1 from record where id = ? limit 1"
END_POSITION = "select coalesce(max(position) + 1, 0) from record where partition = ?"
END_RECORD = """update record set last = ?
    where id = ? and first >= (select max(first) from record where id = ?) and last is null"""
ADD_RECORD = """insert into record(id, partition, position, object, bucket, content_key, first)
    values (?, ?, ?, ?, ?, ?, ?)"""
# A record without a line is gone.
_HAS_LINE = "(o.body is not null or o.file is not null)"
RECORDS = f"{_RECORD} where {_ALIVE} and {_HAS_LINE} order by partition, position"
RECORDS_OF = f"{_RECORD} where partition = ? and {_ALIVE} and {_HAS_LINE} order by position"
RECORD = f"{_RECORD} where r.id = ? and {_ALIVE} and {_HAS_LINE} order by first desc limit 1"
# These are few: scan objects without a body, not live rows (a cross join keeps this order).
_GONE = "from object o cross join record r where o.body is null and o.file is null and r.object = o.id"
STAYS_OF_RECORD = f"""select r.object, r.first, r.last from record r join object o on o.id = r.object
    where r.id = ? and {_HAS_LINE} order by r.first"""
GONE_RECORDS = f"select r.id, r.partition, r.position, o.leaf {_GONE} and {_ALIVE}"
LINELESS_RECORDS = f"select r.id, o.leaf, o.id {_GONE}"
PARTITIONS = f"select distinct partition from record where {_ALIVE}"
OBJECTS_OF_RECORDS = f"select distinct object from record where {_ALIVE} order by object"
RECORDS_WITH_CONTENT = "select id from record where content_key = ? and last is null order by partition, position"
_LIVE_RECORD = """select r.bucket, r.id, r.partition, r.position, o.leaf from record r join object o on o.id = r.object
    where r.last is null"""
# In the order of the largest table; otherwise every object is fetched from a different place.
LIVE_RECORDS = f"{_LIVE_RECORD} order by r.object"


def live_entries_in(buckets: int) -> str:
    """Return a query of the live entries in this many buckets."""
    return f"{LIVE_ENTRIES} and e.bucket in ({', '.join('?' * buckets)})"


def live_records_in(buckets: int) -> str:
    """Return a query of the live records in this many buckets."""
    return f"{_LIVE_RECORD} and r.bucket in ({', '.join('?' * buckets)})"


def known_records(count: int) -> str:
    """Return a query of those among `count` ids that ever had a record."""
    return f"select distinct id from record where id in ({', '.join('?' * count)})"


def live_records_named(count: int) -> str:
    """Return a query of the live records among `count` ids."""
    marks = ", ".join("?" * count)
    return f"select id, partition, position, first, object from record where last is null and id in ({marks})"


def beginnings_of_records(count: int) -> str:
    """Return a query of where the live versions of `count` ids begin."""
    return f"select id, first from record where last is null and id in ({', '.join('?' * count)})"


# Row repair: the rows of one state, with or without their objects, and the history of one key
ENTRY_ROWS_AT = f"""select e.path, e.meta, o.leaf, o.id from entry e left join object o on o.id = e.object
    where {_ALIVE}"""
RECORD_ROWS_AT = f"""select r.id, r.partition, r.position, o.leaf, o.id
    from record r left join object o on o.id = r.object where {_ALIVE}"""
STAYS_OF_PATH = "select first, last, object, meta, bucket from entry where path = ? order by first"
STAYS_OF_ID = """select first, last, object, partition, position, bucket, content_key from record
    where id = ? order by first"""
DROP_ENTRY_STAY = "delete from entry where path = ? and first = ?"
DROP_RECORD_STAY = "delete from record where id = ? and first = ?"
ADD_ENTRY_STAY = "insert into entry(path, first, last, object, meta, bucket) values (?, ?, ?, ?, ?, ?)"
ADD_RECORD_STAY = """insert into record(id, first, last, object, partition, position, bucket, content_key)
    values (?, ?, ?, ?, ?, ?, ?, ?)"""
IS_ENTRY_TAKEN = "select 1 from entry where path = ? and first = ?"
IS_RECORD_TAKEN = """select 1 from record
    where (id = ? and first = ?) or (partition = ? and position = ? and first = ?)"""
DROP_EMPTY_ENTRY_STAYS = "delete from entry where last <= first"
DROP_EMPTY_RECORD_STAYS = "delete from record where last <= first"
DROP_LATE_ENTRY_STAYS = "delete from entry where first > ?"
DROP_LATE_RECORD_STAYS = "delete from record where first > ?"
OPEN_LATE_ENTRY_ENDS = "update entry set last = null where last > ?"
OPEN_LATE_RECORD_ENDS = "update record set last = null where last > ?"
PLACES_OF_OBJECT = """select first, last from entry where object = ?
    union all select first, last from record where object = ?"""
RESTORE_OBJECT = "update object set salt = ?, sha256 = ?, size = ? where id = ?"
KEPT_NUMBERS = "select n from sequence order by n"
LIVE_PATHS = "select path, bucket from entry where last is null"
LIVE_IDS = "select id, bucket from record where last is null"
SET_ENTRY_BUCKET = "update entry set bucket = ? where path = ? and last is null"
SET_RECORD_BUCKET = "update record set bucket = ? where id = ? and last is null"
OBJECTS_IN_RECORDS = """select id, leaf, salt, sha256, size, body is not null or file is not null from object
    where id in (select object from record) order by id"""

# Between two sequences: (low, high) -> alive at low only, (low, high, high) -> alive at high only.
_ENDED = "last > ? and last <= ? and first <= ?"
_BEGUN = "first > ? and first <= ? and (last is null or last > ?)"
ENTRIES_ENDED = f"{_ENTRY} where {_ENDED}"
ENTRIES_BEGUN = f"{_ENTRY} where {_BEGUN}"
RECORDS_ENDED = f"{_RECORD} where {_ENDED}"
RECORDS_BEGUN = f"{_RECORD} where {_BEGUN}"

# The parts of rows that digests cover, at one sequence and between two
_ENTRY_ITEM = "select e.path, e.meta, o.leaf from entry e join object o on o.id = e.object"
_RECORD_ITEM = "select r.id, r.partition, r.position, o.leaf from record r join object o on o.id = r.object"
ENTRY_ITEMS_AT = f"{_ENTRY_ITEM} where {_ALIVE}"
ENTRY_ITEMS_BEGUN = f"{_ENTRY_ITEM} where {_BEGUN}"
ENTRY_ITEMS_ENDED = f"{_ENTRY_ITEM} where {_ENDED}"
RECORD_ITEMS_AT = f"{_RECORD_ITEM} where {_ALIVE}"
RECORD_ITEMS_BEGUN = f"{_RECORD_ITEM} where {_BEGUN}"
RECORD_ITEMS_ENDED = f"{_RECORD_ITEM} where {_ENDED}"

# Buckets of the head's digest
BUCKETS = "select hash from bucket order by number"
ADD_BUCKET = "insert into bucket(number, hash) values (?, ?)"
SET_BUCKET = "update bucket set hash = ? where number = ?"

# Thinning: rows without a kept sequence
_UNNEEDED = "last is not null and not exists (select 1 from sequence where n >= {table}.first and n < {table}.last)"
UNNEEDED_ENTRY_OBJECTS = f"select object from entry where {_UNNEEDED.format(table='entry')}"
UNNEEDED_RECORD_OBJECTS = f"select object from record where {_UNNEEDED.format(table='record')}"
DROP_UNNEEDED_ENTRIES = f"delete from entry where {_UNNEEDED.format(table='entry')}"
DROP_UNNEEDED_RECORDS = f"delete from record where {_UNNEEDED.format(table='record')}"

# Held versions of one path, newest first; and the uses of an object
_HELD = """select e.path, e.object, e.first, e.last, e.meta from entry e join object o on o.id = e.object
    where (o.body is not null or o.file is not null)"""
HELD_BETWEEN = f"{_HELD} and e.path >= ? and e.path < ? order by e.path, e.first desc"
HELD = f"{_HELD} order by e.path, e.first desc"
HELD_OF_PATH = """select e.object from entry e join object o on o.id = e.object
    where e.path = ? and (o.body is not null or o.file is not null) order by e.first desc"""
USES_OF_OBJECT = "select path, object, first, last, meta from entry where object = ?"
DROP_BODY = "update object set base = null, depth = 0, coding = 'plain', file = null, body = null where id = ?"

# Sanity
LATE_ROW = """select 1 from entry where first > ? union all select 1 from entry where last > ?
    union all select 1 from record where first > ? union all select 1 from record where last > ? limit 1"""
BAD_INTERVALS = """select 'the entry ' || path from entry where last <= first
    union all select 'the record ' || id from record where last <= first"""
OVERLAPPING_ENTRIES = """select distinct a.path from entry a join entry b on a.path = b.path and a.first < b.first
    where a.last is null or a.last > b.first"""
OVERLAPPING_RECORDS = """select distinct a.id from record a join record b on a.id = b.id and a.first < b.first
    where a.last is null or a.last > b.first"""
SPARSE_PARTITIONS = """select partition from record where last is null
    group by partition having count(*) <> max(position) + 1"""

# Audit and decisions
AUDIT = "select number, time, kind, subject, details, hash from audit order by number"
AUDIT_PAGE = "select number, time, kind, subject, details, hash from audit where number > ? order by number limit ?"
LAST_AUDIT = "select number, hash from audit order by number desc limit 1"
ADD_AUDIT = "insert into audit(number, time, kind, subject, details, hash) values (?, ?, ?, ?, ?, ?)"
FIRST_AUDIT = "select number from audit order by number limit 1"
AUDIT_HASH = "select hash from audit where number = ?"
LAST_AUDIT_OF = "select details from audit where kind = ? order by number desc limit 1"
FIRST_AUDIT_SINCE = "select min(number) from audit where time >= ?"
DROP_AUDIT_THROUGH = "delete from audit where number <= ?"
DECISION = "select value from decision where key = ?"
DROP_DECISION = "delete from decision where key = ?"
ADD_DECISION = "insert into decision(key, value) values (?, ?)"

# Redactions
REDACTION_COUNTS = """select count(*), count(waits_until),
    (select value from decision where key = 'redactions_signed') from redaction"""
REDACTION_ROWS = "select document, time, waits_until from redaction order by time, id"
REDACTION = "select document, time, waits_until from redaction where id = ?"
ADD_REDACTION = "insert into redaction(id, time, document, waits_until) values (?, ?, ?, ?)"
APPLY_REDACTION = "update redaction set waits_until = null, swept = 0 where id = ?"
REFUSE_REDACTION = "update redaction set waits_until = ? where id = ?"
UNSWEPT_REDACTIONS = "select id from redaction where swept = 0 and waits_until is null"
SET_SWEPT = "update redaction set swept = 1 where id = ?"
DROP_CONTENT_KEY = "update record set content_key = null where object = ? and content_key is not null"
HISTORY_OF_ENTRIES = """select e.path, e.meta, o.leaf, o.salt, o.size, o.id, o.body is not null or o.file is not null,
    e.first, e.last from entry e join object o on o.id = e.object order by e.path, e.first"""
HISTORY_OF_RECORDS = f"""select r.id, r.partition, o.leaf, o.salt, o.size, o.id, r.first, r.last
    from record r join object o on o.id = r.object where {_HAS_LINE} order by r.object"""

STAYS_OF_ENTRIES = """select e.path, e.object, o.size, e.first, e.last, instr(e.meta, ?) > 0
    from entry e join object o on o.id = e.object where o.body is not null or o.file is not null"""
METAS_OF_ENTRIES = """select e.path, e.object, o.size, e.first, e.last, e.meta
    from entry e join object o on o.id = e.object where o.body is not null or o.file is not null"""
STAYS_OF_RECORDS = f"""select r.id, r.first, r.last, o.id, o.coding, o.body, o.file, o.base, o.size
    from record r join object o on o.id = r.object where {_HAS_LINE} order by r.object"""

# Objects of files without bytes, and the first sequence that names them
LACKING_OBJECTS = """select o.id, o.leaf, min(e.first) from object o join entry e on e.object = o.id
    where o.body is null and o.file is null group by o.id, o.leaf order by o.id"""

# Resealing
OBJECTS_AFTER = "select id, salt, sha256, file, body from object where id > ? order by id limit ?"
RESEAL_OBJECT = "update object set salt = ?, sha256 = ?, body = ?, file = ? where id = ?"
METAS_AFTER = """select path, first, meta from entry where path > ? or (path = ? and first > ?)
    order by path, first limit ?"""
SET_META = "update entry set meta = ? where path = ? and first = ?"
PATHS = "select distinct path, bucket from entry"
SET_PATH = "update entry set path = ?, bucket = ? where path = ?"
EVERY_PARTITION = "select distinct partition from record"
SET_PARTITION = "update record set partition = ? where partition = ?"
LIVE_OBJECTS_OF_RECORDS = """select r.id, r.first, r.object from record r join object o on o.id = r.object
    where r.last is null and o.salt is not null"""
SET_CONTENT_KEY = "update record set content_key = ? where id = ? and first = ?"
DROP_CONTENT_KEYS = "update record set content_key = null where content_key is not null"
LABELS = "select n, label from sequence where label is not null"
DECISIONS = "select key, value from decision"
SET_DECISION = "update decision set value = ? where key = ?"
REDACTIONS = "select id, document from redaction"
SET_REDACTION = "update redaction set document = ? where id = ?"
DROP_BUCKETS = "delete from bucket"
SET_SEED = "update vault set seed = ?"
