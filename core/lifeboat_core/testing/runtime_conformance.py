"""What must hold for agents of any runtime, from the installation to the archive and back.

class TestMine(RuntimeConformance):
    def adapter(self): ...
    def make(self, folder): ...
    def remember(self, made, text):
        ...  # write a memory into the installation as the runtime does
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.testing import AdapterConformance, SampleInstallation, tree_of
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_principals, make_record
from lifeboat_core.agents import manage_agents
from lifeboat_core.testing.runtime_harness import Harness, memories_of

_WRITTEN = ("accepted", "transformed")
_ARRIVED = ("accepted", "transformed", "deduplicated")
_FOREIGN = (
    ("The ferry leaves at nine.", {"memory_type": "semantic"}),
    ("Prefers short answers.", {"memory_type": "preference"}),
    ("Walked to the lighthouse.", {"memory_type": "episodic", "category": "daily_log"}),
    ("Water the plants on Mondays.", {"memory_type": "procedural"}),
    ("Lives by the sea.\n\nHas two boats.", {"memory_type": "summary", "tags": ["home"]}),
    ("Snö och 雪 \U0001f426", {"memory_type": "semantic", "category": "weather"}),
)

_SECRET_VALUES = ("q7Zt9Xw2Kp4Rv8Lm", "h3Yc6Nd1Bs5Gj0Fw", "u8Ev2Ti7Ox4Ma9Pk")
_MADE_FOR_SECRETS = {
    "deploy/.netrc": f"machine example.com login ada password {_SECRET_VALUES[0]}\n",
    "deploy/.env": f"TIDE_API_KEY={_SECRET_VALUES[1]}\n",
    "deploy/settings.json": f'{{"tide": {{"api_key": "{_SECRET_VALUES[2]}"}}}}\n',
}
"""Files of programs that no runtime knows, and what must not be captured of them."""


class RuntimeConformance(AdapterConformance):
    """The promises of `AdapterConformance`, and those that need a capture and a restore to be seen."""

    @abstractmethod
    def remember(self, made: SampleInstallation, text: str) -> None:
        """Write a memory into an installation as the runtime itself would."""

    def _begin(self, folder: Path) -> Harness:
        (folder / "installed").mkdir()
        return Harness.begin(self.adapter(), self.make(folder / "installed"), folder / "home")

    # There ------------------------------------------------------------------------------------------------------

    def test_a_capture_leaves_no_trace(self, tmp_path: Path) -> None:
        (tmp_path / "installed").mkdir()
        made = self.make(tmp_path / "installed")
        before = tree_of(tmp_path / "installed")
        harness = Harness.begin(self.adapter(), made, tmp_path / "home")
        harness.capture()
        assert tree_of(tmp_path / "installed") == before, "a capture wrote files into the installation of the runtime"

    def test_a_second_capture_finds_nothing(self, tmp_path: Path) -> None:
        assert not self._begin(tmp_path).capture(full=True).changed, (
            "a capture of an unchanged agent created a sequence"
        )

    def test_a_new_memory_is_captured(self, tmp_path: Path) -> None:
        harness = self._begin(tmp_path)
        before = harness.memories()
        text = "The lighthouse was painted white."
        self.remember(harness.made, text)
        harness.capture()
        after = harness.memories()
        new = [after[name] for name in after.keys() - before.keys()]
        assert len(new) == 1 and text in new[0], f"expected one new memory, captured: {new}"
        other = {name for name, text in before.items() if after.get(name, "").strip() != text.strip()}
        assert not other, f"other memories changed too: {other}"

    def test_files_made_for_secrets_are_cut_anywhere(self, tmp_path: Path) -> None:
        harness = self._begin(tmp_path)
        for name, text in _MADE_FOR_SECRETS.items():
            path = harness.made.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        harness.capture()
        with harness.context.vault(harness.agent.id) as vault:
            state = vault.state()
            stored = {entry.path: state.body(entry.path) for entry in state.entries("")}
        clear = [path for path, body in stored.items() if any(value.encode() in body for value in _SECRET_VALUES)]
        assert not clear, f"secrets were captured in plain text in {clear}"
        missing = [name for name in _MADE_FOR_SECRETS if not any(path.endswith(f"/{name}") for path in stored)]
        assert not missing, f"files with secrets were not captured at all: {missing}"

    def test_a_damaged_database_is_no_deletion(self, tmp_path: Path) -> None:
        harness = self._begin(tmp_path)
        before = harness.memories()
        for database in self._databases(harness):
            if database.is_file():
                self.damage(database)
        with contextlib.suppress(LifeboatError):
            harness.capture()
        assert harness.memories() == before, "an unreadable file was treated as deleted"

    # And back ---------------------------------------------------------------------------------------------------

    def test_a_restored_agent_is_the_captured_one(self, tmp_path: Path) -> None:
        harness, target = self._begin(tmp_path), tmp_path / "restored" / "workspace"
        harness.restore(target)
        files, rows = harness.files(harness.made.workspace), harness.rows(harness.made.workspace)
        assert harness.files(target) == files, "a file was restored with other content"
        back = harness.rows(target)
        assert len(back) == len(rows), "rows are missing or were added"
        for row, found in zip(rows, back, strict=True):
            differing = {name for name, value in row.items() if name in found and found[name] != value}
            assert not differing, f"a row was restored with other values for {sorted(differing)}"

    def test_a_capture_after_a_restore_finds_nothing_new(self, tmp_path: Path) -> None:
        harness, target = self._begin(tmp_path), tmp_path / "restored" / "workspace"
        before = harness.memories()
        harness.restore(target, adopt=True)
        harness.capture()
        assert harness.memories() == before, (
            "after a restore and a new capture, the memories differ from the restored ones"
        )
        assert not harness.capture().changed, (
            "captures of the restored agent create new sequences although nothing changed"
        )

    def test_restoring_again_finds_everything_there(self, tmp_path: Path) -> None:
        harness, target = self._begin(tmp_path), tmp_path / "restored" / "workspace"
        harness.restore(target)
        before = harness.files(target), harness.rows(target)
        again = harness.restore(target)
        written = [each for each in again.fates if each["kind"] in ("file", "memory") and each["outcome"] in _WRITTEN]
        assert not written, f"files that the second restore wrote again: {written}"
        assert (harness.files(target), harness.rows(target)) == before, "a second restore changed files"

    def test_the_receipt_adds_up(self, tmp_path: Path) -> None:
        harness, target = self._begin(tmp_path), tmp_path / "restored" / "workspace"
        report = harness.restore(target)
        names = sum(len(group["names"]) for group in report.fates)
        assert sum(report.outcomes.values()) == report.objects == names, "the counts of the receipt do not add up"
        missing = [group for group in report.fates if group["kind"] == "memory" and group["outcome"] not in _ARRIVED]
        assert not missing, f"memories that were captured from this runtime were not restored to it: {missing}"

    def test_nothing_is_written_into_databases_while_the_runtime_runs(self, tmp_path: Path) -> None:
        harness = self._begin(tmp_path)
        if harness.adapter.placement is None:  # it cannot tell that it runs
            return
        databases = [each for each in self._databases(harness) if each.is_file()]
        self.remember(harness.made, "Written after the capture.")
        before = [each.read_bytes() for each in databases]
        harness.context = _running(harness)
        with contextlib.suppress(LifeboatError):
            harness.restore(harness.made.workspace, at=0)
        assert [each.read_bytes() for each in databases] == before, (
            "a database was written while the runtime was running"
        )

    def _databases(self, harness: Harness) -> Iterable[Path]:
        databases = harness.adapter.databases
        return databases.files(harness.installation(harness.made.workspace)) if databases is not None else ()

    # From elsewhere ---------------------------------------------------------------------------------------------

    def test_memories_of_another_runtime_arrive(self, tmp_path: Path) -> None:
        harness, target = self._begin(tmp_path), tmp_path / "arrived" / "workspace"
        state = MemoryState()
        for text, fields in _FOREIGN:
            state.add(make_record(text, **fields))
        report = harness.import_(_with_layers(state), target)
        arrived = self._captured(harness, target)
        assert _memories(report.fates, _ARRIVED) == len(_FOREIGN), f"the receipt contains {report.fates}"
        missing = {text for text, _ in _FOREIGN} - {text.strip() for text in arrived.values()}
        assert not missing, f"memories of another runtime were lost: {missing}"

    def test_memories_come_back_from_layers_alone(self, tmp_path: Path) -> None:
        harness, target = self._begin(tmp_path), tmp_path / "arrived" / "workspace"
        with harness.context.vault(harness.agent.id) as vault:
            own = vault.state()
            state = MemoryState(agent_id="019a0000-0000-7000-8000-00000000abcd")
            for line in own.records():
                state.add(json_codec.decode_json(line.line))
            for path in (archive_layout.IDENTITY, archive_layout.PRINCIPALS):
                if own.entry(path) is not None:
                    state.put(path, own.body(path))
        harness.import_(state, target)
        wanted = Counter(text.strip() for text in memories_of(state).values())
        found = Counter(text.strip() for text in self._captured(harness, target).values())
        assert not wanted - found, f"memories were lost when they were imported without their files: {wanted - found}"

    def _captured(self, harness: Harness, workspace: Path) -> dict[str, str]:
        agent, _ = manage_agents.protect_workspace(
            harness.context, workspace, runtime=harness.adapter.runtime, new=True, name="Arrived"
        )
        return harness.memories(agent)


def _with_layers(state: MemoryState) -> MemoryState:
    return state.put_document(archive_layout.IDENTITY, make_identity()).put_document(
        archive_layout.PRINCIPALS, make_principals()
    )


def _memories(fates: Iterable[JsonObject], outcomes: Iterable[str]) -> int:
    return sum(len(group["names"]) for group in fates if group["kind"] == "memory" and group["outcome"] in outcomes)


def _running(harness: Harness) -> Any:
    """Return the same home with a runtime that is at work."""
    adapter = harness.adapter

    class AtWork:
        def __init__(self, around: Any, **replaced: Any) -> None:
            self.__dict__.update(replaced, around=around)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.around, name)

    # A runtime of plain files has no placement: nothing can be at work there.
    placement = adapter.placement and AtWork(adapter.placement, running=lambda installation: "a test, process 1")
    at_work: Any = AtWork(adapter, placement=placement)

    class BusyContext(type(harness.context)):  # type: ignore[misc]
        def adapter(self, runtime: str) -> Adapter:
            found: Adapter = at_work if runtime == adapter.runtime else super().adapter(runtime)
            return found

    return BusyContext(harness.context.home, harness.context.files, harness.context.clock, harness.context.environment)
