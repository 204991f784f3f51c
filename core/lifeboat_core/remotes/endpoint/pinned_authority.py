"""Which authority a connection to an endpoint trusts: the one that its pin names, or those of the system.

The certificate of a pinned authority is kept in the home beside the remote's file, and checked against the pin whenever
it is used.
"""

from __future__ import annotations

import contextlib
import ssl

from lifeboat_core.errors import NetworkUnreachable, NotTheOne
from lifeboat_core.home.context import Context
from lifeboat_core.network import http_addresses, http_certificates
from lifeboat_core.network.http_session import HttpSession, TransferPace
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig

_LARGEST = 64 * 1024
"""Bytes of a certificate with what may surround it."""


class PinnedAuthority:
    """The authority of one remote. Its certificate is fetched when it is missing, differs from the pin, or has
    expired."""

    def __init__(self, context: Context, config: RemoteConfig, pace: TransferPace) -> None:
        self._context = context
        self._config = config
        self._pace = pace
        self._fetched = False

    @property
    def is_own(self) -> bool:
        """Whether the endpoint has an authority of its own, which is pinned."""
        return bool(self._config.pin) and not http_addresses.is_plain_http(self._config.url)

    def tls(self) -> ssl.SSLContext | None:
        """Return what to trust; None for the authorities of the system. Raises NetworkUnreachable, NotTheOne."""
        if not self.is_own:
            return None
        kept = remote_registry.load_authority(self._context, self._config.name)
        if kept is not None:
            with contextlib.suppress(NotTheOne):  # another program wrote it, or the pin is new
                return http_certificates.trust_only(http_certificates.choose_pinned(kept.encode(), self._config.pin))
        return http_certificates.trust_only(self._fetch())

    def renew(self) -> bool:
        """Fetch the certificate again unless that just happened: an authority may have renewed it with the same key.

        Return whether it changed. Raises NetworkUnreachable, NotTheOne.
        """
        if not self.is_own or self._fetched:
            return False
        return remote_registry.load_authority(self._context, self._config.name) != self._fetch()

    def _fetch(self) -> str:
        """Return the certificate that the pin names, from any server that answers: nothing secret is sent, and the
        answer is checked against the pin."""
        self._fetched = True
        session = HttpSession(self._config.url, tls=http_certificates.trust_anybody(), pace=self._pace)
        with contextlib.closing(session):
            reply = session.call("GET", http_certificates.PLACE, most=_LARGEST)
        if reply.status != 200:
            raise NetworkUnreachable(f"it does not tell the certificate of its authority ({reply.status})")
        pem = http_certificates.choose_pinned(reply.body, self._config.pin)
        remote_registry.save_authority(self._context, self._config.name, pem)
        return pem
