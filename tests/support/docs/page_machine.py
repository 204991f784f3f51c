"""The machine of a reader who types the commands of a page: a home, a terminal, servers, and further machines."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifeboat_daemon.service import daemon_lifecycle
from support import preloaded
from support.adapters import openclaw_workspaces, zeroclaw_installs
from support.cli.cli_client import run
from support.daemon.fake_systemctl import FakeSystemctl
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.endpoint.hosted_service import HostedServiceFake, hosted_service
from support.patience import patience
from support.terminal import DASHBOARD, Terminal

_ABSOLUTE = re.compile(r"(?<![\w~.-])/(?:etc|media|opt|srv|tmp|var/log)/")
"""The beginning of an absolute path in a command. None of a command's files lies outside of the folder of its test."""
Dialog = Callable[[Terminal, "PageMachine"], None]
"""Answers the questions of a command on a terminal."""


class PageMachine:
    """The machine on which a page is read. Closing it ends every process that the page started."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.homes: list[Path] = []
        self.words: list[str] = []
        """The 24 words of the key, once the page has shown them or `learn_words` has run."""
        self.join = ""
        """The join line of the endpoint that answers."""
        self._folder = folder
        self._patch = monkeypatch
        self._stack = contextlib.ExitStack()
        self._endpoint: RunningEndpoint | None = None
        monkeypatch.delenv("LIFEBOAT_HOME", raising=False)
        monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}")
        monkeypatch.setenv("TERM", "dumb")
        for name in ("etc", "media/stick", "media/ada/stick", "media/nas", "opt", "srv", "tmp", "var/log"):
            (folder / name).mkdir(parents=True)
        self.move_to_new_machine()

    @property
    def home(self) -> Path:
        return self.homes[-1]

    @property
    def workspace(self) -> Path:
        return self.home / ".openclaw" / "workspace"

    # What a page may need before its first command ----------------------------------------------------------------

    def move_to_new_machine(self) -> None:
        """Continue on a machine with an empty home."""
        home = self._folder / f"m{len(self.homes)}"
        home.mkdir(mode=0o700)
        self.homes.append(home)
        self._patch.setenv("HOME", str(home))
        self._patch.setenv("USERPROFILE", str(home))
        self._patch.chdir(home)

    def make_small_workspace(self) -> None:
        """Write the workspace of Juniper that the README shows: 4 files, 3 memories, no credentials."""
        folder = self.workspace
        (folder / "memory").mkdir(parents=True)
        (folder / "IDENTITY.md").write_text("# IDENTITY\n- **Name:** Juniper\n")
        (folder / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
        (folder / "MEMORY.md").write_text("# Memory\n\n## Garden\n\nBen likes tulips.\n")
        (folder / "memory" / "2026-11-20.md").write_text("# Friday\n\nWe planted the tulips.\n")

    def make_zeroclaw_install(self) -> None:
        """Write a ZeroClaw installation with the agent Juniper."""
        zeroclaw_installs.make_install(self.home / ".zeroclaw", agents=("juniper",))

    def protect_juniper(self, sequences: int = 1) -> None:
        """Write and protect Juniper, and capture until there are this many sequences."""
        self.make_small_workspace()
        run("agents", "add", self.workspace)
        for number in range(1, sequences):
            with (self.workspace / "MEMORY.md").open("a") as file:
                file.write(f"\n## Note {number}\n\nThe blue folder number {number} holds the insurance papers.\n")
            run("sync")

    def protect_whole_agent(self) -> None:
        """Write and protect Juniper with its state directory, credentials and databases."""
        state = openclaw_workspaces.make_state_dir(self.home / ".openclaw")
        run("agents", "add", state.workspace, "--name", "Juniper")

    def learn_words(self) -> None:
        """Know the 24 words of the key of this home."""
        from lifeboat_core.home.context import Context

        self.words = list(Context.open().keys().user_key().words())

    def write_words(self, name: str = "words.txt") -> None:
        """Write the 24 words into a file of this home."""
        (self.home / name).write_text(" ".join(self.words))

    def bring_files(self) -> None:
        """Copy the files in the home of the former machine, not its folders."""
        for path in self.homes[-2].iterdir():
            if path.is_file():
                shutil.copy2(path, self.home)

    def set_variable(self, name: str, value: str) -> None:
        self._patch.setenv(name, value)

    def remove_variable(self, name: str) -> None:
        self._patch.delenv(name)

    def use_service_manager(self) -> None:
        """Use a substitute for systemd, which records what the service is."""
        manager = FakeSystemctl(self._folder / "systemd")
        manager.starts(*daemon_lifecycle.COMMAND)
        self._patch.setenv("PATH", f"{manager.folder}:{os.environ['PATH']}")

    def start_endpoint(self) -> RunningEndpoint:
        """Start an endpoint on another machine, once; its join line is in `join`."""
        if self._endpoint is None:
            self._endpoint = self._stack.enter_context(running_endpoint(self._folder / "server"))
            self.join = self._endpoint.join
        return self._endpoint

    def start_hosted_service(self) -> HostedServiceFake:
        """Start the service of the reference client on another machine."""
        return self._stack.enter_context(hosted_service())

    # Commands --------------------------------------------------------------------------------------------------------

    def relocate(self, command: str) -> str:
        """Return a command whose absolute paths lie in the folder of the test, which has the same folders."""
        return _ABSOLUTE.sub(lambda found: f"{self._folder}{found[0]}", command)

    def hide_folders(self, text: str) -> str:
        """Return an output with the paths that a reader would see, whose home is /srv/ada."""
        for home in self.homes:
            text = text.replace(str(home), "/srv/ada")
        return text.replace(str(self._folder), "")

    def run(self, command: str) -> tuple[int, str]:
        """Run a command with bash; return its exit status and its output."""
        done = self._run(command)
        return done.returncode, f"{done.stdout}{done.stderr}"

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        words = self._plain_words(command)
        if words is None:
            return self._bash(command)
        return preloaded.run(words, **self._surroundings)

    def run_in_terminal(self, command: str, dialog: Dialog) -> tuple[int, str]:
        """Run a command on a terminal with the answers of a dialog."""
        with self._terminal(command) as terminal:
            dialog(terminal, self)
            return terminal.ended(), terminal.left

    def start_in_terminal(self, command: str, pattern: str) -> str:
        """Start a command that runs until the page ends, and return its output up to a pattern."""
        terminal = self._stack.enter_context(self._terminal(command))
        terminal.wait_for(pattern)
        found = re.search(r"lifeboat\+https://[^\s']+", terminal.left)
        if found:
            self.join = found[0]
        return terminal.left

    def _terminal(self, command: str) -> Terminal:
        words = self._plain_words(command)
        assert words is not None, f"only the program alone runs on a terminal: {command}"
        if not words or words[0] == "tui":
            return Terminal(*words, program=DASHBOARD)
        return Terminal(*words, term="dumb", COLUMNS="1000")

    def _plain_words(self, command: str) -> list[str] | None:
        """Return the arguments of `lifeboat ...`, or None for a command that needs a shell."""
        if command.split(" ", 1)[0] != "lifeboat" or set(command) & set("|&;<>$"):
            return None
        return self._bash(f"printf '%s\\0' {command}").stdout.split("\0")[1:-1]

    def _bash(self, code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", code], **self._surroundings)

    @property
    def _surroundings(self) -> dict[str, Any]:
        return {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": patience()}

    def __enter__(self) -> PageMachine:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for home in self.homes:
            if (home / ".local/share/lifeboat").is_dir():
                self._patch.setenv("HOME", str(home))
                self._run("lifeboat daemon stop")
