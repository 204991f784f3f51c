"""A name that is a file, then a folder, then a link: every kind before, between and after, in every place. What was
there at each capture is read from the disk, and every sequence has to give exactly that back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.verify import samples_and_drills
from support.core import kinds
from support.core.machines import Machine
from support.core.protected import SteadyClock
from support.core.replicated import Replicated, in_a_folder, in_this_process

MOMENT = int(SteadyClock().now().timestamp()) - 86_400
Tree = dict[str, tuple[Any, ...]]


class Changing(Machine):
    """A machine whose workspace goes through triples of kinds. `trees` are what stood there, by sequence."""

    def begin(self, names: dict[str, kinds.Triple]) -> None:
        self.names, self.trees = names, dict[int, Tree]()
        self.add(name="ada")
        manage_agents.write_setting(self.context, self.agent, "artifacts.threshold", kinds.THRESHOLD)
        manage_agents.write_setting(self.context, self.agent, "artifacts.interval", "0s")
        self.go_on(0)

    def go_on(self, step: int, **options: Any) -> None:
        self._turn(step)
        report = self.capture(**options)
        assert report.complete and report.sequence is not None, report
        self.trees[report.sequence] = self.tree()

    def _turn(self, step: int) -> None:
        kinds.turn_into(self.workspace, {name: triple[step] for name, triple in self.names.items()}, step, MOMENT)


def wrong(wanted: Tree, found: Tree) -> list[str]:
    """Name what is missing, what should not be there, and what is another."""
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def restored(machine: Machine, number: int, to: Path) -> Tree:
    restore_agent(machine.context, machine.agent, RestoreOptions(at=number, to=to, reindex=False))
    return tree_of(machine, to)


def tree_of(machine: Machine, folder: Path) -> Tree:
    workspace, machine.workspace = machine.workspace, folder
    try:
        return machine.tree()
    finally:
        machine.workspace = workspace


@pytest.mark.parametrize("full", [False, True], ids=["by its caches", "without caches"])
@pytest.mark.parametrize("place", kinds.PLACES)
def test_every_change_of_kind_comes_back(tmp_path: Path, place: str, full: bool) -> None:
    machine = Changing(tmp_path / "machine")
    machine.begin(kinds.named(kinds.every_triple(), [place]))
    machine.go_on(1, full=full)
    machine.go_on(2, full=full)
    for number, tree in machine.trees.items():
        assert wrong(tree, restored(machine, number, tmp_path / str(number))) == []
    assert not machine.capture().changed
    assert not machine.capture(full=True).changed
    assert samples_and_drills.drill_vault(machine.context, machine.agent, whole=True).mismatches == []


FEW = ("{}", "memory/{}.md")
"""An artifact and a note. The other places differ in how a state is made, not in how it travels."""
REMOTES = {
    "an endpoint": in_this_process,
    "a sealed folder": in_a_folder,
    "a plain folder": partial(in_a_folder, sealed=False),
}


@pytest.mark.parametrize("remote", REMOTES.values(), ids=REMOTES.keys())
def test_every_change_of_kind_comes_back_from_a_remote(
    tmp_path: Path, remote: Callable[..., AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Changing(tmp_path / "machine")
    machine.context.keys().ensure()
    with remote(Replicated(machine), tmp_path / "remote", monkeypatch):
        machine.begin(kinds.named(kinds.every_triple(), FEW))
        assert machine.push().state == "ok"
        for step in (1, 2):
            machine.go_on(step)
            assert machine.push().state == "ok"
        for number, tree in machine.trees.items():
            machine.restore_from("ada", tmp_path / str(number), at=number, reindex=False)
            assert wrong(tree, tree_of(machine, tmp_path / str(number))) == []
