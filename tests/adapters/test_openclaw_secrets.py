from __future__ import annotations

from pathlib import Path

import openclaw_workspaces as workspaces
import pytest

from lifeboat_adapters.contract import UnparsableSecrets
from lifeboat_adapters.openclaw import ADAPTER

CONFIG = "raw/openclaw-home/openclaw.json"


@pytest.mark.parametrize("layout", [workspaces.NEW, workspaces.OLD])
def test_every_secret_of_the_configuration_is_found_where_it_stands(tmp_path: Path, layout: str) -> None:
    data = workspaces.make_state_dir(tmp_path / ".openclaw", layout=layout).config.read_bytes()
    found = ADAPTER.secrets(CONFIG, data)
    assert found is not None
    assert [(secret.value, secret.service, secret.credential_type) for secret in found] == [
        (workspaces.API_KEY, "orchard", "api_key"),
        (workspaces.TELEGRAM_TOKEN, "telegram", "api_key"),
        (workspaces.GATEWAY_TOKEN, "openclaw-gateway", "session_token"),
        (workspaces.SEARCH_KEY, "memory-search", "api_key"),
    ]
    assert [data[secret.start : secret.end].strip(b"\"'").decode() for secret in found] == [one.value for one in found]


def test_a_backup_of_the_configuration_holds_the_same_credentials(tmp_path: Path) -> None:
    data = workspaces.make_state_dir(tmp_path / ".openclaw").config.read_bytes()
    assert ADAPTER.secrets(CONFIG + ".bak.2", data) == ADAPTER.secrets(CONFIG, data)


def test_references_to_secrets_stay() -> None:
    data = b"{models: {providers: {meadow: {apiKey: {source: 'env', provider: 'default', id: 'MEADOW_KEY'}}}}}"
    assert ADAPTER.secrets(CONFIG, data) == []
    assert ADAPTER.secrets(CONFIG, b"{models: {providers: {meadow: {apiKey: '${MEADOW_KEY}'}}}}") == []


def test_a_service_is_named_by_its_place_in_the_configuration() -> None:
    data = b"{channels: {telegram: {accounts: {work: {botToken: 'invented-0000-0000-0000'}}}}}"
    found = ADAPTER.secrets(CONFIG, data)
    assert found is not None and (found[0].service, found[0].label) == (
        "telegram",
        "openclaw.json: channels.telegram.accounts.work.botToken",
    )


@pytest.mark.parametrize("path", ["raw/openclaw-home/.env", "raw/openclaw/.env", "artifacts/app/.env.local"])
def test_dotenv_files_are_searched_wherever_they_lie(path: str) -> None:
    found = ADAPTER.secrets(path, f"GROQ_API_KEY={workspaces.ENV_KEY}\nEDITOR=nano\n".encode())
    assert found is not None
    assert [(secret.value, secret.service, secret.label) for secret in found] == [
        (workspaces.ENV_KEY, "groq", ".env: GROQ_API_KEY" if path.endswith(".env") else ".env.local: GROQ_API_KEY")
    ]


@pytest.mark.parametrize("path", ["raw/openclaw/MEMORY.md", "artifacts/.env.example", "identity.json", ".env"])
def test_other_files_hold_no_secrets_of_their_own(path: str) -> None:
    assert ADAPTER.secrets(path, b"API_KEY=x") is None


def test_a_configuration_that_does_not_parse_is_named_and_not_quoted() -> None:
    with pytest.raises(UnparsableSecrets) as caught:
        ADAPTER.secrets(CONFIG, b"{gateway: {auth: {token: 'an-invented-token-0000'")
    assert "invented" not in str(caught.value)
