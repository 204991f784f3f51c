from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.openclaw import ADAPTER, openclaw_paths
from lifeboat_alf.common import json_codec
from support.adapters import openclaw_stores as stores
from support.adapters import openclaw_workspaces as workspaces

CONFIG = "raw/openclaw-home/openclaw.json"


@pytest.mark.parametrize("layout", [workspaces.NEW, workspaces.OLD])
def test_every_secret_of_the_configuration_is_found_where_it_stands(tmp_path: Path, layout: str) -> None:
    data = workspaces.make_state_dir(tmp_path / ".openclaw", layout=layout).config.read_bytes()
    found = ADAPTER.credentials.find(CONFIG, data)
    assert found is not None
    assert [(secret.value, secret.service, secret.credential_type) for secret in found] == [
        (workspaces.API_KEY, "orchard", "api_key"),
        (workspaces.TELEGRAM_TOKEN, "telegram", "api_key"),
        (workspaces.GATEWAY_TOKEN, "openclaw-gateway", "session_token"),
        (workspaces.SEARCH_KEY, "memory-search", "api_key"),
    ]
    assert [data[secret.start : secret.end].strip(b"\"'").decode() for secret in found] == [one.value for one in found]


def test_a_backup_of_the_configuration_holds_the_same_secrets_under_its_own_name(tmp_path: Path) -> None:
    data = workspaces.make_state_dir(tmp_path / ".openclaw").config.read_bytes()
    found = ADAPTER.credentials.find(CONFIG + ".bak.2", data) or []
    assert {secret.label.partition(": ")[0] for secret in found} == {"openclaw.json.bak.2"}
    named = [replace(secret, label=secret.label.replace(".bak.2", "")) for secret in found]
    assert named == ADAPTER.credentials.find(CONFIG, data)


def test_references_to_secrets_stay() -> None:
    data = b"{models: {providers: {meadow: {apiKey: {source: 'env', provider: 'default', id: 'MEADOW_KEY'}}}}}"
    assert ADAPTER.credentials.find(CONFIG, data) == []
    assert ADAPTER.credentials.find(CONFIG, b"{models: {providers: {meadow: {apiKey: '${MEADOW_KEY}'}}}}") == []


def test_a_service_is_named_by_its_place_in_the_configuration() -> None:
    data = b"{channels: {telegram: {accounts: {work: {botToken: 'invented-0000-0000-0000'}}}}}"
    found = ADAPTER.credentials.find(CONFIG, data)
    assert found is not None and (found[0].service, found[0].label) == (
        "telegram",
        "openclaw.json: channels.telegram.accounts.work.botToken",
    )


@pytest.mark.parametrize("path", ["raw/openclaw-home/.env", "raw/openclaw/.env", "artifacts/app/.env.local"])
def test_dotenv_files_are_searched_wherever_they_lie(path: str) -> None:
    found = ADAPTER.credentials.find(path, f"GROQ_API_KEY={workspaces.ENV_KEY}\nEDITOR=nano\n".encode())
    assert found is not None
    assert [(secret.value, secret.service, secret.label) for secret in found] == [
        (workspaces.ENV_KEY, "groq", ".env: GROQ_API_KEY" if path.endswith(".env") else ".env.local: GROQ_API_KEY")
    ]


@pytest.mark.parametrize("path", ["raw/openclaw/MEMORY.md", "artifacts/.env.example", "identity.json", ".env"])
def test_other_files_hold_no_secrets_of_their_own(path: str) -> None:
    assert ADAPTER.credentials.find(path, b"API_KEY=x") is None


def test_a_configuration_that_does_not_parse_is_named_and_not_quoted() -> None:
    with pytest.raises(UnparsableSecrets) as caught:
        ADAPTER.credentials.find(CONFIG, b"{gateway: {auth: {token: 'an-invented-token-0000'")
    assert "invented" not in str(caught.value)


@pytest.mark.parametrize("path", [CONFIG, "raw/openclaw-home/.env", "raw/openclaw-home/secrets.json"])
def test_a_file_that_is_too_large_to_be_read_value_by_value_is_not_taken(path: str) -> None:
    with pytest.raises(UnparsableSecrets, match="larger than"):
        ADAPTER.credentials.find(path, b" " * (5 << 20))


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (CONFIG, b'{ // was: botToken: "%s"\n a: 1 }'),
        (CONFIG, b'{ models: { "%s": 1 } }'),
        (CONFIG, b'{ note: "it was %s once", gateway: { auth: { token: "abc" } } }'),
        ("raw/openclaw-home/.env", b"A=1\n# OLD_API_KEY=%s\n"),
    ],
)
def test_what_looks_like_a_secret_is_one_in_a_file_that_is_made_for_secrets(path: str, data: bytes) -> None:
    key = b"sk-fake-abcdefghij0123456789"
    found = ADAPTER.credentials.find(path, data % key) or []
    assert key in [(data % key)[secret.start : secret.end] for secret in found]
    assert all(first.end <= second.start for first, second in pairwise(found))


