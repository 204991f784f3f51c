"""The view of an unsigned state before it is written: each file that a tool would run or obey, with its first lines.

Nothing is written before the user has seen this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lifeboat_cli.terminal.command_again import write_command_again
from lifeboat_cli.terminal.command_session import CommandSession, can_ask
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.texts.human_text import count_text
from lifeboat_core.texts.safe_text import name_text

if TYPE_CHECKING:
    from lifeboat_core.restore.hazards import Hazard
    from lifeboat_core.restore.restore_plan import RestorePlan

_MOST_BYTES, _MOST_LINES = 2048, 12


def ask_consent(session: CommandSession, plan: RestorePlan, seen: str | None) -> None:
    """Show an unsigned state and get the user's consent: an answer on a terminal, elsewhere the code of the state that
    was shown (`seen`). A dry run only shows it. Raises RestoreError.UNSIGNED_STATE."""
    from lifeboat_core.restore.restore_run import make_unsigned_error
    from lifeboat_core.restore.seen_code import make_seen_code

    options, code = plan.options, make_seen_code(plan)
    if options.accept_unsigned and seen == code:
        return
    print_quarantine(session.output, plan)
    if options.accept_unsigned and options.dry_run:
        if not session.output.as_json:
            session.output.line(f"Code of this state, for --seen: {code}")
        return
    refused = make_unsigned_error(plan)
    if seen is not None:
        refused.message = f"the code {seen} given with --seen belongs to another state; {refused.message}"
    elif options.accept_unsigned and can_ask(session):
        click.confirm("This state has no valid signature. Write it anyway?", abort=True, err=True)
        return
    is_shown = not session.output.as_json and not options.dry_run
    refused.fix = write_command_again("--accept-unsigned", *(("--seen", code) if is_shown else ("--dry-run",)))
    raise refused


def print_quarantine(output: CommandOutput, plan: RestorePlan) -> None:
    """Print the view, or nothing with --json, where `--dry-run` lists the same files."""
    from lifeboat_core.restore import describe_plan

    if output.as_json:
        return
    output.line(
        "This state is not signed. Check the plan and the files below before you restore it. Nothing is written yet.",
        style="bold",
    )
    for line in describe_plan(plan):
        output.line(line)
    if not plan.hazards:
        output.line(
            "Lifeboat found nothing in this state that a runtime or another known program would run, or "
            "that an agent would follow as an instruction."
        )
    for hazard in plan.hazards:
        output.line(f"{name_text(hazard.name)}: {hazard.reason}", style="bold")
        _show_beginning(output, plan, hazard)


def _show_beginning(output: CommandOutput, plan: RestorePlan, hazard: Hazard) -> None:
    from lifeboat_core.restore.hazards import read_beginning
    from lifeboat_core.restore.wanted_contents import LINK

    wanted = hazard.wanted
    if wanted is None:
        return
    if wanted.kind == LINK:
        output.line(f"  a link to {name_text(wanted.target)}")
        return
    data = read_beginning(plan.state, wanted, _MOST_BYTES)
    if b"\0" in data:
        output.line(f"  {count_text(wanted.size, 'byte')} of binary data")
        return
    lines = data.decode("utf-8", "replace").split("\n")
    for line in lines[:_MOST_LINES]:
        output.line(f"  | {line}")
    if len(lines) > _MOST_LINES or wanted.size > len(data):
        output.line(f"  ({count_text(wanted.size, 'byte')} in all)")
