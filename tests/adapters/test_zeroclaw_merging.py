"""`config.toml` and `auth-profiles.json` of an archive merged into an installation's. Every key is
invented."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.additive_merging import KEPT, ValueChange
from lifeboat_adapters.contract import MergedHomeFile
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_adapters.zeroclaw.restore import toml_editing, zeroclaw_config_merging
from lifeboat_adapters.zeroclaw.restore.config_schema import RETIRED
from lifeboat_adapters.zeroclaw.restore.zeroclaw_config_merging import ZeroClawMergeTarget

NOW = "2026-11-20T12:00:00.000Z"
HOME = Path("/nowhere/.zeroclaw")
HERE = ZeroClawMergeTarget(zeroclaw_paths.CURRENT, "default", HOME / "agents/default/workspace", HOME)
EARLY = ZeroClawMergeTarget(zeroclaw_paths.EARLY, "default", HOME / "workspace", HOME)

V3 = """# written by hand
schema_version = 3

[providers.models.anthropic.default]  # the good one
model = "claude-example-1"
api_key = "an-invented-key-0001"

[channels.telegram.default]
enabled = true
bot_token = "an-invented-token-0002"

[agents.default]
enabled = true
model_provider = "anthropic.default"
"""
V1 = """api_key = "an-invented-key-0001"
default_provider = "openai"
default_model = "gpt-example"

[identity]
format = "aieos"
aieos_path = "identity.json"

[channels_config]
cli = true

[channels_config.telegram]
bot_token = "an-invented-token-0002"
allowed_users = ["@mira"]

[channels_config.discord]
bot_token = "an-invented-token-0003"
guild_id = "1111"

[agents.scout]
provider = "anthropic"
model = "claude-example-1"
api_key = "an-invented-key-0004"
max_depth = 2

[swarms.squad]
agents = ["scout"]

[memory]
backend = "sqlite"

