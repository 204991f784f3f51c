"""Remove words from the receipts of restores, which have names, warnings and next steps. Their counts stay."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import paths_in

FOLDER = "receipts"
KEPT = frozenset(
    {
        "adopted",
        "agent",
        "captured",
        "credentials",
        "files",
        "in_place",
        "kind",
        "name",
        "objects",
        "outcomes",
        "receipt",
        "records",
        "recovered",
        "runtime",
        "safety",
        "sequence",
        "signature",
        "time",
        "to",
        "undo",
    }
)
"""Ids, counts, numbers, times and folders. All other fields may have text of the agent."""


def blank_restore_receipts(context: Context, agent_id: str) -> int:
    """Remove the words from an agent's receipts; return how many changed. Raises OSError."""
    return sum(_emptied(context, path, agent_id) for path in list_restore_receipts(context))


def list_restore_receipts(context: Context) -> list[Path]:
    """Return all receipts of restores in this home. Raises OSError."""
    return paths_in(context.files, context.home.restore_folder / FOLDER, ".json")


def _emptied(context: Context, path: Path, agent_id: str) -> bool:
    try:
        document = json_codec.decode_json(read_all(context.files, path))
    except (FileNotFoundError, msgspec.DecodeError):
        return False
    if not isinstance(document, dict) or document.get("agent") != agent_id:
        return False
    made = {name: value if name in KEPT else _nothing(value) for name, value in document.items()}
    if made == document:
        return False
    write_atomic(context.files, path, json_codec.encode_pretty(made))
    return True


def _nothing(value: object) -> object:
    """Return an empty value of the same kind."""
    if isinstance(value, list | dict | str):
        return type(value)()
    return value
