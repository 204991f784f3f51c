"""OpenClaw as an adapter: one door to what the modules of this package decide."""

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
    Placement,
    Rendered,
    Root,
    Row,
    Section,
)
from lifeboat_adapters.credentials import Delivery, ForeignCredential, Leftover, Need, Place, Secret, Translation
from lifeboat_adapters.notes import dress, joining, splitting
from lifeboat_adapters.openclaw import captured_rows, databases, discovery, host, paths, placement
from lifeboat_adapters.openclaw.credentials import leftovers, needs, profiles, secrets, sharing
from lifeboat_adapters.openclaw.hook import planning as hook
from lifeboat_adapters.openclaw.layers import hints, identity
from lifeboat_adapters.openclaw.restore import (
    cannot_hold,
    delivery,
    installing,
    next_steps,
    rendering,
    session_import,
    translating,
)
from lifeboat_adapters.persona import capabilities, principals
from lifeboat_adapters.receipts import Fate
from lifeboat_adapters.session_hooks import HookOrder, HookPlan
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason

DERIVATIONS = (identity.DERIVATION, principals.derivation(paths.RUNTIME, paths.RAW + paths.USER), *hints.DERIVATIONS)


class OpenClaw(BaseAdapter):
    """`contract.Adapter` for OpenClaw of February and of September 2026."""

    runtime = paths.RUNTIME
    splitter_version = splitting.VERSION
    home_names: tuple[str, ...] = host.FOLDERS

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[FoundAgent]:
        return discovery.discover(environment, user_home)

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
        home = Root(paths.HOME, installation.state_dir, placement.home_files(installation), placement.CAPS)
        return (workspace, home)

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return placement.place(path, is_folder=is_folder)

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return placement.exclusion(path, is_folder=is_folder)

    def split(self, path: str, text: str) -> list[Section] | None:
        name = paths.in_workspace(path)
        return None if name is None else splitting.split(name, text)

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return joining.join(path.removeprefix(paths.RAW), memories, native=True)

    def label(self, record_id: str) -> str:
        return dress.label(record_id)

    def secrets(self, path: str, data: bytes) -> list[Secret] | None:
        return secrets.find(path, data)

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        return sharing.share(installation, path, data)

    def matters(self, path: str, data: bytes) -> bytes | None:
        return profiles.matters(path, data)

    def learned(self, installation: Installation) -> Iterator[Secret]:
        return databases.learned(installation)

    def leftovers(self, installation: Installation) -> Iterator[Leftover]:
        return iter(()) if installation.state_dir is None else leftovers.named(installation.state_dir)

    def derivations(self) -> Sequence[Derivation]:
        return DERIVATIONS

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[Row]:
        return databases.rows(installation, transcripts=transcripts)

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        return captured_rows.problem(installation, path, data)

    def row_names(self, path: str, values: JsonObject) -> tuple[str, ...]:
        return captured_rows.names(path, values)

    def databases(self, installation: Installation) -> list[Path]:
        return databases.databases(installation)

    def render(self, state: Any) -> Iterator[Rendered]:
        return rendering.render(state)

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

    def is_store(self, path: str) -> bool:
        return delivery.is_store(path)

    def home_name(self, installation: Installation, path: str) -> str | None:
        return installing.home_name(installation, path)

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
        return installing.merge_home(installation, path, found, wanted, left_out, state, user_home, now)

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        return installing.secret_places(path, data, offsets)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> Translation:
        return translating.translate(installation, credentials, state)

    def deliveries(
        self, installation: Installation, files: Mapping[str, bytes], left_out: Mapping[Place, Reason], now: str
    ) -> list[Delivery]:
        return delivery.deliveries(installation, files, left_out, now)

    def not_arrived(self, installation: Installation, delivered: Delivery) -> Mapping[Place, Reason]:
        if any(session_import.is_of_sessions(path) for path, _ in delivered.places):
            return session_import.not_arrived(installation, delivered)
        return delivery.not_arrived(installation, delivered)

    def session_deliveries(self, installation: Installation, tables: Mapping[str, bytes]) -> list[Delivery]:
        return session_import.deliveries(installation, tables)

    def needs(self, files: Files, identity: JsonObject) -> list[Need]:
        return needs.needs(files, identity)

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        return capabilities.missing(identity)

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        return next_steps.next_steps(installation, state)

    def hook(self, installation: Installation, order: HookOrder) -> HookPlan:
        return hook.install(installation, order)

    def unhook(self, installation: Installation, order: HookOrder) -> HookPlan:
        return hook.remove(installation, order)

    def hook_problem(self, installation: Installation, order: HookOrder) -> str:
        return hook.problem(installation, order)

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[Fate]:
        return cannot_hold.cannot_hold(state)
