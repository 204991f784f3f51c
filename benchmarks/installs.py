"""ZeroClaw installations with any number of memories, each with a vector."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks import prose

from lifeboat_adapters import database_building
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.restore import table_definitions

SEED = 20260630
LAST = datetime(2026, 6, 30, tzinfo=UTC)
MODEL = "text-embedding-example"
_COLUMNS = "id, key, content, category, embedding, created_at, updated_at, agent_id"
_ADD = f"INSERT INTO memories ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass
class Install:
    """An installation. `home` holds config.toml, `workspace` is the agent's folder."""

    home: Path
    dimensions: int

    @property
    def workspace(self) -> Path:
        return self.home / "agents" / zeroclaw_paths.DEFAULT_ALIAS / "workspace"

    @property
    def database(self) -> Path:
        return self.home / "data" / zeroclaw_paths.BRAIN

    def remember(self, number: int) -> None:
        """Add one memory as a running ZeroClaw does."""
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(_ADD, _row(Random(SEED - 1 - number), -1 - number, self.dimensions, _agent()))


def many_rows(home: Path, *, rows: int = 50_000, dimensions: int = 384, seed: int = SEED) -> Install:
    """Create `rows` memories of about 300 bytes over five years, with vectors of `dimensions` random numbers."""
    made = Install(home, dimensions)
    made.workspace.mkdir(parents=True)
    (made.workspace / zeroclaw_paths.SOUL).write_text("# Soul\n\nYou are Nova.\n")
    (home / zeroclaw_paths.CONFIG).write_text(
        'schema_version = 3\n\n[memory]\nbackend = "sqlite.default"\n\n'
        f"[agents.{zeroclaw_paths.DEFAULT_ALIAS}]\nenabled = true\n"
    )
    made.database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(made.database)) as connection:
        connection.execute(database_building.JOURNAL)
        connection.executescript(table_definitions.brain_tables(zeroclaw_paths.CURRENT))
        connection.execute(
            "INSERT INTO agents VALUES (?, ?, ?)", (_agent(), zeroclaw_paths.DEFAULT_ALIAS, LAST.isoformat())
        )
        meta = {"embedding_provider": "example", "embedding_model": MODEL, "embedding_dimensions": str(dimensions)}
        connection.executemany("INSERT INTO memory_meta VALUES (?, ?)", meta.items())
        connection.executemany(_ADD, _rows(Random(seed), rows, dimensions))
        connection.commit()
    return made


def _rows(random: Random, rows: int, dimensions: int) -> Iterator[tuple[object, ...]]:
    for number in range(rows):
        yield _row(random, number, dimensions, _agent())


def _row(random: Random, number: int, dimensions: int, agent: str) -> tuple[object, ...]:
    moment = (LAST - timedelta(hours=number * 43_800 / 50_000)).isoformat()
    numbers = sqlite3.Binary(_vector(random, dimensions))
    text = prose.paragraph(random, 280)
    identity = str(uuid.UUID(int=random.getrandbits(128), version=4))
    return identity, f"{prose.slug(random)}_{number}", text, "core", numbers, moment, moment, agent


def _vector(random: Random, dimensions: int) -> bytes:
    """Return random numbers between 1 and 2: the exponent is fixed, the rest is random."""
    bits = random.getrandbits(32 * dimensions).to_bytes(4 * dimensions, "little")
    packed = bytearray(bits)
    packed[3::4] = b"\x3f" * dimensions
    packed[2::4] = bytes(one | 0x80 for one in packed[2::4])
    return bytes(packed)


def _agent() -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "example.com/nova"))
