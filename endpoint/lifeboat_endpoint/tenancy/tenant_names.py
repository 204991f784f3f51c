"""Names of tenants and tokens: a line that people can type and every terminal can show."""

from __future__ import annotations

import unicodedata

from lifeboat_alf.common import ids
from lifeboat_vault.errors import EndpointError

LONGEST = 64


def check_name(name: str) -> str:
    """Raises EndpointError for what is no name."""
    if not 0 < len(name) <= LONGEST or name != name.strip() or not name.isprintable():
        raise EndpointError(f"{name!r} is no name: 1 to {LONGEST} characters that can be printed, no space at the ends")
    if name.startswith("-") or ids.is_uuid(name):
        raise EndpointError(f"{name!r} would be taken for an option or an id")
    return name


def fold_name(name: str) -> str:
    """The same for names that people would take for one another."""
    return unicodedata.normalize("NFKC", name).casefold()
