"""The example of docs/adapters.md keeps every promise of an adapter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from notebook_installs import make_notebook
from notebook_runtime import Notebook

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.testing import AdapterConformance, Made


class TestNotebook(AdapterConformance):
    def adapter(self) -> Adapter:
        return Notebook()

    def make(self, folder: Path) -> Made:
        return make_notebook(folder)


def test_the_suite_loads_no_test_framework() -> None:
    program = "import lifeboat_daemon.testing, sys; sys.exit('pytest' in sys.modules or 'hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
