"""The story of an agent that is protected, changes, is lost and comes back, with every claim checked.

Each chapter returns what it saw; `Chapter.problems` is empty when all of it was true.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.demo import workspace as harbour
from lifeboat_cli.demo.tree import Tree, differences, files_holding, read_tree
from lifeboat_core.agents import agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.run import capture
from lifeboat_core.home.context import Context
from lifeboat_core.home.path_variables import HOME as VARIABLE
from lifeboat_core.restore import RestoreOptions, restore
from lifeboat_core.texts.words import age_text, change_groups
from lifeboat_core.verify import verification


@dataclass(frozen=True, slots=True)
class Chapter:
    """One part of the story: its heading, what happened in sentences, and what was not as promised."""

    heading: str
    sentences: list[str]
    problems: list[str] = field(default_factory=list)


class Story:
    """Tells the chapters in order; `folder` is empty at first and thrown away by the caller."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.today = datetime.now(UTC).date()
        self.state_dir = folder / "user" / ".openclaw"
        self.workspace = self.state_dir / "workspace"
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder / "user"), VARIABLE: str(folder / "home")}
        harbour.write_workspace(self.state_dir, self.today)
        self.context = Context.open(environment)
        self.trees: dict[int, Tree] = {}
        self.agent: Agent

    def chapters(self) -> Iterator[Chapter]:
        """Every chapter, told as it happens."""
        tellers: tuple[Callable[[], Chapter], ...] = (
            self.protected,
            self.first_day,
            self.second_day,
            self.verified,
            self.lost,
            self.restored,
            self.went_back,
            self.tampered,
            self.kept_secret,
        )
        for tell in tellers:
            yield tell()

    def protected(self) -> Chapter:
        self.agent, found = agents.add(self.context, self.workspace)
        number = self._remember()
        return Chapter(
            "An agent is protected",
            [
                f"Ada lives in {self.workspace}.",
                f"Sequence {number} holds {found.records['created']} memories and {found.raw['put']} files.",
                "The two secrets in openclaw.json and .env were cut out and sealed.",
            ],
            [] if number == 0 else [f"the first sequence has the number {number}, not 0"],
        )

    def first_day(self) -> Chapter:
        harbour.a_day_passes(self.workspace, self.today)
        found = capture(self.context, self.agent)
        number = self._remember()
        problems = []
        if found.records["created"] != 2:
            problems.append(f"two new sections became {found.records['created']} new memories")
        return Chapter(
            "A day passes",
            [
                "A section on top of MEMORY.md, a line in the log, a script, one note thrown away.",
                f"Sequence {number}: {'; '.join(change_groups(found.records, found.raw))}.",
            ],
            problems,
        )

    def second_day(self) -> Chapter:
        harbour.another_day_passes(self.workspace)
        found = capture(self.context, self.agent)
        number = self._remember()
        again = capture(self.context, self.agent)
        problems = ["a capture of an unchanged workspace made a sequence"] if again.changed else []
        return Chapter(
            "Another day",
            [f"Sequence {number}: {'; '.join(change_groups(found.records, found.raw))}."],
            problems,
        )

    def verified(self) -> Chapter:
        drill = verification.drill(self.context, self.agent)
        return Chapter(
            "The copy is tried out",
            [f"A restore drill wrote {drill.files} files and compared every byte.", self._age()],
            list(drill.mismatches),
        )

    def lost(self) -> Chapter:
        shutil.rmtree(self.workspace)
        found = capture(self.context, self.agent)
        problems = ["the loss of the workspace was captured as a change"] if found.changed else []
        return Chapter(
            "The workspace is lost",
            ["rm -r took everything.", "Lifeboat captures nothing from a missing folder: the last sequence stays."],
            problems,
        )

    def restored(self) -> Chapter:
        report = restore(self.context, self.agent, RestoreOptions())
        head = max(self.trees)
        problems = differences(self.trees[head], read_tree(self.workspace))
        what = f"every byte, right, link, empty folder and time of {len(self.trees[head])} paths"
        sentence = f"Sequence {report.sequence} is back: {what}."
        return Chapter("Ada is brought back", [sentence], problems)

    def went_back(self) -> Chapter:
        target = self.folder / "as-it-was"
        report = restore(self.context, self.agent, RestoreOptions(at="0", to=target))
        problems = differences(self.trees[0], read_tree(target))
        paths = len(self.trees[0])
        sentence = f"Sequence {report.sequence}, two days older, stands beside it: {paths} paths, all the same."
        return Chapter("And an older moment", [sentence], problems)

    def tampered(self) -> Chapter:
        """Change SOUL.md inside a copy of the vault, with every unkeyed checksum recomputed; it must be refused."""
        from lifeboat_cli.demo.thief import edited_home

        stolen = edited_home(self.context, self.agent, self.folder / "thief")
        try:
            restore(stolen, self.agent, RestoreOptions(to=self.folder / "poisoned"))
        except LifeboatError as error:
            return Chapter("Somebody edits the copy", [f"A changed SOUL.md is refused: {error.message}."])
        return Chapter("Somebody edits the copy", [], ["a state that nobody signed was restored without a word"])

    def kept_secret(self) -> Chapter:
        found: list[Path] = []
        for secret in (harbour.FAKE_KEY, harbour.FAKE_TOKEN):
            found += files_holding(self.context.home.folder, secret.encode())
        return Chapter(
            "The secrets",
            ["No file of Lifeboat's holds the key or the token in clear."],
            [f"{path} holds a secret in clear" for path in found],
        )

    def _remember(self) -> int:
        """The tree as it is now, under the number of the sequence that has just captured it."""
        with self.context.vault(self.agent.id) as vault:
            head = vault.head()
        number = 0 if head is None else head.number
        self.trees[number] = read_tree(self.workspace)
        return number

    def _age(self) -> str:
        seconds = verification.seconds_since_verified(self.context, self.agent)
        if seconds is None:
            return "There is no verified copy."
        return f"The last verified copy is {age_text(seconds)} old. It is on this disk only."
