"""The stories of README in a row, in one home, with an endpoint and a folder: protect, purge, change, lose, restore."""

from __future__ import annotations

import io
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

SECRET = "The passport number of Ben is X0042 and he keeps it in the blue folder."


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path / "endpoint") as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path, isolated_home: Path) -> Path:
    made = tmp_path / "user" / ".openclaw" / "workspace"
    (made / "memory").mkdir(parents=True)
    (made / "IDENTITY.md").write_text("# IDENTITY\n- **Name:** Juniper\n")
    (made / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    (made / "MEMORY.md").write_text(f"# Memory\n\n## Travel\n\n{SECRET}\n\n## Garden\n\nBen likes tulips.\n")
    (made / "memory" / "2026-11-20.md").write_text(f"# Friday\n\nBefore.\n{SECRET}\nAfter.\n")
    return made


def append(path: Path, text: str) -> None:
    path.write_text(f"{path.read_text()}{text}")


def synced() -> JsonObject:
    """Each remote of `sync`, by its name."""
    agent: JsonObject = run("sync")["agents"][0]
    return {each["name"]: each for each in agent["remotes"]}


def purged(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{SECRET}\n".encode())))
    return str(run("purge", "Juniper", "--text-stdin", "--yes")["receipt"])


def all_have(number: int) -> bool:
    """Send everything; whether each remote then has the newest sequence, which is this one."""
    return {(name, each["state"], each["sequence"]) for name, each in synced().items()} == {
        ("server", "ok", number),
        ("stick", "ok", number),
    }


def states(receipt: str) -> dict[str, str]:
    found = run("receipts", "show", receipt)["receipt"]["vaults"]
    return {each["name"]: each["state"] for each in found}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def decide(endpoint: RunningEndpoint, word: str, receipt: str) -> None:
    run("endpoint", "purges", word, receipt, "--data", endpoint.data)


def restored(remote: str, folder: Path) -> dict[str, bytes]:
    run("restore", "Juniper", "--from", remote, "--to", folder, "--yes")
    return files(folder)


@pytest.mark.parametrize(("word", "state"), [("confirm", "done"), ("refuse", "pending")])
def test_the_stories_of_readme_work_one_after_the_other_in_one_home(
    workspace: Path, endpoint: RunningEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, state: str
) -> None:
    run("agents", "add", workspace)
    run("remote", "add", "server", endpoint.join)
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    assert all_have(0)
    receipt = purged(monkeypatch)
    assert states(receipt) == {"server": "waiting", "stick": "done", socket.gethostname(): "done"}
    append(workspace / "MEMORY.md", "\n## Work\n\nThe review is on Monday.\n")
    append(workspace / "memory" / "2026-11-20.md", "One line more.\n")
    assert all_have(1)
    decide(endpoint, word, receipt)
    append(workspace / "MEMORY.md", "\n## Music\n\nBen plays the oboe.\n")
    assert all_have(2)
    assert states(receipt)["server"] == state
    run("purge", "Juniper", "--kept-out", "--yes")  # the purged lines are cut from the live files too
    kept = files(workspace)
    append(workspace / "memory" / "2026-11-20.md", "And the last one.\n")
    assert all_have(3)
    kept["memory/2026-11-20.md"] += b"And the last one.\n"
    for remote in ("server", "stick"):
        assert restored(remote, tmp_path / f"from-{remote}") == kept
        assert run("remote", "test", remote)["ok"]
    shutil.rmtree(workspace)
    run("restore", "Juniper", "--yes")
    assert files(workspace) == kept
    assert synced()["server"]["state"] == "ok"
    found = run("status")["agents"][0]["remotes"][0]
    assert (found["purges"], found["purges_refused"]) == (0, int(state != "done"))
