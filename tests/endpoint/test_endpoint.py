"""The folder of an endpoint: created completely, checked, opened."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault import errors
from support.alf.raising import raises_code
from support.endpoint.keeping import AGENT, CANARY, files_holding, new_endpoint, reopened, with_history


def test_an_endpoint_is_for_its_owner_only(tmp_path: Path) -> None:
    endpoint = new_endpoint(tmp_path)
    endpoint.add_tenant("home")
    endpoint.close()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [endpoint.folder, *endpoint.folder.rglob("*")]}
    assert modes <= {0o700, 0o600}


def test_an_endpoint_keeps_its_id(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as made, Endpoint.open(made.folder) as found:
        assert found.id == made.id and found.settings.key_source == f"file:{tmp_path / 'endpoint.key'}"


def test_without_a_named_source_the_key_lies_in_the_users_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with Endpoint.create(tmp_path / "data") as endpoint:
        key = Path(endpoint.settings.key_source.removeprefix("file:"))
    assert key.is_relative_to(tmp_path / "config") and stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_key_in_the_folder_of_the_data_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(errors.KeySourceRefused):
        Endpoint.create(tmp_path / "data", key_source=f"file:{tmp_path / 'data' / 'key'}")
    with pytest.raises(errors.NoEndpoint):
        Endpoint.open(tmp_path / "data")
    Endpoint.create(tmp_path / "data", key_source=f"file:{tmp_path / 'key'}").close()


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.txt").write_text("mine")
    with raises_code(errors.EndpointError.UNSAFE, match=r"thesis\.txt"):
        new_endpoint(tmp_path)


def test_a_second_endpoint_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    new_endpoint(tmp_path).close()
    with raises_code(errors.VaultError.EXISTS):
        new_endpoint(tmp_path)


def test_a_folder_without_an_endpoint_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(errors.NoEndpoint):
            Endpoint.open(folder)


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    endpoint = new_endpoint(tmp_path)
    endpoint.close()
    endpoint.folder.chmod(mode)
    with raises_code(errors.EndpointError.UNSAFE, match="other users can write"):
        Endpoint.open(endpoint.folder)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"kind": "lifeboat endpoint", "version": 2}', errors.EndpointNewer),
        ('{"kind": "something else"}', errors.NoEndpoint),
        ('{"kind": "lifeboat endpoint", "version": 1}', errors.EndpointSettings),
        ("{", errors.EndpointSettings),
        ("[]", errors.EndpointSettings),
    ],
)
def test_an_endpoint_json_that_cannot_be_used_is_named(tmp_path: Path, text: str, error: type[Exception]) -> None:
    endpoint = new_endpoint(tmp_path)
    endpoint.close()
    (endpoint.folder / "endpoint.json").write_text(text)
    with pytest.raises(error):
        Endpoint.open(endpoint.folder)


@pytest.mark.parametrize(
    "settings",
    [
        {"retenton": {}},
        {"limits": {"direct_byte": 1}},
        {"limits": {"direct_bytes": "many"}},
        {"retention": {"all_hours": 0}},
        {"retention": {"hourly_days": 100, "daily_days": 7}},
        {"size_cap": {"agent": 0}},
        {"audit": {"days": 0}},
        {"key_scope": "everybody"},
        {"created_at": "yesterday"},
    ],
)
def test_a_setting_that_cannot_be_so_stops_the_endpoint(tmp_path: Path, settings: dict[str, object]) -> None:
    with new_endpoint(tmp_path) as endpoint, pytest.raises(errors.EndpointSettings, match=r"endpoint\.json"):
        reopened(endpoint, **settings)


def test_settings_are_taken_from_endpoint_json(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as made:
        tenant = made.add_tenant("home", quota=5000)
        plain = made.add_tenant("office")
        limits = {"direct_bytes": 1000, "upload_life": "PT1H", "tenant_bytes": 9000}
        with reopened(made, limits=limits, retention={"all_hours": 2}) as endpoint:
            assert endpoint.settings.retention.retention().all_hours == 2
            assert endpoint.limits(tenant).tenant_bytes == 5000
            assert endpoint.limits(plain).direct_bytes == 1000 and endpoint.limits(plain).tenant_bytes == 9000


def test_a_tenant_has_a_data_key_and_nothing_of_it_stands_in_clear(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        with endpoint.space(tenant.id).vault(AGENT) as vault:
            assert CANARY in vault.state().body("raw/openclaw/MEMORY.md")
    assert files_holding(endpoint.folder, CANARY) == [] and files_holding(endpoint.folder, b"MEMORY.md") == []


def test_a_tenant_with_a_key_of_its_own_is_unreadable_without_it_and_others_are_not(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        own = endpoint.add_tenant("office", key_source=f"file:{tmp_path / 'office.key'}")
        other = endpoint.add_tenant("home")
        for tenant in (own, other):
            with_history(endpoint, tenant)
        (tmp_path / "office.key").rename(tmp_path / "away")
    with Endpoint.open(endpoint.folder) as again:
        with pytest.raises(errors.KeyRevoked):
            again.space(own.id).read(AGENT, 0, ["raw/openclaw/MEMORY.md"], [])
        assert again.space(other.id).read(AGENT, 0, ["raw/openclaw/MEMORY.md"], [])[0] is not None


def test_the_audit_says_when_a_data_key_was_used(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        used = [row for row in endpoint.control.audit_rows() if row.kind == "key.used"]
    assert [row.details["tenant"] for row in used] == [tenant.id]


def test_a_name_that_is_taken_leaves_no_folder_behind(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        endpoint.add_tenant("home")
        with raises_code(errors.EndpointError.TENANT_EXISTS):
            endpoint.add_tenant("HOME")
        assert len(list((endpoint.folder / "tenants").iterdir())) == 1


@pytest.mark.parametrize("name", ["../../etc", "", "0190f0a0-0000-7000-8000-0000000000ff"])
def test_the_space_of_a_tenant_that_there_is_not_cannot_be_had(tmp_path: Path, name: str) -> None:
    with new_endpoint(tmp_path) as endpoint, pytest.raises(errors.UnknownTenant):
        endpoint.space(name)
