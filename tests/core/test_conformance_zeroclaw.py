"""ZeroClaw as a whole, in each shape that its databases had: installed, captured and restored."""

from __future__ import annotations

from pathlib import Path

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_adapters.zeroclaw.adapter import ZeroClaw
from lifeboat_core.testing import RuntimeConformance
from support.adapters.zeroclaw_installs import Install
from support.adapters.zeroclaw_made import make_zeroclaw


class TestZeroClaw(RuntimeConformance):
    generation = "0.8.3"

    def adapter(self) -> Adapter:
        return ZeroClaw()

    def make(self, folder: Path) -> SampleInstallation:
        return make_zeroclaw(folder, self.generation)

    def remember(self, made: SampleInstallation, text: str) -> None:
        Install(made.user_home / ".zeroclaw", self.generation).remember("another", text)


class TestZeroClawWithAgents(TestZeroClaw):
    generation = "0.8.0"


class TestZeroClawWithNamespaces(TestZeroClaw):
    generation = "0.5.9"


class TestZeroClawWithSessions(TestZeroClaw):
    generation = "0.1.5"


class TestZeroClawWithVectors(TestZeroClaw):
    generation = "0.1.1"


class TestBareZeroClaw(TestZeroClaw):
    generation = "0.1.0"
