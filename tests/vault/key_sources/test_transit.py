from __future__ import annotations

import base64
import logging
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from lifeboat_keys.installers import install_command
from lifeboat_vault.at_rest.key_sources import key_service, key_source_registry
from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked, KeySourceAway, KeySourceRefused, VaultDamaged
from support.talking_server import status
from support.vault.fake_transit import TOKEN, FakeTransit, fake_transit
from support.vault.key_places import behind_a_proxy

SECRET = bytes(range(200))
OUTSIDE = Path("/srv/lifeboat")


@pytest.fixture
def transit(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTransit]:
    with fake_transit(monkeypatch) as made:
        monkeypatch.setattr(key_service, "REFUSED_SECONDS", 0.0)
        yield made


def source(spec: str) -> KeySource:
    return key_source_registry.open_key_source(spec, outside=OUTSIDE)


def test_a_key_wraps_and_unwraps(transit: FakeTransit) -> None:
    key_source_registry.make_key(transit.spec(), outside=OUTSIDE)
    wrapped = source(transit.spec()).wrap(SECRET)
    assert b"vault:v1:" in wrapped and source(transit.spec()).unwrap(wrapped) == SECRET
    assert source(transit.spec()).spec == transit.spec() and source(transit.spec()).cache_seconds == 300.0


@pytest.mark.parametrize("mount", ["transit", "team/transit-2", "v1/transit"])
def test_an_engine_lies_wherever_it_was_mounted(transit: FakeTransit, mount: str) -> None:
    transit.mount = mount
    spec = transit.spec()
    transit.mount = mount.removeprefix("v1/")
    assert source(spec).unwrap(source(spec).wrap(SECRET)) == SECRET


def test_what_older_versions_of_a_key_wrapped_opens_until_they_are_withdrawn(transit: FakeTransit) -> None:
    key = source(transit.spec())
    older = key.wrap(SECRET)
    transit.keys["customer"].rotate()
    newer = key.wrap(SECRET)
    assert b"vault:v2:" in newer and key.unwrap(older) == SECRET
    transit.keys["customer"].oldest = 2
    with pytest.raises(KeyRevoked) as caught:
        key.unwrap(older)
    assert caught.value.only_this and "min_decryption_version" in str(caught.value.fix)
    assert key.unwrap(newer) == SECRET
    transit.keys["customer"].oldest = 1
    assert key.unwrap(older) == SECRET


def test_a_key_that_was_made_anew_under_the_name_is_another_one(transit: FakeTransit) -> None:
    wrapped = source(transit.spec()).wrap(SECRET)
    transit.keys["customer"].versions = [bytes(32)]
    with pytest.raises(KeyRevoked) as caught:
        source(transit.spec()).unwrap(wrapped)
    assert caught.value.only_this


def test_damage_is_told_from_a_refusal(transit: FakeTransit) -> None:
    wrapped = source(transit.spec()).wrap(SECRET)
    with pytest.raises(VaultDamaged):
        source(transit.spec()).unwrap(wrapped[:-1] + bytes([wrapped[-1] ^ 1]))


def test_a_key_that_is_gone_is_revoked(transit: FakeTransit) -> None:
    wrapped = source(transit.spec()).wrap(SECRET)
    del transit.keys["customer"]
    with pytest.raises(KeyRevoked, match="refused to decrypt") as caught:
        source(transit.spec()).unwrap(wrapped)
    assert not caught.value.only_this and "transit/decrypt/customer" in str(caught.value.fix)


def test_an_engine_that_is_gone_is_revoked(transit: FakeTransit) -> None:
    wrapped = source(transit.spec()).wrap(SECRET)
    spec, transit.mount = transit.spec(), "elsewhere"
    with pytest.raises(KeyRevoked, match="404"):
        source(spec).unwrap(wrapped)


