"""Files, memories and rows of an agent that are missing or have gaps because a restore did not write them whole: their
credentials were not restored, or only the runtime's own commands write them.

Their absence is no deletion: they stay in the newest state until they exist again, and are ordinary files and rows from
then on. A file with gaps keeps its credentials in the newest state until the gaps are gone.
"""

from __future__ import annotations

from collections.abc import Collection

from lifeboat_adapters.contract import Adapter
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_vault.vault import Vault

_DECISION, _GAPS = "withheld", "gaps"
_ROWS = ".jsonl"


def list_withheld_paths(vault: Vault) -> frozenset[str]:
    """Return archive paths."""
    return frozenset(name for name in _names(vault) if name.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)))


def make_row_name(path: str, name: str) -> str:
    """Return the name under which a row of the runtime's databases is noted: the archive path of its file and its
    identity."""
    return f"{path}#{name}"


def list_row_names(adapter: Adapter, path: str, values: JsonObject) -> tuple[str, ...]:
    """Return what identifies a row in its file: the names by which the runtime knows it, or its first value for an
    adapter without databases."""
    databases = adapter.databases
    return (str(next(iter(values.values()), "")),) if databases is None else databases.row_names(path, values)


def list_withheld_rows(vault: Vault, prefix: str) -> dict[str, frozenset[str]]:
    """Return the names of rows by the archive path of their file, below a prefix."""
    found: dict[str, set[str]] = {}
    for path, mark, name in (each.partition(f"{_ROWS}#") for each in _names(vault) if each.startswith(prefix)):
        if mark:
            found.setdefault(path + _ROWS, set()).add(name)
    return {path: frozenset(names) for path, names in found.items()}


def list_withheld_records(vault: Vault) -> frozenset[str]:
    """Return the ids of records that a database should have as rows."""
    return frozenset(_names(vault)) - list_withheld_paths(vault)


def note_withheld(vault: Vault, left_out: Collection[str]) -> None:
    """Note what a restore left out: archive paths, ids of records, and rows (see `make_row_name`)."""
    if left_out:
        _keep(vault, {*_names(vault), *left_out})


def forget_items_that_exist(vault: Vault, present: Collection[str]) -> None:
    """Remove the notes on items that exist."""
    _keep(vault, set(_names(vault)).difference(present))


def forget_rows(vault: Vault) -> None:
    """Remove the notes on all rows: the user accepts the databases as they are."""
    _keep(vault, [name for name in _names(vault) if f"{_ROWS}#" not in name])


def _names(vault: Vault) -> list[str]:
    return list(vault.get(_DECISION) or ())


def _keep(vault: Vault, wanted: Collection[str]) -> None:
    vault.set(_DECISION, sorted(wanted) or None, kind=_DECISION)


def load_gap_paths(vault: Vault) -> frozenset[str]:
    """Return the archive paths of files with placeholders in the place of credentials."""
    return frozenset(vault.get(_GAPS) or ())


def note_gaps(vault: Vault, wanted: Collection[str]) -> None:
    """Note which files have gaps now."""
    if load_gap_paths(vault) != frozenset(wanted):
        vault.set(_GAPS, sorted(wanted) or None, kind=_GAPS)


def list_paths_without_credentials(vault: Vault) -> frozenset[str]:
    """Return the archive paths of files that have gaps, or that a restore did not write because their credentials were
    missing."""
    return load_gap_paths(vault) | {path for path in list_withheld_paths(vault) if "/db/" not in path}
