"""Whom to trust: the authorities of the system, or the one authority whose public key was pinned.

A pin is the SHA-256 (hex) of the SubjectPublicKeyInfo of an authority. Its certificate is no secret: it is fetched over
an unauthenticated connection that carries no secret, and counts if its key is the pinned one. From then on only this
authority is trusted, with the usual check of the host's name. TLS 1.3 is required.
"""

from __future__ import annotations

import hashlib
import ssl
from typing import TYPE_CHECKING

from lifeboat_core.errors import NotTheOne
from lifeboat_core.network import http_requests

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

PLACE = "/ca.pem"
"""Where an endpoint publishes the certificate of its authority."""
_EXPIRED, _NOT_YET, _OTHER_HOST, _OTHER_ADDRESS = 10, 9, 62, 64
_TIMES = (
    "the server's certificate has expired or is not valid yet; its renewal may have failed, or a clock may be wrong"
)
_HOST = "the server's certificate was issued for another host name"
_WHY = {_EXPIRED: _TIMES, _NOT_YET: _TIMES, _OTHER_HOST: _HOST, _OTHER_ADDRESS: _HOST}
"""OpenSSL's reasons against a certificate, by their number."""
_OLD_TLS = frozenset({"TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"})
"""OpenSSL's codes for a peer that speaks older versions only."""


def trust_system() -> ssl.SSLContext:
    """Trust the authorities of the system."""
    return _at_least_1_3(http_requests.load_system_certificates())


def trust_only(authority: str) -> ssl.SSLContext:
    """Trust one authority (PEM) and nothing else. Raises NotTheOne for an invalid certificate."""
    context = _at_least_1_3(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    try:
        context.load_verify_locations(cadata=authority)
    except (ssl.SSLError, ValueError):
        raise NotTheOne("the certificate of the server's certificate authority is invalid") from None
    return context


def trust_anybody() -> ssl.SSLContext:
    """Trust any server, for what is not secret and verified separately."""
    context = _at_least_1_3(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def disable_tls() -> ssl.SSLContext:
    """Trust no server: for plain HTTP on this machine."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _at_least_1_3(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def choose_pinned(pem: bytes, pin: str) -> str:
    """Return the certificate in `pem` whose key is pinned, as PEM. Raises NotTheOne."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    try:
        found = x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise NotTheOne("the certificate of the server's certificate authority is invalid") from None
    for certificate in found:
        if _pin_of(certificate) == pin:
            return certificate.public_bytes(Encoding.PEM).decode()
    raise NotTheOne("the server's certificate authority does not have the key that is pinned for this remote")


def compute_pin(pem: bytes) -> str:
    """Return the pin of the first certificate in `pem`. Raises ValueError."""
    from cryptography import x509

    return _pin_of(x509.load_pem_x509_certificate(pem))


def _pin_of(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(key).hexdigest()


def explain_tls_failure(error: BaseException | None) -> str | None:
    """Return what is wrong with a certificate or with the server's TLS; None for another problem."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return _WHY.get(error.verify_code, "")
        if isinstance(error, ssl.SSLError) and error.reason in _OLD_TLS:
            return "the server does not support TLS 1.3"
        error = error.__cause__ or error.__context__
    return None
