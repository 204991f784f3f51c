"""A real terminal for tests: tmux draws the output and reports what a user would see."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence

import pytest

from support.patience import patience

_PAUSE = 0.1


class Terminal:
    """A program in a window of a separate tmux server. Keys have tmux's names: `Enter`, `Escape`, `C-p`, `Down`,
    `r`."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience()).stdout

    @property
    def screen(self) -> str:
        """Return the current content of the screen."""
        return self._tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        for key in keys:
            self._tmux("send-keys", key)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def shows(self, *texts: str) -> str:
        """Wait until all texts are on the screen at once, and return the screen."""
        end = time.monotonic() + patience()
        while True:
            screen = self.screen
            if all(text in screen for text in texts):
                return screen
            assert time.monotonic() < end, f"{texts} did not come:\n{screen}"
            time.sleep(_PAUSE)

    def shows_times(self, text: str, times: int) -> None:
        """Wait until a text is on the screen at least so many times."""
        end = time.monotonic() + patience()
        while (screen := self.screen).count(text) < times:
            assert time.monotonic() < end, f"{text!r} did not come {times} times:\n{screen}"
            time.sleep(_PAUSE)

    def shows_no_more(self, text: str) -> str:
        end = time.monotonic() + patience()
        while text in (screen := self.screen):
            assert time.monotonic() < end, f"{text!r} did not go:\n{screen}"
            time.sleep(_PAUSE)
        return screen


@contextlib.contextmanager
def terminal(
    command: Sequence[str], environment: Mapping[str, str] | None = None, *, size: tuple[int, int] = (120, 36)
) -> Iterator[Terminal]:
    """Run a program on a separate terminal, and end it afterwards. Its exit status is shown as `EXIT <status>`."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: there is no terminal to try this on")
    socket = f"lifeboat-{uuid.uuid4().hex[:12]}"
    shell = f"{shlex.join(command)}; echo EXIT $?; exec sleep 600"
    around = {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(environment or {})}
    around = {name: value for name, value in around.items() if name not in ("COLUMNS", "LINES")}  # the window shows it
    subprocess.run(
        [
            "tmux",
            "-L",
            socket,
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            str(size[0]),
            "-y",
            str(size[1]),
            shell,
        ],
        env=around,
        check=True,
        timeout=patience(),
    )
    try:
        yield Terminal(socket)
    finally:
        subprocess.run(["tmux", "-L", socket, "kill-server"], capture_output=True, timeout=patience())
