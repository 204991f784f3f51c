"""A real ZeroClaw that takes up an agent which comes from elsewhere, and one that Lifeboat brings back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run
from support.core.migrating import MOORINGS, Traveller, ada_in_openclaw, rows_of
from support.real import real_openclaw, real_zeroclaw
from support.real.real_zeroclaw import ZeroClaw

MODEL = f"""
[providers.models.custom.mockp]
model = "mock-1"
api_key = "sk-mock-0123456789abcdef"
uri = "http://127.0.0.1:{real_openclaw.PORT}/v1"
"""


@dataclass(frozen=True)
class Story:
    ada: Traveller
    claw: ZeroClaw
    rows: list[JsonObject]

    @property
    def database(self) -> Path:
        return self.claw.home / "data/memory/brain.db"


@pytest.fixture
def story(tmp_path: Path, isolated_home: Path) -> Iterator[Story]:
    """Ada came from OpenClaw, and her user chose a model that answers here."""
    program = real_zeroclaw.require()
    ada, _ = ada_in_openclaw(isolated_home, tmp_path)
    home = tmp_path / "claw"
    ada.adopt("zeroclaw", home / "agents/ada/workspace")
    with real_openclaw.network(tmp_path) as (namespace, log):
        claw = ZeroClaw(program, home, namespace, log)
        yield Story(ada, claw, rows_of(home / "data/memory/brain.db"))


def _answers(claw: ZeroClaw) -> None:
    config = claw.home / "config.toml"
    config.write_text(config.read_text() + MODEL)
    claw.run("config", "set", "agents.ada.model_provider", "custom.mockp")


def test_zeroclaw_takes_the_database_as_its_own(story: Story) -> None:
    claw = story.claw
    assert claw.run("agents", "list").split() == ["ada"]
    assert f"Total:    {MOORINGS}" in claw.run("memory", "stats")
    listed = claw.run("memory", "list", "--limit", "500")
    assert [row["key"] for row in story.rows if row["key"] not in listed] == []
    (boat,) = (row for row in story.rows if row["content"].strip() == "Boat 17 lies at berth 3.")
    assert "Boat 17 lies at berth 3." in claw.run("memory", "get", boat["key"])
    claw.run("memory", "reindex")
    # A database that it does not take for its own is copied, and made anew.
    assert [each.name for each in story.database.parent.glob("*backup*")] == []
    assert rows_of(story.database) == story.rows


def test_zeroclaw_finds_no_fault_in_its_configuration(story: Story) -> None:
    said = story.claw.run("doctor")
    of_config = said[said.index("[config]") : said.index("[workspace]")]
    assert "❌" not in of_config
    assert story.claw.run("config", "get", "agents.ada.risk_profile").strip() == "default"


def test_a_turn_has_the_identity_and_what_it_remembers_comes_back_alone(story: Story) -> None:
    _answers(story.claw)
    assert story.ada.sync()["records"] == {"created": 0, "updated": 0, "deleted": 0}
    assert "berth of boat 17" in story.claw.turn("Please look up the berth of boat 17 for me.")
    for text in ("Juniper", "Curious and kind"):
        assert text in story.claw.last_prompt()
    (new,) = (row for row in rows_of(story.database) if row["id"] not in {each["id"] for each in story.rows})
    assert new["category"] == "conversation"
    assert story.ada.sync()["records"] == {"created": 1, "updated": 0, "deleted": 0}
    (gone, *_) = story.rows
    story.claw.run("memory", "clear", "--key", gone["key"], "--yes")
    assert story.ada.sync()["records"] == {"created": 0, "updated": 0, "deleted": 1}


def test_an_agent_that_zeroclaw_made_comes_back_after_its_home_is_lost(tmp_path: Path) -> None:
    program = real_zeroclaw.require()
    home = tmp_path / "claw"
    home.mkdir()
    with real_openclaw.network(tmp_path) as (namespace, log):
        claw = ZeroClaw(program, home, namespace, log)
        claw.run("agents", "create", "ada")
        config = home / "config.toml"
        config.write_text(config.read_text() + MODEL + "\n[risk_profiles.default]\n")
        claw.run("config", "set", "agents.ada.model_provider", "custom.mockp")
        claw.run("config", "set", "agents.ada.risk_profile", "default")
        claw.turn("The spare key of the boathouse hangs behind the barometer.")
        claw.turn("The harbour pilot answers on channel seventeen.")
        workspace, database = home / "agents/ada/workspace", home / "data/memory/brain.db"
        run("agents", "add", workspace, "--name", "Ada")
        rows, columns, listed = rows_of(database), _columns(database), claw.run("memory", "list")
        shutil.rmtree(home)
        run("restore", "Ada", "--with-credentials", "--yes")
        assert rows_of(database) == rows
        assert _columns(database) == columns
        assert claw.run("memory", "list") == listed
        assert "barometer" in claw.turn("Where is the barometer?")
    assert len(rows) == 2


def _columns(database: Path) -> list[tuple[str, str]]:
    """Every column of every table, in their order."""
    query = (
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        " AND m.name NOT LIKE 'embedding_cache%' ORDER BY 1, c.cid"
    )
    with closing(sqlite3.connect(database)) as connection:
        return [(table, column) for table, column in connection.execute(query)]
