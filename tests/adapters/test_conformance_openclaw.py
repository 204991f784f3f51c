"""OpenClaw keeps every promise of an adapter, in both of its layouts."""

from __future__ import annotations

from pathlib import Path

import openclaw_workspaces

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.openclaw.adapter import OpenClaw
from lifeboat_adapters.testing import AdapterConformance, Made


class TestOpenClaw(AdapterConformance):
    layout = openclaw_workspaces.NEW

    def adapter(self) -> Adapter:
        return OpenClaw()

    def make(self, folder: Path) -> Made:
        state = openclaw_workspaces.make_state_dir(folder / ".openclaw", layout=self.layout)
        return Made(state.workspace, folder, {"HOME": str(folder), "PATH": "/usr/bin:/bin"})


class TestOpenClawOfFebruary(TestOpenClaw):
    layout = openclaw_workspaces.OLD
