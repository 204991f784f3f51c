"""The join line: everything that another machine needs to reach an endpoint, in one line.

    lifeboat+https://TOKEN@HOST:PORT/PATH?pin=HEX

`pin` is the SHA-256 of the SubjectPublicKeyInfo (DER) of the authority that signed the endpoint's certificate; it is
missing for a publicly trusted certificate and for plain HTTP, which works on one machine only. The line
contains the token and must be kept secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from lifeboat_vault.errors import RemoteError

PREFIX = "lifeboat+"
_PIN = re.compile(r"[0-9a-f]{64}\Z")
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{1,512}\Z")


@dataclass(frozen=True, slots=True)
class JoinLine:
    """Content of a join line. `url` is the endpoint's address without a trailing slash, `pin` 64 hexadecimal digits or
    ""."""

    url: str
    token: str
    pin: str = ""

    def __repr__(self) -> str:
        return f"Join(url={self.url!r}, token=..., pin={self.pin!r})"


def is_join_line(text: str) -> bool:
    """Return whether a text is meant as a join line, valid or not."""
    return text.strip().lower().startswith(PREFIX)


def format_join_line(join: JoinLine) -> str:
    """Return the line. Raises RemoteError.JOIN_INVALID where it could not be parsed again."""
    parts = urlsplit(join.url)
    userinfo = quote(join.token, safe="")
    query = f"?pin={join.pin}" if join.pin else ""
    text = f"{PREFIX}{parts.scheme}://{userinfo}@{parts.netloc}{parts.path.rstrip('/')}/{query}"
    if parse_join_line(text) != JoinLine(join.url.rstrip("/"), join.token, join.pin):
        raise RemoteError.JOIN_INVALID("the given parts do not form a valid join line")
    return text


def parse_join_line(text: str) -> JoinLine:
    """Return the content of a line. Raises RemoteError.JOIN_INVALID; its message never repeats the line, which contains
    a token."""
    text = text.strip()
    if not is_join_line(text):
        raise RemoteError.JOIN_INVALID(f"a join line begins with {PREFIX}https://")
    scheme, host, path, userinfo, query = _parts(text[len(PREFIX) :])
    token, pin = unquote(userinfo), query.get("pin", [""])[0].lower()
    if scheme not in ("https", "http"):
        raise RemoteError.JOIN_INVALID(f"a join line begins with {PREFIX}https://")
    if not _TOKEN.match(token):
        raise RemoteError.JOIN_INVALID("the join line contains no token; check that you copied the whole line")
    if pin and not _PIN.match(pin):
        raise RemoteError.JOIN_INVALID(
            "the pin in the join line must have 64 hexadecimal digits; check that you copied the whole line"
        )
    return JoinLine(f"{scheme}://{host}{path.rstrip('/')}", token, pin)


def _parts(address: str) -> tuple[str, str, str, str, dict[str, list[str]]]:
    """Return scheme, host with port, path, user info, and query."""
    try:
        found = urlsplit(address)
        found.port  # noqa: B018 - raises for a port that is none
        userinfo, _, host = found.netloc.rpartition("@")
        query = parse_qs(found.query, strict_parsing=bool(found.query))
    except ValueError:
        raise RemoteError.JOIN_INVALID("the address in the join line is not a valid URL") from None
    if not found.hostname or found.fragment:
        raise RemoteError.JOIN_INVALID("the address in the join line contains no host name")
    return found.scheme.lower(), host, found.path, userinfo, query
