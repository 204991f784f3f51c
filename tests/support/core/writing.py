"""An agent that never rests: edits a workspace from a thread, some 200 times a second, in every way editors do."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

RATE = 200.0
"""Edits in a second."""


class RestlessWriter:
    """Writes below `<workspace>/memory/restless` and to MEMORY.md from `with` on, until its end. `edits` counts."""

    def __init__(self, workspace: Path, seed: int = 0) -> None:
        self._workspace = workspace
        self._folder = workspace / "memory" / "restless"
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._pause = threading.Lock()
        self.edits = 0

    def __enter__(self) -> RestlessWriter:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        """Nothing is written in here."""
        with self._pause:
            yield

    def _run(self) -> None:
        ways = (self._append, self._replace, self._truncate, self._rename_folder, self._make, self._remove)
        while not self._stop.wait(1 / RATE):
            with self._pause, contextlib.suppress(FileNotFoundError, FileExistsError):
                self._random.choice(ways)()
            self.edits += 1

    def _note(self) -> Path:
        return self._folder / f"note-{self._random.randrange(12)}.md"

    def _text(self) -> str:
        return f"# Edit {self.edits}\n\n- {'word ' * self._random.randrange(40)}\n"

    def _append(self) -> None:
        path = self._workspace / "MEMORY.md" if self._random.random() < 0.2 else self._note()
        with path.open("a") as note:
            note.write(f"\n- Line {self.edits}\n")

    def _replace(self) -> None:
        temporary = self._folder / f".{self.edits}.tmp"
        temporary.write_text(self._text())
        temporary.replace(self._note())

    def _truncate(self) -> None:
        self._note().write_text(self._text())

    def _rename_folder(self) -> None:
        one, other = self._folder / "here", self._folder / "there"
        if one.exists() != other.exists():
            one.rename(other) if one.exists() else other.rename(one)

    def _make(self) -> None:
        folder = self._folder / "here" / str(self._random.randrange(4))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "deep.md").write_text(self._text())

    def _remove(self) -> None:
        self._note().unlink()
