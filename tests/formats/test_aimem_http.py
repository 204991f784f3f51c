"""The HTTP profile of AIMEM at an endpoint: assertions 58 to 65 and 73 to 76, as far as they concern HTTP."""

from __future__ import annotations

import io
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from lifeboat_alf.common import ids
from lifeboat_formats.aimem import brain_routes as profile
from lifeboat_formats.aimem.convert import bundle_export
from lifeboat_formats.aimem.wire.bundle_reading import parse_bundle
from lifeboat_formats.aimem.wire.sealed_file import SealedTemporaryFile
from lifeboat_formats.aimem.wire.spools import RecordSpool
from support.endpoint.endpoint_servers import running_endpoint
from support.endpoint.served_apps import ServedApp, bearer, served
from support.formats.aimem_bundles import (
    ABSENT,
    bundle,
    chunk,
    document,
    edge,
    many,
    packed,
    sample,
    sealed,
    stream,
    urn,
)
from support.formats.brain_servers import BUNDLE, LINES, BrainServer, brain, contents, problem, without_moment
from support.patience import patience

__all__ = ["brain", "served"]


# Export ---------------------------------------------------------------------------------------------------------------


def test_058_an_export_is_a_bundle_in_its_own_media_type(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(sample())
    answer = brain.fetch()
    assert answer.headers["content-type"] == BUNDLE
    found = parse_bundle(answer.content)
    assert (found.envelope.tenant_id, found.envelope.scope) == (agent, "FULL")
    assert contents(answer.json()) == contents(sample())


def test_058_head_says_the_same_without_the_body(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(sample())
    answer = brain.client.head("/v1/brain/export")
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, BUNDLE, b"")
    assert int(answer.headers["content-length"]) > 1000


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/json", "application/json"),
        ("text/html, application/json;q=0.9", "application/json"),
        (f"application/json, {BUNDLE}", BUNDLE),
        ("*/*", BUNDLE),
        ("text/html", BUNDLE),
    ],
)
def test_058_clients_that_ask_for_json_get_it(brain: BrainServer, accept: str, media_type: str) -> None:
    brain.agent()
    answer = brain.client.get("/v1/brain/export", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)


def test_058_an_agent_without_memories_gives_an_empty_bundle(brain: BrainServer) -> None:
    brain.agent()
    assert parse_bundle(brain.fetch().content).chunks == []


def test_058_the_scopes_choose(brain: BrainServer) -> None:
    brain.agent()
    late = chunk("late", "A day in June.", created_at="2026-06-01T00:00:00Z")
    brain.taken(
        bundle(chunks=[chunk("old", "A day in April."), chunk("likes", "Likes it.", memory_type="preference"), late])
    )
    assert contents(brain.exported(scope="DNA_ONLY")) == {"Likes it."}
    found = brain.exported(scope="SINCE", since="2026-06-01T00:00:00Z")
    assert (contents(found), found["since"]) == ({"A day in June."}, "2026-06-01T00:00:00Z")


def test_059_without_a_token_there_is_nothing(brain: BrainServer) -> None:
    for method, path in (("GET", "export"), ("GET", "export/stream"), ("POST", "import")):
        answer = brain.client.request(method, f"/v1/brain/{path}", headers={"Authorization": ""})
        problem(answer, 401, "remote_denied")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_059_a_token_without_the_scope_is_told_so(brain: BrainServer) -> None:
    brain.agent()
    pushes, pulls = brain.served.new_token("push"), brain.served.new_token("pull")
    found = problem(brain.client.get("/v1/brain/export", headers=bearer(pushes)), 403, "missing_scope")
    assert (found["type"], found["scope"]) == ("https://aimem.dev/errors/missing_scope", "pull")
    body = {"content": document(sample()), "headers": {**bearer(pulls), "Content-Type": BUNDLE}}
    assert problem(brain.client.post("/v1/brain/import", **body), 403, "missing_scope")["scope"] == "push"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"scope": "SINCE"}, "since_required"),
        ({"scope": "SINCE", "since": "yesterday"}, "bad_since"),
        ({"scope": "SINCE", "since": "2026-04-01T09:30:00+02:00"}, "bad_since"),
        ({"scope": "ALL"}, "invalid_scope"),
        ({"scope": "full"}, "invalid_scope"),
    ],
)
def test_059_a_wrong_scope_is_400(brain: BrainServer, query: dict[str, str], code: str) -> None:
    brain.agent()
    for path in ("export", "export/stream"):
        found = problem(brain.client.get(f"/v1/brain/{path}", params=query), 400, code)
        assert found["type"] == f"https://aimem.dev/errors/{code}"


