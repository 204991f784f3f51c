"""An agent on this machine, converted into every installed format and back."""

from __future__ import annotations

import itertools
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_core.exchange.conversion_run import ConversionOrder, convert_source
from lifeboat_core.exchange.conversion_source import ConversionSource
from lifeboat_core.home.context import Context
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.conversion_report import ConversionReport
from support.core.protected import Protected
from support.formats import fake_aionforge

OTHER_AGENT = "019a0000-0000-7000-8000-00000000beef"
FILES = ("aimem", "aicf")
INSTANCES = ("aionforge",)
FACTS = [
    "The boat is red and lies in the old harbour.",
    "Never sail alone in fog.",
    'Says "a|b\\c", <tags> & 100 % of the time; 漢字, é and 😀.',
    "A line.\n\nAnother paragraph, after an empty line.",
]
"""What an agent remembers, in ways that other formats have to escape."""
SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


class Bench:
    """An agent on this machine, and the targets of its conversions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agent = Protected(folder)
        for number, fact in enumerate(FACTS):
            self.agent.write(f"memory/{number}.md", f"{fact}\n")
        self.agent.add()
        self._numbers = itertools.count()

    @property
    def context(self) -> Context:
        return self.agent.context

    @property
    def name(self) -> str:
        return f"agent:{self.agent.agent.name}"

    def place(self, to: str) -> str:
        """Return a new file or a new instance."""
        number = next(self._numbers)
        if to not in INSTANCES:
            suffix = ".alf" if to == "alf" else format_registry.load_format(to).suffixes[0]
            return str(self.folder / f"{number}{suffix}")
        words = (sys.executable, fake_aionforge.__file__, "--store", str(self.folder / f"{number}.json"), "stdio")
        return f"stdio:{shlex.join(words)}"

    def convert(self, source: str, to: str, target: str | None = None, **more: Any) -> tuple[str, ConversionReport]:
        target = target or self.place(to)
        given = dict(more.pop("given", {}))
        if source.startswith("stdio:") or target.startswith("stdio:"):
            given = {"agent-id": OTHER_AGENT, **given}
        order = ConversionOrder(ConversionSource.of(source), to, target, given=given, **more)
        return target, convert_source(self.context, order, lambda preview: None)

    def texts(self, archive: str) -> dict[str, str]:
        """The memories that an archive shows, by id."""
        with SnapshotReader(Path(archive)) as state:
            return {str(each.record["id"]): str(each.record["content"]).strip() for each in visible_records(state)}

    def as_archive(self, source: str) -> dict[str, str]:
        return self.texts(self.convert(source, "alf")[0])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
