"""One agent's share of what several agents have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.openclaw import ADAPTER
from lifeboat_adapters.openclaw.credentials import openclaw_share

CONFIG: dict[str, Any] = {
    "agents": {
        "defaults": {
            "model": {"primary": "orchard/oak-4", "fallbacks": ["reed/thin-1"]},
            "models": {"pine/any": {"alias": "pine"}},
            "heartbeat": {"agentId": "main"},
        },
        "entries": {
            "main": {"workspace": "~/main"},
            "rover": {"workspace": "~/rover", "model": "meadow/mini-1", "skills": ["tides"]},
        },
    },
    "bindings": [
        {"agentId": "main", "match": {"channel": "telegram"}},
        {"agentId": "rover", "match": {"channel": "telegram", "accountId": "work"}},
        {"agentId": "rover", "match": {"channel": "slack"}},
        {"agentId": "rover", "match": {"channel": "irc", "peer": {"kind": "group", "id": "g1"}}},
    ],
    "channels": {
        "telegram": {"botToken": "fake-main", "accounts": {"work": {"botToken": "fake-work"}, "home": {"x": 1}}},
        "slack": {"appToken": "fake-slack"},
        "irc": {"password": "fake-irc"},
        "matrix": {"password": "fake-matrix"},
    },
    "models": {
        "mode": "merge",
        "providers": {
            "orchard": {"apiKey": "fake-orchard"},
            "meadow": {"apiKey": {"source": "file", "provider": "file", "id": "/providers/meadow"}},
            "reed": {"apiKey": "${REED_SECRET}"},
            "unused": {"apiKey": "fake-unused"},
        },
    },
    "auth": {"profiles": {"meadow:a": {"provider": "meadow"}, "orchard:a": {"provider": "orchard"}}, "order": {}},
    "gateway": {"auth": {"token": "fake-gateway"}},
    "memory": {"search": {"remote": {"apiKey": "fake-search"}}},
    "skills": {"entries": {"tides": {"apiKey": "fake-tides"}, "poems": {"apiKey": "fake-poems"}}},
    "mcp": {"servers": {"all": {"command": "a"}, "mains": {"command": "b", "agents": ["main"]}}},
    "meta": {"lastTouchedVersion": "2026.9.6", "lastTouchedAt": "2026-09-01T00:00:00Z"},
}


def share(agent: str, values: dict[str, Any] = CONFIG) -> openclaw_share.OpenClawShare:
    found = openclaw_share.read_openclaw_share(values, agent)
    assert found is not None
    return found


def part(agent: str, values: dict[str, Any] = CONFIG) -> Any:
    return openclaw_share.share_of_config(values, share(agent, values))


def changed(*path: str, value: object) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(CONFIG))
    at = values
    for name in path[:-1]:
        at = at.setdefault(name, {})
    at[path[-1]] = value
    return values


def test_the_only_agent_of_a_configuration_shares_with_nobody() -> None:
    assert openclaw_share.read_openclaw_share({"agents": {"entries": {"main": {}}}}, "main") is None


def test_an_agent_that_is_not_configured_has_no_share() -> None:
    assert openclaw_share.read_openclaw_share(CONFIG, "gone") is None


def test_an_agent_has_its_own_entry_and_bindings_alone() -> None:
    found = part("rover")
    assert list(found["agents"]["entries"]) == ["rover"]
    assert {one["agentId"] for one in found["bindings"]} == {"rover"}


def test_agents_in_a_list_are_told_apart_by_their_ids() -> None:
    values = {"agents": {"list": [{"id": "main"}, {"id": "rover", "name": "Rover"}]}}
    assert part("rover", values)["agents"]["list"] == [{"id": "rover", "name": "Rover"}]


def test_an_agent_has_the_providers_of_its_models_and_of_the_common_fallbacks() -> None:
    assert list(part("rover")["models"]["providers"]) == ["meadow", "reed"]
    assert list(part("rover")["auth"]["profiles"]) == ["meadow:a"]


def test_the_default_agent_has_what_it_uses_and_what_nobody_else_does() -> None:
    assert list(part("main")["models"]["providers"]) == ["orchard", "reed", "unused"]


def test_a_model_may_be_named_by_its_alias() -> None:
    values = changed("agents", "entries", "rover", "model", value="pine")
    assert share("rover", values).has_provider("pine")


def test_an_agent_has_the_channel_accounts_that_its_bindings_name() -> None:
    found = part("rover")["channels"]
    assert found["telegram"] == {"accounts": {"work": {"botToken": "fake-work"}}}
    assert found["slack"] == {"appToken": "fake-slack"}
    assert "matrix" not in found


def test_the_default_agent_has_the_accounts_that_are_bound_to_no_other() -> None:
    found = part("main")["channels"]
    assert found["telegram"] == {"botToken": "fake-main", "accounts": {"home": {"x": 1}}}
    assert set(found) == {"telegram", "irc", "matrix"}


def test_a_binding_of_single_chats_shares_the_account() -> None:
    assert part("rover")["channels"]["irc"] == part("main")["channels"]["irc"] == {"password": "fake-irc"}


def test_the_gateway_is_the_default_agents() -> None:
    assert "gateway" in part("main") and "gateway" not in part("rover")


def test_what_is_limited_to_others_is_not_shared() -> None:
    assert list(part("rover")["mcp"]["servers"]) == ["all"]
    assert list(part("rover")["skills"]["entries"]) == ["tides"]
    assert "heartbeat" not in part("rover")["agents"]["defaults"]


def test_search_of_memories_is_everybodys() -> None:
    assert part("rover")["memory"] == part("main")["memory"] == CONFIG["memory"]


@pytest.mark.parametrize(
    "values",
    [
        changed("agents", "entries", "main", "name", value="Juniper"),
        changed("models", "providers", "orchard", "apiKey", value="fake-other"),
        changed("gateway", "port", value=1),
        changed("channels", "matrix", "password", value="fake-other"),
        changed("meta", "lastTouchedAt", value="2026-09-02T00:00:00Z"),
        changed("mcp", "servers", "mains", "command", value="c"),
    ],
)
def test_a_change_of_anothers_part_changes_no_byte(values: dict[str, Any]) -> None:
    assert openclaw_share.share_as_json(part("rover", values)) == openclaw_share.share_as_json(part("rover"))


def test_variables_are_shared_by_who_refers_to_them_or_uses_their_provider() -> None:
    data = b"# all\nORCHARD_API_KEY=a\nMEADOW_API_KEY=b\nREED_SECRET=c\nEDITOR=nano\nSLACK_BOT_TOKEN='d\nd'\n"
    assert (
        openclaw_share.share_of_variables(data, share("rover"))
        == b"MEADOW_API_KEY=b\nREED_SECRET=c\nSLACK_BOT_TOKEN='d\nd'\n"
    )
    assert (
        openclaw_share.share_of_variables(data, share("main"))
        == b"# all\nORCHARD_API_KEY=a\nREED_SECRET=c\nEDITOR=nano\n"
    )


def test_secrets_are_shared_by_the_pointers_that_name_them() -> None:
    values = {"providers": {"meadow": "fake-meadow", "orchard": {"key": "fake-orchard"}}, "a/b": "fake"}
    assert openclaw_share.share_of_secrets(values, share("rover")) == {"providers": {"meadow": "fake-meadow"}}
    assert openclaw_share.share_of_secrets(values, share("main")) == {
        "providers": {"orchard": {"key": "fake-orchard"}},
        "a/b": "fake",
    }


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("credentials/telegram/work/creds.json", "rover"),
        ("credentials/telegram/home/creds.json", "main"),
        ("credentials/telegram-allowFrom.json", "main"),
        ("credentials/telegram-work-allowFrom.json", "rover"),
        ("credentials/slack/token.json", "rover"),
        ("credentials/whatsapp/default/creds.json", "main"),
    ],
)
def test_a_channels_login_is_of_the_agent_that_the_channel_is_bound_to(path: str, owner: str) -> None:
    assert [one for one in ("main", "rover") if openclaw_share.has_login(path, share(one))] == [owner]


@given(
    st.dictionaries(st.text("abcdefgh:/-", max_size=6), st.text("abc", max_size=3), max_size=5),
    st.sampled_from(["providers", "entries"]),
)
def test_whatever_is_configured_belongs_to_somebody(listed: dict[str, str], kind: str) -> None:
    top = "models" if kind == "providers" else "skills"
    values = {**CONFIG, top: {kind: listed}}
    found = [part(agent, values)[top][kind] for agent in ("main", "rover")]
    assert {name for one in found for name in one} == set(listed)


# In files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    folder = tmp_path / ".openclaw"
    for agent in ("main", "rover"):
        (folder / agent).mkdir(parents=True)
        (folder / agent / "SOUL.md").write_text("# Soul\n")
    values = changed("agents", "entries", "main", "workspace", value=str(folder / "main"))
    values["agents"]["entries"]["rover"]["workspace"] = str(folder / "rover")
    channels = values.pop("channels")
    (folder / "channels.json5").write_text(json.dumps(channels))
    (folder / "openclaw.json").write_text(json.dumps({**values, "channels": {"$include": "./channels.json5"}}))
    return folder


def of_file(state_dir: Path, agent: str, name: str, data: bytes | None = None) -> bytes | None:
    installed = ADAPTER.locate(state_dir / agent, {}, state_dir.parent)
    found = (state_dir / name).read_bytes() if data is None else data
    return ADAPTER.share(installed, f"raw/openclaw-home/{name}", found)


def test_a_file_that_the_configuration_includes_is_shared_like_the_rest(state_dir: Path) -> None:
    found = of_file(state_dir, "rover", "channels.json5")
    assert found is not None and json.loads(found) == part("rover")["channels"]
    assert "channels.json5" in ADAPTER.roots(ADAPTER.locate(state_dir / "rover", {}, state_dir.parent))[1].only  # type: ignore[operator]


def test_a_file_of_which_nothing_is_the_agents_is_none_of_its_files(state_dir: Path) -> None:
    assert of_file(state_dir, "rover", ".env", b"EDITOR=nano\n") is None
    assert of_file(state_dir, "rover", "credentials/whatsapp/default/creds.json", b"{}") is None


def test_a_file_that_does_not_parse_cannot_be_shared(state_dir: Path) -> None:
    with pytest.raises(UnparsableSecrets):
        of_file(state_dir, "rover", "secrets.json", b"{ fake-secret")


def test_files_of_the_workspace_are_not_shared(state_dir: Path) -> None:
    installed = ADAPTER.locate(state_dir / "rover", {}, state_dir.parent)
    assert ADAPTER.share(installed, "raw/openclaw/openclaw.json", b"{ no json") == b"{ no json"


def test_who_the_agents_are_changes_how_files_are_shared(state_dir: Path) -> None:
    before = ADAPTER.locate(state_dir / "rover", {}, state_dir.parent).sharing
    values = json.loads((state_dir / "openclaw.json").read_text())
    values["agents"]["entries"]["third"] = {"model": "reed/thin-1"}
    (state_dir / "openclaw.json").write_text(json.dumps(values))
    assert before != ADAPTER.locate(state_dir / "rover", {}, state_dir.parent).sharing
