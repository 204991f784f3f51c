"""A folder of AICF files as an agent's workspace."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from lifeboat_adapters.contract import (
    Adapter,
    CaptureRoot,
    CredentialSupport,
    Derivation,
    DiscoveredAgent,
    Installation,
    MemorySection,
)
from lifeboat_formats.aicf import aicf_mapping, aicf_workspace
from lifeboat_formats.aicf.output import file_patching, file_writing, purge_spans, workspace_rendering
from lifeboat_formats.aicf.records import file_memories, identity_layers
from lifeboat_formats.interchange.errors import SourceRefused


class AicfCredentials(CredentialSupport):
    """Secrets in settings beside the AICF files."""

    find = staticmethod(aicf_workspace.find_file_secrets)


class AicfAdapter(Adapter):
    """Implementation of `contract.Adapter`. Files are kept byte for byte; a memory that was changed
    elsewhere changes its own span only."""

    runtime = aicf_mapping.RUNTIME
    splitter_version = 1
    home_names = (aicf_workspace.HOME,)
    credentials = AicfCredentials()
    recognises = staticmethod(aicf_workspace.score_workspace)
    place = staticmethod(aicf_workspace.place_path)
    exclusion = staticmethod(aicf_workspace.explain_exclusion)
    render = staticmethod(workspace_rendering.render_workspace)

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        return list(aicf_workspace.discover_agents(environment, user_home))

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / aicf_workspace.HOME

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        return aicf_workspace.locate_installation(workspace)

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        return [CaptureRoot(aicf_mapping.RAW, installation.workspace)]

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        name = aicf_workspace.workspace_name_of(path)
        if name is None or not aicf_workspace.is_readable(name):
            return None
        try:
            return file_memories.split_capture_sections(text, name)
        except SourceRefused:
            return None

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return file_writing.compose_plain_file(memories)

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        return file_patching.rejoin_file(text, record_ids, dict(memories))

    def pieces(self, path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
        name = aicf_workspace.workspace_name_of(path)
        if name is None or not aicf_workspace.is_readable(name):
            return []
        return purge_spans.find_purged_spans(text, name, record_ids, gone)

    def derivations(self) -> Sequence[Derivation]:
        return identity_layers.DERIVATIONS


ADAPTER = AicfAdapter()
"""The adapter of AICF folders."""
