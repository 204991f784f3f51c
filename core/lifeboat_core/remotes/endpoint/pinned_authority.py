"""Whom a connection to an endpoint believes: the authority that its pin names, kept in the home beside the remote's
file and checked against the pin whenever it is used, or what the system trusts."""

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
"""Bytes of a certificate with what may stand around it."""


class PinnedAuthority:
    """Of one remote. Its certificate is fetched when it is missing, is not the pinned one, or counts no more."""

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
        """Whom to believe; None for what the system trusts. Raises Unreachable, NotTheOne."""
        if not self.is_own:
            return None
        kept = remote_registry.load_authority(self._context, self._config.name)
        if kept is not None:
            with contextlib.suppress(NotTheOne):  # somebody else wrote it, or the pin is a new one
                return http_certificates.trust_only(http_certificates.choose_pinned(kept.encode(), self._config.pin))
        return http_certificates.trust_only(self._fetch())

    def renew(self) -> bool:
        """Fetch the certificate again, unless that was just done: an authority may have renewed it with the same key.
        Whether it is another one now. Raises Unreachable, NotTheOne."""
        if not self.is_own or self._fetched:
            return False
        return remote_registry.load_authority(self._context, self._config.name) != self._fetch()

    def _fetch(self) -> str:
        """The certificate that the pin names, from whoever answers: nothing that is secret is sent, and what comes is
        held against the pin."""
        self._fetched = True
        session = HttpSession(self._config.url, tls=http_certificates.trust_anybody(), pace=self._pace)
        with contextlib.closing(session):
            reply = session.call("GET", http_certificates.PLACE, most=_LARGEST)
        if reply.status != 200:
            raise NetworkUnreachable(f"it does not tell the certificate of its authority ({reply.status})")
        pem = http_certificates.choose_pinned(reply.body, self._config.pin)
        remote_registry.save_authority(self._context, self._config.name, pem)
        return pem
