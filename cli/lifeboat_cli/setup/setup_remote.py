"""`lifeboat setup`: ask for a remote in one of its three forms."""

from __future__ import annotations

from functools import partial

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.setup import setup_questions as asking
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.errors import BadSetting
from lifeboat_core.machine.typed_folders import parse_existing_folder, parse_whole_path
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.sealed.folder_kind import make_folder_url

_KINDS = (
    "an endpoint on another machine, with its join line",
    "an endpoint on another machine, with its address and a token",
    "a folder, for example on a USB stick or a network share",
)


def ask_remote(session: CommandSession, *, optional: bool) -> str | None:
    """Return the name of the remote that was added, or None if the user wants none.

    With `optional`, an empty answer skips it, and a folder may be new. Otherwise an agent is restored from it, so its
    folder must exist.
    """
    by_folder = partial(_by_folder, must_exist=not optional)
    while True:
        kind = asking.ask_choice(session, "Where is the remote?", _KINDS, default="" if optional else "1")
        if kind is None:
            session.output.line("To add a remote later: lifeboat remote add NAME URL")
            return None
        name = asking.ask_text("Name of the remote", _free_name(session, "stick" if kind == 2 else "home"))
        if (_by_join_line, _by_token, by_folder)[kind](session, name) is None:
            return name
        if not asking.ask_yes_no("Try again?", default=False):
            return None


def _free_name(session: CommandSession, wanted: str) -> str:
    taken = {name.casefold() for name in remote_registry.list_remote_names(session.context)}
    return next(name for name in (wanted, *(f"{wanted}-{n}" for n in range(2, 1000))) if name not in taken)


def _by_join_line(session: CommandSession, name: str) -> LifeboatError | None:
    line = asking.ask_secret("Join line (input is hidden)")
    return asking.attempt_command(session, "remote", "add", name, "--join-stdin", secret=line)


def _by_token(session: CommandSession, name: str) -> LifeboatError | None:
    url = asking.ask_text("Address of the endpoint, for example https://boat.example.com")
    token = asking.ask_secret("Token (input is hidden)")
    return asking.attempt_command(session, "remote", "add", name, url, "--token-stdin", secret=token)


def _by_folder(session: CommandSession, name: str, *, must_exist: bool) -> LifeboatError | None:
    folder = asking.ask_text("Folder of the remote, for example /media/stick/lifeboat")
    if not folder:
        return LifeboatError("no folder was given")
    try:
        url = make_folder_url(parse_existing_folder(folder) if must_exist else parse_whole_path(folder))
    except BadSetting as error:
        session.output.error(error)
        return error
    is_away = asking.ask_yes_no("Is the remote disconnected at times, like a USB stick?", default=False)
    return asking.attempt_command(session, "remote", "add", name, url, *(["--optional"] if is_away else []))
