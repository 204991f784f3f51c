"""ALF §8.1: sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.cpu_seconds import cpu_seconds
from support.endpoint.served_apps import ServedApp, push_delta


def test_a_delta_after_a_session_is_under_100_kilobytes(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    """A busy session: twenty notes in today's log, an edited project, a fact."""
    (agent / "memory/2026-02-13.md").write_text(
        "# 2026-02-13\n\n" + "\n".join(f"## Call {number}\n\nThe pilot said {number}.\n" for number in range(20))
    )
    memory = agent / "MEMORY.md"
    memory.write_text(memory.read_text() + "\n## Pilots\n\nThey count.\n")
    run("sync")
    assert export(agent, "d.alf-delta", "--since", "0").path.stat().st_size < 100_000


def test_an_endpoint_takes_the_delta_of_a_session_within_5_seconds(tmp_path: Path) -> None:
    served = ServedApp(tmp_path)
    with served.running() as client:
        machine = served.pushed(client)
        notes = {f"raw__openclaw__memory__{day}.md": b"The pilot said so.\n" * 500 for day in range(10)}
        machine.capture(**notes)
        before = cpu_seconds()
        assert push_delta(client, machine, 0).status_code == 201
        assert cpu_seconds() - before < 5
