"""A command server for tests: the real one, with additional commands that are slow, large, print rubbish, or die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli import program
from lifeboat_cli.command_server import command_child, forking_server, preloading
from lifeboat_cli.terminal.output import CommandOutput

_LONGEST = 600.0
"""Seconds after which a command ends that no test releases, so that none is left behind."""
COMMAND = (sys.executable, "-P", str(Path(__file__).resolve()))


def _command(function):
    """Add a command, but only if this file is the program: tests that import it share their process."""
    if __name__ != "__main__":
        return function
    json = click.option("--json", "as_json", is_flag=True)
    words = click.argument("words", nargs=-1)
    program.program.add_command(click.command(function.__name__.strip("_"))(json(words(function))))
    return function


def _say(**document: object) -> None:
    CommandOutput(as_json=True).document(document, lambda: None)


@_command
def about(as_json: bool, words: tuple[str, ...]) -> None:
    """What a command can see of the process that it runs in."""
    _say(
        descriptors=sorted(int(each) for each in os.listdir("/proc/self/fd")),
        environment=dict(os.environ),
        words=list(words),
        text=sys.stdin.read(),
        terminal=sys.stdin.isatty() or sys.stdout.isatty(),
        leads=os.getsid(0) == os.getpid(),
        inherited=subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split(),
        arguments=Path("/proc/self/cmdline").read_text(),
    )


@_command
def wait(as_json: bool, words: tuple[str, ...]) -> None:
    """Say so in a file, wait for another one, and leave a third."""
    folder = Path(words[0])
    (folder / "pid").write_text(str(os.getpid()))
    (folder / "begun").touch()
    end = time.monotonic() + _LONGEST
    while not (folder / "go").exists() and time.monotonic() < end:
        time.sleep(0.01)
    CommandOutput(as_json=True).warn("this took long")
    (folder / "done").touch()
    _say(waited=True)


@_command
def count(as_json: bool, words: tuple[str, ...]) -> None:
    """Tell how far it is, far too often."""
    with CommandOutput(as_json=True).progress("Counting") as tell:
        for number in range(int(words[0])):
            tell("", number + 1, int(words[0]))
    _say(counted=int(words[0]))


@_command
def large(as_json: bool, words: tuple[str, ...]) -> None:
    _say(text="x" * int(words[0]))


@_command
def die(as_json: bool, words: tuple[str, ...]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@_command
def babble(as_json: bool, words: tuple[str, ...]) -> None:
    """What a library prints past Python, and JSON that is none."""
    os.write(1, b"noise\n")
    os.write(2, b"noise\n")
    sys.stdout.write("no document\n")


@_command
def leave(as_json: bool, words: tuple[str, ...]) -> None:
    """Something goes on that this command started."""
    process = subprocess.Popen(["sleep", "60"])
    _say(pid=process.pid)


def _pause_at(step: str, folder: Path) -> None:
    """When a command reaches a step, announce it in a file and wait for another one."""

    def hook(reached: CrashPoint) -> None:
        if reached == step and not (folder / "begun").exists():
            (folder / "pid").write_text(str(os.getpid()))
            (folder / "begun").touch()
            end = time.monotonic() + _LONGEST
            while not (folder / "go").exists() and time.monotonic() < end:
                time.sleep(0.01)

    crash_points.hook = hook


def main() -> None:
    if "--pause-at" in sys.argv:
        at = sys.argv.index("--pause-at")
        _pause_at(sys.argv[at + 1], Path(sys.argv[at + 2]))
    if "--broken" in sys.argv:
        sys.exit("ModuleNotFoundError: No module named 'lost'")
    preloading.load_modules = lambda: None
    if "--one" in sys.argv:
        command_child.main()
    else:
        forking_server.main()


if __name__ == "__main__":
    main()
