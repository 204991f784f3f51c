"""Files and memories of an agent that are not there because a restore did not put their credentials back.

That they are missing is no deletion: they stay in the newest state until they are there again, and from then on they
are files and rows like others.
"""

from __future__ import annotations

from collections.abc import Collection

from lifeboat_alf import layout
from lifeboat_endpoint.vault import Vault

_DECISION = "withheld"


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
