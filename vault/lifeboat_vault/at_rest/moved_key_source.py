"""Where the key of a shared endpoint was moved to, as its processes hear of it.

The word stands in the database, so that no machine misses it. Whoever can write there must not be able to name a key
source of their own: it would be shown new data keys, and the tokens that key services are asked with. So the source
before wrapped what it was moved to, and a process follows such steps from the source that its endpoint.json names.
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
"""Steps that are kept."""


class _MoveStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`proof`: the second source as the first one wrapped it (base64), "" where that wraps no more."""

    before: str
    after: str
    proof: str


class _MoveNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    steps: list[_MoveStep]


def note_move(note: Any, before: KeySource, after: str) -> Any:
    """The note of one more step. `note` is the one before, None where there was none. Raises KeySourceAway."""
    proof = ""
    with contextlib.suppress(KeyRevoked, KeySourceRefused):
        proof = base64.b64encode(before.wrap(_CONTEXT + after.encode())).decode()
    found = _read(note)
    steps = [*(() if found is None else found.steps), _MoveStep(before.spec, after, proof)]
    return msgspec.to_builtins(_MoveNote(after, steps[-_MOST:]))


def follow_moves(note: Any, begin: str, opened: Callable[[str], KeySource]) -> str:
    """The specification of the source that counts, from the one that this process was given. One that is gone cannot
    vouch for what came after it, and is believed. Raises KeySourceRefused for a step that the source before does not
    know of, KeySourceAway."""
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
        "the database names another key source than endpoint.json, and the one before does not vouch for it",
        fix="where it was moved there, say so as key_source in endpoint.json of this machine",
    )
