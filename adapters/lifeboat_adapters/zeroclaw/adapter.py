"""ZeroClaw as an adapter: one door to what the modules of this package decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.base import BaseAdapter
from lifeboat_adapters.contract import Derivation, FoundAgent, Installation, Offer, Placement, Root, Row, Section
from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_adapters.notes import dress, joining
from lifeboat_adapters.zeroclaw import discovery, paths, placement, running
from lifeboat_adapters.zeroclaw.databases import brain, left_behind, tables
from lifeboat_adapters.zeroclaw.memories import notes, rows

JsonObject = dict[str, Any]

DERIVATIONS: tuple[Derivation, ...] = ()


class ZeroClaw(BaseAdapter):
    """`contract.Adapter` for ZeroClaw, from its first release on."""

    runtime = paths.RUNTIME
    splitter_version = notes.VERSION

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[FoundAgent]:
        return discovery.discover(environment, user_home)

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

    def offers(self, installation: Installation) -> Iterator[Offer]:
        return left_behind.offers(installation)

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[Row]:
        return tables.rows(installation, transcripts=transcripts, cron=cron)

    def databases(self, installation: Installation) -> list[Path]:
        return tables.sources(installation).files()

    def running(self, installation: Installation) -> str:
        return running.running(installation)

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        return brain.memory_store(installation)

    def memory_of(self, installation: Installation, values: JsonObject) -> Section:
        return rows.memory_of(values)

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        return rows.row_of(record, root_id)

    def derivations(self) -> Sequence[Derivation]:
        return DERIVATIONS
