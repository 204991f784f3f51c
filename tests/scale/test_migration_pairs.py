"""An agent of every runtime moves to every other one and comes home, and is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_core.restore import RestoreReport
from lifeboat_core.testing.runtime_harness import Harness
from support.adapters import openclaw_workspaces
from support.adapters.profile_installs import INSTALLS
from support.adapters.zeroclaw_made import make_zeroclaw


def _make_openclaw(folder: Path) -> SampleInstallation:
    return SampleInstallation(openclaw_workspaces.make_state_dir(folder / ".openclaw").workspace, folder)


RUNTIMES: Mapping[str, Callable[[Path], SampleInstallation]] = {
    **INSTALLS,
    "openclaw": _make_openclaw,
    "zeroclaw": lambda folder: make_zeroclaw(folder, "0.8.3"),
}
NOTES = {"markdown", "obsidian"}
"""Here every Markdown file is a memory, also one that was the work of the agent elsewhere."""
FORMATS = {"aicf", "aimem", "aionforge"}
"""Formats of memories, which no agent runs in."""


def test_every_runtime_is_among_the_pairs() -> None:
    assert RUNTIMES.keys() == set(adapter_registry.list_runtimes()) - FORMATS


@pytest.mark.parametrize(("home", "there"), list(permutations(RUNTIMES, 2)))
def test_an_agent_that_comes_home_is_the_same(isolated_home: Path, home: str, there: str) -> None:
    made = RUNTIMES[home](isolated_home)
    harness = Harness.begin(adapter_registry.load_adapter(home), made, isolated_home / "lifeboat")
    before, memories = _files(harness, made.workspace), harness.memories()
    _move(harness, there, isolated_home / "away" / "workspace")
    lost = Counter(memories.values()) - Counter(harness.memories().values())
    assert not lost, f"{there} lacks memories"
    back = isolated_home / "after" / made.workspace.relative_to(isolated_home)
    report = _move(harness, home, back)
    after = _files(harness, back)
    fates = (fate for fate in report.fates if fate["outcome"] == "omitted")
    omitted = {name.rpartition("/")[2] for fate in fates for name in fate["names"]}
    assert {name for name in before if after.get(name) != before[name] and Path(name).name not in omitted} == set()
    found = harness.memories()
    assert memories.items() <= found.items()
    assert found.keys() == memories.keys() or there in NOTES


def _move(harness: Harness, runtime: str, folder: Path) -> RestoreReport:
    """Move an agent. This captures it in its new place."""
    return harness.restore(folder, runtime=runtime, adopt=True)


def _files(harness: Harness, workspace: Path) -> dict[str, bytes]:
    """Return the captured files, without databases, whose memories are compared by themselves."""
    return {name: data for name, data in harness.files(workspace).items() if ".db" not in name}
