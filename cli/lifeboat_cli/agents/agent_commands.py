"""`lifeboat agents`: find, protect and manage agents."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.agents.agents_add_as import add_as, refuse_lookalike
from lifeboat_cli.agents.agents_adopt import adopt, print_remote_agents
from lifeboat_cli.agents.agents_cut import cut, uncut
from lifeboat_cli.agents.agents_grant import grant, revoke
from lifeboat_cli.agents.agents_hook import hook
from lifeboat_cli.agents.agents_move_project import move_project
from lifeboat_cli.commands.sync_command import print_capture
from lifeboat_cli.keys.key_status_text import NEVER_PROVEN
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.option_types import AGENT, DURATION, REMOTE, RUNTIME
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import manage_agents as registry
from lifeboat_core.agents import offers
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.sync_json import is_whole, report_document
from lifeboat_core.documents.agent_documents import Discovered, Everyone, Found, Here
from lifeboat_core.errors import ServiceError
from lifeboat_core.texts.human_text import NO_BREAK, count_text, join_names, path_text, quote_argument, time_text
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_cli.agents.path_coverage import PathCoverage

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group(cls=DefaultCommandGroup, default="list")
def agents() -> None:
    """Find, protect, inspect, move, copy and pause agents."""


agents.add_command(hook)
agents.add_command(grant)
agents.add_command(revoke)
agents.add_command(cut)
agents.add_command(uncut)
agents.add_command(adopt)
agents.add_command(move_project)


def _document(agent: Agent) -> JsonObject:
    return {"id": agent.id, "name": agent.name, "runtime": agent.runtime, "workspace": str(agent.workspace)}


@agents.command(
    short_help="List the agents on this machine, protected or not.",
    epilog=format_examples("lifeboat agents discover", "lifeboat agents discover --dismiss ~/.openclaw/workspace-old"),
)
@click.option(
    "--dismiss",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FOLDER",
    help="Stop suggesting that you protect the agent in this workspace.",
)
@click.option("--all", "everything", is_flag=True, help="Include dismissed agents in the list.")
@session_command
def discover(session: CommandSession, dismiss: tuple[Path, ...], everything: bool) -> None:
    """List the agents on this machine, protected or not.

    The files of the agents are not changed. `lifeboat status` suggests protecting an unprotected agent until you
    protect or dismiss it. Like every command, this command creates the home of Lifeboat if the home does not exist.
    """
    from lifeboat_daemon.work.operations import discover as looking

    if dismiss:
        offers.dismiss_folders(session.context, dismiss)
    protected = {
        os.path.realpath(one.workspace): one.name for one in registry.list_agents(session.context) if one.watched
    }
    looked = looking.look_for_agents(session.context)
    for problem in looked["problems"]:
        session.output.warn(problem)
    unknown = {os.path.realpath(one) for one in dismiss} - {one["workspace"] for one in looked["found"]}
    for folder in sorted(unknown):
        session.output.warn(
            f"no agent was found in {folder}; Lifeboat will not suggest protecting an agent that appears there later"
        )
    dismissed = offers.load_dismissed_folders(session.context)
    documents = [
        Found(**one, protected_as=protected.get(one["workspace"]), dismissed=one["workspace"] in dismissed)
        for one in looked["found"]
    ]
    shown = [one for one in documents if everything or one.protected_as or not one.dismissed]
    rows = [(one.name, one.runtime, one.workspace, _protected(one)) for one in shown]

    def text() -> None:
        if rows:
            fit = TableFit(shorten=("workspace", "runtime"))
            session.output.table(("agent", "runtime", "workspace", "protected"), rows, fit)
        elif not documents:
            session.output.line(
                "No agent was found on this machine. If you know the workspace of an agent, protect "
                "the agent: lifeboat agents add FOLDER"
            )
        for one in shown:
            if one.protected_as is None and not one.dismissed:
                session.output.verbatim(f"To protect this agent: lifeboat agents add {quote_argument(one.workspace)}")
        if len(shown) < len(documents):
            dismissed_ones = count_text(len(documents) - len(shown), "agent was", "agents were")
            session.output.line(
                f"{dismissed_ones} not listed because you dismissed them. To list all: lifeboat agents discover --all"
            )

    session.output.document(Discovered(tuple(shown)), text)


def _protected(found: Found) -> str:
    known = found.protected_as
    if known is None and found.dismissed:
        return "dismissed"
    return "no" if known is None else "yes" if known == found.name else f"as {known}"


@agents.command(
    short_help="Protect the agent whose workspace is FOLDER.",
    epilog=format_examples(
        "lifeboat agents add ~/.openclaw/workspace",
        "lifeboat agents add ~/agents/ada --name ada",
        "lifeboat agents add ~/.openclaw/workspace --as ada --from home-server",
    ),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--runtime", type=RUNTIME, help="Runtime of the agent (default: recognised from its files).")
@click.option("--name", help="Name of the agent (default: the name in its own files).")
@click.option(
    "--new",
    is_flag=True,
    help="Protect as a new agent with a new id, even if this folder belonged to a known agent before.",
)
@click.option("--as", "known_as", metavar="AGENT", help="With --from: continue as this agent of a remote.")
@click.option("--from", "remote", type=REMOTE, metavar="REMOTE", help="With --as: the remote that stores the agent.")
@click.option("--take-over", metavar="MACHINE", help="With --as: take over from this machine, which wrote recently.")
@click.option("--accept-unsigned", is_flag=True, help="With --as: accept an unsigned history.")
@session_command
def add(
    session: CommandSession,
    folder: Path,
    runtime: str | None,
    name: str | None,
    new: bool,
    known_as: str | None,
    remote: str | None,
    take_over: str | None,
    accept_unsigned: bool,
) -> int:
    """Protect the agent whose workspace is FOLDER, and capture its first sequence.

    The command refuses a folder that resembles an agent on a remote. In that case use --as to continue with the id
    and history of that agent, or --new to protect a new agent. Exit 1 if the agent is protected but a part of it
    could not be captured.
    """
    if known_as is not None or remote is not None:
        if known_as is None or remote is None or new:
            raise click.UsageError("use --as and --from together, and without --new")
        return add_as(session, folder, remote, known_as, take_over, accept_unsigned=accept_unsigned)
    if not new:
        refuse_lookalike(session, folder, runtime)
    first = session.context.keys().key_id is None
    known = {one.id for one in registry.list_agents(session.context)}
    with session.output.progress("Capturing"):
        agent, report = registry.protect_workspace(session.context, folder, runtime=runtime, name=name, new=new)
    wake_daemon(session.context)
    capture = report_document(agent, report)
    copied = None if agent.id in known else _original(session, agent, folder)
    copy_of = None if copied is None else {"id": copied["agent"], "name": copied["name"]}
    document = {**_document(agent), "capture": capture, "key_made": first, "copy_of": copy_of}

    def text() -> None:
        session.output.line(f"{agent.name} is protected.", style="bold")
        if copied is not None:
            session.output.line(_copy(session, copied, folder))
        print_capture(session.output, capture)
        for line in _missing(session, first):
            session.output.line(line)

    session.output.document(document, text)
    return 0 if is_whole(capture) else 1


def _original(session: CommandSession, agent: Agent, folder: Path) -> JsonObject | None:
    """Return what is known of the agent that a folder was restored from, if it is another agent."""
    from lifeboat_core.restore import read_restore_origin

    origin = read_restore_origin(session.context, folder)
    return None if origin is None or origin["agent"] == agent.id else origin


def _copy(session: CommandSession, origin: JsonObject, folder: Path) -> str:
    """Describe for people that a folder was restored from another agent, which is not affected."""
    known = next((one for one in registry.list_agents(session.context) if one.id == origin["agent"]), None)
    if known is None:
        return f"This agent is a copy of {origin['name']}, with its own id and history."
    moving = f"lifeboat restore {quote_argument(known.name)} --to {quote_argument(str(folder))} --adopt"
    return (
        f"This agent is a copy of {known.name}, with its own id and history. To move {known.name} to this folder "
        f"instead: {moving}"
    )


def _missing(session: CommandSession, first: bool) -> list[str]:
    """Return what a user should know or do next."""
    keys = session.context.keys().status()
    said = keys.note or f"key: {keys.state}"
    lines = [f"A key was created for this home: {keys.key_id}."] if first else []
    if keys.proven_at is None:
        lines.append(NEVER_PROVEN)
    return [
        *lines,
        f"{said[:1].upper()}{said[1:]}.",
        _elsewhere(session),
        _captured_how(session),
    ]


def _elsewhere(session: CommandSession) -> str:
    """Describe the remotes that will get copies of the agent."""
    from lifeboat_core.remotes import remote_registry as remotes

    names = [remote.name for remote in remotes.list_usable_remotes(session.context)]
    if not names:
        return "The captured data is on this disk only. To add a remote: lifeboat remote add NAME URL"
    return f"Remotes: {join_names(names)}. To push now: lifeboat sync"


def _copies(session: CommandSession) -> str:
    """Describe where copies of the agent are pushed."""
    from lifeboat_core.remotes import remote_registry

    names = [one.name for one in remote_registry.list_usable_remotes(session.context)]
    if names:
        return f"The next sync pushes the agent to {' and '.join(names)}."
    return "The captured data is on this disk only. To add a remote: lifeboat remote add NAME URL"


def _captured_how(session: CommandSession) -> str:
    """Describe what captures the agent from now on: the daemon if one runs, otherwise `sync`."""
    from lifeboat_daemon.control.daemon_client import connect_if_running

    with contextlib.suppress(ServiceError):
        client = connect_if_running(session.context.home, session.context.files)
        if client is None:
            return (
                "The daemon is not running. To capture changes now: lifeboat sync. To capture changes "
                "automatically: lifeboat service install"
            )
        client.close()
    return "The daemon captures every later change of the agent automatically."


@agents.command("list", epilog=format_examples("lifeboat agents list", "lifeboat agents list --remote home-server"))
@click.option("--remote", type=REMOTE, help="List the agents on this remote (default: the agents of this home).")
@pager_option
@session_command
def list_agents(session: CommandSession, remote: str | None) -> None:
    """List the agents of this home, or the agents on a remote."""
    if remote is not None:
        print_remote_agents(session, remote)
        return
    from lifeboat_core.restore import usual_folders

    now = session.context.now()
    found = registry.list_agents(session.context)
    documents = [
        Here(
            **_document(agent),
            watched=agent.watched,
            paused=agent.is_paused(now),
            paused_until=agent.paused_until if agent.is_paused(now) else None,
            problem=agent.problem,
            folders={
                name: str(folder)
                for name, folder in usual_folders.find_usual_folders(session.context, agent.name).items()
            },
        )
        for agent in found
    ]
    rows = [(agent.name, agent.runtime, agent.workspace, _standing(agent, now), _short_id(agent)) for agent in found]
    columns = ("agent", "runtime", "workspace", "state", "id")

    def text() -> None:
        if not rows:
            session.output.line("No agent is protected yet. To find agents: lifeboat agents discover")
            return
        with session.output.pager():
            session.output.table(columns, rows, TableFit(shorten=("workspace", "runtime"), least={"id": 13}))

    session.output.document(Everyone(tuple(documents)), text)


def _short_id(agent: Agent) -> str:
    """Return the part of an id that contains its time of creation. Two agents hardly ever share it, and it is short
    enough to type."""
    return agent.id[:13]


def _standing(agent: Agent, now: str) -> str:
    if agent.is_paused(now):
        return f"paused until {_until(agent.paused_until)}" if agent.paused_until else "paused"
    return "protected" if agent.watched else "imported, captures not started"


def _until(timestamp: str) -> str:
    return time_text(timestamp).replace(" ", NO_BREAK)


@agents.command(
    short_help="List each file of an agent and how it is captured.",
    epilog=format_examples("lifeboat agents show Juniper --left-out"),
)
@click.argument("agent", type=AGENT)
@click.option(
    "--left-out",
    is_flag=True,
    help="List only files that are not captured, or of which only an earlier version is captured.",
)
@pager_option
@session_command
def show(session: CommandSession, agent: str, left_out: bool) -> None:
    """List each file of an agent, how it is captured, and the reason if it is not captured."""
    from lifeboat_cli.agents.path_coverage import list_path_coverage

    found = registry.find_agent(session.context, agent)
    files = [one for one in list_path_coverage(session.context, found) if not left_out or one.stale or not one.kept]
    grant = _grant_document(session, found)
    document = {**_document(found), "grant": grant, "files": [one.to_json() for one in files]}
    rows = [(one.how.replace(" ", NO_BREAK), _size(one), path_text(one.path), _why(one)) for one in files]

    def text() -> None:
        if grant is not None:
            state = "has expired" if grant["expired"] else "is in force"
            session.output.note(f"The grant of access to its own past, given {time_text(grant['given_at'])}, {state}.")
        if not rows:
            session.output.line("Everything in the workspace is captured." if left_out else "Nothing is captured yet.")
            return
        with session.output.pager():
            session.output.table(
                ("kept", "size", "path", "why"), rows, TableFit(shorten=("path",), wrap="why", least={"path": 28})
            )

    session.output.document(document, text)


def _grant_document(session: CommandSession, agent: Agent) -> JsonObject | None:
    """Return the grant of access to the agent's own past, None if there is none."""
    from lifeboat_core.grants.agent_grant import read_grant

    with session.context.vault(agent.id) as vault:
        grant = read_grant(vault)
    return None if grant is None else grant.to_json(session.context.now())


