"""Erasure (AIMEM §5.2, assertions 54 and 69 to 72): our purge is the erasure, and it takes precedence over every
unfinished export."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import WHOLE_AGENT
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance.tenant_removal import remove_tenant
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.format_routes import FormatCall
from lifeboat_endpoint.tenancy.callers import Caller
from lifeboat_formats.aimem import brain_routes as profile
from lifeboat_formats.aimem.convert import bundle_import
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import AgentErased, LifeboatError, RemoteBusy, RemoteDenied, UnknownAtRemote
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.endpoint.served_apps import ServedApp, served
from support.formats.aimem_bundles import bundle, chunk, document, edge, entity, link, many, sealed, urn
from support.formats.aimem_states import open_bundle_bytes
from support.formats.brain_servers import BUNDLE, BrainServer, brain, contents, redaction_of
from support.patience import patience

__all__ = ["brain", "served"]

_SECRET = "Met Quillon Marsh at the pier."
_KEPT = "Likes tea."


def two() -> JsonObject:
    """Return a bundle with a memory to purge and one to keep, an edge, an entity of the first alone, and a shared
    one."""
    return bundle(
        chunks=[chunk("gone", _SECRET, memory_type="episodic"), chunk("kept", _KEPT, memory_type="preference")],
        edges=[edge("gone", "kept"), edge("kept", "gone", edge_type="causal")],
        entities=[entity("e1", "Quillon Marsh", kind="person"), entity("e2", "The pier", kind="place")],
        chunk_entities=[link("gone", "e1"), link("gone", "e2"), link("kept", "e2")],
    )


def handled(brain: BrainServer, handler: Callable[[FormatCall], Any], **query: Any) -> Any:
    """Return the answer of an export handler before anything was sent."""
    server = brain.served.server
    route = next(each for each in server.routes if each.path == "/brain/export")
    secret = brain.served.token
    found = server.endpoint.control.authenticate(secret)
    known = Caller(found.tenant_id, found.token_id, found.token_name, found.scopes)
    call = Call(server, route, {}, profile.ExportQuery(**query), {}, "127.0.0.1", False, known)
    return handler(FormatCall(call))  # type: ignore[arg-type]


def rest_of(reply: Any) -> bytes:
    with reply.file:
        return bytes(reply.file.read())


# What is gone ---------------------------------------------------------------------------------------------------------


def test_069_what_was_purged_is_in_no_export_nor_are_its_edges_and_links(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.purge(agent, _SECRET)
    for query in ({}, {"scope": "DNA_ONLY"}, {"include_history": True}, {"preserve_ids": True}, {"embeddings": True}):
        found = brain.exported(**query)
        assert contents(found) == {_KEPT}
        assert found["edges"] == []
        assert {each["name"] for each in found["entities"]} <= {"The pier"}
        assert "Quillon" not in json.dumps(found)
        assert urn("gone") not in json.dumps(found)


def test_069_the_stream_holds_nothing_of_it_either(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.purge(agent, _SECRET)
    assert b"Quillon" not in brain.client.get("/v1/brain/export/stream").content


def test_069_no_row_of_any_audit_says_what_it_was(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.purge(agent, _SECRET)
    brain.send(two())
    with brain.space().vault(agent) as vault:
        rows = [*vault.audit_rows(), *brain.served.server.endpoint.control.audit_rows()]
    told = json.dumps([[row.kind, row.subject, row.details] for row in rows])
    assert len(rows) > 4
    assert "Quillon" not in told and "pier" not in told


def test_070_nothing_is_left_that_nobody_names_and_the_vault_is_whole(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(bundle(chunks=[chunk("gone", _SECRET + "x" * 400_000), chunk("kept", _KEPT)]))
    with brain.space().vault(agent) as vault:
        before = vault.size()
    brain.purge(agent, _SECRET + "x" * 400_000)
    assert brain.space().orphans() == 0
    with brain.space().vault(agent) as vault:
        assert vault.verify(trusted=None).findings == []
        assert vault.size() <= before


def test_072_the_erasure_stands_in_an_audit_whose_chain_is_whole(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    wanted = brain.purge(agent, _SECRET)
    rows = [row for row in brain.served.server.endpoint.control.audit_rows() if row.subject == wanted.id]
    assert [row.kind for row in rows]
    assert brain.served.server.endpoint.control.check_audit() == []
    with brain.space().vault(agent) as vault:
        assert any(row.kind.startswith("redact") or "purge" in row.kind for row in vault.audit_rows())


# What waits -----------------------------------------------------------------------------------------------------------


def test_071_what_somebody_asked_to_have_purged_is_not_given_while_it_waits(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    wanted = brain.purge(agent, _SECRET, confirmed=False)
    assert len(brain.records(agent)) == 2
    assert contents(brain.exported()) == {_KEPT}
    brain.space().refuse_redaction(agent, wanted.id)
    assert contents(brain.exported()) == {_KEPT, _SECRET}
    brain.space().confirm_redaction(agent, wanted.id)
    assert contents(brain.exported()) == {_KEPT}


def test_071_while_the_whole_agent_is_to_go_nothing_of_it_is_given(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    wanted = brain.redaction(agent, _SECRET, scope=WHOLE_AGENT)
    with brain.space().vault(agent) as vault:
        vault.redact(wanted, waits_until="2099-01-01T00:00:00.000Z")
    found = brain.exported(include_identity=True)
    assert (found["chunks"], found["entities"]) == ([], [])


def test_071_an_agent_that_was_purged_whole_is_gone(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.space().redact(agent, brain.redaction(agent, _SECRET, scope=WHOLE_AGENT).to_json(), confirmed=True)
    assert brain.fetch(agent=agent).status_code == 410
    assert brain.send(two(), agent=agent).status_code == 410
    assert "Quillon" not in brain.fetch(agent=agent).text


# What runs ------------------------------------------------------------------------------------------------------------


def test_071_a_purge_while_the_bundle_is_made_refuses_it(brain: BrainServer, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, once = brain.agent(), itertools.count()
    brain.taken(two())
    signed = profile._signed

    def purged_meanwhile(*given: Any) -> dict[str, str]:
        if next(once) == 0:
            brain.purge(agent, _SECRET)
        return signed(*given)

    monkeypatch.setattr(profile, "_signed", purged_meanwhile)
    answer = brain.fetch()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "Quillon" not in answer.text
    assert contents(brain.exported()) == {_KEPT}


@pytest.mark.parametrize("handler", [profile.export_document, profile.export_stream], ids=["document", "stream"])
def test_071_a_purge_before_the_first_byte_lets_nothing_out(brain: BrainServer, handler: Any) -> None:
    agent = brain.agent()
    brain.taken(two())
    reply = handled(brain, handler)
    brain.purge(agent, _SECRET)
    with reply.file, pytest.raises(RemoteBusy):
        reply.file.read(10)


@pytest.mark.parametrize("handler", [profile.export_document, profile.export_stream], ids=["document", "stream"])
def test_071_a_purge_in_the_middle_ends_the_answer_and_what_went_is_no_bundle(brain: BrainServer, handler: Any) -> None:
    agent = brain.agent()
    brain.taken(many(600))
    reply = handled(brain, handler)
    with reply.file:
        begun = reply.file.read(50_000)
        brain.purge(agent, "Memory number 599.")
        with pytest.raises(RemoteBusy):
            reply.file.read(50_000)
    assert 0 < len(begun) < reply.size
    assert b"Memory number 599." not in begun
    with pytest.raises(BundleRefused), open_bundle_bytes(begun):
        pass


def test_071_a_wish_that_waits_ends_it_too(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(many(600))
    reply = handled(brain, profile.export_stream)
    with reply.file:
        reply.file.read(50_000)
        brain.purge(agent, "Memory number 599.", confirmed=False)
        with pytest.raises(RemoteBusy):
            reply.file.read(50_000)


def test_071_nothing_happened_so_all_of_it_is_given(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(many(600))
    brain.purge(agent, "Memory number 3.")
    reply = handled(brain, profile.export_stream)
    brain.taken(bundle(chunks=[chunk("later", "Came meanwhile.")]))
    data = rest_of(reply)
    assert len(data) == reply.size
    with open_bundle_bytes(data) as found:
        assert len(found.chunks) == 599


def _erase_agent(brain: BrainServer, agent: str) -> None:
    wanted = brain.redaction(agent, "Memory number 1.", scope=WHOLE_AGENT)
    brain.space().redact(agent, wanted.to_json(), confirmed=True)


def _remove_agent(brain: BrainServer, agent: str) -> None:
    brain.space().remove_agent(agent)


def _make_agent_anew(brain: BrainServer, agent: str) -> None:
    brain.space().remove_agent(agent)
    brain.space().register(agent, "ada", "aimem")
    brain.taken(many(3), agent=agent)


def _remove_tenant(brain: BrainServer, agent: str) -> None:
    with Endpoint.open(brain.served.folder / "data") as other:
        remove_tenant(other, brain.served.tenants["home"])


def _revoke_token(brain: BrainServer, agent: str) -> None:
    control = brain.served.server.endpoint.control
    control.revoke_token(control.authenticate(brain.served.token).token_id)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        (_erase_agent, AgentErased),
        (_remove_agent, UnknownAtRemote),
        (_make_agent_anew, RemoteBusy),
        (_remove_tenant, RemoteDenied),
        (_revoke_token, RemoteDenied),
    ],
)
def test_071_what_goes_whole_in_the_middle_ends_the_answer(
    brain: BrainServer, how: Callable[[BrainServer, str], None], error: type[LifeboatError]
) -> None:
    agent = brain.agent()
    brain.taken(many(600))
    reply = handled(brain, profile.export_stream)
    with reply.file:
        assert reply.file.read(50_000)
        how(brain, agent)
        with pytest.raises(error):
            reply.file.read(50_000)


def test_071_a_reader_that_pauses_gets_no_whole_bundle_after_a_purge(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True) as endpoint, endpoint.client() as client:
        agent = ids.make_id("2026-11-20T12:00:00.000Z")
        made = {"id": agent, "name": "ada", "source_runtime": "aimem"}
        assert client.post("/agents", json=made).status_code == 201
        chunks = [chunk(f"c{number}", f"Number {number}. " + "many words " * 5_000) for number in range(200)]
        body = document(bundle(chunks=[*chunks, chunk("last", _SECRET)]))
        answer = client.post("/v1/brain/import", content=body, headers={"Content-Type": BUNDLE})
        assert answer.status_code == 200, answer.text
        size, read = _paused_export(endpoint, lambda: _purge_over_http(endpoint, client, agent))
        assert read < size
        found = client.get("/v1/brain/export/stream").content
        assert b"Quillon" not in found


def _paused_export(endpoint: RunningEndpoint, meanwhile: Callable[[], None]) -> tuple[int, int]:
    """Request a stream over a slow connection, pause, and read the rest. Return the number of announced and of received
    bytes."""
    address = httpx.URL(endpoint.url)
    request = (
        "GET /v1/brain/export/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {endpoint.token}\r\n\r\n"
    )
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with connection:
        connection.settimeout(patience())
        connection.connect((address.host, address.port))
        connection.sendall(request.encode())
        data = connection.recv(2000)
        while b"\r\n\r\n" not in data:
            data += connection.recv(2000)
        head, _, begun = data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        size = next(
            int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length")
        )
        meanwhile()
        read = len(begun)
        while part := _received(connection):
            assert b"Quillon" not in part
            read += len(part)
    return size, read


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 20)
    except ConnectionResetError:
        return b""


def _purge_over_http(endpoint: RunningEndpoint, client: httpx.Client, agent: str) -> None:
    """Purge with a permitted token, like another process."""
    with Endpoint.open(endpoint.data) as opened:
        tenant = opened.control.tenant("home").id
        device = DeviceKey.generate(UserKey.generate())
        wanted = redaction_of(opened.space(tenant), device, agent, _SECRET)
        _, secret = opened.control.add_token(tenant, "owner", ("purge",))
    answer = client.post(
        f"/agents/{agent}/redactions", json=wanted.to_json(), headers={"Authorization": f"Bearer {secret}"}
    )
    assert answer.status_code in (200, 201, 202), answer.text


# What comes back ------------------------------------------------------------------------------------------------------


def test_054_an_erased_chunk_is_not_taken_again(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.purge(agent, _SECRET)
    summary = brain.taken(two())
    assert (summary["inserted"], summary["updated"], summary["edges_inserted"]) == (0, 0, 0)
    (refused,) = summary["chunks_rejected_conflict"]
    assert (refused["id"], refused["code"]) == (urn("gone"), "erased")
    assert contents(brain.exported()) == {_KEPT}


def test_054_another_time_or_another_text_does_not_bring_it_back(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.purge(agent, _SECRET)
    later = chunk("gone", "Met somebody at the pier.", created_at="2026-09-01T00:00:00Z")
    summary = brain.taken(bundle(chunks=[later, chunk("new", "Something new.")]))
    assert [each["code"] for each in summary["chunks_rejected_conflict"]] == ["erased"]
    assert contents(brain.exported()) == {_KEPT, "Something new."}


def test_054_an_own_export_from_before_does_not_bring_it_back(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    before = brain.exported()
    brain.purge(agent, _SECRET)
    summary = brain.taken(before)
    assert [each["code"] for each in summary["chunks_rejected_conflict"]] == ["erased"]
    assert contents(brain.exported()) == {_KEPT}


def test_054_its_like_under_another_name_is_another_memory(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.purge(agent, _SECRET)
    again = sealed({**bundle(), "chunks": [chunk("else", _SECRET)]})
    assert brain.taken(again)["inserted"] == 1


def test_054_a_purge_between_looking_and_writing_wins(brain: BrainServer, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, looked = brain.agent(), []
    brain.taken(two())
    plan = bundle_import.plan_import

    def purged_meanwhile(*given: Any) -> Any:
        made = plan(*given)
        looked.append(len(made.inserts))
        if len(looked) == 1:
            brain.purge(agent, _SECRET)
        return made

    monkeypatch.setattr(bundle_import, "plan_import", purged_meanwhile)
    third = chunk("third", "A third one.")
    summary = brain.taken(sealed({**two(), "chunks": [*two()["chunks"], third]}))
    assert looked == [1, 1]
    assert (summary["inserted"], [each["code"] for each in summary["chunks_rejected_conflict"]]) == (1, ["erased"])
    assert contents(brain.exported()) == {_KEPT, "A third one."}


def test_054_an_import_into_an_agent_that_is_purged_meanwhile_is_refused(
    brain: BrainServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = brain.agent()
    brain.taken(two())
    wanted = brain.redaction(agent, _SECRET, scope=WHOLE_AGENT)
    plan = bundle_import.plan_import

    def erased_meanwhile(*given: Any) -> Any:
        made = plan(*given)
        brain.space().redact(agent, wanted.to_json(), confirmed=True)
        return made

    monkeypatch.setattr(bundle_import, "plan_import", erased_meanwhile)
    answer = brain.send(bundle(chunks=[chunk("third", "A third one.")]), agent=agent)
    assert answer.status_code == 410, answer.text
    monkeypatch.undo()
    assert brain.fetch(agent=agent).status_code == 410


def test_054_what_waits_to_be_purged_is_no_loss_when_it_is_sent_again(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(two())
    brain.purge(agent, _SECRET, confirmed=False)
    summary = brain.taken(two())
    assert (summary["inserted"], summary["updated"], summary["skipped"]) == (0, 0, 2)


def test_an_app_of_another_tenant_knows_nothing_of_the_erased(served: ServedApp) -> None:
    with served.running() as client:
        brain = BrainServer(served, client)
        agent = brain.agent()
        brain.taken(two())
        brain.purge(agent, _SECRET)
        other = served.new_token(tenant="office")
        headers = {"Authorization": f"Bearer {other}"}
        made = {"id": ids.make_id("2026-11-20T12:00:00.000Z"), "name": "ada", "source_runtime": "aimem"}
        assert client.post("/agents", json=made, headers=headers).status_code == 201
        assert brain.taken(two(), headers=headers)["inserted"] == 2
        served.server.endpoint.close_thread()
