"""The ZeroClaw adapter: the methods of the contract, each implemented by a module of this package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import (
    Adapter,
    CaptureRoot,
    CredentialSupport,
    DatabaseSupport,
    Derivation,
    Installation,
    MemorySection,
    PlacementSupport,
)
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_adapters.notes import memory_comments, note_joining
from lifeboat_adapters.persona import capabilities, persona_files, persona_principals, unsupported_fields
from lifeboat_adapters.zeroclaw import (
    server_memories,
    zeroclaw_config,
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
from lifeboat_adapters.zeroclaw.layers import aieos_documents, zeroclaw_hints, zeroclaw_identity
from lifeboat_adapters.zeroclaw.memories import brain_records, zeroclaw_notes
from lifeboat_adapters.zeroclaw.restore import (
    database_writing,
    memory_server_writing,
    secret_reencryption,
    translate_for_zeroclaw,
    zeroclaw_config_merging,
    zeroclaw_installation,
    zeroclaw_next_steps,
)
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject

DERIVATIONS = (
    zeroclaw_identity.DERIVATION,
    persona_principals.make_principals_derivation(zeroclaw_paths.RUNTIME, zeroclaw_paths.RAW + zeroclaw_paths.USER),
    *zeroclaw_hints.DERIVATIONS,
)


class ZeroClawCredentials(CredentialSupport):
    """Credentials in ZeroClaw's files, which it may encrypt with a key of the machine."""

    find = staticmethod(zeroclaw_secrets.find_zeroclaw_secrets)
    decrypt = staticmethod(zeroclaw_secrets.decrypt_found_secrets)
    learned = staticmethod(zeroclaw_leftovers.secrets_in_zeroclaw_leftovers)
    leftovers = staticmethod(zeroclaw_leftovers.find_zeroclaw_leftovers)
    needs = staticmethod(zeroclaw_credential_needs.zeroclaw_credential_needs_of)
    secret_places = staticmethod(zeroclaw_config_merging.zeroclaw_secret_places)
    key_file = staticmethod(secret_reencryption.load_key_file)
    reencrypt = staticmethod(secret_reencryption.reencrypt_file)
    translate = staticmethod(translate_for_zeroclaw.translate_for_zeroclaw_config)


class ZeroClawDatabases(DatabaseSupport):
    """ZeroClaw's databases, and the memories that it keeps as rows, here or behind a server."""

    rows = staticmethod(durable_rows.read_zeroclaw_rows)
    unreadable_rows = staticmethod(durable_rows.find_zeroclaw_row_problem)
    row_of = staticmethod(brain_records.row_of_memory)
    offers = staticmethod(unused_data.list_unused_data)
    plan_writes = staticmethod(database_writing.plan_database_writes)
    plan_server_write = staticmethod(memory_server_writing.plan_server_write)

    def files(self, installation: Installation) -> list[Path]:
        return [
            *durable_rows.zeroclaw_sources_of(installation).files(),
            *zeroclaw_leftovers.zeroclaw_leftover_files(installation),
        ]

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        if zeroclaw_folders.memory_backend_of(installation) in server_memories.TITLES:
            return server_memories.open_server_memories(installation)
        return brain_database.memory_store(installation)

    def memory_of(self, installation: Installation, values: JsonObject) -> MemorySection:
        return brain_records.memory_of_row(values)


class ZeroClawPlacement(PlacementSupport):
    """Places an agent in a home of ZeroClaw."""

    install_into = staticmethod(zeroclaw_installation.choose_zeroclaw_installation)
    home_around = staticmethod(zeroclaw_installation.choose_home_for)
    is_configured = staticmethod(zeroclaw_folders.is_zeroclaw_configured)
    stop_command = "zeroclaw service stop"
    running = staticmethod(zeroclaw_processes.find_running_process)
    home_name = staticmethod(zeroclaw_installation.zeroclaw_home_name)
    merge_home = staticmethod(zeroclaw_config_merging.merge_zeroclaw_file)
    next_steps = staticmethod(zeroclaw_next_steps.list_zeroclaw_next_steps)
    missing_on_host = staticmethod(capabilities.find_missing_capabilities)


class ZeroClaw(Adapter):
    """The adapter for ZeroClaw, from its first release on."""

    runtime = zeroclaw_paths.RUNTIME
    splitter_version = zeroclaw_notes.VERSION
    home_names = (zeroclaw_folders.FOLDER,)
    credentials = ZeroClawCredentials()
    databases = ZeroClawDatabases()
    placement = ZeroClawPlacement()

    discover = staticmethod(zeroclaw_discovery.discover_zeroclaw_agents)
    locate = staticmethod(zeroclaw_discovery.locate_zeroclaw)
    recognises = staticmethod(zeroclaw_discovery.rate_zeroclaw_workspace)
    find_program = staticmethod(zeroclaw_folders.find_zeroclaw_program)
    place = staticmethod(zeroclaw_placement.place_zeroclaw_path)
    exclusion = staticmethod(zeroclaw_placement.zeroclaw_exclusion_reason)
    share = staticmethod(zeroclaw_shared_files.share_of_zeroclaw_file)
    label = staticmethod(memory_comments.memory_label)
    render = staticmethod(zeroclaw_rendering.render_zeroclaw_files)

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / zeroclaw_folders.FOLDER / "agents" / name / "workspace"

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        workspace = CaptureRoot(zeroclaw_paths.RAW, installation.workspace)
        if installation.state_dir is None:
            return (workspace,)
        files = zeroclaw_placement.zeroclaw_home_files(installation)
        return (workspace, CaptureRoot(zeroclaw_paths.HOME, installation.state_dir, files))

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        name = zeroclaw_placement.in_workspace(path)
        return None if name is None else zeroclaw_notes.split_zeroclaw_note(name, text)

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        name, split = path.removeprefix(zeroclaw_paths.RAW), zeroclaw_notes.split_zeroclaw_note
        return note_joining.join_note(name, memories, native=True, split=split)

    def derivations(self) -> Sequence[Derivation]:
        return DERIVATIONS

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        head = persona_files.decode_document(state, archive_layout.MANIFEST)
        form = zeroclaw_config.get_nested_text(head, "adapter_hints", zeroclaw_paths.RUNTIME, "identity_format")
        return unsupported_fields.list_unsupported_fields(state, holds_numbers=form == aieos_documents.AIEOS)
