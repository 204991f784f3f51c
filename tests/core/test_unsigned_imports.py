"""Unsigned archives: what it is never captured is left out, and what a tool would run or obey is listed before
the import."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import click
import pytest

from lifeboat_adapters import adapter_registry, exclusion_rules
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_cli.program import run_command
from lifeboat_cli.terminal.command_again import remember_command, write_command_again
from lifeboat_core.home.context import Context
from lifeboat_core.restore import refused_names
from lifeboat_core.restore.hazards import find_hazards
from lifeboat_core.restore.seen_code import make_seen_code
from lifeboat_core.restore.wanted_contents import WantedContents, WantedFile
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict
from lifeboat_vault.errors import VaultDamaged
from support.cli.cli_client import run_accepting
from support.patience import patience

if TYPE_CHECKING:
    from lifeboat_core.restore.restore_plan import RestorePlan

RAW = "raw/openclaw/"
NEVER = (".git/config", ".GIT/config", "sub/.git/hooks/post-checkout", ".g\u200cit/config", "git~1/config", ".git ./x")
HAZARDS = (
    *(".envrc", ".env", ".mcp.json", ".vscode/tasks.json", ".vscode/settings.json", ".claude/settings.json"),
    *(
        ".claude/settings.local.json",
        ".claude/commands/a.md",
        ".cursor/mcp.json",
        ".lifeboatignore",
        "hooks/pre",
        "run.sh",
    ),
    *("cron/jobs.json", "crontab", "skills/tide/SKILL.md", "skills/tide/notes.md", "AGENTS.md", "CLAUDE.md", "BOOT.md"),
    *("HEARTBEAT.md", "Makefile", "package.json", ".github/workflows/a.yml", ".husky/pre-commit", ".bashrc", ".vimrc"),
    *(".gitattributes", ".gitmodules", ".npmrc", "conftest.py", ".devcontainer/devcontainer.json", "x.code-workspace"),
    *(
        ".ssh/authorized_keys",
        ".config/autostart/a.desktop",
        "store.git/config",
        "store.git/commondir",
        "store.git/config.worktree",
    ),
    *("bin/tool", "notes/looks-harmless"),
)
HARMLESS = ("MEMORY.md", "memory/2026-01-01.md", "notes/boat.txt", "avatars/juniper.png", "notes/config")


def _state(*names: str) -> MemoryState:
    state = MemoryState()
    for name in names:
        state.put(f"{RAW}{name}", b"#!/bin/sh\n" if name == "notes/looks-harmless" else f"evil {name}\n".encode())
    return state


def _archive(state: MemoryState, path: Path) -> Path:
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


@pytest.fixture
def hostile(isolated_home: Path, tmp_path: Path) -> Path:
    """Make an archive with a repository whose configuration names a program."""
    state = _state("SOUL.md", "USER.md", ".envrc", ".mcp.json")
    program = f"touch {tmp_path / 'planted'}; false"
    state.put(f"{RAW}.git/config", f'[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "{program}"\n'.encode())
    state.put(f"{RAW}.git/HEAD", b"ref: refs/heads/main\n")
    state.put(f"{RAW}.git/objects/info/x", b"").put(f"{RAW}.git/refs/heads/x", b"")
    return _archive(state, tmp_path / "hostile.alf")


def test_an_import_plants_no_repository_whose_configuration_runs(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "ada"
    said = run_accepting("alf", "import", hostile, "--to", target)
    assert sorted(path.name for path in target.iterdir()) == [".envrc", ".mcp.json", "SOUL.md", "USER.md"]
    assert {each["name"] for each in said["skipped"]} >= {".git/config", ".git/HEAD"}
    assert any(".git/config" in each and "Lifeboat never captures this file" in each for each in said["warnings"])
    assert any(each.startswith("could run on this machine: .envrc") for each in said["warnings"])
    subprocess.run(["git", "status"], cwd=target, capture_output=True, check=False, timeout=patience())
    assert not (tmp_path / "planted").exists()


def test_a_restore_of_the_imported_agent_writes_none_either(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = run_accepting("alf", "import", hostile, "--to", tmp_path / "ada")["name"]
    assert run_command(["restore", name, "--to", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "SOUL.md").exists() and not (tmp_path / "again" / ".git").exists()


def test_an_unsigned_archive_is_shown_first_and_nothing_is_written(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "ada"
    assert run_command(["alf", "import", str(hostile), "--to", str(target)]) == 3
    said = capsys.readouterr()
    assert "This state is not signed. Check the plan and the files below" in said.out
    assert ".envrc: direnv runs this file\n  | evil .envrc" in said.out
    assert "could run on this machine" in said.err
    (command,) = re.findall("To fix it: lifeboat (alf import .* --accept-unsigned --seen [0-9a-f]{24})", said.err)
    assert not target.exists()
    assert run_command(command.split()) == 0
    assert (target / ".envrc").exists()


@pytest.mark.parametrize("more", [(), ("--yes",), ("--seen", "0" * 24), ("--yes", "--seen", "0" * 24), ("--json",)])
def test_a_script_that_did_not_see_the_state_cannot_accept_it(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    words = ["alf", "import", str(hostile), "--to", str(tmp_path / "ada"), "--accept-unsigned", *more]
    assert run_command(words) == 3
    said = capsys.readouterr()
    if "--json" in more:
        helps = json.loads(said.out)["error"]["fix"]
        assert helps.endswith("--accept-unsigned --dry-run")
    else:
        assert ".envrc: direnv runs this file" in said.out and "--accept-unsigned --seen" in said.err
    assert not (tmp_path / "ada").exists()


def test_the_code_of_another_archive_accepts_nothing(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["alf", "import", str(hostile), "--to", str(tmp_path / "ada"), "--accept-unsigned"]
    assert run_command([*words, "--dry-run", "--json"]) == 0
    code = json.loads(capsys.readouterr().out)["seen"]
    _archive(_state("SOUL.md", "USER.md", ".envrc", ".mcp.json", "run.sh"), hostile)
    assert run_command([*words, "--seen", code]) == 3
    assert f"the code {code} given with --seen belongs to another state" in capsys.readouterr().err
    assert not (tmp_path / "ada").exists()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_user_at_a_terminal_sees_the_state_and_answers(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    typed = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", typed)
    target = tmp_path / "ada"
    status = run_command(["alf", "import", str(hostile), "--to", str(target), "--accept-unsigned", "--yes"])
    said = capsys.readouterr()
    assert ".envrc: direnv runs this file" in said.out and "Write it anyway?" in said.err
    assert (status == 0) == (answer == "y") == target.exists()


def test_an_unsigned_state_of_a_vault_is_shown_first_as_well(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = run_accepting("alf", "import", hostile, "--to", tmp_path / "ada")["name"]
    (vault,) = (Context.open().home.vaults_folder).glob("*/vault.db")
    with closing(sqlite3.connect(vault)) as connection, connection:
        connection.execute("update sequence set signature = null")
    words = ["restore", name, "--to", str(tmp_path / "again")]
    for more in ((), ("--accept-unsigned", "--yes")):
        assert run_command([*words, *more]) == 3
        said = capsys.readouterr()
        assert "This state is not signed. Check the plan" in said.out and ".envrc: direnv runs this file" in said.out
        assert not (tmp_path / "again").exists()
    code = said.err.rpartition("--seen ")[2].strip()
    assert run_command([*words, "--accept-unsigned", "--seen", code]) == 0
    assert (tmp_path / "again" / ".envrc").exists()


def test_the_command_that_helps_keeps_every_other_word() -> None:
    command = click.Command("x")
    with click.Context(command) as context:
        remember_command(context, ["restore", "--seen", "old", "a b", "--to=x", "--accept-unsigned", "--", "-y"])
        assert write_command_again("--accept-unsigned", "--seen", "new") == (
            "lifeboat restore 'a b' --to=x --accept-unsigned --seen new -- -y"
        )


def test_a_dry_run_names_every_hazard_too(hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["alf", "import", str(hostile), "--to", str(tmp_path / "ada"), "--dry-run", "--accept-unsigned"]
    assert run_command(words) == 0
    assert ".mcp.json: a list of programs that an agent starts" in capsys.readouterr().out
    assert run_command([*words, "--json"]) == 0
    assert any(".mcp.json" in each for each in json.loads(capsys.readouterr().out)["warnings"])
    assert not (tmp_path / "ada").exists()


def _contents(*names: str) -> tuple[MemoryState, WantedContents]:
    state = _state(*names)
    entries = {entry.path: entry for entry in state.entries()}
    wanted = {name: WantedFile(name, f"{RAW}{name}", "raw", {}, entries[f"{RAW}{name}"]) for name in names}
    return state, WantedContents(wanted, {}, [], [], [])


def test_everything_that_a_tool_runs_or_obeys_is_a_hazard() -> None:
    found = find_hazards(*_contents(*HAZARDS, "store.git/HEAD", *HARMLESS))
    assert {each.name for each in found} == set(HAZARDS)
    assert all(each.reason for each in found)


@pytest.mark.parametrize("runtime", adapter_registry.list_runtimes())
@pytest.mark.parametrize("name", NEVER)
def test_version_control_data_is_never_captured_and_never_written(runtime: str, name: str) -> None:
    adapter = adapter_registry.load_adapter(runtime)
    _, contents = _contents(name)
    assert refused_names.reason_against(contents.workspace[name], adapter)
    assert adapter.exclusion(f"raw/{runtime}/{name}", is_folder=False)


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", "a/.git", ".svn"])
def test_a_file_or_a_link_that_leads_to_a_repository_is_one(name: str) -> None:
    assert exclusion_rules.ExclusionRules().reason(name, is_folder=False) == "version control data"


def _runs_in(folder: Path, planted: Path) -> bool:
    """Return whether `git status` in a folder runs the planted program."""
    planted.unlink(missing_ok=True)
    subprocess.run(["git", "status"], cwd=folder, capture_output=True, check=False, timeout=patience())
    return planted.exists()


BARE_REPOSITORIES = {
    "objects and refs": ("HEAD", "config", "objects/x", "refs/heads/x"),
    "commondir": ("HEAD", "commondir", "config.worktree", "store/config", "store/objects/x", "store/refs/heads/x"),
}


def _bare(planted: Path, shape: str, folder: str = "") -> dict[str, bytes]:
    program = f'[core]\n\tfsmonitor = "touch {planted}; false"\n'
    worktree = "[core]\n\tbare = false\n\tworktree = .\n"
    texts = {
        "HEAD": "ref: refs/heads/main\n",
        "config": f"[core]\n\trepositoryformatversion = 0\n{worktree}{program}",
        "commondir": "store\n",
        "config.worktree": worktree,
        "store/config": f"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n{program}",
    }
    return {f"{folder}{name}": texts.get(name, "").encode() for name in BARE_REPOSITORIES[shape]}


@pytest.mark.parametrize("shape", BARE_REPOSITORIES)
def test_a_workspace_that_is_a_repository_itself_is_neither_imported_nor_restored_nor_captured_as_one(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    planted, target = tmp_path / "planted", tmp_path / "ada"
    files = _bare(planted, shape)
    state = _state("SOUL.md", "USER.md")
    for name, body in files.items():
        state.put(f"{RAW}{name}", body)
    said = run_accepting("alf", "import", _archive(state, tmp_path / "bare.alf"), "--to", target)
    assert [each["name"] for each in said["skipped"]] == ["HEAD"]
    assert not _runs_in(target, planted)
    assert all((target / name).read_bytes() == body for name, body in files.items() if name != "HEAD")

    (target / "HEAD").write_bytes(files["HEAD"])
    assert _runs_in(target, planted)  # it is a repository that Git obeys
    assert run_command(["sync", said["name"]]) == 0
    assert run_command(["restore", said["name"], "--to", str(tmp_path / "again")]) == 0
    assert not (tmp_path / "again" / "HEAD").exists() and (tmp_path / "again" / "SOUL.md").exists()
    assert not _runs_in(tmp_path / "again", planted)
    capsys.readouterr()
    assert run_command(["agents", "show", said["name"], "--left-out", "--json"]) == 0
    assert 'HEAD"' in capsys.readouterr().out


@pytest.mark.parametrize("shape", BARE_REPOSITORIES)
def test_a_repository_in_a_folder_is_kept_and_named_before_an_unsigned_import(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    """An agent may have the only copy of its work in one."""
    planted, target = tmp_path / "planted", tmp_path / "ada"
    state = _state("SOUL.md", "USER.md")
    for name, body in _bare(planted, shape, "work.git/").items():
        state.put(f"{RAW}{name}", body)
    archive = _archive(state, tmp_path / "bare.alf")
    assert run_command(["alf", "import", str(archive), "--to", str(target)]) == 3
    assert "configuration of a Git repository" in capsys.readouterr().out and not target.exists()
    name = run_accepting("alf", "import", archive, "--to", target)["name"]
    assert _runs_in(target / "work.git", planted) and not _runs_in(target, planted)
    assert run_command(["restore", name, "--to", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "work.git" / "HEAD").exists()


@pytest.mark.parametrize("names", [("HEAD",), ("HEAD", "objects"), ("HEAD", "refs"), ("objects", "refs", "config")])
def test_other_folders_with_a_file_of_that_name_are_no_repositories(names: tuple[str, ...]) -> None:
    assert exclusion_rules.repository_heads(names) == frozenset()


@pytest.mark.parametrize("head", ["HEAD", "head", "HE\u200bAD", "HEAD."])
def test_every_spelling_that_a_lenient_file_system_reads_as_the_same_name_counts(head: str) -> None:
    assert exclusion_rules.repository_heads([head, "Objects", "REFS"]) == {head}


@pytest.mark.parametrize("name", [".gitignore", ".github/a", "git/config", "my.git/x", "digit~1"])
def test_other_names_are_no_version_control_data(name: str) -> None:
    assert exclusion_rules.ExclusionRules().reason(name, is_folder=False) is None


def test_many_names_with_one_reason_are_one_sentence(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = _state("SOUL.md", "USER.md", *(f"node_modules/{number}/index.js" for number in range(200)))
    archive = _archive(state, tmp_path / "many.alf")
    warnings = run_accepting("alf", "import", archive, "--to", tmp_path / "ada")["warnings"]
    assert sum("node_modules" in each for each in warnings) == 1


def test_a_damaged_file_that_is_not_wanted_has_a_place_in_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    state = _state("SOUL.md", "big.bin")
    plan = cast("RestorePlan", SimpleNamespace(state=state, verdict=SignatureVerdict.UNSIGNED))
    whole, body = make_seen_code(plan), state.body

    def damaged(path: str) -> bytes:
        if path.endswith("big.bin"):
            raise VaultDamaged("its bytes are not those that were sent")
        return body(path)

    monkeypatch.setattr(state, "body", damaged)
    assert make_seen_code(plan) == make_seen_code(plan) != whole
