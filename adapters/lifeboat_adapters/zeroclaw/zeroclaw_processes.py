"""Detect whether ZeroClaw runs on an installation, because its databases do not support a second writer."""

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
"""How often, and at which interval in seconds, a process is checked that has the right name but no environment yet."""


def find_running_process(installation: Installation) -> str:
    """Return why the runtime seems to be running ("zeroclaw, process 123"), "" when it is not. A process without a
    named home counts for the default one."""
    data = zeroclaw_folders.data_folder(installation)
    if _answers(data / _SOCKET):
        return f"zeroclaw daemon, listening on {data / _SOCKET}"
    process = _recorded(data / _STATE, installation.grounds) or next(_processes(installation), None)
    return "" if process is None else f"zeroclaw, process {process}"


def _answers(path: Path) -> bool:
    """Return whether a process listens on a socket. The socket of a killed daemon does not answer."""
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
    """Return the process that the daemon recorded, if it is still one of ZeroClaw."""
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
    """Return whether a process uses this installation: by the folder it was given, or because nothing names another
    one."""
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
        return False  # the process ended during the check
    except (psutil.Error, OSError):
        return _is_of_this_user(process)
    return (Path(user) / zeroclaw_folders.FOLDER).resolve() in mine or _holds_open(process, mine)


def _environment(process: psutil.Process) -> dict[str, str]:
    """Return the environment of a process. A process that is being started has none for a short time, so its home would
    be unknown."""
    for _ in range(_LOOKS):
        found = process.environ()
        if found:
            return found
        time.sleep(_BETWEEN)
    return {}


def _is_of_this_user(process: psutil.Process) -> bool:
    """Return whether a process belongs to this user. Processes of other users cannot be read and have homes of their
    own."""
    try:
        return process.username() == psutil.Process().username()
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, OSError, KeyError):
        return True


def _given(words: list[str], environment: dict[str, str]) -> list[str]:
    """Return the folders that a process was told to use, on its command line or by its environment."""
    for place, word in enumerate(words):
        if word == "--config-dir" and place + 1 < len(words):
            return [words[place + 1]]
        if word.startswith("--config-dir="):
            return [word.partition("=")[2]]
    names = ("ZEROCLAW_CONFIG_DIR", "ZEROCLAW_DATA_DIR", "ZEROCLAW_WORKSPACE")
    return [value for name in names if (value := environment.get(name, "").strip())]


def _holds_open(process: psutil.Process, mine: set[Path]) -> bool:
    """Return whether a process has files of a home open. It detects homes that nothing names (Homebrew's)."""
    try:
        opened = [Path(each.path).resolve() for each in process.open_files()]
    except (psutil.Error, OSError):
        return False
    return any(folder in file.parents for file in opened for folder in mine)
