"""The reference client, unchanged, against a running endpoint: alone, beside itself, and beside devices of Lifeboat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_cli.demo.demo_workspace import FAKE_KEY, FAKE_TOKEN
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import agent_replication
from support.cli.cli_client import run, run_accepting
from support.core import second_copies
from support.core.harbour import Harbour, harbour
from support.endpoint import reference_archives as reference
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.endpoint.hosted_service import KEY, hosted_service
from support.endpoint.reference_client import ClientError, ReferenceClient

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    """Plain HTTP on this machine: what that client can use without a public certificate."""
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


@pytest.fixture
def client(endpoint: RunningEndpoint, tmp_path: Path) -> ReferenceClient:
    return ReferenceClient(endpoint.url, endpoint.token, tmp_path / "alf")


@pytest.fixture
def another(endpoint: RunningEndpoint, tmp_path: Path) -> ReferenceClient:
    """The same user on a second machine, where the address ends in /v1."""
    return ReferenceClient(f"{endpoint.url}/v1/", endpoint.token, tmp_path / "another-alf")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Ada\n\nCurious and kind.\n")
    (folder / "USER.md").write_text("# Robin\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Tea\n\nLikes tea.\n\n## Home\n\nLives in Lisbon.\n")
    (folder / "memory/2026-11-02.md").write_text("## Morning\n\nWatered the plants.\n")
    (folder / "memory/2026-11-03.md").write_text("## Evening\n\nRead a book.\n")
    reference.agent_id(folder)
    return folder


def files(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edit(workspace: Path, old: str, new: str) -> None:
    note = workspace / "MEMORY.md"
    note.write_text(note.read_text().replace(old, new))


# That client alone --------------------------------------------------------------------------------------------------


def test_what_it_synced_comes_back_on_an_empty_machine_as_it_is_now(
    client: ReferenceClient, another: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    number = reference.agent_id(workspace)
    assert client.sync(workspace) == {"ok": True, "sequence": 0, "delta": False, "no_changes": False}
    edit(workspace, "## Tea\n\nLikes tea.", "## First\n\nOn top.\n\n## Tea\n\nPrefers coffee.")
    assert client.sync(workspace)["sequence"] == 1
    (workspace / "memory/2026-11-03.md").unlink()
    assert client.sync(workspace)["sequence"] == 2
    assert client.sync(workspace)["no_changes"]
    assert client.agent(number)["latest_sequence"] == 2
    assert another.restore(number, tmp_path / "new")["sequence"] == 2
    assert files(tmp_path / "new") == files(workspace)


def test_what_is_too_large_for_one_request_goes_in_three_steps(
    endpoint: RunningEndpoint, workspace: Path, tmp_path: Path
) -> None:
    client = ReferenceClient(endpoint.url, endpoint.token, tmp_path / "alf", direct_limit=100)
    client.sync(workspace)
    edit(workspace, "Lisbon", "Porto")
    assert client.sync(workspace)["sequence"] == 1
    client.restore(reference.agent_id(workspace), tmp_path / "new")
    assert files(tmp_path / "new") == files(workspace)


def test_a_snapshot_of_a_second_machine_is_the_next_sequence_and_the_first_one_hears_of_it(
    client: ReferenceClient, another: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    client.sync(workspace)
    elsewhere = tmp_path / "elsewhere"
    client.restore(reference.agent_id(workspace), elsewhere)
    edit(elsewhere, "Lisbon", "Porto")
    assert another.sync(elsewhere)["sequence"] == 1
    edit(workspace, "Likes tea", "Likes water")
    with pytest.raises(ClientError) as refused:
        client.sync(workspace)
    assert refused.value.sequence == 1


def test_after_an_answer_that_was_lost_the_same_sync_goes_through(
    client: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    client.sync(workspace)
    edit(workspace, "Lisbon", "Porto")
    before = files(tmp_path / "alf")
    assert client.sync(workspace)["sequence"] == 1
    for name, body in before.items():
        (tmp_path / "alf" / name).write_bytes(body)
    assert client.sync(workspace)["sequence"] == 1


def test_a_snapshot_that_lacks_most_of_the_memory_is_held_and_the_state_before_stays(
    client: ReferenceClient, another: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    client.sync(workspace)
    emptied = tmp_path / "emptied"
    emptied.mkdir()
    (emptied / reference.AGENT_FILE).write_text(reference.agent_id(workspace))
    assert another.sync(emptied)["sequence"] == 1
    held = another.agent(reference.agent_id(workspace))["held"]
    assert held["previous"] == 0 and held["reason"]


def test_what_is_held_is_said_to_whoever_lists_or_restores_it(
    isolated_home: Path,
    endpoint: RunningEndpoint,
    client: ReferenceClient,
    workspace: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    number = reference.agent_id(workspace)
    client.sync(workspace)
    for note in (workspace / "memory").iterdir():
        note.unlink()
    (workspace / "MEMORY.md").write_text("")
    client.forget(number)
    client.sync(workspace)
    second_copies.added(Context.open(), endpoint)
    run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")
    coming = ("restore", number, "--from", "home", "--to", tmp_path / "back", "--accept-unsigned", "--dry-run")
    assert any("--at 0" in warning for warning in run(*coming)["warnings"])
    assert not any("--at 0" in warning for warning in run(*coming, "--at", "0")["warnings"])
    capsys.readouterr()
    program.run_command(["agents", "list", "--remote", "home"])
    assert "the sequence before the removal is 0" in "".join(capsys.readouterr())


def test_after_a_restore_on_a_new_machine_it_goes_on_once_its_state_is_deleted(
    client: ReferenceClient, another: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    number, new = reference.agent_id(workspace), tmp_path / "new"
    client.sync(workspace)
    another.restore(number, new)
    edit(new, "Lisbon", "Porto")
    with pytest.raises(ClientError, match="previous snapshot"):
        another.sync(new)
    another.forget(number)
    assert another.sync(new)["sequence"] == 1


def test_without_a_token_that_counts_it_is_not_let_in(endpoint: RunningEndpoint, tmp_path: Path) -> None:
    stranger = ReferenceClient(endpoint.url, "not-a-token", tmp_path / "alf")
    with pytest.raises(ClientError, match="401"):
        stranger.agent("019a0000-0000-7000-8000-0000000000aa")


def test_an_agent_that_is_not_there_is_not_found(client: ReferenceClient) -> None:
    with pytest.raises(ClientError, match="404"):
        client.restore("019a0000-0000-7000-8000-0000000000aa", Path("nowhere"))


# Beside devices of Lifeboat -----------------------------------------------------------------------------------------


@pytest.fixture
def ada(tmp_path: Path, endpoint: RunningEndpoint) -> Harbour:
    """An agent that Lifeboat protects, sent to the endpoint after two days."""
    made = harbour(tmp_path / "ada")
    made.day_passes()
    _replicate(made, endpoint)
    return made


def _replicate(ada: Harbour, endpoint: RunningEndpoint) -> None:
    outcome = agent_replication.replicate_agent(ada.context, ada.agent, second_copies.added(ada.context, endpoint))
    assert (outcome.state, outcome.message) == ("ok", "")


def test_an_agent_of_lifeboat_is_restored_as_it_is_now_without_secrets_and_home(
    ada: Harbour, client: ReferenceClient, tmp_path: Path
) -> None:
    client.restore(ada.agent.id, tmp_path / "new")
    mine, found = files(ada.workspace), files(tmp_path / "new")
    del found[reference.AGENT_FILE]
    assert {"MEMORY.md", "SOUL.md", "memory/2026-11-20.md"} <= found.keys()
    assert found == {name: mine[name] for name in found}
    for secret in (FAKE_KEY, FAKE_TOKEN):
        assert not [name for name, body in found.items() if secret.encode() in body]


def test_a_device_of_lifeboat_takes_over_an_agent_that_only_that_client_wrote(
    isolated_home: Path, endpoint: RunningEndpoint, client: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    number = reference.agent_id(workspace)
    client.sync(workspace)
    edit(workspace, "Lisbon", "Porto")
    client.sync(workspace)
    second_copies.added(Context.open(), endpoint)
    run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")
    target = tmp_path / "openclaw/workspace"
    coming = ("restore", number, "--from", "home", "--to", target, "--adopt", "--yes")
    assert "older client" in run_accepting(*coming, expect=3)["error"]["message"]
    run_accepting(*coming, "--take-over", "older client")
    assert files(target)["MEMORY.md"] == files(workspace)["MEMORY.md"]
    (target / "MEMORY.md").write_text((target / "MEMORY.md").read_text() + "\n## New\n\nSigned from now on.\n")
    document = run("sync")
    assert [each["state"] for each in document["agents"][0]["remotes"]] == ["ok"]
    head = client.agent(number)["latest_sequence"]
    assert head == document["agents"][0]["sequence"] > 1
    edit(workspace, "Likes tea", "Likes water")
    with pytest.raises(ClientError) as refused:
        client.sync(workspace)
    assert refused.value.sequence == head
    client.restore(number, tmp_path / "again")
    assert files(tmp_path / "again")["MEMORY.md"] == (target / "MEMORY.md").read_bytes()


# From another service -----------------------------------------------------------------------------------------------


@pytest.fixture
def synced_elsewhere(workspace: Path, tmp_path: Path) -> Path:
    """`~/.alf` of a client that synced two sequences with its former service."""
    with hosted_service() as service:
        former = ReferenceClient(service.url, KEY, tmp_path / ".alf")
        former.sync(workspace)
        edit(workspace, "Lisbon", "Porto")
        assert former.sync(workspace)["sequence"] == 1
    edit(workspace, "Likes tea.", "Prefers coffee.")
    return tmp_path / ".alf"


@pytest.mark.parametrize("limit", [6_000_000, 100])
def test_a_client_of_another_service_goes_on_with_its_state_file(
    endpoint: RunningEndpoint, workspace: Path, synced_elsewhere: Path, limit: int
) -> None:
    client = ReferenceClient(endpoint.url, endpoint.token, synced_elsewhere, direct_limit=limit)
    assert client.sync(workspace)["sequence"] == 2
    edit(workspace, "Prefers coffee.", "Prefers water.")
    (workspace / "memory/2026-11-03.md").unlink()
    assert client.sync(workspace)["sequence"] == 3
    assert client.sync(workspace)["no_changes"]


def test_an_agent_that_began_at_another_service_is_held_until_it_is_whole(
    endpoint: RunningEndpoint,
    another: ReferenceClient,
    workspace: Path,
    synced_elsewhere: Path,
    tmp_path: Path,
) -> None:
    number = reference.agent_id(workspace)
    client = ReferenceClient(endpoint.url, endpoint.token, synced_elsewhere)
    client.sync(workspace)
    second_copies.added(Context.open(), endpoint)
    (there,) = [one for one in run("agents", "list", "--remote", "home")["agents"] if one["id"] == number]
    assert there["held"] == {
        "reason": "the content of sequence 1 exists only at the service that the agent used before",
        "previous": None,
    }
    with pytest.raises(ClientError, match="parse"):
        client.restore(number, workspace)
    client.forget(number)
    assert client.sync(workspace)["sequence"] == 3
    (there,) = [one for one in run("agents", "list", "--remote", "home")["agents"] if one["id"] == number]
    assert there["held"] is None and there["runtime"] == "openclaw"
    another.restore(number, tmp_path / "new")
    assert files(tmp_path / "new") == files(workspace)


def test_taken_over_by_lifeboat_it_is_whole_at_the_endpoint_too(
    endpoint: RunningEndpoint, workspace: Path, synced_elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = reference.agent_id(workspace)
    client = ReferenceClient(endpoint.url, endpoint.token, synced_elsewhere)
    client.sync(workspace)
    monkeypatch.setenv("ALF_HOME", str(tmp_path))
    second_copies.added(Context.open(), endpoint)
    run("setup", "--from-alf", "--workspace", workspace)
    (copy,) = run("sync", expect=1)["agents"][0]["remotes"]
    assert copy["state"] == "fenced" and copy["fix"] == "lifeboat agents adopt main"
    run("agents", "adopt", number, "--yes", "--accept-unsigned", "--take-over", "older client")
    assert [each["state"] for each in run("sync")["agents"][0]["remotes"]] == ["ok"]
    (there,) = [one for one in run("agents", "list", "--remote", "home")["agents"] if one["id"] == number]
    assert there["held"] is None
    client.restore(number, tmp_path / "new")
    assert files(tmp_path / "new") == files(workspace)


def test_a_fresh_home_goes_on_as_the_agent_of_an_older_client(
    isolated_home: Path, endpoint: RunningEndpoint, client: ReferenceClient, workspace: Path, tmp_path: Path
) -> None:
    number = reference.agent_id(workspace)
    client.sync(workspace)
    edit(workspace, "Lisbon", "Porto")
    client.sync(workspace)
    second_copies.added(Context.open(), endpoint)
    adding = ("agents", "add", workspace, "--as", number, "--from", "home")
    assert run(*adding, expect=3)["error"]["code"]
    added = run(*adding, "--accept-unsigned", "--take-over", "older client")
    assert (added["id"], added["base"]) == (number, 1)
    assert [each["state"] for each in run("sync")["agents"][0]["remotes"]] == ["ok"]
    another = tmp_path / "another"
    run_accepting("restore", number, "--at", "0", "--to", another)
    assert "Lisbon" in (another / "MEMORY.md").read_text()
