"""ALF §6.4: purge of a file, tried out first."""

from __future__ import annotations

from pathlib import Path

from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import make_full_state
from support.cli.cli_client import run


def test_a_dry_run_of_a_purge_counts_and_writes_nothing(tmp_path: Path) -> None:
    state, path = make_full_state(), tmp_path / "agent.alf"
    with path.open("wb") as out:
        write_snapshot(state, out)
    before = path.read_bytes()
    chosen = next(state.records())
    report = run("alf", "purge", path, "--record", chosen.id, "--dry-run")
    assert report["record_ids"] == [chosen.id]
    assert report["partitions_affected"] == [chosen.partition]
    assert [found.name for found in tmp_path.iterdir()] == ["agent.alf"]
    assert path.read_bytes() == before
