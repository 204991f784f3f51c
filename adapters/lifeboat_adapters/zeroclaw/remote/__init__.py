"""Memories that ZeroClaw keeps behind a server: PostgreSQL or Qdrant. Nothing is dialled unless the user asked for
it."""

from __future__ import annotations

from collections.abc import Sequence

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow
from lifeboat_adapters.receipts import Fate
from lifeboat_adapters.zeroclaw import config
from lifeboat_adapters.zeroclaw.remote import postgres, qdrant, servers

TITLES = {config.POSTGRES: "PostgreSQL", config.QDRANT: "Qdrant"}
ALLOW = "lifeboat config set remote_memory true"
"""What lets a server be asked; with `--agent` for one agent."""


def store(installation: Installation) -> MemoryRows | None:
    """The memories of an agent behind its server; None when it keeps them elsewhere.

    Raises RuntimeDatabaseError for a server that may not be asked, cannot be reached, or holds no such memories.
    """
    server = _server(installation, "they are not captured")
    if server is None:
        return None
    if server.kind == config.POSTGRES:
        return postgres.store(server, installation.native_id)
    return qdrant.store(server, installation.native_id)


def write(installation: Installation, rows: Sequence[StoredRow]) -> list[Fate]:
    """Put memories into an agent's server: those that are there under the same key are updated, none is removed.
    Vectors are of the model that the installation is configured for. Raises RuntimeDatabaseError; then nothing was
    written to PostgreSQL, and Qdrant can be written to again."""
    server = _server(installation, "nothing is written into it")
    if server is None:
        raise RuntimeDatabaseError("its memories are not kept behind a server")
    if server.kind == config.POSTGRES:
        return postgres.write(server, installation.native_id, rows)
    return qdrant.write(server, installation.native_id, rows)


def _server(installation: Installation, unasked: str) -> servers.Server | None:
    values = {} if installation.config is None else config.read(installation.config)
    kind = config.backend(values, installation.native_id)
    if kind not in TITLES:
        return None
    if not installation.remote:
        raise RuntimeDatabaseError(
            f"its memories are kept in {TITLES[kind]}, which is asked only when you say so: {unasked} ({ALLOW})",
            fix=ALLOW,
        )
    return servers.server_of(installation, values, kind)
