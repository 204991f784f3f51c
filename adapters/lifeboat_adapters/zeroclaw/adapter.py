"""ZeroClaw as an adapter: one door to what the modules of this package decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.base import BaseAdapter
from lifeboat_adapters.contract import (
    Derivation,
    Files,
    FoundAgent,
    Installation,
    Merged,
    NextStep,
    Offer,
    Placement,
    Rendered,
    Root,
    Row,
    Section,
)
from lifeboat_adapters.credentials import ForeignCredential, KeyFile, Leftover, Need, Recrypted, Secret, Translation
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryStore, ServerWrite, WriteOrder
from lifeboat_adapters.notes import dress, joining
from lifeboat_adapters.persona import capabilities
from lifeboat_adapters.receipts import Fate
from lifeboat_adapters.zeroclaw import discovery, host, paths, placement, remote, rendering, running
from lifeboat_adapters.zeroclaw.credentials import leftovers, needs, secrets, sharing
from lifeboat_adapters.zeroclaw.databases import brain, left_behind, tables
from lifeboat_adapters.zeroclaw.layers import derivations
from lifeboat_adapters.zeroclaw.memories import notes, rows
from lifeboat_adapters.zeroclaw.restore import (
    cannot_hold,
    config_merging,
    installing,
    next_steps,
    recrypting,
    server_writing,
    translating,
    writing,
)
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason


class ZeroClaw(BaseAdapter):
    """`contract.Adapter` for ZeroClaw, from its first release on."""

    runtime = paths.RUNTIME
    splitter_version = notes.VERSION
    home_names: tuple[str, ...] = (host.FOLDER,)

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[FoundAgent]:
        return discovery.discover(environment, user_home)

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / host.FOLDER / "agents" / name / "workspace"

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        return host.program(environment)

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        return discovery.locate(workspace, environment, user_home)

    def recognises(self, workspace: Path) -> int:
        return discovery.recognises(workspace)

    def roots(self, installation: Installation) -> Sequence[Root]:
        workspace = Root(paths.RAW, installation.workspace)
        if installation.state_dir is None:
            return (workspace,)
        return (workspace, Root(paths.HOME, installation.state_dir, placement.home_files(installation)))

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return placement.place(path, is_folder=is_folder)

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return placement.exclusion(path, is_folder=is_folder)

    def split(self, path: str, text: str) -> list[Section] | None:
        name = placement.in_workspace(path)
        return None if name is None else notes.split(name, text)

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return joining.join(path.removeprefix(paths.RAW), memories, native=True, split=notes.split)

    def label(self, record_id: str) -> str:
        return dress.label(record_id)

    def secrets(self, path: str, data: bytes) -> list[Secret] | None:
        return secrets.find(path, data)

    def opened(self, installation: Installation, found: list[Secret]) -> list[Secret]:
        return secrets.opened(installation, found)

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        return sharing.share(installation, path, data)

    def learned(self, installation: Installation) -> Iterator[Secret]:
        return leftovers.learned(installation)

    def leftovers(self, installation: Installation) -> Iterator[Leftover]:
        return leftovers.named(installation)

    def offers(self, installation: Installation) -> Iterator[Offer]:
        return left_behind.offers(installation)

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[Row]:
        return tables.rows(installation, transcripts=transcripts, cron=cron)

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        return tables.problem(installation, path, data)

    def databases(self, installation: Installation) -> list[Path]:
        return [*tables.sources(installation).files(), *leftovers.files(installation)]

    def is_configured(self, installation: Installation) -> bool:
        return host.is_configured(installation)

    def running(self, installation: Installation) -> str:
        return running.running(installation)

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        if host.backend(installation) in remote.TITLES:
            return remote.store(installation)
        return brain.memory_store(installation)

    def memory_of(self, installation: Installation, values: JsonObject) -> Section:
        return rows.memory_of(values)

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        return rows.row_of(record, root_id)

    def derivations(self) -> Sequence[Derivation]:
        return derivations.DERIVATIONS

    def render(self, state: Any) -> Iterator[Rendered]:
        return rendering.render(state)

    def home_around(self, workspace: Path) -> Path | None:
        return installing.home_around(workspace)

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        return installing.install_into(state_dir, workspace, state, environment, user_home, version)

    def write_databases(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return writing.write_databases(installation, order)

    def write_server(self, installation: Installation, order: WriteOrder) -> ServerWrite | None:
        return server_writing.plan(installation, order)

    def home_name(self, installation: Installation, path: str) -> str | None:
        return installing.home_name(installation, path)

    def key_file(self, installation: Installation) -> KeyFile | None:
        return recrypting.key_file(installation)

    def recrypted(
        self,
        installation: Installation,
        path: str,
        data: bytes,
        values: Mapping[tuple[str | int, ...], str],
        key: KeyFile | None,
        *,
        translated: bool = False,
    ) -> Recrypted:
        return recrypting.recrypted(installation, path, data, values, key, translated=translated)

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
    ) -> Merged | None:
        return config_merging.merge_home(installation, path, found, wanted, left_out, state, user_home, now)

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        return config_merging.secret_places(path, data, offsets)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> Translation:
        return translating.translate(installation, credentials, state)

    def needs(self, files: Files, identity: JsonObject) -> list[Need]:
        return needs.needs(files, identity)

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        return capabilities.missing(identity)

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        return next_steps.next_steps(installation, state)

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[Fate]:
        return cannot_hold.cannot_hold(installation, state)
