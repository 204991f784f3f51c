"""Rights: what lies in the home is its owner's alone, and so is the folder of the control socket."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.settings.config_file import PRIVATE_FILE
from lifeboat_core.texts.human_text import count_text, quote_argument

TITLE = "Who can read what"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SHOWN = 5


def check(context: Context) -> Iterator[DoctorFinding]:
    """On Windows the rights of a folder are inherited from the user's profile; there is nothing to look at."""
    if os.name != "posix":
        yield DoctorFinding(DoctorLevel.OK, "rights", "as the user's profile has them")
        return
    home = context.home.folder
    open_folders, open_secrets, foreign = _looked_through(context)
    for path in open_folders[:_SHOWN]:
        yield DoctorFinding(
            DoctorLevel.ERROR, str(path), "others can look into it", f"chmod 700 {quote_argument(str(path))}"
        )
    for path in open_secrets[:_SHOWN]:
        yield DoctorFinding(
            DoctorLevel.ERROR, str(path), "others can read it", f"chmod 600 {quote_argument(str(path))}"
        )
    if foreign:
        result = f"{count_text(len(foreign), 'file')} of another user, as after a command with sudo: {foreign[0]}"
        fix = f"sudo chown -R {os.geteuid()} {quote_argument(str(home))}"
        yield DoctorFinding(DoctorLevel.ERROR, str(home), result, fix)
    yield from _socket(context)
    if not (open_folders or open_secrets or foreign):
        yield DoctorFinding(DoctorLevel.OK, str(home), "for its owner alone")


def _looked_through(context: Context) -> tuple[list[Path], list[Path], list[Path]]:
    """Folders that others can enter, files that only their own rights would protect then, and what is somebody else's.

    A file in a folder of one's own is safe whatever its rights. Keys, tokens, addresses and logs have to be private by
    themselves: they are what is copied elsewhere.
    """
    open_folders: list[Path] = []
    open_secrets: list[Path] = []
    foreign: list[Path] = []
    home = context.home
    private = (
        home.keys_folder,
        home.logs_folder,
        home.run_folder,
        home.backups_folder,
        home.remotes_folder,
        home.instances_folder,
    )
    for parent, folders, names in os.walk(home.folder):
        here = Path(parent)
        is_private = any(here == folder or folder in here.parents for folder in private)
        for name in (*folders, *names):
            path = here / name
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue
            if found.st_uid != os.geteuid():
                foreign.append(path)
            elif here == home.folder and stat.S_ISDIR(found.st_mode) and found.st_mode & _OTHERS:
                open_folders.append(path)
            elif (is_private or name == PRIVATE_FILE) and stat.S_ISREG(found.st_mode) and found.st_mode & _OTHERS:
                open_secrets.append(path)
    return open_folders, open_secrets, foreign


def _socket(context: Context) -> Iterator[DoctorFinding]:
    """The socket may lie elsewhere: in a home with a long path."""
    from lifeboat_core.errors import NotRunning
    from lifeboat_daemon.control import socket_address

    try:
        where = socket_address.find_address(context.home, context.files)
    except NotRunning:
        return
    path = Path(str(where))
    if not path.is_absolute() or not path.exists():
        return
    found = path.lstat()
    if found.st_mode & _OTHERS:
        yield DoctorFinding(
            DoctorLevel.ERROR, str(path), "others can open the control socket", "lifeboat daemon restart"
        )
