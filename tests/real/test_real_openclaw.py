"""A real OpenClaw: its own workspace captured, lost, restored into another home, and used there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli.cli_client import run
from support.real import real_openclaw
from support.real.real_openclaw import OpenClaw

LOGGED = "The harbour pilot answers on channel seventeen."
REMEMBERED = "The spare key of the boathouse hangs behind the barometer."
CHARACTER = "You never promise a berth before the harbour master has agreed."


@dataclass(frozen=True)
class Story:
    """The agent that was, what its folders held before and after the capture, and the agent that is."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    workspace: dict[str, bytes]
    restored: OpenClaw


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _live_a_little(openclaw: OpenClaw) -> None:
    """What an agent writes in its first days, into the files that OpenClaw itself made."""
    soul = openclaw.workspace / "SOUL.md"
    soul.write_text(soul.read_text() + f"\n## Berths\n\n{CHARACTER}\n")
    (openclaw.workspace / "MEMORY.md").write_text(f"# MEMORY\n\n## Keys\n\n- {REMEMBERED}\n")
    (openclaw.workspace / "memory").mkdir(exist_ok=True)
    (openclaw.workspace / "memory" / "2026-11-18.md").write_text(f"# 2026-11-18\n\n## Radio\n\n- {LOGGED}\n")
    openclaw.turn("Good morning.")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    installed = real_openclaw.require()
    folder = tmp_path_factory.mktemp("real")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        first = OpenClaw(installed, folder / "first", namespace, log)
        second = OpenClaw(installed, folder / "second", namespace, log)
        for openclaw in (first, second):
            openclaw.home.mkdir()
        first.onboard()
        _live_a_little(first)
        patch.setenv("HOME", str(first.home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        patch.setenv("PATH", "/usr/bin:/bin")
        before = _files(first.home)
        run("agents", "add", first.workspace)
        after = _files(first.home)
        workspace = _files(first.workspace)
        moved = str(first.workspace)
        shutil.rmtree(first.home)
        second.configure()
        patch.setenv("HOME", str(second.home))  # "~" in the configuration means this folder to both programs
        run("restore", moved, "--to", second.workspace, "--yes")
        second.run("memory", "index", "--force", "--agent", "main")
        yield Story(before, after, workspace, second)


def test_a_capture_leaves_the_folders_of_a_real_agent_as_they_were(story: Story) -> None:
    assert story.after.keys() == story.before.keys()
    changed = {name for name, data in story.before.items() if story.after[name] != data}
    # Readers of a live database note in its shared memory where they read; nothing of it is ever stored.
    assert {name for name in changed if not name.endswith("-shm")} == set()


def test_every_file_of_the_workspace_is_back(story: Story) -> None:
    restored = _files(story.restored.workspace)
    kept = {name: data for name, data in story.workspace.items() if not name.startswith(".git/")}
    assert {"SOUL.md", "AGENTS.md", "MEMORY.md", "memory/2026-11-18.md"} <= kept.keys()
    assert {name: restored.get(name) for name in kept} == kept


def test_openclaws_own_search_finds_a_restored_fact(story: Story) -> None:
    assert LOGGED in story.restored.search("harbour pilot channel")


def test_the_next_turn_carries_what_the_agent_knew(story: Story) -> None:
    story.restored.turn("What do you know of the boathouse?")
    prompt = story.restored.last_prompt()
    assert REMEMBERED in prompt
    assert CHARACTER in prompt


def test_the_agent_finds_its_log_by_its_own_tool(story: Story) -> None:
    story.restored.turn("MEMQ: harbour pilot channel")
    assert LOGGED in story.restored.last_prompt()
