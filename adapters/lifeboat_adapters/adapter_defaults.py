"""What an adapter need not say: the answers of a runtime without databases, credentials of its own or other extras."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import (
    AgentFiles,
    Installation,
    MemorySection,
    MergedHomeFile,
    NextStep,
    RenderedFile,
    RuntimeRow,
    UnusedDataOffer,
)
from lifeboat_adapters.credential_types import (
    CredentialDelivery,
    CredentialNeed,
    CredentialRefusal,
    EncryptionKeyFile,
    FileSecret,
    ForeignCredential,
    LeftoverSecretFile,
    Place,
    ReencryptedFile,
    TranslatedCredentials,
)
from lifeboat_adapters.errors import HookUnavailable, RuntimeConfigError, RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryStore, ServerWrite, WriteOrder
from lifeboat_adapters.session_hook_plan import HookOrder, HookPlan
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason


class AdapterDefaults:
    """`contract.Adapter` but for what every runtime has to answer itself: runtime, splitter_version, discover, locate,
    recognises, roots, place, exclusion, split, join, derivations, render."""

    home_names: tuple[str, ...] = ()

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        return None

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / self.home_names[0] / "workspace" if self.home_names else user_home / name

    def label(self, record_id: str) -> str:
        return record_id

    def secrets(self, path: str, data: bytes) -> list[FileSecret] | None:
        return None

    def opened(self, installation: Installation, secrets: list[FileSecret]) -> list[FileSecret]:
        return secrets

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        return data

    def matters(self, path: str, data: bytes) -> bytes | None:
        return None

    def learned(self, installation: Installation) -> Iterator[FileSecret]:
        return iter(())

    def leftovers(self, installation: Installation) -> Iterator[LeftoverSecretFile]:
        return iter(())

    def offers(self, installation: Installation) -> Iterator[UnusedDataOffer]:
        return iter(())

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        return iter(())

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        return ""

    def row_names(self, path: str, values: JsonObject) -> tuple[str, ...]:
        return (str(next(iter(values.values()), "")),)

    def databases(self, installation: Installation) -> list[Path]:
        return []

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        return None

    def memory_of(self, installation: Installation, values: JsonObject) -> MemorySection:
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
    ) -> MergedHomeFile | None:
        return None

    def key_file(self, installation: Installation) -> EncryptionKeyFile | None:
        return None

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
        return ReencryptedFile(data)

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        return [()] * len(offsets)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> TranslatedCredentials:
        reason = Reason(CredentialRefusal.NO_PLACE, runtime=installation.runtime)
        return TranslatedCredentials({}, {}, {each.id: reason for each in credentials})

    def deliveries(
        self, installation: Installation, files: Mapping[str, bytes], left_out: Mapping[Place, Reason], now: str
    ) -> list[CredentialDelivery]:
        return []

    def session_deliveries(self, installation: Installation, tables: Mapping[str, bytes]) -> list[CredentialDelivery]:
        return []

    def not_arrived(self, installation: Installation, delivered: CredentialDelivery) -> Mapping[Place, Reason]:
        return {}

    def needs(self, files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
        return []

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        return []

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        return []

    def hook(self, installation: Installation, order: HookOrder) -> HookPlan:
        raise HookUnavailable(f"{installation.runtime} does not tell when a session ends")

    def unhook(self, installation: Installation, order: HookOrder) -> HookPlan:
        return HookPlan()

    def hook_problem(self, installation: Installation, order: HookOrder) -> str:
        raise HookUnavailable(f"{installation.runtime} does not tell when a session ends")

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        return iter(())

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return "".join(text for _, text in memories)

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        return None

    def pieces(self, path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
        return []

    def render(self, state: Any) -> Iterator[RenderedFile]:
        return iter(())
