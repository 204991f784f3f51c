"""OpenClaw's hook: the plan for each configuration, and the handler when a session ends."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import HookUnavailable
from lifeboat_adapters.openclaw.hook import hook_planning
from lifeboat_adapters.openclaw.openclaw_placement import openclaw_exclusion_reason
from lifeboat_adapters.session_hook_plan import HookOrder, HookPlan
from support.patience import patience

AGENT = "01990000-0000-7000-8000-000000000001"
OTHER = "01990000-0000-7000-8000-000000000002"
FILES = {"HOOK.md", "handler.js", "lifeboat.json", "package.json"}
SET = ("config", "set", "hooks.internal.entries.lifeboat.enabled", "true")


class Place:
    """A state directory with a workspace. The test writes its configuration."""

    def __init__(self, folder: Path, values: dict[str, Any] | None = None, layout: str = "2026.9") -> None:
        self.state = folder / ".openclaw"
        self.workspace = self.state / "workspace"
        self.workspace.mkdir(parents=True)
        self.config = self.state / "openclaw.json"
        self.program = folder / "lifeboat"
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)
        self.configure(values or {})
        self.installation = Installation(
            "openclaw",
            self.workspace,
            "main",
            "Juniper",
            self.state,
            self.config,
            layout,
            program=Path("/bin/openclaw"),
        )
        self.order = HookOrder(AGENT, (str(self.program),))

    def configure(self, values: dict[str, Any]) -> None:
        self.config.write_text(json.dumps(values))

    def install(self, **changes: Any) -> HookPlan:
        return hook_planning.plan_hook_install(replace(self.installation, **changes), self.order)

    def carry_out(self, plan: HookPlan) -> None:
        """Do what the core and OpenClaw's program would do."""
        for path, data in plan.write.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        values = json.loads(self.config.read_text())
        for step in plan.steps:
            _, _, verb, path, *_ = step.command
            *above, last = path.split(".")
            place = values
            for key in above:
                place = place.setdefault(key, {})
            if verb == "set":
                place[last] = True
            else:
                del place[last]
        self.configure(values)
        for each in plan.remove:
            if not each.is_dir():
                each.unlink()
            elif not any(each.iterdir()):
                each.rmdir()

    def tree(self) -> list[str]:
        return sorted(path.relative_to(self.state).as_posix() for path in self.state.rglob("*"))


# What is planned -----------------------------------------------------------------------------------------------------


def test_the_hook_is_written_and_switched_on_by_the_runtimes_own_program(tmp_path: Path) -> None:
    plan = Place(tmp_path).install()
    assert {path.name for path in plan.write} == FILES
    assert [step.command[1:] for step in plan.steps] == [SET]
    assert plan.steps[0].environment["OPENCLAW_STATE_DIR"] == str(tmp_path / ".openclaw")
    assert "automatically" in plan.after


def test_nothing_is_planned_where_the_hook_is_there_already(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.carry_out(place.install())
    assert place.install().empty
    assert hook_planning.find_hook_problem(place.installation, place.order) == ""


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"hooks": {"internal": {"entries": {"boot-md": {"enabled": True}}}}},
        {"hooks": {"internal": {"enabled": True, "entries": {"boot-md": {"enabled": False}}}}},
        {"hooks": {"internal": {"entries": {}}, "token": "fake"}},
        {"hooks": {"internal": {"enabled": True}}},
    ],
)
def test_taking_it_away_leaves_configuration_and_folder_as_they_were(tmp_path: Path, values: dict[str, Any]) -> None:
    place = Place(tmp_path, values)
    before = place.tree()
    place.carry_out(place.install())
    assert hook_planning.find_hook_problem(place.installation, place.order) == ""
    place.carry_out(hook_planning.plan_hook_removal(place.installation, place.order))
    assert json.loads(place.config.read_text()) == values
    assert place.tree() == before
    assert hook_planning.plan_hook_removal(place.installation, place.order).empty


def test_a_folder_of_hooks_that_was_there_stays(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.state / "hooks").mkdir()
    place.carry_out(place.install())
    place.carry_out(hook_planning.plan_hook_removal(place.installation, place.order))
    assert (place.state / "hooks").is_dir()


def test_naming_a_hook_would_switch_off_those_that_run_unnamed_so_it_is_not_named(tmp_path: Path) -> None:
    plan = Place(tmp_path, {"hooks": {"internal": {"enabled": True}}}).install()
    assert not plan.steps
    assert "gateway restart" in plan.after


