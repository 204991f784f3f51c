"""`lifeboat agents hook` for runtimes that keep hooks in a settings file: Claude Code and Codex."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lifeboat_adapters.testing import SampleInstallation
from support.adapters.profile_installs import KEY, make_claude_code, make_codex
from support.cli.cli_client import run

EVENTS = ("SessionEnd", "PreCompact")
MINE = {"hooks": [{"type": "command", "command": "echo mine"}]}


class Hooked(NamedTuple):
    """A protected agent, and the file of its runtime that holds hooks."""

    agent: str
    file: Path

    def values(self) -> Any:
        return json.loads(self.file.read_text())

    def finding(self) -> Any:
        [found] = [one for one in run("doctor")["findings"] if one["check"] == "session_hook"]
        return found


MAKERS: dict[str, tuple[Callable[[Path], SampleInstallation], str]] = {
    "claude-code": (make_claude_code, "settings.json"),
    "codex": (make_codex, "hooks.json"),
}


@pytest.fixture(params=MAKERS)
def hooked(request: pytest.FixtureRequest, isolated_home: Path) -> Hooked:
    make, file = MAKERS[request.param]
    workspace = make(isolated_home).workspace
    run("config", "set", "cadence", "after_session")
    return Hooked(run("agents", "add", workspace)["id"], workspace / file)


FOUND = {
    "as_made": None,
    "with_hooks_of_the_user": json.dumps({"hooks": {"SessionEnd": [MINE], "Stop": [MINE]}, "a": 1}, indent=2),
    "with_another_event": json.dumps({"hooks": {"Stop": [MINE]}}, indent=4) + "\n",
    "on_one_line": '{"model": "opus", "hooks": {"SessionEnd": [{"hooks": []}]}}',
    "with_tabs": json.dumps({"env": {"TOKEN": KEY}, "model": "opus"}, indent="\t") + "\n",
}


@pytest.mark.parametrize("found", FOUND)
def test_the_hook_comes_behind_others_and_goes_without_a_trace(hooked: Hooked, found: str) -> None:
    if FOUND[found] is not None:
        hooked.file.write_text(FOUND[found])
    before = hooked.file.read_bytes() if hooked.file.exists() else None
    groups = {event: json.loads(before or b"{}").get("hooks", {}).get(event, []) for event in EVENTS}
    done = run("agents", "hook", hooked.agent)
    assert done["changed"] is True and KEY not in json.dumps(done)
    for event in EVENTS:
        *others, ours = hooked.values()["hooks"][event]
        assert others == groups[event]
        assert f"sync {hooked.agent} --unless-paused --background" in ours["hooks"][0]["command"]
    assert run("agents", "hook", hooked.agent)["changed"] is False
    assert run("agents", "hook", hooked.agent, "--remove")["changed"] is True
    assert (hooked.file.read_bytes() if hooked.file.exists() else None) == before
    assert run("agents", "hook", hooked.agent, "--remove")["changed"] is False


def test_a_hook_of_an_earlier_release_is_replaced(hooked: Hooked) -> None:
    run("agents", "hook", hooked.agent)
    written = hooked.file.read_text()
    hooked.file.write_text(written.replace("[ ! -x ", "[ ! -e "))
    assert hooked.finding()["level"] == "warning"
    run("agents", "hook", hooked.agent)
    assert hooked.values() == json.loads(written)


@pytest.mark.parametrize("program", ["/srv/ada/bin/lifeboat", None])
def test_a_handler_of_the_user_in_the_group_of_lifeboat_stays(hooked: Hooked, program: str | None) -> None:
    run("agents", "hook", hooked.agent)
    values, mine = hooked.values(), MINE["hooks"][0]
    for event in EVENTS:
        ours = values["hooks"][event][0]["hooks"][0]
        if program is not None:
            ours["command"] = f"[ ! -x {program} ] || {program} sync {hooked.agent} --unless-paused --background &"
        values["hooks"][event][0]["hooks"] = [mine, ours, mine]
    hooked.file.write_text(json.dumps(values, indent=2))
    run("agents", "hook", hooked.agent)
    run("agents", "hook", hooked.agent, "--remove")
    assert hooked.values()["hooks"] == {event: [{"hooks": [mine, mine]}] for event in EVENTS}


def test_a_line_of_the_user_that_starts_lifeboat_stays(hooked: Hooked) -> None:
    line = {"type": "command", "command": "lifeboat sync Juniper --unless-paused --background --json >> ~/ends.log"}
    hooked.file.write_text(json.dumps({"hooks": {"SessionEnd": [{"hooks": [line]}]}}, indent=2))
    before = hooked.file.read_bytes()
    run("agents", "hook", hooked.agent)
    assert hooked.values()["hooks"]["SessionEnd"][0] == {"hooks": [line]}
    run("agents", "hook", hooked.agent, "--remove")
    assert hooked.file.read_bytes() == before


@pytest.mark.parametrize("hooks", ['"none"', '["a"]', '{"SessionEnd": {"a": 1}}', '{"SessionEnd": "echo mine"}'])
def test_hooks_of_a_form_that_no_runtime_reads_are_refused_and_kept(hooked: Hooked, hooks: str) -> None:
    hooked.file.write_text(text := f'{{"hooks": {hooks}}}')
    assert run("agents", "hook", hooked.agent, expect=3)["error"]["code"] == "no_hook"
    assert run("agents", "hook", hooked.agent, "--remove")["changed"] is False
    run("agents", "remove", hooked.agent, "--yes")
    assert hooked.file.read_text() == text


def test_a_settings_file_that_is_not_json_stays_as_it_is(hooked: Hooked) -> None:
    hooked.file.write_text("{not JSON")
    assert run("agents", "hook", hooked.agent, expect=3)["error"]["code"] == "no_hook"
    assert hooked.file.read_text() == "{not JSON"


def test_claude_code_with_all_hooks_off_is_refused(isolated_home: Path) -> None:
    workspace = make_claude_code(isolated_home).workspace
    agent = run("agents", "add", workspace)["id"]
    (workspace / "settings.json").write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in run("agents", "hook", agent, expect=3)["error"]["message"]


def test_codex_runs_a_hook_that_the_user_trusts_and_doctor_says_so(isolated_home: Path) -> None:
    workspace = make_codex(isolated_home).workspace
    run("config", "set", "cadence", "after_session")
    hooked = Hooked(run("agents", "add", workspace)["id"], workspace / "hooks.json")
    hooked.file.write_text(json.dumps({"hooks": {"SessionEnd": [MINE]}}, indent=2))
    assert "/hooks" in run("agents", "hook", hooked.agent)["after"]
    assert "the hook for SessionEnd is not trusted yet" in hooked.finding()["result"]
    config = workspace / "config.toml"
    places = {"session_end:1:0": "SessionEnd", "pre_compact:0:0": "PreCompact"}
    tables = [f'[hooks.state."{hooked.file}:{place}"]\ntrusted_hash = "sha256:0"\n' for place in places]
    config.write_text(config.read_text() + "".join(tables))
    assert len(tomllib.loads(config.read_text())["hooks"]["state"]) == 2
    assert hooked.finding()["level"] == "warning", "a digest of another hook counts as trust"
    config.write_text(config.read_text() + "[features]\nhooks = false\n")
    assert "features.hooks" in hooked.finding()["result"]
