"""Names of chunks and entities, `urn:aimem:<producer>:<local>` (section 2.3), and the record ids derived from them.

Names are compared byte for byte; only their namespace has a meaning. Our own names use letters, digits, `.`, `_`, `~`
and `-` only, because the draft allows characters that RFC 8141 does not.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from lifeboat_alf.common import ids
from lifeboat_formats.aimem.wire import instants

_NAMESPACE = re.compile(r"[a-z0-9-]{1,63}")
_URN = re.compile(r"urn:aimem:([a-z0-9-]{1,63}):([!-9;-~]{1,256})")
_OUR_LOCAL = re.compile(r"[A-Za-z0-9._~-]{1,256}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Urn(NamedTuple):
    """A name in its two parts."""

    producer: str
    local: str

    def __str__(self) -> str:
        return f"urn:aimem:{self.producer}:{self.local}"


def parse_urn(text: object) -> Urn | None:
    """Return the parts of a name, or None if it is invalid."""
    found = _URN.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else Urn(found[1], found[2])


def is_namespace(text: object) -> bool:
    """Return whether a value is a valid producer."""
    return isinstance(text, str) and _NAMESPACE.fullmatch(text) is not None


def mint_urn(producer: str, local: str) -> str:
    """Return a name of our own. Raises ValueError for parts that our names do not allow."""
    if not is_namespace(producer) or _OUR_LOCAL.fullmatch(local) is None:
        raise ValueError(f"{producer!r} and {local!r} do not form an AIMEM name")
    return str(Urn(producer, local))


def of_record(producer: str, record_id: str) -> str:
    """Return the name of a record in our namespace. Raises ValueError for an id that is not a lower-case UUID."""
    if _UUID.fullmatch(record_id) is None:
        raise ValueError(f"{record_id!r} is not a record id")
    return mint_urn(producer, record_id)


def parse_record_urn(text: str, producer: str) -> str | None:
    """Return the record id in a name that `of_record` made, or None."""
    found = parse_urn(text)
    if found is None or found.producer != producer or _UUID.fullmatch(found.local) is None:
        return None
    return found.local


def record_id(text: str, created_at: str, *, own: str = "") -> str:
    """Return the id of the record that a chunk becomes: the one in its name (`own` is our namespace), else one derived
    from its name and creation time."""
    return parse_record_urn(text, own) or ids.derive_id(instants.parse_milliseconds(created_at), f"aimem\0{text}")


def of_entity(producer: str, kind: str, name: str) -> str:
    """Return the name of an entity that has none yet. Equal kinds and names give equal results."""
    digest = hashlib.sha256(f"{kind}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
    return mint_urn(producer, f"e-{digest[:32]}")
