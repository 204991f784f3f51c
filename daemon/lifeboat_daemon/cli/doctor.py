"""`lifeboat doctor`: what is wrong, why, and which command helps."""

from __future__ import annotations

import click

from lifeboat_daemon.cli.examples import examples
from lifeboat_daemon.cli.session import Session, session_command
from lifeboat_daemon.words import count_text

_STYLES = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command(epilog=examples("lifeboat doctor"))
@click.option("--trust-clock", is_flag=True, help="The clock is right, although it does not follow from before.")
@session_command
def doctor(session: Session, trust_clock: bool) -> int:
    """Examine the home, the key, every agent and its vault. Exit 1 when something is broken."""
    from lifeboat_daemon import clock_trust
    from lifeboat_daemon.doctor import examine

    if trust_clock:
        clock_trust.confirm(session.context)
    with session.output.progress("Examining"):
        found = list(examine(session.context))
    broken = sum(one.finding.level == "error" for one in found)

    def text() -> None:
        for one in found:
            finding = one.finding
            session.output.line(f"{finding.level:<8} {finding.subject}: {finding.result}", style=_STYLES[finding.level])
            if finding.fix:
                session.output.verbatim(f"         {finding.fix}")
        session.output.line(_sum_up(broken, len(found)), style="bold")

    session.output.document({"ok": not broken, "findings": [one.to_json() for one in found]}, text)
    return 1 if broken else 0


def _sum_up(broken: int, checks: int) -> str:
    checked = count_text(checks, "check")
    return f"{broken} of {checked} found something broken." if broken else f"Nothing is broken ({checked})."
