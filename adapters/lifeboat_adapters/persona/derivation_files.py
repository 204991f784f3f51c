"""Files as derivations read them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from lifeboat_adapters.contract import AgentFiles
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State


def read_file_text(files: AgentFiles, path: str) -> str:
    """Return a file as text, "" when it does not exist. Bytes that are not UTF-8 are replaced; the file itself is kept
    in raw/."""
    return (files.read(path) or b"").decode("utf-8-sig", "replace")


def iter_table_rows(data: bytes | None) -> Iterator[JsonObject]:
    """Yield the rows of a captured table, one JSON object per line. Other lines are skipped."""
    for line in (data or b"").splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


class StateFiles:
    """The entries of a state as `AgentFiles`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def read(self, path: str) -> bytes | None:
        return None if self._state.entry(path) is None else self._state.body(path)

    def paths(self, prefix: str) -> Iterator[str]:
        return (entry.path for entry in self._state.entries(prefix))


class TextFiles:
    """A few texts in memory as `AgentFiles`."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def paths(self, prefix: str) -> Iterator[str]:
        return (path for path in sorted(self._files) if path.startswith(prefix))


class FilesUnderPrefix:
    """The files under one prefix as `AgentFiles`."""

    def __init__(self, files: AgentFiles, prefix: str) -> None:
        self._files = files
        self._prefix = prefix

    def read(self, path: str) -> bytes | None:
        return self._files.read(path) if path.startswith(self._prefix) else None

    def paths(self, prefix: str) -> Iterator[str]:
        return (path for path in self._files.paths(prefix) if path.startswith(self._prefix))
