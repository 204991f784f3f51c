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
        """Return the ids of the agents of which something is kept, sorted."""
        ...

    def add_agent(self, agent_id: str) -> None:
        """Make room for an agent. That it exists already is no error."""
        ...

    def names(self, agent_id: str) -> list[StoredFile]:
        """Return the whole files, sorted by name."""
        ...

    def put(self, agent_id: str, name: str, source: BinaryIO) -> None:
        """Keep what `source` gives from its current position, durably, whole or not at all. Raises RemoteRefused (the
        name is taken or invalid), RemoteTooLarge, RemoteFull."""
        ...

    def read(self, agent_id: str, name: str) -> BinaryIO:
        """Return a seekable file at its beginning, which the caller closes. Raises UnknownAtRemote."""
        ...

    def remove(self, agent_id: str, name: str) -> None:
        """Remove a file. That it is gone already is no error."""
        ...

    def remove_unfinished(self, agent_id: str, is_wanted: Callable[[str], bool]) -> None:
        """Remove files that were not written to their end and whose name is wanted. A machine that is still writing one
        fails."""
        ...

    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        """Return the head's bytes, and the tag that identifies them."""
        ...

    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        """Replace the head if its tag is `expected` (None: there is none yet), durably, in one step; return the new
        tag. Raises HeadMoved, RemoteFull, RemoteTooLarge."""
        ...

    def close(self) -> None: ...
