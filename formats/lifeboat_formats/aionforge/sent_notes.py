"""Notes about memories that were sent to an instance: our ids and the instance's, kept between conversions.

Each batch writes its own note, so that an interrupted import continues where it ended. Notes hold ids, times and
outcomes, never a text nor its digest: a short text can be guessed from its digest.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lifeboat_alf.common import ids
from lifeboat_formats.aionforge.nodes import AionforgeNode

_BATCH, _SESSION = "sent ", "session "


class InstanceCopy(NamedTuple):
    """The copy of a memory in an instance: its id there, when the memory was last changed here, and whether the
    instance altered the text or holds the same text of another owner."""

    id: str
    at: str
    is_altered: bool = False
    is_foreign: bool = False


@dataclass(slots=True)
class SentNotes:
    """The notes about one instance, queried as `agent` ("" if the token determines it). Foreign entries in `notes` are
    left alone."""

    notes: MutableMapping[str, Any]
    agent: str = ""
    _known: dict[str, InstanceCopy] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, said in self.notes.items():
            if name.startswith(self._prefix) and isinstance(said, dict):
                self._known.update((id, put) for id, each in said.items() if (put := _read(each)) is not None)

    @property
    def _prefix(self) -> str:
        return f"{_BATCH}{self.agent or 'token'} "

    def get(self, record_id: str) -> InstanceCopy | None:
        """Return the known copy of a memory, or None."""
        return self._known.get(record_id)

    def names(self) -> dict[str, str]:
        """Return our ids by those of the instance."""
        return {put.id: record_id for record_id, put in reversed(self._known.items()) if not put.is_foreign}

    def add(self, batch: Mapping[str, InstanceCopy]) -> None:
        """Write a note about a batch."""
        if not batch:
            return
        self._known.update(batch)
        self.notes[f"{self._prefix}{next(iter(batch.values())).id}"] = {id: list(put) for id, put in batch.items()}

    def learn(self, record_id: str, put: InstanceCopy) -> None:
        """Remember, for this import only, the existing copy of a memory."""
        self._known.setdefault(record_id, put)

    def session_for(self, session: str) -> str:
        """Return the UUID that stands for a session name in an instance, always the same one."""
        if ids.is_uuid(session):
            return session.lower()
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"lifeboat:session:{session}"))
        if f"{_SESSION}{name}" not in self.notes:
            self.notes[f"{_SESSION}{name}"] = session
        return name

    def session(self, node: AionforgeNode) -> str | None:
        """Return our name for the session of a node, or None."""
        found = self.notes.get(f"{_SESSION}{node.fields.get('session_id')}")
        return found if isinstance(found, str) else None


def _read(said: Any) -> InstanceCopy | None:
    if isinstance(said, list | tuple) and len(said) == 4 and isinstance(said[0], str) and isinstance(said[1], str):
        return InstanceCopy(said[0], said[1], bool(said[2]), bool(said[3]))
    return None
