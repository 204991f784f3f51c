"""A runtime that cannot be located is not a deletion, and neither is a workspace that was emptied on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import AgentError
from lifeboat_core.health import status_gathering
from lifeboat_core.home.context import Context
from support.adapters import openclaw_workspaces
from support.adapters.openclaw_workspaces import StateFolder
from support.alf.raising import raises_code
from support.core.protected import Protected, SteadyClock

HOME = "raw/openclaw-home/"


class Juniper:
    """The agent `main` in a state directory with a configuration, secrets, skills and databases; her workspace is
    elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state: StateFolder = openclaw_workspaces.make_state_dir(folder / "user" / ".openclaw")
        self.workspace = folder / "juniper"
        self.state.workspace.rename(self.workspace)
        self.configure(self.state.config.read_text().replace(str(self.state.workspace), str(self.workspace)))
        self.clock = SteadyClock()
        self.agent, _ = manage_agents.protect_workspace(self.context, self.workspace)

    def configure(self, text: str) -> None:
        for name in ("openclaw.json", "openclaw.json.bak"):
            self.state.folder.joinpath(name).write_text(text)

    @property
    def context(self) -> Context:
        around = {
            "LIFEBOAT_HOME": str(self.folder / "home"),
            "HOME": str(self.folder / "user"),
            "PATH": "/usr/bin:/bin",
        }
        return Context.open(around, clock=self.clock)

    def capture(self) -> CaptureReport:
        self.clock.advance(minutes=1)
        return capture_agent(self.context, manage_agents.load_agent(self.context, self.agent.id))

    def home(self) -> dict[str, bytes]:
        """Return what is captured of the state directory, including rows of databases."""
        with self.context.vault(self.agent.id) as vault:
            state = vault.state()
            return {entry.path: state.body(entry.path) for entry in state.entries(HOME)}

    def document(self, path: str) -> JsonObject:
        from lifeboat_alf.common import json_codec

        with self.context.vault(self.agent.id) as vault:
            found: JsonObject = json_codec.decode_json(vault.state().body(path))
            return found


@pytest.fixture
def juniper(tmp_path: Path) -> Juniper:
    return Juniper(tmp_path)


def rows(held: dict[str, bytes]) -> Iterator[str]:
    return (path for path in held if path.startswith(f"{HOME}db/"))


def test_the_fixture_holds_home_files_and_rows(juniper: Juniper) -> None:
    held = juniper.home()
    assert f"{HOME}openclaw.json" in held and f"{HOME}.env" in held and list(rows(held))


def write_soul(juniper: Juniper) -> None:
    (juniper.workspace / "SOUL.md").write_text("# Soul\n\nBe brave.\n")


@pytest.mark.parametrize("text", ["{ not json", "", "[]"])
def test_a_configuration_that_does_not_parse_is_no_deletion(juniper: Juniper, text: str) -> None:
    before = juniper.home()
    juniper.configure(text)
    write_soul(juniper)
    report = juniper.capture()
    assert report.changed and report.raw["removed"] == 0 and juniper.home() == before
    assert "openclaw.json" in report.unread[HOME] and report.unread_files >= 3 and not report.complete
    assert status_gathering.gather_status(juniper.context).agents[0].state == "waiting"


def lose(juniper: Juniper) -> None:
    """Remove the state directory; the workspace stays."""
    juniper.state.folder.rename(juniper.folder / "aside")


def find_again(juniper: Juniper) -> None:
    juniper.folder.joinpath("aside").rename(juniper.state.folder)


def test_a_state_folder_that_is_not_there_is_no_deletion(juniper: Juniper) -> None:
    before, identity = juniper.home(), juniper.document("identity.json")
    lose(juniper)
    write_soul(juniper)
    report = juniper.capture()
    assert report.changed and juniper.home() == before
    assert "does not exist" in report.unread[HOME] and "lifeboat agents accept Juniper" in report.unread[HOME]
    assert report.unread_files == len(before) - len(list(rows(before)))
    assert juniper.document("identity.json")["structured"]["names"] == identity["structured"]["names"]


def test_it_goes_on_when_the_runtime_is_found_again(juniper: Juniper) -> None:
    before = juniper.home()
    lose(juniper)
    juniper.capture()
    assert status_gathering.gather_status(juniper.context).agents[0].state == "waiting"
    find_again(juniper)
    assert juniper.capture().complete and juniper.home() == before
    assert status_gathering.gather_status(juniper.context).agents[0].state == "ok"


def test_it_also_holds_when_the_caches_are_gone(juniper: Juniper) -> None:
    from lifeboat_core.state.state_db import delete_cache

    before = juniper.home()
    lose(juniper)
    delete_cache(juniper.context.home.state_file(juniper.agent.id))
    report = juniper.capture()
    assert juniper.home() == before and HOME in report.unread and report.unread_files > 0


