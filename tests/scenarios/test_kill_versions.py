"""The process ends at every step at which old versions of a large file go. Everything but them is as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.history import thin_history
from lifeboat_core.settings import config_file
from support.core import invariants
from support.core.harbour import Harbour, harbour
from support.killing import killed_at, steps_of
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks, which this system lacks")

STEPS = [step for step in CrashPoint if step.name.startswith("THIN_")]
CHART = "artifacts/chart.bin"
VERSIONS = 6


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada with versions of a chart", _ada_with_versions_of_a_chart)


def _ada_with_versions_of_a_chart(folder: Path) -> Harbour:
    """Half a dozen versions of a chart, each a patch away from the one before, and one that is a file of its own."""
    made = harbour(folder)
    config_file.write_config(made.context.home, made.context.files, "artifacts.interval", "0s")
    chart = bytearray(os.urandom(150_000).hex().encode())
    for number in range(VERSIONS):
        chart[number * 100 : number * 100 + 8] = os.urandom(4).hex().encode()
        (made.workspace / "chart.bin").write_bytes(chart)
        (made.workspace / "photo.bin").write_bytes(os.urandom(300_000))
        made.capture()
    return made


def drop(ada: Harbour) -> int:
    return thin_history.drop_old_versions(ada.context, ada.agent)


def bodies(ada: Harbour) -> int:
    """How many bodies lie in files of their own."""
    return len(list((ada.context.home.vault_folder(ada.agent.id) / "objects").iterdir()))


def held(ada: Harbour) -> list[int]:
    with ada.context.vault(ada.agent.id) as vault:
        return [row.number for row in vault.sequences() if _is_held(vault.state(row.number))]


def _is_held(state: object) -> bool:
    try:
        state.body(CHART)  # type: ignore[attr-defined]
    except (BodyAbsent, KeyError):
        return False
    return True


@pytest.mark.parametrize("step", STEPS)
def test_dropping_versions_that_is_killed_leaves_every_sequence_whole(ada: Harbour, step: CrashPoint) -> None:
    before = bodies(ada)
    assert killed_at(lambda: drop(ada), step), f"{step} was never reached"
    invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)
    invariants.the_audit_chain_is_whole(ada.context, ada.agent)
    assert len(held(ada)) == (3 if step is CrashPoint.THIN_SWEPT else VERSIONS)
    drop(ada)
    kept = held(ada)
    assert kept == list(range(VERSIONS - 2, VERSIONS + 1))
    invariants.always(ada.context, ada.agent, {number: ada.trees[number] for number in kept})
    assert bodies(ada) == before - (VERSIONS - 3)


def test_every_named_step_is_reached(ada: Harbour) -> None:
    assert set(STEPS) == set(steps_of(lambda: drop(ada)))
