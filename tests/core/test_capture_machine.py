"""After any order of edits, renames, deletions, skipped captures and lost caches, the vault equals the workspace."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lifeboat_alf.common import json_codec
from lifeboat_alf.memory.effective_view import effective_records
from lifeboat_alf.states import entry_metas
from lifeboat_core.state.state_db import delete_cache
from support.core.protected import Protected

NAMES = ("MEMORY.md", "USER.md", "memory/2026-02-03.md", "memory/2026-11-03.md", "memory/rules.md", "plans/chart.csv")
SECTIONS = (
    "## Tea\n\nGreen tea.\n",
    "## Boat\n\nA red boat.\n",
    "## Boat\n\nA blue boat.\n",
    "Loose words.\n",
    "# T\n\n",
)


names = st.sampled_from(NAMES)
texts = st.lists(st.sampled_from(SECTIONS), max_size=5).map("".join)


class Workspace(RuleBasedStateMachine):
    """Edits between captures. Every capture is compared with the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.ada = Protected(self.folder)
        self.clean = False

    @initialize()
    def protect(self) -> None:
        self.ada.add()
        self.clean = True

    @rule(name=names, text=texts)
    def write(self, name: str, text: str) -> None:
        self.ada.write(name, text)
        self.clean = False

    @rule(name=names)
    def delete(self, name: str) -> None:
        (self.ada.workspace / name).unlink(missing_ok=True)
        self.clean = False

    @rule(name=names, other=names)
    def rename(self, name: str, other: str) -> None:
        source, target = self.ada.workspace / name, self.ada.workspace / other
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
            self.clean = False

    @rule(name=names)
    def make_executable(self, name: str) -> None:
        if (self.ada.workspace / name).exists():
            (self.ada.workspace / name).chmod(0o755)
            self.clean = False

    @rule()
    def lose_the_caches(self) -> None:
        delete_cache(self.ada.context.home.state_file(self.ada.agent.id))

    @rule(days=st.sampled_from([1, 20, 40]))
    def time_passes(self, days: int) -> None:
        self.ada.clock.advance(days=days)

    @rule(full=st.booleans())
    def capture(self, full: bool) -> None:
        self.ada.capture(full=full)
        self.clean = True

    @precondition(lambda self: self.clean)
    @rule()
    def nothing_more_to_capture(self) -> None:
        assert self.ada.capture().raw == {}

    @invariant()
    def the_vault_has_what_the_workspace_has(self) -> None:
        if self.clean:
            assert self.ada.kept() == self.ada.tree()

    @invariant()
    def every_listed_memory_counts_and_joins_to_its_file(self) -> None:
        if not self.clean:
            return
        with self.ada.context.vault(self.ada.agent.id) as vault:
            state = vault.state()
            counting = {item.record["id"]: item.record for item in effective_records(state)}
            for entry in state.entries("raw/openclaw/"):
                listed = entry.meta.get(entry_metas.RECORDS, [])
                if listed:
                    lines = [state.record(one) for one in listed]
                    texts = [json_codec.decode_json(line.line)["content"] for line in lines if line is not None]
                    assert "".join(texts).encode() == state.body(entry.path)
                    assert all(counting[one]["status"] == "active" for one in listed if one in counting)

    def teardown(self) -> None:
        with self.ada.context.vault(self.ada.agent.id) as vault:
            assert vault.verify(trusted=self.ada.context.keys().trusted).ok
            digests = [row.digest for row in vault.sequences()]
            assert all(one != other for one, other in itertools.pairwise(digests))
        shutil.rmtree(self.folder)


TestWorkspace = Workspace.TestCase
TestWorkspace.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
