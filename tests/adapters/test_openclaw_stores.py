"""The credential stores in OpenClaw's databases as rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_adapters.contract import RuntimeRow
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.openclaw import ADAPTER, openclaw_paths
from lifeboat_adapters.openclaw.credentials.openclaw_auth_profiles import profiles_in
from lifeboat_alf.common import json_codec
from support.adapters import openclaw_stores as stores
from support.adapters import openclaw_workspaces as workspaces

KEY = "sk-fake-orchard-key-0000000000"
ACCESS, REFRESH = "fake-access-token-0000000000", "fake-refresh-token-0000000000"


@pytest.fixture
def made(tmp_path: Path) -> workspaces.StateFolder:
    """An agent alone in its state directory, which owns everything."""
    state = workspaces.make_state_dir(tmp_path / ".openclaw")
    state.config.write_text(f'{{agents: {{entries: {{main: {{workspace: "{state.workspace}"}}}}}}}}')
    return state


def rows(made: workspaces.StateFolder, agent: str = "main") -> list[RuntimeRow]:
    installed = ADAPTER.locate(made.workspaces[agent], {}, made.folder.parent)
    return [
        row
        for row in ADAPTER.databases.rows(installed, transcripts=False)
        if row.path.startswith(f"{openclaw_paths.DATABASES}auth/")
    ]


def test_profiles_of_both_stores_are_rows_by_store_and_id(made: workspaces.StateFolder) -> None:
    stores.put_shared(made.state_database, stores.store(b__x=stores.api_key("b", KEY), a__x=stores.api_key("a", KEY)))
    stores.put_own(made.agent_database(), stores.store(c__x=stores.login("c", ACCESS, REFRESH)))
    found = sorted((row.key, row.values) for row in rows(made))
    assert [(one["store"], one["id"]) for _, one in found] == [("agent", "c:x"), ("shared", "a:x"), ("shared", "b:x")]
    assert found[0][1]["credential"] == stores.login("c", ACCESS, REFRESH)


def test_rows_are_read_again_as_profiles(made: workspaces.StateFolder) -> None:
    stores.put_shared(made.state_database, stores.store(a__x=stores.api_key("a", KEY)))
    data = b"".join(json_codec.encode_json(row.values) + b"\n" for row in rows(made))
    (profile,) = profiles_in(openclaw_paths.AUTH_PROFILES, data)
    assert (profile.store, profile.id, profile.provider) == ("shared", "a:x", "a")


def test_of_the_state_of_profiles_only_their_order_is_kept(made: workspaces.StateFolder) -> None:
    state = {"version": 1, "order": {"a": ["a:x"]}, "lastGood": {"a": "a:x"}, "usageStats": {"a:x": {"lastUsed": 1}}}
    stores.put_shared(made.state_database, stores.store(), state)
    (row,) = rows(made)
    assert (row.path, row.values) == (openclaw_paths.AUTH_ORDER, {"store": "shared", "provider": "a", "ids": ["a:x"]})


def test_entries_of_the_secret_store_are_rows_unless_they_were_deleted(made: workspaces.StateFolder) -> None:
    stores.put_secret(made.state_database, "ORCHARD_KEY", KEY)
    stores.put_secret(made.state_database, "OLD_KEY", "sk-fake-old", deleted=True)
    (row,) = rows(made)
    assert (row.path, row.values["name"], row.values["value"]) == (openclaw_paths.STORED_SECRETS, "ORCHARD_KEY", KEY)


def test_an_older_release_keeps_the_shared_store_in_the_database_of_main(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    made.config.write_text(made.config.read_text().replace("2026.9.6", "2026.7.2"))
    stores.put_own(made.agent_database("main"), stores.store(meadow__x=stores.api_key("meadow", KEY)))
    assert [(row.values["store"], row.values["id"]) for row in rows(made, "rover")] == [("shared", "meadow:x")]
    assert made.agent_database("main") in ADAPTER.databases.files(
        ADAPTER.locate(made.workspaces["rover"], {}, made.folder.parent)
    )


def test_todays_release_never_looks_into_the_database_of_another_agent(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    stores.put_own(made.agent_database("main"), stores.store(meadow__x=stores.api_key("meadow", KEY)))
    assert rows(made, "rover") == []


def test_the_profile_file_of_an_agent_whose_folder_lies_elsewhere_is_rows(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw", layout=workspaces.OLD)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    document = stores.store(a__x=stores.api_key("a", KEY))
    (elsewhere / "auth-profiles.json").write_bytes(json_codec.encode_json(document))
    made.config.write_text(
        f'{{agents: {{list: [{{id: "main", workspace: "{made.workspace}", agentDir: "{elsewhere}"}}]}}}}'
    )
    assert [(row.values["store"], row.values["id"]) for row in rows(made)] == [("agent", "a:x")]


@pytest.mark.parametrize(
    "text", [f'{{"profiles": {{"a": {{"key": "{KEY}"', "[" * 100_000, '{"profiles": {"a": {"key": "\\ud800"}}}']
)
def test_a_store_that_is_no_json_is_an_error_that_quotes_nothing(made: workspaces.StateFolder, text: str) -> None:
    stores.put_own(made.agent_database(), text)
    with pytest.raises(RuntimeDatabaseError) as caught:
        rows(made)
    assert caught.value.message in (
        "auth_profile_store is not valid JSON",
        "an entry of profiles.jsonl cannot be written as JSON",
    )


def test_a_store_that_a_writer_holds_is_read_as_it_was_before(made: workspaces.StateFolder) -> None:
    stores.put_shared(made.state_database, stores.store(a__x=stores.api_key("a", KEY)))
    with closing(sqlite3.connect(made.state_database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE config_machine_state SET value_json = '{}'")
        (row,) = rows(made)
        writer.execute("ROLLBACK")
    assert row.values["id"] == "a:x"


def test_a_database_without_these_tables_has_no_credentials(made: workspaces.StateFolder) -> None:
    assert rows(made) == []


def test_a_store_with_more_profiles_than_anybody_has_is_not_read(made: workspaces.StateFolder) -> None:
    many = {f"orchard:{number}": stores.api_key("orchard", f"{KEY}-{number}") for number in range(2001)}
    stores.put_own(made.agent_database(), {"version": 1, "profiles": many})
    with pytest.raises(RuntimeDatabaseError, match="2000 auth profiles"):
        list(ADAPTER.databases.rows(ADAPTER.locate(made.workspace, {}, made.folder.parent), transcripts=False))
