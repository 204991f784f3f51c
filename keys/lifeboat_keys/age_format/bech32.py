"""Encode Bech32 (BIP-173) as the age format uses it for keys. The age library does the decoding."""

from __future__ import annotations

from collections.abc import Iterable

_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_GROUPS = 6


def encode_bech32(prefix: str, data: bytes) -> str:
    """Encode bytes under a prefix, in lower case. The length limit of BIP-173 does not apply in age."""
    return spell_groups(prefix, groups_of_five(data))


def groups_of_five(data: bytes) -> list[int]:
    """Return the bits of `data` in groups of five, padded with zeros."""
    bits = "".join(f"{byte:08b}" for byte in data)
    return [int(bits[place : place + 5].ljust(5, "0"), 2) for place in range(0, len(bits), 5)]


def spell_groups(prefix: str, groups: list[int]) -> str:
    """Return groups of five bits with their checksum as text."""
    expanded = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    remainder = _polymod([*expanded, *groups, *[0] * _CHECKSUM_GROUPS]) ^ 1
    checksum = [remainder >> 5 * (5 - place) & 31 for place in range(_CHECKSUM_GROUPS)]
    return prefix + "1" + "".join(_ALPHABET[group] for group in [*groups, *checksum])


def _polymod(groups: Iterable[int]) -> int:
    value = 1
    for group in groups:
        top = value >> 25
        value = (value & 0x1FFFFFF) << 5 ^ group
        for place, generator in enumerate(_GENERATOR):
            if top >> place & 1:
                value ^= generator
    return value
