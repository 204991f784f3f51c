"""Commands of ZeroClaw that make a restore take effect."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.contract import Installation, NextStep
from lifeboat_adapters.memory_stores import WriteOrder
from lifeboat_adapters.zeroclaw import config, host, paths
from lifeboat_adapters.zeroclaw.restore import vectors
from lifeboat_adapters.zeroclaw.restore.writing import AS_ROWS, backend
from lifeboat_alf.state import State

_REINDEX_SECONDS = 600.0


def next_steps(installation: Installation, state: State) -> list[NextStep]:
    """In the order they should be run. Only the re-index is run unasked, where there are vectors to compute."""
    return list(_steps(installation, WriteOrder(state)))


def _steps(installation: Installation, order: WriteOrder) -> Iterator[NextStep]:
    values = host.values_of(installation)
    if values and config.schema(values) < config.CURRENT_SCHEMA:
        yield _step(installation, "Bring the configuration up to date (ZeroClaw 0.7.3 and later)", "config", "migrate")
    if backend(installation, order) in AS_ROWS:
        computes = vectors.are_computed(vectors.settings(installation, order))
        ready = computes and installation.program is not None and installation.state_dir is not None
        words = ("memory", "reindex")
        yield _step(installation, "Compute the vectors of the memories", *words, automatic=ready)
    yield _step(installation, "Check the installation", "doctor")


def _step(installation: Installation, title: str, *words: str, automatic: bool = False) -> NextStep:
    program = str(installation.program or paths.RUNTIME)
    environment = {"ZEROCLAW_CONFIG_DIR": str(installation.state_dir)} if installation.state_dir else {}
    return NextStep(title, (program, *words), automatic, environment, timeout_seconds=_REINDEX_SECONDS)
