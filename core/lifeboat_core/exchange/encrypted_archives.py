"""Read and write archives and deltas, which can be encrypted as a whole (ALF §8.3).

Decrypted content is in an unnamed file in the home: no other program can open it, and it disappears with the process.
While an encrypted file is written, nothing is stored in plain text.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.zip_container import ArchiveReader
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import ExchangeError
from lifeboat_core.exchange.new_file import create_file
from lifeboat_core.home import home_key
from lifeboat_core.home.context import Context
from lifeboat_keys.age_format import age_encryption, age_header
from lifeboat_keys.errors import AgeError, NoKey, NotForYourKey
from lifeboat_keys.pairs.user_key import UserPublic

SUFFIX = ".age"
_ZIP = b"PK"


@dataclass(frozen=True, slots=True)
class ArchiveEncryption:
    """How a file is encrypted: with `passphrase`, or without one for the key of this home and for `recipients`
    (`age1...`)."""

    recipients: tuple[str, ...] = ()
    passphrase: str | None = field(default=None, repr=False)

    def keys(self, own: UserPublic) -> list[str]:
        """Return the age keys that open the file, the user's own first; none when a passphrase does."""
        return (
            []
            if self.passphrase is not None
            else list(dict.fromkeys([age_encryption.age_recipient_of(own), *self.recipients]))
        )

    def to_json(self, own: UserPublic) -> JsonObject:
        """Return the recipients for reports."""
        keys = self.keys(own)
        return {"key_id": own.key_id if keys else None, "recipients": len(keys)}


@dataclass(frozen=True, slots=True)
class Archive:
    """A readable file: `stream` is a seekable ZIP. For an encrypted one, `key_id` names the user's key that opened it
    (None: a passphrase did) and `recipients` counts its keys."""

    path: Path
    stream: BinaryIO
    is_encrypted: bool = False
    key_id: str | None = None
    recipients: int = 0

    @property
    def is_delta(self) -> bool:
        with ArchiveReader(self.stream) as archive:
            return archive_layout.DELTA_MANIFEST in archive

    def encryption_json(self) -> JsonObject | None:
        return {"key_id": self.key_id, "recipients": self.recipients} if self.is_encrypted else None


@contextmanager
def open_archive(
    context: Context, path: Path, passphrase: str | None = None, *, private: bool = False
) -> Iterator[Archive]:
    """Open an archive or a delta; its content shows whether it is encrypted. `private`: from a copy that no other
    program can change between two reads.

    Raises AgeError (a subclass for each cause), NoKey, ExchangeError.
    """
    with _reading(path):
        source = path.open("rb")
    with source:
        with _reading(path):
            is_encrypted = _is_encrypted(path, source)
        if not is_encrypted and not private:
            yield Archive(path, source)
            return
        with _unnamed(context) as copy:
            with _reading(path):
                read = _decrypted if is_encrypted else _copied
                archive = read(context, path, source, copy, passphrase)
                copy.seek(0)
            yield archive


def check_encryption(target: Path, encryption: ArchiveEncryption | None) -> None:
    """Refuse, before any work, what cannot be written, and a name that contradicts the content.

    Raises ExchangeError.MISLEADING_NAME, AgeError.BAD_RECIPIENT, AgeError.WRONG_PASSPHRASE.
    """
    is_age_name = target.name.lower().endswith(SUFFIX)
    if encryption is None and is_age_name:
        raise ExchangeError.MISLEADING_NAME(
            f"the name {target} ends in {SUFFIX} like that of an encrypted file, but the file would not be encrypted"
        ).with_again("--encrypt")
    if encryption is not None and not is_age_name:
        raise ExchangeError.MISLEADING_NAME(
            f"{target} would be encrypted, but its name does not end in {SUFFIX}"
        ).with_again("-o", f"{target}{SUFFIX}")
    if encryption is not None:
        age_encryption.check_recipients(encryption.recipients, encryption.passphrase)


@contextmanager
def create_archive(
    context: Context, target: Path, encryption: ArchiveEncryption | None, *, force: bool = False
) -> Iterator[BinaryIO]:
    """Create a file, encrypted if requested: then the stream cannot seek. Raises what `check_encryption` and
    `create_file` raise, and NoKey."""
    check_encryption(target, encryption)
    with create_file(context.files, target, force=force) as file, _encrypting(context, file, encryption) as stream:
        yield stream


@contextmanager
def _encrypting(context: Context, file: BinaryIO, encryption: ArchiveEncryption | None) -> Iterator[BinaryIO]:
    if encryption is None:
        yield file
    elif encryption.passphrase is not None:
        with age_encryption.encrypt_stream_with_passphrase(file, encryption.passphrase) as stream:
            yield stream
    else:
        with age_encryption.encrypt_stream(file, encryption.keys(context.keys().public)) as stream:
            yield stream


def _is_encrypted(path: Path, source: BinaryIO) -> bool:
    """Return whether a file is encrypted, by its content. A name that says so counts too, unless the file is a plain
    archive, so that errors describe what the file should be."""
    if age_encryption.is_age(source):
        return True
    start = source.read(len(_ZIP))
    source.seek(0)
    return path.name.lower().endswith(SUFFIX) and start != _ZIP


@contextmanager
def _unnamed(context: Context) -> Iterator[BinaryIO]:
    folder = context.home.restore_folder / "tmp"
    context.files.make_folders(folder, 0o700)
    with tempfile.TemporaryFile(dir=folder) as file:
        yield file


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Add the name of the file to errors."""
    try:
        yield
    except AgeError as error:
        raise error.with_message(f"{path}: {error.message}") from None
    except OSError as error:
        raise ExchangeError(f"{path}: {error.strerror or error}") from error


def _copied(context: Context, path: Path, source: BinaryIO, copy: BinaryIO, passphrase: str | None) -> Archive:
    shutil.copyfileobj(source, copy)
    return Archive(path, copy)


def _decrypted(context: Context, path: Path, source: BinaryIO, copy: BinaryIO, passphrase: str | None) -> Archive:
    header = age_header.read_age_header(source)
    if not header.wants_key:
        age_encryption.decrypt_file(source, copy, passphrase=passphrase)
        return Archive(path, copy, is_encrypted=True)
    if home_key.load_known_public(context) is None:
        raise NoKey("the archive is encrypted, and this home has no key yet", fix="lifeboat keys recover")
    keys = context.keys()
    own = keys.user_key()
    for key in (own, *(one.open(own) for one in keys.former)):
        source.seek(0)
        with contextlib.suppress(NotForYourKey):  # raised before anything is written
            age_encryption.decrypt_file(source, copy, [age_encryption.age_identity_of(key)])
            return Archive(path, copy, True, key.key_id, header.stanzas.count("X25519"))
    raise NotForYourKey(f"the file is not encrypted for the key of this home ({own.key_id})")
