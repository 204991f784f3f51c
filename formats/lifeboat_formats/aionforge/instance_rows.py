"""The memories of a running instance as rows, for captures. An instance is only asked with the user's permission.

A row is a node. A capture takes missing rows as removed, so only releases that can list their content are read, and
only complete lists are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import DatabaseAbsent, RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow
from lifeboat_formats.aionforge import enumeration, instance_address, node_records, nodes
from lifeboat_formats.aionforge.aionforge_mapping import STORE
from lifeboat_formats.aionforge.instance import AionforgeInstance
from lifeboat_formats.aionforge.mcp_client import InstanceConnection
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.interchange.errors import InterchangeError

ALLOW = "lifeboat config set remote_memory true"
"""The command that permits asking an instance; with `--agent` for one agent."""
NAME = "lifeboat config set memory_server 'http://127.0.0.1:3918/mcp#agent=UUID'"
"""The command that sets the address of the instance and the principal."""
_WATCHED = ("core_edit", "quarantine")
"""Audit events for changes that no count shows."""


def memory_rows(installation: Installation) -> MemoryRows:
    """Return the memory rows of an installation. Raises DatabaseAbsent if the instance may not be asked."""
    check_allowed(installation)
    return MemoryRows(
        name=STORE,
        columns=node_records.COLUMNS,
        stamp=lambda: _stamp(installation),
        rows=lambda: _rows(installation),
    )


def check_allowed(installation: Installation) -> None:
    """Raise DatabaseAbsent if the user has not permitted asking the instance."""
    if not installation.remote:
        raise DatabaseAbsent(
            "the agent stores its memories on a server, and you have not allowed Lifeboat to read this "
            f"server, so the memories are not captured. To allow it: {ALLOW}",
            fix=ALLOW,
        )


@contextmanager
def open_instance(installation: Installation) -> Iterator[AionforgeInstance]:
    """Connect to the instance of an installation. Every error becomes a RuntimeDatabaseError."""
    try:
        asked = instance_address.parse_address(
            installation.server or instance_address.DEFAULT, token=instance_address.read_environment_token(os.environ)
        )
        if not asked.principal.agent_id and not asked.token:
            raise RuntimeDatabaseError("the address of Aionforge does not name an agent", fix=NAME)
        with InstanceConnection(asked) as connection:
            yield AionforgeInstance(connection)
    except InterchangeError as error:
        raise RuntimeDatabaseError(error.message, fix=error.fix) from None


def read_core_blocks(installation: Installation) -> list[AionforgeNode]:
    """Return the core blocks of the agent. Raises RuntimeDatabaseError, DatabaseAbsent."""
    check_allowed(installation)
    with open_instance(installation) as instance:
        found = enumeration.list_core_ids(instance)
        return sorted(instance.read(found), key=lambda node: node.id)


def _stamp(installation: Installation) -> list[object]:
    with open_instance(installation) as instance:
        _check_lists(instance)
        events = [instance.newest_audit(kind) for kind in _WATCHED] if instance.has("audit_history") else []
        return [instance.counts(), *events]


def _rows(installation: Installation) -> Iterator[StoredRow]:
    with open_instance(installation) as instance:
        _check_lists(instance)
        listed = enumeration.list_nodes(instance)
        for node in enumeration.read_nodes(instance, listed):
            if node.kind != nodes.CORE:
                yield StoredRow(node_records.row_of_node(node))


def _check_lists(instance: AionforgeInstance) -> None:
    if not instance.lists_everything:
        raise RuntimeDatabaseError(
            "this release of Aionforge cannot list its memories, so Lifeboat cannot capture single memories",
            fix="lifeboat alf convert ADDRESS --from aionforge",
        )
