"""Agents that nobody protects are offered: once as news, until they are protected or dismissed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_cli import program
from lifeboat_core.agents import manage_agents, offers
from lifeboat_core.agents.offers import AgentOffer
from lifeboat_core.errors import ConfigError
from lifeboat_core.home.context import Context
from lifeboat_daemon.work.operations import discover
from support.cli.cli_client import run


class Machine:
    """A user's home in which runtimes come and go."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.user.mkdir()
        self.home = folder / "lifeboat"

    def openclaw(self, name: str, *, state: str = ".openclaw") -> Path:
        """An agent of an OpenClaw; its workspace."""
        workspace = self.user / state / "workspace"
        workspace.mkdir(parents=True)
        (workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
        (workspace / "IDENTITY.md").write_text(f"# Identity\n\n- **Name:** {name}\n")
        (self.user / state / "openclaw.json").write_text("{}")
        return workspace

    def context(self, files: SystemFiles | None = None) -> Context:
        around = {"LIFEBOAT_HOME": str(self.home), "HOME": str(self.user), "PATH": "/usr/bin:/bin"}
        return Context.open(around, files)

    def look(self) -> dict[str, Any]:
        """What the operation of the worker answers."""
        return discover.run(cast(Any, SimpleNamespace(context=self.context())))

    def pending(self) -> list[str]:
        return [each.name for each in offers.list_pending_offers(self.context())]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(tmp_path)
    monkeypatch.setenv("HOME", str(made.user))
    monkeypatch.setenv("LIFEBOAT_HOME", str(made.home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    yield made


def test_an_agent_that_appears_is_offered_and_is_news_once(machine: Machine) -> None:
    assert machine.look()["offers"] == []
    workspace = machine.openclaw("Juniper")
    offer = {"runtime": "openclaw", "native_id": "main", "name": "Juniper", "workspace": os.path.realpath(workspace)}
    first = machine.look()
    assert (first["offers"], first["new"]) == ([offer], [offer])
    again = machine.look()
    assert (again["offers"], again["new"]) == ([offer], [])
    assert machine.pending() == ["Juniper"]


def test_the_names_to_watch_are_those_of_the_adapters(machine: Machine) -> None:
    assert machine.look()["watch_names"] == list(offers.NAMES)
    names = (".aicf", ".aionforge", ".claude", ".codex", ".config", ".gemini", ".hermes", ".nanobot")
    names += (".openclaw", ".openclaw-*", ".picoclaw", ".zeroclaw")
    assert offers.load_last_discovery(machine.context()).watch_names == names


def test_what_is_protected_is_no_offer(machine: Machine) -> None:
    workspace = machine.openclaw("Juniper")
    machine.look()
    manage_agents.protect_workspace(machine.context(), workspace)
    assert machine.pending() == []
    assert machine.look()["offers"] == []


def test_a_workspace_that_went_is_no_offer(machine: Machine) -> None:
    workspace = machine.openclaw("Juniper")
    machine.look()
    workspace.rename(workspace.with_name("elsewhere"))
    assert machine.pending() == []


def test_a_dismissed_folder_is_not_offered_again(machine: Machine) -> None:
    juniper = machine.openclaw("Juniper")
    machine.openclaw("Rover", state=".openclaw-second")
    machine.look()
    run("agents", "discover", "--dismiss", juniper)
    assert machine.pending() == ["Rover"]
    assert [each["name"] for each in machine.look()["offers"]] == ["Rover"]
    assert [one["name"] for one in run("agents", "discover")["found"]] == ["Rover"]
    everything = {one["name"]: one["dismissed"] for one in run("agents", "discover", "--all")["found"]}
    assert everything == {"Juniper": True, "Rover": False}


def test_what_was_dismissed_can_still_be_protected_and_is_shown_then(machine: Machine) -> None:
    juniper = machine.openclaw("Juniper")
    run("agents", "discover", "--dismiss", juniper)
    run("agents", "add", juniper)
    assert [one["protected_as"] for one in run("agents", "discover")["found"]] == ["Juniper"]


def test_an_agent_that_is_no_longer_protected_is_not_offered(machine: Machine) -> None:
    workspace = machine.openclaw("Juniper")
    run("agents", "add", workspace)
    run("agents", "remove", "Juniper", "--yes")
    assert machine.look()["new"] == []
    assert machine.pending() == []


def test_comments_in_the_users_file_stay(machine: Machine) -> None:
    file = machine.context().home.folder / "offers.toml"
    file.write_text('# not mine\ndismissed = ["/srv/old"]\n')
    assert offers.dismiss_folders(machine.context(), [machine.user]) == [os.path.realpath(machine.user)]
    assert offers.dismiss_folders(machine.context(), [machine.user]) == []
    assert file.read_text().startswith("# not mine\n")
    assert offers.load_dismissed_folders(machine.context()) == {"/srv/old", os.path.realpath(machine.user)}


def test_to_dismiss_what_was_not_found_is_said(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    folder = machine.user / ".openclaw-misspelled" / "workspace"
    assert program.run_command(["agents", "discover", "--dismiss", str(folder)]) == 0
    assert f"no agent was found in {os.path.realpath(folder)}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("text", ["dismissed = 3\n", "dismissed = [1]\n", "dismissed = [\n"])
def test_a_file_that_is_not_understood_is_named_and_hides_no_status(machine: Machine, text: str) -> None:
    machine.openclaw("Juniper")
    machine.look()
    (machine.home / "offers.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"offers\.toml"):
        offers.load_dismissed_folders(machine.context())
    assert machine.pending() == []


def test_a_look_that_finds_nothing_new_writes_nothing(machine: Machine) -> None:
    machine.openclaw("Juniper")
    machine.look()

    class ReadOnly(SystemFiles):
        def write_new(self, *arguments: Any, **options: Any) -> None:
            raise AssertionError("it was written")

    found = offers.load_last_discovery(machine.context()).offers
    offers.remember_discovery(machine.context(ReadOnly()), found, offers.NAMES)


def test_a_cache_that_is_broken_costs_one_look(machine: Machine) -> None:
    machine.openclaw("Juniper")
    machine.look()
    cache = machine.home / "state" / "offers.json"
    for broken in ("", "[]", '{"offers": [{"runtime": 1}]}'):
        cache.write_text(broken)
        assert machine.pending() == []
    machine.look()
    assert machine.pending() == ["Juniper"]


def test_a_runtime_that_cannot_be_looked_at_hides_no_other(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.openclaw("Juniper")
    zeroclaw = machine.context().adapter("zeroclaw")

    def fails(*arguments: object) -> list[object]:
        raise PermissionError(13, "Permission denied", "/srv/ada/.zeroclaw")

    monkeypatch.setattr(type(zeroclaw), "discover", staticmethod(fails))
    found = machine.look()
    assert [each["name"] for each in found["offers"]] == ["Juniper"]
    assert "/srv/ada/.zeroclaw" in found["problems"][0]


def test_a_sentence_names_the_command_as_it_is_typed() -> None:
    offer = AgentOffer("openclaw", "main", "Juniper", "/srv/ada/my agents/june")
    said = "Juniper (openclaw) is not protected. To protect it: lifeboat agents add '/srv/ada/my agents/june'"
    assert offers.describe_offer(offer) == said
    assert json.loads(json.dumps(offer.to_json()))["workspace"] == "/srv/ada/my agents/june"
