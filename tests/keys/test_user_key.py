"""The user's key: two pairs derived from one secret, an id derived from the public halves."""

from __future__ import annotations

import nacl.exceptions
import nacl.public
import nacl.signing
import pytest

from lifeboat_keys.pairs.user_key import UserKey, UserPublic


def test_a_key_comes_back_from_its_words_with_both_pairs() -> None:
    key = UserKey.generate()
    again = UserKey.from_words(key.words())
    assert again.public == key.public
    assert again.key_id == key.key_id


def test_what_a_key_yields_never_changes() -> None:
    # A change here would lose every credential that was ever sealed.
    public = UserKey(bytes(32)).public
    assert public.to_json() == {
        "key_id": "39cec2099a9ae613e34a682d9eb064ab",
        "box": "qVxQpvolF6QjdvUlwJ0JxoMElNp2yFawA0ExORA8s34=",
        "sign": "OAP5+K3AcJlKG6tIY5HfF1Dt2r0X1me4UfOGaLdn7f8=",
    }


def test_two_keys_share_nothing() -> None:
    one, other = UserKey.generate().public, UserKey.generate().public
    assert len({one.box, one.sign, other.box, other.sign}) == 4
    assert one.key_id != other.key_id


def test_the_pairs_do_what_they_are_for() -> None:
    key = UserKey.generate()
    sealed = nacl.public.SealedBox(nacl.public.PublicKey(key.public.box)).encrypt(b"half")
    assert key.open_box(sealed) == b"half"
    nacl.signing.VerifyKey(key.public.sign).verify(b"message", key.sign(b"message"))
    with pytest.raises(nacl.exceptions.CryptoError):
        UserKey.generate().open_box(sealed)


def test_the_secret_shows_in_no_repr() -> None:
    key = UserKey(b"\x41" * 32)
    assert "AAAA" not in repr(key)
    assert "4141" not in repr(key)


def test_a_public_key_is_read_only_with_its_own_id() -> None:
    document = UserKey.generate().public.to_json()
    assert UserPublic.from_json(document).to_json() == document
    with pytest.raises(ValueError, match="key id"):
        UserPublic.from_json({**document, "key_id": "0" * 32})


@pytest.mark.parametrize("document", [None, [], {}, {"box": 1, "sign": 2}, {"box": "AA==", "sign": "AA=="}])
def test_a_public_key_of_the_wrong_shape_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        UserPublic.from_json(document)


def test_a_key_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        UserKey(bytes(31))
