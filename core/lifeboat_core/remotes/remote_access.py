"""What a user gives to add a second copy: an address, or the join line of an endpoint, which holds address, pin and
token."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_core.errors import BadSetting
from lifeboat_core.remotes import remote_kinds
from lifeboat_vault.remote import join_lines

_PIN_LENGTH = 64
_PIN_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """Where a second copy is, and what its owner gave for access. `url` is in its normal form."""

    url: str
    pin: str = ""
    token: str | None = field(default=None, repr=False)


def parse_remote_access(text: str, *, pin: str | None = None, token: str | None = None) -> RemoteAccess:
    """Return the parts of a join line or an address; `pin` and `token` are those that were given beside it.

    Raises RemoteError.JOIN_INVALID, BadSetting (neither repeats a token).
    """
    if join_lines.is_join_line(text):
        found = join_lines.parse_join_line(text)
        given = RemoteAccess(remote_kinds.check_url(found.url), found.pin, found.token)
    else:
        given = RemoteAccess(remote_kinds.check_url(text.strip()))
    return RemoteAccess(given.url, given.pin if pin is None else check_pin(pin), token or given.token)


def holds_token(text: str) -> bool:
    """Return whether a text is a join line, which gives access to everyone who has it."""
    return join_lines.is_join_line(text)


def check_pin(pin: str) -> str:
    """Return a pin in its normal form: 64 lower-case hexadecimal digits. Colons and `sha256:` are accepted. Raises
    BadSetting."""
    text = pin.strip().lower().removeprefix(_PIN_PREFIX).replace(":", "")
    if len(text) != _PIN_LENGTH or not all(digit in "0123456789abcdef" for digit in text):
        raise BadSetting(
            "a pin is 64 hexadecimal digits, as `lifeboat endpoint serve` says it", fix="lifeboat remote add --help"
        )
    return text
