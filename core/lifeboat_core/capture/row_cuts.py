"""Find secrets in rows in whole batches, and cut them in a file of their own.

A row with a secret is stored, beside its memory, as a line of `raw/<runtime>-home/db/<store>/memories.jsonl` with its
id and every column that holds one. Cuts of that file are listed and sealed as for any other, and put back by position;
the memory itself has the cut text.

Credentials are sealed with the digest of the whole file. A file in which a row waits for its credentials can therefore
not be rewritten without them: it stays, and other rows go to `db/<store>-2/memories.jsonl`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from lifeboat_adapters.secrets.secret_finder import KnownSecretMatch, replace_surrogates
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states import entry_metas
from lifeboat_core.capture import secret_lookalikes
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.capture.secret_cutter import SecretCutter
from lifeboat_core.capture.secret_lookalikes import LookalikePlace

Values = tuple[Any, ...]

FILE = "/memories.jsonl"
"""End of the path of a file with rows that hold secrets."""

MARK = "{{lifeboat:credential:"
"""Beginning of every placeholder of a secret."""


def find_rows_with_secrets(cutter: SecretCutter, rows: Sequence[Values]) -> list[Values]:
    """Return the rows with a known value in one of their texts."""
    every = [value for row in rows for value in row if isinstance(value, str | bytes)]
    text = "\n".join(value for value in every if isinstance(value, str))
    data = b"\n".join([_bytes(text), *(value for value in every if isinstance(value, bytes))])
    if not _holds(cutter, data):
        return []
    return [
        row for row in rows if _holds(cutter, b"\n".join(_bytes(one) for one in row if isinstance(one, str | bytes)))
    ]


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else replace_surrogates(value).encode("utf-8", "surrogateescape")


def _holds(cutter: SecretCutter, data: bytes) -> bool:
    return next(iter(cutter.known_in(data)), None) is not None


def find_row_lookalikes(
    texts: Sequence[str | bytes], kept: Sequence[str | bytes]
) -> Iterator[tuple[int, list[LookalikePlace]]]:
    """Yield the lookalikes in texts that are still in what is stored of them, by position."""
    data = [_bytes(text) for text in texts]
    if secret_lookalikes.find_looks_in_text(b"\n".join(data)):
        for place, (one, other) in enumerate(zip(data, kept, strict=True)):
            if found := secret_lookalikes.find_lookalike_places(one, _bytes(other)):
                yield place, found


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The columns of rows. Columns at the positions in `always` are in every line; `id` is the position of the row's
    id."""

    names: Sequence[str]
    always: frozenset[int]
    id: int


def choose_cut_files(overlay: Overlay, prefix: str, column: str, waiting: Collection[Any]) -> tuple[str, list[str]]:
    """Return the file for the rows of this capture, and the files to remove: all others except those with a waiting
    row.

    `prefix` is the prefix of their paths, `column` the name of the id column, `waiting` the ids of rows that a restore
    left out.
    """
    known = [path for path in overlay.paths(prefix) if path.endswith(FILE)]
    kept = {path for path in known if waiting and not _ids_in(overlay.old_body(path), column).isdisjoint(waiting)}
    numbered = (f"{prefix}{'' if number == 1 else f'-{number}'}{FILE}" for number in count(1))
    chosen = next(path for path in numbered if path not in kept)
    return chosen, [path for path in known if path != chosen and path not in kept]


def _ids_in(data: bytes | None, column: str) -> set[Any]:
    return {json_codec.decode_json(line).get(column) for line in (data or b"").splitlines()}


def cut_rows(
    cutter: SecretCutter, overlay: Overlay, path: str, columns: RowColumns, rows: Sequence[Values], *, exposed: bool
) -> tuple[list[Values], bool]:
    """Return the rows without their secrets, in order, and whether the file at `path` changed."""
    data, known = bytearray(), list[KnownSecretMatch]()
    for row in rows:
        _add_line(data, known, cutter, columns, row)
    body, cuts = cutter.cut_known(path, bytes(data), known, exposed=exposed)
    if not rows:
        return [], overlay.remove(path)
    changed = overlay.put(path, {entry_metas.CUTS: cuts} if cuts else {}, body)
    lines = list(map(json_codec.decode_json, body.splitlines()))
    if len(lines) != len(rows):
        lines = _lines_of(columns, rows, lines)
    return [_with(columns.names, row, line) for row, line in zip(rows, lines, strict=True)], changed


def _lines_of(columns: RowColumns, rows: Sequence[Values], lines: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the line of each row; an empty one for a row that was purged."""
    name, found = columns.names[columns.id], {}
    for line in lines:
        found[str(line.get(name))] = line
    return [found.get(str(row[columns.id]), dict.fromkeys(columns.names, "")) for row in rows]


def _with(names: Sequence[str], row: Values, line: JsonObject) -> Values:
    pairs = zip(names, row, strict=True)
    return tuple(line.get(name, value) if isinstance(value, str | bytes) else value for name, value in pairs)


def _add_line(
    data: bytearray, known: list[KnownSecretMatch], cutter: SecretCutter, columns: RowColumns, row: Values
) -> None:
    """Append a row as JSON, and note where values stand in it. They are searched for in the texts themselves, because
    what is encoded in a text is encoded twice in its line."""
    begin = b"{"
    for place, (name, value) in enumerate(zip(columns.names, row, strict=True)):
        text = _bytes(value) if isinstance(value, str | bytes) else None
        found = list(cutter.known_in(text)) if text is not None else []
        if not found and place not in columns.always:
            continue
        data += begin + json_codec.encode_json(name) + b":"
        begin = b","
        if text is None:
            data += json_codec.encode_json(value)
            continue
        start = len(data) + 1
        known.extend(
            KnownSecretMatch(start + _length(text, one.start), start + _length(text, one.end), one.value)
            for one in found
        )
        data += b'"' + _spelled(text) + b'"'
    data += b"}\n"


def _spelled(text: bytes) -> bytes:
    return json_codec.encode_json(text.decode("utf-8", "replace"))[1:-1]


def _length(text: bytes, end: int) -> int:
    return len(_spelled(text[:end]))