def test_the_user_can_say_that_the_workspace_stands_alone_now(juniper: Juniper) -> None:
    before = juniper.home()
    lose(juniper)
    juniper.capture()
    manage_agents.accept_removals(juniper.context, juniper.agent)
    report = juniper.capture()
    assert report.complete and juniper.home() == before
    assert status_gathering.gather_status(juniper.context).agents[0].state == "ok"


def test_a_configuration_that_names_another_workspace_is_no_deletion(juniper: Juniper) -> None:
    before = juniper.home()
    juniper.configure(juniper.state.config.read_text().replace(str(juniper.workspace), str(juniper.folder / "new")))
    report = juniper.capture()
    assert juniper.home() == before and "its configuration no longer contains this workspace" in report.unread[HOME]


def test_a_moved_workspace_does_not_hold_on_to_the_runtime_of_the_old_one(juniper: Juniper) -> None:
    moved = juniper.folder / "moved"
    juniper.workspace.rename(moved)
    before = juniper.home()
    _, report = manage_agents.move_agent(juniper.context, juniper.agent, moved)
    assert report.complete and juniper.home() == before


# An emptied workspace ---------------------------------------------------------------------------------------------


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    for number in range(6):
        made.write(f"memory/2026-11-0{number + 1}.md", f"# Day {number}\n\nThe ship {number} came in.\n")
    made.add(name="ada")
    return made


def empty(ada: Protected) -> None:
    for file in sorted(ada.workspace.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()


def agent(ada: Protected) -> Agent:
    return manage_agents.load_agent(ada.context, ada.agent.id)


def test_an_emptied_workspace_says_how_to_accept_it(ada: Protected) -> None:
    empty(ada)
    report = ada.capture()
    assert report.outcome == "root_missing" and "lifeboat agents accept ada" in str(report.absent)


def test_an_emptied_workspace_is_captured_once_the_user_accepts_it(ada: Protected) -> None:
    empty(ada)
    ada.capture()
    manage_agents.accept_removals(ada.context, agent(ada))
    report = ada.capture()
    assert report.changed and report.held is None and ada.kept() == {} and len(ada.kept(0)) == 8
    assert status_gathering.gather_status(ada.context).agents[0].state == "ok"
    again = ada.capture()
    assert again.outcome == "unchanged" and again.complete


def test_what_is_written_after_that_is_captured_as_ever(ada: Protected) -> None:
    empty(ada)
    ada.capture()
    manage_agents.accept_removals(ada.context, agent(ada))
    ada.capture()
    ada.write("SOUL.md", "# Soul\n\nBegin again.\n")
    report = ada.capture()
    assert report.changed and report.held is None and set(ada.kept()) == {"SOUL.md"}


def test_emptied_a_second_time_it_has_to_be_accepted_a_second_time(ada: Protected) -> None:
    empty(ada)
    ada.capture()
    manage_agents.accept_removals(ada.context, agent(ada))
    ada.capture()
    ada.write("SOUL.md", "# Soul\n\nBegin again.\n")
    ada.capture()
    empty(ada)
    assert ada.capture().outcome == "root_missing" and set(ada.kept()) == {"SOUL.md"}


def test_accepting_something_else_before_does_not_cover_an_emptied_workspace(ada: Protected) -> None:
    manage_agents.accept_removals(ada.context, agent(ada))
    empty(ada)
    assert ada.capture().outcome == "root_missing"


def test_a_workspace_that_came_back_is_taken_as_it_is(ada: Protected) -> None:
    before = ada.tree()
    files = {path: ada.read(path) for path in before}
    empty(ada)
    ada.capture()
    manage_agents.accept_removals(ada.context, agent(ada))
    for path, text in files.items():
        ada.write(path, text)
    assert ada.capture().raw["removed"] == 0 and ada.kept() == ada.tree() == before


def test_a_folder_with_little_left_is_captured_once_the_user_accepts_it(ada: Protected) -> None:
    empty(ada)
    ada.write("letter.txt", "still here\n")
    report = ada.capture()
    assert report.outcome == "root_missing" and "lifeboat agents accept ada" in str(report.absent)
    manage_agents.accept_removals(ada.context, agent(ada))
    assert ada.capture().changed and set(ada.kept()) == {"letter.txt"}
    ada.write("letter.txt", "and changed\n")
    assert ada.capture().changed


def test_a_workspace_whose_folder_is_gone_cannot_be_accepted_away(ada: Protected, tmp_path: Path) -> None:
    ada.workspace.rename(tmp_path / "elsewhere")
    ada.capture()
    with raises_code(AgentError.WORKSPACE_REFUSED, match="does not exist"):
        manage_agents.accept_removals(ada.context, agent(ada))
    assert ada.capture().outcome == "root_missing" and len(ada.kept()) == 8
