from __future__ import annotations

import base64
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_keys.installers import install_command
from lifeboat_vault.at_rest.key_sources import key_service, key_source_registry
from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked, KeySourceAway, KeySourceRefused
from support.vault.fake_kms import ACCESS_KEY, REGION, SECRET_KEY, FakeKms, arn, fake_kms
from support.vault.key_places import behind_a_proxy

SECRET = bytes(range(200))
OUTSIDE = Path("/srv/lifeboat")


@pytest.fixture
def kms(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKms]:
    with fake_kms(monkeypatch) as made:
        yield made


def source(spec: str) -> KeySource:
    return key_source_registry.open_key_source(spec, outside=OUTSIDE)


@pytest.mark.parametrize("key", [arn(), "alias/customer"])
def test_a_key_wraps_and_unwraps_by_its_name(kms: FakeKms, key: str) -> None:
    spec = kms.spec(key, region=REGION)
    key_source_registry.make_key(spec, outside=OUTSIDE)
    wrapped = source(spec).wrap(SECRET)
    assert SECRET not in wrapped and source(spec).unwrap(wrapped) == SECRET
    assert kms.operations == ["Encrypt", "Decrypt"] * 2 and source(spec).spec == spec


def test_keys_are_kept_for_minutes_or_as_long_as_is_said(kms: FakeKms) -> None:
    assert source(kms.spec()).cache_seconds == 300.0 and source(kms.spec(cache=60)).cache_seconds == 60.0


def test_what_was_wrapped_for_one_context_opens_in_no_other(kms: FakeKms) -> None:
    wrapped = source(kms.spec(context="acme")).wrap(SECRET)
    for spec in (kms.spec(), kms.spec(context="example")):
        with pytest.raises(KeyRevoked, match="the data is protected by a different key than") as caught:
            source(spec).unwrap(wrapped)
        assert caught.value.only_this
    assert source(kms.spec(context="acme")).unwrap(wrapped) == SECRET


def test_what_another_key_wrapped_is_told_from_a_refusal(kms: FakeKms) -> None:
    kms.keys[arn("other")] = bytes(32)
    wrapped = source(kms.spec()).wrap(SECRET)
    with pytest.raises(KeyRevoked, match="the data is protected by a different key than") as caught:
        source(kms.spec(arn("other"))).unwrap(wrapped)
    assert caught.value.only_this


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "DisabledException", "KMSInvalidStateException", "NotFoundException"]
)
def test_a_key_that_is_withheld_is_revoked(kms: FakeKms, code: str) -> None:
    wrapped = source(kms.spec()).wrap(SECRET)
    kms.fails = (code, 400)
    with pytest.raises(KeyRevoked, match=code) as caught:
        source(kms.spec()).unwrap(wrapped)
    assert not caught.value.only_this and "kms:Decrypt" in str(caught.value.fix)


def test_a_key_that_may_only_decrypt_decrypts(kms: FakeKms) -> None:
    wrapped = source(kms.spec()).wrap(SECRET)
    kms.denied.add("Encrypt")
    with pytest.raises(KeyRevoked, match="refused to encrypt"):
        source(kms.spec()).wrap(SECRET)
    assert source(kms.spec()).unwrap(wrapped) == SECRET


@pytest.mark.parametrize(
    ("code", "status"),
    [("ThrottlingException", 400), ("KMSInternalException", 500), ("ServiceUnavailable", 503), ("KeyUnavailable", 500)],
)
def test_a_service_that_is_busy_is_away_and_was_asked_twice(kms: FakeKms, code: str, status: int) -> None:
    wrapped = source(kms.spec()).wrap(SECRET)
    kms.fails = (code, status)
    with pytest.raises(KeySourceAway, match=code) as caught:
        source(kms.spec()).unwrap(wrapped)
    assert caught.value.retryable and kms.operations == ["Encrypt", "Decrypt", "Decrypt"]


