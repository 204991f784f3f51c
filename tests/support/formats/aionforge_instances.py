"""Instances of the Aionforge fake over both transports, with content."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view
from lifeboat_alf.testing.sample_states import MemoryState, make_record
from lifeboat_formats.interchange.contract import ConversionContext
from support.formats import fake_aionforge
from support.formats.fake_aionforge import HEAD, OLD, Fake, Store
from support.patience import patience

AGENT = "019a0000-0000-7000-8000-00000000abcd"
OTHER = "019a0000-0000-7000-8000-00000000beef"
PROFILES, TRANSPORTS = (HEAD, OLD), ("stdio", "http")
TIME = "2026-06-07T12:00:00.123456789+00:00[UTC]"
NOW = "2026-11-20T12:00:00.000Z"


@dataclass(frozen=True)
class Running:
    """An instance at `address`; `path` is its store."""

    address: str
    path: Path
    transport: str

    def store(self) -> Store:
        return Store.open(self.path)

    def bodies(self) -> list[str]:
        return [str(node["body"]) for node in self.store().nodes.values() if node["kind"] == "episode"]


@contextmanager
def running(
    path: Path, profile: str = HEAD, transport: str = "http", *faults: str, asked: str = f"agent={AGENT}"
) -> Iterator[Running]:
    """Run an instance over a store, which is created if it is missing."""
    if not path.is_file():
        Store(path).save()
    end = f"#{asked}" if asked else ""
    if transport == "stdio":
        said = "".join(f" --fault {fault}" for fault in faults)
        command = f"{sys.executable} {fake_aionforge.__file__} --store {path} --profile {profile}{said} stdio"
        yield Running(f"stdio:{command}{end}", path, transport)
        return
    server = fake_aionforge.serve_http(Fake(Store.open(path), profile, faults))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield Running(f"http://127.0.0.1:{server.server_address[1]}/mcp{end}", path, transport)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(patience())


def seeded(path: Path, agent: str = AGENT) -> Store:
    """Return a store with a node of every kind, of two agents, a team and everyone."""
    store, own = Store(path), f"agent:{agent}"
    provenance = {"writer": agent, "model_family": "m", "model_version": "1", "trust_at_write": 0.5, "written_at": TIME}

    def episode(body: str, namespace: str = own, **fields: Any) -> str:
        plain = {"role": "user", "captured_at": TIME, "session_id": None, "supersedes": None, "superseded_by": None}
        return store.put("episode", namespace, **{**plain, "provenance": provenance, "body": body, **fields})

    session = "019a0000-0000-7000-8000-0000000000aa"
    old = episode("The ferry leaves at eight.", session_id=session)
    store.nodes[old]["superseded_by"] = episode("The ferry leaves at nine.", session_id=session, supersedes=old)
    episode('The user said: "<memory id="x">no</memory>" & left.\n\n&lt;b&gt;', role="assistant")
    episode("The team meets on Mondays.", "team:harbour")
    episode("Everybody knows the lighthouse.", "global")
    episode("A secret of the other agent.", f"agent:{OTHER}")
    store.put("fact", own, predicate="works on", status="active", statement="Ada works on the harbour.")
    store.put("fact", own, predicate="lives in", status="quarantined", statement="Ada lives in the tower.")
    store.put("entity", own, entity_type="person", canonical_name="Ada", description="A pilot.")
    store.put("note", own, content="The user talks about ferries.")
    store.put("skill", own, name="Mooring", version=2, deprecated=False, description="How to moor.")
    store.put("bad_pattern", own, observed_at=TIME, description="Mooring in the dark failed.")
    store.put("core", own, block_kind="persona", content="You are the harbour pilot.", always=True)
    store.put("core", own, block_kind="redline", content="Never enter the harbour in fog.", always=True)
    above = _work(store, own, "Paint the lighthouse", "project", None, "in_progress", "White, please.")
    _work(store, own, "Buy paint", "task", above, "todo", None)
    store.note("capture", old)
    for node in store.nodes.values():
        if node["kind"] == "episode":
            store.hashes[fake_aionforge.hashlib.blake2b(node["body"].encode()).hexdigest()] = node["id"]
    store.save()
    return store


def _work(store: Store, namespace: str, title: str, level: str, parent: str | None, status: str, body: Any) -> str:
    fields = {"title": title, "level": level, "parent": parent, "work_status": status, "body": body, "ordinal": 1}
    return store.put("work_item", namespace, **fields)


def around(notes: dict[str, Any] | None = None) -> ConversionContext:
    return ConversionContext(now=NOW, notes={} if notes is None else notes)


def memories(*texts: str, **fields: Any) -> MemoryState:
    """Return an agent with some texts as episodes, with the same ids every time."""
    state = MemoryState(agent_id=AGENT)
    for place, text in enumerate(texts):
        own = {"id": ids.derive_id(1_780_000_000_000, f"{place} {text}"), "memory_type": "episodic"}
        state.add(make_record(text, **{**own, **fields}))
    return state


def texts_of(state: MemoryState) -> list[str]:
    return sorted(str(each.record["content"]) for each in effective_view.visible_records(state))


def state_of(records: list[JsonObject]) -> MemoryState:
    state = MemoryState(agent_id=AGENT)
    for each in records:
        state.add({"agent_id": AGENT, **each})
    return state
