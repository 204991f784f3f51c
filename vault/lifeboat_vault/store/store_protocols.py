"""The two stores under a vault.

The vault speaks portable SQL with `?` parameters (all of it in `vault.statements`) to a `MetadataStore` and keeps
bodies over a limit in a `BlobStore`. Whoever implements the two proves it with `testing.StoreConformance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

Row = tuple[Any, ...]
Parameters = Sequence[Any]


class MetadataStore(Protocol):
    """Tables of one vault (`store.schema`). An instance belongs to one thread.

    Every method raises a VaultError of the fitting kind, except that a broken constraint is DraftInvalid.
    `is_read_only`: nothing could be written there when it was opened. What others write later is not seen in it, so
    it is not kept open.
    """

    is_read_only: bool

    def prepare(self) -> None:
        """Make the tables when there are none yet."""
        ...

    def transaction(self, *, wait: bool = True) -> AbstractContextManager[None]:
        """One durable transaction: all of it or nothing, one writer at a time. Raises VaultBusy, at once
        without `wait`."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Reads inside see one moment, whatever others commit meanwhile."""
        ...

    def execute(self, statement: str, parameters: Parameters = ()) -> int:
        """Run one statement; how many rows it changed."""
        ...

    def execute_many(self, statement: str, rows: Iterable[Parameters]) -> None: ...

    def row(self, statement: str, parameters: Parameters = ()) -> Row | None:
        """The first row, or None."""
        ...

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        """All rows, streamed: never more than a few in memory."""
        ...

    def problems(self) -> list[str]:
        """What the database itself finds wrong with its files, in its own words."""
        ...

    def size(self) -> int:
        """Bytes on disk."""
        ...

    def compact(self) -> None:
        """Give back the space of deleted rows."""
        ...

    def scrub(self, *, wait: bool = True) -> bool:
        """Leave nothing of what was deleted or overwritten in any file of the tables: not in free pages, not inside
        pages that are in use, not in a log, not in copies that a migration kept. False where somebody reads: then it
        has to be tried again; without `wait` nobody is waited for. Raises VaultBusy, VaultFull."""
        ...

    def copy_to(self, path: Path) -> None:
        """A consistent copy as one file; other readers go on meanwhile."""
        ...

    def close(self) -> None: ...


class BlobStore(Protocol):
    """Large bodies by random name. Names are `[0-9a-f]+`; a body is written once and never changed."""

    @property
    def inline(self) -> int:
        """The largest body, in bytes, that belongs into a row instead."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Write a body whole, or nothing. Durable after `flush`."""
        ...

    def flush(self) -> None: ...

    def read(self, name: str) -> bytes:
        """Raises VaultDamaged when it is not there."""
        ...

    def names(self) -> Iterator[str]: ...

    def remove(self, name: str) -> None:
        """Remove a body; one that is gone already is no error."""
        ...

    def size(self) -> int:
        """Bytes of all bodies."""
        ...

    def copy_to(self, folder: Path) -> None:
        """Copy all bodies into a new folder."""
        ...
