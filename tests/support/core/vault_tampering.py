"""Changes of a vault by somebody who can write to its database, but has no key."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from typing import Any

Tamper = Callable[[sqlite3.Connection], None]


def sql(*statements: str) -> Tamper:
    def run(database: sqlite3.Connection) -> None:
        for statement in statements:
            changed = database.execute(statement).rowcount
            assert changed, f"changes nothing: {statement}"

    return run


def object_of(path: str) -> str:
    return f"(select object from entry where path = '{path}' and last is null)"


def new_body(path: str, body: bytes, *, leaf: bool) -> Tamper:
    """Other bytes with hash and size to match, and, with `leaf`, the leaf too."""

    def run(database: sqlite3.Connection) -> None:
        (number,) = database.execute(f"select {object_of(path)}").fetchone()
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


def in_signature(**changed: Any) -> Tamper:
    def run(database: sqlite3.Connection) -> None:
        number, text = database.execute("select n, signature from sequence order by n desc limit 1").fetchone()
        document = {**json.loads(text), **changed}
        database.execute("update sequence set signature = ? where n = ?", (json.dumps(document), number))

    return run
