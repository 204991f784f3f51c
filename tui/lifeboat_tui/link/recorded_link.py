"""Link with recorded answers, for demonstrations, pictures and tests. It changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadRequest
from lifeboat_daemon.control import error_documents
from lifeboat_daemon.control.command_runner import CommandAnswer, CommandProgress
from lifeboat_tui.link import LinkStage, LinkStatus, Tell


class RecordedAnswer(msgspec.Struct, frozen=True):
    """Recorded answer to the command `words`. `error` is the error with which it ended, `progress` the reports before
    the answer."""

    words: tuple[str, ...]
    document: JsonObject = {}
    status: int = 0
    text: str = ""
    notes: tuple[str, ...] = ()
    error: JsonObject | None = None
    progress: tuple[CommandProgress, ...] = ()


class Recording(msgspec.Struct, frozen=True):
    """Recorded answers. `now` is the time of the recording, `started_at` the start of the daemon at that time."""

    now: str
    started_at: str = ""
    answers: tuple[RecordedAnswer, ...] = ()


def load_demo_recording() -> Recording:
    """Load the demo recording that is part of the package."""
    folder = resources.files("lifeboat_tui.demo")
    return msgspec.json.decode(folder.joinpath("recording.json").read_bytes(), type=Recording)


def load_recording(path: Path) -> Recording:
    return msgspec.json.decode(path.read_bytes(), type=Recording)


class RecordedLink:
    """Link that answers a command with the recording of the same words, or of their longest recorded prefix. `asked`
    lists all commands that were run, with their input."""

    def __init__(self, recording: Recording, *, pause: float = 0.0, is_demo: bool = True) -> None:
        self._answers: dict[tuple[str, ...], RecordedAnswer] = {each.words: each for each in recording.answers}
        self._given: set[tuple[str, ...]] = set()
        self._now = times.parse_time(recording.now)
        self._pause = pause
        self._events: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self.is_demo = is_demo
        self.asked: list[tuple[tuple[str, ...], str]] = []
        self.failing: LifeboatError | None = None
        """While set, every command fails with this error."""
        self.connection = LinkStatus(LinkStage.UP, started_at=recording.started_at or None, release="demo")

    # For tests and demonstrations -------------------------------------------------------------------------------

    def answers(self, words: Sequence[str], document: JsonObject, **more: object) -> None:
        """Answer every command that begins with `words` from now on, except those with a longer given prefix."""
        self._give(RecordedAnswer(tuple(words), document, **more))  # type: ignore[arg-type]

    def fails(self, words: Sequence[str], error: LifeboatError) -> None:
        """Let every command that begins with `words` fail from now on, except those with a longer given prefix."""
        self._give(RecordedAnswer(tuple(words), error=error_documents.describe_error(error)))

    def _give(self, answer: RecordedAnswer) -> None:
        self._given.add(answer.words)
        kept = {
            words: each for words, each in self._answers.items() if words in self._given or not _is_of(answer, words)
        }
        self._answers = {**kept, answer.words: answer}

    def happens(self, event: Mapping[str, object]) -> None:
        """Send an event to the listener."""
        self._events.put_nowait(dict(event))

    # The link ---------------------------------------------------------------------------------------------------

    def now(self) -> datetime:
        return self._now

    def remembered(self) -> JsonObject | None:
        found = self._answers.get(("status",))
        return None if found is None else found.document

    async def status(self) -> JsonObject:
        return (await self.run("status")).document

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        self.asked.append((words, text))
        found = self._found(words)
        for progress in found.progress if tell is not None else ():
            await asyncio.sleep(self._pause)
            if tell is not None:
                tell(progress)
        await asyncio.sleep(0)
        if self.failing is not None:
            raise self.failing
        if found.error is not None:
            raise error_documents.rebuild_error(found.error)
        return CommandAnswer(found.status, found.document, found.text, found.notes)

    async def run_text(self, *words: str, text: str = "") -> CommandAnswer:
        return await self.run(*words, text=text)

    def _found(self, words: tuple[str, ...]) -> RecordedAnswer:
        for length in range(len(words), 0, -1):
            if words[:length] in self._answers:
                return self._answers[words[:length]]
        raise BadRequest(f"the demo has no recorded output for this command: lifeboat {' '.join(words)}")

    async def events(self) -> AsyncIterator[JsonObject]:
        while (event := await self._events.get()) is not None:
            yield event

    async def close(self) -> None:
        self._events.put_nowait(None)


def _is_of(answer: RecordedAnswer, words: tuple[str, ...]) -> bool:
    return words[: len(answer.words)] == answer.words
