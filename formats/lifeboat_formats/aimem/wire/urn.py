"""Names of chunks and entities: `urn:aimem:<producer>:<local>` (section 2.3), and how they become ids of records.

Beyond its namespace a name says nothing: it is compared byte for byte. What this installation writes itself uses
letters, digits, `.`, `_`, `~` and `-` only, since the draft allows characters that no URN may have (RFC 8141).
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
    """The parts of a name, None for what is none."""
    found = _URN.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else Urn(found[1], found[2])


def is_namespace(text: object) -> bool:
    """Whether a producer may be called so."""
    return isinstance(text, str) and _NAMESPACE.fullmatch(text) is not None


def mint_urn(producer: str, local: str) -> str:
    """A name of our own. Raises ValueError for a part that no name of ours may have."""
    if not is_namespace(producer) or _OUR_LOCAL.fullmatch(local) is None:
        raise ValueError(f"no AIMEM name can be made of {producer!r} and {local!r}")
    return str(Urn(producer, local))


def of_record(producer: str, record_id: str) -> str:
    """The name of a record under our own namespace. Raises ValueError for an id that is no UUID in lower case."""
    if _UUID.fullmatch(record_id) is None:
        raise ValueError(f"{record_id!r} is no id of a record")
    return mint_urn(producer, record_id)


def record_of(text: str, producer: str) -> str | None:
    """The id of the record that `of_record` named so; None for a name of another namespace or another make."""
    found = parse_urn(text)
    if found is None or found.producer != producer or _UUID.fullmatch(found.local) is None:
        return None
    return found.local


def record_id(text: str, created_at: str, *, own: str = "") -> str:
    """The id of the record that a chunk becomes: the one that it was named after (`own` is our namespace), else one
    derived from its name and the time it was made."""
    return record_of(text, own) or ids.derive_id(instants.parse_milliseconds(created_at), f"aimem\0{text}")


def of_entity(producer: str, kind: str, name: str) -> str:
    """The name of an entity that has none yet; the same kind and name always get the same."""
    digest = hashlib.sha256(f"{kind}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
    return mint_urn(producer, f"e-{digest[:32]}")