def _why(one: PathCoverage) -> str:
    lost = f"captured without: {join_names(one.lost)}" if one.lost else ""
    stale = f"an earlier version is captured: {one.stale}" if one.stale else ""
    return ", ".join(each for each in (one.why, lost, stale) if each)


def _size(one: PathCoverage) -> str:
    """Return the size of a file, or "" for a link or a folder."""
    return size_text(one.size).replace(" ", NO_BREAK) if one.size else ""


@agents.command(short_help="Accept a held capture, which removed much.")
@click.argument("agent", type=AGENT)
@session_command
def accept(session: CommandSession, agent: str) -> None:
    """Accept a held capture, and accept the current workspace and databases of the agent.

    A capture that removes much is held: Lifeboat does not push it to the remotes before you run this command.
    """
    found = registry.find_agent(session.context, agent)
    was_held = registry.accept_removals(session.context, found)
    wake_daemon(session.context, found)
    said = (
        f"The removals in {found.name} were accepted. The next sync pushes them to the remotes."
        if was_held
        else f"No capture of {found.name} was held. The current workspace is accepted."
    )
    session.output.document({**_document(found), "was_held": was_held}, lambda: session.output.line(said))


@agents.command(
    short_help="Use FOLDER as the agent's workspace from now on.",
    epilog=format_examples("mv ~/.openclaw/workspace ~/juniper", "lifeboat agents move Juniper ~/juniper"),
)
@click.argument("agent", type=AGENT)
@click.argument("folder", type=FOLDER)
@session_command
def move(session: CommandSession, agent: str, folder: Path) -> int:
    """Use FOLDER as the workspace of the agent from now on. The history of the agent continues. Exit 1 if a part of
    the workspace could not be captured.
    """
    moved, report = registry.move_agent(session.context, registry.find_agent(session.context, agent), folder)
    wake_daemon(session.context)
    return _say_captured(session, moved, report)


