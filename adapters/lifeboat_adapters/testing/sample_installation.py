"""Sample installations for tests of an adapter: their files as capture would find them, and their rows."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from lifeboat_adapters.contract import Adapter, CaptureRoot, DerivationContext, Installation, MemorySection, Placement
from lifeboat_adapters.database_reading import as_json, read_database
from lifeboat_adapters.errors import DatabaseAbsent
from lifeboat_adapters.memory_stores import MemoryStore, MemoryTable, StoredRow
from lifeboat_alf.common.json_types import JsonObject

AGENT_ID = "019a0000-0000-7000-8000-00000000abcd"


@dataclass(frozen=True, slots=True)
class SampleInstallation:
    """A small installation of a runtime. The runtime finds it with `environment` and `user_home`."""

    workspace: Path
    user_home: Path
    environment: Mapping[str, str] = field(default_factory=dict)


def tree_of(folder: Path) -> dict[str, bytes | None]:
    """Return every path below a folder with its bytes, None for folders and broken links."""
    found: dict[str, bytes | None] = {}
    for above, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(above, name)
            found[path.relative_to(folder).as_posix()] = path.read_bytes() if path.is_file() else None
    return found


def files_of(adapter: Adapter, installation: Installation) -> dict[str, bytes]:
    """Return the files of an agent by archive path, as a capture would select them."""
    found: dict[str, bytes] = {}
    for root in adapter.roots(installation):
        for name in _names(adapter, root, ""):
            if root.only is None or any(fnmatchcase(name, glob) for glob in root.only):
                found.setdefault(root.prefix + name, (root.folder / name).read_bytes())
    return found


def _names(adapter: Adapter, root: CaptureRoot, below: str) -> Iterator[str]:
    folder = root.folder / below
    for entry in sorted(os.scandir(folder) if folder.is_dir() else (), key=lambda each: each.name):
        name = f"{below}/{entry.name}" if below else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if adapter.place(root.prefix + name, is_folder=is_folder) is Placement.EXCLUDED:
            continue
        if is_folder:
            yield from _names(adapter, root, name)
        elif entry.is_file(follow_symlinks=False):
            yield name


class WatchedFiles:
    """An `AgentFiles` that remembers which of its files were read."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self.touched: set[str] = set()

    def read(self, path: str) -> bytes | None:
        self.touched.add(path)
        return self._files.get(path)

    def paths(self, prefix: str) -> Iterator[str]:
        return (path for path in sorted(self._files) if path.startswith(prefix))

    def seen(self) -> Set[str]:
        """Return the existing files that were read."""
        return self.touched & self._files.keys()


def derivation_context(installation: Installation) -> DerivationContext:
    """Return a context for derivations with predictable ids."""

    def ids(*parts: object) -> str:
        return str(uuid.uuid5(uuid.UUID(AGENT_ID), "\0".join(map(str, parts))))

    return DerivationContext(installation, AGENT_ID, ids)


def store_of(adapter: Adapter, installation: Installation) -> MemoryStore | None:
    """Return where an installation keeps memories as rows, None for files and for a database that does not
    exist yet."""
    try:
        return adapter.databases.memory_store(installation) if adapter.databases else None
    except DatabaseAbsent:
        return None


def rows_of(adapter: Adapter, installation: Installation) -> list[StoredRow]:
    """Return the current memories that are rows. Raises RuntimeDatabaseError."""
    store = store_of(adapter, installation)
    if store is None:
        return []
    return list(_table_rows(store) if isinstance(store, MemoryTable) else store.rows())


def _table_rows(table: MemoryTable) -> Iterator[StoredRow]:
    columns = ", ".join(f'"{column}"' for column in table.columns)
    statement = f'SELECT {columns} FROM "{table.table}" WHERE {table.where} ORDER BY "{table.id}"'

    def read(connection: sqlite3.Connection) -> Iterator[StoredRow]:
        for values in connection.execute(statement, table.parameters):
            yield StoredRow(dict(zip(table.columns, map(as_json, values), strict=True)))

    return read_database(table.database, read, workspace=table.workspace)


def record_of(section: MemorySection, record_id: str = AGENT_ID) -> JsonObject:
    """Return the record that a capture makes of a section, as far as it follows from the section."""
    return {"id": record_id, "status": "active", "namespace": "default", **section.fields, "content": section.text}
