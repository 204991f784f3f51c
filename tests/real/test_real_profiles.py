"""One machine with the homes of all runtimes, made by the real programs where they can be had. Each agent is found and
named correctly. The programs that a shipped profile describes go on after a loss with what they wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.errors import AdapterError
from support.adapters import openclaw_workspaces
from support.adapters.profile_installs import make_obsidian, make_picoclaw
from support.adapters.zeroclaw_made import make_zeroclaw
from support.cli.cli_client import run
from support.real import real_claude_code, real_codex, real_hermes, real_openclaw
from support.real.captured_by_hook import HookedAgent
from support.real.real_claude_code import RealClaudeCode
from support.real.real_codex import RealCodex
from support.real.real_hermes import RealHermes
from support.real.real_openclaw import OpenClaw
from support.real.real_profiled import KEY, PROGRAMS, ProfiledProgram, RealNanobot, RealOpencode

CLAWS = ("openclaw", "zeroclaw")
"""Their workspaces have the same files, so that either can be named for a workspace of the other."""
REMEMBERED = "Boat seventeen lies at the north pier."
LATER = "Boat seventeen lies at the south pier now."


@dataclass
class Machine:
    """A user home with all runtimes: `homes` are workspaces by runtime, `missing` says which real program could not be
    had, and why."""

    user_home: Path
    namespace: int
    log: Path
    homes: dict[str, Path] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def let_live(self, runtime: str, workspace: Path, live: Callable[[], object]) -> None:
        """Let a real program make its home, and note why if it cannot be had."""
        try:
            live()
            self.homes[runtime] = workspace
        except pytest.skip.Exception as skipped:
            self.missing[runtime] = str(skipped.msg)

    def program(self, made: type[ProfiledProgram]) -> ProfiledProgram:
        return made(self.user_home, self.namespace, self.log)


def _live_openclaw(machine: Machine) -> None:
    OpenClaw(real_openclaw.require(), machine.user_home, machine.namespace, machine.log).onboard()


def _live_hermes(machine: Machine) -> None:
    hermes = RealHermes(real_hermes.require(), machine.user_home, machine.namespace, machine.log)
    hermes.configure()
    hermes.turn(f"REMEMBER: {REMEMBERED}")


def _live_claude_code(machine: Machine) -> None:
    claude = RealClaudeCode(real_claude_code.require(), machine.user_home, machine.namespace, machine.log)
    project = machine.user_home / "boats"
    project.mkdir(exist_ok=True)
    claude.turn(f"REMEMBER: {REMEMBERED}", project)


def _live_codex(machine: Machine) -> None:
    RealCodex(real_codex.require(), machine.user_home, machine.namespace, machine.log).configure()


def _live_profiled(machine: Machine, made: type[ProfiledProgram]) -> None:
    made.require()
    program = machine.program(made)
    program.configure()
    program.remember(REMEMBERED)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("machine")
    home = folder / "user"
    home.mkdir()
    with real_openclaw.network(folder) as (namespace, log):
        made = Machine(home, namespace, log)
        made.let_live("openclaw", home / ".openclaw/workspace", partial(_live_openclaw, made))
        made.let_live("hermes", home / ".hermes", partial(_live_hermes, made))
        made.let_live("claude-code", home / ".claude", partial(_live_claude_code, made))
        made.let_live(
            "codex", home / ".codex", lambda: RealCodex(real_codex.require(), home, namespace, log).configure()
        )
        for each in PROGRAMS:
            made.let_live(each.runtime, home / each.home, partial(_live_profiled, made, each))
        for runtime, sample in (("picoclaw", make_picoclaw), ("obsidian", make_obsidian)):
            made.homes[runtime] = sample(home).workspace
        made.homes["zeroclaw"] = make_zeroclaw(home, "0.8.3").workspace
        yield made


@pytest.fixture(autouse=True)
def at_home(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run Lifeboat as the user of this machine, with a new home."""
    monkeypatch.setenv("HOME", str(machine.user_home))
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))


def test_each_agent_of_the_machine_is_found_and_named_correctly(machine: Machine) -> None:
    found = run("agents", "discover")["found"]
    assert {one["runtime"]: Path(one["workspace"]) for one in found} == machine.homes
    assert len(found) == len(machine.homes)


