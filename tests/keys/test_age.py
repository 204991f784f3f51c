"""Files in the age format: who can open them, and which error each failure raises."""

from __future__ import annotations

import base64
import errno
import io
from typing import Any

import pyrage
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_keys.age_format import age_encryption, age_header, age_scrypt
from lifeboat_keys.errors import (
    AgeError,
    NotForYourKey,
)
from lifeboat_keys.pairs.user_key import UserKey
from support.alf.raising import raises_code
from support.keys.age_files import encrypt_with_little_work

KEY = UserKey(bytes(range(32)))
OTHER = UserKey(bytes(range(1, 33)))
RECIPIENT, IDENTITY = age_encryption.age_recipient_of(KEY.public), age_encryption.age_identity_of(KEY)
LONG = bytes(range(256)) * 800
"""More than three pieces of 64 KiB."""


def encrypted(content: bytes, *recipients: str) -> bytes:
    target = io.BytesIO()
    with age_encryption.encrypt_stream(target, recipients or [RECIPIENT]) as stream:
        stream.write(content)
    return target.getvalue()


def opened(sealed: bytes, *identities: str, passphrase: str | None = None) -> bytes:
    target = io.BytesIO()
    age_encryption.decrypt_file(io.BytesIO(sealed), target, identities or [IDENTITY], passphrase)
    return target.getvalue()


def header_size(sealed: bytes) -> int:
    return age_header.read_age_header(io.BytesIO(sealed)).size


def flipped(sealed: bytes, place: int) -> bytes:
    return sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]


@settings(max_examples=25)
@given(st.binary(max_size=300_000))
def test_what_was_encrypted_opens_again(content: bytes) -> None:
    assert opened(encrypted(content)) == content


def test_another_program_opens_it_with_the_identity_of_the_words() -> None:
    assert pyrage.decrypt(encrypted(LONG), [pyrage.x25519.Identity.from_str(IDENTITY)]) == LONG


def test_another_program_knows_the_recipient_by_the_identity() -> None:
    assert str(pyrage.x25519.Identity.from_str(IDENTITY).to_public()) == RECIPIENT


def test_what_another_program_encrypted_for_the_key_opens() -> None:
    sealed = pyrage.encrypt(LONG, [pyrage.x25519.Recipient.from_str(RECIPIENT)])
    assert opened(sealed) == LONG


def test_an_armored_file_opens() -> None:
    sealed = pyrage.encrypt(LONG, [pyrage.x25519.Recipient.from_str(RECIPIENT)], armored=True)
    assert age_encryption.is_age(io.BytesIO(sealed))
    assert opened(sealed) == LONG


def test_every_recipient_opens_it() -> None:
    sealed = encrypted(b"for two", RECIPIENT, age_encryption.age_recipient_of(OTHER.public))
    assert opened(sealed) == opened(sealed, age_encryption.age_identity_of(OTHER)) == b"for two"
    assert age_header.read_age_header(io.BytesIO(sealed)).stanzas == ("X25519", "X25519")


def test_a_former_key_still_opens_what_was_made_for_it() -> None:
    assert opened(encrypted(b"old"), age_encryption.age_identity_of(OTHER), IDENTITY) == b"old"


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(NotForYourKey):
        opened(encrypted(LONG), age_encryption.age_identity_of(OTHER))


def test_nothing_of_the_content_stands_in_the_file() -> None:
    assert b"a fake secret" not in encrypted(b"a fake secret" * 100)


SEALED = encrypted(b"x" * 70_000)
PLACES = st.floats(0, 1, exclude_max=True).map(lambda share: int(share * len(SEALED)))


@settings(max_examples=60)
@given(PLACES)
def test_any_flipped_bit_is_noticed(place: int) -> None:
    with pytest.raises(AgeError):
        opened(flipped(SEALED, place))


@settings(max_examples=60)
@given(PLACES)
def test_any_cut_is_noticed(length: int) -> None:
    with raises_code(AgeError.CUT_SHORT):
        opened(SEALED[:length])


