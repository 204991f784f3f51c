"""Aionforge Memory as a runtime: its data folder as files, its memories as rows from its server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_adapters.contract import (
    Adapter,
    AgentFiles,
    CaptureRoot,
    CredentialSupport,
    DatabaseSupport,
    Derivation,
    DerivationContext,
    DiscoveredAgent,
    Installation,
    MemorySection,
    PlacementSupport,
    RuntimeRow,
)
from lifeboat_adapters.errors import NotAWorkspace, RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge import core_blocks, data_dir, instance_rows, node_records, nodes, restore_to_instance
from lifeboat_formats.aionforge.aionforge_mapping import RUNTIME
from lifeboat_formats.aionforge.data_dir import CONFIG, KEYRING, LOG, RAW
from lifeboat_formats.aionforge.nodes import AionforgeNode

CORES = f"raw/{RUNTIME}-home/db/memory/core.jsonl"
"""Where an archive stores core blocks."""
_NAME = "Aionforge"
_AT_WORK = "Aionforge is running and uses its log; Lifeboat copies the log after Aionforge has stopped"


class AionforgeCredentials(CredentialSupport):
    """Secrets in the settings beside the log."""

    find = staticmethod(data_dir.find_file_secrets)


class AionforgeDatabases(DatabaseSupport):
    """Memories that are rows behind Aionforge's server."""

    memory_store = staticmethod(instance_rows.memory_rows)
    row_of = staticmethod(node_records.row_of_record)
    plan_server_write = staticmethod(restore_to_instance.plan_server_write)

    def files(self, installation: Installation) -> list[Path]:
        return [installation.workspace / LOG]

    def memory_of(self, installation: Installation, values: JsonObject) -> MemorySection:
        return node_records.section_from_node(values)

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        for node in instance_rows.read_core_blocks(installation):
            yield RuntimeRow(CORES, node.id, node_records.row_of_node(node))


class AionforgePlacement(PlacementSupport):
    """Makes any workspace the data directory of an instance."""

    def home_around(self, workspace: Path) -> Path | None:
        return workspace

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        return _installation_in(workspace)

    def running(self, installation: Installation) -> str:
        return _NAME if _is_at_work(installation) else ""


class AionforgeAdapter(Adapter):
    """Implementation of `contract.Adapter`. The workspace is the data folder."""

    runtime = RUNTIME
    splitter_version = 1
    home_names = (data_dir.HOME,)
    credentials = AionforgeCredentials()
    databases = AionforgeDatabases()
    placement = AionforgePlacement()
    place = staticmethod(data_dir.place_path)
    exclusion = staticmethod(data_dir.explain_exclusion)

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / data_dir.HOME

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        folder = Path(environment.get(data_dir.DATA_DIR) or user_home / data_dir.HOME).expanduser()
        if not self.recognises(folder):
            return []
        found = self.locate(folder, environment, user_home)
        return [DiscoveredAgent(self.runtime, found.native_id, found.name, folder, found.state_dir)]

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        if not self.recognises(workspace):
            raise NotAWorkspace(f"{workspace} contains no Aionforge log ({LOG})")
        return _installation_in(workspace)

    def recognises(self, workspace: Path) -> int:
        if data_dir.is_log(workspace / LOG):
            return 2
        return int((workspace / KEYRING).is_file())

    # Files: copied as they are while nothing is at work.

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        return [CaptureRoot(RAW, installation.workspace)]

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        if data_dir.is_part_of_store(path) and _is_at_work(installation):
            raise RuntimeDatabaseError(_AT_WORK)
        return data

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        return None

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        if state.entry(archive_layout.IDENTITY) is not None:
            reason = "Aionforge has no tool that writes core blocks (identity texts), so they stay in the archive"
            yield ItemFate("identity", archive_layout.IDENTITY, ItemOutcome.OMITTED, reason, "kept_in_archive")

    # Core blocks, as the identity.

    def derivations(self) -> Sequence[Derivation]:
        return [Derivation("identity", lambda path: path == CORES, _identity)]


def _installation_in(workspace: Path) -> Installation:
    config = workspace / CONFIG
    name = workspace.name.strip(".") or _NAME
    own = _NAME if name == data_dir.HOME.strip(".") else name
    return Installation(RUNTIME, workspace, name, own, state_dir=workspace, config=config if config.is_file() else None)


def _is_at_work(installation: Installation) -> bool:
    return data_dir.is_locked(installation.workspace / LOG)


def _identity(files: AgentFiles, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    data = files.read(CORES)
    if data is None:
        return previous
    return core_blocks.build_identity(list(_cores(data)), context.installation.name, previous)


def _cores(data: bytes) -> Iterator[AionforgeNode]:
    """Yield the core blocks in a table. Undecodable lines are skipped."""
    for line in data.splitlines():
        try:
            row = json_codec.decode_json(line)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(row, dict) and row.get("kind") == nodes.CORE:
            yield node_records.node_of_row(row)


ADAPTER = AionforgeAdapter()
