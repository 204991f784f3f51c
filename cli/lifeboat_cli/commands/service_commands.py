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
    """Install the service that starts the daemon at every login.

    The service belongs to systemd, launchd or the Windows task scheduler, which also restarts the daemon after a
    failure.
    """


@service.command(epilog=format_examples("lifeboat service install", "lifeboat service install --print"))
@click.option("--no-start", is_flag=True, help="Start the daemon at the next login only, not now.")
@click.option("--print", "only_print", is_flag=True, help="Print the files of the service instead of installing it.")
@session_command
def install(session: CommandSession, no_start: bool, only_print: bool) -> None:
    """Start the daemon now and at every login. After you move or upgrade Lifeboat, run this command again to update
    the service.
    """
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
        found.append("The daemon ends when you log out. To keep it running without a login: loginctl enable-linger")
    if around.get("LIFEBOAT_PASSPHRASE") and not around.get("LIFEBOAT_PASSPHRASE_FILE"):
        found.append(
            "The service cannot read LIFEBOAT_PASSPHRASE from your shell. Write the passphrase to a private file, set"
        )
        found[-1] += " LIFEBOAT_PASSPHRASE_FILE to the path of that file, and install the service again."
    return found


@service.command(epilog=format_examples("lifeboat service uninstall"))
@click.option("--force", is_flag=True, help="Remove the service even if it belongs to another home of Lifeboat.")
@session_command
def uninstall(session: CommandSession, force: bool) -> None:
    """Stop the daemon and do not start it at login any longer. Captured data stays."""
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
    """Show whether the service that starts the daemon at login is installed, running and up to date. Exits with 1 if
    not.
    """
    from lifeboat_daemon import units

    state = units.inspect_unit(session.context)
    session.output.document(state.to_json(), lambda: _print(session, state))
    return 0 if state.installed and state.ours and state.program_found else 1


def _print(session: CommandSession, state: UnitState) -> None:
    output = session.output
    if not state.installed:
        output.line(
            "No service is installed, so the daemon runs only when you start it. To install the service:", style="bold"
        )
        output.verbatim("lifeboat service install")
    else:
        output.line(f"The service is installed with {_MANAGERS[state.manager]}: {state.path}", style="bold")
        process = f" (process {state.pid})" if state.pid else ""
        output.line(
            f"Daemon started at login: {_yes(state.enabled)}. Daemon running now: {_yes(state.running)}{process}."
        )
        if not state.ours:
            output.line(f"The installed service starts the daemon of another home: {state.home or 'the default one'}")
        elif not state.program_found:
            output.line(
                f"The program of the service, {state.program}, does not exist. To update the service: "
                "lifeboat service install"
            )
        elif not state.current:
            output.line("The installed service is out of date. To update it: lifeboat service install")
    if state.lingering is False:
        output.line("The daemon ends when you log out. To keep it running: loginctl enable-linger")
    if state.problem:
        output.line(state.problem)


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"
