"""Values that an archive has and an installation lacks are merged into the installation's own files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.additive_merging import merge_dotenv
from lifeboat_adapters.openclaw import openclaw_config, openclaw_folders
from lifeboat_adapters.openclaw.credentials.openclaw_auth_profiles import OpenClawProfile
from lifeboat_adapters.openclaw.restore import credential_file_merging
from lifeboat_adapters.openclaw.restore.openclaw_config_merging import (
    NEW,
    OLD,
    OpenClawMergeTarget,
    merge_openclaw_config,
)

NOW = "2026-11-20T12:00:00Z"
DAY = 86_400_000
NOW_MS = 1_795_176_000_000
HOME = Path("/people/ada")
KEY = "sk-fake-0123456789abcdef"


def place(
    *, layout: str = NEW, native_id: str = "main", workspace: str = "/people/ada/.openclaw/workspace"
) -> OpenClawMergeTarget:
    folder = HOME / ".openclaw"
    return OpenClawMergeTarget(
        layout, native_id, Path(workspace), openclaw_folders.OpenClawStateFolder(folder, folder / "openclaw.json", HOME)
    )


def values(data: bytes) -> Any:
    return openclaw_config.parse_openclaw_config(data)


# The configuration ---------------------------------------------------------------------------------------------------


def test_a_configuration_that_is_not_there_is_taken_over_byte_for_byte() -> None:
    wanted = b"{ agents: { entries: { main: { name: 'Ada' } } } } // mine\n"
    assert merge_openclaw_config(None, wanted, place(), {}).data == wanted


def test_a_configuration_that_is_taken_over_names_the_workspace_it_is_restored_into() -> None:
    wanted = (
        b"{\n  agents: { entries: { main: { workspace: '/old/workspace', agentDir: '/old/agent' } } }, // mine\n}\n"
    )
    merged = merge_openclaw_config(None, wanted, place(workspace="/people/ada/juniper"), {})
    assert values(merged.data)["agents"]["entries"]["main"] == {"workspace": "~/juniper"}
    assert b"// mine" in merged.data


def test_the_default_agent_without_an_entry_lives_where_it_is_restored_into() -> None:
    merged = merge_openclaw_config(None, b"{ gateway: { mode: 'local' } }", place(workspace="/srv/juniper"), {})
    assert values(merged.data)["agents"] == {"defaults": {"workspace": "/srv/juniper"}}


HOOKS = b'{ hooks: { internal: { entries: { lifeboat: { enabled: true }, "boot-md": { enabled: true } } } } }'


def test_the_entry_of_a_hook_that_is_not_on_this_machine_is_not_taken_over() -> None:
    merged = merge_openclaw_config(None, HOOKS, place(), {})
    assert values(merged.data)["hooks"]["internal"]["entries"] == {"boot-md": {"enabled": True}}
    assert "lifeboat agents hook" in str(merged.reason(("hooks", "internal", "entries", "lifeboat")))


def test_the_entry_of_a_hook_is_not_put_into_another_installation() -> None:
    merged = merge_openclaw_config(b"{ gateway: { mode: 'local' } }", HOOKS, place(), {})
    assert values(merged.data)["hooks"]["internal"]["entries"] == {"boot-md": {"enabled": True}}


def test_the_entry_of_a_hook_that_is_on_this_machine_stays() -> None:
    merged = merge_openclaw_config(HOOKS, HOOKS, place(), {})
    assert values(merged.data) == values(HOOKS)
    assert merged.reason(("hooks", "internal", "entries", "lifeboat")) is None


def test_what_is_bound_to_another_machine_is_not_taken_over() -> None:
    wanted = b'{ gateway: { auth: { mode: "token", token: "fake" } } }'
    path = ("gateway", "auth", "token")
    merged = merge_openclaw_config(None, wanted, place(), {path: "bound"})
    assert values(merged.data) == {"gateway": {"auth": {"mode": "token"}}}
    assert merged.reason(path) == "bound"


def test_only_what_is_missing_is_added_to_a_configuration() -> None:
    found = b'{ models: { providers: { one: { apiKey: "mine" } } } }'
    wanted = json.dumps({"models": {"providers": {"one": {"apiKey": KEY}, "two": {"apiKey": KEY}}}}).encode()
    merged = merge_openclaw_config(found, wanted, place(), {})
    assert values(merged.data)["models"]["providers"] == {"one": {"apiKey": "mine"}, "two": {"apiKey": KEY}}
    assert merged.reason(("models", "providers", "one", "apiKey")) == credential_file_merging.KEPT
    assert merged.reason(("models", "providers", "two", "apiKey")) is None


def test_what_the_installation_notes_of_itself_is_not_merged() -> None:
    merged = merge_openclaw_config(b"{}", b'{ meta: { lastTouchedVersion: "2026.9.6" }, wizard: {} }', place(), {})
    assert values(merged.data) == {}


def test_bindings_are_added_to_those_that_are_there() -> None:
    one, two = ({"agentId": "main", "match": {"channel": channel}} for channel in ("one", "two"))
    found, wanted = json.dumps({"bindings": [one]}), json.dumps({"bindings": [one, two]})
    assert values(merge_openclaw_config(found.encode(), wanted.encode(), place(), {}).data) == {"bindings": [one, two]}


def test_the_agents_list_of_an_older_release_becomes_entries_and_its_retired_keys_stay_away() -> None:
    wanted = {
        "agents": {"list": [{"id": "rover", "name": "Rover", "workspace": "/old", "memorySearch": {"a": 1}}]},
        "models": {"providers": {"one": {"apiKey": KEY}}},
        "commands": {"ownerDisplay": "raw"},
        "gateway": {"port": 1, "tailscale": {"resetOnExit": False}},
        "meta": {"lastTouchedVersion": "2026.2.26", "lastTouchedAt": NOW},
    }
    merged = merge_openclaw_config(
        None, json.dumps(wanted).encode(), place(native_id="rover", workspace="/people/ada/r"), {}
    )
    assert values(merged.data) == {
        "agents": {"entries": {"rover": {"name": "Rover", "workspace": "~/r"}}},
        "models": {"providers": {"one": {"apiKey": KEY}}},
        "gateway": {"port": 1},
    }
    assert "release" in str(merged.reason(("agents", "list", 0, "memorySearch", "a")))
    assert "release" in str(merged.reason(("commands", "ownerDisplay")))
    assert merged.reason(("models", "providers", "one", "apiKey")) is None


def test_a_second_agent_leaves_the_first_one_the_owner() -> None:
    wanted = b"{ agents: { entries: { rover: { name: 'Rover' } } } }"
    merged = merge_openclaw_config(
        b"{ gateway: {} }", wanted, place(native_id="rover", workspace="/people/ada/rover"), {}
    )
    assert values(merged.data)["agents"] == {
        "entries": {
            "rover": {"name": "Rover", "workspace": "~/rover"},
            "main": {"workspace": "~/.openclaw/workspace"},
        },
        "ownership": "explicit",
        "defaults": {"systemAgent": {"agentId": "main"}},
    }


def test_an_agent_that_is_configured_stays_where_it_lives() -> None:
    found = b"{ agents: { entries: { main: { workspace: '/srv/other' } } } }"
    merged = merge_openclaw_config(found, b"{ agents: { entries: { main: { workspace: '/old' } } } }", place(), {})
    assert merged.data == found
    assert merged.reason(("agents", "entries", "main", "workspace")) == credential_file_merging.KEPT


def test_an_agent_whose_name_another_one_has_comes_in_under_its_new_name() -> None:
    found = b"{ agents: { entries: { main: { workspace: '/srv/other' } } } }"
    wanted = b"{ agents: { entries: { main: { name: 'Ada' } } }, bindings: [ { agentId: 'main' } ] }"
    target = replace(place(native_id="ada", workspace="/people/ada/juniper"), source_id="main")
    merged = merge_openclaw_config(found, wanted, target, {})
    assert values(merged.data)["agents"]["entries"] == {
        "main": {"workspace": "/srv/other"},
        "ada": {"name": "Ada", "workspace": "~/juniper"},
    }
    assert values(merged.data)["bindings"] == [{"agentId": "ada"}]
    assert merged.reason(("agents", "entries", "main", "name")) is None


def test_an_agent_goes_into_the_list_of_an_older_release() -> None:
    found = b"{ agents: { list: [ { id: 'main' } ] } }"
    wanted = b"{ agents: { entries: { rover: { name: 'Rover', identity: { name: 'R' } } } } }"
    merged = merge_openclaw_config(
        found, wanted, place(layout=OLD, native_id="rover", workspace="/people/ada/rover"), {}
    )
    rover = {"id": "rover", "name": "Rover", "identity": {"name": "R"}, "workspace": "~/rover"}
    assert values(merged.data) == {"agents": {"list": [{"id": "main"}, rover]}}


# Other files ---------------------------------------------------------------------------------------------------------


def test_variables_that_are_missing_come_at_the_end_spelled_as_they_were() -> None:
    found = b"# mine\nONE=1\nTWO="
    wanted = b"ONE=other\nTWO='2'\nexport THREE=\"a\\nb\"\n"
    merged = merge_dotenv(found, wanted, {})
    assert merged.data == b"# mine\nONE=1\nTWO='2'\nTHREE=\"a\\nb\"\n"
    assert [merged.reason((name,)) for name in ("ONE", "TWO", "THREE")] == [credential_file_merging.KEPT, None, None]


def test_pointers_that_are_missing_are_added_to_the_secrets() -> None:
    merged = credential_file_merging.merge_json(b'{"a": {"x": "1"}}', b'{"a": {"x": "2", "y": "3"}}', {})
    assert json.loads(merged.data) == {"a": {"x": "1", "y": "3"}}
    assert [merged.reason(("a", key)) for key in "xy"] == [credential_file_merging.KEPT, None]


def oauth(expires: int, refresh: str = "fake-refresh") -> dict[str, Any]:
    return {"type": "oauth", "provider": "zai", "access": "fake-access", "refresh": refresh, "expires": expires}


API_KEY = {"type": "api_key", "provider": "openai", "key": KEY}


@pytest.mark.parametrize(
    ("found", "stays"),
    [
        (API_KEY, True),
        ({"type": "api_key", "provider": "openai", "keyRef": {"source": "env", "id": "X"}}, True),
        ({"type": "api_key", "provider": "openai", "key": ""}, False),
        (oauth(NOW_MS - DAY), True),
        (oauth(NOW_MS - DAY, refresh=""), False),
        (oauth(NOW_MS + DAY, refresh=""), True),
        (oauth(1, refresh="openclaw-oauth-refresh-fence:v1:failed:refresh:0"), False),
        ({"type": "token", "provider": "anthropic", "token": "fake", "expires": NOW_MS - DAY}, False),
        ({"type": "token", "provider": "anthropic", "token": "fake"}, True),
    ],
)
def test_a_stored_profile_is_replaced_only_when_nothing_can_be_done_with_it(found: Any, *, stays: bool) -> None:
    there = json.dumps({"version": 1, "profiles": {"a:b": found}}).encode()
    wanted = {"type": "api_key", "provider": "a", "key": "sk-fake-new"}
    merged = credential_file_merging.merge_openclaw_profiles(there, [OpenClawProfile("agent", "a:b", wanted)], NOW)
    assert json.loads(merged.data)["profiles"]["a:b"] == (found if stays else wanted)
    assert bool(merged.reason(("profiles", "a:b", "key"))) is stays


def test_profiles_make_a_store_where_there_is_none() -> None:
    merged = credential_file_merging.merge_openclaw_profiles(
        None, [OpenClawProfile("agent", "openai:default", API_KEY)], NOW
    )
    assert json.loads(merged.data) == {"version": 1, "profiles": {"openai:default": API_KEY}}
