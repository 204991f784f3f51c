"""A real Codex CLI: its home is recognised, captured, lost and restored, and the program accepts it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli.cli_client import run
from support.real import real_codex
from support.real.real_codex import KEY, RealCodex

INSTRUCTIONS = "Ask before you delete a branch.\n"


@dataclass(frozen=True)
class Story:
    """The files before the loss and after the restore, what the program said before and after, and the home of
    Lifeboat."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    login: tuple[str, str]
    tables: list[str]
    lifeboat: Path


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _login(codex: RealCodex) -> str:
    done = codex.run("login", "status")
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a network namespace is needed, which takes root on Linux")
    folder = tmp_path_factory.mktemp("real")
    codex = RealCodex(real_codex.require(), folder / "user")
    codex.configure()
    codex.open_databases()
    (codex.home / "AGENTS.md").write_text(INSTRUCTIONS)
    (codex.home / "memories").mkdir(exist_ok=True)
    (codex.home / "memories" / "MEMORY.md").write_text("# Task group: boats\n\nBoat seventeen is red.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(codex.user_home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        [found] = run("agents", "discover")["found"]
        assert (found["runtime"], found["workspace"]) == ("codex", str(codex.home))
        agent = run("agents", "add", found["workspace"])["id"]
        before, said = _files(codex.home), _login(codex)
        shutil.rmtree(codex.home)
        run("restore", agent, "--yes", "--with-credentials")
        after = _files(codex.home)
        with closing(sqlite3.connect(codex.home / "goals_1.sqlite")) as goals:
            tables = [name for (name,) in goals.execute("select name from sqlite_master where type = 'table'")]
        yield Story(before, after, (said, _login(codex)), tables, folder / "lifeboat")


def test_instructions_memories_and_settings_come_back_byte_for_byte(story: Story) -> None:
    for name in ("AGENTS.md", "memories/MEMORY.md", "config.toml", "auth.json"):
        assert story.after[name] == story.before[name], name


def test_what_comes_with_the_program_and_its_sessions_stay_out(story: Story) -> None:
    left = ("skills/.system/", "sessions/", "state_", "logs_", "thread_history_", "installation_id", "log/")
    assert [name for name in story.after if name.startswith(left)] == []


def test_a_database_whose_content_lies_in_its_log_comes_back_with_its_tables(story: Story) -> None:
    assert "thread_goals" in story.tables


def test_the_program_is_logged_in_after_the_restore_as_before(story: Story) -> None:
    before, after = story.login
    assert "API key configured" in before and after == before


def test_no_credential_lies_in_clear_in_the_home_of_lifeboat(story: Story) -> None:
    assert [name for name, data in _files(story.lifeboat).items() if KEY.encode() in data] == []