def test_a_service_that_nobody_serves_is_away(kms: FakeKms) -> None:
    with pytest.raises(KeySourceAway, match="EndpointConnectionError"):
        source(f"aws-kms:{arn()}?endpoint=http://127.0.0.1:1").wrap(SECRET)


@pytest.mark.parametrize("manner", ["silent", "byte_by_byte", "header_by_header"])
def test_a_service_that_stalls_is_away_in_time(kms: FakeKms, monkeypatch: pytest.MonkeyPatch, manner: str) -> None:
    monkeypatch.setattr(key_service, "_ANSWER_SECONDS", 0.5)
    kms.answer = getattr(kms.server, manner)
    with pytest.raises(KeySourceAway):
        source(kms.spec()).wrap(SECRET)


def test_credentials_that_count_no_more_are_no_revocation(kms: FakeKms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_service, "REFUSED_SECONDS", 0.0)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    with pytest.raises(KeySourceRefused, match="AWS refused the credentials"):
        source(kms.spec()).wrap(SECRET)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    source(kms.spec()).wrap(SECRET)


def test_credentials_are_looked_for_anew_when_there_were_none(kms: FakeKms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_service, "REFUSED_SECONDS", 0.0)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(KeySourceRefused, match="no credentials"):
        source(kms.spec()).wrap(SECRET)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    source(kms.spec()).wrap(SECRET)


def test_a_key_that_is_not_there_is_refused_before_data_rests_on_it(kms: FakeKms) -> None:
    with pytest.raises(KeySourceRefused, match="NotFoundException"):
        key_source_registry.make_key(kms.spec(arn("nothing")), outside=OUTSIDE)


def test_a_key_that_only_wraps_is_refused_before_data_rests_on_it(kms: FakeKms) -> None:
    kms.denied.add("Decrypt")
    with pytest.raises(KeySourceRefused, match="refused to decrypt"):
        key_source_registry.make_key(kms.spec(), outside=OUTSIDE)


def test_a_key_without_a_region_is_asked_nowhere(kms: FakeKms) -> None:
    with pytest.raises(KeySourceRefused, match="region"):
        source("aws-kms:alias/customer").wrap(SECRET)


def test_an_address_that_boto3_was_told_is_https_too(kms: FakeKms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", "http://kms.example.com")
    with pytest.raises(KeySourceRefused, match="https"):
        source(f"aws-kms:{arn()}").wrap(SECRET)


@pytest.mark.parametrize(
    "where",
    [
        "no key",
        "arn:aws:s3:eu-central-1:111122223333:key/customer",
        "arn:aws:kms:eu-central-1:111122223333:key/customer?region=us-east-1",
        "alias/customer?endpoint=http://kms.example.com",
        "alias/customer?colour=red",
        "alias/customer?cache=5",
        "?region=eu-central-1",
    ],
)
def test_what_names_no_key_is_refused(where: str) -> None:
    with pytest.raises(KeySourceRefused):
        source(f"aws-kms:{where}")


def test_an_answer_without_end_is_not_read(kms: FakeKms) -> None:
    kms.answer = kms.server.without_end
    with pytest.raises(KeySourceAway):
        source(kms.spec()).wrap(SECRET)
    assert kms.server.sent < 64 << 20


def test_what_is_said_without_tls_passes_no_proxy(kms: FakeKms, monkeypatch: pytest.MonkeyPatch) -> None:
    behind_a_proxy(monkeypatch)
    assert source(kms.spec()).unwrap(source(kms.spec()).wrap(SECRET)) == SECRET


def test_nothing_in_clear_is_logged(kms: FakeKms, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = source(kms.spec())
    key.unwrap(key.wrap(SECRET))
    assert base64.b64encode(SECRET).decode() not in caplog.text and repr(SECRET) not in caplog.text
    assert SECRET_KEY not in caplog.text


def test_without_its_library_the_command_is_named_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("boto3", "botocore")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(key_service, "_OPEN", {})
    with pytest.raises(KeySourceRefused, match="need the Python package boto3") as caught:
        source(f"aws-kms:{arn()}").wrap(SECRET)
    assert caught.value.fix == install_command("boto3")
