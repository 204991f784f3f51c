"""The two stores under a vault.

The vault sends portable SQL with `?` parameters (all of it in `vault_statements`) to a `MetadataStore` and keeps bodies
over a limit in a `BlobStore`. Test implementations with `testing.store_conformance.StoreConformance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

Row = tuple[Any, ...]
Parameters = Sequence[Any]


class MetadataStore(Protocol):
    """Tables of one vault (`store.vault_schema`). An instance belongs to one thread.

    Every method raises a fitting VaultError, and DraftInvalid for a violated constraint. `is_read_only` says that the
    store was not writable when it was opened. Later writes of others are not visible then, so do not keep it open.
    """

    is_read_only: bool

    def prepare(self) -> None:
        """Create the tables when there are none yet."""
        ...

    def transaction(self, *, wait: bool = True) -> AbstractContextManager[None]:
        """Run one durable, atomic transaction; one writer at a time. Raises VaultBusy, at once without `wait`."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Read a consistent snapshot inside the block, regardless of what others commit meanwhile."""
        ...

    def execute(self, statement: str, parameters: Parameters = ()) -> int:
        """Run one statement; return how many rows it changed."""
        ...

    def execute_many(self, statement: str, rows: Iterable[Parameters]) -> None: ...

    def row(self, statement: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row, or None."""
        ...

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        """Yield all rows, streamed with bounded memory."""
        ...

    def problems(self) -> list[str]:
        """Return the database's own findings about its files."""
        ...

    def size(self) -> int:
        """Return the bytes on disk."""
        ...

    def compact(self) -> None:
        """Release the space of deleted rows."""
        ...

    def scrub(self, *, wait: bool = True) -> bool:
        """Remove every trace of deleted and overwritten content from the files: free pages, unused parts of pages, the
        log, and copies of migrations.

        Returns False while another process reads; then try again. Without `wait` nothing is waited for. Raises
        VaultBusy, VaultFull.
        """
        ...

    def copy_to(self, path: Path) -> None:
        """Write a consistent copy as one file; other readers continue meanwhile."""
        ...

    def close(self) -> None: ...


class BlobStore(Protocol):
    """Large bodies by random name. Names are `[0-9a-f]+`; a body is written once and never changed."""

    @property
    def inline(self) -> int:
        """Return the size in bytes up to which bodies are stored in rows instead."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Write a body atomically. Durable after `flush`."""
        ...

    def flush(self) -> None: ...

    def read(self, name: str) -> bytes:
        """Return a body. Raises VaultDamaged when it is missing."""
        ...

    def names(self) -> Iterator[str]: ...

    def remove(self, name: str) -> None:
        """Remove a body. A missing one is no error."""
        ...

    def size(self) -> int:
        """Return the bytes of all bodies."""
        ...

    def copy_to(self, folder: Path) -> None:
        """Copy all bodies into a new folder."""
        ...