@agents.command(
    short_help="Protect a copy of an agent's workspace as a new agent.",
    epilog=format_examples(
        "cp -a ~/.openclaw/workspace ~/juniper-two", "lifeboat agents clone Juniper ~/juniper-two --name Pine"
    ),
)
@click.argument("agent", type=AGENT)
@click.argument("folder", type=FOLDER)
@click.option("--name", help="Name of the new agent.")
@session_command
def clone(session: CommandSession, agent: str, folder: Path, name: str | None) -> int:
    """Protect a copy of an agent's workspace as a new agent with a new id.

    FOLDER is the copy; make it first, with cp -a or lifeboat restore --to. Exit 1 if a part of the workspace could
    not be captured.
    """
    made, report = registry.clone_agent(session.context, registry.find_agent(session.context, agent), folder, name=name)
    wake_daemon(session.context)
    return _say_captured(session, made, report)


def _say_captured(session: CommandSession, agent: Agent, report: CaptureReport) -> int:
    """Print what a capture contains. Return the exit status."""
    capture = report_document(agent, report)
    session.output.document({**_document(agent), "capture": capture}, lambda: print_capture(session.output, capture))
    return 0 if is_whole(capture) else 1


@agents.command()
@click.argument("agent", type=AGENT)
@click.argument("name")
@session_command
def rename(session: CommandSession, agent: str, name: str) -> None:
    """Rename an agent."""
    found = registry.find_agent(session.context, agent)
    renamed = registry.rename_agent(session.context, found, name)
    wake_daemon(session.context)
    said = f"{found.name} is now called {renamed.name}."
    session.output.document(_document(renamed), lambda: session.output.line(said))


