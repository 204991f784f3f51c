"""One agent's share of a ZeroClaw installation, the files around it, and the needs of its capabilities. Keys are
invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.persona.derivation_files import TextFiles
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import (
    secret_encryption,
    zeroclaw_credential_needs,
    zeroclaw_leftovers,
    zeroclaw_shared_files,
)
from support.adapters import zeroclaw_installs as installs

KEY = bytes.fromhex("5a" * 32)
CONFIG = f"{zeroclaw_paths.HOME}config.toml"
TWO = """
schema_version = 3
[memory]
backend = "sqlite.default"
[gateway]
paired_tokens = ["enc2:00"]
[providers.models.anthropic.default]
api_key = "an-invented-key-0001"
[providers.models.openai.work]
api_key = "an-invented-key-0002"
[providers.models.groq.spare]
api_key = "an-invented-key-0003"
[channels]
cli = true
[channels.telegram.ada]
bot_token = "an-invented-token-0004"
[channels.discord.bob]
bot_token = "an-invented-token-0005"
[risk_profiles.strict]
level = "strict"
[peer_groups.friends]
agents = ["bob"]
[cron.digest]
agent = "bob"
[agents.default]
model_provider = "anthropic.default"
channels = ["telegram.ada"]
risk_profile = "strict"
[agents.bob]
model_provider = "openai.work"
channels = ["discord.bob"]
risk_profile = "strict"
"""


def share(alias: str, text: str = TWO) -> dict[str, Any]:
    mine = zeroclaw_shared_files.read_zeroclaw_share(zeroclaw_config.parse_zeroclaw_config(text.encode()), alias)
    assert mine is not None
    return zeroclaw_shared_files.share_of_zeroclaw_config(zeroclaw_config.parse_zeroclaw_config(text.encode()), mine)


def installed(folder: Path, alias: str, text: str = TWO) -> Installation:
    install = installs.make_install(folder, agents=("default", "bob"))
    (install.home / "config.toml").write_text(text)
    where = install.workspace(alias)
    return Installation(
        "zeroclaw", where, alias, alias, state_dir=install.home, config=install.home / "config.toml", sharing="several"
    )


def test_an_agent_has_what_its_table_names() -> None:
    found = share("bob")
    assert found["providers"] == {"models": {"openai": {"work": {"api_key": "an-invented-key-0002"}}}}
    assert found["channels"] == {"discord": {"bob": {"bot_token": "an-invented-token-0005"}}}
    assert list(found["agents"]) == ["bob"]


def test_the_default_agent_has_what_belongs_to_nobody_else() -> None:
    found = share("default")
    assert set(found["providers"]["models"]) == {"anthropic", "groq"}
    assert found["channels"] == {"cli": True, "telegram": {"ada": {"bot_token": "an-invented-token-0004"}}}


def test_only_the_default_agent_has_the_gateway() -> None:
    assert "gateway" in share("default") and "gateway" not in share("bob")


def test_what_both_name_both_have() -> None:
    assert share("default")["risk_profiles"] == share("bob")["risk_profiles"] == {"strict": {"level": "strict"}}


def test_a_profile_without_settings_is_there_all_the_same() -> None:
    text = TWO.replace('[risk_profiles.strict]\nlevel = "strict"\n', "[risk_profiles.strict]\n")
    assert share("default", text)["risk_profiles"] == share("bob", text)["risk_profiles"] == {"strict": {}}


def test_jobs_and_groups_belong_to_whom_they_name() -> None:
    assert "digest" in share("bob")["cron"] and "cron" not in share("default")
    assert "friends" in share("bob")["peer_groups"] and "peer_groups" not in share("default")


def test_every_secret_is_in_exactly_one_share() -> None:
    shares = [json.dumps(share(alias)) for alias in ("default", "bob")]
    keys = [f"000{number}" for number in range(1, 6)]
    assert [sum(key in each for each in shares) for key in keys] == [1, 1, 1, 1, 1]


def test_the_only_agent_has_everything() -> None:
    assert (
        zeroclaw_shared_files.read_zeroclaw_share(
            zeroclaw_config.parse_zeroclaw_config(b"schema_version = 3\n[agents.ada]\n"), "ada"
        )
        is None
    )
    assert zeroclaw_shared_files.zeroclaw_sharing_mark({}, "default") == ""


def test_a_share_is_written_the_same_every_time(tmp_path: Path) -> None:
    installation = installed(tmp_path / "z", "bob")
    first, second = (zeroclaw_shared_files.share_of_zeroclaw_file(installation, CONFIG, TWO.encode()) for _ in range(2))
    assert first == second and first is not None and zeroclaw_config.parse_zeroclaw_config(first) == share("bob")


def test_the_mark_changes_with_what_another_agent_names() -> None:
    before = zeroclaw_shared_files.zeroclaw_sharing_mark(zeroclaw_config.parse_zeroclaw_config(TWO.encode()), "default")
    after = zeroclaw_shared_files.zeroclaw_sharing_mark(
        zeroclaw_config.parse_zeroclaw_config(TWO.replace('"openai.work"', '"groq.spare"').encode()), "default"
    )
    assert before != after


def test_logins_go_with_their_provider(tmp_path: Path) -> None:
    document = {
        "profiles": {"openai:work": {"model_provider": "openai"}, "anthropic:me": {"model_provider": "anthropic"}},
        "active_profiles": {"openai": "openai:work", "anthropic": "anthropic:me"},
    }
    path = f"{zeroclaw_paths.HOME}auth-profiles.json"
    found = zeroclaw_shared_files.share_of_zeroclaw_file(
        installed(tmp_path / "z", "bob"), path, json.dumps(document).encode()
    )
    assert json.loads(found or b"") == {
        "profiles": {"openai:work": {"model_provider": "openai"}},
        "active_profiles": {"openai": "openai:work"},
    }


def test_variables_go_with_their_provider(tmp_path: Path) -> None:
    data = b"# mine\nOPENAI_API_KEY=one\nANTHROPIC_API_KEY=two\n"
    assert (
        zeroclaw_shared_files.share_of_zeroclaw_file(
            installed(tmp_path / "z", "bob"), f"{zeroclaw_paths.HOME}.env", data
        )
        == b"OPENAI_API_KEY=one\n"
    )


@pytest.mark.parametrize("name", ["otp-secret", "webauthn_credentials.json"])
def test_what_opens_the_gateway_is_the_default_agents(tmp_path: Path, name: str) -> None:
    path = f"{zeroclaw_paths.HOME}{name}"
    assert zeroclaw_shared_files.share_of_zeroclaw_file(installed(tmp_path / "z", "bob"), path, b"x") is None
    assert zeroclaw_shared_files.share_of_zeroclaw_file(installed(tmp_path / "y", "default"), path, b"x") == b"x"


def test_the_workspace_is_not_shared(tmp_path: Path) -> None:
    assert (
        zeroclaw_shared_files.share_of_zeroclaw_file(
            installed(tmp_path / "z", "bob"), f"{zeroclaw_paths.RAW}SOUL.md", b"x"
        )
        == b"x"
    )


def test_of_a_configuration_that_cannot_be_read_nobody_has_a_share(tmp_path: Path) -> None:
    installation = installed(tmp_path / "z", "bob", "=")
    with pytest.raises(UnparsableSecrets):
        zeroclaw_shared_files.share_of_zeroclaw_file(installation, CONFIG, b"=")


@pytest.mark.parametrize(
    "text", ["agents = 1", "providers = 1\nchannels = [1]", "[channels]\ntelegram = 1\n[cron]\na = 1"]
)
def test_odd_shapes_are_shared_without_a_crash(text: str) -> None:
    values = zeroclaw_config.parse_zeroclaw_config(f"{text}\n".encode()) | {"schema_version": 3}
    if not isinstance(values.get("agents"), dict):
        values["agents"] = {"a": {"channels": [1, "x"]}, "b": {"model_provider": 7}}
    for alias in values["agents"]:
        mine = zeroclaw_shared_files.read_zeroclaw_share(values, alias)
        assert mine is not None and zeroclaw_shared_files.share_of_zeroclaw_config(values, mine)["agents"].keys() == {
            alias
        }


def alone(folder: Path) -> Installation:
    install = installs.make_install(folder)
    return Installation("zeroclaw", install.workspace(), "default", "Ada", state_dir=install.home)


def test_secrets_of_copies_are_known(tmp_path: Path) -> None:
    installation = alone(tmp_path / "z")
    (tmp_path / "z" / "config.toml.backup").write_text(
        f'api_key = "{secret_encryption.encrypt_secret("an-invented-key-0001", KEY)}"\n'
    )
    (tmp_path / "z" / "backup-20260601" / "legacy-workspace").mkdir(parents=True)
    (tmp_path / "z" / "backup-20260601" / "config.toml").write_text('api_key = "an-invented-key-0002"\n')
    (tmp_path / "z" / "backup-20260601" / "legacy-workspace" / ".env").write_text("A_TOKEN=an-invented-key-0003\n")
    known = {secret.value for secret in zeroclaw_leftovers.secrets_in_zeroclaw_leftovers(installation)}
    assert known == {"an-invented-key-0001", "an-invented-key-0002", "an-invented-key-0003", "5a" * 32}


def test_copies_with_secrets_in_clear_are_named(tmp_path: Path) -> None:
    installation = alone(tmp_path / "z")
    (tmp_path / "z" / "config.toml.backup").write_text('api_key = "enc2:00"\n')
    (tmp_path / "z" / "config.toml.bak").write_text('api_key = "an-invented-key-0002"\n')
    (tmp_path / "z" / "config.toml.bak.1").write_text("=")
    assert [one.path.name for one in zeroclaw_leftovers.find_zeroclaw_leftovers(installation)] == [
        "config.toml.bak",
        "config.toml.bak.1",
    ]


def test_a_workspace_that_stands_alone_has_no_copies(tmp_path: Path) -> None:
    installation = Installation("zeroclaw", tmp_path, "default", "Ada")
    assert (
        list(zeroclaw_leftovers.secrets_in_zeroclaw_leftovers(installation)),
        list(zeroclaw_leftovers.find_zeroclaw_leftovers(installation)),
    ) == ([], [])


def test_a_skill_needs_the_variables_that_it_declares() -> None:
    text = b"---\nname: weather\nmetadata:\n  requires:\n    env: [WEATHER_API_KEY]\n---\n# Weather\n"
    files = TextFiles({f"{zeroclaw_paths.RAW}skills/weather/SKILL.md": text})
    (need,) = zeroclaw_credential_needs.zeroclaw_credential_needs_of(
        files, {"structured": {"capabilities": [{"name": "weather"}]}}
    )
    assert need.variables == {"WEATHER_API_KEY"} and "config.toml: mcp.servers.weather." in need.places


def test_a_folder_that_the_configuration_does_not_know_has_a_share_of_nothing() -> None:
    found = share("stranger")
    assert set(found) <= {"memory", "schema_version"}