def test_060_a_stream_is_the_envelope_and_then_a_record_a_line(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(sample())
    answer = brain.client.get("/v1/brain/export/stream")
    assert answer.headers["content-type"] == LINES
    first, *lines = [json.loads(line) for line in answer.content.splitlines()]
    assert not {"chunks", "edges", "entities", "chunk_entities"} & first.keys()
    assert {line["_kind"] for line in lines} == {"chunk", "edge", "entity", "chunk_entity"}
    whole = brain.exported()
    assert len(lines) == sum(len(whole[name]) for name in ("chunks", "edges", "entities", "chunk_entities"))


def test_061_a_stream_that_was_given_is_taken_and_changes_nothing(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(sample())
    before = brain.head(agent)
    lines = brain.client.get("/v1/brain/export/stream").content
    summary = brain.taken(lines, media_type=LINES)
    assert (summary["inserted"], summary["updated"], summary["sequence"]) == (0, 0, None)
    assert brain.head(agent) == before


def test_061_a_stream_that_was_cut_off_is_409_and_an_unknown_kind_422(brain: BrainServer) -> None:
    agent = brain.agent()
    lines = stream(sample()).splitlines(keepends=True)
    problem(brain.send(b"".join(lines[:-1]), media_type=LINES), 409, "checksum_mismatch")
    problem(brain.send(b"".join(lines)[:-20], media_type=LINES), 409, "checksum_mismatch")
    odd = b"".join([*lines, b'{"_kind":"thought"}\n'])
    problem(brain.send(odd, media_type=LINES), 422, "unknown_kind")
    assert brain.head(agent) is None


# Import ---------------------------------------------------------------------------------------------------------------


def test_062_a_bundle_is_taken_and_counted(brain: BrainServer) -> None:
    agent = brain.agent()
    summary = brain.taken(sample())
    assert (summary["inserted"], summary["updated"], summary["skipped"]) == (4, 0, 0)
    assert summary["chunks_inserted"] == 4
    assert (summary["agent"], summary["sequence"]) == (agent, 0)
    assert brain.head(agent)["sequence"] == 0


@pytest.mark.parametrize("media_type", [BUNDLE, f"{BUNDLE}; version=1", "application/json", "Application/JSON"])
def test_062_both_media_types_are_taken(brain: BrainServer, media_type: str) -> None:
    brain.agent()
    assert brain.taken(sample(), media_type=media_type)["inserted"] == 4


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "", "application/aimem-bundle"])
def test_062_other_media_types_are_415(brain: BrainServer, media_type: str) -> None:
    agent = brain.agent()
    found = problem(brain.send(sample(), media_type=media_type), 415, "unsupported_media_type")
    assert BUNDLE in found["fix"]
    assert brain.head(agent) is None


def test_062_what_is_too_large_is_413(tmp_path: Path) -> None:
    from lifeboat_endpoint import endpoint_config as endpoint_settings

    app = ServedApp(tmp_path)
    file = tmp_path / "data" / endpoint_settings.FILE
    said = json.loads(file.read_bytes())
    file.write_text(json.dumps({**said, "limits": {"object_bytes": 20_000, "bundle_bytes": 60_000}}))
    with app.again().running() as client:
        brain = BrainServer(app, client)
        agent = brain.agent()
        large = bundle(chunks=[chunk(content="x" * 30_000)])
        found = problem(brain.send(large), 413, "bundle_too_large")
        assert LINES in found["fix"]
        problem(brain.send(bundle(chunks=[chunk(content="x" * 70_000)]), media_type=LINES), 413, "remote_too_large")
        assert brain.head(agent) is None
        assert brain.taken(stream(large), media_type=LINES)["inserted"] == 1
        app.server.endpoint.close_thread()


