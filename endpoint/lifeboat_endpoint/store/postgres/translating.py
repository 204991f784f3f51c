"""Statements as SQLite writes them, for PostgreSQL: only the placeholders differ. No statement of ours holds a question
mark in a text."""

from __future__ import annotations

import re
from functools import lru_cache

FIRST_FETCH = 256
"""How many rows come with a statement's first answer. Of one with more, a cursor fetches the rest in turns."""
TURN = 512

_VALUES = re.compile(r"\bvalues\s*(\((?:\s*\?\s*,)*\s*\?\s*\))\s*$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def numbered(statement: str) -> str:
    """`$1, $2` for each `?`."""
    head, *rest = statement.split("?")
    return head + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


@lru_cache(maxsize=4096)
def limited(statement: str) -> str:
    """The same, with one row more than `FIRST_FETCH` at most: who gets that one knows that there are more."""
    return f"select * from ({numbered(statement)}) few limit {FIRST_FETCH + 1}"


def is_query(statement: str) -> bool:
    return statement.lstrip()[:6].lower() == "select"


@lru_cache(maxsize=512)
def repeated(statement: str, times: int) -> str | None:
    """An insert of one row as one of many rows; None for what is no such statement."""
    found = _VALUES.search(statement)
    if found is None or statement.lstrip()[:6].lower() != "insert":
        return None
    return numbered(statement[: found.end(1)] + f", {found[1]}" * (times - 1))
