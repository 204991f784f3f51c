"""Encrypt whole files in the age format (ALF §8.3), which other programs read too.

The user's X25519 pair is an age key: its public half is the recipient (`age1...`), its secret half the identity
(`AGE-SECRET-KEY-1...`). Encrypting needs only the public half. Files are streamed in both directions, except with a
passphrase: the library then needs the whole file in memory, so its size is limited.

age authenticates pieces of 64 KiB, in order. Do not use what `decrypt_file` wrote before it raised.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyrage

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys.age_format import age_header, age_scrypt, bech32
from lifeboat_keys.age_format.age_header import AgeHeader, is_age
from lifeboat_keys.errors import AgeError, NotForYourKey
from lifeboat_keys.pairs.user_key import UserKey, UserPublic

__all__ = [
    "AgeHeader",
    "age_identity_of",
    "age_recipient_of",
    "check_recipients",
    "decrypt_file",
    "encrypt_stream",
    "encrypt_stream_with_passphrase",
    "is_age",
]

PASSPHRASE_LIMIT = 256 << 20
"""Maximum bytes that are encrypted or opened with a passphrase, in memory."""
PASSPHRASE_LENGTH = 8
"""Minimum characters of a passphrase to encrypt with."""
_PIECE = (1 << 16) + 16
_NONCE = 16


def age_recipient_of(public: UserPublic) -> str:
    """Return the age recipient of a public key: `age1...`, not secret."""
    return bech32.encode_bech32("age", public.box)


def age_identity_of(key: UserKey) -> str:
    """Return the age identity of a key, which opens its files in any age program: `AGE-SECRET-KEY-1...`, as secret as
    the key."""
    return bech32.encode_bech32("age-secret-key-", key.box_secret).upper()


def check_recipients(recipients: Sequence[str], passphrase: str | None = None) -> None:
    """Check that a file could be encrypted this way. Raises AgeError.BAD_RECIPIENT, AgeError.WRONG_PASSPHRASE."""
    _recipients(recipients)
    if passphrase is not None and len(passphrase) < PASSPHRASE_LENGTH:
        raise AgeError.WRONG_PASSPHRASE(f"the passphrase has fewer than {PASSPHRASE_LENGTH} characters")


@contextmanager
def encrypt_stream(target: BinaryIO, recipients: Sequence[str]) -> Iterator[BinaryIO]:
    """Yield a stream without seek whose content is encrypted into `target`, complete when the `with` block ends without
    an error.

    No plain text is kept. Raises AgeError.BAD_RECIPIENT, and what `target` raises.
    """
    known = _recipients(recipients)
    reading, writing = os.pipe()
    watched = _ErrorKeepingFile(target)
    failed: list[Exception] = []

    def encrypt() -> None:
        with open(reading, "rb") as source:
            try:
                pyrage.encrypt_io(source, watched, known)
            except BaseException as error:  # also on a panic of the library: half a file must not look complete
                failed.append(watched.error or AgeError(f"the file was not encrypted: {error}"))

    thread = threading.Thread(target=encrypt, name="encrypt")
    thread.start()
    try:
        with open(writing, "wb") as stream:
            yield stream
    except BrokenPipeError:
        thread.join()
        if not failed:
            raise
    finally:
        thread.join()
    if failed:
        raise failed[0]


@contextmanager
def encrypt_stream_with_passphrase(target: BinaryIO, passphrase: str) -> Iterator[BinaryIO]:
    """Encrypt with a passphrase, in memory. Raises AgeError.WRONG_PASSPHRASE (too short), AgeError (too large)."""
    check_recipients([], passphrase)
    content = _BoundedBuffer()
    yield content
    target.write(pyrage.passphrase.encrypt(content.getvalue(), passphrase))


def decrypt_file(
    source: BinaryIO, target: BinaryIO, identities: Sequence[str] = (), passphrase: str | None = None
) -> None:
    """Decrypt `source`, which is seekable and at its beginning, into `target`.

    Raises AgeError.NOT_AGE, NotForYourKey, AgeError.PASSPHRASE_NEEDED, AgeError.WRONG_PASSPHRASE,
    AgeError.EXCESSIVE_WORK, AgeError.CHANGED, AgeError.CUT_SHORT, and what both files raise.
    """
    header = age_header.read_age_header(source)
    if header.wants_passphrase:
        if passphrase is None:
            raise AgeError.PASSPHRASE_NEEDED("the file is encrypted with a passphrase, not for a key")
        _decrypt_with_passphrase(source, target, passphrase)
    else:
        _decrypt_with_keys(source, target, header, identities)


def _decrypt_with_keys(source: BinaryIO, target: BinaryIO, header: AgeHeader, identities: Sequence[str]) -> None:
    reader, writer = _ErrorKeepingFile(source), _ErrorKeepingFile(target)
    try:
        pyrage.decrypt_io(reader, writer, [pyrage.x25519.Identity.from_str(each) for each in identities])
    except pyrage.DecryptError as error:
        raise reader.error or writer.error or _of_header(str(error)) from None
    except OSError:
        raise reader.error or writer.error or _of_payload(source, header, writer.count) from None


def _decrypt_with_passphrase(source: BinaryIO, target: BinaryIO, passphrase: str) -> None:
    sealed = source.read(PASSPHRASE_LIMIT + _PIECE)
    if len(sealed) == PASSPHRASE_LIMIT + _PIECE:
        raise AgeError(
            f"the file is larger than {PASSPHRASE_LIMIT >> 20} MiB, which is the limit for files with a passphrase"
        )
    try:
        content = pyrage.passphrase.decrypt(
            age_scrypt.rewrap_with_little_work(age_header.remove_armor(sealed), passphrase), passphrase
        )
    except pyrage.DecryptError as error:
        raise _of_passphrase(str(error)) from None
    target.write(content)


def _of_header(said: str) -> LifeboatError:
    if said.startswith("No matching keys"):
        return NotForYourKey("the file is not encrypted for your key")
    if said.startswith(("failed to fill", "Incomplete")):
        return AgeError.CUT_SHORT("the file ends within its encryption header")
    return AgeError.CHANGED("the encryption header of the file was changed")


def _of_passphrase(said: str) -> LifeboatError:
    if said.startswith("Decryption failed"):
        return AgeError.WRONG_PASSPHRASE("the file was encrypted with another passphrase")
    if said.startswith(("failed to fill", "Incomplete")):
        return AgeError.CUT_SHORT("the file ends too early")
    return AgeError.CHANGED("the content of the file was changed, or its end is missing")


def _of_payload(source: BinaryIO, header: AgeHeader, written: int) -> LifeboatError:
    """Return the error for an invalid piece. Only the last piece of a file can have been truncated."""
    if header.armored:
        return AgeError.CHANGED("the content of the file was changed, or its end is missing")
    begin = header.size + _NONCE + written // (_PIECE - 16) * _PIECE
    if source.seek(0, io.SEEK_END) - begin > _PIECE:
        return AgeError.CHANGED(f"the content of the file was changed after byte {begin}")
    return AgeError.CUT_SHORT(f"the content of the file from byte {begin} to its end is missing or was changed")


def _recipients(texts: Sequence[str]) -> list[Any]:
    try:
        return [pyrage.x25519.Recipient.from_str(text) for text in texts]
    except pyrage.RecipientError as error:
        raise AgeError.BAD_RECIPIENT(str(error)) from None


class _ErrorKeepingFile:
    """A file that keeps the original error, because the library would turn it into its own text."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.count = 0
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        with self._keeping():
            return self._file.read(size)

    def write(self, data: bytes) -> int:
        self.count += len(data)
        with self._keeping():
            return self._file.write(data)

    def flush(self) -> None:
        with self._keeping():
            self._file.flush()

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.error = error
            raise


class _BoundedBuffer(io.BytesIO):
    """A buffer that refuses more bytes than the limit."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > PASSPHRASE_LIMIT:
            raise AgeError(
                f"Lifeboat cannot encrypt more than {PASSPHRASE_LIMIT >> 20} MiB with a passphrase",
                fix="leave out --passphrase-stdin; encryption with your key has no size limit",
            )
        return super().write(data)
