"""OpenClaw as an adapter: one door to what the modules of this package decide."""

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
)
from lifeboat_adapters.credential_types import (
    CredentialDelivery,
    CredentialNeed,
    FileSecret,
    ForeignCredential,
    LeftoverSecretFile,
    Place,
    TranslatedCredentials,
)
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.notes import memory_comments, note_joining, note_splitting
from lifeboat_adapters.openclaw import (
    captured_rows,
    openclaw_databases,
    openclaw_discovery,
    openclaw_folders,
    openclaw_paths,
    openclaw_placement,
)
from lifeboat_adapters.openclaw.credentials import (
    openclaw_auth_profiles,
    openclaw_credential_needs,
    openclaw_leftovers,
    openclaw_secrets,
    openclaw_shared_files,
)
from lifeboat_adapters.openclaw.hook import hook_planning as hook
from lifeboat_adapters.openclaw.layers import openclaw_hints, openclaw_identity
from lifeboat_adapters.openclaw.restore import (
    credential_delivery,
    openclaw_installation,
    openclaw_next_steps,
    openclaw_rendering,
    session_import,
    translate_for_openclaw,
    unsupported_by_openclaw,
)
from lifeboat_adapters.persona import capabilities, persona_principals
from lifeboat_adapters.session_hook_plan import HookOrder, HookPlan
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

DERIVATIONS = (
    openclaw_identity.DERIVATION,
    persona_principals.make_principals_derivation(openclaw_paths.RUNTIME, openclaw_paths.RAW + openclaw_paths.USER),
    *openclaw_hints.DERIVATIONS,
)


class OpenClaw(AdapterDefaults):
    """`contract.Adapter` for OpenClaw of February and of September 2026."""

    runtime = openclaw_paths.RUNTIME
    splitter_version = note_splitting.VERSION
    home_names: tuple[str, ...] = openclaw_folders.FOLDERS

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        return openclaw_discovery.discover_openclaw_agents(environment, user_home)

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        return openclaw_folders.find_openclaw_program(environment)

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        return openclaw_discovery.locate_openclaw(workspace, environment, user_home)

    def recognises(self, workspace: Path) -> int:
        return openclaw_discovery.rate_openclaw_workspace(workspace)

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        workspace = CaptureRoot(openclaw_paths.RAW, installation.workspace)
        if installation.state_dir is None:
            return (workspace,)
        home = CaptureRoot(
            openclaw_paths.HOME,
            installation.state_dir,
            openclaw_placement.openclaw_home_files(installation),
            openclaw_placement.CAPS,
        )
        return (workspace, home)

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return openclaw_placement.place_openclaw_path(path, is_folder=is_folder)

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return openclaw_placement.openclaw_exclusion_reason(path, is_folder=is_folder)

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        name = openclaw_paths.in_workspace(path)
        return None if name is None else note_splitting.split_note(name, text)

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return note_joining.join_note(path.removeprefix(openclaw_paths.RAW), memories, native=True)

    def label(self, record_id: str) -> str:
        return memory_comments.memory_label(record_id)

    def secrets(self, path: str, data: bytes) -> list[FileSecret] | None:
        return openclaw_secrets.find_openclaw_secrets(path, data)

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        return openclaw_shared_files.share_of_openclaw_file(installation, path, data)

    def matters(self, path: str, data: bytes) -> bytes | None:
        return openclaw_auth_profiles.without_use_statistics(path, data)

    def learned(self, installation: Installation) -> Iterator[FileSecret]:
        return openclaw_databases.secrets_in_openclaw_databases(installation)

    def leftovers(self, installation: Installation) -> Iterator[LeftoverSecretFile]:
        return (
            iter(())
            if installation.state_dir is None
            else openclaw_leftovers.find_openclaw_leftovers(installation.state_dir)
        )

    def derivations(self) -> Sequence[Derivation]:
        return DERIVATIONS

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        return openclaw_databases.read_openclaw_rows(installation, transcripts=transcripts)

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        return captured_rows.find_row_source_problem(installation, path, data)

    def row_names(self, path: str, values: JsonObject) -> tuple[str, ...]:
        return captured_rows.openclaw_row_names(path, values)

    def databases(self, installation: Installation) -> list[Path]:
        return openclaw_databases.list_openclaw_databases(installation)

    def render(self, state: Any) -> Iterator[RenderedFile]:
        return openclaw_rendering.render_openclaw_files(state)

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        return openclaw_installation.openclaw_install_into(state_dir, workspace, state, environment, user_home, version)

    def is_store(self, path: str) -> bool:
        return credential_delivery.is_credential_store(path)

    def home_name(self, installation: Installation, path: str) -> str | None:
        return openclaw_installation.openclaw_home_name(installation, path)

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
        return openclaw_installation.merge_openclaw_file(
            installation, path, found, wanted, left_out, state, user_home, now
        )

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        return openclaw_installation.openclaw_secret_places(path, data, offsets)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> TranslatedCredentials:
        return translate_for_openclaw.translate_for_openclaw_config(installation, credentials, state)

    def deliveries(
        self, installation: Installation, files: Mapping[str, bytes], left_out: Mapping[Place, Reason], now: str
    ) -> list[CredentialDelivery]:
        return credential_delivery.plan_credential_deliveries(installation, files, left_out, now)

    def not_arrived(self, installation: Installation, delivered: CredentialDelivery) -> Mapping[Place, Reason]:
        if any(session_import.holds_sessions(path) for path, _ in delivered.places):
            return session_import.find_undelivered_sessions(installation, delivered)
        return credential_delivery.find_undelivered_credentials(installation, delivered)

    def session_deliveries(self, installation: Installation, tables: Mapping[str, bytes]) -> list[CredentialDelivery]:
        return session_import.plan_session_deliveries(installation, tables)

    def needs(self, files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
        return openclaw_credential_needs.openclaw_credential_needs_of(files, identity)

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        return capabilities.find_missing_capabilities(identity)

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        return openclaw_next_steps.list_openclaw_next_steps(installation, state)

    def hook(self, installation: Installation, order: HookOrder) -> HookPlan:
        return hook.plan_hook_install(installation, order)

    def unhook(self, installation: Installation, order: HookOrder) -> HookPlan:
        return hook.plan_hook_removal(installation, order)

    def hook_problem(self, installation: Installation, order: HookOrder) -> str:
        return hook.find_hook_problem(installation, order)

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        return unsupported_by_openclaw.list_unsupported_by_openclaw(state)
