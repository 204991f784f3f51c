"""Names by which an endpoint is reached, for its certificate and for join lines."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

import psutil

from lifeboat_vault.errors import CannotServe

_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\Z")
_ANY = ("0.0.0.0", "::")


def parse_listen(text: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT or [ADDRESS]:PORT; port 0 for any. Raises CannotServe."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise CannotServe(
            f"{text!r} is not in the form HOST:PORT", fix="lifeboat endpoint serve --listen 0.0.0.0:8443 --data DIR"
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether a host to listen on, or the address of a client, is this machine only."""
    if host == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def certificate_names(host: str, public_url: str, more: Iterable[str]) -> set[str]:
    """Return all present names of this machine. Raises CannotServe for a text that is neither a host nor an address."""
    found = {"localhost", "127.0.0.1", "::1", *more}
    own = socket.gethostname().lower()
    if _HOST.match(own):
        found |= {own, f"{own.partition('.')[0]}.local"}
    if host in _ANY:
        found |= set(list_addresses())
    else:
        found.add(host)
    public = urlsplit(public_url).hostname
    if public:
        found.add(public)
    return {_checked(name) for name in found}


def list_addresses() -> list[str]:
    """Return the addresses by which other machines may reach this one."""
    found = []
    for each in psutil.net_if_addrs().values():
        for address in each:
            if address.family in (socket.AF_INET, socket.AF_INET6):
                plain = ipaddress.ip_address(address.address.partition("%")[0])
                if not plain.is_loopback and not plain.is_link_local:
                    found.append(str(plain))
    return sorted(set(found))


def guess_host(host: str) -> str:
    """Guess the name of this machine for clients when it listens on `host`."""
    if host not in _ANY:
        return host
    return _outward() or next(iter(list_addresses()), None) or socket.gethostname().lower()


def make_url(scheme: str, host: str, port: int) -> str:
    """Return an address without a slash at its end."""
    shown = f"[{host}]" if ":" in host else host
    standard = {"https": 443, "http": 80}[scheme]
    return f"{scheme}://{shown}" if port == standard else f"{scheme}://{shown}:{port}"


def check_url(text: str, *, plain: bool) -> str:
    """Return a public URL without a slash at its end. Raises CannotServe."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        raise CannotServe(f"{text!r} is not a URL") from None
    schemes = ("http", "https") if plain else ("https",)
    if parts.scheme not in schemes or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
        raise CannotServe(f"{text!r} is not in the form {' or '.join(schemes)}://HOST[:PORT][/PATH]")
    return text.rstrip("/")


def _outward() -> str | None:
    """Return the address from which this machine would send, without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if found in _ANY else found


def _checked(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        pass
    plain = name.lower().rstrip(".")
    wildcard = plain.removeprefix("*.")
    if not _HOST.match(wildcard):
        raise CannotServe(
            f"{name!r} is neither a host name nor an IP address", fix="lifeboat endpoint serve --name HOST ..."
        )
    return plain
