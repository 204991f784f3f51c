"""The documents that are made of a ZeroClaw agent's files (`contract.Derivation`)."""

from __future__ import annotations

from lifeboat_adapters.persona import principals
from lifeboat_adapters.zeroclaw import paths
from lifeboat_adapters.zeroclaw.layers import hints, identity

DERIVATIONS = (
    identity.DERIVATION,
    principals.derivation(paths.RUNTIME, paths.RAW + paths.USER),
    *hints.DERIVATIONS,
)
