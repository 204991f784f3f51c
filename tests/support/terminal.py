"""A command as a user runs it: in a separate process on a real terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from support import preloaded
from support.patience import factor, patience
from support.preloaded import Call

_AGAIN = 5.0
"""Seconds between two presses of Ctrl-C on an idle machine; not a limit."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

PROGRAM = Call("lifeboat_cli", "main")
WITH_LIGHT_WRAPPING = Call(__name__, "run_with_light_wrapping")
DASHBOARD = Call(
    __name__, "run_dashboard", imports=("lifeboat_tui.dashboard_entry_point", "lifeboat_tui.dashboard_app")
)


class Terminal:
    """A running command. `said` is all its output so far, including escape sequences."""

    def __init__(
        self,
        *arguments: str | Path,
        term: str = "xterm",
        program: Call = PROGRAM,
        **environment: str,
    ) -> None:
        """Start a command."""
        self._reader, slave = pty.openpty()
        os.set_blocking(self._reader, False)
        self._process = preloaded.Popen(
            program,
            ["lifeboat", *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,
            env={**os.environ, "TERM": term, "COLUMNS": "100", "LINES": "40", **environment},
        )
        os.close(slave)
        self.said = ""
        self._seen = 0

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait for the next match after the last one in the output."""
        end = time.monotonic() + patience()
        while not (found := re.compile(pattern).search(self.said, self._seen)):
            assert self._read(end), f"{pattern!r} was not said:\n{self.said}"
        self._seen = found.end()
        return found

    def until(self, pattern: str) -> str:
        """Return the output from the last match to the next one."""
        start = self._seen
        end = self.wait_for(pattern).start()
        return self.said[start:end]

    def type(self, text: str) -> None:
        os.write(self._reader, text.encode() + b"\n")

    def press(self, keys: str) -> None:
        """Send keys as a terminal does, without Enter."""
        os.write(self._reader, keys.encode())

    def interrupted(self) -> int:
        """Press Ctrl-C and return the exit status. Press it again if the first one came before the command began to
        wait."""
        while self._process.poll() is None:
            os.write(self._reader, b"\x03")
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_AGAIN * factor())
        return self.ended()

    def ended(self) -> int:
        """Wait for the command to end, and return its exit status."""
        end = time.monotonic() + patience()
        while self._read(end):
            pass
        return self._process.wait(patience())

    @property
    def left(self) -> str:
        """Return what is on the terminal at the end, without the content of the alternate screen."""
        return _ESCAPES.sub("", re.sub(r"\x1b\[\?1049h.*?\x1b\[\?1049l", "", self.said, flags=re.DOTALL))

    def _read(self, end: float) -> bool:
        """Read output. Returns False when the command has ended, or at the time `end`."""
        ready, _, _ = select.select([self._reader], [], [], max(0.0, end - time.monotonic()))
        try:
            data = os.read(self._reader, 65536) if ready else b""
        except OSError:  # Linux: the other end is closed
            return False
        self.said += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._reader)


def run_with_light_wrapping() -> None:
    """Run the command with the weakest accepted key derivation for new passphrases."""
    from lifeboat_cli import main
    from lifeboat_keys.stores import passphrase_wrapping

    passphrase_wrapping.OPERATIONS, passphrase_wrapping.MEMORY = (
        passphrase_wrapping.MIN_OPERATIONS,
        passphrase_wrapping.MIN_MEMORY,
    )
    main()


def run_dashboard() -> None:
    """Run the command with a command server that is a fork."""
    from lifeboat_cli import main
    from lifeboat_daemon.control.command_process import SERVER

    preloaded.fork_preloader()
    with preloaded.forking_of({SERVER: Call("lifeboat_cli.command_server.forking_server", "main")}):
        main()


def _take_terminal() -> None:
    """Make the terminal on standard input the controlling one, and let Ctrl-C end this process even if the tests ignore
    it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