def found_in(path: str, document: object) -> list[FileSecret]:
    found = ADAPTER.credentials.find(path, json.dumps(document).encode())
    assert found is not None
    return found


def test_the_environment_and_the_headers_of_tools_hold_secrets_under_any_name() -> None:
    given_to = {"TIDES": "fake-value-0000", "TIDES_URL": "https://tides.example.com", "DEBUG": "tide:verbose", "N": "7"}
    document = {
        "mcp": {"servers": {"harbour": {"env": given_to, "headers": {"X-Any": "fake-header-0000"}}}},
        "skills": {"entries": {"tides": {"env": {"ANY": "fake-skill-0000"}}}},
        "plugins": {"entries": {"p": {"env": {"ANY": "not a tool's"}}}},
    }
    assert [(one.service, one.value) for one in found_in(CONFIG, document)] == [
        ("harbour", "fake-value-0000"),
        ("harbour", "fake-header-0000"),
        ("tides", "fake-skill-0000"),
    ]


@pytest.mark.parametrize(
    ("path", "data", "bound"),
    [
        (CONFIG, b"{gateway: {auth: {token: 'fake-0000'}}}", True),
        ("raw/openclaw-home/.env", b"OPENCLAW_GATEWAY_TOKEN=fake-0000", True),
        (CONFIG, b"{channels: {telegram: {botToken: 'fake-0000'}}}", False),
        ("raw/openclaw-home/.env", b"TELEGRAM_BOT_TOKEN=fake-0000", False),
        ("raw/openclaw-home/credentials/matrix/credentials.json", b"{}", True),
    ],
)
def test_what_is_of_one_machine_is_bound_to_it(path: str, data: bytes, bound: bool) -> None:
    found = ADAPTER.credentials.find(path, data)
    assert found is not None and [one.bound for one in found] == [bound]


def test_a_login_is_one_group_and_a_key_is_none() -> None:
    profiles = stores.store(pine__x=stores.login("pine", "fake-a", "fake-r"), reed__x=stores.api_key("reed", "fake-k"))
    found = found_in("raw/openclaw-home/agents/main/agent/auth-profiles.json", profiles)
    assert [(one.group, one.member, one.credential_type) for one in found] == [
        ("agent pine:x", "access", "oauth_token"),
        ("agent pine:x", "refresh", "oauth_token"),
        ("", "", "api_key"),
    ]


def test_a_profile_that_waits_to_replace_another_is_a_credential_of_its_own() -> None:
    profile = {
        **stores.api_key("reed", "fake-now"),
        "setup": {"replacement": stores.api_key("reed", "fake-next-00000000")},
    }
    found = found_in("raw/openclaw-home/agents/main/agent/auth-profiles.json", stores.store(reed__x=profile))
    assert [(one.value, one.label) for one in found] == [
        ("fake-now", "auth-profiles.json: reed:x"),
        ("fake-next-00000000", "auth-profiles.json: reed:x: setup.replacement.key"),
    ]


def test_a_known_shape_of_profiles_is_not_needed_to_cut_what_is_named_like_a_secret() -> None:
    found = found_in("raw/openclaw-home/agents/main/agent/auth-profiles.json", {"legacy": {"apiKey": "fake-legacy"}})
    assert [one.value for one in found] == ["fake-legacy"]


TEXT = st.text(min_size=1, max_size=20)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=5))
def test_every_secret_in_rows_is_found_where_it_stands(logins: list[tuple[str, str, str]]) -> None:
    rows = [{"store": "agent", "id": id, "credential": stores.login("p", one, other)} for id, one, other in logins]
    data = b"".join(json_codec.encode_json(row) + b"\n" for row in rows)
    found = ADAPTER.credentials.find(openclaw_paths.AUTH_PROFILES, data)
    assert found is not None
    assert {one.value for one in found} <= {value for login in logins for value in login[1:]}
    assert all(json.loads(data[one.start : one.end]) == one.value for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
