"""Agents as files: a complete read of a workspace written as an archive, an archive written into a workspace."""

from __future__ import annotations

from lifeboat_daemon.exchange.exporting import ExportReport, export, workspace_as_sequence
from lifeboat_daemon.exchange.importing import ImportReport, import_
from lifeboat_daemon.exchange.new_file import new_file

__all__ = ["ExportReport", "ImportReport", "export", "import_", "new_file", "workspace_as_sequence"]