def test_a_token_that_is_withdrawn_is_revoked(transit: FakeTransit) -> None:
    wrapped = source(transit.spec()).wrap(SECRET)
    transit.tokens.clear()
    with pytest.raises(KeyRevoked, match="403"):
        source(transit.spec()).unwrap(wrapped)


def test_a_token_that_may_only_encrypt_is_refused_before_data_rests_on_it(transit: FakeTransit) -> None:
    transit.denied.add("decrypt")
    with pytest.raises(KeySourceRefused, match="refused to decrypt"):
        key_source_registry.make_key(transit.spec(), outside=OUTSIDE)


@pytest.mark.parametrize("code", [307, 412, 429, 472, 473, 500, 502, 503])
def test_a_service_that_is_sealed_standing_by_or_busy_is_away(transit: FakeTransit, code: int) -> None:
    wrapped = source(transit.spec()).wrap(SECRET)
    transit.fails = code
    with pytest.raises(KeySourceAway, match=str(code)) as caught:
        source(transit.spec()).unwrap(wrapped)
    assert caught.value.retryable


@pytest.mark.parametrize("code", [400, 403, 404])
def test_who_stands_before_the_service_revokes_nothing(transit: FakeTransit, code: int) -> None:
    transit.answer = status(code, b"<html>no such place</html>")
    with pytest.raises(KeySourceAway, match="another service answered with status"):
        source(transit.spec()).wrap(SECRET)


def test_a_token_is_never_led_elsewhere(transit: FakeTransit) -> None:
    transit.answer = status(307, Location=f"{transit.server.address}/elsewhere")
    with pytest.raises(KeySourceAway):
        source(transit.spec()).wrap(SECRET)
    assert len(transit.server.asked) == 1


def test_a_service_that_nobody_serves_is_away(transit: FakeTransit) -> None:
    with pytest.raises(KeySourceAway):
        source("transit:http://127.0.0.1:1/transit/keys/customer").wrap(SECRET)


@pytest.mark.parametrize("manner", ["silent", "byte_by_byte", "header_by_header"])
def test_a_service_that_stalls_is_away_in_time(
    transit: FakeTransit, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    monkeypatch.setattr(key_service, "_ANSWER_SECONDS", 0.5)
    transit.answer = getattr(transit.server, manner)
    with pytest.raises(KeySourceAway):
        source(transit.spec()).wrap(SECRET)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"data": null}', b'{"data": {"ciphertext": 7}}', b"[" * 100_000, b" " * 100_000]
)
def test_an_answer_that_is_none_is_away(transit: FakeTransit, body: bytes) -> None:
    transit.answer = status(200, body)
    with pytest.raises(KeySourceAway, match="nonsense"):
        source(transit.spec()).wrap(SECRET)


def test_a_plain_text_that_is_none_is_away(transit: FakeTransit) -> None:
    wrapped = source(transit.spec()).wrap(SECRET)
    transit.answer = status(200, b'{"data": {"plaintext": "not base64!"}}')
    with pytest.raises(KeySourceAway, match="nonsense"):
        source(transit.spec()).unwrap(wrapped)


# Tokens ---------------------------------------------------------------------------------------------------------------


def test_a_token_is_read_from_its_file_for_every_question(
    transit: FakeTransit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "s.of-another-service")
    (tmp_path / "token").write_text(TOKEN + "\n")
    key = source(transit.spec(token_file=tmp_path / "token"))
    wrapped = key.wrap(SECRET)
    transit.tokens = {"s.the-next-one"}
    (tmp_path / "token").write_text("s.the-next-one")
    assert key.unwrap(wrapped) == SECRET


def test_a_token_is_found_in_the_variable_that_is_named(transit: FakeTransit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "s.of-another-service")
    monkeypatch.setenv("CUSTOMER_TOKEN", TOKEN)
    source(transit.spec(token_env="CUSTOMER_TOKEN")).wrap(SECRET)


