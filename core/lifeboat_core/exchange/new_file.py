"""Write a file that appears completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.seams.file_operations import FileOperations, flush_to_disk
from lifeboat_core.errors import ExchangeError


@contextmanager
def create_file(files: FileOperations, target: Path, *, force: bool | None = None) -> Iterator[BinaryIO]:
    """Write a file under another name beside `target`, and rename it when it is complete and durable.

    `force` is None if the user cannot ask to replace a file. Raises ExchangeError.FILE_EXISTS unless it is given,
    ExchangeError when the folder refuses it.
    """
    refuse_existing(target, force=force)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        files.write_new(temporary, b"", mode=0o600, sync=False)
        try:
            with open(temporary, "r+b") as stream:
                yield stream
                stream.flush()
                flush_to_disk(stream.fileno())
            refuse_existing(target, force=force)
            files.set_mode(temporary, 0o600)
            files.replace(temporary, target)
        except BaseException:
            files.remove(temporary)
            raise
        files.sync_folder(target.parent)
    except OSError as error:
        raise ExchangeError(f"{target} was not written: {error.strerror or error}") from error


def refuse_existing(target: Path, *, force: bool | None = None) -> None:
    """Raise ExchangeError.FILE_EXISTS, and ExchangeError for what is never replaced: a device, a folder."""
    if os.path.lexists(target) and not _is_replaceable(target):
        raise ExchangeError(f"{target} is not a regular file and cannot be replaced", fix="choose another name")
    if not force and os.path.lexists(target):
        refused = ExchangeError.FILE_EXISTS(f"{target} exists; choose another name", fix="choose another name")
        raise (
            refused
            if force is None
            else refused.with_message(f"{target} exists; choose another name, or replace it with --force").with_again(
                "--force"
            )
        )


def _is_replaceable(target: Path) -> bool:
    kind = os.lstat(target).st_mode
    return stat.S_ISREG(kind) or stat.S_ISLNK(kind)
