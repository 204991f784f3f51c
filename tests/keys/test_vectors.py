"""Published test vectors of the cryptographic primitives, so that any conforming program opens what is sealed here."""

from __future__ import annotations

import hashlib

import nacl.bindings
import nacl.pwhash
import nacl.signing
import pyrage
import pytest

from lifeboat_keys.age_format import age_encryption, bech32
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery import bip39_words


def test_xchacha20_poly1305_of_the_ietf_draft() -> None:
    """draft-irtf-cfrg-xchacha-03, A.3.1."""
    key, nonce = bytes(range(0x80, 0xA0)), bytes(range(0x40, 0x58))
    associated = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
        b"would be it."
    )
    sealed = bytes.fromhex(
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39"
        "ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
        "21f9664c97637da9768812f615c68b13b52e"
        "c0875924c1c7987947deafd8780acf49"
    )
    encrypt = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt
    assert encrypt(text, associated, nonce, key) == sealed


def _argon2id(size: int, password: bytes, salt: bytes, operations: int, memory: int) -> str:
    return nacl.pwhash.argon2id.kdf(size, password, salt, opslimit=operations, memlimit=memory).hex()


@pytest.mark.parametrize(
    ("password", "salt", "size", "operations", "memory", "expected"),
    [
        (
            "b540beb016a5366524d4605156493f9874514a5aa58818cd0c6dfffaa9e90205f17b",
            "44071f6d181561670bda728d43fb79b4",
            231,
            1,
            1_631_659,
            "7fb72409b0987f8190c3729710e98c3f80c5a8727d425fdcde7f3644d467fe973f5b5fee683bd3fce812cb9ae5e9921a"
            "2d06c2f1905e4e839692f2b934b682f11a2fe2b90482ea5dd234863516dba6f52dc0702d324ec77d860c2e181f84472b"
            "d7104fedce071ffa93c5309494ad51623d214447a7b2b1462dc7d5d55a1f6fd5b54ce024118d86f0c6489d16545aaa87"
            "b6689dad9f2fb47fda9894f8e12b87d978b483ccd4cc5fd9595cdc7a818452f915ce2f7df95ec12b1c72e3788d473441"
            "d884f9748eb14703c21b45d82fd667b85f5b2d98c13303b3fe76285531a826b6fc0fe8e3dddecf",
        ),
        (
            "4a857e2ee8aa9b6056f2424e84d24a72473378906ee04a46cb05311502d5250b82ad86b83c8f20a23dbb74f6da60b0b6"
            "ecffd67134d45946ac8ebfb3064294bc097d43ced68642bfb8bbbdd0f50b30118f5e",
            "39d82eef32010b8b79cc5ba88ed539fb",
            190,
            3,
            1_432_947,
            "08d8cd330c57e1b4643241d05bb468ba4ee4e932cd0858816be9ef15360b27bbd06a87130ee92222be267a29b81f5ae8"
            "fe8613324cfc4832dc49387fd0602f1c57b4d0f3855db94fb7e12eb05f9a484aed4a4307abf586cd3d55c809bc081541"
            "e00b682772fb2066504ff935b8ebc551a2083882f874bc0fae68e56848ae34c91097c3bf0cca8e75c0797eef3efde3f7"
            "5e005815018db3cf7c109a812264c4de69dcb22322dbbcfa447f5b00ecd1b04a7be1569c8e556adb7bba48adf81d",
        ),
    ],
)
def test_argon2id_of_libsodium(
    password: str, salt: str, size: int, operations: int, memory: int, expected: str
) -> None:
    """test/default/pwhash_argon2id of libsodium; one lane, version 0x13."""
    assert _argon2id(size, bytes.fromhex(password), bytes.fromhex(salt), operations, memory) == expected


def test_argon2id_of_the_reference_program() -> None:
    """`echo -n 123 | argon2 ABCDEFGHIJKLMNOP -id -v 13 -k 1024 -t 5 -p 1`."""
    expected = "3c5d010180ba0cf5b6b858cba23b318e42d33088983c404598599c3b029ecac6"
    assert _argon2id(32, b"123", b"ABCDEFGHIJKLMNOP", 5, 1 << 20) == expected


