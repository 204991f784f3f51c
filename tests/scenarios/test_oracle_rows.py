"""Random lives of an agent whose runtime keeps rows in its own database, with purges of texts that stand in them: every
kept sequence of the vault and of a remote, and the newest of each other kind of remote, is what a model says. In some
lives an endpoint in PostgreSQL is a remote too, and every sequence of it is compared; `tests/soak` plays more of them.
`LIFEBOAT_ORACLE_SEED=SEED` repeats one round."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.endpoint.shared_databases import SharedDatabase, database
from support.oracle.choosing import SEED, chosen_seeds
from support.oracle.runtime_rows import KINDS, RowsRound, play_with_postgres

__all__ = ["database"]

ROUNDS = 3


@pytest.mark.parametrize("runtime", KINDS)
@pytest.mark.parametrize("block", range(ROUNDS))
def test_no_sequence_has_what_was_purged_from_rows_and_all_else_is_there(
    tmp_path: Path, runtime: str, block: int
) -> None:
    if block and os.environ.get(SEED):
        pytest.skip(f"{SEED} repeats one round")
    for seed in chosen_seeds(f"rows {runtime} {block}", 1):
        print(f"{SEED}={seed}")
        RowsRound(seed, KINDS[runtime](tmp_path), tmp_path).run()


@pytest.mark.parametrize("runtime", KINDS)
def test_no_sequence_of_an_endpoint_in_postgresql_has_what_was_purged_and_all_else_is_there(
    tmp_path: Path, database: SharedDatabase, runtime: str
) -> None:
    play_with_postgres(tmp_path, database, runtime, "rows", 1)
