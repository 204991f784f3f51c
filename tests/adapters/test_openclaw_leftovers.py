"""Files with secrets in plain text that migrations leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.openclaw import ADAPTER
from support.adapters import openclaw_stores as stores
from support.adapters import openclaw_workspaces as workspaces

KEY = "sk-fake-leftover-key-0000000000"
PROFILES = json.dumps(stores.store(a__x=stores.api_key("a", KEY)))


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    (made.folder / "openclaw.json.bak").unlink()
    return ADAPTER.locate(made.workspace, {}, tmp_path)


def leave(installed: Installation, path: str, text: str, mode: int = 0o600) -> Path:
    assert installed.state_dir is not None
    file = installed.state_dir / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


LEFT = [
    ("agents/main/agent/auth-profiles.json.migrated-1770000000000", PROFILES),
    ("agents/rover/agent/auth-profiles.json.imported-1", PROFILES),
    ("agents/main/agent/models.json", json.dumps({"providers": {"a": {"apiKey": KEY}}})),
    ("agents/main/agent/codex-home/auth.json", json.dumps({"tokens": {"access_token": KEY}})),
    ("agents/main/session-sqlite-import-archive/sessions.json.imported-1", json.dumps({"authToken": KEY})),
    ("cron/jobs.json.migrated", json.dumps({"jobs": [{"payload": {"token": KEY}}]})),
    ("secrets.json.migrated-1", json.dumps({"apiKey": KEY})),
]


@pytest.mark.parametrize(("path", "text"), LEFT)
def test_the_secrets_of_a_leftover_are_known_and_the_file_is_watched(
    installed: Installation, path: str, text: str
) -> None:
    file = leave(installed, path, text)
    assert {secret.value for secret in ADAPTER.credentials.learned(installed)} == {KEY}
    assert file in ADAPTER.databases.files(installed)


@pytest.mark.parametrize(("path", "text"), LEFT)
def test_a_leftover_is_named_and_not_captured(installed: Installation, path: str, text: str) -> None:
    file = leave(installed, path, text)
    assert [one.path for one in ADAPTER.credentials.leftovers(installed)] == [file]
    assert ADAPTER.exclusion(f"raw/openclaw-home/{path}", is_folder=False)


def test_a_copy_of_the_configuration_is_named_known_and_not_captured(installed: Installation) -> None:
    file = leave(installed, "openclaw.json.bak.2", json.dumps({"gateway": {"auth": {"token": KEY}}}))
    (found,) = ADAPTER.credentials.leftovers(installed)
    assert (found.path, found.made_again) == (file, True)
    assert KEY in {secret.value for secret in ADAPTER.credentials.learned(installed)}
    assert ADAPTER.exclusion("raw/openclaw-home/openclaw.json.bak.2", is_folder=False)


def test_a_leftover_without_secrets_is_nobodys_concern(installed: Installation) -> None:
    leave(installed, "agents/main/agent/models.json", '{"providers": {"a": {"baseUrl": "https://llm.example.com"}}}')
    assert list(ADAPTER.credentials.leftovers(installed)) == []


@pytest.mark.parametrize("value", ["ANTHROPIC_API_KEY", "secretref-managed", "${ANTHROPIC_API_KEY}"])
def test_what_a_catalog_says_in_the_place_of_a_key_is_no_secret(installed: Installation, value: str) -> None:
    leave(installed, "agents/main/agent/models.json", json.dumps({"providers": {"a": {"apiKey": value}}}))
    assert list(ADAPTER.credentials.learned(installed)) == []
    assert list(ADAPTER.credentials.leftovers(installed)) == []


def test_a_leftover_that_does_not_parse_is_named_since_nobody_can_say(installed: Installation) -> None:
    file = leave(installed, "agents/main/agent/auth-profiles.json.migrated-1", f'{{"key": "{KEY}')
    assert [one.path for one in ADAPTER.credentials.leftovers(installed)] == [file]
    assert list(ADAPTER.credentials.learned(installed)) == []
