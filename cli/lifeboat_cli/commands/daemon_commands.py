"""`lifeboat daemon`: the process that watches and captures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.option_types import COUNT
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.texts.human_text import age_text

if TYPE_CHECKING:
    from lifeboat_daemon.service.daemon_lifecycle import DaemonState

_COVERAGE = {"events": "watched", "partial": "partly watched", "polling": "polled", "none": "not watched"}


@click.group(cls=DefaultCommandGroup, default="status")
def daemon() -> None:
    """Control the daemon, which watches workspaces and captures changes."""


@daemon.command(
    short_help="Run the daemon in the foreground until Ctrl-C.", epilog=format_examples("lifeboat daemon run")
)
@click.option("--wait", is_flag=True, help="Wait while another daemon serves this home, then start.")
def run(wait: bool) -> None:
    """Run the daemon in the foreground until Ctrl-C. Events are printed on standard error."""
    from lifeboat_daemon.service.daemon_lifecycle import COMMAND

    command = [*COMMAND, "--foreground", *(["--wait"] if wait else [])]
    if os.name == "nt":  # The process that replaces this one would be another one, without the shell's knowledge.
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(command[0], command)


@daemon.command(short_help="Start the daemon if it is not running.", epilog=format_examples("lifeboat daemon start"))
@session_command
def start(session: CommandSession) -> None:
    """Start the daemon if it is not running.

    If a service is installed, the service starts the daemon. The daemon keeps running when this terminal closes.
    """
    from lifeboat_daemon.service import daemon_lifecycle

    started = daemon_lifecycle.start_daemon(session.context, session.output.note)
    found = started.standing

    def text() -> None:
        first = "The daemon was already running" if started.how == "already" else "The daemon is running"
        session.output.line(f"{first}: {_named(found)}.")
        if started.how == "process":
            session.output.line(_how_long(session))

    session.output.document({"how": started.how, **found.to_json()}, text)


@daemon.command(epilog=format_examples("lifeboat daemon stop"))
@session_command
def stop(session: CommandSession) -> None:
    """Stop the daemon after its current step. Changes are not captured until the daemon runs again."""
    from lifeboat_daemon.service import daemon_lifecycle

    before = daemon_lifecycle.stop_daemon(session.context, session.output.note)
    said = "The daemon was not running." if before is None else f"Stopped the daemon: {_named(before)}."
    document = {"stopped": before is not None, "pid": before.pid if before else None}
    session.output.document(document, lambda: session.output.line(said))


@daemon.command(
    short_help="Restart the daemon, or start it if it is not running.",
    epilog=format_examples("lifeboat daemon restart"),
)
@session_command
def restart(session: CommandSession) -> None:
    """Restart the daemon, or start it if it is not running. Use this command after an upgrade, or if the daemon does
    not answer.
    """
    from lifeboat_daemon.service import daemon_lifecycle

    daemon_lifecycle.stop_daemon(session.context, session.output.note)
    started = daemon_lifecycle.start_daemon(session.context, session.output.note)
    said = f"The daemon is running: {_named(started.standing)}."
    document = {"how": started.how, **started.standing.to_json()}
    session.output.document(document, lambda: session.output.line(said))


@daemon.command(
    short_help="Show whether the daemon runs and what it does.", epilog=format_examples("lifeboat daemon status")
)
@session_command
def status(session: CommandSession) -> int:
    """Show whether the daemon runs, since when, and which agents and jobs it works on. Exits with 1 if the daemon does
    not run.
    """
    from lifeboat_daemon.service import daemon_lifecycle

    found = daemon_lifecycle.inspect_daemon(session.context)
    session.output.document(found.to_json(), lambda: _print(session, found))
    return 0 if found.told is not None else 1


@daemon.command(epilog=format_examples("lifeboat daemon reload"))
@session_command
def reload(session: CommandSession) -> int:
    """Make the daemon read the settings again. The daemon also does so when a settings file changes."""
    from lifeboat_daemon.service import daemon_lifecycle

    problem = daemon_lifecycle.reload_daemon(session.context)
    said = (
        "The daemon has loaded the current settings."
        if problem is None
        else f"The daemon keeps using the last valid settings: {problem}"
    )
    session.output.document({"problem": problem}, lambda: session.output.line(said))
    return 0 if problem is None else 1


@daemon.command(
    short_help="Show the log of the daemon, which contains no names and no content.",
    epilog=format_examples(
        "lifeboat daemon log", "lifeboat daemon log --level warning", "lifeboat daemon log --follow"
    ),
)
@click.option(
    "-n", "--lines", type=COUNT, default=50, show_default=True, help="Show at most this many of the newest events."
)
@click.option(
    "--level",
    type=click.Choice(("debug", "info", "warning", "error")),
    default="debug",
    help="Show only events of this level or a more serious one.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Then keep running, and print new events until Ctrl-C (with --json: one document per line).",
)
@pager_option
@session_command
def log(session: CommandSession, lines: int, level: str, follow: bool) -> None:
    """Show the events of the daemon, oldest first.

    An event contains its kind, numbers and times, but no file names and no content.
    """
    from lifeboat_daemon.service import event_log_reader

    found = event_log_reader.read_last_events(session.context.home, lines, level=level)
    if not follow:
        session.output.document({"events": found}, lambda: _print_page(session, found))
        return
    _print_events(session, found)
    coming = event_log_reader.follow_events(session.context.home)
    _print_events(session, (event for event in coming if event_log_reader.is_at_least(event, level)))


def _print_page(session: CommandSession, events: list[dict[str, object]]) -> None:
    if not events:
        session.output.note("The log contains no event of this level.")
    with session.output.pager():
        _print_events(session, events)


def _print_events(session: CommandSession, events: Iterable[dict[str, object]]) -> None:
    for event in events:
        _print_event(session, event)


def _print_event(session: CommandSession, event: dict[str, object]) -> None:
    from lifeboat_daemon.service.event_log import format_event

    if session.output.as_json:
        session.output.json_line(event)
    else:
        time, level = event.get("time", ""), event.get("level", "")
        session.output.verbatim(f"{time} {level:<7} {format_event(event)}")


def _named(found: DaemonState) -> str:
    since = "" if found.uptime is None else f", running for {age_text(found.uptime)}"
    return f"process {found.pid or '(unknown)'}{since}"


def _how_long(session: CommandSession) -> str:
    """Describe how long a daemon that was started by hand runs, and what starts it at every login if anything does."""
    from lifeboat_daemon import units

    if units.inspect_unit(session.context).problem is not None:
        return (
            "The daemon ends when this computer shuts down. No service manager is available here to start it at "
            "login, so start it again yourself: lifeboat daemon start"
        )
    return "The daemon ends when this computer shuts down. To start the daemon at every login: lifeboat service install"


def _print(session: CommandSession, found: DaemonState) -> None:
    output = session.output
    if not found.running:
        output.line("The daemon is not running, so changes are not captured automatically. To start it:", style="bold")
        output.verbatim("lifeboat daemon start")
        return
    memory = "" if found.rss is None else f", {size_text(found.rss)} of memory"
    output.line(f"The daemon runs: {_named(found)}, release {found.release or 'unknown'}{memory}.", style="bold")
    if found.problem is not None:
        output.line(f"{found.problem.title}: {found.problem.message}.")
        output.verbatim(found.problem.fix or "lifeboat daemon restart")
    if found.told is None:
        return
    if found.release != read_release():
        output.line(
            f"Release {read_release()} is installed, but the running daemon is an older release. The "
            "daemon restarts itself after the next change of a file. To restart it now: lifeboat daemon "
            "restart"
        )
    output.line(f"Socket of the daemon: {found.told.address}")
    rows = [
        (each.name, each.cadence, _COVERAGE.get(each.mode, each.mode), each.folders, each.captures, each.failures)
        for each in found.told.agents
    ]
    if rows:
        output.table(("agent", "cadence", "changes", "folders", "captures", "failures"), rows)
    for each in found.told.agents:
        if each.reason:
            output.line(f"{each.name}: {each.reason}")
    for job in found.told.jobs:
        output.line(f"{job.state}: {job.operation}{f', {job.text}' if job.text else ''}, {age_text(job.seconds)}")
    if not found.told.jobs:
        output.line("The daemon is idle.")
