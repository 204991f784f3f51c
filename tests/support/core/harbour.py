"""A protected agent with some history, for the stories in `scenarios/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from lifeboat_alf.seams.system_clock import Clock
from lifeboat_cli.demo import demo_workspace as demo
from lifeboat_cli.demo.tree_comparison import Tree, read_tree
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
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
        capture_agent(self.context, self.agent)
        number = self.head
        self.trees[number] = read_tree(self.workspace)
        return number

    def day_passes(self) -> int:
        demo.change_workspace(self.workspace, TODAY)
        return self.capture()

    def another_day_passes(self) -> int:
        demo.change_workspace_again(self.workspace)
        return self.capture()


def harbour(folder: Path, clock: Clock | None = None) -> Harbour:
    """Ada, just protected: sequence 0."""
    state_dir = folder / "user" / ".openclaw"
    environment = {"HOME": str(folder / "user"), "LIFEBOAT_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    demo.write_workspace(state_dir, TODAY)
    age_files(state_dir)
    context = Context.open(environment, clock=clock)
    agent, _ = manage_agents.protect_workspace(context, state_dir / "workspace")
    made = Harbour(context, agent)
    made.trees[0] = read_tree(agent.workspace)
    return made


def harbour_after_a_day(folder: Path) -> Harbour:
    """Return the agent after its first day. For `PreparedFolders.restore`."""
    made = harbour(folder)
    made.day_passes()
    return made
