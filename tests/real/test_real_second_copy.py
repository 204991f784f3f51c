"""A real OpenClaw whose machine is lost: a new one has nothing but the 24 words and the join line of the endpoint."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from support.cli.cli_client import run
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.real import real_openclaw
from support.real.real_openclaw import OpenClaw

REMEMBERED = "The spare key of the boathouse hangs behind the barometer."


@dataclass(frozen=True)
class Story:
    """The workspace that was, and as it came back; the agent that is, and what was said on the way."""

    workspace: dict[str, bytes]
    back: dict[str, bytes]
    restored: OpenClaw
    synced: JsonObject
    status: JsonObject
    later: JsonObject


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _machine(patch: pytest.MonkeyPatch, openclaw: OpenClaw, path: str) -> None:
    """Be on the machine of an OpenClaw."""
    patch.setenv("HOME", str(openclaw.home))
    patch.setenv("LIFEBOAT_HOME", str(openclaw.home / ".local" / "share" / "lifeboat"))
    patch.setenv("PATH", path)


def _first_machine(openclaw: OpenClaw, endpoint: RunningEndpoint) -> tuple[JsonObject, str]:
    """A real agent, protected and sent on; what `sync` said, and the words of the key."""
    openclaw.onboard()
    (openclaw.workspace / "MEMORY.md").write_text(f"# MEMORY\n\n## Keys\n\n- {REMEMBERED}\n")
    run("agents", "add", openclaw.workspace, "--name", "Juniper")
    run("remote", "add", "home-server", endpoint.join)
    return run("sync"), " ".join(Context.open().keys().user_key().words())


def _new_machine(openclaw: OpenClaw, endpoint: RunningEndpoint, words: str) -> dict[str, bytes]:
    """What the README says; the workspace as it came back, before the agent does anything."""
    kit = openclaw.home / "words.txt"
    kit.write_text(words)
    run("keys", "recover", "--words-from", kit)
    run("remote", "add", "home-server", endpoint.join)
    given = ["--from", "home-server", "--to", openclaw.workspace, "--with-credentials", "--adopt", "--yes"]
    refused = run("restore", "Juniper", *given, expect=3)["error"]
    assert refused["code"] == "moved_elsewhere"  # the lost machine wrote it a moment ago
    run("restore", "Juniper", *given, "--take-over", refused["fix"].rpartition(" ")[2])
    return _files(openclaw.workspace)


def _lives(openclaw: OpenClaw) -> tuple[JsonObject, JsonObject]:
    """The agent at work; how it stands then, and what `sync` says."""
    openclaw.configure()
    openclaw.run("memory", "index", "--force", "--agent", "main")
    openclaw.turn("What do you know of the boathouse?")
    later = run("sync")
    return run("status"), later


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    installed = real_openclaw.require()
    folder = tmp_path_factory.mktemp("real")
    with (
        real_openclaw.network(folder) as (namespace, log),
        running_endpoint(folder / "server") as endpoint,
        pytest.MonkeyPatch.context() as patch,
    ):
        path = real_openclaw.program(installed, namespace, folder / "bin")
        first, second = (OpenClaw(installed, folder / name, namespace, log) for name in ("first", "second"))
        for openclaw in (first, second):
            openclaw.home.mkdir()
        _machine(patch, first, path)
        synced, words = _first_machine(first, endpoint)
        workspace = _files(first.workspace)
        shutil.rmtree(first.home)
        _machine(patch, second, path)
        back = _new_machine(second, endpoint, words)
        status, later = _lives(second)
        yield Story(workspace, back, second, synced, status, later)


def test_it_was_there_before_the_machine_was_lost(story: Story) -> None:
    [juniper] = story.synced["agents"]
    assert [remote["state"] for remote in juniper["remotes"]] == ["ok"]
    assert juniper["remotes"][0]["sequence"] == juniper["sequence"]


def test_every_file_of_the_workspace_is_back(story: Story) -> None:
    kept = {name: data for name, data in story.workspace.items() if not name.startswith(".git/")}
    assert {"SOUL.md", "AGENTS.md", "MEMORY.md"} <= kept.keys()
    assert {name: story.back.get(name) for name in kept} == kept


def test_openclaw_starts_there_and_has_its_memory(story: Story) -> None:
    assert REMEMBERED in story.restored.search("boathouse spare key")
    assert REMEMBERED in story.restored.last_prompt()


def test_from_then_on_the_new_machine_writes_the_copy(story: Story) -> None:
    assert [agent["state"] for agent in story.status["agents"]] == ["ok"]
    [juniper] = story.later["agents"]
    [remote] = juniper["remotes"]
    assert (remote["state"], remote["sequence"]) == ("ok", juniper["sequence"])
