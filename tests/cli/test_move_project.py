"""`lifeboat agents move-project`: a project of Claude Code follows its folder to another path."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from lifeboat_adapters.claude_code.path_spelling import map_slug, project_slug, replace_path
from support.adapters.profile_installs import make_claude_code, write_files
from support.cli import cli_client

run = cli_client.run


class BoatsProject:
    """An agent with the memories of the projects `boats`, `boats/sails` and `boats-old`, and the folder that moves."""

    def __init__(self, user_home: Path) -> None:
        self.home = make_claude_code(user_home).workspace
        self.old, self.new = user_home / "boats", user_home / "harbour"
        self.settings = user_home / ".claude.json"
        sails = {"mcpServers": {"sails": {"command": "x"}}, "hasTrustDialogAccepted": True}
        projects = {str(self.old): {"allowedTools": ["Bash"]}, str(self.old / "sails"): sails, f"{self.old}-old": {}}
        self.settings.write_text(json.dumps({"projects": projects}, indent=2))
        line = json.dumps({"type": "user", "cwd": str(self.old), "text": f'see "{self.old}/a"'}, separators=(",", ":"))
        write_files(
            self.home,
            {
                "settings.json": json.dumps({"permissions": {"additionalDirectories": [f"{self.old}/sails"]}}),
                "history.jsonl": json.dumps({"display": "hello", "project": str(self.old)}) + "\n",
                f"{self.folder(self.old)}/memory/red.md": "---\nname: red\n---\nThe red boat is for sale.\n",
                f"{self.folder(self.old)}/memory/MEMORY.md": "- [Red](red.md) — for sale\n",
                f"{self.folder(self.old)}/1.jsonl": f"{line}\n",
                f"{self.folder(self.old / 'sails')}/memory/sail.md": "The sail is torn.\n",
                f"{self.folder(Path(f'{self.old}-old'))}/memory/rust.md": "The old one is rusty.\n",
            },
        )
        self.new.mkdir()
        self.agent = run("agents", "add", self.home, "--name", "Claude")

    def folder(self, project: Path) -> str:
        return f"projects/{project_slug(str(project))}"

    def move(self, *words: str) -> dict[str, Any]:
        return run("agents", "move-project", "Claude", self.old, self.new, *words)

    def refused(self, old: Path | None = None) -> dict[str, Any]:
        """Return the error of a move that fails."""
        words = ("agents", "move-project", "Claude", old or self.old, self.new, "--yes")
        error: dict[str, Any] = run(*words, expect=3)["error"]
        return error

    def memories(self) -> dict[str, str]:
        return {each["id"]: each["snippet"] for each in run("records", "list", "Claude")["records"]}

    def tree(self) -> dict[str, bytes]:
        every = [path for path in self.home.rglob("*") if path.is_file()]
        return {path.relative_to(self.home).as_posix(): path.read_bytes() for path in (*every,)} | {
            "../.claude.json": self.settings.read_bytes()
        }


@pytest.fixture
def boats(isolated_home: Path) -> BoatsProject:
    return BoatsProject(isolated_home)


def test_every_place_that_holds_the_path_follows(boats: BoatsProject) -> None:
    before = boats.memories()
    report = boats.move("--yes")
    old, new = str(boats.old), str(boats.new)
    assert (boats.home / boats.folder(boats.new) / "memory/red.md").is_file()
    assert (boats.home / boats.folder(boats.new / "sails") / "memory/sail.md").is_file()
    assert not (boats.home / boats.folder(boats.old)).exists()
    projects = json.loads(boats.settings.read_text())["projects"]
    assert list(projects) == [new, f"{new}/sails", f"{old}-old"]
    assert json.loads((boats.home / "settings.json").read_text())["permissions"]["additionalDirectories"] == [
        f"{new}/sails"
    ]
    assert json.loads((boats.home / "history.jsonl").read_text())["project"] == new
    line = json.loads((boats.home / boats.folder(boats.new) / "1.jsonl").read_text())
    assert line == {"type": "user", "cwd": new, "text": f'see "{old}/a"'}
    assert boats.memories() == before, "a memory has become another one"
    assert (len(report["folders"]), len(report["files"])) == (2, 4)
    assert report["safety_sequence"] == 0 and report["sequence"] == 1
    assert run("status")["agents"][0]["held"] is None


def test_the_last_session_stays_the_newest(boats: BoatsProject) -> None:
    write_files(boats.home, {f"{boats.folder(boats.old)}/0.jsonl": json.dumps({"cwd": str(boats.old)}) + "\n"})
    for number, name in enumerate(("0.jsonl", "1.jsonl")):
        os.utime(boats.home / boats.folder(boats.old) / name, (1000 + number, 1000 + number))
    boats.move("--yes")
    moved = boats.home / boats.folder(boats.new)
    assert [(moved / name).stat().st_mtime for name in ("0.jsonl", "1.jsonl")] == [1000, 1001]


def test_a_project_with_a_similar_name_stays(boats: BoatsProject) -> None:
    boats.move("--yes")
    assert (boats.home / boats.folder(Path(f"{boats.old}-old")) / "memory/rust.md").is_file()


def test_a_dry_run_writes_nothing(boats: BoatsProject) -> None:
    before = boats.tree()
    report = boats.move("--dry-run")
    assert report["moved"] is False and len(report["folders"]) == 2
    assert boats.tree() == before


def test_moving_back_gives_every_byte_again(boats: BoatsProject) -> None:
    before = boats.tree()
    boats.move("--yes")
    boats.old.mkdir()
    run("agents", "move-project", "Claude", boats.new, boats.old, "--yes")
    assert boats.tree() == before


def test_sessions_that_already_ran_at_the_new_path_are_kept(boats: BoatsProject) -> None:
    write_files(boats.home, {f"{boats.folder(boats.new)}/2.jsonl": "{}\n"})
    settings = json.loads(boats.settings.read_text())
    settings["projects"][str(boats.new)] = {"hasTrustDialogAccepted": True}
    boats.settings.write_text(json.dumps(settings))
    boats.move("--yes")
    folder = boats.home / boats.folder(boats.new)
    assert sorted(path.name for path in folder.iterdir()) == ["1.jsonl", "2.jsonl", "memory"]
    assert json.loads(boats.settings.read_text())["projects"][str(boats.new)] == {
        "allowedTools": ["Bash"],
        "hasTrustDialogAccepted": True,
        "mcpServers": {},
    }


def test_two_files_of_one_name_are_refused_and_nothing_changes(boats: BoatsProject) -> None:
    write_files(boats.home, {f"{boats.folder(boats.new)}/memory/red.md": "Another red boat.\n"})
    before = boats.tree()
    error = boats.refused()
    assert error["code"] == "project_refused" and "red.md" in error["message"]
    assert boats.tree() == before


def test_an_interrupted_move_is_completed_by_the_same_command(
    boats: BoatsProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifeboat_core.agents import move_project

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(move_project, "_move_folder", fail)
        assert boats.refused()["code"] == ("project_refused")
    boats.move("--yes")
    assert (boats.home / boats.folder(boats.new) / "memory/red.md").is_file()
    assert (boats.home / boats.folder(boats.new / "sails") / "memory/sail.md").is_file()


def test_a_missing_target_and_an_unknown_project_are_refused(boats: BoatsProject) -> None:
    boats.new.rmdir()
    error = boats.refused()
    assert (error["code"], error["fix"]) == ("project_refused", f"mv {boats.old} {boats.new}")
    boats.new.mkdir()
    other = boats.old.with_name("elsewhere")
    error = boats.refused(other)
    assert error["code"] == "project_refused" and str(other) in error["message"]


def test_it_is_refused_while_the_program_runs(boats: BoatsProject, monkeypatch: pytest.MonkeyPatch) -> None:
    claude = SimpleNamespace(pid=4242, info={"name": "claude"})
    monkeypatch.setattr(psutil, "process_iter", lambda *_: [claude])
    before = boats.tree()
    error = boats.refused()
    assert error["code"] == "runtime_running" and "4242" in error["message"]
    assert boats.tree() == before


def test_a_rule_that_names_the_path_in_another_form_is_reported(boats: BoatsProject) -> None:
    rules = {"permissions": {"allow": [f"Read(/{boats.old}/**)"]}}
    (boats.home / "settings.json").write_text(json.dumps(rules))
    assert boats.move("--yes")["still_naming"] == [str(boats.home / "settings.json")]


def test_names_of_folders_are_those_of_the_program() -> None:
    """The second one was made by Claude Code 2.1.197."""
    assert project_slug("/srv/ada/my_boats.v2") == "-srv-ada-my-boats-v2"
    deep = "/tmp/cld/u/" + "/".join(f"deep-folder-{number:02}" for number in range(16))
    assert project_slug(deep).endswith("-deep-folder-11-deep-fold-3jagyq") and len(project_slug(deep)) == 207


def test_a_mapped_folder_takes_the_projects_below_it_along() -> None:
    assert map_slug("-srv-ada", "/srv/ada", "/srv/bob") == "-srv-bob"
    assert map_slug("-srv-ada-boats", "/srv/ada", "/Users/bob") == "-Users-bob-boats"
    assert map_slug("-srv-adam", "/srv/ada", "/srv/bob") == "-srv-adam"


def test_only_whole_paths_are_replaced() -> None:
    data = b'{"/srv/a": "/srv/a/x", "y": "/srv/ab", "z": "in \\"/srv/a\\" it is"}'
    assert replace_path(data, "/srv/a", "/srv/b") == (
        b'{"/srv/b": "/srv/b/x", "y": "/srv/ab", "z": "in \\"/srv/a\\" it is"}'
    )
