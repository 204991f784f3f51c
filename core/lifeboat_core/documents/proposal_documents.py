"""The JSON of `lifeboat proposals` and of grants."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Given(msgspec.Struct, frozen=True):
    """A grant of access to an agent's own past."""

    given_at: str
    expires_at: str | None = None
    """when it was given, and when it ends, or null"""
    expired: bool = False
    """whether it has ended"""
    undo_own: bool = False
    """whether the agent may undo its own edits of the last 15 minutes without asking"""


class Proposed(msgspec.Struct, frozen=True):
    """A proposal of an agent."""

    agent: str
    name: str = ""
    number: int = 0
    """the agent, and the number of the proposal"""
    kind: str = "label"
    """`label`, `restore_file`, `restore_memory` or `undo_edit`"""
    state: str = "open"
    """`open`, `accepted`, `rejected`, `expired`, or `failed` (accepted, but not carried out)"""
    sequence: int = 0
    """the sequence to name, or to restore from"""
    path: str | None = None
    memory: str | None = None
    edited: int | None = None
    label: str | None = None
    """file, id of the memory, sequence of the edit to undo, name; null if it has none"""
    reason: str = ""
    client: str = ""
    """words of the agent, and the name that its program claims"""
    made_at: str = ""
    decided_at: str | None = None
    decided_by: str | None = None
    """when it was made and decided, and by whom (`user`, or `grant`), or null"""
    made_sequence: int | None = None
    problem: str | None = None
    """the resulting sequence, and why it failed, or null"""


class Listed(msgspec.Struct, frozen=True):
    """The document of `proposals list` and `reject`."""

    proposals: tuple[Proposed, ...] = ()


class Previewed(Proposed, frozen=True):
    """The document of `proposals show`."""

    preview: JsonObject | None = None
    """what accepting it would change: `path`, `operation`, `diff` and `cut` as in `diff`, or `memory`
    with its text `now` and `then`; null for a name, or if it is not open"""
