"""The way of each kind of credential into the stores of an OpenClaw, and the kinds that have none."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.additive_merging import KEPT
from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import CredentialDelivery
from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.openclaw.restore import credential_delivery
from lifeboat_adapters.openclaw.restore.credential_delivery import (
    find_undelivered_credentials,
    plan_credential_deliveries,
)
from lifeboat_adapters.secrets import dotenv_leaves
from support.core.credentialed import Machine

NOW = "2026-11-20T12:00:00Z"
NOW_MS = 1_795_176_000_000
DAY = 86_400_000
PROGRAM = Path("/usr/bin/openclaw")
SETUP_TOKEN = "sk-ant-oat01-" + "fake" * 24


def profile(id: str, kind: str, *, store: str = "shared", **fields: Any) -> dict[str, Any]:
    credential = {"type": kind, "provider": id.partition(":")[0], **fields}
    return {"store": store, "id": id, "credential": credential}


def api_key(id: str = "openai:default", **fields: Any) -> dict[str, Any]:
    return profile(id, "api_key", **{"key": "sk-fake-0123456789", **fields})


def login(id: str = "zai:me", **fields: Any) -> dict[str, Any]:
    return profile(id, "oauth", access="fake-access", refresh="fake-refresh", expires=NOW_MS + DAY, **fields)


def installation(folder: Path, *, native_id: str = "main", program: Path | None = PROGRAM) -> Installation:
    state = folder / ".openclaw"
    return Installation(
        "openclaw", state / "workspace", native_id, "Ada", state_dir=state, layout="2026.9", program=program
    )


def of(folder: Path, *rows: dict[str, Any], **options: Any) -> list[CredentialDelivery]:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return plan_credential_deliveries(installation(folder, **options), {openclaw_paths.AUTH_PROFILES: lines}, {}, NOW)


def test_a_key_goes_by_standard_input(tmp_path: Path) -> None:
    (found,) = of(tmp_path, api_key())
    words = ("models", "auth", "paste-api-key", "--provider", "openai", "--profile-id", "openai:default")
    assert found.command == (str(PROGRAM), *words, "--agent", "main")
    assert found.input == b"sk-fake-0123456789"
    assert found.environment == {"OPENCLAW_STATE_DIR": str(tmp_path / ".openclaw")}
    assert found.files == ()


def test_a_token_keeps_what_is_left_of_its_time(tmp_path: Path) -> None:
    (found,) = of(tmp_path, profile("meadow:me", "token", token="fake-token", expires=NOW_MS + DAY))
    assert found.command[found.command.index("--expires-in") + 1] == "86400s"


@pytest.mark.parametrize(
    "row",
    [
        login(),
        api_key(keyRef={"source": "env", "provider": "default", "id": "X"}, key=""),
        api_key(email="ada@example.com"),
        profile("anthropic:me", "token", token="not-a-setup-token"),
    ],
)
def test_what_no_command_takes_whole_goes_by_the_file_of_an_older_release(tmp_path: Path, row: dict[str, Any]) -> None:
    (found,) = of(tmp_path, row)
    ((path, data),) = found.files
    assert path == tmp_path / ".openclaw/agents/main/agent/auth-profiles.json"
    assert json.loads(data)["profiles"] == {row["id"]: row["credential"]}
    assert found.command[1:] == ("doctor", "--fix", "--non-interactive")
    assert found.leftovers == ("auth-profiles.json.migrated-*",)


def test_keys_go_before_the_file_which_would_block_them(tmp_path: Path) -> None:
    found = of(tmp_path, login(), api_key(), profile("anthropic:me", "token", token=SETUP_TOKEN))
    assert [each.command[3] if each.command[1] == "models" else each.command[1] for each in found] == [
        "paste-token",
        "paste-api-key",
        "doctor",
    ]


def test_an_agents_own_profiles_go_into_its_own_store(tmp_path: Path) -> None:
    (key, repair) = of(tmp_path, api_key(store="agent"), login(store="agent"), native_id="rover")
    assert key.command[-1] == "rover"
    assert repair.files[0][0].parent.parent.name == "rover"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (profile("a:b", "token", token="fake", expires=NOW_MS - DAY), "the credential has expired"),
        (api_key(key=""), "the credential is empty"),
    ],
)
def test_what_nothing_can_be_done_with_stays_out(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    (found,) = of(tmp_path, row)
    assert (str(found.reason), found.command) == (reason, ())


def test_without_the_program_nothing_is_run(tmp_path: Path) -> None:
    found = of(tmp_path, api_key(), login(), program=None)
    assert {each.reason for each in found} == {credential_delivery.NO_PROGRAM}


def test_a_profile_that_is_there_stays_also_when_it_is_of_a_provider_that_was_renamed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    given = ("models", "auth", "paste-api-key", "--provider", "openai", "--profile-id", "openai:me")
    machine.openclaw(*given, given="sk-mine")
    (found,) = plan_credential_deliveries(
        installation(machine.home),
        {openclaw_paths.AUTH_PROFILES: json.dumps(login("openai-codex:me")).encode()},
        {},
        NOW,
    )
    assert found.reason == KEPT
    assert find_undelivered_credentials(installation(machine.home), found) == {}


def test_a_token_that_was_put_back_before_is_in_its_place(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    given = ("models", "auth", "paste-token", "--provider", "meadow", "--profile-id", "meadow:me")
    machine.openclaw(*given, "--expires-in", "86400s", given="fake-token")
    (found,) = of(machine.home, profile("meadow:me", "token", token="fake-token", expires=NOW_MS + DAY))
    assert (found.reason, found.command) == (None, ())


def test_a_store_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / ".openclaw/state/openclaw.sqlite"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"not a database, but long enough to be taken for one" * 20)
    (found,) = of(tmp_path, api_key())
    assert "cannot be read" in str(found.reason)


def test_what_is_not_in_the_store_afterwards_is_named(tmp_path: Path) -> None:
    (found,) = of(tmp_path, api_key())
    assert find_undelivered_credentials(installation(tmp_path), found) == {
        (openclaw_paths.AUTH_PROFILES, (0,)): credential_delivery.NOT_TAKEN
    }


def test_a_login_that_openclaw_could_not_refresh_did_not_arrive(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    waiting = machine.state / "agents/main/agent/auth-profiles.json"
    waiting.parent.mkdir(parents=True)
    fence = "openclaw-oauth-refresh-fence:v1:0:failed:refresh:0"
    broken = {"type": "oauth", "provider": "zai", "access": fence, "refresh": fence, "expires": 1}
    waiting.write_text(json.dumps({"version": 1, "profiles": {"zai:me": broken}}))
    machine.openclaw("doctor", "--fix")
    (found,) = of(machine.home, login())
    assert found.reason is None
    assert "sign in again" in str(
        find_undelivered_credentials(installation(machine.home), found)[openclaw_paths.AUTH_PROFILES, (0,)]
    )


def test_entries_of_the_secret_store_are_imported_by_kind(tmp_path: Path) -> None:
    rows = [
        {"scope_kind": "team", "scope_id": "", "name": "A", "value": "it's", "kind": "secret"},
        {"scope_kind": "team", "scope_id": "", "name": "B", "value": "plain", "kind": "env"},
        {"scope_kind": "identity", "scope_id": "x", "name": "C", "value": "mine", "kind": "secret"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = plan_credential_deliveries(installation(tmp_path), {openclaw_paths.STORED_SECRETS: lines}, {}, NOW)
    assert [(each.input, each.command[-1]) for each in found if each.command] == [
        (b"B=plain\n", "env"),
        (b"A=`it's`\n", "secret"),
    ]
    assert "identity" in str(next(each.reason for each in found if not each.command))


@given(st.text(max_size=12))
def test_a_line_for_the_secret_store_says_its_value_or_is_none(value: str) -> None:
    line = dotenv_leaves.dotenv_line("NAME", value)
    if line is not None:
        (leaf,) = dotenv_leaves.scan_dotenv(line)
        assert leaf.value == value


def test_what_waits_in_the_place_of_a_file_is_neither_waited_for_nor_believed(tmp_path: Path) -> None:
    folder = tmp_path / ".openclaw/agents/main/agent"
    other = tmp_path / ".openclaw/agents/rover/agent"
    folder.mkdir(parents=True)
    other.mkdir(parents=True)
    os.mkfifo(folder / "auth-profiles.json")
    (other / "auth-profiles.json").write_text('{"profiles": ' * 100_000)
    (found,) = of(tmp_path, login())
    assert [path for path, _ in found.files] == [folder / "auth-profiles.json"]


def test_a_configuration_cannot_lead_a_file_with_secrets_to_another_place(tmp_path: Path) -> None:
    config = tmp_path / ".openclaw/openclaw.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"agents": {"defaults": {"systemAgent": {"agentId": "../../public"}}}}))
    lines = (json.dumps(login()) + "\n").encode()
    around = replace(installation(tmp_path), config=config)
    (found,) = plan_credential_deliveries(around, {openclaw_paths.AUTH_PROFILES: lines}, {}, NOW)
    assert [path for path, _ in found.files] == [tmp_path / ".openclaw/agents/main/agent/auth-profiles.json"]
