"""An endpoint's own certificate authority and the certificate that it signs (spec §8.5.2).

The authority is an ECDSA P-256 key that never leaves `DATA/tls`. Clients identify it by the SHA-256 of its public key,
which stays when its certificate is renewed. The endpoint's certificate has all its names, is valid for some months, and
is renewed long before it ends or when a name is missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import filelock
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lifeboat_alf.seams.file_operations import FileOperations, write_atomic
from lifeboat_alf.seams.system_clock import Clock

FOLDER = "tls"
"""Name of the folder inside of an endpoint's folder."""
CA_CERTIFICATE, CA_KEY = "ca.pem", "ca.key"
CERTIFICATE, KEY = "endpoint.pem", "endpoint.key"
_CA_LIFE, _CA_RENEWED = timedelta(days=3650), timedelta(days=730)
_LIFE, _RENEWED = timedelta(days=180), timedelta(days=60)
_CLOCKS_DIFFER = timedelta(days=1)
_ENDLESS_NAME = 64
"""The longest common name that X.509 allows."""


@dataclass(frozen=True, slots=True)
class ServedCertificate:
    """The certificate for TLS. `authority` in PEM and `pin` (see `pin_of`) are empty for a given certificate, whose
    authority is not the endpoint's."""

    certificate: Path
    key: Path
    authority: bytes = b""
    pin: str = ""


class CertificateAuthority:
    """The authority in a folder, made if there is none, and the certificate that it signs. Several processes may use a
    folder."""

    def __init__(self, folder: Path, *, files: FileOperations, clock: Clock) -> None:
        self._folder = folder
        self._files = files
        self._clock = clock

    def certificate(self, names: Collection[str]) -> ServedCertificate:
        """Return a certificate for all `names` (hosts and addresses) that does not end soon; make one if needed. Raises
        OSError."""
        self._files.make_folders(self._folder, 0o700)
        with self._alone():
            authority, key = self._authority()
            if not self._is_good(authority, names):
                self._sign(authority, key, names)
        pem = authority.public_bytes(serialization.Encoding.PEM)
        return ServedCertificate(self._folder / CERTIFICATE, self._folder / KEY, pem, pin_of(authority))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with filelock.FileLock(self._folder / "lock", mode=0o600):
            yield

    def _authority(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        key = self._read_key()
        if key is None:
            key = ec.generate_private_key(ec.SECP256R1())
            self._write(CA_KEY, _private(key))
        certificate = self._read(CA_CERTIFICATE)
        if (
            certificate is None
            or not self._lasts(certificate, _CA_RENEWED)
            or certificate.public_key() != key.public_key()
        ):
            certificate = _authority_of(key, self._clock.now())
            self._write(CA_CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))
        return certificate, key

    def _is_good(self, authority: x509.Certificate, names: Collection[str]) -> bool:
        found = self._read(CERTIFICATE)
        if found is None or not (self._folder / KEY).exists() or not self._lasts(found, _RENEWED):
            return False
        return set(names) <= names_of(found) and _signed_by(found, authority)

    def _sign(self, authority: x509.Certificate, key: ec.EllipticCurvePrivateKey, names: Collection[str]) -> None:
        """Sign a certificate. An existing key is kept, so that a server that reads the files meanwhile gets a matching
        pair."""
        own = self._read_key(KEY)
        if own is None:
            own = ec.generate_private_key(ec.SECP256R1())
            self._write(KEY, _private(own))
        certificate = _certificate_of(own, authority, key, names, self._clock.now())
        chain = certificate.public_bytes(serialization.Encoding.PEM) + authority.public_bytes(
            serialization.Encoding.PEM
        )
        self._write(CERTIFICATE, chain)

    def _lasts(self, certificate: x509.Certificate, margin: timedelta) -> bool:
        now = self._clock.now()
        return certificate.not_valid_before_utc <= now and now + margin < certificate.not_valid_after_utc

    def _read(self, name: str) -> x509.Certificate | None:
        with contextlib.suppress(FileNotFoundError, ValueError):
            return x509.load_pem_x509_certificate((self._folder / name).read_bytes())
        return None

    def _read_key(self, name: str = CA_KEY) -> ec.EllipticCurvePrivateKey | None:
        """Read a key. One that exists and cannot be read is not replaced, because clients identify the authority by
        it."""
        try:
            found = serialization.load_pem_private_key((self._folder / name).read_bytes(), None)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise OSError(f"{self._folder / name} contains no private key") from error
        if not isinstance(found, ec.EllipticCurvePrivateKey):
            raise OSError(f"{self._folder / name} contains another type of key")
        return found

    def _write(self, name: str, data: bytes) -> None:
        write_atomic(self._files, self._folder / name, data, mode=0o600)


def pin_of(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the SubjectPublicKeyInfo (DER), in hexadecimal."""
    public = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(public).hexdigest()


def find_certificate_end(folder: Path) -> datetime | None:
    """Return when the endpoint's own certificate ends, None if there is none. Raises OSError."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return x509.load_pem_x509_certificate((folder / CERTIFICATE).read_bytes()).not_valid_after_utc
    return None


def names_of(certificate: x509.Certificate) -> set[str]:
    """Return the hosts and addresses of a certificate."""
    with contextlib.suppress(x509.ExtensionNotFound):
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        hosts = found.get_values_for_type(x509.DNSName)
        return {*hosts, *(str(address) for address in found.get_values_for_type(x509.IPAddress))}
    return set()


def _authority_of(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = _named(f"Lifeboat endpoint {_key_id(key)}")
    return (
        _builder(name, name, key.public_key(), now, _CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _certificate_of(
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    names: Collection[str],
    now: datetime,
) -> x509.Certificate:
    ordered = sorted(names)
    subject = _named((ordered[0] if ordered else "endpoint")[:_ENDLESS_NAME])
    # A certificate must not outlive its authority.
    life = min(_LIFE, authority.not_valid_after_utc - now)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _builder(subject, authority.subject, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in ordered]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _key_id(key: ec.EllipticCurvePrivateKey) -> str:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest.hex()[:8]


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # a wrong name, algorithm or signature has an exception class of its own
        return False
    return True


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
