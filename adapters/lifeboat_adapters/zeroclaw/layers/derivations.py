"""The documents that are derived from a ZeroClaw agent's files (`contract.Derivation`)."""

from __future__ import annotations

from lifeboat_adapters.persona import persona_principals
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers import zeroclaw_hints, zeroclaw_identity

DERIVATIONS = (
    zeroclaw_identity.DERIVATION,
    persona_principals.make_principals_derivation(zeroclaw_paths.RUNTIME, zeroclaw_paths.RAW + zeroclaw_paths.USER),
    *zeroclaw_hints.DERIVATIONS,
)
