"""A row with a secret is restored completely with its credential, and not written without it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.restore import RestoreOptions, restore_agent
from support.core.zeroclaw_protected import ProtectedClaw
from support.prepared_folders import PreparedFolders

LATELY = "2026-11-10T08:00:00+00:00"
SECRET = "sk-ant-example-0123456789abcdefghij"
WHOLE = f"The key is {SECRET}, keep it"
TAGGED = f"tag_{SECRET}"
ROWS = "raw/zeroclaw-home/db/brain/memories.jsonl"


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> ProtectedClaw:
    return prepared_folders.restore("agent with a secret in a row", _agent_with_secret_row)


def _agent_with_secret_row(folder: Path) -> ProtectedClaw:
    made = ProtectedClaw(folder)
    config = made.install.home / "config.toml"
    config.write_text(config.read_text().replace("[memory]", f'api_key = "{SECRET}"\n\n[memory]', 1))
    made.install.remember("tea", "Likes green tea", created_at=LATELY)
    made.install.remember("key", WHOLE, created_at=LATELY)
    made.add()
    return made


def texts(database: Path) -> dict[str, str]:
    with closing(sqlite3.connect(database)) as connection:
        return dict(connection.execute("SELECT key, content FROM memories"))


def restored(ada: ProtectedClaw, **options: Any) -> Any:
    return restore_agent(ada.context, ada.agent, RestoreOptions(yes=True, reindex=False, **options))


def has_cut_rows(ada: ProtectedClaw) -> bool:
    with ada.context.vault(ada.agent.id) as vault:
        return vault.state().entry(ROWS) is not None


def test_a_row_that_stands_there_keeps_its_secret_when_an_older_state_comes_back(ada: ProtectedClaw) -> None:
    ada.install.execute("UPDATE memories SET content = 'Likes black tea' WHERE key = 'tea'")
    ada.capture()
    restored(ada, at=0)
    assert texts(ada.install.database) == {"tea": "Likes green tea", "key": WHOLE}
    assert has_cut_rows(ada)


def test_a_row_is_whole_again_with_its_credential(ada: ProtectedClaw) -> None:
    elsewhere = ada.folder / "other" / "agents" / "default" / "workspace"
    restored(ada, to=elsewhere, with_credentials=True)
    assert texts(ada.folder / "other" / "data" / "memory" / "brain.db")["key"] == WHOLE


def test_a_secret_in_another_column_is_put_back_too(ada: ProtectedClaw) -> None:
    ada.install.remember(TAGGED, "A memory whose name says too much", created_at=LATELY)
    ada.capture()
    elsewhere = ada.folder / "other" / "agents" / "default" / "workspace"
    restored(ada, to=elsewhere, with_credentials=True)
    assert TAGGED in texts(ada.folder / "other" / "data" / "memory" / "brain.db")


def test_without_its_credential_a_row_is_left_out_and_waits(ada: ProtectedClaw) -> None:
    elsewhere = ada.folder / "other" / "agents" / "default" / "workspace"
    report = restored(ada, to=elsewhere)
    assert texts(ada.folder / "other" / "data" / "memory" / "brain.db") == {"tea": "Likes green tea"}
    assert ROWS in report.withheld


def test_a_memory_that_waits_is_not_counted_as_restored(ada: ProtectedClaw) -> None:
    elsewhere = ada.folder / "other" / "agents" / "default" / "workspace"
    before = restored(ada, to=elsewhere).records["restored"]
    assert restored(ada, to=elsewhere, with_credentials=True).records["restored"] == before + 1


def test_the_credential_of_a_row_is_told_to_be_in_the_database(ada: ProtectedClaw) -> None:
    elsewhere = ada.folder / "other" / "agents" / "default" / "workspace"
    report = restored(ada, to=elsewhere, with_credentials=True)
    found = {(one["outcome"], Path(str(one["where"])).name) for one in report.credential_details}
    assert found == {("injected", "config.toml"), ("injected", "brain.db")}
    assert [one["reason"] for one in report.fates if one["kind"] == "credential"] == [""]


def test_a_row_that_was_left_out_can_still_be_put_back_after_a_capture(ada: ProtectedClaw) -> None:
    ada.install.database.unlink()
    restored(ada, with_credentials=False)
    assert texts(ada.install.database) == {"tea": "Likes green tea"}
    ada.install.remember("dog", "A dog called Rex", created_at=LATELY)
    ada.capture()
    restored(ada, with_credentials=True)
    assert texts(ada.install.database) == {"tea": "Likes green tea", "key": WHOLE, "dog": "A dog called Rex"}


def test_another_secret_in_a_row_does_not_drive_out_one_that_waits(ada: ProtectedClaw) -> None:
    ada.install.database.unlink()
    restored(ada, with_credentials=False)
    ada.install.remember("more", f"Again: {SECRET}", created_at=LATELY)
    ada.capture()
    restored(ada, with_credentials=True)
    found = texts(ada.install.database)
    assert (found["key"], found["more"]) == (WHOLE, f"Again: {SECRET}")