@pytest.mark.parametrize("piece", [0, 1, 2])
def test_a_flipped_bit_is_told_from_a_missing_end(piece: int) -> None:
    sealed = encrypted(LONG)
    with raises_code(AgeError.CHANGED):
        opened(flipped(sealed, header_size(sealed) + 16 + piece * 65_552 + 100))


def test_a_file_that_ends_between_two_pieces_is_cut_short() -> None:
    sealed = encrypted(LONG)
    with raises_code(AgeError.CUT_SHORT):
        opened(sealed[: header_size(sealed) + 16 + 65_552])


def test_a_file_that_something_was_added_to_does_not_open() -> None:
    with pytest.raises(AgeError):
        opened(encrypted(LONG) + b"more")


def test_a_changed_header_is_told() -> None:
    sealed = encrypted(LONG)
    with raises_code(AgeError.CHANGED):
        opened(flipped(sealed, header_size(sealed) - 5))


@pytest.mark.parametrize("text", [b"PK\x03\x04 a plain archive" * 20, b"\x00" * 400, b"{}" * 100])
def test_what_is_no_such_file_is_said_to_be_none(text: bytes) -> None:
    assert not age_encryption.is_age(io.BytesIO(text))
    with raises_code(AgeError.NOT_AGE):
        opened(text)


def test_a_version_that_is_not_known_is_named_as_such() -> None:
    sealed = encrypted(b"tomorrow").replace(b"/v1\n", b"/v9\n", 1)
    assert age_encryption.is_age(io.BytesIO(sealed))
    with raises_code(AgeError.NOT_AGE, match="version"):
        opened(sealed)


PASSPHRASE = "an invented passphrase"


@pytest.fixture(scope="module")
def with_passphrase() -> bytes:
    return encrypt_with_little_work(b"words", PASSPHRASE)


def test_a_passphrase_opens_what_it_closed() -> None:
    target = io.BytesIO()
    with age_encryption.encrypt_stream_with_passphrase(target, PASSPHRASE) as stream:
        stream.write(b"words")
    assert opened(target.getvalue(), passphrase=PASSPHRASE) == b"words"


def test_a_passphrase_opens_what_another_program_closed(with_passphrase: bytes) -> None:
    assert opened(with_passphrase, passphrase=PASSPHRASE) == b"words"
    assert pyrage.passphrase.decrypt(with_passphrase, PASSPHRASE) == b"words"
    assert opened(encrypt_with_little_work(LONG, PASSPHRASE), passphrase=PASSPHRASE) == LONG


def test_a_file_with_a_passphrase_asks_for_it(with_passphrase: bytes) -> None:
    with raises_code(AgeError.PASSPHRASE_NEEDED):
        opened(with_passphrase)


def test_another_passphrase_does_not_open_it(with_passphrase: bytes) -> None:
    with raises_code(AgeError.WRONG_PASSPHRASE):
        opened(with_passphrase, passphrase="another one")


def test_a_changed_byte_under_a_passphrase_is_noticed(with_passphrase: bytes) -> None:
    with raises_code(AgeError.CHANGED):
        opened(flipped(with_passphrase, len(with_passphrase) - 2), passphrase=PASSPHRASE)


def test_a_header_that_asks_for_years_of_work_is_refused(with_passphrase: bytes) -> None:
    kind, salt, work = with_passphrase.splitlines()[1].removeprefix(b"-> ").split()
    hard = with_passphrase.replace(b" ".join((kind, salt, work)), b" ".join((kind, salt, b"40")))
    with raises_code(AgeError.EXCESSIVE_WORK):
        opened(hard, passphrase=PASSPHRASE)


