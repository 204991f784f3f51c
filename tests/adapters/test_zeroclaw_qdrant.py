"""Memories that ZeroClaw keeps in Qdrant, in the local mode of its client, and servers that refuse or do not exist."""

from __future__ import annotations

import socket
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow
from lifeboat_adapters.zeroclaw import server_memories
from lifeboat_adapters.zeroclaw.memories import brain_records
from lifeboat_adapters.zeroclaw.server_memories import qdrant_memories
from lifeboat_adapters.zeroclaw.server_memories.memory_servers import MemoryServer
from lifeboat_alf.memory.embeddings import encode_float32, numbers_of
from lifeboat_keys.installers import extra_command

ID = "6e0c8d6e-54a5-4f0e-9d6c-2f8f0f6f0001"
OTHER = "6e0c8d6e-54a5-4f0e-9d6c-2f8f0f6f0002"
KEY = "not-a-real-key"
UNIT = encode_float32([0.6, 0.8])
"""A vector of length one, because the server normalises every vector."""


@pytest.fixture(autouse=True)
def qdrant_client() -> Any:
    """Skip the tests where the client is not installed. Its import takes a second, so only these tests do it."""
    return pytest.importorskip("qdrant_client")


def installed(folder: Path, alias: str = "default", url: str = "http://127.0.0.1:1") -> Installation:
    (folder / "config.toml").write_text(
        'schema_version = 3\n[memory]\nbackend = "qdrant.main"\nembedding_provider = "openai"\n'
        'embedding_model = "example"\nembedding_dimensions = 2\n'
        f'[storage.qdrant.main]\nurl = "{url}"\napi_key = "{KEY}"\n'
    )
    return Installation("zeroclaw", folder / "workspace", alias, alias, folder, folder / "config.toml", remote=True)


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qdrant_client: Any) -> Installation:
    """An agent whose server is a folder."""

    def client(server: MemoryServer) -> Any:
        return qdrant_client.QdrantClient(path=str(tmp_path / "server"))

    monkeypatch.setattr(qdrant_memories, "_client", client)
    return installed(tmp_path)


def row(vector: bytes | None = UNIT, **columns: Any) -> StoredRow:
    base = {"id": ID, "key": "tea", "content": "Likes tea.", "category": "core", "session_id": None}
    times = {"created_at": "2026-08-22T10:11:12Z", "updated_at": "2026-08-23T10:11:12Z"}
    return StoredRow({**base, **times, **columns}, vector)


def read(installation: Installation) -> list[StoredRow]:
    found = server_memories.open_server_memories(installation)
    assert isinstance(found, MemoryRows)
    return sorted(found.rows(), key=lambda one: str(one.values["key"]))


def outcomes(installation: Installation, *written: StoredRow) -> list[ItemOutcome]:
    return [fate.outcome for fate in server_memories.write_server_memories(installation, written)]


def test_a_memory_comes_back_with_its_columns_and_its_vector(local: Installation) -> None:
    given = row(namespace="work", importance=0.9, session_id="s_1")
    assert outcomes(local, given) == [ItemOutcome.ACCEPTED]
    (found,) = read(local)
    assert {name: value for name, value in found.values.items() if value is not None} == given.values
    assert found.vector is not None and numbers_of(found.vector) == pytest.approx([0.6, 0.8])


def test_the_row_of_a_memory_from_another_runtime_is_read_as_it_was_written(local: Installation) -> None:
    record = {
        "id": ID,
        "content": "Likes tea.",
        "memory_type": "preference",
        "temporal": {"created_at": "2026-08-22T10:11:12Z", "updated_at": "2026-08-23T10:11:12Z"},
        "source": {"runtime": "openclaw", "origin_file": "MEMORY.md"},
    }
    wanted = brain_records.row_of_memory(record, ID)
    server_memories.write_server_memories(local, [StoredRow(wanted, UNIT)])
    (found,) = read(local)
    assert {name: found.values[name] for name in wanted} == wanted


def test_what_the_runtime_wrote_itself_has_one_time_and_keeps_what_else_it_says(
    local: Installation, qdrant_client: Any
) -> None:
    server_memories.write_server_memories(local, [row()])
    with qdrant_memories._connected(MemoryServer("qdrant", "", ("zeroclaw_memories",))) as client:
        payload = {"key": "boat", "content": "Red.", "category": "core", "timestamp": "2026-09-01T00:00:00Z", "new": 1}
        point = qdrant_client.models.PointStruct(id=OTHER, vector=[1.0, 0.0], payload=payload)
        client.upsert("zeroclaw_memories", [point])
    boat = read(local)[0]
    assert boat.values["created_at"] == boat.values["updated_at"] == "2026-09-01T00:00:00Z"
    assert boat.values["payload"] == '{"new":1}'


