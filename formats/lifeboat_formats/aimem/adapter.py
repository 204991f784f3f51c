"""A folder of AIMEM bundles as an agent's workspace: every `.aimem.json` and `.aimem.ndjson` file in it holds memories.

Such a folder belongs to no runtime: it has no configuration, no credentials and no databases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import (
    Adapter,
    AgentFiles,
    CaptureRoot,
    CredentialSupport,
    Derivation,
    DerivationContext,
    DiscoveredAgent,
    Installation,
    Placement,
    PlacementSupport,
)
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_adapters.exclusion_rules import VERSION_CONTROL, is_version_control
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aimem import aimem_mapping, bundle_losses, bundle_purge, bundle_workspace
from lifeboat_formats.aimem.wire import strict_json
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused

FOLDER = "AIMEM_FOLDER"
"""The environment variable that names a folder of bundles."""
_PARTS = (".part", ".tmp")


class AimemCredentials(CredentialSupport):
    """A bundle names no credentials. A bundle that does not parse raises, so that capture keeps its last version."""

    def find(self, path: str, data: bytes) -> list[FileSecret] | None:
        if not _is_read(path):
            return None
        lines = data.splitlines() if path.lower().endswith(".ndjson") else [data]
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    strict_json.parse_json(line, where=f"line {number}")
        except BundleRefused as error:
            raise UnparsableSecrets(f"the file is not a complete AIMEM bundle: {error.message}") from error
        return []


class AimemPlacement(PlacementSupport):
    """Puts an agent into any folder."""

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        name = workspace.name or bundle_workspace.RUNTIME
        return Installation(bundle_workspace.RUNTIME, workspace, name, name)


class AimemAdapter(Adapter):
    """Implementation of `contract.Adapter` for folders of bundles."""

    runtime = bundle_workspace.RUNTIME
    splitter_version = 1
    credentials = AimemCredentials()
    placement = AimemPlacement()
    split = staticmethod(bundle_workspace.split_sections)
    join = staticmethod(bundle_workspace.join_memories)
    pieces = staticmethod(bundle_purge.find_purged_spans)
    render = staticmethod(bundle_workspace.render_bundles)

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        folder = Path(environment[FOLDER]) if environment.get(FOLDER) else None
        if folder is None or not self.recognises(folder):
            return []
        found = self.locate(folder, environment, user_home)
        return [DiscoveredAgent(self.runtime, found.native_id, found.name, folder, None)]

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / self.runtime / name

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        if not self.recognises(workspace):
            raise NotAWorkspace(f"{workspace} contains no .aimem.json or .aimem.ndjson file")
        name = workspace.resolve().name or self.runtime
        return Installation(self.runtime, workspace, name, name)

    def recognises(self, workspace: Path) -> int:
        return 1 if _has_bundle(workspace) else 0

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        return [CaptureRoot(bundle_workspace.RAW, installation.workspace)]

    def place(self, path: str, *, is_folder: bool) -> Placement:
        if self.exclusion(path, is_folder=is_folder):
            return Placement.EXCLUDED
        is_own = path.lower().endswith((".json", ".ndjson", ".sig"))
        return Placement.MANAGED if is_own or is_folder else Placement.ARTIFACT

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        if any(map(is_version_control, path.split("/"))):
            return VERSION_CONTROL
        return "a program is still writing this file" if path.lower().endswith(_PARTS) and not is_folder else None

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        return bundle_purge.mend_bundle(path, text, memories)

    def derivations(self) -> Sequence[Derivation]:
        return [Derivation("identity", _is_read, _identity)]

    def cannot_hold(self, installation: Installation, state: State) -> Iterator[ItemFate]:
        return bundle_losses.list_bundle_losses(state)


def _has_bundle(folder: Path) -> bool:
    """Return whether a folder directly contains a file with the name of a bundle."""
    try:
        return folder.is_dir() and any(bundle_workspace.is_bundle(each.name) for each in folder.iterdir())
    except OSError:
        return False


def _is_read(path: str) -> bool:
    return path.startswith(bundle_workspace.RAW) and bundle_workspace.is_bundle(path)


def _identity(files: AgentFiles, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """Derive the identity. A bundle knows only the agent's name, so an earlier identity is kept."""
    if previous is not None:
        return previous
    paths = [path for path in files.paths(bundle_workspace.RAW) if _is_read(path)]
    if not paths:
        return None
    said = (bundle_workspace.agent_name(files.read(path) or b"") for path in paths)
    name = next((each for each in said if each), context.installation.name)
    return {
        "structured": {"names": {"primary": name}},
        "prose": {},
        "source_format": aimem_mapping.NAME.removeprefix("x_"),
    }


ADAPTER = AimemAdapter()
