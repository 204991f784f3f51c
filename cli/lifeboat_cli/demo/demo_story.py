"""The demonstration: an agent is protected, changes, is lost and restored, and every claim is checked.

Each chapter returns what it saw. `DemoChapter.problems` is empty if all of it was true.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.demo import demo_workspace as harbour
from lifeboat_cli.demo.tree_comparison import Tree, find_files_holding, list_differences, read_tree
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_core.home.path_variables import HOME as VARIABLE
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.texts.human_text import age_text, group_changes
from lifeboat_core.verify import samples_and_drills


@dataclass(frozen=True, slots=True)
class DemoChapter:
    """One part of the demonstration: its heading, what happened in sentences, and what was not as promised."""

    heading: str
    sentences: list[str]
    problems: list[str] = field(default_factory=list)


class DemoStory:
    """Runs the chapters in order. `folder` is empty at first and removed by the caller."""

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

    def chapters(self) -> Iterator[DemoChapter]:
        """Yield every chapter while it happens."""
        tellers: tuple[Callable[[], DemoChapter], ...] = (
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

    def protected(self) -> DemoChapter:
        self.agent, found = manage_agents.protect_workspace(self.context, self.workspace)
        number = self._remember()
        return DemoChapter(
            "An agent is protected",
            [
                f"Ada lives in {self.workspace}.",
                f"Sequence {number} has {found.records['created']} memories and {found.raw['put']} files.",
                "The two secrets in openclaw.json and .env were removed from the captured files and encrypted.",
            ],
            [] if number == 0 else [f"the first sequence must have the number 0, but has the number {number}"],
        )

    def first_day(self) -> DemoChapter:
        harbour.change_workspace(self.workspace, self.today)
        found = capture_agent(self.context, self.agent)
        number = self._remember()
        problems = []
        if found.records["created"] != 2:
            problems.append(f"two new sections must become 2 new memories, but became {found.records['created']}")
        return DemoChapter(
            "A day passes",
            [
                "New: a section in MEMORY.md, a line in the log, a script. Deleted: one note.",
                f"Sequence {number}: {'; '.join(group_changes(found.records, found.raw))}.",
            ],
            problems,
        )

    def second_day(self) -> DemoChapter:
        harbour.change_workspace_again(self.workspace)
        found = capture_agent(self.context, self.agent)
        number = self._remember()
        again = capture_agent(self.context, self.agent)
        problems = (
            ["a capture of an unchanged workspace created a new sequence, but must not create one"]
            if again.changed
            else []
        )
        return DemoChapter(
            "Another day",
            [f"Sequence {number}: {'; '.join(group_changes(found.records, found.raw))}."],
            problems,
        )

    def verified(self) -> DemoChapter:
        drill = samples_and_drills.drill_vault(self.context, self.agent)
        return DemoChapter(
            "The copy is verified",
            [f"A test restore wrote {drill.files} files and compared every byte.", self._age()],
            list(drill.mismatches),
        )

    def lost(self) -> DemoChapter:
        shutil.rmtree(self.workspace)
        found = capture_agent(self.context, self.agent)
        problems = (
            ["the loss of the workspace was captured as a change, but must not be captured"] if found.changed else []
        )
        return DemoChapter(
            "The workspace is lost",
            [
                "rm -r deleted the whole workspace.",
                "Lifeboat does not capture a missing folder, so the last sequence is still complete.",
            ],
            problems,
        )

    def restored(self) -> DemoChapter:
        report = restore_agent(self.context, self.agent, RestoreOptions())
        head = max(self.trees)
        problems = list_differences(self.trees[head], read_tree(self.workspace))
        what = f"every byte, permission, link, empty folder and time of {len(self.trees[head])} paths"
        sentence = f"Sequence {report.sequence} is restored. Compared with the original and equal: {what}."
        return DemoChapter("Ada is restored", [sentence], problems)

    def went_back(self) -> DemoChapter:
        target = self.folder / "as-it-was"
        report = restore_agent(self.context, self.agent, RestoreOptions(at="0", to=target))
        problems = list_differences(self.trees[0], read_tree(target))
        paths = len(self.trees[0])
        sentence = (
            f"Sequence {report.sequence}, which is two days older, is restored to a folder next to the "
            f"workspace. All {paths} paths are equal to the original."
        )
        return DemoChapter("An older state is restored", [sentence], problems)

    def tampered(self) -> DemoChapter:
        """Change SOUL.md inside a copy of the vault, with every unkeyed checksum recomputed. Restoring it must be
        refused."""
        from lifeboat_cli.demo.tampered_home import write_tampered_home

        stolen = write_tampered_home(self.context, self.agent, self.folder / "thief")
        try:
            restore_agent(stolen, self.agent, RestoreOptions(to=self.folder / "poisoned"))
        except LifeboatError as error:
            return DemoChapter(
                "An attacker edits the copy", [f"A restore of a changed SOUL.md is refused: {error.message}."]
            )
        return DemoChapter(
            "An attacker edits the copy", [], ["a state without a valid signature was restored without a warning"]
        )

    def kept_secret(self) -> DemoChapter:
        found: list[Path] = []
        for secret in (harbour.FAKE_KEY, harbour.FAKE_TOKEN):
            found += find_files_holding(self.context.home.folder, secret.encode())
        return DemoChapter(
            "The secrets",
            ["No file that Lifeboat stored contains the API key or the token in plain text."],
            [f"{path} contains a secret in plain text" for path in found],
        )

    def _remember(self) -> int:
        """Record the present tree under the number of the sequence that has just captured it."""
        with self.context.vault(self.agent.id) as vault:
            head = vault.head()
        number = 0 if head is None else head.number
        self.trees[number] = read_tree(self.workspace)
        return number

    def _age(self) -> str:
        seconds = samples_and_drills.measure_verified_age(self.context, self.agent)
        if seconds is None:
            return "No copy of the agent is verified."
        return f"The last verified copy was made {age_text(seconds)} ago. The copy is on this disk only."