def test_no_home_is_taken_for_another_runtimes(machine: Machine) -> None:
    for runtime, workspace in machine.homes.items():
        assert adapter_registry.recognise_workspace(workspace).runtime == runtime
        for other in CLAWS if runtime not in CLAWS else ():
            with pytest.raises(AdapterError):
                adapter_registry.load_adapter(other).locate(workspace, {}, machine.user_home)


def test_a_soul_alone_proves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "SOUL.md").write_text("You are Ada.\n")
    assert run("agents", "add", folder, expect=1)["error"]["code"] == "not_a_workspace"


def test_a_folder_with_the_marks_of_two_runtimes_asks_which_one_it_is(machine: Machine, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(machine.homes["hermes"], home, ignore=shutil.ignore_patterns("*.lock"))
    shutil.copytree(machine.homes["obsidian"] / ".obsidian", home / ".obsidian")
    error = run("agents", "add", home, expect=1)["error"]
    assert error["code"] == "ambiguous_workspace" and "hermes or obsidian" in error["message"]
    assert error["fix"] == f"lifeboat agents add {home} --runtime hermes"


@pytest.mark.parametrize("made", PROGRAMS)
def test_the_program_goes_on_after_a_loss_with_what_it_wrote(
    machine: Machine, tmp_path: Path, made: type[ProfiledProgram]
) -> None:
    made.require()
    program = machine.program(made)
    agent = HookedAgent(run("agents", "add", program.workspace)["id"], tmp_path / "lifeboat", tmp_path)
    run("daemon", "start")
    try:
        run("sync")  # so that the capture with which the daemon starts is no answer to the turn
        with agent.captured():
            program.remember(LATER)
        run("sync")
    finally:
        run("daemon", "stop")
    settings = (program.workspace / program.settings).read_bytes()
    before = _files(program.workspace)
    shutil.rmtree(program.workspace)
    (program.workspace / program.settings).unlink(missing_ok=True)
    run("restore", agent.id, "--yes")
    after = _files(program.workspace)
    assert (program.workspace / program.settings).read_bytes() == settings
    program.turn("Where is the boat?")
    assert LATER in program.last_request()
    assert {name: data for name, data in before.items() if not name.startswith(made.made_again)} == after
    assert KEY.encode() in settings
    assert [name for name, data in _files(tmp_path / "lifeboat").items() if KEY.encode() in data] == []


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "runtime", ["openclaw", "hermes", "claude-code", "codex", "nanobot", "opencode", "gemini", "goose"]
)
def test_the_home_is_that_of_the_real_program(machine: Machine, runtime: str) -> None:
    if runtime in machine.missing:
        pytest.skip(machine.missing[runtime])
    assert runtime in machine.homes


@pytest.mark.parametrize(
    ("runtime", "reason"),
    [
        ("picoclaw", "npm, Debian and crates.io do not have it, and picoclaw on PyPI is another program"),
        ("obsidian", "PyPI, Debian and crates.io do not have it, and npm only types and a client of its sync service"),
    ],
)
def test_the_home_is_a_sample_because_the_program_cannot_be_had(runtime: str, reason: str) -> None:
    pytest.skip(f"{runtime}: {reason}")


def test_the_programs_read_the_keys_that_an_agent_brings(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (RealNanobot, RealOpencode):
        each.require()
    codex = RealCodex(real_codex.require(), tmp_path / "user", machine.namespace, machine.log)
    monkeypatch.setenv("HOME", str(codex.user_home))
    state = openclaw_workspaces.make_state_dir(codex.user_home / ".openclaw")
    state.workspace.with_name(".env").write_text(f"OPENAI_API_KEY={KEY}\nOPENROUTER_API_KEY={KEY}-router\n")
    agent = run("agents", "add", state.workspace)["id"]
    nanobot, opencode = (each(codex.user_home, machine.namespace, machine.log) for each in (RealNanobot, RealOpencode))
    for runtime, workspace in (("nanobot", nanobot.workspace), ("opencode", opencode.workspace), ("codex", codex.home)):
        run("restore", agent, "--runtime", runtime, "--to", workspace, "--with-credentials", "--yes")
    assert "OpenRouter: ✓" in nanobot.run("status")
    assert "openai/" in opencode.run("models")
    assert "API key" in codex.run("login", "status")
