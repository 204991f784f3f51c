"""What a tokenizer finds: a value, the path to it, and the exact bytes that spell it."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from lifeboat_adapters.contract import UnparsableSecrets

Path = tuple[str | int, ...]
Scalar = str | int | float | bool | None


class Leaf(NamedTuple):
    """One scalar value of a document. `data[start:end]` is its literal as spelled, quotes included; `path` holds
    keys and list indexes from the root. Of duplicate keys each is a leaf."""

    path: Path
    value: Scalar
    start: int
    end: int


def fail(data: bytes, offset: int, problem: str) -> NoReturn:
    """Raise UnparsableSecrets with line and column (both from 1, the column in bytes), never with content."""
    before = data[:offset]
    line = before.count(b"\n") + 1
    column = offset - (before.rfind(b"\n") + 1) + 1
    raise UnparsableSecrets(f"line {line}, column {column}: {problem}")
