"""Every test of the conformance suite catches an adapter that breaks its promise, and no other test does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import (
    Adapter,
    CaptureRoot,
    Derivation,
    DiscoveredAgent,
    Installation,
    MemorySection,
    RuntimeRow,
    UnusedDataOffer,
)
from lifeboat_adapters.credential_types import FileSecret, ForeignCredential, TranslatedCredentials
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_adapters.testing import AdapterConformance, SampleInstallation
from lifeboat_alf.common.json_types import JsonObject
from support.adapters.notebook_installs import make_notebook
from support.adapters.notebook_runtime import Notebook, NotebookCredentials, NotebookDatabases, NotebookPlacement


class DiscoversAnotherName(Notebook):
    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        return [replace(each, native_id="other") for each in super().discover(environment, user_home)]


class TakesAnyFolder(Notebook):
    def recognises(self, workspace: Path) -> int:
        return super().recognises(workspace) or int((workspace / "holiday.txt").exists())


class FindsAgentsEverywhere(Notebook):
    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        found = super().discover(environment, user_home)
        return found or [DiscoveredAgent(self.runtime, "ghost", "Ghost", user_home, None)]


class CapturesForOthers(Notebook):
    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        cache = CaptureRoot("raw/other-home/", installation.workspace / "cache", only=("x.json",))
        return [*super().roots(installation), cache]


class ExcludesWithoutReason(Notebook):
    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return None if not is_folder and path.endswith("no.ending.") else super().exclusion(path, is_folder=is_folder)

    def place(self, path: str, *, is_folder: bool) -> Any:
        return "somewhere" if path.endswith("no.ending.") else super().place(path, is_folder=is_folder)


class SharesTooLittle(Notebook):
    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        return data[:1]


class _Counting(Notebook):
    def __init__(self, counter: Iterator[int]) -> None:
        self.counter = counter


class WeighsByChance(_Counting):
    def matters(self, path: str, data: bytes) -> bytes | None:
        return str(next(self.counter)).encode()


class LosesTheLastLine(Notebook):
    def split(self, path: str, text: str) -> list[MemorySection] | None:
        return super().split(path, text.rstrip("\n"))


class SplitsByChance(_Counting):
    def split(self, path: str, text: str) -> list[MemorySection] | None:
        number = next(self.counter)
        found = super().split(path, text)
        return found and [replace(section, fields={"category": str(number)}) for section in found]


class JoinsOneOnly(Notebook):
    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return super().join(path, memories[:1])


class LabelsAlike(Notebook):
    def label(self, record_id: str) -> str:
        return record_id[:8]


class _Deriving(Notebook):
    def derivations(self) -> Sequence[Derivation]:
        return [self.changed(each) for each in super().derivations()]

    def changed(self, derivation: Derivation) -> Derivation:
        raise AssertionError("a subclass says how")


class ReadsInSecret(_Deriving):
    def changed(self, derivation: Derivation) -> Derivation:
        return replace(derivation, reads=lambda path: False)


class DerivesEverMore(_Deriving):
    def changed(self, derivation: Derivation) -> Derivation:
        def derive(files: Any, previous: JsonObject | None, context: Any) -> JsonObject | None:
            made = derivation.derive(files, previous, context) or {}
            return {**made, "count": int(made.get("count", 0)) + 1}

        return replace(derivation, derive=derive)


class ForgetsTheUnknown(_Deriving):
    def changed(self, derivation: Derivation) -> Derivation:
        return replace(derivation, derive=lambda files, _, context: derivation.derive(files, None, context))


class _Finding(NotebookCredentials):
    def find(self, path: str, data: bytes) -> list[FileSecret] | None:
        found = super().find(path, data)
        return found and [self.changed(each) for each in found]

    def changed(self, secret: FileSecret) -> FileSecret:
        raise AssertionError("a subclass says how")


class _FindingNoService(_Finding):
    def changed(self, secret: FileSecret) -> FileSecret:
        return replace(secret, service="")


class NamesNoService(Notebook):
    credentials = _FindingNoService()


class _FindingBesideTheSecret(_Finding):
    def changed(self, secret: FileSecret) -> FileSecret:
        return replace(secret, start=secret.start - 2, end=secret.start)


class CutsBesideTheSecret(Notebook):
    credentials = _FindingBesideTheSecret()


class _FailingAtRubbish(NotebookCredentials):
    def find(self, path: str, data: bytes) -> list[FileSecret] | None:
        return super().find(path, data) if data else [][0]


class FailsAtRubbish(Notebook):
    credentials = _FailingAtRubbish()


class CapturesSecretsUnseen(Notebook):
    def secrets(self, path: str, data: bytes) -> list[FileSecret] | None:
        return self.credentials.find(path, data)


class _Leaving(NotebookDatabases):
    def offers(self, installation: Installation) -> Iterator[UnusedDataOffer]:
        (installation.workspace / "facts.db-journal").write_bytes(b"")
        return iter(())


class LeavesATrace(Notebook):
    databases = _Leaving()


class _NamingRowsAlike(NotebookDatabases):
    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        row = RuntimeRow("raw/notebook-home/db/facts/jobs.jsonl", "1", {})
        return iter([row, row])


class NamesRowsAlike(Notebook):
    databases = _NamingRowsAlike()


class _StampingRows(NotebookDatabases):
    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        return {**super().row_of(record, root_id), "written": "now"}


class StampsRows(Notebook):
    databases = _StampingRows()


class _MakingAnotherRow(NotebookDatabases):
    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        made = super().row_of(record, root_id)
        return {**made, "id": root_id} if made["text"].startswith("Edited") else made


class MakesAnotherRow(Notebook):
    databases = _MakingAnotherRow()


class _TakingDamageForDeletion(NotebookDatabases):
    def memory_store(self, installation: Installation) -> MemoryStore | None:
        found = self.files(installation)[0].read_bytes().startswith(b"SQLite format 3\0")
        return super().memory_store(installation) if found else None


class TakesDamageForDeletion(Notebook):
    databases = _TakingDamageForDeletion()


class FailsAtItsConfiguration(Notebook):
    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        try:
            return super().locate(workspace, environment, user_home)
        except RuntimeConfigError as error:
            raise ValueError(str(error)) from error


class _Forgetting(NotebookCredentials):
    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> TranslatedCredentials:
        return super().translate(installation, credentials[1:], state)


class ForgetsACredential(Notebook):
    credentials = _Forgetting()


class _Running(NotebookPlacement):
    def running(self, installation: Installation) -> str:
        return "notebook, process 1"


class RunsAlways(Notebook):
    placement = _Running()


BROKEN: dict[str, type[Notebook]] = {
    "test_discovering_locating_and_recognising_agree": DiscoversAnotherName,
    "test_a_folder_of_something_else_is_no_workspace": TakesAnyFolder,
    "test_nothing_is_discovered_where_nothing_is": FindsAgentsEverywhere,
    "test_roots_lie_in_the_workspace_and_in_the_folder_of_the_runtime": CapturesForOthers,
    "test_every_path_has_one_place": ExcludesWithoutReason,
    "test_the_only_agent_has_its_files_for_itself": SharesTooLittle,
    "test_what_matters_of_a_file_is_stable": WeighsByChance,
    "test_sections_are_all_of_a_text": LosesTheLastLine,
    "test_splitting_is_stable": SplitsByChance,
    "test_joined_memories_split_into_themselves": JoinsOneOnly,
    "test_labels_tell_records_apart": LabelsAlike,
    "test_derivations_read_only_what_they_say": ReadsInSecret,
    "test_deriving_again_changes_nothing": DerivesEverMore,
    "test_derivations_keep_fields_they_do_not_know": ForgetsTheUnknown,
    "test_secrets_are_spans_of_their_file": NamesNoService,
    "test_what_is_cut_out_can_be_put_back": CutsBesideTheSecret,
    "test_rubbish_is_no_reason_to_fail": FailsAtRubbish,
    "test_a_credential_of_another_runtime_gets_a_place_that_captures_cut_out_or_a_reason": ForgetsACredential,
    "test_reading_leaves_no_trace": LeavesATrace,
    "test_rows_are_stable_and_lie_under_the_folder_of_the_runtime": NamesRowsAlike,
    "test_a_row_comes_back_from_its_memory": StampsRows,
    "test_an_edited_memory_keeps_the_columns_of_its_row": MakesAnotherRow,
    "test_a_damaged_database_is_an_error": TakesDamageForDeletion,
    "test_the_adapter_fulfils_the_contract": CapturesSecretsUnseen,
    "test_a_damaged_configuration_is_an_error_or_known": FailsAtItsConfiguration,
    "test_nothing_runs_that_nobody_started": RunsAlways,
}
TESTS = [name for name in dir(AdapterConformance) if name.startswith("test_")]


def failing(broken: type[Notebook], folder: Path) -> list[str]:
    """Return which tests of the suite an adapter fails."""
    adapter = broken(itertools.count()) if issubclass(broken, _Counting) else broken()

    class Suite(AdapterConformance):
        def adapter(self) -> Adapter:
            return adapter

        def make(self, folder: Path) -> SampleInstallation:
            return make_notebook(folder)

    found = []
    for name in TESTS:
        (folder / name).mkdir()
        try:
            getattr(Suite(), name)(folder / name)
        except AssertionError:
            found.append(name)
    return found


def test_there_is_a_broken_adapter_for_every_test() -> None:
    assert sorted(BROKEN) == TESTS


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=[each.__name__ for each in BROKEN.values()])
def test_a_broken_adapter_fails_exactly_one_test(name: str, broken: type[Notebook], tmp_path: Path) -> None:
    assert failing(broken, tmp_path) == [name]
