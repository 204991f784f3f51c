"""A real Hermes Agent: it lives, is captured, lost and restored, and goes on with its memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli.cli_client import run
from support.real import real_hermes, real_openclaw
from support.real.real_hermes import KEY, RealHermes

REMEMBERED = "Boat seventeen lies at the north pier."
POOLED = f"{KEY}-of-the-pool"


@dataclass(frozen=True)
class Story:
    """The agent, its files before the loss and after the restore, and the home of Lifeboat."""

    hermes: RealHermes
    before: dict[str, bytes]
    after: dict[str, bytes]
    quiet: int
    memories: list[str]
    openclaw: dict[str, bytes]
    returned: bytes
    lifeboat: Path


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    installed = real_hermes.require()
    folder = tmp_path_factory.mktemp("real")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        hermes = RealHermes(installed, folder / "user", namespace, log)
        hermes.configure()
        hermes.run("auth", "add", "openrouter", "--type", "api-key", "--api-key", POOLED, "--label", "main")
        hermes.turn(f"REMEMBER: {REMEMBERED}")
        patch.setenv("HOME", str(hermes.user_home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        patch.setenv("PATH", "/usr/bin:/bin")
        [found] = run("agents", "discover")["found"]
        assert (found["runtime"], found["native_id"]) == ("hermes", "default")
        agent = run("agents", "add", found["workspace"])["id"]
        hermes.turn("Good morning.")
        quiet = run("sync")["agents"][0]["sequence"]
        before = _files(hermes.home)
        shutil.rmtree(hermes.home)
        run("restore", agent, "--yes")
        after = _files(hermes.home)
        hermes.turn("Where is the boat?")
        memories = [record["snippet"] for record in run("records", "list", agent)["records"]]
        there, back = folder / "openclaw" / "workspace", folder / "back"
        run("restore", agent, "--runtime", "openclaw", "--to", there, "--adopt", "--yes")
        openclaw = _files(there)
        run("sync")
        run("restore", agent, "--runtime", "hermes", "--to", back, "--adopt", "--yes", "--with-credentials")
        returned = (back / "memories" / "MEMORY.md").read_bytes()
        yield Story(hermes, before, after, quiet, memories, openclaw, returned, folder / "lifeboat")


def test_a_turn_that_writes_no_memory_makes_no_sequence(story: Story) -> None:
    assert story.quiet == 0


def test_the_memory_that_the_program_wrote_is_a_memory(story: Story) -> None:
    assert story.memories == [REMEMBERED]


def test_everything_but_sessions_and_machine_state_comes_back_byte_for_byte(story: Story) -> None:
    lost = story.before.keys() - story.after.keys()
    assert {name for name in story.after if story.after[name] != story.before.get(name)} == set()
    machine = ("logs/", "state.db", "auth.lock", ".skills_prompt_snapshot.json", "memories/MEMORY.md.lock")
    assert [name for name in lost if not name.startswith(machine)] == []


def test_credentials_come_back_where_the_program_had_put_them(story: Story) -> None:
    assert KEY.encode() in story.after["config.yaml"] and POOLED.encode() in story.after["auth.json"]


def test_no_credential_lies_in_clear_in_the_home_of_lifeboat(story: Story) -> None:
    found = [name for name, data in _files(story.lifeboat).items() if KEY.encode() in data]
    assert found == []


def test_the_program_goes_on_with_its_memory_after_the_loss(story: Story) -> None:
    assert REMEMBERED in story.hermes.last_prompt()


def test_the_agent_moves_to_openclaw_and_back_with_its_memory(story: Story) -> None:
    assert any(REMEMBERED.encode() in data for data in story.openclaw.values())
    assert story.returned == REMEMBERED.encode()