BIP39 = {
    "00" * 32: "abandon " * 23 + "art",
    "7f" * 32: "legal winner thank year wave sausage worth useful " * 2
    + "legal winner thank year wave sausage worth title",
    "80" * 32: "letter advice cage absurd amount doctor acoustic avoid " * 2
    + "letter advice cage absurd amount doctor acoustic bless",
    "ff" * 32: "zoo " * 23 + "vote",
    "00ac97c48106f0aeb8ba061e0250a559b3251dc35854e694780ba51d53a50120": "absent gorilla van acoustic humor firm title "
    "dolphin bulk barely citizen recall crane moment aspect appear track phrase actual enforce steel spoon afraid "
    "benefit",
    "3edc83b60740d77af3afa2fcb82c2f1bc541ee4e2518ddef4996d32453f54a3c": "disagree tomato unique attend aspect runway "
    "solid violin witness scrap armed daring favorite warm decade perfect target kid grant play early wide cigar night",
    "89bb4bc5555992cdaf3444c5e7ca5a6e9f27efab894f1990bae41be8b2a26ea4": "meadow surge vanish primary odor grocery "
    "rubber mass shine dinner notable tag venue water purchase clarify book magic ribbon daughter menu eye ritual "
    "orchard",
    "911fec0fbd88029f6fa99164896c18d898c9232af18bdcca3e42d53b86493104": "much youth advance kitchen lens exile salt "
    "cram goose enter alert raise milk muscle profit cousin system faint mouse price reveal cause series long",
}
"""Entropy and words of the reference implementation's vectors, 24 words each."""


@pytest.mark.parametrize(("entropy", "text"), BIP39.items())
def test_the_words_of_bip39(entropy: str, text: str) -> None:
    assert bip39_words.to_words(bytes.fromhex(entropy)) == text.split()
    assert bip39_words.from_words(text).hex() == entropy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "",
            "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
            "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568",
        ),
        (
            "00",
            "961f6dd1e4dd30f63901690c512e78e4b45e4742ed197c3c5e45c549fd25f2e4"
            "187b0bc9fe30492b16b0d0bc4ef9b0f34c7003fac09a5ef1532e69430234cebd",
        ),
    ],
)
def test_blake2b_with_a_key(text: str, expected: str) -> None:
    """The known answers of BLAKE2's authors: the key is 00 01 ... 3f."""
    assert hashlib.blake2b(bytes.fromhex(text), key=bytes(range(64))).hexdigest() == expected


def test_x25519_of_rfc_7748() -> None:
    """Section 6.1: Alice and Bob."""
    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    bob = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    alices = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    bobs = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
    assert nacl.bindings.crypto_scalarmult_base(alice).hex() == alices
    assert nacl.bindings.crypto_scalarmult_base(bob).hex() == bobs
    assert nacl.bindings.crypto_scalarmult(alice, bytes.fromhex(bobs)).hex() == shared


def test_ed25519_of_rfc_8032() -> None:
    """Section 7.1, test 1: the empty message."""
    key = nacl.signing.SigningKey(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    assert bytes(key.verify_key).hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert key.sign(b"").signature.hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )


@pytest.mark.parametrize(
    ("prefix", "groups", "text"),
    [
        ("a", [], "a12uel5l"),
        ("abcdef", list(range(32)), "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"),
        ("1", [0] * 82, "11" + "q" * 82 + "c8247j"),
    ],
)
def test_bech32_of_bip_173(prefix: str, groups: list[int], text: str) -> None:
    assert bech32.spell_groups(prefix, groups) == text


def test_an_age_key_of_known_bytes() -> None:
    """The example of the age specification: an identity of 32 bytes 0x42, and its recipient."""
    identity = bech32.encode_bech32("age-secret-key-", b"\x42" * 32).upper()
    assert identity == "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
    public = nacl.bindings.crypto_scalarmult_base(b"\x42" * 32)
    recipient = bech32.encode_bech32("age", public)
    assert recipient == "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
    assert str(pyrage.x25519.Identity.from_str(identity).to_public()) == recipient


def test_the_age_key_is_derived_from_the_words_as_documented() -> None:
    """Uses none of this program's code, only the description in docs/format.md."""
    entropy = bytes(range(32))
    text = b"lifeboat user key 1: x25519, wraps agents' keys"
    secret = hashlib.blake2b(text, key=entropy, digest_size=32, person=b"lifeboat-user").digest()
    identity = pyrage.x25519.Identity.from_str(bech32.encode_bech32("age-secret-key-", secret).upper())
    key = UserKey.from_words(bip39_words.to_words(entropy))
    assert str(identity) == age_encryption.age_identity_of(key)
    assert str(identity.to_public()) == age_encryption.age_recipient_of(key.public)


def test_the_age_key_of_a_users_key_never_changes() -> None:
    """Files from years ago open with an identity made from the words today."""
    key = UserKey(bytes(range(32)))
    assert (
        age_encryption.age_recipient_of(key.public) == "age148qjsvagkczs0475v60fu4y4y7zsj9pt8gyrrdqqph6pc0me8fhsyhkurf"
    )
    assert (
        hashlib.sha256(age_encryption.age_identity_of(key).encode()).hexdigest()
        == "51be13c3cb2b47364c9f89c03fff179bca475a7c79d6900f76fbba19174efbc8"
    )
