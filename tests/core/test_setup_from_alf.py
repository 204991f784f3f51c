"""`lifeboat setup --from-alf`: agents of the reference client go on here, with what it and its service have."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run, run_accepting
from support.endpoint import reference_archives as reference
from support.endpoint.hosted_service import KEY, HostedServiceFake, hosted_service
from support.endpoint.reference_client import ReferenceClient


@pytest.fixture(scope="module")
def serving() -> Iterator[HostedServiceFake]:
    with hosted_service() as fake:
        yield fake


@pytest.fixture
def service(serving: HostedServiceFake) -> HostedServiceFake:
    serving.agents.clear()
    serving.asked.clear()
    serving.keys_seen.clear()
    return serving


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    folder = isolated_home / ".openclaw" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Ada\n\nCurious and kind.\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Tea\n\nLikes tea.\n\n## Home\n\nLives in Lisbon.\n")
    (folder / "memory/2026-11-02.md").write_text("## Morning\n\nWatered the plants.\n")
    return folder


@pytest.fixture
def client(service: HostedServiceFake, isolated_home: Path) -> ReferenceClient:
    return ReferenceClient(service.url, KEY, isolated_home / ".alf")


def edit(workspace: Path, old: str, new: str) -> None:
    note = workspace / "MEMORY.md"
    note.write_text(note.read_text().replace(old, new))


def synced_three_times(client: ReferenceClient, workspace: Path) -> str:
    """Sequence 0 says tea, 1 coffee, 2 water, and the workspace juice."""
    client.sync(workspace)
    edit(workspace, "Likes tea", "Likes coffee")
    client.sync(workspace)
    edit(workspace, "Likes coffee", "Likes water")
    client.sync(workspace)
    edit(workspace, "Likes water", "Likes juice")
    return reference.agent_id(workspace)


def only(document: JsonObject) -> JsonObject:
    (agent,) = document["agents"]
    return agent


def memory_at(agent: str, number: int, folder: Path) -> str:
    run_accepting("restore", agent, "--at", str(number), "--to", folder)
    return (folder / "MEMORY.md").read_text()


def test_an_agent_goes_on_under_its_id_with_the_last_sync_and_the_workspace_as_it_stands(
    client: ReferenceClient, service: HostedServiceFake, workspace: Path, tmp_path: Path
) -> None:
    number = synced_three_times(client, workspace)
    service.asked.clear()
    taken = only(run("setup", "--from-alf"))
    assert (taken["id"], taken["outcome"], taken["sequences"]) == (number, "protected", [2])
    assert taken["workspace"] == str(workspace.resolve()) and taken["capture"]["sequence"] == 3
    assert service.asked == []
    (agent,) = run("agents", "list")["agents"]
    assert agent["id"] == number
    assert "Likes water" in memory_at(number, 2, tmp_path / "then")
    run("restore", number, "--to", tmp_path / "now")
    assert "Likes juice" in (tmp_path / "now" / "MEMORY.md").read_text()
    run("verify", number)


def test_the_history_of_the_service_comes_along_when_it_is_asked_for(
    client: ReferenceClient, service: HostedServiceFake, workspace: Path, tmp_path: Path
) -> None:
    number = synced_three_times(client, workspace)
    taken = only(run("setup", "--from-alf", "--hosted"))
    assert (taken["outcome"], taken["sequences"], taken["warnings"]) == ("protected", [0, 1, 2], [])
    assert service.keys_seen == []
    said = [memory_at(number, at, tmp_path / str(at)) for at in (0, 1, 2)]
    assert ["tea" in said[0], "coffee" in said[1], "water" in said[2]] == [True, True, True]
    assert (tmp_path / "2" / "SOUL.md").read_bytes() == (workspace / "SOUL.md").read_bytes()
    times = {row["sequence"]: row["created_at"] for row in run("timeline", number)["entries"]}
    assert times[1] == service.agents[number].deltas[0]["created_at"]


def test_what_the_client_did_not_keep_comes_from_the_service_alone(
    client: ReferenceClient, workspace: Path, isolated_home: Path, tmp_path: Path
) -> None:
    number = synced_three_times(client, workspace)
    (isolated_home / ".alf/state" / f"{number}-snapshot.alf").unlink()
    taken = only(run("setup", "--from-alf", "--hosted"))
    assert (taken["outcome"], taken["sequences"]) == ("protected", [0, 1, 2])
    assert "water" in memory_at(number, 2, tmp_path / "then")


def test_a_second_run_changes_nothing(client: ReferenceClient, workspace: Path) -> None:
    client.sync(workspace)
    run("setup", "--from-alf")
    assert only(run("setup", "--from-alf", "--hosted"))["outcome"] == "known"


def test_a_dry_run_changes_nothing(client: ReferenceClient, workspace: Path) -> None:
    number = synced_three_times(client, workspace)
    taken = only(run("setup", "--from-alf", "--dry-run"))
    assert (taken["id"], taken["outcome"], taken["sequences"]) == (number, "found", [2])
    assert run("agents", "list")["agents"] == []


def test_a_workspace_elsewhere_is_named(client: ReferenceClient, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "SOUL.md").write_text("# Grace\n")
    (folder / "MEMORY.md").write_text("## Ship\n\nIn the harbour.\n")
    client.sync(folder)
    taken = only(run("setup", "--from-alf", "--workspace", folder))
    assert (taken["outcome"], taken["workspace"]) == ("protected", str(folder.resolve()))


def test_an_agent_without_its_workspace_is_kept_and_brought_back_by_the_commands_that_are_named(
    client: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    number = synced_three_times(client, workspace)
    edit(workspace, "Likes juice", "Likes water")
    before = (workspace / "MEMORY.md").read_bytes()
    shutil.rmtree(workspace)
    taken = only(run("setup", "--from-alf", "--hosted", expect=1))
    assert (taken["outcome"], taken["sequences"], taken["workspace"]) == ("kept", [0, 1, 2], str(workspace))
    for command in taken["next"]:
        words = command.split()[1:]
        if "--accept-unsigned" in words:
            run_accepting(*(word for word in words if word != "--accept-unsigned"))
        else:
            run(*words)
    assert (workspace / "MEMORY.md").read_bytes() == before
    (agent,) = run("agents", "list")["agents"]
    assert (agent["id"], agent["workspace"], agent["watched"]) == (number, str(workspace), True)


def test_an_agent_of_which_nothing_is_here_is_named_and_the_others_are_taken_over(
    client: ReferenceClient, workspace: Path, isolated_home: Path
) -> None:
    client.sync(workspace)
    lost = "f1851419-2c3a-50e9-99a9-7a4cb0567f12"
    text = f'agent_id = "{lost}"\nlast_synced_sequence = 4\nlast_synced_at = "2026-03-01T10:00:00Z"\n'
    (isolated_home / ".alf/state" / f"{lost}.toml").write_text(text)
    (isolated_home / ".alf/state/broken.toml").write_text("agent_id = ")
    document = run("setup", "--from-alf", expect=1)
    outcomes = {agent["id"]: agent["outcome"] for agent in document["agents"]}
    assert outcomes == {lost: "failed", reference.agent_id(workspace): "protected"}
    (problem,) = document["problems"]
    assert "broken.toml" in problem


def test_a_damaged_archive_is_named_and_the_workspace_is_protected_all_the_same(
    client: ReferenceClient, workspace: Path, isolated_home: Path
) -> None:
    number = synced_three_times(client, workspace)
    (isolated_home / ".alf/state" / f"{number}-snapshot.alf").write_bytes(b"PK nothing")
    taken = only(run("setup", "--from-alf", expect=1))
    assert (taken["outcome"], taken["sequences"]) == ("protected", []) and "snapshot.alf" in taken["warnings"][0]


def test_a_delta_that_the_service_lost_ends_its_history_and_is_named(
    client: ReferenceClient, service: HostedServiceFake, workspace: Path, isolated_home: Path
) -> None:
    number = synced_three_times(client, workspace)
    (isolated_home / ".alf/state" / f"{number}-snapshot.alf").unlink()
    del service.agents[number].deltas[0]
    taken = only(run("setup", "--from-alf", "--hosted", expect=1))
    assert (taken["outcome"], taken["sequences"]) == ("protected", [0])
    assert "the delta is based on sequence 1" in taken["warnings"][0]


@pytest.mark.parametrize("key", ["", "another"])
def test_a_key_that_the_service_does_not_take_changes_nothing(
    client: ReferenceClient, service: HostedServiceFake, workspace: Path, isolated_home: Path, key: str
) -> None:
    client.sync(workspace)
    settings = isolated_home / ".alf/config.toml"
    settings.write_text(settings.read_text().replace(KEY, key))
    document = run("setup", "--from-alf", "--hosted", expect=1)
    error = document["error"] if "error" in document else only(document)["error"]
    assert error["code"] == "hosted_history"
    assert run("agents", "list")["agents"] == []


def test_a_key_never_goes_over_plain_http_to_another_machine(
    client: ReferenceClient, workspace: Path, isolated_home: Path
) -> None:
    client.sync(workspace)
    settings = isolated_home / ".alf/config.toml"
    settings.write_text(settings.read_text().replace("127.0.0.1", "192.0.2.1"))
    assert run("setup", "--from-alf", "--hosted", expect=1)["error"]["code"] == "hosted_history"


def test_a_machine_without_the_client_is_told(isolated_home: Path) -> None:
    assert run("setup", "--from-alf", expect=1)["error"]["code"] == "no_alf_client"


def test_the_key_of_the_service_is_in_no_file_of_the_home(
    client: ReferenceClient, workspace: Path, isolated_home: Path
) -> None:
    client.sync(workspace)
    run("setup", "--from-alf", "--hosted")
    home = isolated_home / "lifeboat"
    assert not [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
