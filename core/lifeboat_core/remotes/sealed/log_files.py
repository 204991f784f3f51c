"""What a sealed log rests on: named files that never change, and one head for each agent.

An implementation needs to understand none of the bytes: a folder (`folder_files`), or the routes of an endpoint for
sealed files (`lifeboat_core.remotes.endpoint.endpoint_files`). Names match `[a-z0-9.-]{1,100}` and are never reused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from lifeboat_vault.errors import HeadMoved

__all__ = ["HeadMoved", "SealedFiles", "StoredFile"]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A whole file: `size` in bytes, `age` in seconds by the clock of the place that keeps it, None if that is
    unknown."""

    name: str
    size: int
    age: float | None = None


class SealedFiles(Protocol):
    """Every method raises RemoteUnreachable, RemoteBusy, RemoteDenied and what it says in addition. A missing agent has
    no files and no head."""

    def identity(self) -> str:
        """Return the id of the remote, made with it. Raises RemoteUnreachable if another remote is in its place."""
        ...

    def agents(self) -> list[str]:
        """Ids of the agents that something is kept of, sorted."""
        ...

    def add_agent(self, agent_id: str) -> None:
        """Make room for an agent; one that is there already is no error."""
        ...

    def names(self, agent_id: str) -> list[StoredFile]:
        """Whole files only, sorted by name."""
        ...

    def put(self, agent_id: str, name: str, source: BinaryIO) -> None:
        """Keep what `source` gives from where it stands, durably, whole or not at all. Raises RemoteRefused (the name
        is taken, or none), RemoteTooLarge, RemoteFull."""
        ...

    def read(self, agent_id: str, name: str) -> BinaryIO:
        """A seekable file at its beginning, which the caller closes. Raises UnknownThere."""
        ...

    def remove(self, agent_id: str, name: str) -> None:
        """One that is gone is no error."""
        ...

    def remove_unfinished(self, agent_id: str, is_wanted: Callable[[str], bool]) -> None:
        """What was not written to its end, of those files whose name is wanted. Who is still writing one fails."""
        ...

    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        """Its bytes, and the tag that stands for them."""
        ...

    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        """Replace the head if its tag is `expected` (None: there is none yet), durably, in one step; the new tag.
        Raises HeadMoved, RemoteFull, RemoteTooLarge."""
        ...

    def close(self) -> None: ...
