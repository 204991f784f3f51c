"""Files of an agent that are not there because a restore did not put their credentials back.

That they are missing is no deletion: they stay in the newest state until they are there again, and from then on they
are files like others.
"""

from __future__ import annotations

from collections.abc import Collection

from lifeboat_endpoint.vault import Vault

_DECISION = "withheld"


def paths(vault: Vault) -> frozenset[str]:
    """Archive paths."""
    return frozenset(vault.get(_DECISION) or ())


def add(vault: Vault, left_out: Collection[str]) -> None:
    """Note what a restore left out."""
    if left_out:
        _keep(vault, paths(vault) | set(left_out))


def found(vault: Vault, present: Collection[str]) -> None:
    """Forget what is there."""
    _keep(vault, paths(vault).difference(present))


def _keep(vault: Vault, wanted: Collection[str]) -> None:
    vault.set(_DECISION, sorted(wanted) or None, kind=_DECISION)
