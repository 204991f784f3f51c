"""Which engine an endpoint stands on, by its settings. What a shared one needs is loaded for it alone."""

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
"""As whom a process comes to a shared database: to serve, or to look after everything."""


def open_engine(folder: Path, found: EndpointConfig, role: Role, *, files: FileOperations, clock: Clock) -> Engine:
    """Raises VaultError for files that cannot be used; of a shared engine nothing is asked yet."""
    if found.store is None:
        return FilesEngine(folder, files=files, clock=clock)
    from lifeboat_endpoint.engines.shared import SharedEngine

    return SharedEngine(found.store, found.id, role, files=files, clock=clock)


def as_shared_engine(engine: Engine) -> SharedEngine | None:
    """The engine itself where it is a shared one, with what only such a one has."""
    if not engine.shared:
        return None
    from lifeboat_endpoint.engines.shared import SharedEngine

    assert isinstance(engine, SharedEngine)
    return engine
