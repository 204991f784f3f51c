"""Exchange agents as files: export a workspace as an archive, import an archive into a workspace, convert other
formats."""

from __future__ import annotations

from lifeboat_core.exchange.agent_export import ExportReport, export_agent, read_workspace_as_sequence
from lifeboat_core.exchange.agent_import import ImportReport, import_archive
from lifeboat_core.exchange.encrypted_archives import Archive, ArchiveEncryption, create_archive, open_archive

__all__ = [
    "Archive",
    "ArchiveEncryption",
    "ExportReport",
    "ImportReport",
    "create_archive",
    "export_agent",
    "import_archive",
    "open_archive",
    "read_workspace_as_sequence",
]
