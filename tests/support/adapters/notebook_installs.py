"""Small sample installations for the tests that every adapter must pass."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from lifeboat_adapters.testing import SampleInstallation
from support.adapters.notebook_runtime import CONFIG, FACTS, NOTES, PERSONA, TABLE

KEY = "nb-0123456789-not-a-real-key"
WRITTEN = "2026-10-01T08:00:00.000Z"


def make_notebook(folder: Path) -> SampleInstallation:
    """Write the notebook of Ada, with two notes and two facts."""
    home = folder / "notebook"
    workspace = home / "pages"
    (workspace / "cache").mkdir(parents=True)
    (workspace / "cache" / "x.json").write_text("{}")
    (home / CONFIG).write_text(f'{{"id": "ada", "name": "Ada", "api_key": "{KEY}"}}\n')
    (workspace / PERSONA).write_text("# Ada\n\nCurious and kind.\n")
    (workspace / NOTES).write_text("Likes green tea.\n\nThe red boat lies in the harbour.\n")
    rows = [("f1", "The harbour opens at seven.", WRITTEN), ("f2", "Ink is out.", WRITTEN)]
    with closing(sqlite3.connect(home / FACTS)) as connection, connection:
        connection.execute(TABLE)
        connection.executemany("insert into facts values (?, ?, ?)", rows)
    return SampleInstallation(workspace, folder, {"NOTEBOOK": str(home)})