@agents.command()
@click.argument("agent", type=AGENT)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def remove(session: CommandSession, agent: str, yes: bool) -> None:
    """Stop protecting an agent.

    The workspace is not changed, and the history is kept for 30 days. If you protect the same folder again within
    30 days, the agent continues with its history.
    """
    found = registry.find_agent(session.context, agent)
    if not yes:
        ask_confirmation(
            session, f"Stop protecting {found.name}?", otherwise=f"{found.name} would no longer be protected"
        )
    _take_hook_away(session, found)
    kept = registry.remove_agent(session.context, found)
    offers.dismiss_folders(session.context, [found.workspace])
    wake_daemon(session.context)

    def text() -> None:
        session.output.line(f"{found.name} is no longer protected. Its history is kept for 30 days in")
        session.output.verbatim(f"  {kept}")

    session.output.document({**_document(found), "vault": str(kept)}, text)


def _take_hook_away(session: CommandSession, agent: Agent) -> None:
    """Remove the session hook of an agent that is no longer protected: it would start commands without effect."""
    from lifeboat_core.agents import session_hook_setup

    try:
        session_hook_setup.remove_hook(session.context, agent)
    except LifeboatError as error:
        session.output.warn(f"the hook of the agent could not be removed: {error.message}")


@agents.command(
    epilog=format_examples("lifeboat agents pause Juniper --for 2h", "lifeboat agents pause Juniper --for 7d")
)
@click.argument("agent", type=AGENT)
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    metavar="TIME",
    help="Pause for this long, for example 30m, 2h or 7d (default: until `agents resume`).",
)
@click.option(
    "--hours", type=click.FloatRange(min=0, min_open=True), hidden=True, help="Pause for this number of hours."
)
@session_command
def pause(session: CommandSession, agent: str, seconds: int | None, hours: float | None) -> None:
    """Pause the captures of an agent. After the time given with --for, captures resume automatically."""
    if seconds is not None:
        hours = seconds / 3600
    paused = registry.pause_agent(session.context, registry.find_agent(session.context, agent), hours=hours)
    wake_daemon(session.context)
    until = f" until {time_text(paused.paused_until)}" if paused.paused_until else ""
    said = f"{paused.name} is paused{until}. To resume: lifeboat agents resume {quote_argument(paused.name)}"
    document = {**_document(paused), "paused_until": paused.paused_until}
    session.output.document(document, lambda: session.output.line(said))


@agents.command(short_help="Resume captures of an agent.")
@click.argument("agent", type=AGENT)
@session_command
def resume(session: CommandSession, agent: str) -> None:
    """Resume the captures of a paused agent, or start the captures of an imported agent."""
    resumed = registry.resume_agent(session.context, registry.find_agent(session.context, agent))
    wake_daemon(session.context)
    session.output.document(
        _document(resumed), lambda: session.output.line(f"Changes of {resumed.name} are captured from now on.")
    )