def test_062_a_stale_checksum_is_409_and_nothing_happens(brain: BrainServer) -> None:
    agent = brain.agent()
    problem(brain.send({**sample(), "exported_at": "2026-06-13T10:00:00Z"}), 409, "checksum_mismatch")
    assert brain.head(agent) is None


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (b"{", "malformed_json"),
        (b"[]", "not_object"),
        (bundle(format="other"), "bad_format"),
        (bundle(version="2"), "unsupported_version"),
        (bundle(producer="Upper"), "invalid_producer"),
        (bundle(checksum=ABSENT), "missing_checksum"),
        (bundle(chunks=[chunk(memory_type="mood")]), "invalid_memory_type"),
        (bundle(chunks=[chunk()], edges=[edge("c1", "c9")]), "edge_target_unknown"),
        (bundle(chunks=[chunk(id="urn:other:a:b")]), "invalid_urn"),
    ],
)
def test_063_what_is_malformed_is_422_as_a_problem_document(brain: BrainServer, made: Any, code: str) -> None:
    agent = brain.agent()
    found = problem(brain.send(made), 422, code)
    assert found["type"] == f"https://aimem.dev/errors/{code}"
    assert brain.head(agent) is None


def test_063_a_problem_names_the_place_and_nothing_of_what_was_said(brain: BrainServer) -> None:
    brain.agent()
    found = brain.send(bundle(chunks=[chunk(content="words of mine", zone="attic")]))
    assert problem(found, 422, "invalid_zone")["where"].startswith("chunks[0]")
    assert "words of mine" not in found.text


def test_063_several_agents_or_none_is_422_and_says_which_there_are(brain: BrainServer) -> None:
    assert problem(brain.fetch(), 422, "agent_required")["agents"] == []
    first, second = brain.agent("ada"), brain.agent("bela")
    for answer in (brain.fetch(), brain.send(sample())):
        found = problem(answer, 422, "agent_required")
        assert sorted(found["agents"]) == sorted([first, second])
    brain.taken(sample(), agent=second)
    assert contents(brain.exported(agent="bela")) == contents(sample())
    assert contents(brain.exported(agent=first.upper())) == set()
    assert brain.fetch(agent="nobody").status_code == 404
    assert brain.fetch(agent=ids.make_id("2026-11-20T12:00:00.000Z")).status_code == 404


def test_063_the_first_import_of_a_tenant_without_agents_makes_its_agent(brain: BrainServer) -> None:
    made = brain.taken(sample())
    assert [agent["id"] for agent in brain.client.get("/agents").json()["agents"]] == [made["agent"]]
    assert contents(brain.exported()) == contents(sample())
    assert brain.taken(sample())["agent"] == made["agent"]


def test_063_a_first_import_that_is_refused_makes_no_agent(brain: BrainServer) -> None:
    assert brain.send(b"{}").status_code == 422
    assert brain.client.get("/agents").json()["agents"] == []
    assert brain.send(sample(), agent="ada").status_code == 404


