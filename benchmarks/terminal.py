"""A program on a separate terminal with a simulated user. Each piece of output is recorded with its time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

SIZE = (120, 36)
"""Columns, lines."""
PATIENCE = 60.0
"""Time limit in seconds against hangs, so that one row cannot block the others."""
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[@-Z\\-_=>])")
"""Sequences that move the cursor, set colours or query the terminal; they are no text."""


class Terminal:
    """A running program. `began` is the time before its start."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int, began: float) -> None:
        self.process, self.began = process, began
        self._ours = ours
        self._chunks: list[tuple[float, bytes]] = []
        self._written, self._last = 0, began
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def written(self) -> int:
        """Return the bytes that the program has written so far."""
        return self._written

    def press(self, keys: str) -> float:
        """Type keys, perhaps none, and return the time before them."""
        with self._news:  # only later output counts
            self._chunks.clear()
        moment = time.monotonic()
        if keys:
            os.write(self._ours, keys.encode())
        return moment

    def painted(self, keys: str, text: str) -> float:
        """Type, wait until a text (a pattern) is drawn, and return the seconds that it took."""
        return -self.press(keys) + self.drawn(text)

    def quiet(self, keys: str) -> float:
        """Type, wait until the output ends, and return the seconds until its last piece."""
        moment = self.press(keys)
        self.drawn(r"\S")
        self.rest(0.15)
        return self._last - moment

    def drawn(self, text: str) -> float:
        """Wait until a text is drawn that was not there at the last key, and return when."""
        pattern, deadline = re.compile(text.encode()), time.monotonic() + PATIENCE
        with self._news:
            while True:
                found = self._moment(pattern)
                if found is not None:
                    return found
                if self.process.poll() is not None or not self._news.wait(max(0.0, deadline - time.monotonic())):
                    last = " ".join(self._text().decode(errors="replace").split())
                    raise SystemExit(f"{text!r} was not drawn; the last was: {last[-2000:]}")

    def has(self, text: str) -> bool:
        """Return True if a text was drawn since the last key."""
        with self._news:
            return re.search(text.encode(), self._text()) is not None

    def rest(self, seconds: float = 0.3) -> None:
        """Wait until nothing has been drawn for some seconds."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < self._last + seconds:
            if time.monotonic() > deadline:
                raise SystemExit(f"it never stopped drawing for {seconds} s")
            time.sleep(0.02)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(5)
        os.close(self._ours)

    def _moment(self, pattern: re.Pattern[bytes]) -> float | None:
        """Return when the last piece of the first match arrived. Pieces may end anywhere."""
        if not pattern.search(self._text()):
            return None
        text = b""
        for moment, data in self._chunks:
            text += data
            if pattern.search(_SEQUENCE.sub(b"", text)):
                return moment
        return None

    def _text(self) -> bytes:
        return _SEQUENCE.sub(b"", b"".join(data for _, data in self._chunks))

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:  # the program has ended
                data = b""
            with self._news:
                if data:
                    self._last = time.monotonic()
                    self._written += len(data)
                    self._chunks.append((self._last, data))
                self._news.notify_all()
            if not data:
                return


@contextlib.contextmanager
def terminal(
    command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int] = SIZE
) -> Iterator[Terminal]:
    """Run a program until the end of the block."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    around = {**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=around, start_new_session=True)
    os.close(theirs)
    found = Terminal(process, ours, began)
    try:
        yield found
    finally:
        found.end()
