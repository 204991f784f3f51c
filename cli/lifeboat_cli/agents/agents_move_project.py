"""`lifeboat agents move-project`: follow a project to another path in the files of its runtime."""

from __future__ import annotations

import os
from pathlib import Path

import click

from lifeboat_adapters.contract import ProjectMove
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_core.agents.agent import Agent, find_agent
from lifeboat_core.texts.human_text import count_text, path_text, quote_argument
from lifeboat_daemon.control.poke_daemon import wake_daemon

_PATH = click.Path(path_type=Path)


@click.command(
    "move-project",
    short_help="Update an agent after a project moved to another path.",
    epilog=format_examples("mv ~/boats ~/harbour", "lifeboat agents move-project Claude ~/boats ~/harbour"),
)
@click.argument("agent", type=AGENT)
@click.argument("old", type=_PATH)
@click.argument("new", type=_PATH)
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def move_project(session: CommandSession, agent: str, old: Path, new: Path, *, dry_run: bool, yes: bool) -> None:
    """Update the files of an agent's runtime after a project moved from OLD to NEW.

    Claude Code stores the memories, transcripts and settings of a project under the absolute path of the project,
    so it does not find them after a move. This command renames the folders of the project and replaces the path in
    every file that contains it. Projects in folders below OLD are moved too. The agent is captured before and
    after. Close Claude Code first. To reverse the move, exchange OLD and NEW.
    """
    from lifeboat_core.agents import move_project as moves

    found = find_agent(session.context, agent)
    before, after = Path(os.path.abspath(old.expanduser())), Path(os.path.realpath(new.expanduser()))
    plan = moves.plan_project_move(session.context, found, before, after)
    document = _document(found, plan) | {"old": str(before), "new": str(after), "moved": not dry_run}
    if dry_run:
        session.output.document({**document, "safety_sequence": None, "sequence": None}, lambda: _show(session, plan))
        return
    if not yes:
        _show(session, plan)
        ask_confirmation(
            session,
            "Update the path of this project?",
            otherwise=f"the project path in the files of {found.name} would change from {before} to {after}",
        )
    with session.output.progress("Capturing"):
        done = moves.move_project(session.context, found, before, after)
    wake_daemon(session.context, found)
    document |= {"safety_sequence": done.before.sequence, "sequence": done.after.sequence}
    back = " ".join(map(quote_argument, (found.name, str(after), str(before))))

    def text() -> None:
        counts = f"{count_text(len(plan.folders), 'folder')} renamed, {count_text(len(plan.files), 'file')} rewritten"
        session.output.line(f"{found.name} now uses the project at {path_text(str(after))}: {counts}.")
        _warn(session, plan)
        session.output.line(f"To reverse the move: lifeboat agents move-project {back}")

    session.output.document(document, text)


def _document(agent: Agent, plan: ProjectMove) -> JsonObject:
    return {
        "id": agent.id,
        "name": agent.name,
        "folders": [{"from": str(source), "to": str(target)} for source, target in plan.folders.items()],
        "files": [str(path) for path in plan.files],
        "still_naming": [str(path) for path in plan.still_naming],
    }


def _show(session: CommandSession, plan: ProjectMove) -> None:
    for source, target in plan.folders.items():
        session.output.line(f"rename {path_text(str(source))} to {path_text(target.name)}")
    for path in plan.files:
        session.output.line(f"rewrite {path_text(str(path))}")
    _warn(session, plan)


def _warn(session: CommandSession, plan: ProjectMove) -> None:
    for path in plan.still_naming:
        session.output.warn(f"{path} still contains the old path inside a longer text; edit this file yourself")
