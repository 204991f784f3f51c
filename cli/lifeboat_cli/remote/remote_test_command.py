"""`lifeboat remote test`: run the conformance checks against a real remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import REMOTE
from lifeboat_core.documents.remote_documents import Check, Tried
from lifeboat_core.texts.human_text import count_text

if TYPE_CHECKING:
    from lifeboat_core.remotes.remote_conformance import ConformanceResult


@click.command(
    short_help="Test a remote with temporary agents.",
    epilog=format_examples("lifeboat remote test home", "lifeboat remote test stick --quick"),
)
@click.argument("remote", type=REMOTE)
@click.option("--quick", is_flag=True, help="Run only the fast tests.")
@session_command
def test(session: CommandSession, remote: str, quick: bool) -> int:
    """Test a remote with temporary agents.

    The remote must store and return data, refuse invalid data, and lose nothing. Your own agents are not changed.
    Exit status 1 if a test fails.
    """
    from lifeboat_core.remotes import remote_conformance, remote_registry

    config = remote_registry.find_remote(session.context, remote)
    results: list[ConformanceResult] = []
    with session.output.progress(f"Testing {config.name}") as tell:
        for result in remote_conformance.run_conformance(session.context, config, quick=quick, tell=tell):
            results.append(result)
            if not session.output.as_json:
                _say(session, result)
    failed = [result for result in results if not result.ok]
    left = sum(len(result.left) for result in results)

    def text() -> None:
        if failed:
            session.output.line(f"{len(failed)} of {count_text(len(results), 'check')} failed.", style="bold red")
        else:
            session.output.line(
                f"The remote {config.name} passed all tests ({count_text(len(results), 'check')}).", style="bold"
            )
        if left:
            which = count_text(left, "test agent remains", "test agents remain")
            session.output.line(f"{which} on the remote. Only the operator of the remote can remove agents.")

    checks = tuple(Check(result.name, result.ok, result.message) for result in results)
    session.output.document(Tried(config.name, not failed, checks, left), text)
    return 1 if failed else 0


def _say(session: CommandSession, result: ConformanceResult) -> None:
    session.output.line(f"{'ok' if result.ok else 'failed':<8} {result.name}", style="green" if result.ok else "red")
    if result.message:
        session.output.line(f"         {result.message}")
