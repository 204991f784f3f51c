"""Read and write ZeroClaw's memories in Qdrant: points with a payload of key, content, category, timestamp and, since
v0.8.0, the agent's alias.

A payload that Lifeboat wrote also holds the columns of other stores. ZeroClaw ignores unknown fields, so a memory comes
back as it was. The server normalises vectors.
"""

from __future__ import annotations

import hashlib
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow, VectorModel
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.server_memories.memory_servers import CONNECT_SECONDS, FIX, MemoryServer
from lifeboat_adapters.zeroclaw.server_memories.server_values import encode_floats
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import embeddings
from lifeboat_keys.installers import extra_command

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.models import Filter, Record

_OWNER, _TIME, _CREATED = "agent_id", "timestamp", "created_at"
_PLAIN = ("key", "content", "category", "session_id", "namespace", "importance", "superseded_by", "kind", "pinned")
_COLUMNS = ("id", *_PLAIN, "tenant_id", _CREATED, "updated_at", "payload")
"""The columns of a point. `payload` holds its other fields as JSON."""
_PAGE, _BATCH = 500, 100


def open_qdrant_memories(server: MemoryServer, alias: str) -> MemoryRows:
    """Return the memories of an agent for reading. Raises RuntimeDatabaseError."""
    with _connected(server) as client:
        _dimensions(client, server)
    return MemoryRows(
        name=zeroclaw_paths.BRAIN,  # an archive has one store of memories for all backends
        columns=_COLUMNS,
        stamp=lambda: _stamp(server, alias),
        rows=lambda: _rows(server, alias),
        model=server.model,
    )


def _stamp(server: MemoryServer, alias: str) -> str:
    """Return a digest of ids and times. The runtime makes a new point whenever it stores a key again."""
    with _connected(server) as client:
        seen = hashlib.sha256()
        for point in _points(client, server, alias, payload=[_TIME]):
            seen.update(f"{point.id} {(point.payload or {}).get(_TIME)}\n".encode("utf-8", "surrogatepass"))
        return seen.hexdigest()


def _rows(server: MemoryServer, alias: str) -> Iterator[StoredRow]:
    with _connected(server) as client:
        for point in _points(client, server, alias, vectors=True):
            yield StoredRow(_values(point), encode_floats(point.vector))


def _values(point: Record) -> JsonObject:
    payload = dict(point.payload or {})
    payload.pop(_OWNER, None)
    updated = payload.pop(_TIME, None)
    created = payload.pop(_CREATED, updated)
    known = {name: payload.pop(name, None) for name in (*_PLAIN, "tenant_id")}
    rest = json_codec.encode_json(payload).decode() if payload else None
    return {"id": str(point.id), **known, _CREATED: created, "updated_at": updated, "payload": rest}


def _points(
    client: QdrantClient, server: MemoryServer, alias: str, *, payload: Any = True, vectors: bool = False
) -> Iterator[Record]:
    offset: Any = None
    while True:
        found, offset = client.scroll(
            server.place[0],
            scroll_filter=_owned(alias),
            limit=_PAGE,
            offset=offset,
            with_payload=payload,
            with_vectors=vectors,
        )
        yield from found
        if offset is None:
            return


def _owned(alias: str) -> Filter:
    """Return the filter for the agent's points. Points without an owner are the default agent's, as in `brain.db`."""
    from qdrant_client.http import models

    own = models.FieldCondition(key=_OWNER, match=models.MatchValue(value=alias))
    if alias != zeroclaw_paths.DEFAULT_ALIAS:
        return models.Filter(must=[own])
    return models.Filter(should=[own, models.IsEmptyCondition(is_empty=models.PayloadField(key=_OWNER))])


def _dimensions(client: QdrantClient, server: MemoryServer) -> int:
    """Return the length of the vectors of the collection. Raises RuntimeDatabaseError when there is no collection, or
    one of another shape."""
    from qdrant_client.http import models

    (name,) = server.place
    if not client.collection_exists(name):
        raise RuntimeDatabaseError(f"the collection {name} in Qdrant does not exist", fix=FIX)
    vectors = client.get_collection(name).config.params.vectors
    if not isinstance(vectors, models.VectorParams):
        raise RuntimeDatabaseError(f"the collection {name} in Qdrant was not created by ZeroClaw", fix=FIX)
    return int(vectors.size)


# Connecting -----------------------------------------------------------------------------------------------------


@contextmanager
def _connected(server: MemoryServer) -> Iterator[QdrantClient]:
    """Open a client whose errors become RuntimeDatabaseError. Their text may contain the address, so only their type is
    reported."""
    try:
        from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
    except ImportError:
        raise RuntimeDatabaseError(
            "the agent stores its memories in Qdrant, but the Python library for Qdrant is not installed",
            fix=extra_command("qdrant"),
        ) from None
    try:
        client = _client(server)
    except (ValueError, OSError):
        raise RuntimeDatabaseError("the address of Qdrant in the agent's configuration is not valid", fix=FIX) from None
    try:
        yield client
    except UnexpectedResponse as error:
        refused = error.status_code in (401, 403)
        said = "Qdrant refused the API key" if refused else f"Qdrant answered with HTTP {error.status_code}"
        raise RuntimeDatabaseError(said, fix=FIX) from None
    except (ApiException, OSError):
        raise RuntimeDatabaseError(
            "the Qdrant server that stores the agent's memories cannot be reached", fix=FIX
        ) from None
    finally:
        client.close()