def test_the_environment_names_a_file_before_a_token(
    transit: FakeTransit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.setenv("VAULT_TOKEN", "s.an-older-one")
    monkeypatch.setenv("VAULT_TOKEN_FILE", str(tmp_path / "token"))
    source(transit.spec()).wrap(SECRET)


@pytest.mark.parametrize("made", [None, b"", b"\xff\xfe"])
def test_a_token_that_cannot_be_read_is_no_revocation(transit: FakeTransit, tmp_path: Path, made: bytes | None) -> None:
    if made is not None:
        (tmp_path / "token").write_bytes(made)
    with pytest.raises(KeySourceRefused, match="token") as caught:
        source(transit.spec(token_file=tmp_path / "token")).wrap(SECRET)
    assert "VAULT_TOKEN_FILE" in str(caught.value.fix)


def test_without_a_token_nothing_is_asked(transit: FakeTransit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VAULT_TOKEN")
    with pytest.raises(KeySourceRefused, match="no access token is configured"):
        source(transit.spec()).wrap(SECRET)
    with pytest.raises(KeySourceRefused, match="CUSTOMER_TOKEN"):
        source(transit.spec(token_env="CUSTOMER_TOKEN")).wrap(SECRET)
    assert transit.server.asked == []


def test_a_namespace_goes_along(transit: FakeTransit, monkeypatch: pytest.MonkeyPatch) -> None:
    source(transit.spec(namespace="team")).wrap(SECRET)
    monkeypatch.setenv("VAULT_NAMESPACE", "other")
    source(transit.spec()).wrap(SECRET)
    assert [each.headers["X-Vault-Namespace"] for each in transit.server.asked] == ["team", "other"]


# TLS ------------------------------------------------------------------------------------------------------------------


class Certificates:
    """An authority, the service's certificate, and a client's certificate, in files below `folder`."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca, self.cert, self.key = folder / "ca.pem", folder / "client.pem", folder / "client.key"
        authority.cert_pem.write_to_path(self.ca)
        client = authority.issue_cert("endpoint.example.com")
        self.cert.write_bytes(b"".join(each.bytes() for each in client.cert_chain_pems))
        client.private_key_pem.write_to_path(self.key)
        self.serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(self.serving)
        authority.configure_trust(self.serving)
        self.serving.verify_mode = ssl.CERT_OPTIONAL


def test_a_service_is_asked_whom_its_authority_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Certificates(tmp_path)
    with fake_transit(monkeypatch, made.serving) as transit:
        key = source(transit.spec(ca=made.ca))
        assert key.unwrap(key.wrap(SECRET)) == SECRET
        monkeypatch.setenv("VAULT_CACERT", str(made.ca))
        source(transit.spec()).wrap(SECRET)


def test_a_service_that_nobody_vouches_for_gets_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_transit(monkeypatch, Certificates(tmp_path).serving) as transit:
        with pytest.raises(KeySourceAway, match=r"the TLS certificate of .* is not trusted") as caught:
            source(transit.spec()).wrap(SECRET)
        assert (
            caught.value.fix == "add the certificate authority to the key source: ca=/path"
            and transit.server.asked == []
        )


def test_a_client_certificate_logs_in_once_and_again_when_its_token_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Certificates(tmp_path)
    with fake_transit(monkeypatch, made.serving) as transit:
        transit.login = "s.first"
        key = source(transit.spec(ca=made.ca, cert=made.cert, key=made.key, role="lifeboat"))
        wrapped = key.wrap(SECRET)
        assert key.unwrap(wrapped) == SECRET
        transit.tokens.clear()
        transit.login = "s.second"
        assert key.unwrap(wrapped) == SECRET
        assert transit.operations == ["cert", "encrypt", "decrypt", "decrypt", "cert", "decrypt"]
        assert b'"lifeboat"' in transit.server.asked[0].body


def test_a_certificate_that_logs_in_and_may_not_decrypt_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Certificates(tmp_path)
    with fake_transit(monkeypatch, made.serving) as transit:
        transit.login = "s.first"
        key = source(transit.spec(ca=made.ca, cert=made.cert, key=made.key))
        wrapped = key.wrap(SECRET)
        transit.denied.add("decrypt")
        with pytest.raises(KeyRevoked):
            key.unwrap(wrapped)
        assert transit.operations == ["cert", "encrypt", "decrypt", "cert", "decrypt"]


def test_a_certificate_that_may_log_in_no_more_is_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Certificates(tmp_path)
    with fake_transit(monkeypatch, made.serving) as transit:
        monkeypatch.setenv("VAULT_TOKEN", "")
        monkeypatch.setenv("VAULT_CLIENT_CERT", str(made.cert))
        monkeypatch.setenv("VAULT_CLIENT_KEY", str(made.key))
        with pytest.raises(KeyRevoked, match="refused to log in") as caught:
            source(transit.spec(ca=made.ca)).wrap(SECRET)
        assert "auth/cert" in str(caught.value.fix)


@pytest.mark.parametrize("option", ["ca", "cert"])
def test_a_certificate_that_is_not_there_is_told(transit: FakeTransit, tmp_path: Path, option: str) -> None:
    spec = transit.spec(**{option: tmp_path / "nothing.pem"}).replace("http://", "https://")
    with pytest.raises(KeySourceRefused, match="a certificate file cannot be used"):
        source(spec).wrap(SECRET)


# Specifications -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        "http://vault.example.com/transit/keys/customer",
        "https://vault.example.com",
        "https://vault.example.com/keys/customer",
        "https://vault.example.com/transit/keys/",
        "https://vault.example.com/transit/keys/a/b",
        "https://vault.example.com/../sys/keys/customer",
        "https://vault.example.com/transit/keys/..",
        "https://vault.example.com/transit/keys/a%2fb",
        "https://vault.example.com/transit/keys/customer#x",
        "https://ada:hunter2@vault.example.com/transit/keys/customer",
        "https://vault.example.com/transit/keys/customer?token=s.secret",
        "https://vault.example.com/transit/keys/customer?ca=relative.pem",
        "https://vault.example.com/transit/keys/customer?token-file=/srv/lifeboat/token",
        "https://vault.example.com/transit/keys/customer?cache=1",
        "vault.example.com/transit/keys/customer",
    ],
)
def test_what_names_no_key_is_refused_and_no_secret_repeated(where: str) -> None:
    with pytest.raises(KeySourceRefused) as caught:
        source(f"transit:{where}")
    assert "hunter2" not in caught.value.message and "s.secret" not in caught.value.message


def test_an_answer_without_end_is_not_read(transit: FakeTransit) -> None:
    transit.answer = transit.server.without_end
    with pytest.raises(KeySourceAway):
        source(transit.spec()).wrap(SECRET)
    assert transit.server.sent < 64 << 20


def test_what_is_said_without_tls_passes_no_proxy(transit: FakeTransit, monkeypatch: pytest.MonkeyPatch) -> None:
    behind_a_proxy(monkeypatch)
    assert source(transit.spec()).unwrap(source(transit.spec()).wrap(SECRET)) == SECRET


def test_nothing_in_clear_is_logged(transit: FakeTransit, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = source(transit.spec())
    key.unwrap(key.wrap(SECRET))
    assert base64.b64encode(SECRET).decode() not in caplog.text and TOKEN not in caplog.text


def test_without_its_library_the_command_is_named_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hvac")
    for name in [name for name in sys.modules if name.partition(".")[0] == "hvac"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("VAULT_TOKEN", TOKEN)
    with pytest.raises(KeySourceRefused, match="need the Python package hvac") as caught:
        source("transit:https://vault.example.com/transit/keys/without-library").wrap(SECRET)
    assert caught.value.fix == install_command("hvac")
