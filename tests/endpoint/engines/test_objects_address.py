from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_endpoint.engines.objects import store_address, store_credentials
from lifeboat_endpoint.engines.objects.store_address import check_store_address
from lifeboat_vault import errors


@pytest.mark.parametrize(
    ("url", "account", "bucket", "prefix"),
    [
        ("s3://lifeboat", "", "lifeboat", ""),
        ("s3://lifeboat/", "", "lifeboat", ""),
        ("s3://lifeboat/a/b.c", "", "lifeboat", "a/b.c"),
        ("gs://life_boat/prefix", "", "life_boat", "prefix"),
        ("az://account/container/prefix", "account", "container", "prefix"),
        ("az://account/container", "account", "container", ""),
    ],
)
def test_an_address_names_bucket_and_prefix(url: str, account: str, bucket: str, prefix: str) -> None:
    found = check_store_address(url, {})
    assert (found.account, found.bucket, found.prefix) == (account, bucket, prefix)
    assert str(found) == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "lifeboat",
        "file:///srv/bodies",
        "memory:///",
        "http://127.0.0.1:9000/lifeboat",
        "https://s3.example.com/lifeboat",
        "s3://",
        "s3:///prefix",
        "s3://lifeboat/../other",
        "s3://lifeboat/a//b",
        "s3://lifeboat/a?x=y",
        "s3://lifeboat/a#b",
        "s3://key:not-a-real-secret@lifeboat/a",
        "s3://lifeboat:9000/a",
        "az://account",
        "az://Account/container",
        "s3://[lifeboat",
    ],
)
def test_what_is_no_place_in_an_object_store_is_refused(url: str) -> None:
    with pytest.raises(errors.EndpointSettings) as caught:
        check_store_address(url, {})
    assert "not-a-real-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://s3.example.com",
        "http://192.0.2.1:9000",
        "http://0.0.0.0:9000",
        "http://localhost:9000",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1@example.com",
        "HTTP://s3.example.com",
        "ftp://127.0.0.1",
        "s3.example.com",
        "https://",
        "https://user:not-a-real-secret@s3.example.com",
        "https://s3.example.com/?region=x",
    ],
)
def test_nothing_is_said_without_tls_to_another_machine(endpoint: str) -> None:
    with pytest.raises(errors.EndpointSettings) as caught:
        check_store_address("s3://lifeboat", {"endpoint": endpoint})
    assert "not-a-real-secret" not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["https://s3.example.com:9000", "http://127.0.0.1:9000", "http://[::1]:9000"])
def test_tls_and_this_machine_are_taken(endpoint: str) -> None:
    assert check_store_address("s3://lifeboat", {"endpoint": endpoint}).endpoint == endpoint


@pytest.mark.parametrize(
    "name", ["secret_access_key", "access_key_id", "account_key", "sas_token", "aws_session_token"]
)
def test_a_secret_does_not_belong_into_the_settings(name: str) -> None:
    with pytest.raises(errors.EndpointSettings, match=r"is a secret") as caught:
        check_store_address("az://account/container", {name: "not-a-real-secret"})
    assert "not-a-real-secret" not in str(caught.value) and "environment" in str(caught.value.fix)


@pytest.mark.parametrize(
    "options",
    [
        {"colour": "blue"},
        {"service_account": "/run/key.json"},
        {"allow_http": "true"},
        {"skip_signature": "true"},
        {"credentials_file": "keys"},
        {"timeout": "0"},
        {"timeout": "soon"},
        {"timeout": "86400"},
        {"region": "us east"},
    ],
)
def test_an_option_that_is_not_known_or_no_value_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(errors.EndpointSettings):
        check_store_address("s3://lifeboat", options)


# Keys in a file -------------------------------------------------------------------------------------------------------

KEYS = "[default]\naws_access_key_id = id-1\naws_secret_access_key = not-a-real-secret\n"
KEYS += "[other]\naws_access_key_id = id-2\n"


def test_keys_are_read_from_a_file_of_their_owner(tmp_path: Path) -> None:
    file = _file(tmp_path, KEYS)
    found = store_credentials.read_credentials(file, "default")
    assert (found["access_key_id"], found["secret_access_key"], found["token"]) == ("id-1", "not-a-real-secret", None)


@pytest.mark.parametrize(
    ("text", "profile"), [(KEYS, "other"), (KEYS, "third"), ("", "default"), ("not-a-real-secret", "default")]
)
def test_a_file_without_keys_is_named_and_not_repeated(tmp_path: Path, text: str, profile: str) -> None:
    with pytest.raises(errors.EndpointSettings) as caught:
        store_credentials.read_credentials(_file(tmp_path, text), profile)
    assert "not-a-real-secret" not in f"{caught.value} {caught.value.fix}" and caught.value.__context__ is None


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = _file(tmp_path, KEYS)
    file.chmod(0o640)
    with pytest.raises(errors.EndpointSettings, match="other users can read"):
        store_credentials.read_credentials(file, "default")


def test_keys_are_read_where_a_link_leads_now(tmp_path: Path) -> None:
    """Files that are mounted into a container are links."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        text = f"[default]\naws_access_key_id = {name}\naws_secret_access_key = not-a-real-secret\n"
        (tmp_path / name / "keys").touch(0o600)
        (tmp_path / name / "keys").write_text(text)
    (tmp_path / "data").symlink_to("first")
    (tmp_path / "keys").symlink_to("data/keys")
    assert store_credentials.read_credentials(tmp_path / "keys", "default")["access_key_id"] == "first"
    (tmp_path / "new").symlink_to("second")
    (tmp_path / "new").replace(tmp_path / "data")
    assert store_credentials.read_credentials(tmp_path / "keys", "default")["access_key_id"] == "second"


@pytest.mark.parametrize("option", ["credentials_file", "root_certificate"])
def test_a_file_that_is_missing_is_named_before_anything_is_asked(tmp_path: Path, option: str) -> None:
    place = check_store_address("s3://lifeboat", {option: str(tmp_path / "missing")})
    with pytest.raises(errors.EndpointSettings, match="missing"):
        store_address.open_store(place)


def test_what_is_said_without_tls_does_not_go_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    place = check_store_address("s3://lifeboat", {"endpoint": "http://127.0.0.1:9"})
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.com:3128")
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(errors.EndpointSettings, match="proxy"):
        store_address.open_store(place)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    store_address.open_store(place)


def test_every_kind_of_store_opens_without_asking_anything() -> None:
    for url in ("s3://lifeboat/a", "gs://lifeboat/a", "az://account/lifeboat/a"):
        assert repr(store_address.open_store(check_store_address(url, {}))) == f"OpenedBucket({url})"


def _file(folder: Path, text: str) -> Path:
    file = folder / "credentials"
    file.write_text(text)
    file.chmod(0o600)
    return file