def _client(server: MemoryServer) -> QdrantClient:
    from qdrant_client import QdrantClient

    with warnings.catch_warnings():
        # Whether the key may be sent over plain HTTP was decided when the runtime was configured.
        warnings.simplefilter("ignore", UserWarning)
        return QdrantClient(
            url=server.address,
            port=urlsplit(server.address).port,
            api_key=server.api_key,
            timeout=CONNECT_SECONDS * 2,
            check_compatibility=False,
        )


# Writing --------------------------------------------------------------------------------------------------------


def write_qdrant_memories(server: MemoryServer, alias: str, rows: Sequence[StoredRow]) -> list[ItemFate]:
    """Write points. A point with the same key is updated, none is removed. A memory without a vector of the runtime's
    model cannot be a point and stays in the archive.

    Raises RuntimeDatabaseError. Then some points may be written, and the same can be written again.
    """
    with _connected(server) as client:
        dimensions = _made_ready(client, server)
        held = {str(values["key"]): values for values in map(_values, _points(client, server, alias))}
        fates: list[ItemFate] = []
        points: dict[str, tuple[JsonObject, bytes]] = {}
        for row in rows:
            fates.append(_decide(row, held, server.model, dimensions, points))
        _put(client, server, alias, points)
    return fates


def _decide(
    row: StoredRow,
    held: dict[str, JsonObject],
    model: VectorModel | None,
    dimensions: int,
    points: dict[str, tuple[JsonObject, bytes]],
) -> ItemFate:
    """Return what becomes of a row. Points to write are added to `points`, by id."""
    name, key = str(row.values.get("id")), str(row.values.get("key"))
    former = held.get(key)
    if former is not None and _is_same(former, row.values):
        return ItemFate("memory", name, ItemOutcome.DEDUPLICATED)
    if row.vector is None or model is None or not embeddings.is_vector(row.vector, dimensions):
        which = f"of the model {model.model} with {dimensions} dimensions" if model else f"with {dimensions} dimensions"
        return ItemFate("memory", name, ItemOutcome.OMITTED, f"Qdrant stores only memories that have a vector {which}")
    if not _is_text(row.values):
        return ItemFate("memory", name, ItemOutcome.REJECTED, "the content of the memory is not text")
    id = _point_id(str(former["id"]) if former is not None else name)
    points[id] = row.values, row.vector
    given = id == name
    return ItemFate(
        "memory",
        name,
        ItemOutcome.ACCEPTED if given else ItemOutcome.TRANSFORMED,
        "" if given else "the memory was written with another id",
    )


def _is_text(values: JsonObject) -> bool:
    try:
        return bool(json_codec.encode_json(values))
    except (UnicodeError, TypeError, OverflowError):
        return False


def _point_id(name: str) -> str:
    """Return the id of a point. Qdrant accepts UUIDs only, so another id is converted, always to the same one."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _is_same(held: JsonObject, wanted: JsonObject) -> bool:
    return all(held.get(name) == value for name, value in wanted.items() if name in _COLUMNS and name != "id")


def _put(client: QdrantClient, server: MemoryServer, alias: str, points: dict[str, tuple[JsonObject, bytes]]) -> None:
    from qdrant_client.http import models

    structs = [
        models.PointStruct(id=id, vector=embeddings.numbers_of(vector), payload=_payload(values, alias))
        for id, (values, vector) in points.items()
    ]
    for first in range(0, len(structs), _BATCH):
        client.upsert(server.place[0], structs[first : first + _BATCH], wait=True)


def _payload(values: JsonObject, alias: str) -> JsonObject:
    """Return the payload of a point: the fields that ZeroClaw reads, then columns of other stores that have a value."""
    payload = _rest(values.get("payload"))
    updated = values.get("updated_at") or values.get(_CREATED)
    kept = {name: values[name] for name in (*_PLAIN, "tenant_id") if values.get(name) is not None}
    created = {_CREATED: values[_CREATED]} if values.get(_CREATED) not in (None, updated) else {}
    return {**payload, **kept, _TIME: updated, **created, _OWNER: alias}


def _rest(written: Any) -> JsonObject:
    """Return the other fields of a point, {} when they have another shape, because an archive may contain anything."""
    try:
        found = json_codec.decode_json(written.encode()) if isinstance(written, str) else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _made_ready(client: QdrantClient, server: MemoryServer) -> int:
    """Return the length of the collection's vectors. Create the collection if the runtime has not created it yet."""
    from qdrant_client.http import models

    (name,) = server.place
    if server.model is not None and not client.collection_exists(name):
        size = server.model.dimensions
        client.create_collection(name, models.VectorParams(size=size, distance=models.Distance.COSINE))
    return _dimensions(client, server)
