"""Restore into an invented ZeroClaw installation without the core: plan, write beside, move into place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryTable, WriteOrder
from lifeboat_adapters.zeroclaw import ADAPTER, zeroclaw_paths
from lifeboat_adapters.zeroclaw.databases import brain_database
from lifeboat_adapters.zeroclaw.restore.database_writing import plan_database_writes
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import zeroclaw_installs as installs
from support.adapters.zeroclaw_installs import Install

NOW = "2026-11-22T00:00:00.000Z"
OLDER = "2026-01-02T03:04:05.000Z"
NEWER = "2026-10-02T03:04:05.000Z"


def located(install: Install, alias: str = "default") -> Installation:
    return ADAPTER.locate(install.workspace(alias), install.environment, install.home.parent)


def fresh(folder: Path, layout: str = zeroclaw_paths.CURRENT) -> Installation:
    """Return an installation that does not exist yet."""
    home = folder / "home"
    workspace = home / ("agents/ada/workspace" if layout == zeroclaw_paths.CURRENT else "workspace")
    return Installation(zeroclaw_paths.RUNTIME, workspace, "ada", "Ada", state_dir=home, layout=layout)


def memory(content: str, **fields: Any) -> Any:
    """Return a record of another runtime."""
    return sample_states.make_record(content, created_at=OLDER, **fields)


def row_record(content: str, key: str, *, id: str | None = None, updated_at: str = OLDER, **columns: Any) -> Any:
    """Return a record that came from a row of ZeroClaw."""
    row = {"id": id or installs.stable("row", key), "key": key, "content": content, "category": "core"}
    row |= {"created_at": OLDER, "updated_at": updated_at, **columns}
    section = ADAPTER.databases.memory_of(Installation(zeroclaw_paths.RUNTIME, Path("/"), "default", "Ada"), row)
    return sample_states.make_record(content, created_at=OLDER, **section.fields)


def state_of(*records: Any, **head: Any) -> MemoryState:
    return MemoryState(**head).add_all(records)


def order(state: MemoryState, **fields: Any) -> WriteOrder:
    return WriteOrder(state, **{"now": NOW, **fields})


def planned(installation: Installation, state: MemoryState, **fields: Any) -> DatabaseWrite:
    """Return the planned write of the memories."""
    return plan_database_writes(installation, order(state, **fields))[0]


def put(write: DatabaseWrite) -> Path:
    """Build the database and move it into place, as a restore does."""
    staged = write.path.parent / "staged.db"
    staged.parent.mkdir(parents=True, exist_ok=True)
    write.write(staged)
    for beside in write.replaces:
        beside.unlink()
    return staged.replace(write.path)


def restored(installation: Installation, state: MemoryState, **fields: Any) -> DatabaseWrite:
    write = planned(installation, state, **fields)
    put(write)
    return write


def as_install(installation: Installation, generation: str) -> Install:
    """Return an object that inspects a restored installation."""
    return Install(installation.state_dir or installation.workspace, generation, (installation.native_id,))


def copied(install: Install) -> Install:
    """Copy an installation beside itself."""
    shutil.copytree(install.home, install.home.with_name(f"{install.home.name}-copy"))
    return Install(install.home.with_name(f"{install.home.name}-copy"), install.generation, install.agents)


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def table_of(installation: Installation) -> MemoryTable:
    found = brain_database.memory_store(installation)
    assert isinstance(found, MemoryTable)
    return found


def outcomes(write: DatabaseWrite) -> dict[str, str]:
    return {fate.name: fate.outcome.value for fate in write.fates}
