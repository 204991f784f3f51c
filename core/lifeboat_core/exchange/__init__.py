"""Agents as files: a complete read of a workspace written as an archive, an archive written into a workspace."""

from __future__ import annotations

from lifeboat_core.exchange.encrypted import Archive, Encryption, new_archive, opened
from lifeboat_core.exchange.exporting import ExportReport, export, workspace_as_sequence
from lifeboat_core.exchange.importing import ImportReport, import_

__all__ = [
    "Archive",
    "Encryption",
    "ExportReport",
    "ImportReport",
    "export",
    "import_",
    "new_archive",
    "opened",
    "workspace_as_sequence",
]
