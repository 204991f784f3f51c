"""List the parts of an agent that ZeroClaw cannot represent."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.persona import persona_files, unsupported_fields
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers import aieos_documents
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.states.agent_state import State


def list_unsupported_by_zeroclaw(installation: Installation, state: State) -> Iterator[ItemFate]:
    """Implement `Adapter.cannot_hold`."""
    head = persona_files.decode_document(state, archive_layout.MANIFEST)
    by_numbers = (
        zeroclaw_config.get_nested_text(head, "adapter_hints", zeroclaw_paths.RUNTIME, "identity_format")
        == aieos_documents.AIEOS
    )
    yield from unsupported_fields.unsupported_memory_fields(state)
    yield from unsupported_fields.unsupported_identity_fields(state, holds_numbers=by_numbers)
    yield from unsupported_fields.unsupported_principals(state)
