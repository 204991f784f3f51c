"""ALF §10.5.4: the sync service never receives and never logs a key, with a real service and a record of the wire."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_core.home.context import Context
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.remote.join_lines import JoinLine, format_join_line
from support.adapters import openclaw_workspaces
from support.adapters.canary_scan import unpacked
from support.cli.cli_client import run
from support.core.faulty_transport import proxy
from support.endpoint.endpoint_servers import running_endpoint

DEPTH = 4
"""How deep archives and compressed streams are unpacked within each other."""


class ServiceStory(NamedTuple):
    """What passed between two machines and the service, and what the service wrote. `secrets` are by name."""

    wire: list[bytes]
    log: bytes
    kept: list[bytes]
    secrets: dict[str, bytes]
    public_key: bytes


def _known_secrets(name: str, agent_id: str) -> Iterator[tuple[str, bytes]]:
    """Every key of the home in force, and the words."""
    keys = Context.open().keys()
    yield f"user key of {name}", keys.user_key().secret
    yield f"words of {name}", " ".join(keys.user_key().words()).encode()
    yield f"device key of {name}", keys.device.secret
    for pair in keys._agents.pairs(agent_id):
        yield f"agent's pair {pair.id} of {name}", keys.agent_secret(agent_id, pair.id)


def _contents_of(endpoint: Endpoint) -> Iterator[bytes]:
    """What the service can decrypt: the keys document, every row and every body of every sequence."""
    for tenant in endpoint.control.tenants():
        space = endpoint.space(tenant.id)
        for agent in space.agents():
            yield repr((agent, space.keys(agent.id))).encode()
            with space.vault(agent.id) as vault:
                for row in vault.sequences():
                    state = vault.state(row.number)
                    yield from (state.body(entry.path) for entry in state.entries())
                    yield from (record.line for record in state.records())


def _live_through_service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ServiceStory:
    """A first push, a rotation after a theft, a second push, and a restore with credentials on a second machine."""
    state = openclaw_workspaces.make_state_dir(Path.home() / ".openclaw")
    secrets: dict[str, bytes] = {}
    with running_endpoint(folder / "service", plain=True) as service, proxy(service.url) as recorded:
        join_line = format_join_line(JoinLine(recorded.address, service.token, ""))
        agent_id = run("agents", "add", state.workspace)["id"]
        run("remote", "add", "home", join_line)
        run("sync")
        secrets |= _known_secrets("the first machine", agent_id)
        run("keys", "rotate", "--compromised", "--words-to", folder / "words", "--no-prove", "--yes")
        (state.workspace / "SOUL.md").write_text("# Soul\n\nKeep what is told in confidence.\n")
        run("sync")
        secrets |= {f"{name}, later": value for name, value in _known_secrets("the first machine", agent_id)}
        public_key = Context.open().keys().agent_public(agent_id)
        monkeypatch.setenv("LIFEBOAT_HOME", str(folder / "second"))
        run("keys", "recover", "--words-from", folder / "words", "--store", "file")
        run("remote", "add", "home", join_line)
        copy = folder / "copy/workspace"
        run("restore", agent_id, "--from", "home", "--to", copy, "--with-credentials", "--yes", "--no-reindex")
        secrets |= _known_secrets("the second machine", agent_id)
        assert (copy / "SOUL.md").read_bytes() == (state.workspace / "SOUL.md").read_bytes()
        service.stop()
        with Endpoint.open(service.data) as endpoint:
            kept = list(_contents_of(endpoint))
        return ServiceStory(list(recorded.wire), service.log.encode(), kept, secrets, public_key)


def _spelled(secret: bytes) -> set[bytes]:
    encodings = (bytes.hex, lambda data: base64.b64encode(data).decode(), lambda data: base64.b85encode(data).decode())
    spellings = {encode(secret).encode() for encode in encodings} | {base64.urlsafe_b64encode(secret)}
    return {secret, *spellings, *(each.rstrip(b"=") for each in spellings)}


def _unfolded(data: bytes, depth: int = DEPTH) -> Iterator[bytes]:
    yield data
    if depth:
        for _, inner in unpacked(data):
            yield from _unfolded(inner, depth - 1)


def _holds(bodies: list[bytes], secret: bytes) -> bool:
    unfolded = [inner for body in bodies for inner in _unfolded(body)]
    return any(spelling in inner for inner in unfolded for spelling in _spelled(secret))


def test_a_service_never_receives_and_never_logs_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's key and words, nor the device's, nor a pair of the agent, before and after a rotation."""
    story = _live_through_service(tmp_path, monkeypatch)
    assert len(story.secrets) >= 10
    # The record is complete: the public half of the agent's pair and a late note passed, and the service kept the note.
    late = b"Keep what is told in confidence."
    assert _holds(story.wire, story.public_key) and _holds(story.wire, late) and _holds(story.kept, late)
    assert b"route=/agents/{agent_id}/keys" in story.log
    for place, bodies in (("wire", story.wire), ("log", [story.log]), ("kept", story.kept)):
        assert [(place, name) for name, secret in story.secrets.items() if _holds(bodies, secret)] == []
