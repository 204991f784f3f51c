"""Recordings of real commands: the picture of the README, and the tutorial as an asciinema file.

    PYTHONPATH=tests python -m support.docs.story_casts      writes them to docs/ (`make casts`)

A test records both again and compares the text, so that they show what the program does.
"""

from __future__ import annotations

import html
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.docs.page_machine import PageMachine
from support.docs.page_runner import CommandRun, run_commands
from support.docs.page_stories import STORIES, PageStory
from support.docs.shown_commands import ShownCommand, make_comparable, read_commands
from support.paths import ROOT

RESCUE = ROOT / "docs" / "rescue.svg"
TUTORIAL = ROOT / "docs" / "tutorial.cast"
_RESCUE_COMMANDS = (
    "lifeboat agents add ~/.openclaw/workspace",
    "rm -r ~/.openclaw/workspace",
    "lifeboat restore Juniper --yes",
    "cat ~/.openclaw/workspace/MEMORY.md",
    "lifeboat verify Juniper",
)
_COLUMNS = 90
_ROW = 20
_CHARACTER = 8.4
_TYPING = 0.04
_PAUSE = 1.2
_VARYING = ((r"Word \d+:", "Word:"), (r":\d{4,5}\b", "PORT"))


def record_rescue() -> list[CommandRun]:
    """Run the story of the README's picture: an agent is deleted and restored."""
    commands = [ShownCommand("docs/rescue.svg", number, text, ()) for number, text in enumerate(_RESCUE_COMMANDS)]
    return _record(commands, PageStory(prepare=PageMachine.make_small_workspace))


def record_tutorial() -> list[CommandRun]:
    """Run the commands of the tutorial in one home."""
    return _record(read_commands("docs/tutorial.md"), STORIES["docs/tutorial.md"])


def _record(commands: list[ShownCommand], story: PageStory) -> list[CommandRun]:
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        PageMachine(Path(folder), patch) as machine,
    ):
        runs = [replace(run, said=_mask(run.said)) for run in run_commands(commands, story, machine)]
    for run in runs:
        assert run.status == story.statuses.get(run.command.text, 0), f"$ {run.command.text}\n{run.said}"
    return runs


def _mask(text: str) -> str:
    """Hide words and tokens. They open nothing, but a reader cannot know that."""
    text = re.sub(r"(\d+\.) [a-z]+", r"\1 ....", text)
    text = re.sub(r"(Word \d+:) .+", r"\1 ....", text)
    return re.sub(r"lb_[\w-]+", "lb_...", text)


def list_lines(runs: Sequence[CommandRun]) -> list[str]:
    """Return what a recording shows, line by line, without what differs between two recordings."""
    lines = [line for run in runs for line in (f"$ {run.command.text}", *run.said.strip("\n").splitlines())]
    return _comparable("\n".join(lines))


def _comparable(text: str) -> list[str]:
    for pattern, name in _VARYING:
        text = re.sub(pattern, name, text)
    return [re.sub(r"\s+", " ", line).strip() for line in make_comparable(text)]


# SVG --------------------------------------------------------------------------------------------------------------


def draw_svg(runs: Sequence[CommandRun]) -> str:
    """Return an animated picture: each line appears when it would appear on a terminal, and all stay at the end."""
    rows = list(_timed_rows(runs))
    width, height = round(_COLUMNS * _CHARACTER) + 32, len(rows) * _ROW + 56
    texts = [
        f'<text class="{kind}" x="16" y="{48 + number * _ROW}" style="animation-delay:{time:.2f}s" '
        f'xml:space="preserve">{html.escape(text)}</text>'
        for number, (time, kind, text) in enumerate(rows)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{_LABEL}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#1b2230"/>',
            '<circle cx="20" cy="18" r="5" fill="#e5605c"/><circle cx="38" cy="18" r="5" fill="#e0b341"/>'
            '<circle cx="56" cy="18" r="5" fill="#5dbb63"/>',
            *texts,
            "</svg>",
            "",
        ]
    )


_LABEL = "A terminal: an agent is protected, its workspace is deleted, and restored with one command"
_STYLE = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#c9d1d9;"
    "animation:wait .01s linear backwards}.typed{fill:#fff;font-weight:600}"
    "@keyframes wait{from{opacity:0}}@media (prefers-reduced-motion:reduce){text{animation:none}}"
)


def _timed_rows(runs: Sequence[CommandRun]) -> Iterator[tuple[float, str, str]]:
    """Yield each row with its second and its kind. A long line takes several rows."""
    time = 0.5
    for run in runs:
        yield time, "typed", f"$ {run.command.text}"
        time += _PAUSE
        for line in run.said.strip("\n").splitlines():
            for start in range(0, max(1, len(line)), _COLUMNS):
                yield time, "said", line[start : start + _COLUMNS]
        time += _PAUSE


def read_svg(text: str) -> list[str]:
    """Return the lines of a picture in the form of `list_lines`, with the rows of a long line joined."""
    lines: list[str] = []
    full = False
    for kind, shown in re.findall(r'<text class="(\w+)"[^>]*>(.*?)</text>', text):
        row = html.unescape(shown)
        if full and kind == "said":
            lines[-1] += row
        else:
            lines.append(row)
        full = kind == "said" and len(row) == _COLUMNS
    return _comparable("\n".join(lines))


# asciinema --------------------------------------------------------------------------------------------------------


def write_cast(runs: Sequence[CommandRun]) -> str:
    """Return an asciinema file of version 2."""
    events: list[list[object]] = []
    time = 0.5
    for run in runs:
        for text in ("$ ", *run.command.text, "\r\n"):
            events.append([round(time, 2), "o", text])
            time += _TYPING
        time += _PAUSE / 2
        said = run.said.strip("\n")
        if said:
            events.append([round(time, 2), "o", said.replace("\n", "\r\n") + "\r\n"])
        time += _PAUSE
    header = {"version": 2, "width": 100, "height": 30, "title": "Agent Lifeboat: the tutorial"}
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in (header, *events))


def read_cast(text: str) -> list[str]:
    """Return the lines of an asciinema file in the form of `list_lines`."""
    said = "".join(json.loads(line)[2] for line in text.splitlines()[1:])
    return _comparable(said.replace("\r\n", "\n").rstrip("\n"))


def main() -> None:
    RESCUE.write_text(draw_svg(record_rescue()), encoding="utf-8")
    TUTORIAL.write_text(write_cast(record_tutorial()), encoding="utf-8")


if __name__ == "__main__":
    main()
