"""`lifeboat profiles`: what comes with Lifeboat, the user's own, and a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.folder import folder_profile, shipped_profiles
from lifeboat_cli.program import run_command
from support.adapters.openclaw_workspaces import make_state_dir
from support.adapters.profile_installs import KEY, make_nanobot, write_files
from support.cli.cli_client import run


def _profiles(user_home: Path) -> Path:
    run("agents", "list")
    [keys] = user_home.rglob("keys")
    return keys.parent / "profiles"


def test_the_list_has_shipped_profiles_and_those_of_the_user(isolated_home: Path) -> None:
    folder = _profiles(isolated_home)
    write_files(folder, {"pebble.toml": 'name = "pebble"\ntitle = "Pebble"\ntakes_any_folder = true\n'})
    listed = {each["name"]: each for each in run("profiles")["profiles"]}
    assert listed.keys() == {*shipped_profiles.load_shipped_profiles(), "pebble"}
    assert (listed["markdown"]["source"], listed["pebble"]["source"]) == ("shipped", str(folder / "pebble.toml"))


def test_a_broken_profile_is_named_in_the_list_and_by_the_doctor(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(_profiles(isolated_home), {"pebble.toml": "name ="})
    [broken] = [each for each in run("profiles", "list")["profiles"] if each["problem"]]
    assert broken["name"] == "pebble" and "pebble.toml" in broken["problem"]
    run_command(["doctor"])
    assert "pebble.toml" in capsys.readouterr().out


@pytest.mark.parametrize("name", shipped_profiles.load_shipped_profiles())
def test_a_shown_profile_is_a_profile(isolated_home: Path, name: str) -> None:
    shown = run("profiles", "show", name)
    assert folder_profile.parse_profile(shown["text"], "shown") == shipped_profiles.load_shipped_profiles()[name]


def test_an_unknown_profile_is_refused_with_the_list(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["profiles", "show", "peble"]) != 0
    assert "lifeboat profiles list" in capsys.readouterr().err


def test_a_trial_prints_what_would_be_captured(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = make_nanobot(isolated_home)
    shown = isolated_home / "mine.toml"
    shown.write_text(run("profiles", "show", "nanobot")["text"])
    assert run_command(["profiles", "test", str(shown), str(made.workspace)]) == 0
    said = capsys.readouterr().out
    assert (
        "A capture would contain 7 files, 2 memories and 2 credentials." in said
        and "The profile works for this folder." in said
    )
    assert KEY not in said


def test_a_trial_that_finds_a_problem_exits_with_1(isolated_home: Path) -> None:
    text = 'name = "pebble"\ntitle = "Pebble"\ntakes_any_folder = true\n[[memories]]\nglob = "memroy/*.md"\n'
    write_files(isolated_home, {"p.toml": text, "notes/a.md": "x"})
    tried = run("profiles", "test", isolated_home / "p.toml", isolated_home / "notes", expect=1)
    assert tried["problems"] == ["the rule for memories matches no file: 'memroy/*.md'"]


def test_a_profile_with_the_name_of_an_adapter_is_named_and_its_agents_are_captured_on(isolated_home: Path) -> None:
    taken = _profiles(isolated_home) / "openclaw.toml"
    make_state_dir(isolated_home / ".openclaw")
    run("agents", "add", isolated_home / ".openclaw/workspace")
    taken.parent.mkdir(mode=0o700)
    taken.write_text('name = "openclaw"\ntitle = "Mine"\n[marks]\ncertain = ["SOUL.md"]\n')
    [listed] = [each for each in run("profiles", "list")["profiles"] if each["problem"]]
    assert (
        listed["name"] == "openclaw"
        and listed["problem"] == "Lifeboat supports openclaw without a profile, so this profile is not used"
    )
    tried = run("profiles", "test", taken, isolated_home / ".openclaw/workspace", expect=1)
    assert any("Lifeboat already supports a runtime with the name openclaw" in problem for problem in tried["problems"])
    run("sync")
