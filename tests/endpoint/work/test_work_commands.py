"""`lifeboat endpoint work` and `jobs`, for scripts and people, on a real PostgreSQL."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli import program
from lifeboat_endpoint.endpoint import SIGNING, TRANSFER_KEY, Endpoint
from lifeboat_endpoint.server.transfer_key import load_transfer_key
from lifeboat_endpoint.work.endpoint_queue import MOST_ATTEMPTS, EndpointQueue
from lifeboat_endpoint.work.job_planning import OF_THE_ENDPOINT
from lifeboat_vault.at_rest import endpoint_secrets
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.errors import VaultDamaged
from support import preloaded
from support.cli.cli_client import run
from support.docs import doc_pages
from support.endpoint.work_queues import LEASE, QueueServer, queue, queue_server
from support.patience import patience
from support.waiting import until

__all__ = ["queue"]

ID = "0190f0a0-0000-7000-8000-0000000000e1"
NOWHERE = {"endpoint": "http://127.0.0.1:9", "region": "us-east-1"}
"""Nothing here asks the object store for anything but the sweep, which fails."""


@pytest.fixture(scope="module")
def server() -> Iterator[QueueServer]:
    with queue_server() as made:
        made.database.execute(
            "insert into lifeboat_control.control(schema, created_at, endpoint) "
            f"values (1, '2026-11-23T00:00:00.000Z', '{ID}')"
        )
        yield made


@pytest.fixture
def data(server: QueueServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a process of a shared endpoint."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    store = {"database": server.database.address, "objects": "s3://bucket/prefix", "object_options": NOWHERE}
    source = f"file:{tmp_path / 'endpoint.key'}"
    document = {
        "kind": "lifeboat endpoint",
        "version": 1,
        "id": ID,
        "created_at": "2026-11-23T00:00:00.000Z",
        "key_source": source,
        "key_scope": "tenant",
        "store": store,
    }
    (folder / "endpoint.json").write_text(json.dumps(document))
    server.database.execute("delete from lifeboat_control.note")
    key_source_registry.make_key(source, outside=folder)
    return folder


def endpoint(data: Path, *arguments: str, expect: int = 0) -> JsonObject:
    return run("endpoint", *arguments, "--data", data, expect=expect)


def given_up(queue: EndpointQueue, server: QueueServer) -> int:
    """The number of a dead job."""
    queue.add("verify", tenant="a-tenant", agent="an-agent")
    for _ in range(MOST_ATTEMPTS):
        server.pass_time(7200)
        job = queue.take("one", LEASE, ["verify"])
        assert job is not None
        queue.fail(job, "1 finding (body)")
    return queue.dead()[0].id


def test_an_endpoint_of_files_has_no_workers(tmp_path: Path) -> None:
    with Endpoint.create(tmp_path / "data", key_source=f"file:{tmp_path / 'endpoint.key'}"):
        pass
    for words in (("work", "--once"), ("jobs", "list"), ("jobs", "retry", "1"), ("jobs", "drop", "1")):
        assert endpoint(tmp_path / "data", *words, expect=3)["error"]["code"] == "not_shared"


def test_once_does_what_is_due_and_tells_what_became_of_it(data: Path, queue: EndpointQueue) -> None:
    queue.add("verify", tenant="gone")
    done = endpoint(data, "work", "--once", expect=1)["jobs"]
    assert done == {"done": len(OF_THE_ENDPOINT), "failed": 1}
    assert [row.kind for row in queue.jobs()] == ["sweep"]
    assert endpoint(data, "work", "--once")["jobs"] == {}


def test_a_worker_with_another_key_does_not_begin(data: Path, queue: EndpointQueue, tmp_path: Path) -> None:
    """It would take jobs and could read nothing."""
    endpoint(data, "work", "--once", expect=1)
    queue.add("apply_purge", tenant="gone")
    (tmp_path / "endpoint.key").write_text("11" * 32)
    assert endpoint(data, "work", "--once", expect=1)["error"]["code"] == "key_revoked"
    assert [row.kind for row in queue.jobs() if row.state == "waiting" and not row.attempts] == ["apply_purge"]


def test_what_a_key_source_gives_in_the_place_of_a_key_is_said(
    data: Path, queue: EndpointQueue, tmp_path: Path
) -> None:
    with Endpoint.open(data) as opened:
        source = key_source_registry.open_key_source(opened.key_source, outside=data)
        for name in (SIGNING, TRANSFER_KEY):
            endpoint_secrets.write_secret(opened.control, source, name, b"something else")
        with pytest.raises(VaultDamaged, match="signs URLs"):
            load_transfer_key(opened)
    assert "signs receipts" in endpoint(data, "work", "--once", expect=1)["error"]["message"]


def test_jobs_are_listed_with_what_went_wrong(data: Path, queue: EndpointQueue, server: QueueServer) -> None:
    number = given_up(queue, server)
    queue.add("look_after", tenant="b")
    waiting, dead = endpoint(data, "jobs", "list")["jobs"]
    assert (waiting["kind"], waiting["tenant"], waiting["state"], waiting["attempts"]) == (
        "look_after",
        "b",
        "waiting",
        0,
    )
    assert (dead["id"], dead["state"], dead["agent"], dead["error"]) == (
        number,
        "dead",
        "an-agent",
        "1 finding (body)",
    )
    assert endpoint(data, "jobs", "list", "--dead")["jobs"] == [dead]


def test_people_see_a_table_of_jobs(
    data: Path, queue: EndpointQueue, server: QueueServer, capsys: pytest.CaptureFixture[str]
) -> None:
    given_up(queue, server)
    assert program.run_command(["endpoint", "jobs", "list", "--data", str(data)]) == 0
    assert "1 finding (body)" in capsys.readouterr().out
    server.empty()
    assert program.run_command(["endpoint", "jobs", "list", "--data", str(data)]) == 0
    assert "There are no jobs." in capsys.readouterr().out


def test_a_job_that_was_given_up_is_retried(data: Path, queue: EndpointQueue, server: QueueServer) -> None:
    number = given_up(queue, server)
    told = endpoint(data, "jobs", "retry", str(number))
    assert told == {"id": number, "kind": "verify", "was": "dead", "retried": True}
    assert [row.state for row in queue.jobs()] == ["waiting"]


def test_a_job_that_was_given_up_is_dropped(data: Path, queue: EndpointQueue, server: QueueServer) -> None:
    number = given_up(queue, server)
    assert endpoint(data, "jobs", "drop", str(number))["dropped"] is True
    assert queue.jobs() == []


def test_a_job_that_nobody_knows_is_refused(data: Path, queue: EndpointQueue) -> None:
    assert endpoint(data, "jobs", "retry", "999", expect=1)["error"]["code"] == "unknown_job"


def test_a_worker_works_answers_prometheus_and_ends_on_sigterm(data: Path, queue: EndpointQueue) -> None:
    port = _free_port()
    words = ["endpoint", "work", "--metrics", f"127.0.0.1:{port}", "--data", str(data)]
    process = preloaded.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until(lambda: b'{kind="trim_audit",result="done"} 1.0' in _figures(port))
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=patience())
    assert process.returncode == 0
    assert b"kind=trim_audit tenant=- agent=- attempt=1 result=done" in said


def test_an_address_that_is_none_is_refused(data: Path, queue: EndpointQueue) -> None:
    assert endpoint(data, "work", "--metrics", "nowhere", expect=3)["error"]["code"] == "cannot_serve"


def test_every_field_is_documented(data: Path, queue: EndpointQueue, server: QueueServer) -> None:
    page = (doc_pages.DOCS / "json.md").read_text().split("## `lifeboat endpoint work`")[1].split("\n## ")[0]
    number = str(given_up(queue, server))
    listed = endpoint(data, "jobs", "list")["jobs"][0]
    fields = {f"jobs[].{field}" for field in listed} | set(endpoint(data, "jobs", "retry", number))
    assert [field for field in sorted(fields) if f"`{field}`" not in page] == []


def _figures(port: int) -> bytes:
    """Return the metrics, nothing before it answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=patience()) as answer:
            data: bytes = answer.read()
            return data
    except OSError:
        return b""


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
