"""A protected agent with some history, for the stories in `scenarios/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from lifeboat_alf.seams.clock import Clock
from lifeboat_cli.demo import workspace as demo
from lifeboat_cli.demo.tree import Tree, read_tree
from lifeboat_core.agents import agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.run import capture
from lifeboat_core.home.context import Context
from support.aged_files import age_files

TODAY = date(2026, 11, 20)


@dataclass
class Harbour:
    """Ada, her workspace, and the tree of every sequence that was captured."""

    context: Context
    agent: Agent
    trees: dict[int, Tree] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.agent.workspace

    @property
    def head(self) -> int:
        with self.context.vault(self.agent.id) as vault:
            row = vault.head()
        assert row is not None
        return row.number

    def capture(self) -> int:
        """Capture, and remember the tree under the number it got."""
        capture(self.context, self.agent)
        number = self.head
        self.trees[number] = read_tree(self.workspace)
        return number

    def day_passes(self) -> int:
        demo.a_day_passes(self.workspace, TODAY)
        return self.capture()

    def another_day_passes(self) -> int:
        demo.another_day_passes(self.workspace)
        return self.capture()


def harbour(folder: Path, clock: Clock | None = None) -> Harbour:
    """Ada, just protected: sequence 0."""
    state_dir = folder / "user" / ".openclaw"
    environment = {"HOME": str(folder / "user"), "LIFEBOAT_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    demo.write_workspace(state_dir, TODAY)
    age_files(state_dir)
    context = Context.open(environment, clock=clock)
    agent, _ = agents.add(context, state_dir / "workspace")
    made = Harbour(context, agent)
    made.trees[0] = read_tree(agent.workspace)
    return made


def harbour_after_a_day(folder: Path) -> Harbour:
    """Return the agent after its first day. For `PreparedFolders.restore`."""
    made = harbour(folder)
    made.day_passes()
    return made
