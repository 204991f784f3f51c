"""`lifeboat setup --from-alf`: take over the agents of the reference client."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_cli.commands.sync_command import print_capture
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.texts.human_text import count_text, join_names, path_text
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_core.exchange.alf_taking_over import TakenAgent


def take_over_from_alf(session: CommandSession, *, hosted: bool, workspaces: tuple[Path, ...], dry_run: bool) -> int:
    """Take over every agent that the client knows, and return the exit status. Raises NoAlfClient,
    ExchangeError.HOSTED_HISTORY."""
    from lifeboat_core.exchange import alf_client, alf_taking_over
    from lifeboat_core.exchange.alf_service import HostedService
    from lifeboat_daemon.work.operations import discover

    context = session.context
    folder = alf_client.find_client_folder(context.environment, context.user_home)
    settings = alf_client.read_settings(folder, context.environment)
    tracked, problems = alf_client.list_tracked_agents(folder)
    service = HostedService(settings) if hosted else None
    seen = discover.look_for_agents(context)
    likely = alf_taking_over.find_likely_workspaces(
        context, workspaces, settings.workspace, [one["workspace"] for one in seen["found"]]
    )
    places = alf_client.find_workspaces(tracked, likely)
    taken: list[TakenAgent] = []
    with session.output.progress("Taking over the agents of the reference client") as tell:
        for one in tracked:
            place = places.get(one.id)
            if dry_run:
                taken.append(alf_taking_over.preview_take_over(context, one, place))
            else:
                taken.append(alf_taking_over.take_over(context, one, place, service, tell))
    if not dry_run:
        wake_daemon(context)
    problems += seen["problems"]
    document = {
        "folder": str(folder),
        "service": settings.api_url,
        "hosted": hosted,
        "agents": [one.to_json() for one in taken],
        "problems": problems,
    }
    session.output.document(document, lambda: _print(session, folder, taken, problems))
    return 1 if problems or not all(one.is_whole for one in taken) else 0


def _print(session: CommandSession, folder: Path, taken: list[TakenAgent], problems: list[str]) -> None:
    output = session.output
    if not taken:
        output.line(f"The folder {path_text(str(folder))} contains no agent of the reference client.")
    for one in taken:
        output.line(_sentence(one), style="bold")
        for warning in one.warnings:
            output.warn(warning)
        if one.capture is not None:
            print_capture(output, one.capture)
        if one.error is not None:
            output.warn(f"{one.error['title']}: {one.error['message']}")
            if one.error["fix"]:
                output.note(f"  to fix it: {one.error['fix']}")
        for command in one.next:
            output.verbatim(f"  {command}")
    for problem in problems:
        output.warn(problem)
    if any(one.outcome == "protected" for one in taken):
        output.line("To add a remote and install the service: lifeboat setup")


def _sentence(one: TakenAgent) -> str:
    """Describe what became of an agent."""
    name = one.name or one.id
    place = "workspace not found" if one.workspace is None else path_text(str(one.workspace))
    states = count_text(len(one.sequences), "earlier state")
    numbers = f" ({join_names([str(each) for each in one.sequences[:3]])}{', ...' if one.sequences[3:] else ''})"
    kept = f"{states}{numbers if one.sequences else ''}"
    return {
        "found": f"{name} ({place}) would be taken over with {kept}.",
        "protected": f"{name} ({place}) is now protected, with {kept}.",
        "known": f"{name} ({place}) is protected by this home already.",
        "kept": f"The workspace of {name} was not found on this machine. Its history ({kept}) is kept. To restore "
        "the agent:",
        "failed": f"{name} was not taken over.",
    }[one.outcome]
