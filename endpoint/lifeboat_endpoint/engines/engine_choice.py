"""Choice of the engine by the settings. The libraries of a shared engine are loaded only for one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.endpoint_config import EndpointConfig
from lifeboat_endpoint.engines.contract import Engine
from lifeboat_endpoint.engines.files_engine import FilesEngine

if TYPE_CHECKING:
    from lifeboat_endpoint.engines.shared import SharedEngine

Role = Literal["api", "worker"]
"""Database role of a process on a shared endpoint: "api" serves requests, "worker" maintains all tenants."""


def open_engine(folder: Path, found: EndpointConfig, role: Role, *, files: FileOperations, clock: Clock) -> Engine:
    """Open the engine. Raises VaultError for files that cannot be used; a shared engine does not connect yet."""
    if found.store is None:
        return FilesEngine(folder, files=files, clock=clock)
    from lifeboat_endpoint.engines.shared import SharedEngine

    return SharedEngine(found.store, found.id, role, files=files, clock=clock)


def as_shared_engine(engine: Engine) -> SharedEngine | None:
    """Return the engine as a `SharedEngine`, or None if it is not one."""
    if not engine.shared:
        return None
    from lifeboat_endpoint.engines.shared import SharedEngine

    assert isinstance(engine, SharedEngine)
    return engine
