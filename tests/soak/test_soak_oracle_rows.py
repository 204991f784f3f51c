"""Rounds of the oracle over rows in which an endpoint in PostgreSQL is a remote. See
`tests/scenarios/test_oracle_rows.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.endpoint.shared_databases import SharedDatabase, database
from support.oracle.choosing import rounds_in_a_block
from support.oracle.runtime_rows import KINDS, play_with_postgres

__all__ = ["database"]

pytestmark = pytest.mark.timeout(1200)


@pytest.mark.parametrize("runtime", KINDS)
def test_whatever_was_purged_every_sequence_in_postgresql_is_what_it_should_be(
    tmp_path: Path, database: SharedDatabase, runtime: str
) -> None:
    play_with_postgres(tmp_path, database, runtime, "soak rows", rounds_in_a_block())
