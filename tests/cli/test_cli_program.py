"""How the program ends: exit status, and where the result and the errors go."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_core.texts.safe_text import block_text
from support import preloaded
from support.adapters import openclaw_workspaces
from support.cli import cli_client
from support.patience import patience

LIFEBOAT = Path(sysconfig.get_path("scripts")) / "lifeboat"


def test_a_failure_is_a_json_document_on_standard_output_when_json_is_asked_for() -> None:
    document = cli_client.run("timeline", "nobody", expect=1)
    assert document["error"]["code"] == "unknown_agent"
    assert set(document["error"]) == {"code", "title", "message", "fix", "retryable"}


def test_a_failure_is_told_to_people_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["timeline", "nobody"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "nobody" in said.err and "To fix it: " in said.err


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["timeline"], ["timeline", "a", "--wrong"], ["config", "set", "x"]]
)
def test_wrong_usage_ends_with_2_and_names_the_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(arguments) == 2
    assert "--help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"), [("statsu", "status"), ("timelin", "timeline"), ("agents lst", "agents list")]
)
def test_a_command_that_is_mistyped_gets_the_nearest_one(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run_command(typed.split()) == 2
    assert f"To fix it: lifeboat {meant}\n" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-h"], ["help"], ["--help"]])
def test_every_command_is_listed_by_the_help_without_importing_it(words: list[str]) -> None:
    names = {name for section in program.SECTIONS.values() for name in section}
    script = (
        "import sys\nfrom lifeboat_cli.program import run_command\n"
        f"status = run_command({words!r})\n"
        "print(*sys.modules, file=sys.stderr)\nsys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=patience(), check=True
    )
    assert names <= {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}
    loaded = set(done.stderr.split())
    places = {command.place.split(":")[0] for section in program.SECTIONS.values() for command in section.values()}
    assert loaded & places <= {"lifeboat_cli.commands.help_command"}


def test_help_with_the_words_of_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["keys", "init", "--help"]) == 0
    expected = capsys.readouterr().out
    assert program.run_command(["help", "keys", "init"]) == 0
    assert capsys.readouterr().out == expected
    assert cli_client.run("help", "keys", "init")["command"] == "lifeboat keys init"


def test_help_about_a_word_behind_a_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["help", "status", "more"]) == 2
    assert "'lifeboat status' has no subcommands" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("group", "default"),
    [
        ("agents", "list"),
        ("remote", "list"),
        ("config", "list"),
        ("keys", "status"),
        ("daemon", "status"),
        ("service", "status"),
    ],
)
def test_a_group_without_a_command_shows_what_there_is(
    group: str, default: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown = program.run_command([group, "--json"]), json.loads(capsys.readouterr().out)
    assert program.run_command([group, default, "--json"]) == status
    assert json.loads(capsys.readouterr().out).keys() == shown.keys()


@pytest.mark.parametrize("group", ["receipts", "endpoint", "alf", "records"])
def test_a_group_that_needs_a_command_prints_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command([group]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"Usage: lifeboat {group} ") and "\\n" not in said.err
    assert program.run_command([group, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["message"]


def test_the_version_has_a_short_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["-V"]) == 0
    assert capsys.readouterr().out.startswith("lifeboat, version ")


def test_wrong_usage_is_json_too() -> None:
    assert cli_client.run("nonsense", expect=2)["error"]["code"] == "usage"


def test_an_internal_error_is_reported_with_its_place_and_without_its_text_or_a_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the unforeseen")

    monkeypatch.setattr("lifeboat_core.health.status_gathering.list_agents", broken)
    assert program.run_command(["status"]) == 1
    said = capsys.readouterr().err
    assert "RuntimeError in lifeboat_core.health.status_gathering, line " in said
    assert "the unforeseen" not in said and "Traceback" not in said


def test_a_full_disk_is_called_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lifeboat_core.health.status_gathering.list_agents", full)
    document = cli_client.run("status", expect=1)
    assert document["error"]["code"] == "disk_full" and document["error"]["retryable"] is True


def test_without_a_command_the_status_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command([]) == 0
    assert "no agent is protected yet" in capsys.readouterr().out


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    openclaw_workspaces.make_workspace(tmp_path / "workspace")
    cli_client.run("agents", "add", tmp_path / "workspace")
    for words in (f"agents show {tmp_path / 'workspace'}", f"restore {tmp_path / 'workspace'} --to {tmp_path / 'new'}"):
        command = ["bash", "-o", "pipefail", "-c", f"{LIFEBOAT} {words} | true"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience())
        assert done.returncode == 0 and done.stderr == ""
    assert (tmp_path / "new").is_dir()


def test_escape_sequences_of_an_agent_do_not_reach_the_terminal() -> None:
    assert block_text("\x1b]0;owned\x07 text\x9b2J\r\n") == "\\x1b]0;owned\\x07 text\\x9b2J\\r\n"


def test_a_restore_into_a_full_folder_asks_on_a_terminal_and_no_means_no(tmp_path: Path) -> None:
    """On a real terminal the default of the question is to cancel, and nothing is written."""
    workspace = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(workspace)
    agent = cli_client.run("agents", "add", workspace)
    (workspace / "MEMORY.md").write_text("# Other\n")
    ours, theirs = pty.openpty()
    command = ["restore", agent["id"]]
    with preloaded.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b"\n")
        said = _read_all(ours)
        status = process.wait(timeout=patience())
    assert "Write this? [y/N]" in said
    assert status == program.INTERRUPTED
    assert (workspace / "MEMORY.md").read_text() == "# Other\n"


def _read_all(descriptor: int) -> str:
    said = b""
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    os.close(descriptor)
    return said.decode()


def test_no_command_loads_the_dashboard_or_the_network() -> None:
    code = (
        "import sys; from lifeboat_cli import program; program.run_command(['--help'])\n"
        "sys.exit(any(name in sys.modules for name in ('textual', 'httpx', 'keyring', 'sqlalchemy', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=patience()).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["completion", shell]) == 0
    assert "_LIFEBOAT_COMPLETE" in capsys.readouterr().out


def test_completion_offers_commands() -> None:
    around = {**os.environ, "_LIFEBOAT_COMPLETE": "bash_complete", "COMP_WORDS": "lifeboat re", "COMP_CWORD": "1"}
    done = subprocess.run([str(LIFEBOAT)], env=around, capture_output=True, text=True, timeout=patience())
    assert {"plain,records", "plain,restore"} <= set(done.stdout.split())


def test_the_demonstration_holds_all_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["demo", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True and len(document["chapters"]) == 9
    assert not any(chapter["problems"] for chapter in document["chapters"])


def test_the_demonstration_fails_when_a_byte_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lifeboat_cli.demo import demo_story

    honest = demo_story.restore_agent

    def careless(*arguments: object, **options: object) -> object:
        report = honest(*arguments, **options)  # type: ignore[arg-type]
        victim = Path(report.to) / "MEMORY.md"
        victim.write_bytes(victim.read_bytes()[:-1])
        return report

    monkeypatch.setattr(demo_story, "restore_agent", careless)
    assert program.run_command(["demo"]) == 1
    assert "FAILED: MEMORY.md differs in: content, time" in capsys.readouterr().out


def test_a_reader_that_ends_early_is_no_refusal_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = openclaw_workspaces.make_workspace(tmp_path / "workspace")
    cli_client.run("agents", "add", workspace, "--name", "ada")

    class Gone:
        """Standard output whose reader has ended."""

        encoding = "utf-8"

        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

        def flush(self) -> None: ...

        def isatty(self) -> bool:
            return False

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr(sys, "stdout", Gone())
    assert program.run_command(["restore", "ada", "--to", str(tmp_path / "new")]) == 0
    assert "system" not in capsys.readouterr().err
    assert (tmp_path / "new" / "SOUL.md").exists()
