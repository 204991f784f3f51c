"""Follow the key of a shared endpoint to the source where it was moved.

The note about a move is in the database, so that every machine sees it. A writer of the database must not be able to
name its own key source: that source would receive new data keys and the tokens for key services. So the previous source
wraps the name of the next one, and a process follows these steps from the source in its endpoint.json.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked, KeySourceRefused, VaultDamaged

_CONTEXT = b"lifeboat key source "
_MOST = 50
"""Maximum steps that are kept."""


class _MoveStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One move. `proof` is the second source as wrapped by the first one (base64), "" where the first no longer
    wraps."""

    before: str
    after: str
    proof: str


class _MoveNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All moves, oldest first."""

    source: str
    steps: list[_MoveStep]


def note_move(note: Any, before: KeySource, after: str) -> Any:
    """Add a step to a note. `note` is the previous one, None without one. Raises KeySourceAway."""
    proof = ""
    with contextlib.suppress(KeyRevoked, KeySourceRefused):
        proof = base64.b64encode(before.wrap(_CONTEXT + after.encode())).decode()
    found = _read(note)
    steps = [*(() if found is None else found.steps), _MoveStep(before.spec, after, proof)]
    return msgspec.to_builtins(_MoveNote(after, steps[-_MOST:]))


def follow_moves(note: Any, begin: str, opened: Callable[[str], KeySource]) -> str:
    """Follow the steps from the source that this process was given, and return the current specification.

    A source that is gone cannot confirm the next step, so that step is accepted. Raises KeySourceRefused for a step
    that the previous source does not confirm, KeySourceAway.
    """
    found = _read(note)
    if note in (None, begin) or (found is not None and found.source == begin):
        return begin
    steps = [] if found is None else found.steps
    first = max((place for place, step in enumerate(steps) if step.before == begin), default=None)
    if found is None or first is None or steps[-1].after != found.source:
        raise _unknown()
    current = begin
    for step in steps[first:]:
        if step.before != current or not _is_proven(step, opened(current)):
            raise _unknown()
        current = step.after
    return current


def _is_proven(step: _MoveStep, before: KeySource) -> bool:
    try:
        return before.unwrap(base64.b64decode(step.proof)) == _CONTEXT + step.after.encode()
    except KeyRevoked as error:
        return not error.only_this
    except (VaultDamaged, binascii.Error, ValueError):
        return False


def _read(note: Any) -> _MoveNote | None:
    try:
        return None if note is None else msgspec.convert(note, _MoveNote)
    except msgspec.ValidationError:
        return None


def _unknown() -> KeySourceRefused:
    return KeySourceRefused(
        "the key source in the database differs from `key_source` in endpoint.json, and no signature "
        "with the former key confirms the change",
        fix="if you changed the key source on another machine, set the same key_source in endpoint.json on this "
        "machine",
    )
