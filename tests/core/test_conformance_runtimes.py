"""Runtimes as a whole: what is installed, captured and restored, by the suite that any runtime must pass. It holds the
one that any adapter must pass."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.openclaw.adapter import OpenClaw
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_core.testing import RuntimeConformance
from support.adapters import openclaw_workspaces
from support.adapters.notebook_installs import make_notebook
from support.adapters.notebook_runtime import FACTS, NOTES, Notebook


class TestNotebook(RuntimeConformance):
    def adapter(self) -> Adapter:
        return Notebook()

    def make(self, folder: Path) -> SampleInstallation:
        return make_notebook(folder)

    def remember(self, made: SampleInstallation, text: str) -> None:
        with closing(sqlite3.connect(made.workspace.parent / FACTS)) as connection, connection:
            connection.execute("insert into facts values ('f3', ?, '2026-10-03T08:00:00.000Z')", (text,))


class TestNotebookWithoutFacts(RuntimeConformance):
    def adapter(self) -> Adapter:
        return Notebook()

    def make(self, folder: Path) -> SampleInstallation:
        made = make_notebook(folder)
        (made.workspace.parent / FACTS).unlink()
        return made

    def remember(self, made: SampleInstallation, text: str) -> None:
        notes = made.workspace / NOTES
        notes.write_text(f"{notes.read_text()}\n{text}")


class TestOpenClaw(RuntimeConformance):
    layout = openclaw_workspaces.NEW

    def adapter(self) -> Adapter:
        return OpenClaw()

    def make(self, folder: Path) -> SampleInstallation:
        state = openclaw_workspaces.make_state_dir(folder / ".openclaw", layout=self.layout)
        return SampleInstallation(state.workspace, folder, {"PATH": "/usr/bin:/bin"})

    def remember(self, made: SampleInstallation, text: str) -> None:
        memory = made.workspace / "MEMORY.md"
        memory.write_text(f"{memory.read_text()}\n## Light\n\n{text}")


class TestOpenClawOfFebruary(TestOpenClaw):
    layout = openclaw_workspaces.OLD


def test_the_suite_loads_no_test_framework() -> None:
    program = "import lifeboat_core.testing, sys; sys.exit('pytest' in sys.modules or 'hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
