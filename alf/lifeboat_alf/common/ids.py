"""Make and check ids: UUIDv7 derived from a secret seed, so that an id reveals nothing about its content."""

from __future__ import annotations

import hashlib
import os
import re
import uuid

from lifeboat_alf.common import times

SEED_BYTES = 32
_V7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def mint_id(seed: bytes, created_at: str, *parts: str, ordinal: int = 0) -> str:
    """Return a UUIDv7 whose time is `created_at` and whose other 74 bits are BLAKE2b keyed with `seed` over `parts` and
    `ordinal`.

    The same seed, time and parts give the same id. A caller that finds the id taken raises `ordinal`.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError(f"the seed for ids must have {SEED_BYTES} bytes")
    encoded = [part.encode("utf-8", "surrogateescape") for part in (*parts, str(ordinal))]
    framed = b"".join([len(data).to_bytes(8, "big") + data for data in encoded])
    digest = hashlib.blake2b(framed, key=seed, digest_size=10, person=b"lifeboat-id")
    return _version_7(times.to_milliseconds(created_at), digest.digest())


def make_id(created_at: str) -> str:
    """Return a random UUIDv7 for a time. Used for agents, vaults and credentials, which are not derived from
    anything."""
    return _version_7(times.to_milliseconds(created_at), os.urandom(10))


def derive_id(milliseconds: int, key: str) -> str:
    """Return the UUIDv7 of an object that another system named. The same name and time give the same id on every
    machine.

    The time is clamped to 48 bits; the other bits are SHA-256 over `key`.
    """
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    octets = bytearray(min(max(milliseconds, 0), (1 << 48) - 1).to_bytes(6, "big") + digest[:10])
    octets[6] = 0x70 | octets[6] & 0x0F
    octets[8] = 0x80 | octets[8] & 0x3F
    return str(uuid.UUID(bytes=bytes(octets)))


def _version_7(milliseconds: int, random: bytes) -> str:
    bits = int.from_bytes(random, "big")
    value = (milliseconds & (1 << 48) - 1) << 80
    value |= 0x7 << 76 | (bits >> 62 & 0xFFF) << 64 | 0b10 << 62 | bits & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def as_uuid(text: str) -> str:
    """Return the local id of an agent: a UUID in lower case. Other writers use ids such as `ada` or `../../x`; for
    those the UUID is derived from the id, so that it can be part of a file name."""
    if is_uuid(text):
        return text.lower()
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=b"lifeboat-agent")
    return str(uuid.UUID(bytes=digest.digest(), version=5))


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID of any version, in any case, with hyphens."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def is_version_7(text: str) -> bool:
    """Return whether an id fits the memory-record schema."""
    return _V7.fullmatch(text) is not None
