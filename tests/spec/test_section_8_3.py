"""ALF §8.3: what keeps an archive shut on storage that nobody trusts."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pyrage
import pytest
from nacl.bindings import crypto_scalarmult_base

from lifeboat_alf.states.agent_state import BodyAbsent, State
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import agent_replication
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_keys.age_format import age_encryption
from lifeboat_keys.pairs.user_key import UserKey
from support.adapters import canaries
from support.adapters.canary_scan import Scanner
from support.adapters.openclaw_workspaces import NEW
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.core import canary_story, second_copies
from support.endpoint.endpoint_servers import running_endpoint


def test_a_whole_archive_is_encrypted_on_demand_and_opens_for_its_user_alone(agent: Path, tmp_path: Path) -> None:
    """With this program, and with any other that reads the age format, given the user's key."""
    soul = (agent / "SOUL.md").read_text()
    sealed, copy = tmp_path / "whole.alf.age", tmp_path / "copy"
    run("alf", "export", "openclaw", agent, "--encrypt", "-o", sealed)
    data = sealed.read_bytes()
    assert data.startswith(b"age-encryption.org/v1\n")
    assert b"PK\x03\x04" not in data and b"SOUL.md" not in data
    identity = pyrage.x25519.Identity.from_str(age_encryption.age_identity_of(Context.open().keys().user_key()))
    assert pyrage.decrypt(data, [identity]).startswith(b"PK\x03\x04")
    run("alf", "import", sealed, "--to", copy)
    assert (copy / "SOUL.md").read_text() == soul


def _candidate_keys(data: bytes) -> Iterator[bytes]:
    """Yield every value of 32 bytes that a body holds: as the bytes of a run of hexadecimal or base64 digits, at any
    place of it, and the bytes of a short body at any place."""
    decoded = [data] if len(data) < 1024 else []
    for run_of_digits in re.findall(rb"[0-9A-Za-z+/_-]{43,}", data):
        with contextlib.suppress(ValueError):
            decoded.append(bytes.fromhex(run_of_digits.decode()))
        standard = run_of_digits.translate(bytes.maketrans(b"-_", b"+/"))
        with contextlib.suppress(ValueError):  # a long path, which only looks like base64
            decoded.append(base64.b64decode(standard + b"=" * (-len(standard) % 4)))
    for value in decoded:
        yield from (value[start : start + 32] for start in range(len(value) - 31))


def test_nothing_that_an_archive_holds_opens_its_credentials(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    """Every value in it that could be a key is tried: as the agent's secret, and as the user's that wraps it."""
    archive = export(agent)
    keys = Context.open().keys()
    agent_id = archive.manifest["agent"]["id"]
    public_keys = {keys.agent_public(agent_id), keys.user_key().public.box}
    tried = {candidate for body in archive.bodies.values() for candidate in _candidate_keys(body)}
    assert public_keys <= tried, "the values of keys.json are among those that are tried"

    def opens(key: bytes) -> bool:
        """Whether it is an X25519 secret, or the secret that the user's one is derived from."""
        return any(crypto_scalarmult_base(each) in public_keys for each in (key, UserKey(key).box_secret))

    assert opens(keys.agent_secret(agent_id)) and opens(keys.user_key().secret)
    assert [each for each in tried if opens(each)] == []
    assert archive.json("credentials.json")["credentials"]


def _recorded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every request that leaves this process from now on, whole."""
    sent: list[bytes] = []
    real = httpx.HTTPTransport.handle_request

    def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.SyncByteStream)
        body = b"".join(request.stream)
        request.stream = httpx.ByteStream(body)
        sent.append(f"{request.method} {request.url} {request.headers}".encode() + b"\r\n" + body)
        return real(transport, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    return sent


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
    scanner, sent = Scanner.of(canaries.of(NEW)), _recorded(monkeypatch)
    with (
        canary_story.machine(tmp_path / "machine", NEW) as story,
        running_endpoint(tmp_path / "remote", plain=True) as running,
    ):
        assert scanner.file(story.state.config), "there is something to be found"
        story.once("agents", "add", story.state.workspace, "--name", canary_story.NAME)
        config = second_copies.added(story.context, running)
        outcomes = [agent_replication.replicate_agent(story.context, story.agent, config)]
        story.rotate()
        story.run("sync")
        outcomes.append(agent_replication.replicate_agent(story.context, story.agent, config))
        assert [(outcome.state, outcome.message) for outcome in outcomes] == [("ok", ""), ("ok", "")]
        running.stop()
        with Endpoint.open(running.data) as found:
            readable = list(_readable_there(found))
    leaks = [leak for number, each in enumerate(sent) for leak in scanner.data(each, f"request {number}")]
    leaks += [leak for where, body in readable for leak in scanner.data(body, where)]
    assert sum(map(len, sent)) > 10_000 and any("SOUL.md" in where for where, _ in readable)
    assert canary_story.told(leaks + scanner.folders(tmp_path / "remote")) == ""
