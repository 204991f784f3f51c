"""Whether ZeroClaw is at work on an installation: two writers of one database were never meant to be."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.guarded_files import GuardedFolders
from lifeboat_adapters.small_files import read_small
from lifeboat_adapters.zeroclaw import zeroclaw_folders

_PROGRAM = "zeroclaw"
_SOCKET, _STATE = "daemon.sock", "state/daemon_state.json"
_SECONDS = 0.5
_LOOKS, _BETWEEN = 20, 0.005
"""How often, and seconds apart, a process is looked at that has its name and not yet its environment."""


def find_running_process(installation: Installation) -> str:
    """Why the runtime seems to be at work ("zeroclaw, process 123"), "" when not. A process that does not say which
    home it uses counts for the default one."""
    data = zeroclaw_folders.data_folder(installation)
    if _answers(data / _SOCKET):
        return f"zeroclaw daemon, listening on {data / _SOCKET}"
    process = _recorded(data / _STATE, installation.grounds) or next(_processes(installation), None)
    return "" if process is None else f"zeroclaw, process {process}"


def _answers(path: Path) -> bool:
    """Whether somebody listens on a socket. One that a killed daemon left behind does not answer."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
        with closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(str(path))
    except TimeoutError:
        return True
    except (OSError, AttributeError):
        return False
    return True


def _recorded(path: Path, grounds: GuardedFolders) -> int | None:
    """The process that the daemon wrote down, when it still is one of ZeroClaw."""
    try:
        found = json.loads(read_small(path, grounds))
        number = found.get("pid") if isinstance(found, dict) else None
        process = psutil.Process(number) if isinstance(number, int) and 0 < number < 2**31 else None
        return number if process is not None and _is_zeroclaw(process) else None
    except (OSError, ValueError, RecursionError, psutil.Error):
        return None


def _processes(installation: Installation) -> Iterator[int]:
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and _is_zeroclaw(process) and _is_at_work_on(process, installation):
                yield process.pid
        except (psutil.Error, OSError):
            continue


def _is_zeroclaw(process: psutil.Process) -> bool:
    with process.oneshot():
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return process.name().lower().removesuffix(".exe") == _PROGRAM


def _is_at_work_on(process: psutil.Process, installation: Installation) -> bool:
    """Whether a process uses this installation: by the folder it was given, else because nothing names another."""
    home = installation.state_dir or installation.workspace
    try:
        environment = _environment(process)
        given = _given(process.cmdline(), environment)
        mine = {home.resolve(), installation.workspace.resolve(), zeroclaw_folders.data_folder(installation).resolve()}
        if given:
            start = process.cwd()
            return any((Path(start) / folder).resolve() in mine for folder in given)
        user = environment.get("HOME") or str(Path.home())
    except psutil.NoSuchProcess:
        return False  # it ended while it was looked at
    except (psutil.Error, OSError):
        return _is_of_this_user(process)
    return (Path(user) / zeroclaw_folders.FOLDER).resolve() in mine or _holds_open(process, mine)


def _environment(process: psutil.Process) -> dict[str, str]:
    """The environment of a process. One that is just being started has none for a moment, and nothing would say which
    home it uses."""
    for _ in range(_LOOKS):
        found = process.environ()
        if found:
            return found
        time.sleep(_BETWEEN)
    return {}


def _is_of_this_user(process: psutil.Process) -> bool:
    """What cannot be looked into: another user's has a home of its own."""
    try:
        return process.username() == psutil.Process().username()
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, OSError, KeyError):
        return True


def _given(words: list[str], environment: dict[str, str]) -> list[str]:
    """The folders that a process was told to use, on its command line or else by its environment."""
    for place, word in enumerate(words):
        if word == "--config-dir" and place + 1 < len(words):
            return [words[place + 1]]
        if word.startswith("--config-dir="):
            return [word.partition("=")[2]]
    names = ("ZEROCLAW_CONFIG_DIR", "ZEROCLAW_DATA_DIR", "ZEROCLAW_WORKSPACE")
    return [value for name in names if (value := environment.get(name, "").strip())]


def _holds_open(process: psutil.Process, mine: set[Path]) -> bool:
    """A home elsewhere that nothing names (Homebrew's): its files are open."""
    try:
        opened = [Path(each.path).resolve() for each in process.open_files()]
    except (psutil.Error, OSError):
        return False
    return any(folder in file.parents for file in opened for folder in mine)
