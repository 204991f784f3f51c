"""Check permissions: the home and the folder of the control socket must belong to their owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.settings.config_file import PRIVATE_FILE
from lifeboat_core.texts.human_text import count_text, quote_argument

TITLE = "Permissions"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SHOWN = 5


def check(context: Context) -> Iterator[DoctorFinding]:
    """Check permissions, except on Windows, where a folder inherits those of the user's profile."""
    if os.name != "posix":
        yield DoctorFinding(
            DoctorLevel.OK, "rights", "Windows protects the home with the permissions of the user's profile folder"
        )
        return
    home = context.home.folder
    open_folders, open_secrets, foreign = _looked_through(context)
    for path in open_folders[:_SHOWN]:
        yield DoctorFinding(
            DoctorLevel.ERROR,
            str(path),
            "other users can list this directory",
            f"chmod 700 {quote_argument(str(path))}",
        )
    for path in open_secrets[:_SHOWN]:
        yield DoctorFinding(
            DoctorLevel.ERROR, str(path), "other users can read this file", f"chmod 600 {quote_argument(str(path))}"
        )
    if foreign:
        result = (
            f"{count_text(len(foreign), 'file')} in the home belong to another user, for example after a command "
            f"with sudo: {foreign[0]}"
        )
        fix = f"sudo chown -R {os.geteuid()} {quote_argument(str(home))}"
        yield DoctorFinding(DoctorLevel.ERROR, str(home), result, fix)
    yield from _socket(context)
    if not (open_folders or open_secrets or foreign):
        yield DoctorFinding(DoctorLevel.OK, str(home), "private")


def _looked_through(context: Context) -> tuple[list[Path], list[Path], list[Path]]:
    """Return folders that others can enter, files that only their own mode would then protect, and files of other
    users. A file in a private folder is safe regardless of its mode. Keys, tokens, addresses and logs must be private
    by their own mode, because they are copied elsewhere."""
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
    """Check the folder of the socket, which may be elsewhere for a home with a long path."""
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
            DoctorLevel.ERROR,
            str(path),
            "other users can open the control socket of the daemon",
            "lifeboat daemon restart",
        )