[memory.qdrant]
url = "http://127.0.0.1:6333"
"""


def merged(
    found: str | None, wanted: str, place: ZeroClawMergeTarget = HERE, left_out: dict[Any, str] | None = None
) -> MergedHomeFile:
    data = None if found is None else found.encode()
    return zeroclaw_config_merging.merge_zeroclaw_config(data, wanted.encode(), place, left_out or {})


def values(result: MergedHomeFile) -> dict[str, Any]:
    return zeroclaw_config.parse_zeroclaw_config(result.data)


def test_a_configuration_that_is_not_there_is_taken_over_byte_for_byte() -> None:
    assert merged(None, V3).data == V3.encode()


def test_an_early_configuration_in_an_early_layout_is_taken_over_byte_for_byte() -> None:
    assert merged(None, V1, EARLY).data == V1.encode()


def test_an_agent_that_lives_elsewhere_is_found_there() -> None:
    place = ZeroClawMergeTarget(zeroclaw_paths.CURRENT, "default", Path("/nowhere/ada"), HOME)
    assert (
        zeroclaw_config.get_nested_text(values(merged(None, V3, place)), "agents", "default", "workspace", "path")
        == "/nowhere/ada"
    )


def test_the_folder_of_another_machine_is_not_taken_over() -> None:
    wanted = V3 + '\n[agents.default.workspace]\npath = "/other/machine"\naccess = "full"\n'
    assert values(merged(None, wanted))["agents"]["default"]["workspace"] == {"access": "full"}


def test_comments_stay_when_something_is_left_out() -> None:
    path = ("channels", "telegram", "default", "bot_token")
    result = merged(None, V3, left_out={path: "bound"})
    assert b"# the good one" in result.data and b"an-invented-token-0002" not in result.data
    assert not result.rewritten


def test_what_is_there_stays() -> None:
    found = 'schema_version = 3\n[providers.models.anthropic.default]\nmodel = "another"  # mine\n'
    result = merged(found, V3)
    assert values(result)["providers"]["models"]["anthropic"]["default"] == {
        "model": "another",
        "api_key": "an-invented-key-0001",
    }
    assert result.reason(("providers", "models", "anthropic", "default", "model")) == KEPT


def test_what_is_missing_is_added_with_the_comments_of_what_is_there() -> None:
    found = "schema_version = 3  # three\n\n[gateway]  # at home\nport = 1\n"
    result = merged(found, V3)
    assert result.data.startswith(found.encode()) and values(result)["channels"]["telegram"]["default"]["enabled"]


def test_a_second_agent_joins_the_first() -> None:
    place = ZeroClawMergeTarget(zeroclaw_paths.CURRENT, "ada", HOME / "agents/ada/workspace", HOME)
    found = V3.replace("agents.default", "agents.bob")
    result = values(merged(found, V3, place))
    assert set(result["agents"]) == {"bob", "ada"}


def test_a_renamed_agent_is_taken_over_under_its_new_name() -> None:
    place = ZeroClawMergeTarget(zeroclaw_paths.CURRENT, "ada", HOME / "agents/ada/workspace", HOME)
    result = merged(None, V3, place)
    assert values(result)["agents"] == {"ada": {"enabled": True, "model_provider": "anthropic.default"}}
    assert result.reason(("agents", "default", "enabled")) is None


def test_left_out_paths_are_not_added() -> None:
    path = ("channels", "telegram", "default", "bot_token")
    result = merged("schema_version = 3\n", V3, left_out={path: "bound"})
    assert values(result)["channels"]["telegram"]["default"] == {"enabled": True}
    assert result.reason(path) == "bound"


def test_a_value_that_is_only_encrypted_anew_is_the_same(tmp_path: Path) -> None:
    key = bytes(range(32))
    (tmp_path / ".secret_key").write_text(key.hex())
    one, other = (
        f'schema_version = 3\n[a]\ntoken = "{secret_encryption.encrypt_secret("invented", key)}"\n' for _ in range(2)
    )
    same = zeroclaw_config_merging._same_for(tmp_path)
    result = zeroclaw_config_merging.merge_zeroclaw_config(one.encode(), other.encode(), HERE, {}, same)
    assert (result.data, result.reason(("a", "token"))) == (one.encode(), None)


def test_an_early_provider_becomes_a_named_one() -> None:
    result = values(merged(None, V1))
    assert result["providers"]["models"]["openai"]["default"] == {
        "api_key": "an-invented-key-0001",
        "model": "gpt-example",
    }


def test_the_only_agent_of_an_early_configuration_uses_them() -> None:
    agent = values(merged(None, V1))["agents"]["default"]
    assert (agent["model_provider"], agent["channels"]) == ("openai.default", ["discord.default", "telegram.default"])


def test_an_early_identity_becomes_that_of_the_agent() -> None:
    assert values(merged(None, V1))["agents"]["default"]["identity"]["aieos_path"] == "identity.json"


def test_early_channels_become_named_ones() -> None:
    channels = values(merged(None, V1))["channels"]
    assert channels["discord"]["default"] == {"bot_token": "an-invented-token-0003", "guild_ids": ["1111"]}
    assert channels["cli"] is True


def test_whom_a_channel_answered_is_a_group_of_peers() -> None:
    group = values(merged(None, V1))["peer_groups"]["telegram_default"]
    assert group == {"channel": "telegram", "agents": ["default"], "external_peers": ["@mira"]}


def test_a_helper_becomes_an_agent_with_a_provider_of_its_own() -> None:
    result = values(merged(None, V1))
    assert result["providers"]["models"]["anthropic"]["agent_scout"]["api_key"] == "an-invented-key-0004"
    assert result["agents"]["scout"]["model_provider"] == "anthropic.agent_scout"
    assert result["runtime_profiles"]["agent_scout"] == {"max_delegation_depth": 2}


def test_a_database_of_memories_becomes_a_named_storage() -> None:
    assert values(merged(None, V1))["storage"]["qdrant"]["default"] == {"url": "http://127.0.0.1:6333"}


@pytest.mark.parametrize(
    "path",
    [
        ("api_key",),
        ("channels_config", "telegram", "bot_token"),
        ("channels_config", "discord", "bot_token"),
        ("agents", "scout", "api_key"),
    ],
)
def test_a_credential_that_moved_is_said_to_be_put_in_where_it_stood(path: tuple[str, ...]) -> None:
    result = merged(None, V1)
    assert result.reason(path) is None


def test_a_credential_that_moved_and_is_there_already_is_said_to_stay() -> None:
    found = 'schema_version = 3\n[providers.models.openai.default]\napi_key = "another"\n'
    assert merged(found, V1).reason(("api_key",)) == KEPT


def test_a_credential_that_moved_may_stay_out() -> None:
    result = merged(None, V1, left_out={("api_key",): "bound"})
    assert b"an-invented-key-0001" not in result.data


def test_what_a_later_release_does_not_know_is_named() -> None:
    assert merged(None, V1).reason(("swarms", "squad")) == RETIRED


def test_a_second_schema_becomes_the_third() -> None:
    second = (
        'schema_version = 2\n[providers]\ndefault_provider = "groq"\napi_key = "k"\n[channels.slack]\nbot_token = "t"\n'
    )
    result = values(merged(None, second))
    assert result["providers"]["models"]["groq"]["default"] == {"api_key": "k"}
    assert result["channels"]["slack"]["default"] == {"bot_token": "t"}


def test_the_first_schema_becomes_the_second_where_that_is_there() -> None:
    result = values(merged("schema_version = 2\n", V1, EARLY))
    assert result["providers"]["api_key"] == "an-invented-key-0001"
    assert result["channels"]["telegram"]["bot_token"] == "an-invented-token-0002"


def test_an_agent_of_today_in_an_early_installation_keeps_its_provider_and_channels() -> None:
    wanted = V3 + 'channels = ["telegram.default"]\n'
    result = merged("[gateway]\nport = 1\n", wanted, EARLY)
    assert values(result) == {
        "gateway": {"port": 1},
        "default_provider": "anthropic",
        "default_model": "claude-example-1",
        "api_key": "an-invented-key-0001",
        "channels_config": {"telegram": {"enabled": True, "bot_token": "an-invented-token-0002"}},
    }
    assert result.reason(("agents", "default", "model_provider")) == RETIRED
    assert result.reason(("providers", "models", "anthropic", "default", "api_key")) is None


def test_an_address_that_is_a_part_of_a_name_becomes_a_setting() -> None:
    wanted = 'default_provider = "custom:https://models.example.com/v1"\napi_key = "k"\n'
    provider = values(merged(None, wanted))["providers"]["models"]["custom"]["default"]
    assert provider == {"uri": "https://models.example.com/v1", "api_key": "k"}


@pytest.mark.parametrize("wanted", ["=", "a = 1\na = 2", "\x00"])
def test_what_does_not_parse_is_not_merged(wanted: str) -> None:
    with pytest.raises(ValueError):
        merged(None, wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        "providers = 1\nchannels = 2\nagents = 3\nmemory = 4\nstorage = 5\ncron = 6\nidentity = 7\n",
        "schema_version = 2\nproviders = 1\n[channels]\ntelegram = 3\n[agents]\nscout = 1\n",
        "[model_providers]\nopenai = 1\n[cron]\njobs = [1, {name = '///'}]\n",
        "schema_version = 3\nagents = 1\nproviders = []\n",
    ],
)
def test_odd_shapes_are_carried_or_named(wanted: str) -> None:
    assert values(merged(None, wanted)) is not None and values(merged("schema_version = 3\n", wanted)) is not None


def test_a_merge_into_the_result_changes_nothing() -> None:
    once = merged(None, V1).data
    assert zeroclaw_config_merging.merge_zeroclaw_config(once, V1.encode(), HERE, {}).data == once


NAMES = st.text("ab.-é", min_size=1, max_size=3)
TABLES = st.recursive(
    st.text("ab\"'#é\n", max_size=4) | st.integers(-5, 5) | st.booleans(),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, TABLES, max_size=3), NAMES, TABLES)
def test_a_change_of_a_text_changes_that_value_and_no_other(before: dict[str, Any], key: str, value: Any) -> None:
    changed = toml_editing.edit_toml(toml_editing.format_toml(before), [ValueChange((key,), value)])
    assert zeroclaw_config.parse_zeroclaw_config(changed.data) == before | {key: value}


def test_a_value_that_goes_leaves_the_comments_around_it() -> None:
    text = b"a = 1  # one\n# between\nb = 2  # two\n"
    assert toml_editing.edit_toml(text, [ValueChange(("a",), remove=True)]).data == b"# between\nb = 2  # two\n"


def profile(**about: Any) -> dict[str, Any]:
    return {"model_provider": "openai", "kind": "oauth", "access_token": "enc2:00", **about}


def logins(**about: dict[str, Any]) -> bytes:
    listed = {name.replace("__", ":"): values for name, values in about.items()}
    return json.dumps({"schema_version": 1, "active_profiles": {"openai": "openai:work"}, "profiles": listed}).encode()


def test_logins_that_are_not_there_are_taken_over_byte_for_byte() -> None:
    wanted = logins(openai__work=profile())
    assert zeroclaw_config_merging.merge_zeroclaw_profiles(None, wanted, {}, NOW).data == wanted


def test_a_login_that_is_usable_stays() -> None:
    found = logins(openai__work=profile(refresh_token="enc2:11"))
    result = zeroclaw_config_merging.merge_zeroclaw_profiles(found, logins(openai__work=profile()), {}, NOW)
    assert (result.data, result.reason(("profiles", "openai:work"))) == (found, KEPT)


def test_a_login_that_expired_is_replaced() -> None:
    found = logins(openai__work=profile(expires_at="2026-11-19T00:00:00Z"))
    result = zeroclaw_config_merging.merge_zeroclaw_profiles(
        found, logins(openai__work=profile(access_token="enc2:22")), {}, NOW
    )
    assert json.loads(result.data)["profiles"]["openai:work"]["access_token"] == "enc2:22"


def test_a_login_with_a_token_that_stays_out_stays_out_whole() -> None:
    left_out: dict[Any, str] = {("profiles", "openai:work", "access_token"): "locked"}
    result = zeroclaw_config_merging.merge_zeroclaw_profiles(
        None, logins(openai__work=profile(), groq__x=profile()), left_out, NOW
    )
    assert list(json.loads(result.data)["profiles"]) == ["groq:x"]
    assert result.reason(("profiles", "openai:work", "access_token")) == "locked"


def test_a_login_joins_others() -> None:
    result = zeroclaw_config_merging.merge_zeroclaw_profiles(
        logins(groq__x=profile()), logins(openai__work=profile()), {}, NOW
    )
    assert set(json.loads(result.data)["profiles"]) == {"groq:x", "openai:work"}


@pytest.mark.parametrize("wanted", [b"", b"[]", b"{", b"\xff"])
def test_logins_that_do_not_parse_are_not_merged(wanted: bytes) -> None:
    with pytest.raises(ValueError):
        zeroclaw_config_merging.merge_zeroclaw_profiles(None, wanted, {}, NOW)


def test_places_of_cuts_are_told() -> None:
    data = b'[providers.models.openai.default]\napi_key = "{{cut}}"\n# {{cut}}\n'
    offsets = [data.index(b'"{{'), data.index(b"# {{")]
    assert zeroclaw_config_merging.zeroclaw_secret_places(f"{zeroclaw_paths.HOME}config.toml", data, offsets) == [
        ("providers", "models", "openai", "default", "api_key"),
        (),
    ]


@pytest.mark.parametrize("found", [None, "schema_version = 3\n"])
def test_of_a_list_only_what_must_stay_out_stays_out(found: str | None) -> None:
    wanted = 'schema_version = 3\n[reliability]\napi_keys = ["one", "two", "three"]\n'
    left_out = {("reliability", "api_keys", 0): "bound", ("reliability", "api_keys", 1): "bound"}
    assert values(merged(found, wanted, left_out=left_out))["reliability"]["api_keys"] == ["three"]


def test_a_file_that_says_two_and_is_spelled_like_one_stays_spelled_so() -> None:
    result = merged(
        'schema_version = 2\ndefault_provider = "anthropic"\n', V3 + 'channels = ["telegram.default"]\n', EARLY
    )
    assert set(values(result)) == {"schema_version", "default_provider", "default_model", "api_key", "channels_config"}


CHANNELS = ("telegram", "discord", "discord_history", "slack", "matrix", "feishu", "lark", "signal", "irc", "own_thing")
RICH = (
    'api_key = "secret-00"\napi_url = "https://models.example.com/"\napi_path = "/v1"\n'
    'default_provider = "google"\nprovider_max_tokens = 100\n'
    '[extra_headers]\n"X-Key" = "secret-01"\n'
    '[model_providers.openai]\nname = "openai"\nbase_url = "https://models.example.com"\napi_key = "secret-02"\n'
    '[model_providers."custom:https://own.example.com/v1"]\napi_key = "secret-03"\n'
    '[[model_routes]]\nhint = "fast"\nprovider = "openai"\nmodel = "m"\napi_key = "secret-04"\n'
    '[reliability]\napi_keys = ["secret-05"]\nfallback_providers = ["openai"]\n'
    '[cost.prices."m"]\ninput = 1.0\n[tunnel]\nprovider = "ngrok"\nauth_token = "secret-06"\n'
    '[web_search]\nprovider = "brave"\nbrave_api_key = "secret-07"\n'
    '[tts]\ndefault_provider = "elevenlabs"\n[tts.elevenlabs]\napi_key = "secret-08"\n'
    '[storage.provider.config]\nprovider = "postgres"\ndb_url = "secret-09"\n'
    '[cron]\nenabled = true\n[[cron.jobs]]\nid = "a"\ncommand = "echo secret-10"\n'
    '[[cron.jobs]]\nid = "a"\ncommand = "secret-11"\n'
    '[agents.scout]\nprovider = "xai"\napi_key = "secret-12"\nskills_directory = "/x"\n'
    '[agents.poor]\napi_key = "secret-13"\n'
    '[heartbeat]\nenabled = true\n[autonomy]\nlevel = "full"\nmax_actions_per_hour = 3\n'
    + "".join(f'[channels_config.{name}]\nbot_token = "secret-{20 + n}"\n' for n, name in enumerate(CHANNELS))
)


def _secrets(value: Any, path: tuple[str | int, ...] = ()) -> dict[str, tuple[str | int, ...]]:
    if isinstance(value, dict):
        return {text: at for key, each in value.items() for text, at in _secrets(each, (*path, key)).items()}
    if isinstance(value, list):
        return {text: at for n, each in enumerate(value) for text, at in _secrets(each, (*path, n)).items()}
    return {value: path} if isinstance(value, str) and "secret-" in value else {}


def test_every_secret_of_an_early_configuration_moves_or_is_named() -> None:
    result = merged(None, RICH)
    there, wanted = _secrets(values(result)), _secrets(zeroclaw_config.parse_zeroclaw_config(RICH.encode()))
    lost = {text for text, path in wanted.items() if text not in there and not result.reason(path)}
    wrong = {text for text, path in wanted.items() if text in there and result.reason(path)}
    assert (lost, wrong) == (set(), set())


def test_what_moves_is_most_of_it() -> None:
    result = merged(None, RICH)
    wanted = _secrets(zeroclaw_config.parse_zeroclaw_config(RICH.encode()))
    assert {text for text, path in wanted.items() if result.reason(path)} == {"secret-11", "secret-13", "secret-22"}


@pytest.mark.parametrize("number", range(14))
def test_whatever_stays_out_of_an_early_configuration_stays_out(number: int) -> None:
    text, path = next(
        each
        for each in _secrets(zeroclaw_config.parse_zeroclaw_config(RICH.encode())).items()
        if f"secret-{number:02}" in each[0]
    )
    assert text not in _secrets(values(merged(None, RICH, left_out={path: "bound"})))


def test_a_new_table_stands_apart_and_comments_stay() -> None:
    before = b"# of the harbour\na = 1  # one\n\n[b]\nc = 2  # two\n"
    changed = toml_editing.edit_toml(before, [ValueChange(("d", "e"), 3), ValueChange(("b", "f", "g"), 4)])
    text = changed.data.decode()
    assert not changed.rewritten
    for header in ("[d]", "[b.f]"):
        assert f"\n\n{header}\n" in text
    assert text.startswith("# of the harbour\na = 1  # one\n\n[b]\nc = 2  # two\n")
    assert "\n\n\n" not in text


def test_lines_that_look_like_tables_are_left_alone_in_texts() -> None:
    before = b'a = """\nx\n[y]\n"""\n'
    changed = toml_editing.edit_toml(before, [ValueChange(("b",), "x\n[z]\n")])
    assert tomllib.loads(changed.data.decode()) == {"a": "x\n[y]\n", "b": "x\n[z]\n"}
