"""Store the wrapped data keys of a tenant: one document (see `wrapped_keys`), replaced as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_vault import errors
from lifeboat_vault.store.disk_blobs import translate_errors
from lifeboat_vault.store.lock_file import hold_lock_file

FILE = "keys.json"
LOCK = "keys.lock"
_LOCK_SECONDS = 30.0


class KeyDocumentStore(Protocol):
    """Storage of one tenant's document. Replacing or removing destroys the old document; this program keeps no copy."""

    @property
    def name(self) -> str:
        """Return a name for messages."""
        ...

    def read(self) -> bytes:
        """Return the current document, which others may have changed. Raises VaultMissing."""
        ...

    def replace(self, data: bytes) -> None:
        """Replace the document durably and atomically; inside `changing`."""
        ...

    def remove(self) -> None:
        """Remove the document. A missing one is no error."""
        ...

    def changing(self) -> AbstractContextManager[None]:
        """Exclude all other writers; create the storage when missing. Raises VaultBusy."""
        ...


class FolderKeyDocumentStore:
    """`keys.json` in the folder of a tenant. `allowed` may raise to refuse changes."""

    def __init__(self, folder: Path, files: FileOperations, allowed: Callable[[], None] = lambda: None) -> None:
        self._folder = folder
        self._files = files
        self._allowed = allowed

    @property
    def name(self) -> str:
        return str(self._folder / FILE)

    def read(self) -> bytes:
        try:
            with translate_errors():
                return read_all(self._files, self._folder / FILE)
        except FileNotFoundError:
            raise errors.VaultMissing(f"the file with the data keys, {self.name}, does not exist") from None

    def replace(self, data: bytes) -> None:
        with translate_errors():
            write_atomic(self._files, self._folder / FILE, data, mode=0o600)

    def remove(self) -> None:
        with translate_errors(), contextlib.suppress(FileNotFoundError):
            self._files.remove(self._folder / FILE)
            self._files.sync_folder(self._folder)

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        with translate_errors():
            self._files.make_folders(self._folder, 0o700)
        busy = errors.VaultBusy(f"another process is changing the data keys in {self._folder}")
        with hold_lock_file(self._folder / LOCK, seconds=_LOCK_SECONDS, busy=busy):
            self._allowed()
            yield
