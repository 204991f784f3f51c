"""Makes the recording of the demonstration: an invented home lives for two weeks, and real commands tell of it.

    make recording

Time is a clock that stands still until it is moved, so that the answers are the same at every run but for ids.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams import system_clock as clocks
from lifeboat_cli import program
from support.core.protected import SteadyClock
from support.paths import ROOT

TARGET = ROOT / "tui/lifeboat_tui/demo/recording.json"
HOME = "/srv/ada"
"""Home directory of the invented user."""
MACHINE = "harbour"
"""Name of the invented machine."""
BEGIN = datetime(2026, 11, 8, 8, tzinfo=UTC)


class Story:
    """An invented home in `folder`, its clock, and the recorded answers about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SteadyClock(BEGIN)
        self.answers: list[JsonObject] = []

    # Events of the story ----------------------------------------------------------------------------------------

    def write(self, path: str, text: str) -> None:
        """Write a file with a modification time one minute ago."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        moment = (self.clock.now() - timedelta(minutes=1)).timestamp()
        os.utime(file, (moment, moment))

    def append(self, path: str, text: str) -> None:
        file = self.folder / path
        self.write(path, (file.read_text(encoding="utf-8") if file.exists() else "") + text)

    def remove(self, path: str) -> None:
        (self.folder / path).unlink()

    def wait(self, **span: float) -> None:
        self.clock.advance(**span)

    def run(self, *words: str, text: str = "", expect: int | None = 0) -> JsonObject:
        """Run a command without recording it."""
        status, said = self._run(words, text)
        assert expect is None or status == expect, (words, status, said)
        return json.loads(said) if said.strip().startswith("{") else {"text": said}

    # Recording --------------------------------------------------------------------------------------------------

    def record(
        self, *words: str, text: str = "", as_words: Sequence[str] = (), progress: Sequence[JsonObject] = ()
    ) -> JsonObject:
        """Run a command and record its answer for `words` (or for `as_words` if the words contain ids)."""
        status, said = self._run(words, text)
        document = json.loads(said)
        answer: JsonObject = {"words": list(as_words or words), "status": status}
        if status != 0 and "error" in document:
            answer["error"] = document["error"]
        else:
            answer["document"] = document
        if progress:
            answer["progress"] = list(progress)
        self.answers.append(answer)
        return document

    def record_text(self, *words: str, text: str) -> None:
        """Record an invented text where the answer of the real command would contain a secret."""
        self.answers.append({"words": list(words), "status": 0, "text": text})

    def _run(self, words: Sequence[str], text: str) -> tuple[int, str]:
        out, notes = io.StringIO(), io.StringIO()
        given = io.TextIOWrapper(io.BytesIO(text.encode()))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(notes), mock.patch.object(sys, "stdin", given):
            status = program.run_command([*words, "--json"])
        return status, out.getvalue()

    def written(self) -> str:
        """Return the recording as stored, with the invented user's home in place of the temporary directory."""
        document = {
            "now": self.clock.now().isoformat().replace("+00:00", "Z"),
            "started_at": (self.clock.now() - timedelta(days=3, hours=4)).isoformat().replace("+00:00", "Z"),
            "answers": self.answers,
        }
        return json.dumps(document, indent=1, ensure_ascii=False).replace(str(self.folder), HOME) + "\n"


@contextlib.contextmanager
def story() -> Iterator[Story]:
    """Yield a separate home with an invented clock."""
    with tempfile.TemporaryDirectory() as place:
        made = Story(Path(place).resolve() / "ada")
        made.folder.mkdir()
        environment = {
            "HOME": str(made.folder),
            "LIFEBOAT_HOME": str(made.folder / ".local/share/lifeboat"),
            "PATH": os.environ["PATH"],
            "LIFEBOAT_PASSPHRASE": "an invented passphrase of the demonstration",
            "TZ": "UTC",
        }
        steady = made.clock
        patches = [
            mock.patch.dict(os.environ, environment, clear=True),
            mock.patch.object(clocks.SystemClock, "now", lambda _: steady.now()),
            mock.patch.object(platform, "node", lambda: MACHINE),
        ]
        with contextlib.ExitStack() as stack:
            for patch in patches:
                stack.enter_context(patch)
            yield made


def main() -> None:
    from support.tui.story_of_the_demo import live_and_record

    with story() as made:
        live_and_record(made)
        TARGET.write_text(made.written(), encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {len(made.answers)} answers, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
