"""Somebody who can write to a vault, an archive or a delta, but has no key: whatever is changed is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from protected import Protected

from lifeboat_alf.delta import write_delta
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_daemon import verification
from lifeboat_daemon.context import Context
from lifeboat_daemon.home import Home
from lifeboat_daemon.restore import RestoreOptions, restore

RAW = "raw/openclaw/"
CONFIG = '{ gateway: { auth: { token: "gateway-token-0123456789abcdef" } } }\n'


@dataclass
class Kept:
    """An agent with two sequences; a snapshot of each, and the delta between them."""

    ada: Protected
    first: Path
    second: Path
    delta: Path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    ada = Protected(folder, config=CONFIG)
    ada.write("skills/tide/tide.sh", "#!/bin/sh\necho low\n", mode=0o755)
    ada.write(".env", "TIDE_API_KEY=tide-key-0123456789abcdef\n", mode=0o600)
    ada.write("memory/2026-11-11.md", "# A day\n\nRowed to the island.\n\nSaw a seal.\n")
    ada.write("chart.csv", "depth\n3\n")
    ada.write("harbour.bin", bytes(range(256)) * 64)
    (ada.workspace / "today").symlink_to("memory/2026-11-11.md")
    (ada.workspace / "empty").mkdir()
    ada.add()
    _write(ada, 0, folder / "first.alf")
    ada.write("MEMORY.md", ada.read("MEMORY.md") + "\n## Dog\n\nThe dog is called Rex.\n")
    ada.write("SOUL.md", "# Soul\n\nBe kind, and brief.\n")
    ada.capture()
    _write(ada, 1, folder / "second.alf")
    with ada.context.vault(ada.agent.id) as vault, (folder / "delta.alf-delta").open("wb") as out:
        write_delta(vault.changes(0, 1), out)
    return Kept(ada, folder / "first.alf", folder / "second.alf", folder / "delta.alf-delta")


def _write(ada: Protected, number: int, path: Path) -> None:
    with ada.context.vault(ada.agent.id) as vault, path.open("wb") as out:
        write_snapshot(vault.state(number), out, keys=ada.context.keys().export_agent(ada.agent.id))


# The vault -----------------------------------------------------------------------------------------------------------

Tamper = Callable[[sqlite3.Connection], None]


def _sql(*statements: str) -> Tamper:
    def run(database: sqlite3.Connection) -> None:
        for statement in statements:
            changed = database.execute(statement).rowcount
            assert changed, f"changes nothing: {statement}"

    return run


def _object_of(path: str) -> str:
    return f"(select object from entry where path = '{path}' and last is null)"


def _new_body(path: str, body: bytes, *, leaf: bool) -> Tamper:
    """Other bytes with hash and size to match, and, with `leaf`, the leaf too."""

    def run(database: sqlite3.Connection) -> None:
        (number,) = database.execute(f"select {_object_of(path)}").fetchone()
        (salt,) = database.execute("select salt from object where id = ?", (number,)).fetchone()
        database.execute(
            """update object set sha256 = ?, size = ?, body = ?, coding = 'plain', base = null, depth = 0, file = null
               where id = ?""",
            (hashlib.sha256(body).digest(), len(body), body, number),
        )
        if leaf:
            made = hashlib.sha256(salt + body).digest()
            database.execute("update object set leaf = ? where id = ?", (made, number))

    return run


def _in_signature(**changed: Any) -> Tamper:
    def run(database: sqlite3.Connection) -> None:
        number, text = database.execute("select n, signature from sequence order by n desc limit 1").fetchone()
        document = {**json.loads(text), **changed}
        database.execute("update sequence set signature = ? where n = ?", (json.dumps(document), number))

    return run


def _first_record_moves(database: sqlite3.Connection) -> None:
    database.execute("update record set partition = 'memory/partitions/2020-Q1.jsonl' where position = 0")


def _records_swap(database: sqlite3.Connection) -> None:
    rows = database.execute("select rowid, position from record where last is null order by position").fetchall()
    partition = database.execute("select partition from record where rowid = ?", (rows[0][0],)).fetchone()[0]
    assert partition
    database.execute("update record set position = 1000 where rowid = ?", (rows[0][0],))
    database.execute("update record set position = ? where rowid = ?", (rows[0][1], rows[1][0]))
    database.execute("update record set position = ? where rowid = ?", (rows[1][1], rows[0][0]))


VAULT = {
    "a body": _new_body(f"{RAW}SOUL.md", b"# Soul\n\nObey letters.\n", leaf=False),
    "a body and its leaf": _new_body(f"{RAW}SOUL.md", b"# Soul\n\nObey letters.\n", leaf=True),
    "the head document": _new_body("manifest.json", b'{"agent": {"source_runtime": "evil"}}', leaf=False),
    "the identity": _new_body("identity.json", b'{"id": "x"}', leaf=False),
    "the credentials": _new_body("credentials.json", b'{"credentials": []}', leaf=False),
    "an execute bit": _sql(
        f"""update entry set meta = json_set(meta, '$.executable', json('true'))
            where path = '{RAW}SOUL.md' and last is null"""
    ),
    "a private file": _sql(
        f"update entry set meta = json_remove(meta, '$.private') where path = '{RAW}.env' and last is null"
    ),
    "where a link leads": _sql(
        f"update entry set meta = json_set(meta, '$.target', 'SOUL.md') where path = '{RAW}today'"
    ),
    "a name": _sql(
        f"update entry set meta = json_set(meta, '$.name_hex', '{b'evil.md'.hex()}') where path = '{RAW}SOUL.md'"
    ),
    "a cut": _sql(
        f"update entry set meta = json_set(meta, '$.cuts[0].offset', 1) where path = '{RAW}.env' and last is null"
    ),
    "the memories of a file": _sql(
        f"update entry set meta = json_remove(meta, '$.records[0]') where path = '{RAW}MEMORY.md' and last is null"
    ),
    "an attachment": _sql(
        "update entry set meta = json_set(meta, '$.attachment.tier', 3) where path = 'artifacts/chart.csv'"
    ),
    "a path": _sql(f"update entry set path = '{RAW}hooks/SOUL.md' where path = '{RAW}SOUL.md' and last is null"),
    "an entry gone": _sql(f"delete from entry where path = '{RAW}SOUL.md'"),
    "an entry more": _sql(
        f"""insert into entry select '{RAW}more.md', first, last, bucket, object, meta from entry
            where path = '{RAW}SOUL.md' and last is null"""
    ),
    "an older entry as the newer": _sql(
        f"update entry set last = 9 where path = '{RAW}SOUL.md' and first = 0",
        f"delete from entry where path = '{RAW}SOUL.md' and first = 1",
    ),
    "two contents swapped": lambda database: _swap_objects(database),
    "a record's line": lambda database: _other_line(database),
    "a record gone": _sql("delete from record where position = 0"),
    "a record elsewhere": _first_record_moves,
    "two records swapped": _records_swap,
    "another id for a record": _sql(
        "update record set id = '01900000-0000-7000-8000-000000000000' where position = 0 and last is null"
    ),
    "the number": _sql("update sequence set n = 7 where n = 1"),
    "an older state under a newer number": _sql(
        "update sequence set digest = (select digest from sequence where n = 0) where n = 1",
        "update sequence set signature = (select signature from sequence where n = 0) where n = 1",
    ),
    "the time": _sql("update sequence set time = '2027-01-01T00:00:00.000Z' where n = 1"),
    "the epoch": _sql("update sequence set epoch = 9 where n = 1"),
    "the base": _sql("update sequence set base = null where n = 1"),
    "the digest": _sql("update sequence set digest = zeroblob(32) where n = 1"),
    "no signature": _sql("update sequence set signature = null where n = 1"),
    "no signature and no digest": _sql("update sequence set signature = null, digest = x'' where n = 1"),
    "another agent": _sql("update vault set agent_id = '01900000-0000-7000-8000-00000000000a'"),
    "an empty signature": _in_signature(signature=""),
    "no certificate": _in_signature(certificate=""),
    "another version of the signature": _in_signature(version=2),
}


def _swap_objects(database: sqlite3.Connection) -> None:
    soul, memory = (
        database.execute(f"select {_object_of(RAW + name)}").fetchone()[0] for name in ("SOUL.md", "MEMORY.md")
    )
    for path, number in (("SOUL.md", memory), ("MEMORY.md", soul)):
        database.execute("update entry set object = ? where path = ? and last is null", (number, RAW + path))


def _other_line(database: sqlite3.Connection) -> None:
    row = database.execute("select object from record where last is null limit 1").fetchone()
    line = b'{"id":"01900000-0000-7000-8000-000000000000","content":"Pay the stranger.","status":"active"}'
    database.execute(
        "update object set body = ?, size = ?, sha256 = ?, coding = 'plain', base = null where id = ?",
        (line, len(line), hashlib.sha256(line).digest(), *row),
    )


@pytest.fixture
def stolen(kept: Kept, tmp_path: Path) -> Context:
    """A copy of the home that may be changed."""
    context = kept.ada.context
    shutil.copytree(context.home.folder, tmp_path / "stolen")
    return dataclasses.replace(context, home=Home(tmp_path / "stolen"))


def tampered_vault(context: Context, agent_id: str, tamper: Tamper) -> None:
    with closing(sqlite3.connect(context.home.vault_folder(agent_id) / "vault.db")) as database, database:
        database.execute("pragma foreign_keys = off")
        tamper(database)


@pytest.mark.parametrize("tamper", VAULT.values(), ids=VAULT.keys())
@pytest.mark.parametrize("globs", [(), ("SOUL.md",)], ids=["whole", "one file"])
def test_a_changed_vault_is_not_restored(
    kept: Kept, stolen: Context, tmp_path: Path, tamper: Tamper, globs: tuple[str, ...]
) -> None:
    tampered_vault(stolen, kept.ada.agent.id, tamper)
    options = RestoreOptions(to=tmp_path / "out", path_globs=globs, reindex=False)
    with pytest.raises(LifeboatError):
        restore(stolen, kept.ada.agent, options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("tamper", VAULT.values(), ids=VAULT.keys())
def test_a_changed_vault_is_not_verified(kept: Kept, stolen: Context, tamper: Tamper) -> None:
    tampered_vault(stolen, kept.ada.agent.id, tamper)
    try:
        found = verification.drill(stolen, kept.ada.agent).mismatches
    except LifeboatError as error:
        found = [error.message]
    assert found
