"""Conformance tests that every adapter has to pass: subclass `AdapterConformance` in a test module, and pytest runs
them.

    class TestMine(AdapterConformance):
        def adapter(self):
            return Mine()

        def make(self, folder):
            ...  # write a small installation below `folder`
            return SampleInstallation(workspace=folder / "workspace", user_home=folder)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from lifeboat_adapters.adapter_registry import find_contract_problem
from lifeboat_adapters.contract import Adapter, Installation, Placement, RuntimeRow
from lifeboat_adapters.credential_types import FileSecret, ForeignCredential, UnparsableSecrets
from lifeboat_adapters.errors import AdapterError, NotAWorkspace, RuntimeDatabaseError
from lifeboat_adapters.secrets import secret_cutting
from lifeboat_adapters.testing.sample_installation import (
    SampleInstallation,
    WatchedFiles,
    derivation_context,
    files_of,
    record_of,
    rows_of,
    store_of,
    tree_of,
)

_SQLITE = b"SQLite format 3\0"
_UNKNOWN = "x_conformance"
_DOCUMENTS = ("identity", "principals", "runtime_hints", "manifest")
_TEXTS = (
    "",
    "\n",
    "one line",
    "# Heading\n\nText.\n\n## Another\n\n- an entry\n- another entry\n",
    "---\nname: x\n---\n\nText\n",
    "windows\r\nlines\r\n\r\n## H\r\n",
    "```\n# no heading\n",
    "\ufeff# é 漢字 \U0001f426\n\n\n\x0bodd\n",
)
_ODD_NAMES = ("x", "a b", "%ff", "é", "deep/er/x.md", ".hidden", "no.ending.", "node_modules/x/y.js", ".git/HEAD")


class AdapterConformance(ABC):
    """One test for each promise of `contract.Adapter` that applies to all runtimes."""

    @abstractmethod
    def adapter(self) -> Adapter:
        """Return the adapter under test, as the registry would load it."""

    @abstractmethod
    def make(self, folder: Path) -> SampleInstallation:
        """Write a small installation below `folder`, which is empty, and return it.

        It has a workspace with everything that the runtime keeps of an agent, memories above all, and credentials if
        the runtime has any. Every call writes the same contents.
        """

    def damage(self, database: Path) -> None:
        """Damage a database that the adapter reads."""
        database.write_bytes(b"this is no database, " * 50)
        for ending in ("-wal", "-shm", "-journal"):
            database.with_name(database.name + ending).unlink(missing_ok=True)

    def test_the_adapter_fulfils_the_contract(self, tmp_path: Path) -> None:
        assert find_contract_problem(self.adapter()) == "", (
            "Lifeboat refuses the adapter, because it does not fulfil contract.Adapter"
        )

    def _located(self, made: SampleInstallation) -> Installation:
        return self.adapter().locate(made.workspace, made.environment, made.user_home)

    def _files(self, folder: Path) -> tuple[Installation, dict[str, bytes]]:
        installation = self._located(self.make(folder))
        return installation, files_of(self.adapter(), installation)

    # Finding ----------------------------------------------------------------------------------------------------

    def test_discovering_locating_and_recognising_agree(self, tmp_path: Path) -> None:
        made, adapter = self.make(tmp_path), self.adapter()
        found = adapter.discover(made.environment, made.user_home)
        here = [each for each in found if each.workspace.resolve() == made.workspace.resolve()]
        installation = self._located(made)
        assert len(here) == 1, f"discover() must return the workspace once, but returned it {len(here)} times"
        named = (installation.runtime, installation.native_id, installation.state_dir)
        assert (here[0].runtime, here[0].native_id, here[0].state_dir) == named, (
            "discover() and locate() return different installations for the same workspace"
        )
        assert installation.runtime == adapter.runtime, "locate() returns an installation of another runtime"
        assert adapter.recognises(made.workspace) > 0, "recognises() must accept a workspace that locate() accepts"

    def test_a_folder_of_something_else_is_no_workspace(self, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        (other / "holiday.txt").write_text("Sand.\n")
        assert not self.adapter().recognises(other), "recognises() accepts a folder that contains no agent"
        error = _raised(lambda: self.adapter().locate(other, {}, tmp_path / "home"))
        assert isinstance(error, NotAWorkspace), (
            f"locate() must raise NotAWorkspace for a folder without an agent, but gave {error!r}"
        )

    def test_nothing_is_discovered_where_nothing_is(self, tmp_path: Path) -> None:
        assert self.adapter().discover({}, tmp_path) == [], "discover() finds agents in an empty home directory"

    # Files ------------------------------------------------------------------------------------------------------

    def test_roots_lie_in_the_workspace_and_in_the_folder_of_the_runtime(self, tmp_path: Path) -> None:
        installation = self._located(self.make(tmp_path))
        first, *others = self.adapter().roots(installation)
        runtime = self.adapter().runtime
        assert (first.prefix, first.folder) == (f"raw/{runtime}/", installation.workspace), (
            "the first root must be the workspace"
        )
        assert first.only is None, "the root of the workspace must not limit the captured files (`only` must be None)"
        outside = {f"raw/{runtime}/{part}": folder for part, folder in installation.outside}
        assert {root.prefix: root.folder for root in others if root.prefix in outside} == outside, (
            "every part of the workspace that lies outside of it must be a root"
        )
        for root in (root for root in others if root.prefix not in outside):
            assert root.prefix == f"raw/{runtime}-home/", (
                f"{root.prefix} is not the path prefix for the state directory of {runtime}"
            )
            assert root.folder == installation.state_dir, f"{root.folder} is not the state directory of the runtime"
            assert root.only is not None, "the root of the state directory must list the files to capture in `only`"

    def test_every_path_has_one_place(self, tmp_path: Path) -> None:
        installation, files = self._files(tmp_path)
        prefixes = [root.prefix for root in self.adapter().roots(installation)]
        paths = [*files, *(prefix + name for prefix in prefixes for name in _ODD_NAMES)]
        for path in paths:
            for is_folder in (False, True):
                place = self.adapter().place(path, is_folder=is_folder)
                why = self.adapter().exclusion(path, is_folder=is_folder)
                assert isinstance(place, Placement), f"place() must return a Placement for {path}"
                assert place is self.adapter().place(path, is_folder=is_folder), (
                    f"place() returns different results for {path}"
                )
                assert (place is Placement.EXCLUDED) == bool(why), (
                    f"exclusion() must give a reason for excluded paths only: {path} is {place}, reason {why!r}"
                )

    def test_the_only_agent_has_its_files_for_itself(self, tmp_path: Path) -> None:
        installation, files = self._files(tmp_path)
        if installation.sharing:
            return
        for path, data in files.items():
            assert self.adapter().share(installation, path, data) == data, (
                f"share() must return the whole file if there is only one agent: {path}"
            )

    def test_what_matters_of_a_file_is_stable(self, tmp_path: Path) -> None:
        _, files = self._files(tmp_path)
        for path, data in files.items():
            first, again = self.adapter().matters(path, data), self.adapter().matters(path, data)
            assert first == again, f"matters() returns different results for the same bytes of {path}"

    # Memories in files ------------------------------------------------------------------------------------------

    def test_sections_are_all_of_a_text(self, tmp_path: Path) -> None:
        for path, text in self._texts(tmp_path):
            sections = self.adapter().split(path, text)
            if sections is not None:
                assert "".join(section.content for section in sections) == text, f"split() loses text of {path}"

    def test_splitting_is_stable(self, tmp_path: Path) -> None:
        for path, text in self._texts(tmp_path):
            assert self.adapter().split(path, text) == self.adapter().split(path, text), (
                f"split() returns different results for the same text of {path}"
            )

    def test_joined_memories_split_into_themselves(self, tmp_path: Path) -> None:
        _, files = self._files(tmp_path)
        for path, data in files.items():
            sections = self.adapter().split(path, data.decode("utf-8", "replace")) or []
            memories = [(_id(number), each.text) for number, each in enumerate(sections) if each.text.strip()]
            if memories:
                again = self.adapter().split(path, self.adapter().join(path, memories)) or []
                words = [section.text.split() for section in again if section.text.strip()]
                assert words == [text.split() for _, text in memories], f"join() loses memories of {path}"

    def test_labels_tell_records_apart(self, tmp_path: Path) -> None:
        ids = [_id(number) for number in range(20)]
        labels = [self.adapter().label(record_id) for record_id in ids]
        assert len(set(labels)) == len(ids), "label() returns the same label for two records"
        assert labels == [self.adapter().label(record_id) for record_id in ids], (
            "label() returns different labels for the same record"
        )

    def _texts(self, folder: Path) -> Iterator[tuple[str, str]]:
        _, files = self._files(folder)
        for path, data in files.items():
            yield path, data.decode("utf-8", "replace")
            for text in _TEXTS:
                yield path, text

    # Documents --------------------------------------------------------------------------------------------------

    def test_derivations_read_only_what_they_say(self, tmp_path: Path) -> None:
        installation, files = self._files(tmp_path)
        for each in self.adapter().derivations():
            assert each.document in _DOCUMENTS, f"{each.document} is not a document that an adapter can derive"
            watched = WatchedFiles(files)
            each.derive(watched, None, derivation_context(installation))
            more = {path for path in watched.seen() if not each.reads(path)}
            assert not more, (
                f"the derivation of {each.document} reads {sorted(more)}, but its reads() does not include these files"
            )

    def test_deriving_again_changes_nothing(self, tmp_path: Path) -> None:
        installation, files = self._files(tmp_path)
        for each in self.adapter().derivations():
            first = each.derive(WatchedFiles(files), None, derivation_context(installation))
            again = each.derive(WatchedFiles(files), first, derivation_context(installation))
            assert again == first, f"the document {each.document} changes when it is derived again from the same files"

    def test_derivations_keep_fields_they_do_not_know(self, tmp_path: Path) -> None:
        installation, files = self._files(tmp_path)
        for each in self.adapter().derivations():
            first = each.derive(WatchedFiles(files), None, derivation_context(installation))
            if first is None or each.document == "manifest":  # capture merges the derived fields into the manifest
                continue
            previous = {**first, _UNKNOWN: {"kept": True}}
            again = each.derive(WatchedFiles(files), previous, derivation_context(installation)) or {}
            assert again.get(_UNKNOWN) == {"kept": True}, (
                f"the derivation of {each.document} drops fields that it does not know"
            )

    # Secrets ----------------------------------------------------------------------------------------------------

    def test_secrets_are_spans_of_their_file(self, tmp_path: Path) -> None:
        _, files = self._files(tmp_path)
        for path, data in files.items():
            end = 0
            for secret in self._secrets(path, data):
                assert end <= secret.start < secret.end <= len(data), (
                    f"{path}: the byte range of a secret is outside the file or overlaps another one"
                )
                assert secret.value and secret.service and secret.credential_type, (
                    f"{path}: a secret needs a value, a service and a credential type"
                )
                end = secret.end

    def test_what_is_cut_out_can_be_put_back(self, tmp_path: Path) -> None:
        _, files = self._files(tmp_path)
        for path, data in files.items():
            found = self._secrets(path, data)
            spans = [secret_cutting.span_of_secret(data, secret, _id(number)) for number, secret in enumerate(found)]
            made = secret_cutting.cut_spans(data, spans)
            literals = {_id(number): data[each.start : each.end] for number, each in enumerate(found)}
            filled = secret_cutting.fill_placeholders(made.data, made.cuts, _literals(literals))
            assert filled == data, f"{path} is not the same after its secrets were removed and put back"
            clear = [each.value for each in found if len(each.value) >= 8 and each.value.encode() in made.data]
            assert not clear, f"{path} still contains a secret after all secrets were removed"

    def test_rubbish_is_no_reason_to_fail(self, tmp_path: Path) -> None:
        _, files = self._files(tmp_path)
        for path in files:
            for data in (b"", b"\xff\xfe\x00", b"{" * 300, b"[x\n=", b'{"a": '):
                error = _raised(partial(self._secrets, path, data))
                assert error is None or isinstance(error, UnparsableSecrets), f"{path}: {error!r}"

    def test_a_credential_of_another_runtime_gets_a_place_that_captures_cut_out_or_a_reason(
        self, tmp_path: Path
    ) -> None:
        credentials = self.adapter().credentials
        installation = self._located(self.make(tmp_path))
        given = [_foreign_key(name) for name in ("anthropic", "gemini", "openrouter", "an-unknown-service")]
        if credentials is None:
            return
        said = credentials.translate(installation, given, _EmptyState())
        places, reasons = set(said.places), set(said.reasons)
        assert places | reasons == {each.id for each in given}, (
            "translate() returns neither a place nor a reason for a credential"
        )
        assert not places & reasons, (
            "translate() returns a place for a credential, but also a reason why the credential has no place"
        )
        for path, data in said.files.items():
            found = {secret.value for secret in self._secrets(path, data)}
            put = {each.value for each in given if said.places.get(each.id, ("", ()))[0] == path}
            assert put <= found, f"{path}: a capture would keep a translated credential in plain text"

    # Databases --------------------------------------------------------------------------------------------------

    def test_reading_leaves_no_trace(self, tmp_path: Path) -> None:
        made, adapter = self.make(tmp_path), self.adapter()
        before = tree_of(tmp_path)
        adapter.discover(made.environment, made.user_home)
        installation = self._located(made)
        self._read(installation)
        if adapter.credentials is not None:
            list(adapter.credentials.leftovers(installation))
        if adapter.databases is not None:
            list(adapter.databases.offers(installation))
        if adapter.placement is not None:
            adapter.placement.running(installation)
        assert tree_of(tmp_path) == before, "reading an installation changes its files"

    def test_rows_are_stable_and_lie_under_the_folder_of_the_runtime(self, tmp_path: Path) -> None:
        installation = self._located(self.make(tmp_path))
        rows, again = self._rows(installation), self._rows(installation)
        assert rows == again, "two reads of the same database return different rows"
        names = [(row.path, row.key) for row in rows]
        assert len(set(names)) == len(names), "two rows have the same path and key"
        prefix = f"raw/{self.adapter().runtime}-home/db/"
        assert all(row.path.startswith(prefix) for row in rows), f"the path of every row must begin with {prefix}"

    def test_a_row_comes_back_from_its_memory(self, tmp_path: Path) -> None:
        installation = self._located(self.make(tmp_path))
        databases = self.adapter().databases
        for row in rows_of(self.adapter(), installation):
            assert databases is not None
            section = databases.memory_of(installation, row.values)
            made = databases.row_of(record_of(section), "root")
            differing = {name for name, value in row.values.items() if made.get(name) != value}
            assert not differing, f"the row of an unchanged memory would change in the columns {sorted(differing)}"

    def test_an_edited_memory_keeps_the_columns_of_its_row(self, tmp_path: Path) -> None:
        installation = self._located(self.make(tmp_path))
        store, databases = store_of(self.adapter(), installation), self.adapter().databases
        for row in rows_of(self.adapter(), installation):
            assert store is not None and databases is not None
            record = record_of(databases.memory_of(installation, row.values))
            made = databases.row_of({**record, "content": "Edited elsewhere."}, "root")
            assert made[store.content] == "Edited elsewhere.", "row_of() does not write the edited text of a memory"
            assert made[store.id] == row.values[store.id], "row_of() gives an edited memory another row id"

    def test_a_damaged_database_is_an_error(self, tmp_path: Path) -> None:
        installation = self._located(self.make(tmp_path))
        databases = self.adapter().databases
        for database in databases.files(installation) if databases is not None else ():
            whole = database.read_bytes() if database.is_file() else b""
            if not whole.startswith(_SQLITE):
                continue
            self.damage(database)
            error = _raised(lambda: self._read(installation))
            assert isinstance(error, RuntimeDatabaseError), (
                f"reading the damaged database {database.name} must raise RuntimeDatabaseError, but gave {error!r}"
            )
            database.write_bytes(whole)

    def test_a_damaged_configuration_is_an_error_or_known(self, tmp_path: Path) -> None:
        made = self.make(tmp_path)
        config = self._located(made).config
        if config is None:
            return
        config.write_bytes(b"\xff{{{ this is no configuration")
        error = _raised(lambda: self._located(made))
        assert error is None or isinstance(error, AdapterError), (
            f"a damaged configuration must raise an AdapterError, but gave {error!r}"
        )

    def test_nothing_runs_that_nobody_started(self, tmp_path: Path) -> None:
        installation, placement = self._located(self.make(tmp_path)), self.adapter().placement
        assert placement is None or placement.running(installation) == "", (
            "running() reports a running program, although the test started no program"
        )

    def _read(self, installation: Installation) -> None:
        rows_of(self.adapter(), installation)
        self._rows(installation)
        credentials = self.adapter().credentials
        list(credentials.learned(installation) if credentials is not None else ())

    def _rows(self, installation: Installation) -> list[RuntimeRow]:
        databases = self.adapter().databases
        return list(databases.rows(installation, transcripts=True, cron=True)) if databases is not None else []

    def _secrets(self, path: str, data: bytes) -> list[FileSecret]:
        credentials = self.adapter().credentials
        return (credentials.find(path, data) if credentials is not None else None) or []


def _id(number: int) -> str:
    return f"019a0000-0000-7000-8000-{number:012d}"


def _literals(found: Mapping[str, bytes]) -> Callable[[str, int], bytes]:
    return lambda credential_id, _: found[credential_id]


def _raised(work: Callable[[], object]) -> BaseException | None:
    try:
        work()
    except BaseException as error:
        return error
    return None


class _EmptyState:
    """The part of a state without entries that translations read."""

    def entry(self, path: str) -> None:
        """Return None, because the state has no entries."""


def _foreign_key(service: str) -> ForeignCredential:
    """Return the key of a model provider as another runtime keeps it in a JSON file."""
    place = ("raw/other/config.json", ("models", "providers", service, "apiKey"))
    return ForeignCredential(
        service, service, "api_key", f"config.json: {service}", f"sk-of-{service}-0001", place=place
    )