def test_the_limit_of_work_does_not_depend_on_how_fast_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's limit follows the machine's speed; here it is set so low that it refuses, and the file still
    opens."""
    sealed = encrypt_with_little_work(b"words", PASSPHRASE, work=16)
    assert opened(sealed, passphrase=PASSPHRASE) == b"words"
    monkeypatch.setattr(age_scrypt, "MOST_WORK", 15)
    with raises_code(AgeError.EXCESSIVE_WORK, match=r"2\^16 rounds .* 2\^15"):
        opened(sealed, passphrase=PASSPHRASE)


def test_the_library_never_sees_the_work_that_a_file_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    light = age_scrypt.rewrap_with_little_work

    def watched(sealed: bytes, passphrase: str) -> bytes:
        seen.append(light(sealed, passphrase))
        return seen[-1]

    monkeypatch.setattr(age_scrypt, "rewrap_with_little_work", watched)
    opened(encrypt_with_little_work(b"words", PASSPHRASE, work=14), passphrase=PASSPHRASE)
    assert seen[0].splitlines()[1].endswith(b" 1")


def test_a_changed_header_under_a_passphrase_is_noticed(with_passphrase: bytes) -> None:
    end = with_passphrase.index(b"\n--- ") + 5
    other = b"B" if with_passphrase[end : end + 1] != b"B" else b"C"
    with raises_code(AgeError.CHANGED, match="header"):
        opened(with_passphrase[:end] + other + with_passphrase[end + 1 :], passphrase=PASSPHRASE)


def test_a_file_in_armor_opens_with_its_passphrase(with_passphrase: bytes) -> None:
    text = base64.encodebytes(with_passphrase).replace(b"\n", b"")
    lines = b"".join(text[start : start + 64] + b"\n" for start in range(0, len(text), 64))
    armored = b"-----BEGIN AGE ENCRYPTED FILE-----\n" + lines + b"-----END AGE ENCRYPTED FILE-----\n"
    assert opened(armored, passphrase=PASSPHRASE) == b"words"


def test_a_short_passphrase_is_not_written_with() -> None:
    with raises_code(AgeError.WRONG_PASSPHRASE), age_encryption.encrypt_stream_with_passphrase(io.BytesIO(), "short"):
        pass


@pytest.mark.parametrize("limit", [10])
def test_a_passphrase_is_for_files_that_fit_into_memory(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(age_encryption, "PASSPHRASE_LIMIT", limit)
    with (
        pytest.raises(AgeError, match="MiB"),
        age_encryption.encrypt_stream_with_passphrase(io.BytesIO(), PASSPHRASE) as stream,
    ):
        stream.write(b"x" * 11)


@pytest.mark.parametrize("text", ["", "age1", RECIPIENT[:-1] + "x", IDENTITY, "ssh-ed25519 AAAA"])
def test_what_is_no_recipient_is_refused_and_not_repeated(text: str) -> None:
    with raises_code(AgeError.BAD_RECIPIENT) as refused:
        age_encryption.check_recipients([text])
    assert IDENTITY not in str(refused.value)


class Full(io.BytesIO):
    def write(self, data: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_an_error_of_the_system_and_no_damage() -> None:
    with pytest.raises(OSError, match="No space"), age_encryption.encrypt_stream(Full(), [RECIPIENT]) as stream:
        for _ in range(100):
            stream.write(LONG)
    with pytest.raises(OSError, match="No space"):
        age_encryption.decrypt_file(io.BytesIO(encrypted(LONG)), Full(), [IDENTITY])


def test_an_error_of_the_one_who_writes_ends_the_encryption() -> None:
    with pytest.raises(ZeroDivisionError), age_encryption.encrypt_stream(io.BytesIO(), [RECIPIENT]) as stream:
        stream.write(LONG)
        raise ZeroDivisionError


LINES = [b"age-encryption.org/v1\n", b"-> X25519 abc\n", b"-> scrypt abc 18\n", b"--- ", b"\n", b"=" * 64]
PARTS = st.sampled_from([*LINES, b"-----BEGIN AGE ENCRYPTED FILE-----\n"])


@given(st.lists(PARTS | st.binary(max_size=80), max_size=12).map(b"".join))
def test_any_bytes_are_a_header_or_said_to_be_none(data: bytes) -> None:
    try:
        header = age_header.read_age_header(io.BytesIO(data))
    except AgeError:
        return
    assert header.size < len(data) or header.armored


@pytest.mark.parametrize("content", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_the_size_of_a_file_tells_without_a_key_whether_it_was_cut(content: int) -> None:
    size = len(encrypted(b"x" * content))
    assert age_header.may_have_size(size, content)
    assert not age_header.may_have_size(size - 600, content)
    assert not age_header.may_have_size(size + 65_536, content)
