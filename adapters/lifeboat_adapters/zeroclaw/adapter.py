"""ZeroClaw as an adapter: one door to what the modules of this package decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.base import BaseAdapter
from lifeboat_adapters.contract import Derivation, FoundAgent, Installation, Placement, Root, Section
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_adapters.zeroclaw import paths
from lifeboat_adapters.zeroclaw.databases import brain
from lifeboat_adapters.zeroclaw.memories import rows

JsonObject = dict[str, Any]

DERIVATIONS: tuple[Derivation, ...] = ()


class ZeroClaw(BaseAdapter):
    """`contract.Adapter` for ZeroClaw, from its first release on."""

    runtime = paths.RUNTIME
    splitter_version = 1

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[FoundAgent]:
        return []

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        raise NotAWorkspace(f"{workspace} holds no files of a ZeroClaw agent")

    def recognises(self, workspace: Path) -> int:
        return 0

    def roots(self, installation: Installation) -> Sequence[Root]:
        return (Root(paths.RAW, installation.workspace),)

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return Placement.MANAGED

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return None

    def split(self, path: str, text: str) -> list[Section] | None:
        return None

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        return brain.memory_store(installation)

    def memory_of(self, installation: Installation, values: JsonObject) -> Section:
        return rows.memory_of(values)

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        return rows.row_of(record, root_id)

    def derivations(self) -> Sequence[Derivation]:
        return DERIVATIONS
