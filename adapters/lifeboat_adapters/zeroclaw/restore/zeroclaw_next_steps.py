"""List commands of ZeroClaw that make a restore take effect."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.contract import Installation, NextStep
from lifeboat_adapters.memory_stores import WriteOrder
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.restore import memory_vectors
from lifeboat_adapters.zeroclaw.restore.database_writing import AS_ROWS, backend_after_restore
from lifeboat_alf.states.agent_state import State

_REINDEX_SECONDS = 600.0


def list_zeroclaw_next_steps(installation: Installation, state: State) -> list[NextStep]:
    """Return the steps in the order in which they should run. Only the re-index runs without being asked for, when
    there are vectors to compute."""
    return list(_steps(installation, WriteOrder(state)))


def _steps(installation: Installation, order: WriteOrder) -> Iterator[NextStep]:
    values = zeroclaw_folders.config_values_of(installation)
    if values and zeroclaw_config.schema_version_of(values) < zeroclaw_config.CURRENT_SCHEMA:
        yield _step(installation, "Upgrade ZeroClaw's configuration (ZeroClaw 0.7.3 and later)", "config", "migrate")
    if backend_after_restore(installation, order) in AS_ROWS:
        computes = memory_vectors.searches_by_vectors(memory_vectors.memory_settings_after(installation, order))
        ready = computes and installation.program is not None and installation.state_dir is not None
        words = ("memory", "reindex")
        yield _step(installation, "Compute the vectors (embeddings) of the memories", *words, automatic=ready)
    yield _step(installation, "Check the ZeroClaw installation", "doctor")


def _step(installation: Installation, title: str, *words: str, automatic: bool = False) -> NextStep:
    program = str(installation.program or zeroclaw_paths.RUNTIME)
    environment = {"ZEROCLAW_CONFIG_DIR": str(installation.state_dir)} if installation.state_dir else {}
    return NextStep(title, (program, *words), automatic, environment, timeout_seconds=_REINDEX_SECONDS)
