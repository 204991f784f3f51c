"""What of an agent from elsewhere stands in no bundle: a bundle has its memories and its name.
Attachments stand beside it, in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lifeboat_adapters.persona import rendering
from lifeboat_adapters.persona.unheld import CODE, KEPT, PRINCIPAL, SETTING
from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_alf import layout
from lifeboat_alf.state import State

_NAMES = "names"
_PARTS = {"prose": "its texts", "structured": "what it says in fields"}


def cannot_hold(state: State) -> Iterator[Fate]:
    """See `contract.Adapter.cannot_hold`."""
    yield from _of_identity(state)
    for name in _ids(rendering.document(state, layout.PRINCIPALS).get("principals")):
        yield _omitted(PRINCIPAL, name, "a bundle knows nobody but by its memories")
    for name in _ids(rendering.document(state, layout.CREDENTIALS).get("credentials")):
        yield _omitted("credential", name, "credentials never stand in a bundle")


def _of_identity(state: State) -> Iterator[Fate]:
    """The document itself takes the outcome of the bundle that has the name; its other parts are told beside it."""
    identity = rendering.document(state, layout.IDENTITY)
    for part, called in _PARTS.items():
        said = identity.get(part)
        if isinstance(said, dict) and any(value for name, value in said.items() if name != _NAMES):
            yield _omitted(SETTING, f"identity: {called}", "a bundle knows no more of an agent than its name")


def _ids(listed: Any) -> Iterator[str]:
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("id"), str):
            yield each["id"]


def _omitted(kind: str, name: str, reason: str) -> Fate:
    return Fate(kind, name, Outcome.OMITTED, f"{reason}; {KEPT}", CODE)
