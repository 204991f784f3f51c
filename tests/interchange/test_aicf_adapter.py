from __future__ import annotations

from pathlib import Path

import aicf_files
import pytest

from lifeboat_adapters.aicf import ADAPTER
from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.testing import Made
from lifeboat_daemon.testing import RuntimeConformance

pytestmark = pytest.mark.interchange


class TestAicf(RuntimeConformance):
    def adapter(self) -> Adapter:
        return ADAPTER

    def make(self, folder: Path) -> Made:
        workspace = folder / ".aicf"
        workspace.mkdir()
        for name in ("D1-specified", "D4-compiled", "D3-blocks"):
            (workspace / f"{name}.aicf").write_bytes(aicf_files.FILES[name])
        (workspace / "chart.png").write_bytes(b"\x89PNG not really")
        (workspace / "settings.json").write_text('{"api_key": "sk-0123456789abcdefghijklmnop"}\n')
        return Made(workspace=workspace, user_home=folder)

    def remember(self, made: Made, text: str) -> None:
        file = made.workspace / "D4-compiled.aicf"
        file.write_bytes(file.read_bytes() + f"\n@INSIGHTS:\n{text}|GENERAL|LOW|0.5\n".encode())
