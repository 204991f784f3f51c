"""The endpoint's own authority: identified by its key, renewed before a certificate ends."""

from __future__ import annotations

import stat
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_endpoint.server.tls import (
    CA_CERTIFICATE,
    CA_KEY,
    CERTIFICATE,
    KEY,
    CertificateAuthority,
    names_of,
    pin_of,
)
from support.vault.vaults import ManualClock

NAMES = {"localhost", "endpoint.example.com", "192.0.2.7", "2001:db8::1"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def authority(tmp_path: Path, clock: ManualClock) -> CertificateAuthority:
    return CertificateAuthority(tmp_path / "tls", files=SystemFiles(), clock=clock)


def served(folder: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / "tls" / CERTIFICATE).read_bytes())


def test_the_certificate_is_for_all_names_and_signed_by_the_authority(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    made = authority.certificate(NAMES)
    chain = x509.load_pem_x509_certificates(made.certificate.read_bytes())
    assert names_of(chain[0]) == NAMES
    chain[0].verify_directly_issued_by(chain[1])
    assert pin_of(chain[1]) == made.pin == pin_of(x509.load_pem_x509_certificate(made.authority))


def test_keys_are_for_their_owner_only(authority: CertificateAuthority, tmp_path: Path) -> None:
    authority.certificate(NAMES)
    for name in (CA_KEY, KEY):
        assert stat.S_IMODE((tmp_path / "tls" / name).stat().st_mode) == 0o600


def test_what_is_good_stays(authority: CertificateAuthority, tmp_path: Path, clock: ManualClock) -> None:
    authority.certificate(NAMES)
    before = served(tmp_path)
    clock.advance(days=100)
    authority.certificate(NAMES - {"localhost"})
    assert served(tmp_path) == before


def test_a_certificate_is_renewed_weeks_before_it_ends(
    authority: CertificateAuthority, tmp_path: Path, clock: ManualClock
) -> None:
    pin = authority.certificate(NAMES).pin
    before = served(tmp_path)
    clock.moment = before.not_valid_after_utc - timedelta(days=59)
    assert authority.certificate(NAMES).pin == pin
    after = served(tmp_path)
    assert after.not_valid_after_utc > before.not_valid_after_utc


def test_a_new_name_is_added(authority: CertificateAuthority, tmp_path: Path) -> None:
    authority.certificate(NAMES)
    authority.certificate({*NAMES, "lifeboat.example.com"})
    assert "lifeboat.example.com" in names_of(served(tmp_path))


def test_the_authority_is_renewed_under_the_same_pin(
    authority: CertificateAuthority, tmp_path: Path, clock: ManualClock
) -> None:
    first = authority.certificate(NAMES)
    clock.advance(days=3650 - 700)
    second = authority.certificate(NAMES)
    assert (first.pin, first.authority) != (second.pin, second.authority)
    assert first.pin == second.pin
    old = x509.load_pem_x509_certificate(first.authority)
    served(tmp_path).verify_directly_issued_by(old)


def test_a_certificate_of_another_authority_is_replaced(authority: CertificateAuthority, tmp_path: Path) -> None:
    authority.certificate(NAMES)
    (tmp_path / "tls" / CA_KEY).unlink()
    (tmp_path / "tls" / CA_CERTIFICATE).unlink()
    again = authority.certificate(NAMES)
    served(tmp_path).verify_directly_issued_by(x509.load_pem_x509_certificate(again.authority))


def test_an_authority_that_cannot_be_read_is_never_replaced(authority: CertificateAuthority, tmp_path: Path) -> None:
    authority.certificate(NAMES)
    (tmp_path / "tls" / CA_KEY).write_bytes(b"damaged")
    with pytest.raises(OSError, match="no private key"):
        authority.certificate(NAMES)
