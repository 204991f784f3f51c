"""An agent of the runtime under test in a separate home, captured and restored on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.contract import Adapter, Installation
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_adapters.testing.sample_installation import files_of, rows_of
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, RestoreReport, carry_out_plan, plan_restore, restore_agent


class LaterClock(SystemClock):
    """A clock that is an hour ahead: no file on the disk is young enough to be read twice."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)


def context_for(adapter: Adapter, made: SampleInstallation, home: Path) -> Context:
    """Return a context whose home is `home` and which knows the adapter under test in addition to those of the
    registry."""

    class UnderTest(Context):
        def adapter(self, runtime: str) -> Adapter:
            return adapter if runtime == adapter.runtime else adapter_registry.load_adapter(runtime)

        def adapters(self) -> list[Adapter]:
            return [adapter]

        def recognise(self, workspace: Path) -> Adapter:
            return adapter

    around = {"PATH": "/usr/bin:/bin", **made.environment, "HOME": str(made.user_home), "LIFEBOAT_HOME": str(home)}
    return UnderTest.open(around, clock=LaterClock())


@dataclass(slots=True)
class Harness:
    """`made` is the installation under test, `agent` its agent once it was captured."""

    adapter: Adapter
    made: SampleInstallation
    context: Context
    agent: Agent

    @classmethod
    def begin(cls, adapter: Adapter, made: SampleInstallation, home: Path) -> Harness:
        """Capture the installation for the first time."""
        context = context_for(adapter, made, home)
        agent, _ = manage_agents.protect_workspace(context, made.workspace, runtime=adapter.runtime)
        return cls(adapter, made, context, agent)

    def capture(self, *, full: bool = False) -> CaptureReport:
        """Capture again; `full` reads everything, regardless of its stat."""
        return capture_agent(self.context, manage_agents.load_agent(self.context, self.agent.id), full=full)

    def restore(self, target: Path, **options: Any) -> RestoreReport:
        wanted = RestoreOptions(to=target, yes=True, with_credentials=True, reindex=False, **options)
        return restore_agent(self.context, manage_agents.load_agent(self.context, self.agent.id), wanted)

    def import_(self, state: State, target: Path) -> RestoreReport:
        """Import an unsigned state of another agent."""
        options = RestoreOptions(accept_unsigned=True, yes=True, reindex=False, runtime=self.adapter.runtime)
        return carry_out_plan(self.context, plan_restore(self.context, state, target, options))

    def installation(self, workspace: Path) -> Installation:
        return self.adapter.locate(workspace, self.context.environment, self.context.user_home)

    def files(self, workspace: Path) -> Mapping[str, bytes]:
        """Return the files of a workspace that a capture keeps, by archive path."""
        first, *_ = self.adapter.roots(self.installation(workspace))
        found = files_of(self.adapter, self.installation(workspace))
        return {path: data for path, data in found.items() if path.startswith(first.prefix)}

    def rows(self, workspace: Path) -> list[JsonObject]:
        """Return the rows of the runtime's memory, nothing for a runtime that keeps it in files."""
        return [row.values for row in rows_of(self.adapter, self.installation(workspace))]

    def memories(self, agent: Agent | None = None) -> dict[str, str]:
        """Return what the newest captured state remembers, by id."""
        with self.context.vault((agent or self.agent).id) as vault:
            return memories_of(vault.state())


def memories_of(state: State) -> dict[str, str]:
    return {str(each.record["id"]): str(each.record["content"]) for each in visible_records(state)}