def test_063_a_tenant_sees_its_own_agents_only(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(sample())
    other = bearer(brain.served.new_token(tenant="office"))
    problem(brain.client.get("/v1/brain/export", headers=other), 422, "agent_required")
    assert brain.client.get("/v1/brain/export", headers=other, params={"agent": agent}).status_code == 404


def test_065_a_connection_that_ends_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True) as endpoint, endpoint.client() as client:
        agent = ids.make_id("2026-11-20T12:00:00.000Z")
        made = {"id": agent, "name": "ada", "source_runtime": "aimem"}
        assert client.post("/agents", json=made).status_code == 201
        body = document(many(200))
        head = (
            f"POST /v1/brain/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {endpoint.token}\r\n"
            f"Content-Type: {BUNDLE}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        address = httpx.URL(endpoint.url)
        with socket.create_connection((address.host, address.port or 80)) as connection:
            connection.sendall(head.encode() + body[:-10])
        assert client.get(f"/agents/{agent}").json()["head"] is None
        answer = client.post("/v1/brain/import", content=body, headers={"Content-Type": BUNDLE})
        assert (answer.status_code, answer.json()["inserted"]) == (200, 200)
        assert client.get("/v1/brain/export").headers["content-type"] == BUNDLE


def test_065_what_the_second_of_two_imports_says_stands_on_the_first(brain: BrainServer) -> None:
    agent = brain.agent()
    assert brain.taken(bundle(chunks=[chunk("a", "First.")]))["sequence"] == 0
    assert brain.taken(bundle(chunks=[chunk("b", "Second.")]))["sequence"] == 1
    assert contents(brain.exported()) == {"First.", "Second."}
    with brain.space().vault(agent) as vault:
        assert [row.kind for row in vault.sequences()] == ["import", "import"]
        commits = [row for row in vault.audit_rows() if row.kind == "commit"]
    assert [row.details["kind"] for row in commits] == ["import", "import"]


@pytest.mark.parametrize("query", [{}, {"scope": "DNA_ONLY"}, {"scope": "SINCE", "since": "2026-01-01T00:00:00Z"}])
@pytest.mark.parametrize("embeddings", [False, True])
def test_052_an_own_export_is_taken_back_as_nothing_new(brain: BrainServer, query: Any, embeddings: bool) -> None:
    agent = brain.agent()
    brain.taken(sample())
    before = brain.head(agent)
    found = brain.exported(embeddings=embeddings, **query)
    summary = brain.taken(found)
    assert (summary["inserted"], summary["updated"], summary["chunks_rejected_conflict"]) == (0, 0, [])
    assert summary["skipped"] == len(found["chunks"]) > 0
    assert brain.head(agent) == before


def test_051_the_same_bundle_twice_is_one_state(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(sample())
    before, records = brain.head(agent), brain.records(agent)
    summary = brain.taken(sample())
    assert (summary["inserted"], summary["updated"]) == (0, 0)
    assert (brain.head(agent), brain.records(agent)) == (before, records)


def test_056_what_is_odd_but_right_is_taken_and_its_export_is_nothing_new(brain: BrainServer) -> None:
    from lifeboat_alf.validation.validate_file import validate_archive

    agent = brain.agent()
    odd = [
        chunk("first", "The first day.", created_at="0001-01-01T00:00:00Z"),
        chunk("last", "The last day.", created_at="9999-12-31T23:59:59Z"),
        chunk("leap", "A second more.", created_at="2026-06-30T23:59:60Z"),
        chunk("fine", "To the nanosecond.", created_at="2026-04-01T09:30:00.123456789Z"),
        chunk("before", "Before 1970.", created_at="1969-12-31T23:59:59.9+00:00"),
        chunk("minutes", "Without seconds.", created_at="2026-04-01T09:30Z"),
        chunk("escapes", "\x1b[31mred\x00\x07\u202e"),
        chunk("space", " "),
        chunk("long", "many words " * 7000),
        chunk("tags", tags=["A" * 64, "\u00c9"]),
        chunk("~" * 256),
        chunk('"<#?>'),
        chunk("proto", more={"__proto__": {"a": [1] * 50}}),
        chunk("ours", x_alf={"id": 5, "status": "deleted", "temporal": 7, "ext": {"x_aicf": 3}}),
        chunk("text", x_alf="no object"),
        chunk(
            "path", x_alf={"namespace": "../../x", "agent_id": "z", "source": {"runtime": "other"}, "part": {"n": 1}}
        ),
    ]
    assert brain.taken(bundle(chunks=odd))["inserted"] == len(odd)
    data = brain.client.get(f"/agents/{agent}/snapshot", headers={"Accept": "application/zip"}).content
    assert not list(validate_archive(io.BytesIO(data)).errors)
    assert all(record["agent_id"] == agent for record in brain.records(agent))
    for query in ({}, {"preserve_ids": True}, {"pure": True}):
        summary = brain.taken(brain.exported(**query))
        assert (summary["inserted"], summary["updated"], summary["rejected"]) == (0, 0, 0), query


def test_055_what_came_in_goes_out_to_an_empty_agent_and_is_the_same(brain: BrainServer) -> None:
    first, second = brain.agent("ada"), brain.agent("bela")
    brain.taken(sample(), agent=first)
    one = brain.exported(agent=first, preserve_ids=True)
    brain.taken(one, agent=second)
    other = brain.exported(agent=second, preserve_ids=True)
    for name in ("chunks", "edges", "entities", "chunk_entities"):
        plain = [{key: value for key, value in each.items() if key != "x_alf"} for each in one[name]]
        again = [{key: value for key, value in each.items() if key != "x_alf"} for each in other[name]]
        assert sorted(map(json.dumps, plain)) == sorted(map(json.dumps, again)), name


def test_043_vectors_go_only_when_they_are_asked_for_and_the_audit_says_so(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(sample())
    assert not any(each.get("embedding") for each in brain.exported()["chunks"])
    found = brain.exported(embeddings=True)
    assert [each["embedding"] for each in found["chunks"] if each.get("embedding")] == [packed(1.0, -2.5, 0.1)]
    assert [row.details["embeddings"] for row in brain.audit("brain.export")] == [False, True]


def test_an_agent_that_a_machine_writes_takes_no_import(brain: BrainServer) -> None:
    machine = brain.served.pushed(brain.client)
    found = problem(brain.send(sample()), 409, "writer_present")
    assert "lifeboat alf convert" in found["fix"]
    assert brain.head(machine.agent_id)["sequence"] == 0
    assert brain.fetch().status_code == 200


def test_an_agent_whose_epoch_a_machine_raised_takes_no_import(brain: BrainServer) -> None:
    agent = brain.agent()
    assert brain.client.post(f"/agents/{agent}/epoch", json={"expected": 1}).status_code == 200
    problem(brain.send(sample()), 409, "writer_present")


def test_a_sealed_agent_can_neither_be_read_nor_written(brain: BrainServer) -> None:
    agent = ids.make_id("2026-11-20T12:00:00.000Z")
    made = {"id": agent, "name": "ada", "source_runtime": "openclaw", "sealed": True}
    assert brain.client.post("/agents", json=made).status_code == 201
    for answer in (brain.fetch(), brain.send(sample())):
        assert "sealed" in problem(answer, 422, "remote_refused")["detail"]


def test_what_was_imported_is_a_whole_snapshot(brain: BrainServer) -> None:
    from lifeboat_alf.snapshot import SnapshotReader
    from lifeboat_alf.validation.validate_file import validate_archive

    agent = brain.agent()
    brain.taken(sample())
    brain.taken(bundle(chunks=[chunk("late", "In the next quarter.", created_at="2026-08-01T00:00:00Z")]))
    data = brain.client.get(f"/agents/{agent}/snapshot", headers={"Accept": "application/zip"}).content
    with SnapshotReader(io.BytesIO(data)) as reader:
        assert len(list(reader.records())) == 5
        assert reader.sequence.agent_id == agent
    report = validate_archive(io.BytesIO(data))
    assert not list(report.errors), report.errors


def test_an_export_that_takes_long_keeps_no_agent_waiting(brain: BrainServer, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = brain.agent()
    brain.taken(sample())
    begun, may_end, answers = threading.Event(), threading.Event(), []
    produce = bundle_export.produce_bundle

    def slowly(*given: Any) -> Any:
        begun.set()
        assert may_end.wait(patience())
        return produce(*given)

    monkeypatch.setattr(bundle_export, "produce_bundle", slowly)
    exporting = threading.Thread(target=lambda: answers.append(brain.fetch().status_code))
    exporting.start()
    try:
        assert begun.wait(patience())
        for _ in range(brain.served.server.settings.pace.lanes):
            assert brain.head(agent)["sequence"] == 0
    finally:
        may_end.set()
        exporting.join(patience())
    assert answers == [200]


def test_one_tenant_cannot_take_every_thread_that_there_is_for_this(brain: BrainServer) -> None:
    brain.agent()
    tenant, pace = brain.served.tenants["home"], brain.served.server.settings.pace
    brain.served.server.streams[tenant] = pace.streams // 2
    answer = brain.fetch()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    del brain.served.server.streams[tenant]
    assert brain.fetch().status_code == 200
    assert tenant not in brain.served.server.streams


def test_a_package_may_give_routes_of_both_kinds() -> None:
    from lifeboat_endpoint.server import route_table
    from lifeboat_endpoint.server.format_routes import routes_of

    own = route_table.OWN[0]
    first, *others = routes_of([own, *profile.ROUTES])
    assert first is own
    assert [(each.method, each.path) for each in others] == [(each.method, each.path) for each in profile.ROUTES]
    assert [each.long for each in others] == [True, True, True, False]


# What leaves, and what lies on a disk meanwhile -----------------------------------------------------------------------


def test_what_looks_like_a_secret_does_not_leave_unless_it_is_allowed(brain: BrainServer) -> None:
    brain.agent()
    key = "sk-" + "a1" * 20
    brain.taken(bundle(chunks=[chunk(content=f"The key is {key}, mail ada@example.com.")]))
    answer = brain.fetch()
    problem(answer, 422, "secrets_found")
    assert key not in answer.text
    (redacted,) = contents(brain.exported(redact=True))
    assert key not in redacted and "ada@example.com" not in redacted
    assert any(key in each for each in contents(brain.exported(allow_secrets=True)))


def test_a_temporary_file_gives_back_what_was_written_and_holds_nothing_of_it(tmp_path: Path) -> None:
    data = b"words of mine " * 100_000
    with SealedTemporaryFile(tmp_path) as file:
        for start in range(0, len(data), 10_007):
            file.write(data[start : start + 10_007])
        assert file.size == len(data)
        file.seek(0)
        reader = io.BufferedReader(file, 4096)
        assert reader.read() == data
        assert file.read_at(len(data), 10) == file.read_at(10**12, 1) == b""
        kept = os.pread(file._file.fileno(), 2 * len(data), 0)
        assert len(kept) > len(data) // 2
        assert b"words" not in kept


def test_records_that_wait_for_their_checksum_wait_sealed(tmp_path: Path) -> None:
    with RecordSpool(tmp_path) as spool:
        for number in range(20_000):
            spool.append(b'{"content":"words of mine %d"}' % number)
        kept = os.pread(spool._file._file.fileno(), 1 << 22, 0)
        assert len(kept) > 1 << 18
        assert b"words" not in kept
        assert len(list(spool)) == 20_000


def test_temporary_files_of_an_export_are_closed_when_nobody_takes_it(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(many(300))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        brain.client.head("/v1/brain/export")
        brain.send(b"{")
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after <= before + 2


def test_two_exports_of_one_state_differ_in_their_moment_only(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(sample())
    assert without_moment(brain.exported()) == without_moment(brain.exported())


def test_a_name_that_is_taken_from_elsewhere_is_not_changed_by_resealing(brain: BrainServer) -> None:
    brain.agent()
    brain.taken(sample())
    found = brain.exported(preserve_ids=True)
    assert {each["id"] for each in found["chunks"]} == {urn(f"c{number}") for number in range(1, 5)}
    assert sealed({name: value for name, value in found.items() if name != "checksum"})["checksum"] == found["checksum"]
