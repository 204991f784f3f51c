"""Certificate authorities of endpoints, made up for a test: an authority, leaves of it, and the pin of its key."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import trustme

from lifeboat_core.network import http_certificates


class Authority:
    """One authority. `pin` is that of its key."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.pem = self._ca.cert_pem.bytes()
        self.pin = http_certificates.compute_pin(self.pem)

    def serving(
        self, *names: str, expired: bool = False, least: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    ) -> ssl.SSLContext:
        """What a server shows for these names, 127.0.0.1 unless given; `least` is also all that it speaks."""
        before = datetime.now(UTC) - timedelta(days=1) if expired else None
        leaf = self._ca.issue_cert(*(names or ("127.0.0.1",)), not_after=before)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = context.maximum_version = least
        leaf.configure_cert(context)
        return context
