"""What an adapter need not say: the answers of a runtime without databases, credentials of its own or other extras."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Files, Installation, Merged, NextStep, Offer, Rendered, Row, Section
from lifeboat_adapters.credentials import (
    Delivery,
    ForeignCredential,
    KeyFile,
    Leftover,
    Need,
    Place,
    Recrypted,
    Secret,
    StaysOut,
    Translation,
)
from lifeboat_adapters.errors import NoHook, RuntimeConfigError, RuntimeDatabaseError
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryStore, ServerWrite, WriteOrder
from lifeboat_adapters.receipts import Fate
from lifeboat_adapters.session_hooks import HookOrder, HookPlan
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason


class BaseAdapter:
    """`contract.Adapter` but for what every runtime has to answer itself: runtime, splitter_version, discover, locate,
    recognises, roots, place, exclusion, split, join, derivations, render."""

    home_names: tuple[str, ...] = ()

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        return None

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / self.home_names[0] / "workspace" if self.home_names else user_home / name

    def label(self, record_id: str) -> str:
        return record_id

    def secrets(self, path: str, data: bytes) -> list[Secret] | None:
        return None

    def opened(self, installation: Installation, secrets: list[Secret]) -> list[Secret]:
        return secrets

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        return data

    def matters(self, path: str, data: bytes) -> bytes | None:
        return None

    def learned(self, installation: Installation) -> Iterator[Secret]:
        return iter(())

    def leftovers(self, installation: Installation) -> Iterator[Leftover]:
        return iter(())

    def offers(self, installation: Installation) -> Iterator[Offer]:
        return iter(())

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[Row]:
        return iter(())

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        return ""

    def row_names(self, path: str, values: JsonObject) -> tuple[str, ...]:
        return (str(next(iter(values.values()), "")),)

    def databases(self, installation: Installation) -> list[Path]:
        return []

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        return None

    def memory_of(self, installation: Installation, values: JsonObject) -> Section:
        raise RuntimeDatabaseError(f"{installation.runtime} keeps no memories as rows")

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        raise RuntimeDatabaseError("this runtime keeps no memories as rows")

    def home_around(self, workspace: Path) -> Path | None:
        return None

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        raise RuntimeConfigError(f"{workspace} has no folder of its runtime's own")

    def is_configured(self, installation: Installation) -> bool:
        return True

    def running(self, installation: Installation) -> str:
        return ""

    def write_databases(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return []

    def write_server(self, installation: Installation, order: WriteOrder) -> ServerWrite | None:
        return None

    def is_store(self, path: str) -> bool:
        return False

    def home_name(self, installation: Installation, path: str) -> str | None:
        return None

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
        return None

    def key_file(self, installation: Installation) -> KeyFile | None:
        return None

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
        return Recrypted(data)

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        return [()] * len(offsets)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> Translation:
        reason = Reason(StaysOut.NO_PLACE, runtime=installation.runtime)
        return Translation({}, {}, {each.id: reason for each in credentials})

    def deliveries(
        self, installation: Installation, files: Mapping[str, bytes], left_out: Mapping[Place, Reason], now: str
    ) -> list[Delivery]:
        return []

    def session_deliveries(self, installation: Installation, tables: Mapping[str, bytes]) -> list[Delivery]:
        return []

    def not_arrived(self, installation: Installation, delivered: Delivery) -> Mapping[Place, Reason]:
        return {}

    def needs(self, files: Files, identity: JsonObject) -> list[Need]:
        return []

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        return []

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        return []

    def hook(self, installation: Installation, order: HookOrder) -> HookPlan:
        raise NoHook(f"{installation.runtime} does not tell when a session ends")

    def unhook(self, installation: Installation, order: HookOrder) -> HookPlan:
        return HookPlan()

    def hook_problem(self, installation: Installation, order: HookOrder) -> str:
        raise NoHook(f"{installation.runtime} does not tell when a session ends")

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[Fate]:
        return iter(())

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return "".join(text for _, text in memories)

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        return None

    def pieces(self, path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
        return []

    def render(self, state: Any) -> Iterator[Rendered]:
        return iter(())
