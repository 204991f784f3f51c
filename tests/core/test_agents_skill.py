"""The skill that explains `lifeboat mcp`: it comes with the hook of an agent that has a grant, and goes with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_core.grants.skill.skill_plan import MARK, plan_skill, read_skill
from support.adapters.fake_openclaw import FakeOpenClaw
from support.adapters.openclaw_workspaces import make_state_dir
from support.adapters.profile_installs import make_claude_code, make_codex, make_hermes
from support.cli.cli_client import run

RUNTIMES: dict[str, Callable[[Path], Path]] = {
    "openclaw": lambda home: make_state_dir(home / ".openclaw").workspace,
    "claude-code": lambda home: make_claude_code(home).workspace,
    "hermes": lambda home: make_hermes(home).workspace,
    "codex": lambda home: make_codex(home).workspace,
}


@pytest.fixture
def user_home(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fake = FakeOpenClaw.install(isolated_home / "bin")
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    return isolated_home


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_skill_comes_with_a_grant_and_goes_with_the_hook(user_home: Path, runtime: str) -> None:
    workspace = RUNTIMES[runtime](user_home)
    run("agents", "add", workspace, "--name", "Juniper", "--runtime", runtime)
    skill = workspace / "skills" / "lifeboat" / "SKILL.md"
    run("agents", "hook", "Juniper")
    assert not skill.exists()
    run("agents", "grant", "Juniper")
    shown = run("agents", "hook", "Juniper", "--show")
    assert [one["path"] for one in shown["files"]] == [str(skill)] and not skill.exists()
    run("agents", "hook", "Juniper")
    assert skill.read_bytes() == read_skill()
    assert run("agents", "hook", "Juniper")["changed"] is False
    run("agents", "hook", "Juniper", "--remove")
    assert not skill.parent.exists()


def test_after_a_revoked_grant_the_next_hook_takes_the_skill_away(user_home: Path) -> None:
    workspace = RUNTIMES["claude-code"](user_home)
    run("agents", "add", workspace, "--name", "Juniper")
    run("agents", "grant", "Juniper")
    run("agents", "hook", "Juniper")
    run("agents", "revoke", "Juniper")
    assert run("agents", "hook", "Juniper")["changed"] is True
    assert not (workspace / "skills" / "lifeboat").exists()


def test_a_skill_of_this_name_that_lifeboat_did_not_write_stays() -> None:
    folder = Path("/skills")
    assert plan_skill(folder, b"# Mine\n", wanted=True) == ({}, ())
    assert plan_skill(folder, b"# Mine\n", wanted=False) == ({}, ())
    assert plan_skill(folder, b"# Old\n" + MARK, wanted=True) == ({folder / "lifeboat/SKILL.md": read_skill()}, ())


def test_the_skill_has_the_head_that_runtimes_read_and_names_each_tool() -> None:
    from lifeboat_cli.mcp.stdio_server import TOOLS

    text = read_skill().decode()
    _, head, body = text.split("---\n", 2)
    assert [line.partition(":")[0] for line in head.splitlines()] == ["name", "description"]
    assert not [name for name in TOOLS if f"`{name}`" not in body and name != "list_proposals"]
