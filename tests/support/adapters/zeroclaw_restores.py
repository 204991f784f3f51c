"""Restoring into an invented ZeroClaw installation, without the daemon: plan, write beside, put in place."""

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
    """An installation that is not there yet."""
    home = folder / "home"
    workspace = home / ("agents/ada/workspace" if layout == zeroclaw_paths.CURRENT else "workspace")
    return Installation(zeroclaw_paths.RUNTIME, workspace, "ada", "Ada", state_dir=home, layout=layout)


def memory(content: str, **fields: Any) -> Any:
    """A record of another runtime."""
    return sample_states.make_record(content, created_at=OLDER, **fields)


def row_record(content: str, key: str, *, id: str | None = None, updated_at: str = OLDER, **columns: Any) -> Any:
    """A record that came from a row of ZeroClaw."""
    row = {"id": id or installs.stable("row", key), "key": key, "content": content, "category": "core"}
    row |= {"created_at": OLDER, "updated_at": updated_at, **columns}
    section = ADAPTER.databases.memory_of(Installation(zeroclaw_paths.RUNTIME, Path("/"), "default", "Ada"), row)
    return sample_states.make_record(content, created_at=OLDER, **section.fields)


def state_of(*records: Any, **head: Any) -> MemoryState:
    return MemoryState(**head).add_all(records)


def order(state: MemoryState, **fields: Any) -> WriteOrder:
    return WriteOrder(state, **{"now": NOW, **fields})


def planned(installation: Installation, state: MemoryState, **fields: Any) -> DatabaseWrite:
    """What becomes of the memories."""
    return plan_database_writes(installation, order(state, **fields))[0]


def put(write: DatabaseWrite) -> Path:
    """Make the database and put it in its place, as a restore does."""
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
    """Eyes for what a restore made."""
    return Install(installation.state_dir or installation.workspace, generation, (installation.native_id,))


def copied(install: Install) -> Install:
    """The same installation beside it."""
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
