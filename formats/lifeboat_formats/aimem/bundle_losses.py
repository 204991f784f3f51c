"""What of an agent from another runtime a bundle cannot hold: everything but its memories and its name. Attachments are
stored beside the bundle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.persona import persona_files
from lifeboat_adapters.persona.unsupported_fields import CODE, KEPT, PRINCIPAL, SETTING
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.states.agent_state import State

_NAMES = "names"
_PARTS = {"prose": "its texts", "structured": "structured fields"}


def list_bundle_losses(state: State) -> Iterator[ItemFate]:
    """Implement `Adapter.cannot_hold`."""
    yield from _of_identity(state)
    for name in _ids(persona_files.decode_document(state, archive_layout.PRINCIPALS).get("principals")):
        yield _omitted(PRINCIPAL, name, "a bundle contains only memories, no principals (users and agents)")
    for name in _ids(persona_files.decode_document(state, archive_layout.CREDENTIALS).get("credentials")):
        yield _omitted("credential", name, "a bundle never contains credentials")


def _of_identity(state: State) -> Iterator[ItemFate]:
    """Yield fates for the parts of the identity besides the name. The document itself shares the outcome of the bundle
    that holds the name."""
    identity = persona_files.decode_document(state, archive_layout.IDENTITY)
    for part, called in _PARTS.items():
        said = identity.get(part)
        if isinstance(said, dict) and any(value for name, value in said.items() if name != _NAMES):
            yield _omitted(
                SETTING,
                f"identity: {called}",
                "an AIMEM bundle stores only the name of an agent, no other part of its identity",
            )


def _ids(listed: Any) -> Iterator[str]:
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("id"), str):
            yield each["id"]


def _omitted(kind: str, name: str, reason: str) -> ItemFate:
    return ItemFate(kind, name, ItemOutcome.OMITTED, f"{reason}; {KEPT}", CODE)
