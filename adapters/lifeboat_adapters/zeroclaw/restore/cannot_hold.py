"""What of an agent ZeroClaw has no place for."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.persona import rendering, unheld
from lifeboat_adapters.receipts import Fate
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_adapters.zeroclaw.layers import documents
from lifeboat_alf import layout
from lifeboat_alf.state import State


def cannot_hold(installation: Installation, state: State) -> Iterator[Fate]:
    """See `contract.Adapter.cannot_hold`."""
    head = rendering.document(state, layout.MANIFEST)
    by_numbers = config.text(head, "adapter_hints", paths.RUNTIME, "identity_format") == documents.AIEOS
    yield from unheld.of_memories(state)
    yield from unheld.of_identity(state, holds_numbers=by_numbers)
    yield from unheld.of_principals(state)
