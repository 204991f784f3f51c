"""Conversion of SQLite statements for PostgreSQL. Only placeholders differ: no statement has a question mark in a
literal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from lifeboat_vault.store.store_protocols import Parameters

FIRST_FETCH = 256
"""How many rows come with the first answer to a query. If there are more, a cursor fetches the rest in turns."""
TURN = 256
TOGETHER = 64
"""How many rows go to the server in one round trip."""

_VALUES = re.compile(r"\bvalues\s*(\((?:\s*\?\s*,)*\s*\?\s*\))\s*$", re.IGNORECASE)


_LIST = re.compile(r"\bin \((\?(?:, \?)*)\)$")


def widen_list(statement: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Extend a final list of values to a power of two, by repeating the last one.

    Otherwise the same query would be prepared again for every length of the list.
    """
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
    """Replace each `?` by `$1`, `$2` and so on."""
    head, *rest = statement.split("?")
    return head + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


@lru_cache(maxsize=4096)
def limit_statement(statement: str) -> str:
    """Limit a query to `FIRST_FETCH` rows and one more, which shows that there are more."""
    return f"select * from ({number_placeholders(statement)}) few limit {FIRST_FETCH + 1}"


def is_query(statement: str) -> bool:
    return statement.lstrip()[:6].lower().startswith(("select", "with "))


def combine_rows(statement: str, rows: Sequence[Parameters]) -> list[tuple[str, Parameters]]:
    """Combine an insert of many rows into statements with powers of two of them, so that few statements are prepared.

    A statement that is not an insert of plain values is repeated for each row.
    """
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
