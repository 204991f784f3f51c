"""Agents as files: a complete read of a workspace written as an archive, an archive written into a workspace."""

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