def test_where_packs_name_their_hooks_this_one_is_named_too(tmp_path: Path) -> None:
    place = Place(tmp_path, {"hooks": {"internal": {"enabled": True}}})
    (place.state / "state").mkdir()
    with closing(sqlite3.connect(place.state / "state" / "openclaw.sqlite")) as database:
        database.execute("CREATE TABLE config_machine_state (state_key TEXT, value_json TEXT)")
        packs = json.dumps({"greetings": {"hooks": ["hello"]}})
        database.execute("INSERT INTO config_machine_state VALUES ('hooks.internal.installs', ?)", (packs,))
        database.commit()
    assert [step.command[1:] for step in place.install().steps] == [SET]


def test_hooks_that_the_user_switched_off_are_not_switched_on(tmp_path: Path) -> None:
    place = Place(tmp_path, {"hooks": {"internal": {"enabled": False}}})
    with pytest.raises(HookUnavailable, match="disabled") as refused:
        place.install()
    assert refused.value.fix == "openclaw config set hooks.internal.enabled true"


def test_a_release_that_would_start_all_its_hooks_is_asked_for_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, {"agents": {"list": []}}, layout="2026.2")
    with pytest.raises(HookUnavailable, match="starts every hook that it finds"):
        place.install()
    place.configure({"hooks": {"internal": {"enabled": True, "entries": {"boot-md": {"enabled": False}}}}})
    assert not place.install().steps


