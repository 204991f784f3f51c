"""ALF §8.3: what keeps an archive shut on storage that nobody trusts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import canaries
import canary_story
import pyrage
import pytest
import second_copies
from canary_scan import Scanner
from cli_client import run
from openclaw_workspaces import NEW

from lifeboat_alf.state import BodyAbsent, State
from lifeboat_daemon.context import Context
from lifeboat_daemon.remotes import replicating
from lifeboat_daemon.remotes.contract import RemoteConfig
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.remote.contract import Bundle
from lifeboat_endpoint.remote.in_process import InProcess
from lifeboat_keys import age


def test_a_whole_archive_is_encrypted_on_demand_and_opens_for_its_user_alone(agent: Path, tmp_path: Path) -> None:
    """With this program, and with any other that reads the age format, given the user's key."""
    soul = (agent / "SOUL.md").read_text()
    sealed, copy = tmp_path / "whole.alf.age", tmp_path / "copy"
    run("alf", "export", "openclaw", agent, "--encrypt", "-o", sealed)
    data = sealed.read_bytes()
    assert data.startswith(b"age-encryption.org/v1\n")
    assert b"PK\x03\x04" not in data and b"SOUL.md" not in data
    identity = pyrage.x25519.Identity.from_str(age.identity(Context.open().keys().user_key()))
    assert pyrage.decrypt(data, [identity]).startswith(b"PK\x03\x04")
    run("alf", "import", sealed, "--to", copy)
    assert (copy / "SOUL.md").read_text() == soul


class _Recorder:
    """A remote that remembers every body that it is sent, and answers as the one behind it."""

    def __init__(self, remote: InProcess) -> None:
        self._remote = remote
        self.bodies: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._remote, name)

        def recorded(*arguments: Any, **named: Any) -> Any:
            for each in (*arguments, *named.values()):
                self.bodies.append(_body(each))
            return method(*arguments, **named)

        return recorded


def _body(argument: Any) -> bytes:
    if isinstance(argument, Bundle):
        body = argument.file.read()
        argument.file.seek(0)
        return body
    return argument if isinstance(argument, bytes) else repr(argument).encode()


def _readable_there(found: Endpoint) -> Iterator[tuple[str, bytes]]:
    """All that whoever runs an endpoint can read with the endpoint's own key: what its disk holds is encrypted."""
    for tenant in found.control.tenants():
        space = found.space(tenant.id)
        for agent in space.agents():
            yield "what is known of the agent", repr((agent, space.keys(agent.id))).encode()
            with space.vault(agent.id) as vault:
                for row in vault.sequences():
                    yield f"sequence {row.number}", repr(row).encode()
                    yield from _contents(vault.state(row.number))


def _contents(state: State) -> Iterator[tuple[str, bytes]]:
    for entry in state.entries():
        with contextlib.suppress(BodyAbsent):
            yield f"{state.sequence.number} {entry.path}", repr(entry).encode() + state.body(entry.path)
    for record in state.records():
        yield f"{state.sequence.number} record {record.id}", record.line


def test_a_service_learns_no_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a machine full of secrets sends, and nothing that an endpoint keeps of it, holds one of them."""
    scanner, there = Scanner.of(canaries.of(NEW)), tmp_path / "endpoint"
    with canary_story.machine(tmp_path / "machine", NEW) as story, second_copies.endpoint(there) as found:
        assert scanner.file(story.state.config), "there is something to be found"
        story.once("agents", "add", story.state.workspace, "--name", canary_story.NAME)
        remote = _Recorder(second_copies.in_process(found))
        monkeypatch.setattr(replicating, "open_remote", lambda *_: remote)
        monkeypatch.setattr(remote._remote, "close", lambda: None)
        config = RemoteConfig("home", "https://endpoint.example.com", id=found.id)
        outcomes = [replicating.replicate(story.context, story.agent, config)]
        story.rotate()
        story.run("sync")
        outcomes.append(replicating.replicate(story.context, story.agent, config))
        assert [(outcome.state, outcome.message) for outcome in outcomes] == [("ok", ""), ("ok", "")]
        sent = [leak for number, body in enumerate(remote.bodies) for leak in scanner.data(body, f"body {number}")]
        kept = [leak for where, body in _readable_there(found) for leak in scanner.data(body, where)]
        assert sum(map(len, remote.bodies)) > 10_000 and any(body for _, body in _readable_there(found))
    assert canary_story.told(sent + kept + scanner.folders(there)) == ""
