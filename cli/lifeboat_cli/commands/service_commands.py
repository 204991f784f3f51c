"""`lifeboat service`: let the system start the daemon at every login."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup

if TYPE_CHECKING:
    from lifeboat_daemon.units.service_unit import UnitState

_MANAGERS = {"systemd": "systemd", "launchd": "launchd", "task_scheduler": "the task scheduler"}
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


@click.group(cls=DefaultCommandGroup, default="status")
def service() -> None:
    """Start the daemon at every login.

    systemd, launchd or the Windows task scheduler starts it and restarts it after a failure.
    """


@service.command(epilog=format_examples("lifeboat service install", "lifeboat service install --print"))
@click.option("--no-start", is_flag=True, help="Start it at the next login, not now.")
@click.option("--print", "only_print", is_flag=True, help="Print the files instead of writing them.")
@session_command
def install(session: CommandSession, no_start: bool, only_print: bool) -> None:
    """Start the daemon now and at every login. Run it again after a move or an upgrade to update the service."""
    from lifeboat_daemon import units

    manager = units.find_manager(session.context)
    if only_print:
        written = {"path": str(manager.path), "text": manager.text()}
        session.output.document(written, lambda: session.output.block(manager.text().rstrip("\n")))
        return
    if not no_start:
        _make_way(session)
    done = manager.install(start=not no_start)
    state = manager.state()
    advice = _advice(session, state)

    document = {"done": done, "advice": advice, "service": state.to_json()}
    session.output.document(document, lambda: _say(session, [*done, *advice]))


def _say(session: CommandSession, sentences: list[str]) -> None:
    for sentence in sentences:
        session.output.line(sentence)


def _make_way(session: CommandSession) -> None:
    """Stop a daemon that a command started. Otherwise the service would wait for its end."""
    from lifeboat_daemon import units
    from lifeboat_daemon.service import daemon_lifecycle

    state = units.inspect_unit(session.context)
    standing = daemon_lifecycle.inspect_daemon(session.context)
    if standing.running and state.problem is None and state.pid != standing.pid:
        daemon_lifecycle.stop_daemon(session.context, session.output.note)


def _advice(session: CommandSession, state: UnitState) -> list[str]:
    """Return what a user should do in addition. None of it is done automatically."""
    around = session.context.environment
    found = []
    if state.lingering is False and not any(around.get(name) for name in _SCREENS):
        found.append("The service ends when you log out. To run it without a login: loginctl enable-linger")
    if around.get("LIFEBOAT_PASSPHRASE") and not around.get("LIFEBOAT_PASSPHRASE_FILE"):
        found.append(
            "The service does not get LIFEBOAT_PASSPHRASE from your shell: put the passphrase into a private file, set"
        )
        found[-1] += " LIFEBOAT_PASSPHRASE_FILE to its path, and install again."
    return found


@service.command(epilog=format_examples("lifeboat service uninstall"))
@click.option("--force", is_flag=True, help="Also if the service belongs to another home.")
@session_command
def uninstall(session: CommandSession, force: bool) -> None:
    """Stop the service and remove it from login. Captured data stays."""
    from lifeboat_daemon import units
    from lifeboat_daemon.units.service_unit import refuse_other_home

    manager = units.find_manager(session.context)
    if not force:
        refuse_other_home(manager.state(), session.context)
    done = manager.uninstall()
    session.output.document({"done": done}, lambda: _say(session, done))


@service.command(
    short_help="Show whether the service is installed and up to date.",
    epilog=format_examples("lifeboat service status"),
)
@session_command
def status(session: CommandSession) -> int:
    """Show whether the service is installed, running and as this release would install it. Exits with 1 if not."""
    from lifeboat_daemon import units

    state = units.inspect_unit(session.context)
    session.output.document(state.to_json(), lambda: _print(session, state))
    return 0 if state.installed and state.ours and state.program_found else 1


def _print(session: CommandSession, state: UnitState) -> None:
    output = session.output
    if not state.installed:
        output.line("No service is installed: the daemon runs only when you start it.", style="bold")
        output.verbatim("lifeboat service install")
    else:
        output.line(f"Installed with {_MANAGERS[state.manager]}: {state.path}", style="bold")
        process = f" (process {state.pid})" if state.pid else ""
        output.line(f"Started at login: {_yes(state.enabled)}. Running now: {_yes(state.running)}{process}.")
        if not state.ours:
            output.line(f"The daemon serves another home: {state.home or 'the default one'}")
        elif not state.program_found:
            output.line(f"{state.program} does not exist; to update the service: lifeboat service install")
        elif not state.current:
            output.line("The service is out of date: lifeboat service install")
    if state.lingering is False:
        output.line("It ends when you log out (to keep it running: loginctl enable-linger).")
    if state.problem:
        output.line(state.problem)


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"
