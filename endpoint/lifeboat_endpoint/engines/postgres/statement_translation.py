"""Statements as SQLite writes them, for PostgreSQL: only the placeholders differ. No statement of ours holds a question
mark in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from lifeboat_vault.store.store_protocols import Parameters

FIRST_FETCH = 256
"""How many rows come with a statement's first answer. Of one with more, a cursor fetches the rest in turns."""
TURN = 256
TOGETHER = 64
"""How many rows go to the server in one round trip."""

_VALUES = re.compile(r"\bvalues\s*(\((?:\s*\?\s*,)*\s*\?\s*\))\s*$", re.IGNORECASE)


_LIST = re.compile(r"\bin \((\?(?:, \?)*)\)$")


def widen_list(statement: str, parameters: Parameters) -> tuple[str, Parameters]:
    """A statement that ends with a list of values as one with a power of two of them, the last one repeated: else the
    same question would be prepared anew for every length."""
    if not statement.endswith("?)"):
        return statement, parameters
    text, missing = _widened(statement)
    return text, [*parameters, *[parameters[-1]] * missing]


@lru_cache(maxsize=4096)
def _widened(statement: str) -> tuple[str, int]:
    found = _LIST.search(statement)
    if found is None:
        return statement, 0
    count = found[1].count("?")
    missing = (1 << (count - 1).bit_length()) - count
    return f"{statement[: found.end(1)]}{', ?' * missing})", missing


@lru_cache(maxsize=4096)
def number_placeholders(statement: str) -> str:
    """`$1, $2` for each `?`."""
    head, *rest = statement.split("?")
    return head + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


@lru_cache(maxsize=4096)
def limit_statement(statement: str) -> str:
    """The same, with one row more than `FIRST_FETCH` at most: who gets that one knows that there are more."""
    return f"select * from ({number_placeholders(statement)}) few limit {FIRST_FETCH + 1}"


def is_query(statement: str) -> bool:
    return statement.lstrip()[:6].lower().startswith(("select", "with "))


def combine_rows(statement: str, rows: Sequence[Parameters]) -> list[tuple[str, Parameters]]:
    """The same for many rows, in as few statements as there are powers of two in their number: each kind is prepared
    once. What inserts no plain values stays one statement for each row."""
    found = _VALUES.search(statement)
    if found is None or statement.lstrip()[:6].lower() != "insert":
        return [(number_placeholders(statement), row) for row in rows]
    sent: list[tuple[str, Parameters]] = []
    done = 0
    while done < len(rows):
        count = 1 << ((len(rows) - done).bit_length() - 1)
        sent.append((_repeated(statement, count), list(chain.from_iterable(rows[done : done + count]))))
        done += count
    return sent


@lru_cache(maxsize=1024)
def _repeated(statement: str, count: int) -> str:
    found = _VALUES.search(statement)
    assert found is not None
    return number_placeholders(statement[: found.end(1)] + f", {found[1]}" * (count - 1))
