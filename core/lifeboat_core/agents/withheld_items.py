"""Files, memories and rows of an agent that are not there, or have gaps, because a restore did not write them whole:
their credentials were not put back, or only the runtime's own commands write them.

That they are missing is no deletion: they stay in the newest state until they are there again, and from then on they
are files and rows like others. A file with gaps keeps its credentials in the newest state until the gaps are gone.
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
    """Archive paths."""
    return frozenset(name for name in _names(vault) if name.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)))


def make_row_name(path: str, name: str) -> str:
    """What a row of the runtime's databases is noted as, by the archive path of its file and what tells it there."""
    return f"{path}#{name}"


def list_row_names(adapter: Adapter, path: str, values: JsonObject) -> tuple[str, ...]:
    """Return what identifies a row in its file: its names for the runtime, its first value without databases."""
    databases = adapter.databases
    return (str(next(iter(values.values()), "")),) if databases is None else databases.row_names(path, values)


def list_withheld_rows(vault: Vault, prefix: str) -> dict[str, frozenset[str]]:
    """Names of rows by the archive path of their file, below a prefix."""
    found: dict[str, set[str]] = {}
    for path, mark, name in (each.partition(f"{_ROWS}#") for each in _names(vault) if each.startswith(prefix)):
        if mark:
            found.setdefault(path + _ROWS, set()).add(name)
    return {path: frozenset(names) for path, names in found.items()}


def list_withheld_records(vault: Vault) -> frozenset[str]:
    """Ids of records that a database should hold as rows."""
    return frozenset(_names(vault)) - list_withheld_paths(vault)


def note_withheld(vault: Vault, left_out: Collection[str]) -> None:
    """Note what a restore left out: archive paths, ids of records, and rows (see `make_row_name`)."""
    if left_out:
        _keep(vault, {*_names(vault), *left_out})


def forget_present(vault: Vault, present: Collection[str]) -> None:
    """Forget what is there."""
    _keep(vault, set(_names(vault)).difference(present))


def forget_rows(vault: Vault) -> None:
    """The user says that the databases are right as they are."""
    _keep(vault, [name for name in _names(vault) if f"{_ROWS}#" not in name])


def _names(vault: Vault) -> list[str]:
    return list(vault.get(_DECISION) or ())


def _keep(vault: Vault, wanted: Collection[str]) -> None:
    vault.set(_DECISION, sorted(wanted) or None, kind=_DECISION)


def load_gap_paths(vault: Vault) -> frozenset[str]:
    """Archive paths of files in which placeholders stand where their credentials belong."""
    return frozenset(vault.get(_GAPS) or ())


def note_gaps(vault: Vault, wanted: Collection[str]) -> None:
    """Keep which files have gaps now."""
    if load_gap_paths(vault) != frozenset(wanted):
        vault.set(_GAPS, sorted(wanted) or None, kind=_GAPS)


def list_paths_without_credentials(vault: Vault) -> frozenset[str]:
    """Archive paths of files that have gaps, or that a restore did not write for want of their credentials."""
    return load_gap_paths(vault) | {path for path in list_withheld_paths(vault) if "/db/" not in path}
