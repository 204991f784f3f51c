"""Store large bodies as files in one folder."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_vault import errors

LARGEST_INLINE = 256 << 10
"""Bytes. Up to this size a row is cheaper to write and read than a separate file."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class DiskBlobs:
    """A `BlobStore` in `folder`, which is created when missing."""

    def __init__(self, folder: Path, files: FileOperations) -> None:
        self._folder = folder
        self._files = files
        with translate_errors():
            files.make_folders(folder.parent, 0o700)
            files.make_folders(folder, 0o700)

    @property
    def inline(self) -> int:
        return LARGEST_INLINE

    def put(self, name: str, data: bytes) -> None:
        path = self._folder / name
        with translate_errors():
            try:
                self._files.write_new(path, data, mode=0o600)
            except FileExistsError:
                raise
            except OSError:
                # Remove the partial body; if even this fails, the next sweep does.
                with contextlib.suppress(OSError):
                    self._files.remove(path)
                raise

    def flush(self) -> None:
        with translate_errors():
            self._files.sync_folder(self._folder)

    def read(self, name: str) -> bytes:
        try:
            with translate_errors():
                return read_all(self._files, self._folder / name)
        except FileNotFoundError:
            raise errors.VaultDamaged(f"the file {name}, which contains stored content, is missing") from None

    def names(self) -> Iterator[str]:
        with translate_errors():
            return iter([item.name for item in self._files.scan(self._folder)])

    def remove(self, name: str) -> None:
        with translate_errors(), contextlib.suppress(FileNotFoundError):
            self._files.remove(self._folder / name)

    def size(self) -> int:
        return sum(self._size_of(name) for name in self.names())

    def _size_of(self, name: str) -> int:
        with translate_errors(), contextlib.suppress(FileNotFoundError):
            return self._files.lstat(self._folder / name).st_size
        return 0

    def copy_to(self, folder: Path) -> None:
        target = DiskBlobs(folder, self._files)
        for name in self.names():
            target.put(name, self.read(name))
        target.flush()


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Convert system errors to VaultFull or VaultUnusable. The caller handles missing files."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        kind = errors.VaultFull if error.errno in _NO_SPACE else errors.VaultUnusable
        raise kind(describe_refusal(error)) from error
