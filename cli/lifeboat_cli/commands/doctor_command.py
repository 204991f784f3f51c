"""`lifeboat doctor`: what is wrong, why, and which command helps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lifeboat_cli.commands.findings_text import print_findings
from lifeboat_cli.terminal.command_session import CommandSession, examining_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import REMOTE
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_core.texts.human_text import quote_argument

if TYPE_CHECKING:
    from lifeboat_cli.doctor import DoctorCheckResult

_CONFORMANCE = "conformance"


@click.command(
    epilog=format_examples("lifeboat doctor", "lifeboat doctor --bundle report.zip", "lifeboat doctor --remote home")
)
@click.option(
    "--trust-clock",
    is_flag=True,
    help="Accept the computer's clock as correct, although its time is far from the last time that Lifeboat recorded.",
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a report without personal data to this new ZIP file, for a support request.",
)
@click.option("--remote", type=REMOTE, help="Also test this remote with temporary agents.")
@pager_option
@examining_command
def doctor(session: CommandSession, trust_clock: bool, bundle: Path | None, remote: str | None) -> int:
    """Check the home, the key, agents, vaults and remotes. Exits with 1 if a check finds an error."""
    from lifeboat_cli.doctor import run_doctor_checks
    from lifeboat_core.machine import clock_trust

    if trust_clock:
        clock_trust.confirm_clock(session.context)
    if bundle is not None:
        return _write_bundle(session, bundle)
    with session.output.progress("Examining"):
        found = list(run_doctor_checks(session.context)) if remote is None else _of_remote(session, remote)
    return print_findings(session.output, found, quiet=_is_tried_and_held)


def _of_remote(session: CommandSession, name: str) -> list[DoctorCheckResult]:
    """Check what a remote reports and whether it works as a remote must. Raises SecondCopyError.UNKNOWN_REMOTE,
    ConfigError."""
    from lifeboat_cli.doctor import DoctorCheckResult, DoctorFinding, DoctorLevel
    from lifeboat_cli.remote import remote_examination
    from lifeboat_core.remotes import remote_conformance, remote_registry

    config = remote_registry.find_remote(session.context, name)
    found = [
        DoctorCheckResult("remote", config.name, one)
        for one in remote_examination.examine_remote(session.context, config)
    ]
    if any(one.finding.level is DoctorLevel.ERROR for one in found):
        return found
    for result in remote_conformance.run_conformance(session.context, config):
        level = DoctorLevel.OK if result.ok else DoctorLevel.ERROR
        finding = DoctorFinding(level, result.name, result.message or "without problems")
        found.append(DoctorCheckResult(_CONFORMANCE, config.name, finding))
    return found


def _is_tried_and_held(one: DoctorCheckResult) -> bool:
    """Return whether this is a passed conformance check, of which there are many."""
    return one.check == _CONFORMANCE and one.finding.level == "ok"


def _write_bundle(session: CommandSession, target: Path) -> int:
    """Write the bundle and print its content, so that users see what they send."""
    from lifeboat_cli.support import support_bundle
    from lifeboat_core.documents.doctor_documents import Bundle, Part

    with session.output.progress("Gathering"):
        parts = support_bundle.write_support_bundle(session.context, target)

    def text() -> None:
        session.output.line(f"The report {target} contains only:")
        for part in parts:
            session.output.line(f"  {part.name:<14} {part.what}")
        session.output.line("The report contains no content, no names of files or agents, no keys and no credentials.")
        session.output.verbatim(f"Check the report before you send it: unzip -p {quote_argument(str(target))}")

    listed = tuple(Part(part.name, part.what) for part in parts)
    session.output.document(Bundle(str(target), target.stat().st_size, listed), text)
    return 0
