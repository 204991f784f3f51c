"""Read and write memories that ZeroClaw keeps behind a server: PostgreSQL or Qdrant. No server is contacted unless the
user allowed it."""

from __future__ import annotations

from collections.abc import Sequence

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow
from lifeboat_adapters.zeroclaw import zeroclaw_config
from lifeboat_adapters.zeroclaw.server_memories import memory_servers, postgres_memories, qdrant_memories

TITLES = {zeroclaw_config.POSTGRES: "PostgreSQL", zeroclaw_config.QDRANT: "Qdrant"}
ALLOW = "lifeboat config set remote_memory true"
"""The command that allows queries to a server; with `--agent` for one agent."""


def open_server_memories(installation: Installation) -> MemoryRows | None:
    """Return the memories of an agent behind its server, None when it keeps them elsewhere.

    Raises RuntimeDatabaseError for a server that must not be contacted, cannot be reached, or holds no such memories.
    """
    server = _server(installation, "the memories are not captured")
    if server is None:
        return None
    if server.kind == zeroclaw_config.POSTGRES:
        return postgres_memories.open_postgres_memories(server, installation.native_id)
    return qdrant_memories.open_qdrant_memories(server, installation.native_id)


def write_server_memories(installation: Installation, rows: Sequence[StoredRow]) -> list[ItemFate]:
    """Write memories to an agent's server. Memories with the same key are updated, none is removed. Vectors are of the
    model that the installation is configured for.

    Raises RuntimeDatabaseError. Then nothing was written to PostgreSQL, and the same can be written to Qdrant again.
    """
    server = _server(installation, "no memory is written")
    if server is None:
        raise RuntimeDatabaseError("the agent does not store its memories on a server")
    if server.kind == zeroclaw_config.POSTGRES:
        return postgres_memories.write_postgres_memories(server, installation.native_id, rows)
    return qdrant_memories.write_qdrant_memories(server, installation.native_id, rows)


def _server(installation: Installation, unasked: str) -> memory_servers.MemoryServer | None:
    values = {} if installation.config is None else zeroclaw_config.read_zeroclaw_config(installation.config)
    kind = zeroclaw_config.configured_backend(values, installation.native_id)
    if kind not in TITLES:
        return None
    if not installation.remote:
        raise RuntimeDatabaseError(
            f"the agent stores its memories in {TITLES[kind]}, and you have not allowed Lifeboat to use that "
            f"server, so {unasked}. To allow it: {ALLOW}",
            fix=ALLOW,
        )
    return memory_servers.memory_server_of(installation, values, kind)