def test_a_workspace_that_stands_alone_has_no_hook(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with pytest.raises(HookUnavailable, match="not inside a state directory of OpenClaw"):
        place.install(state_dir=None)
    assert hook_planning.plan_hook_removal(replace(place.installation, state_dir=None), place.order).empty


def test_without_its_program_no_configuration_is_changed(tmp_path: Path) -> None:
    with pytest.raises(HookUnavailable, match="not on PATH"):
        Place(tmp_path).install(program=None)


def test_a_hook_of_that_name_which_is_somebody_elses_stays(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.state / "hooks" / "lifeboat").mkdir(parents=True)
    with pytest.raises(HookUnavailable, match="Lifeboat did not write it"):
        place.install()


def test_a_second_agent_joins_the_hook_and_the_first_may_leave_it(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.carry_out(place.install())
    rover, order = replace(place.installation, native_id="rover"), replace(place.order, agent=OTHER)
    second = hook_planning.plan_hook_install(rover, order)
    assert [path.name for path in second.write] == ["lifeboat.json"]
    assert not second.steps and second.after == ""
    place.carry_out(second)
    place.carry_out(hook_planning.plan_hook_removal(place.installation, place.order))
    assert hook_planning.find_hook_problem(rover, order) == ""
    assert hook_planning.find_hook_problem(place.installation, place.order) == (
        "no Lifeboat hook is installed, so the end of a session is not reported"
    )
    place.carry_out(hook_planning.plan_hook_removal(rover, order))
    assert "hooks" not in json.loads(place.config.read_text())


def test_a_stale_hook_is_named(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.carry_out(place.install())
    folder = place.state / "hooks" / "lifeboat"
    assert "another agent" in hook_planning.find_hook_problem(place.installation, replace(place.order, agent=OTHER))
    assert "another LIFEBOAT_HOME" in hook_planning.find_hook_problem(
        place.installation, replace(place.order, home=tmp_path)
    )
    place.configure({})
    assert "not enabled" in hook_planning.find_hook_problem(place.installation, place.order)
    (folder / "handler.js").write_text("// mine\n")
    assert "another release" in hook_planning.find_hook_problem(place.installation, place.order)
    place.program.unlink()
    assert "no longer exists" in hook_planning.find_hook_problem(place.installation, place.order)


def test_nothing_of_the_hook_is_captured(tmp_path: Path) -> None:
    reason = (
        "Lifeboat's own hook, which is not copied between machines. To install it on a machine: lifeboat agents hook"
    )
    assert openclaw_exclusion_reason("raw/openclaw-home/hooks/lifeboat/lifeboat.json", is_folder=False) == reason
    assert openclaw_exclusion_reason("raw/openclaw-home/hooks/lifeboat", is_folder=True) == reason
    assert openclaw_exclusion_reason("raw/openclaw-home/hooks/lifeboat-of-mine/HOOK.md", is_folder=False) is None


# The handler ---------------------------------------------------------------------------------------------------------

_DRIVER = """
import processes from "node:child_process";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { mock } from "node:test";

const children = [];
const spawn = processes.spawn;
processes.spawn = (...words) => {
  const child = spawn(...words);
  children.push(new Promise((resolve) => child.once("exit", resolve).once("error", resolve)));
  setImmediate(() => child.ref()); // the handler lets it go, the test waits for it
  return child;
};
syncBuiltinESMExports();
mock.timers.enable({ apis: ["setTimeout"] });
const { default: handler } = await import(process.argv[2] + "/handler.js?t=1");
for (const step of JSON.parse(process.argv[3])) {
  if (typeof step === "number") mock.timers.tick(step);
  else if (step === "ended") await Promise.all(children);
  else if (handler(step) !== undefined) throw new Error("it answers");
}
await Promise.all(children);
"""

NEW = {"type": "command", "action": "new", "sessionKey": "agent:main:main", "context": {"agentId": "main"}}
OLD_RESET = {"type": "command", "action": "reset", "sessionKey": "agent:main:telegram:1", "context": {}}
SHUTDOWN = {"type": "gateway", "action": "shutdown", "sessionKey": "gateway:shutdown", "context": {}}


class Handler:
    """The handler for two agents, one of them in another home of Lifeboat."""

    def __init__(self, folder: Path) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not installed")
        self.node = node
        place = Place(folder)
        self.said = folder / "said"
        self.program = place.program
        self.program.write_text(f'#!/bin/sh\necho "$* ${{LIFEBOAT_HOME:-usual}}" >> {self.said}\n')
        place.carry_out(place.install())
        home = HookOrder(OTHER, (str(place.program),), Path("/srv/home of ada"))
        place.carry_out(hook_planning.plan_hook_install(replace(place.installation, native_id="rover"), home))
        self.folder = place.state / "hooks" / "lifeboat"

    def tell(self, *steps: object) -> list[str]:
        """Send events and pauses in milliseconds, one after the other, and return the commands that were started."""
        driver = self.folder.parent / "driver.mjs"
        driver.write_text(_DRIVER)
        ended = subprocess.run(
            [self.node, "--no-warnings", str(driver), str(self.folder), json.dumps(steps)],
            env={"PATH": "/usr/bin:/bin", "LIFEBOAT_HOME": "/not/this"},
            capture_output=True,
            text=True,
            timeout=patience(),
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        return sorted(self.said.read_text().splitlines()) if self.said.exists() else []


@pytest.fixture
def handler(tmp_path: Path) -> Handler:
    return Handler(tmp_path)


MAIN, ROVER = f"sync {AGENT} --unless-paused usual", f"sync {OTHER} --unless-paused /srv/home of ada"


def test_some_seconds_after_a_session_ended_its_agent_is_captured(handler: Handler) -> None:
    assert handler.tell(NEW, 4_999) == []
    assert handler.tell(NEW, 5_000) == [MAIN]


def test_the_agent_is_known_by_its_session_where_the_event_does_not_name_it(handler: Handler) -> None:
    assert handler.tell(OLD_RESET, 5_000) == [MAIN]


def test_sessions_that_end_together_are_one_capture(handler: Handler) -> None:
    assert handler.tell(NEW, 3_000, OLD_RESET, 3_000, NEW, 5_000, 60_000) == [MAIN]


def test_the_end_of_the_gateway_is_told_at_once_for_every_agent(handler: Handler) -> None:
    assert handler.tell(NEW, SHUTDOWN, 60_000) == [MAIN, ROVER]


def test_agents_that_nobody_protects_are_not_told_of(handler: Handler) -> None:
    stranger = {**NEW, "sessionKey": "agent:stranger:main", "context": {"agentId": "stranger"}}
    assert handler.tell(stranger, 60_000) == []


def test_a_session_that_ends_while_a_capture_runs_is_captured_after_it(handler: Handler) -> None:
    assert handler.tell(NEW, 5_000, NEW, 5_000, "ended", 5_000) == [MAIN, MAIN]


def test_a_capture_that_never_ends_is_ended(handler: Handler) -> None:
    handler.program.write_text(f"#!/bin/sh\necho begun >> {handler.said}\nexec sleep 600\n")
    assert handler.tell(NEW, 5_000, 599_999, 1)[-1:] in ([], ["begun"])


def test_openclaw_goes_on_where_lifeboat_is_gone(handler: Handler) -> None:
    handler.program.unlink()
    assert handler.tell(NEW, 5_000, "ended", SHUTDOWN) == []


@pytest.mark.parametrize("note", [None, "", "{}", '{"agents": {"main": {"agent": "x"}}}', '{"agents": {"main": null}}'])
def test_openclaw_goes_on_where_the_note_is_gone_or_broken(handler: Handler, note: str | None) -> None:
    file = handler.folder / "lifeboat.json"
    file.unlink()
    if note is not None:
        file.write_text(note)
    assert handler.tell(NEW, 5_000, SHUTDOWN) == []
