"""The output for people: correct, in plain words, with the next command."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.openclaw import openclaw_config
from lifeboat_cli import program
from support import preloaded
from support.adapters import openclaw_workspaces
from support.cli import cli_client
from support.patience import patience
from support.terminal import Terminal

LIFEBOAT = Path(sysconfig.get_path("scripts")) / "lifeboat"
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")

Said = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(folder)
    return folder


@pytest.fixture
def ada(workspace: Path) -> str:
    return str(cli_client.run("agents", "add", workspace, "--name", "ada")["name"])


def say(capsys: Said, *arguments: str | Path, expect: int = 0) -> str:
    """Return all output of a command for people."""
    capsys.readouterr()
    assert program.run_command([str(argument) for argument in arguments]) == expect
    said = capsys.readouterr()
    return said.out + said.err


def executed(*arguments: str, **around: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **around}
    return subprocess.run([str(LIFEBOAT), *arguments], env=environment, capture_output=True, timeout=patience())


def test_people_read_local_times_and_names_of_the_workspace(ada: str, workspace: Path, capsys: Said) -> None:
    (workspace / "MEMORY.md").write_text("# Other\n\nA new line.\n")
    cli_client.run("sync")
    cli_client.run("agents", "pause", ada, "--hours", "1")
    for command in (["timeline", ada], ["diff", ada, "0"], ["agents", "show", ada], ["status"], ["agents", "list"]):
        said = say(capsys, *command)
        assert not UTC.search(said) and "raw/openclaw" not in said, said


def test_a_difference_tells_no_documents_that_follow_from_files(ada: str, workspace: Path, capsys: Said) -> None:
    (workspace / "SOUL.md").write_text("# Soul\n\nChanged.\n")
    said = say(capsys, "diff", ada)
    assert "changed SOUL.md\n" in said and "+Changed." in said
    assert "identity" not in said and "---" not in said


def test_a_command_that_helps_names_the_agent_that_was_asked_for(ada: str, capsys: Said) -> None:
    assert "To fix it: lifeboat timeline ada\n" in say(capsys, "diff", ada, "99", expect=1)
    assert cli_client.run("verify", ada, "--at", "yesterday", expect=1)["error"]["fix"] == "lifeboat timeline ada"


def test_nothing_is_given_up_without_a_yes_where_nobody_can_be_asked(ada: str) -> None:
    error = cli_client.run("agents", "remove", ada, expect=3)["error"]
    assert error["code"] == "consent_needed" and "--yes" in error["fix"]
    assert [agent["name"] for agent in cli_client.run("agents", "list")["agents"]] == [ada]


@pytest.mark.parametrize(
    "arguments",
    [
        ["timeline", "ada", "--limit", "0"],
        ["search", "ada", "x", "--limit", "-1"],
        ["agents", "pause", "ada", "--hours", "-1"],
        ["restore", "ada", "--adopt"],
    ],
)
def test_figures_that_mean_nothing_are_not_understood(ada: str, arguments: list[str]) -> None:
    assert cli_client.run(*arguments, expect=2)["error"]["code"] == "usage"


@pytest.mark.parametrize("name", ["", "  ", "a\nb"])
def test_an_agent_keeps_a_name_that_can_be_typed(ada: str, name: str) -> None:
    assert cli_client.run("agents", "rename", ada, name, expect=3)["error"]["code"] == "name_refused"


def test_a_name_that_another_agent_has_is_refused(ada: str, tmp_path: Path) -> None:
    openclaw_workspaces.make_workspace(tmp_path / "second")
    cli_client.run("agents", "add", tmp_path / "second", "--name", "bea")
    assert cli_client.run("agents", "rename", "bea", "ada", expect=3)["error"]["code"] == "name_refused"


def test_verify_takes_a_time_like_every_other_command(ada: str) -> None:
    entry = cli_client.run("timeline", ada)["entries"][0]
    assert cli_client.run("verify", ada, "--at", entry["created_at"])["sequence"] == 0
    cli_client.run("verify", ada, "--at", "2020-01-01", expect=1)


def test_an_undo_says_that_it_took_back_and_no_sequence(ada: str, workspace: Path, capsys: Said) -> None:
    (workspace / "MEMORY.md").write_text("# Other\n")
    said = say(capsys, "restore", ada, "--at", "0", "--path", "MEMORY.md", "--yes")
    assert said.startswith("The files that match MEMORY.md in sequence 0 of ")
    assert re.search(r"^1 file and \d+ memories restored\.$", said, re.MULTILINE)
    assert "not asked for" not in said and "things" not in said and "other machine" not in said
    said = say(capsys, "undo", ada)
    assert "was undone." in said and "1 file restored.\n" in said and "Sequence" not in said
    assert "To reverse the undo:\n  lifeboat undo " in said
    assert (workspace / "MEMORY.md").read_text() == "# Other\n"


def test_a_restore_of_what_is_there_says_that_nothing_changes(ada: str, capsys: Said) -> None:
    said = say(capsys, "restore", ada, "--at", "0", "--dry-run")
    assert re.search(r"^nothing to restore; \d+ files unchanged", said, re.MULTILINE)


def test_ctrl_c_at_a_question_begins_a_new_line(ada: str) -> None:
    with Terminal("restore", ada, "--at", "0") as terminal:
        terminal.wait_for("Write this.*: ")
        assert terminal.interrupted() == 130
    assert "\nThe command was stopped. No change was left incomplete." in terminal.left


def test_a_restore_without_credentials_names_the_command_that_puts_them_back(
    ada: str, workspace: Path, tmp_path: Path, capsys: Said
) -> None:
    secret = "TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ0123456789\n"
    (workspace / ".env").write_text(secret)
    cli_client.run("sync")
    number = cli_client.run("timeline", ada)["entries"][0]["sequence"]
    said = say(capsys, "restore", ada, "--to", tmp_path / "beside", expect=1)
    assert "Partial: 1 file restored without credentials.\n" in said
    assert f"lifeboat restore ada --at {number} --to {tmp_path / 'beside'} --with-credentials\n" in said
    cli_client.run("restore", ada, "--at", str(number), "--to", tmp_path / "beside", "--with-credentials", "--yes")
    assert (tmp_path / "beside" / ".env").read_text() == secret


def test_an_imported_agent_is_captured_once_it_is_resumed(
    ada: str, workspace: Path, tmp_path: Path, capsys: Said
) -> None:
    archive = tmp_path / "ada.alf"
    cli_client.run("alf", "export", "openclaw", workspace, "-o", archive)
    said = say(capsys, "alf", "import", archive, "--to", tmp_path / "copy")
    assert "lifeboat agents resume Juniper\n" in said and "with a new id" in said
    states = {one["name"]: one["state"] for one in cli_client.run("status")["agents"]}
    assert states == {"ada": "ok", "Juniper": "paused"}
    assert "Juniper is skipped: the agent was imported" in say(capsys, "sync")
    cli_client.run("agents", "resume", "Juniper")
    assert {one["name"] for one in cli_client.run("sync")["agents"]} == {"ada", "Juniper"}


def test_an_export_counts_records_and_says_so(ada: str, workspace: Path, tmp_path: Path, capsys: Said) -> None:
    counted = cli_client.run("alf", "export", "openclaw", workspace, "-o", tmp_path / "one.alf")["records"]
    assert f"{counted} records, " in say(capsys, "alf", "export", "openclaw", workspace, "-o", tmp_path / "two.alf")


def test_an_import_on_trial_says_would(ada: str, workspace: Path, tmp_path: Path, capsys: Said) -> None:
    archive = tmp_path / "ada.alf"
    cli_client.run("alf", "export", "openclaw", workspace, "-o", archive)
    said = say(capsys, "alf", "import", archive, "--to", tmp_path / "copy", "--dry-run")
    assert "would be restored to" in said and not (tmp_path / "copy").exists()


def test_a_delta_is_imported_on_top_of_its_snapshot_and_not_alone(ada: str, workspace: Path, tmp_path: Path) -> None:
    snapshot, delta = tmp_path / "ada.alf", tmp_path / "ada.alf-delta"
    cli_client.run("alf", "export", "openclaw", workspace, "-o", snapshot)
    (workspace / "SOUL.md").write_text("# Soul\n\nChanged.\n")
    cli_client.run("alf", "export", "openclaw", workspace, "--since", "0", "-o", delta)
    error = cli_client.run("alf", "import", delta, "--to", tmp_path / "copy", expect=1)["error"]
    assert "is a delta" in error["message"] and "--delta" in error["fix"]
    assert "is a delta" in cli_client.run("alf", "diff", snapshot, delta, expect=2)["error"]["message"]
    cli_client.run("alf", "import", snapshot, "--delta", delta, "--to", tmp_path / "copy")
    assert (tmp_path / "copy" / "SOUL.md").read_text() == "# Soul\n\nChanged.\n"


def test_a_file_in_the_way_is_the_same_error_for_every_command(ada: str, workspace: Path, tmp_path: Path) -> None:
    snapshot, delta = tmp_path / "ada.alf", tmp_path / "ada.alf-delta"
    cli_client.run("alf", "export", "openclaw", workspace, "-o", snapshot)
    (workspace / "SOUL.md").write_text("# Soul\n\nChanged.\n")
    cli_client.run("alf", "export", "openclaw", workspace, "--since", "0", "-o", delta)
    record = cli_client.run("search", ada, "the")["hits"][0]["id"]
    for command in (
        ["alf", "export", "openclaw", workspace, "-o", snapshot],
        ["alf", "apply", snapshot, delta, "-o", snapshot],
        ["alf", "purge", snapshot, "--record", record, "-o", snapshot],
    ):
        error = cli_client.run(*command, expect=3)["error"]
        again = shlex.join(["lifeboat", *map(str, command), "--json", "--force"])
        assert (error["code"], error["fix"]) == ("file_exists", again)
    cli_client.run("alf", "apply", snapshot, delta, "-o", snapshot, "--force")
    assert (snapshot.stat().st_mode & 0o777) == 0o600
    assert list(tmp_path.glob(".*")) == []


def test_a_delta_that_would_hold_nothing_is_not_written(ada: str, workspace: Path, tmp_path: Path) -> None:
    delta = tmp_path / "ada.alf-delta"
    error = cli_client.run("alf", "export", "openclaw", workspace, "--since", "0", "-o", delta, expect=1)["error"]
    assert error["code"] == "nothing_to_export" and not delta.exists()


def test_a_folder_that_is_not_there_is_said_without_scratch_names(ada: str, workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "ada.alf"
    message = cli_client.run("alf", "export", "openclaw", workspace, "-o", target, expect=1)["error"]["message"]
    assert message == f"{target} was not written: No such file or directory"


def test_a_busy_agent_keeps_the_number_of_its_sequence(ada: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from lifeboat_core.errors import Busy

    def busy(*_: object, **__: object) -> None:
        raise Busy("process 1 holds it (capture)")

    monkeypatch.setattr("lifeboat_core.agents.agent_sync.capture_agent", busy)
    (one,) = cli_client.run("sync", expect=1)["agents"]
    assert one["sequence"] == 0 and one["state"] == "error"


def test_a_demonstration_does_not_use_a_folder_that_is_there(tmp_path: Path) -> None:
    assert cli_client.run("demo", "--keep", tmp_path, expect=2)["error"]["code"] == "usage"


def test_json_may_stand_before_the_command_and_without_one(ada: str) -> None:
    for arguments in (["--json"], ["--json", "status"], ["status", "--json"]):
        assert json.loads(preloaded.run(arguments, capture_output=True, timeout=60).stdout)["agents"][0]["name"] == ada


def test_a_terminal_that_knows_no_umlauts_gets_them_escaped_and_json_stays_utf_8(ada: str, workspace: Path) -> None:
    (workspace / "USER.md").write_text("# User\n\nGrüße aus Köln.\n")
    around = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    text = executed("diff", ada, **around)
    assert text.returncode == 0 and b"Gr\\xfc\\xdfe" in text.stdout
    assert "Grüße" in executed("diff", ada, "--json", **around).stdout.decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_result_that_cannot_be_written_is_said_once(ada: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [str(LIFEBOAT), "status", "--json"], stdout=full, stderr=subprocess.PIPE, timeout=patience()
        )
    assert done.returncode == 1
    assert done.stderr.count(b"The disk is full.") == 1 and b"Exception ignored" not in done.stderr


def test_a_closed_standard_output_is_no_crash(ada: str) -> None:
    done = subprocess.run(["sh", "-c", f"'{LIFEBOAT}' status >&-"], capture_output=True, timeout=patience())
    assert done.returncode == 0 and done.stderr == b""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["timeline", ""], {"plain,ada"}),
        (["restore", "ada", "--at", ""], {"plain,0"}),
        (["verify", "--at", ""], set()),
        (["timeline", "ada", "x"], set()),
        (["config", "get", "cad"], {"plain,cadence"}),
        (["alf", "export", ""], {f"plain,{runtime}" for runtime in adapter_registry.list_runtimes()}),
    ],
)
def test_a_shell_is_offered_agents_sequences_settings_and_runtimes(
    ada: str, typed: list[str], offered: set[str]
) -> None:
    words = " ".join(["lifeboat", *typed])
    around = {**os.environ, "_LIFEBOAT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(typed))}
    done = preloaded.run([], env=around, capture_output=True, timeout=60)
    assert set(done.stdout.decode().split()) == offered and done.stderr == b""


def test_every_command_has_a_sentence_that_fits_its_list_and_every_example_is_understood() -> None:
    from lifeboat_cli.terminal.help_examples import parse_examples
    from support.docs import doc_pages

    commands = doc_pages.commands()
    for words, command in commands.items():
        assert not command.get_short_help_str(62).endswith("..."), words
        examples = [example for example in parse_examples(command.epilog) if example.startswith("lifeboat ")]
        for example in examples:
            arguments = example.removeprefix("lifeboat ")
            (shown,) = (commands[name] for name in commands if f"{arguments} ".startswith(f"{name} "))
            options = {option for each in shown.params for option in (*each.opts, *each.secondary_opts)}
            assert {each for each in arguments.split() if each.startswith("--")} <= options, example


def test_an_agent_whose_whole_runtime_folder_is_lost_comes_back_with_its_configuration(isolated_home: Path) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    cli_client.run("agents", "add", state.workspace, "--name", "ada")
    before = openclaw_config.parse_openclaw_config((state.folder / "openclaw.json").read_bytes())
    shutil.rmtree(state.folder)
    report = cli_client.run("restore", "ada", "--with-credentials")
    back = openclaw_config.parse_openclaw_config((state.folder / "openclaw.json").read_bytes())
    # The archive contains the share of one agent, and nothing of the other one.
    assert list(back["agents"]["entries"]) == ["main"]
    assert {name: back[name] for name in ("gateway", "channels")} == {
        name: before[name] for name in ("gateway", "channels")
    }
    assert "openclaw.json" not in {item["name"] for item in report["skipped"]}
    again = cli_client.run("agents", "show", "ada")["files"]
    assert "raw/openclaw-home/openclaw.json" in {one["path"] for one in again if one["kept"]}


def test_a_workspace_lost_alone_finds_the_configuration_beside_it(isolated_home: Path) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    cli_client.run("agents", "add", state.workspace, "--name", "ada")
    shutil.rmtree(state.workspace)
    report = cli_client.run("restore", "ada")
    assert not any("this workspace has none" in item["reason"] for item in report["skipped"])
