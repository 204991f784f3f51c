"""HTTP addresses: which ones are allowed, and whether others could read on the way there."""

from __future__ import annotations

import ipaddress
from urllib.parse import quote, urlsplit, urlunsplit

from lifeboat_core.errors import BadSetting

_PORTS = {"https": 443, "http": 80}
_KEPT = "/%:@!$&'()*+,;=~"


def normalize_address(url: str) -> str:
    """Return an HTTP address in its normal form: lower-case scheme and host, no default port, no slash at its end.

    Raises BadSetting, which does not repeat the address: it may contain a token.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
        host = (
            (parts.hostname or "").rstrip(".").encode("idna").decode() if not _is_ip(parts.hostname) else parts.hostname
        )
    except (ValueError, UnicodeError):
        raise _refused("the URL is not valid; expected https://HOST or https://HOST:PORT") from None
    if parts.scheme not in _PORTS or not host:
        raise _refused("the URL of an endpoint must begin with https://HOST")
    if parts.username is not None or parts.password is not None:
        raise _refused("the URL must not contain a token. Use --token-stdin, or give the whole join line")
    if parts.query or parts.fragment:
        raise _refused("the URL must not contain ? or #")
    if parts.scheme == "http" and not is_loopback(host):
        raise _refused(
            "plain HTTP is allowed only for a server on this machine, because others could read the token. Use https://"
        )
    shown = f"[{host}]" if ":" in host else host
    where = shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"
    return urlunsplit((parts.scheme, where, quote(parts.path.rstrip("/"), safe=_KEPT), "", ""))


def _refused(message: str) -> BadSetting:
    return BadSetting(message, fix="lifeboat remote add --help")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its name alone."""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_host(url: str) -> str:
    return urlsplit(url).hostname or ""


def is_plain_http(url: str) -> bool:
    return urlsplit(url).scheme != "https"


def _is_ip(host: str | None) -> bool:
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return False
    return True
