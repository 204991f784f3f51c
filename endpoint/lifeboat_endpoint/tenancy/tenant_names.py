"""Names of tenants and tokens: one line that can be typed and shown in every terminal."""

from __future__ import annotations

import unicodedata

from lifeboat_alf.common import ids
from lifeboat_vault.errors import EndpointError

LONGEST = 64


def check_name(name: str) -> str:
    """Return a valid name. Raises EndpointError."""
    if not 0 < len(name) <= LONGEST or name != name.strip() or not name.isprintable():
        raise EndpointError(f"{name!r} is no name: 1 to {LONGEST} characters that can be printed, no space at the ends")
    if name.startswith("-") or ids.is_uuid(name):
        raise EndpointError(f"{name!r} would be taken for an option or an id")
    return name


def fold_name(name: str) -> str:
    """Return a key that is equal for names that look the same to people."""
    return unicodedata.normalize("NFKC", name).casefold()
