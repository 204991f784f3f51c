"""ZeroClaw as an adapter: one door to what the modules of this package decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.adapter_defaults import AdapterDefaults
from lifeboat_adapters.contract import (
    AgentFiles,
    CaptureRoot,
    Derivation,
    DiscoveredAgent,
    Installation,
    MemorySection,
    MergedHomeFile,
    NextStep,
    Placement,
    RenderedFile,
    RuntimeRow,
    UnusedDataOffer,
)
from lifeboat_adapters.credential_types import (
    CredentialNeed,
    EncryptionKeyFile,
    FileSecret,
    ForeignCredential,
    LeftoverSecretFile,
    ReencryptedFile,
    TranslatedCredentials,
)
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryStore, ServerWrite, WriteOrder
from lifeboat_adapters.notes import memory_comments, note_joining
from lifeboat_adapters.persona import capabilities
from lifeboat_adapters.zeroclaw import (
    remote,
    zeroclaw_discovery,
    zeroclaw_folders,
    zeroclaw_paths,
    zeroclaw_placement,
    zeroclaw_processes,
    zeroclaw_rendering,
)
from lifeboat_adapters.zeroclaw.credentials import (
    zeroclaw_credential_needs,
    zeroclaw_leftovers,
    zeroclaw_secrets,
    zeroclaw_shared_files,
)
from lifeboat_adapters.zeroclaw.databases import brain_database, durable_rows, unused_data
from lifeboat_adapters.zeroclaw.layers import derivations
from lifeboat_adapters.zeroclaw.memories import brain_records, zeroclaw_notes
from lifeboat_adapters.zeroclaw.restore import (
    database_writing,
    memory_server_writing,
    secret_reencryption,
    translate_for_zeroclaw,
    unsupported_by_zeroclaw,
    zeroclaw_config_merging,
    zeroclaw_installation,
    zeroclaw_next_steps,
)
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason


class ZeroClaw(AdapterDefaults):
    """`contract.Adapter` for ZeroClaw, from its first release on."""

    runtime = zeroclaw_paths.RUNTIME
    splitter_version = zeroclaw_notes.VERSION
    home_names: tuple[str, ...] = (zeroclaw_folders.FOLDER,)

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        return zeroclaw_discovery.discover_zeroclaw_agents(environment, user_home)

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / zeroclaw_folders.FOLDER / "agents" / name / "workspace"

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        return zeroclaw_folders.find_zeroclaw_program(environment)

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        return zeroclaw_discovery.locate_zeroclaw(workspace, environment, user_home)

    def recognises(self, workspace: Path) -> int:
        return zeroclaw_discovery.rate_zeroclaw_workspace(workspace)

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        workspace = CaptureRoot(zeroclaw_paths.RAW, installation.workspace)
        if installation.state_dir is None:
            return (workspace,)
        return (
            workspace,
            CaptureRoot(
                zeroclaw_paths.HOME, installation.state_dir, zeroclaw_placement.zeroclaw_home_files(installation)
            ),
        )

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return zeroclaw_placement.place_zeroclaw_path(path, is_folder=is_folder)

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return zeroclaw_placement.zeroclaw_exclusion_reason(path, is_folder=is_folder)

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        name = zeroclaw_placement.in_workspace(path)
        return None if name is None else zeroclaw_notes.split_zeroclaw_note(name, text)

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return note_joining.join_note(
            path.removeprefix(zeroclaw_paths.RAW), memories, native=True, split=zeroclaw_notes.split_zeroclaw_note
        )

    def label(self, record_id: str) -> str:
        return memory_comments.memory_label(record_id)

    def secrets(self, path: str, data: bytes) -> list[FileSecret] | None:
        return zeroclaw_secrets.find_zeroclaw_secrets(path, data)

    def opened(self, installation: Installation, found: list[FileSecret]) -> list[FileSecret]:
        return zeroclaw_secrets.decrypt_found_secrets(installation, found)

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        return zeroclaw_shared_files.share_of_zeroclaw_file(installation, path, data)

    def learned(self, installation: Installation) -> Iterator[FileSecret]:
        return zeroclaw_leftovers.secrets_in_zeroclaw_leftovers(installation)

    def leftovers(self, installation: Installation) -> Iterator[LeftoverSecretFile]:
        return zeroclaw_leftovers.find_zeroclaw_leftovers(installation)

    def offers(self, installation: Installation) -> Iterator[UnusedDataOffer]:
        return unused_data.list_unused_data(installation)

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        return durable_rows.read_zeroclaw_rows(installation, transcripts=transcripts, cron=cron)

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        return durable_rows.find_zeroclaw_row_problem(installation, path, data)

    def databases(self, installation: Installation) -> list[Path]:
        return [
            *durable_rows.zeroclaw_sources_of(installation).files(),
            *zeroclaw_leftovers.zeroclaw_leftover_files(installation),
        ]

    def is_configured(self, installation: Installation) -> bool:
        return zeroclaw_folders.is_zeroclaw_configured(installation)

    def running(self, installation: Installation) -> str:
        return zeroclaw_processes.find_running_process(installation)

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        if zeroclaw_folders.memory_backend_of(installation) in remote.TITLES:
            return remote.open_server_memories(installation)
        return brain_database.memory_store(installation)

    def memory_of(self, installation: Installation, values: JsonObject) -> MemorySection:
        return brain_records.memory_of_row(values)

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        return brain_records.row_of_memory(record, root_id)

    def derivations(self) -> Sequence[Derivation]:
        return derivations.DERIVATIONS

    def render(self, state: Any) -> Iterator[RenderedFile]:
        return zeroclaw_rendering.render_zeroclaw_files(state)

    def home_around(self, workspace: Path) -> Path | None:
        return zeroclaw_installation.home_around(workspace)

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        return zeroclaw_installation.zeroclaw_install_into(state_dir, workspace, state, environment, user_home, version)

    def write_databases(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return database_writing.plan_database_writes(installation, order)

    def write_server(self, installation: Installation, order: WriteOrder) -> ServerWrite | None:
        return memory_server_writing.plan_server_write(installation, order)

    def home_name(self, installation: Installation, path: str) -> str | None:
        return zeroclaw_installation.zeroclaw_home_name(installation, path)

    def key_file(self, installation: Installation) -> EncryptionKeyFile | None:
        return secret_reencryption.load_key_file(installation)

    def recrypted(
        self,
        installation: Installation,
        path: str,
        data: bytes,
        values: Mapping[tuple[str | int, ...], str],
        key: EncryptionKeyFile | None,
        *,
        translated: bool = False,
    ) -> ReencryptedFile:
        return secret_reencryption.reencrypt_file(installation, path, data, values, key, translated=translated)

    def merge_home(
        self,
        installation: Installation,
        path: str,
        found: bytes | None,
        wanted: bytes,
        left_out: Mapping[tuple[str | int, ...], Reason],
        state: Any,
        user_home: Path,
        now: str,
    ) -> MergedHomeFile | None:
        return zeroclaw_config_merging.merge_zeroclaw_file(
            installation, path, found, wanted, left_out, state, user_home, now
        )

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        return zeroclaw_config_merging.zeroclaw_secret_places(path, data, offsets)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> TranslatedCredentials:
        return translate_for_zeroclaw.translate_for_zeroclaw_config(installation, credentials, state)

    def needs(self, files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
        return zeroclaw_credential_needs.zeroclaw_credential_needs_of(files, identity)

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        return capabilities.find_missing_capabilities(identity)

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        return zeroclaw_next_steps.list_zeroclaw_next_steps(installation, state)

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        return unsupported_by_zeroclaw.list_unsupported_by_zeroclaw(installation, state)
