"""Files and memories of an agent that are missing, or have gaps, because a restore did not put credentials back.

That they are missing is no deletion: they stay in the newest state until they are there again, and from then on they
are files and rows like others. A file with gaps keeps its credentials in the newest state until the gaps are gone.
"""

from __future__ import annotations

from collections.abc import Collection

from lifeboat_alf import layout
from lifeboat_endpoint.vault import Vault

_DECISION, _GAPS = "withheld", "gaps"


def paths(vault: Vault) -> frozenset[str]:
    """Archive paths."""
    return frozenset(name for name in _names(vault) if name.startswith((layout.RAW, layout.ARTIFACTS)))


def records(vault: Vault) -> frozenset[str]:
    """Ids of records that a database should hold as rows."""
    return frozenset(_names(vault)) - paths(vault)


def add(vault: Vault, left_out: Collection[str]) -> None:
    """Note what a restore left out: archive paths, and ids of records."""
    if left_out:
        _keep(vault, {*_names(vault), *left_out})


def found(vault: Vault, present: Collection[str]) -> None:
    """Forget what is there."""
    _keep(vault, set(_names(vault)).difference(present))


def _names(vault: Vault) -> list[str]:
    return list(vault.get(_DECISION) or ())


def _keep(vault: Vault, wanted: Collection[str]) -> None:
    vault.set(_DECISION, sorted(wanted) or None, kind=_DECISION)


def gaps(vault: Vault) -> frozenset[str]:
    """Archive paths of files in which placeholders stand where their credentials belong."""
    return frozenset(vault.get(_GAPS) or ())


def note_gaps(vault: Vault, wanted: Collection[str]) -> None:
    """Keep which files have gaps now."""
    if gaps(vault) != frozenset(wanted):
        vault.set(_GAPS, sorted(wanted) or None, kind=_GAPS)