def test_a_memory_without_a_vector_of_the_model_stays_in_the_archive(local: Installation) -> None:
    fates = server_memories.write_server_memories(local, [row(None), row(encode_float32([1.0]), id=OTHER, key="long")])
    assert [fate.outcome for fate in fates] == [ItemOutcome.OMITTED] * 2
    assert fates[0].reason == (
        "Qdrant stores only memories that have a vector of the model openai/example with 2 dimensions"
    )
    assert read(local) == []


def test_what_is_no_text_is_named_and_the_others_are_written(local: Installation) -> None:
    broken, odd = row(id=OTHER, key="odd", content="\ud800"), row(payload="[1")
    assert outcomes(local, broken, odd) == [ItemOutcome.REJECTED, ItemOutcome.ACCEPTED]
    assert [one.values["key"] for one in read(local)] == ["tea"]


def test_a_key_that_is_there_is_updated_and_the_same_again_is_nothing_new(local: Installation) -> None:
    server_memories.write_server_memories(local, [row()])
    store = server_memories.open_server_memories(local)
    assert store is not None
    before = store.stamp()
    assert outcomes(local, row()) == [ItemOutcome.DEDUPLICATED]
    assert store.stamp() == before
    assert outcomes(local, row(id=OTHER, content="Likes coffee.", updated_at="2026-09-01T00:00:00Z")) == [
        ItemOutcome.TRANSFORMED
    ]
    assert [(one.values["id"], one.values["content"]) for one in read(local)] == [(ID, "Likes coffee.")]
    assert store.stamp() != before


def test_each_agent_has_its_own_points(local: Installation, tmp_path: Path) -> None:
    ada = installed(tmp_path, "ada")
    server_memories.write_server_memories(local, [row()])
    server_memories.write_server_memories(ada, [row(id=OTHER, key="boat")])
    assert [[one.values["key"] for one in read(agent)] for agent in (local, ada)] == [["tea"], ["boat"]]


def test_an_id_that_is_no_uuid_gives_the_same_point_every_time(local: Installation) -> None:
    assert outcomes(local, row(id="row 1")) == [ItemOutcome.TRANSFORMED]
    assert outcomes(local, row(id="row 1", content="Likes coffee.")) == [ItemOutcome.TRANSFORMED]
    (found,) = read(local)
    assert uuid.UUID(str(found.values["id"])).version == 5


def test_many_points_are_read_page_by_page(local: Installation) -> None:
    every = [row(id=str(uuid.uuid5(uuid.NAMESPACE_OID, str(one))), key=f"{one:04}") for one in range(1100)]
    server_memories.write_server_memories(local, every)
    assert [one.values["key"] for one in read(local)] == [f"{one:04}" for one in range(1100)]


def test_a_collection_that_is_not_there_is_no_deletion(local: Installation) -> None:
    with pytest.raises(RuntimeDatabaseError, match="zeroclaw_memories in Qdrant does not exist"):
        server_memories.open_server_memories(local)


def test_a_collection_of_another_shape_is_refused(local: Installation, qdrant_client: Any) -> None:
    with qdrant_memories._connected(MemoryServer("qdrant", "", ("zeroclaw_memories",))) as client:
        named = qdrant_client.models.VectorParams(size=2, distance=qdrant_client.models.Distance.DOT)
        client.create_collection("zeroclaw_memories", {"text": named})
    with pytest.raises(RuntimeDatabaseError, match="not created by ZeroClaw"):
        server_memories.open_server_memories(local)


class _Refusing(BaseHTTPRequestHandler):
    status = 401

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b'{"status": {"error": "no"}}')

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(params=[401, 500])
def refusing(request: pytest.FixtureRequest) -> Iterator[tuple[int, str]]:
    server = HTTPServer(("127.0.0.1", 0), type("Handler", (_Refusing,), {"status": request.param}))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield request.param, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_that_refuses_is_an_error_without_its_address_and_key(
    tmp_path: Path, refusing: tuple[int, str]
) -> None:
    status, url = refusing
    with pytest.raises(RuntimeDatabaseError, match="refused the API key" if status == 401 else "HTTP 500") as caught:
        server_memories.open_server_memories(installed(tmp_path, url=url))
    assert KEY not in repr(caught.value) and url not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[", "http://127.0.0.1:notaport"])
def test_a_server_that_is_not_there_is_an_error(tmp_path: Path, url: str) -> None:
    with pytest.raises(RuntimeDatabaseError, match="Qdrant") as caught:
        server_memories.open_server_memories(installed(tmp_path, url=url))
    assert KEY not in repr(caught.value) and "127.0.0.1" not in str(caught.value)


def test_a_server_that_says_nothing_is_waited_for_a_few_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant_memories, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(RuntimeDatabaseError, match="be reached"):
        server_memories.open_server_memories(installed(tmp_path, url=f"http://127.0.0.1:{silent.getsockname()[1]}"))


def test_a_missing_client_is_named_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client.http.exceptions", None)
    with pytest.raises(RuntimeDatabaseError, match="is not installed") as caught:
        server_memories.open_server_memories(installed(tmp_path))
    assert caught.value.fix == extra_command("qdrant")
