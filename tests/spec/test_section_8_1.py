"""ALF §8.1: sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from archive_files import ArchiveFile
from cli_client import run


def test_a_delta_after_a_session_is_under_100_kilobytes(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    """A busy session: twenty notes in today's log, an edited project, a fact."""
    (agent / "memory/2026-02-13.md").write_text(
        "# 2026-02-13\n\n" + "\n".join(f"## Call {number}\n\nThe pilot said {number}.\n" for number in range(20))
    )
    memory = agent / "MEMORY.md"
    memory.write_text(memory.read_text() + "\n## Pilots\n\nThey count.\n")
    run("sync")
    assert export(agent, "d.alf-delta", "--since", "0").path.stat().st_size < 100_000
