"""The code of an unsigned state, with which a user confirms which state was examined before it is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import AlfError
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_vault.errors import VaultDamaged, VaultUnusable

_DIGITS = 24
"""96 bits, so that two states with the same code cannot be forged."""


def make_seen_code(plan: RestorePlan) -> str:
    """Return a digest of everything that the plan's state holds. It does not depend on the target of the restore."""
    digest = hashlib.sha256()
    for part in _parts(plan):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()[:_DIGITS]


def _parts(plan: RestorePlan) -> Iterator[bytes]:
    state = plan.state
    yield from _texts(state.sequence.agent_id, state.sequence.number, plan.verdict)
    for entry in sorted(state.entries(), key=lambda each: each.path):
        yield from _texts(entry.path)
        yield json_codec.encode_pretty(entry.meta)
        yield _body(plan, entry.path)
    for record in sorted(state.records(), key=lambda each: (each.partition, each.id)):
        yield from _texts(record.partition, record.id)
        yield record.line


def _texts(*values: object) -> Iterable[bytes]:
    return (str(value).encode("utf-8", "surrogateescape") for value in values)


def _body(plan: RestorePlan, path: str) -> bytes:
    """Return the bytes of an entry; none when they are not stored, or are damaged in a file that the restore does not
    need."""
    try:
        return plan.state.body(path)
    except (BodyAbsent, AlfError, VaultDamaged, VaultUnusable):
        return b""
