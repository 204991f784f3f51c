"""The sealed content of a credential, and a file restored from it."""

from __future__ import annotations

import hashlib
import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.errors import BadPayload, CutMismatch, SecretsError
from lifeboat_adapters.secrets import credential_payload, secret_cutting, secret_finder
from lifeboat_adapters.secrets.credential_payload import CredentialPayload, SecretSpelling
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import credential_sealing
from support.alf.raising import raises_code

PATH = "raw/openclaw-home/openclaw.json"
DATA = b"{gateway: {auth: {token: 'one-0123'}}, a: {token: \"\\u006fne-0123\"}, b: {apiKey: 'two'}}"


def _protected() -> tuple[secret_cutting.CutFile, dict[str, CredentialPayload]]:
    """Return the file as it is stored, and the payloads as they are sealed."""
    secrets = secret_finder.secrets_in_json5(DATA)
    values = {"one-0123": "c-1", "two": "c-2"}
    parts = secret_cutting.cut_spans(
        DATA, [secret_cutting.span_of_secret(DATA, secret, values[secret.value]) for secret in secrets]
    )
    spelled = credential_payload.secret_spellings(DATA, parts)
    return parts, {values[value]: CredentialPayload(value, {PATH: spelled[values[value]]}) for value in values}


def test_a_file_is_whole_again_from_its_cuts_and_its_payloads() -> None:
    parts, payloads = _protected()
    sealed = {credential: one.encode() for credential, one in payloads.items()}
    assert b"one-0123" not in parts.data
    assert (
        credential_payload.restore_whole_file(
            PATH, parts.data, parts.cuts, lambda credential: credential_payload.decode_payload(sealed[credential])
        )
        == DATA
    )


def test_with_the_words_and_what_travels_a_file_is_whole_on_another_machine(tmp_path: pathlib.Path) -> None:
    here, there = HomeKeys(tmp_path / "here"), HomeKeys(tmp_path / "there")
    here.ensure()
    parts, payloads = _protected()
    records = {credential: _sealed(here, credential, one) for credential, one in payloads.items()}
    there.install(UserKey.from_words(here.user_key().words()))
    there.import_agent(here.export_agent("agent"))
    assert not any(secret in str([parts.data, records]) for secret in ("one-0123", "'two'"))
    opened = credential_payload.restore_whole_file(
        PATH, parts.data, parts.cuts, lambda one: credential_payload.decode_payload(there.open(records[one]))
    )
    assert opened == DATA


def _sealed(keys: HomeKeys, credential: str, content: CredentialPayload) -> dict[str, Any]:
    names = {"agent_id": "agent", "service": "gateway", "credential_type": "session_token"}
    public, key_id = keys.agent_public("agent"), keys.public.key_id
    sealed = credential_sealing.seal_credential(
        content.encode(), agent_public=public, key_id=key_id, credential_id=credential, **names
    )
    return {"id": credential, **names, **sealed}


def test_the_digest_of_the_whole_file_is_in_every_payload() -> None:
    _, payloads = _protected()
    assert {one.files[PATH].sha256 for one in payloads.values()} == {hashlib.sha256(DATA).hexdigest()}
    assert payloads["c-1"].files[PATH].literals == (b"'one-0123'", b'"\\u006fne-0123"')


def test_payloads_of_another_version_of_the_file_are_refused() -> None:
    parts, payloads = _protected()
    with raises_code(SecretsError.WHOLE_FILE_MISMATCH, match="another version"):
        credential_payload.restore_whole_file(PATH, parts.data + b"\n", parts.cuts, payloads.__getitem__)


def test_a_payload_that_knows_nothing_of_the_file_is_refused() -> None:
    parts, payloads = _protected()
    with raises_code(SecretsError.WHOLE_FILE_MISMATCH, match="does not contain the text that belongs in the file"):
        credential_payload.restore_whole_file("raw/openclaw/.env", parts.data, parts.cuts, payloads.__getitem__)
    poor = {
        credential: CredentialPayload(one.value, {PATH: SecretSpelling("0", ())})
        for credential, one in payloads.items()
    }
    with raises_code(SecretsError.WHOLE_FILE_MISMATCH, match="does not contain the text that belongs in the file"):
        credential_payload.restore_whole_file(PATH, parts.data, parts.cuts, poor.__getitem__)


def test_a_list_of_cuts_that_does_not_fit_is_refused() -> None:
    parts, payloads = _protected()
    with pytest.raises(CutMismatch):
        credential_payload.restore_whole_file(PATH, parts.data, [{"offset": 0}], payloads.__getitem__)


_SPELLINGS = st.builds(
    SecretSpelling, st.text("0123456789abcdef", max_size=64), st.lists(st.binary(max_size=20)).map(tuple)
)


@given(st.text(), st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), _SPELLINGS, max_size=3))
def test_a_payload_comes_back_from_its_bytes(value: str, files: dict[str, SecretSpelling]) -> None:
    again = credential_payload.decode_payload(CredentialPayload(value, files).encode())
    assert again.files == files
    assert again.value == value.encode("utf-8", "replace").decode()


def test_equal_payloads_have_equal_bytes_in_whatever_order_they_were_made() -> None:
    one, two = SecretSpelling("1", (b"a",)), SecretSpelling("2", (b"b",))
    assert (
        CredentialPayload("v", {"a": one, "b": two}).encode() == CredentialPayload("v", {"b": two, "a": one}).encode()
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"sk-plain",
        b'{"version": 2, "value": "x", "files": {}}',
        b'{"version": 1, "value": 5, "files": {}}',
        b'{"version": 1, "value": "x"}',
        b'{"version": 1, "value": "x", "files": {"a": {"sha256": "0"}}}',
        b'{"version": 1, "value": "x", "files": {"a": {"sha256": "0", "literals": ["?"]}}}',
    ],
)
def test_anything_else_is_no_payload(data: bytes) -> None:
    with pytest.raises(BadPayload):
        credential_payload.decode_payload(data)
