"""Draw states of one agent and purges of them with hypothesis, and compare states."""

from __future__ import annotations

import io

from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader, write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.redaction.redactions import ByteEdit, Redaction, replacement_of
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState


def delta_bytes(a, b):
    out = io.BytesIO()
    write_delta(diff_states(a, b), out)
    return out.getvalue()


def applied(a, data):
    return AppliedState(a, DeltaReader(io.BytesIO(data)))


def archive(state):
    out = io.BytesIO()
    write_snapshot(state, out)
    return out.getvalue()


def body(state, path):
    try:
        return state.body(path)
    except BodyAbsent:
        return None


def assert_same(found, wanted):
    assert list(found.entries()) == list(wanted.entries())
    assert list(found.records()) == list(wanted.records())
    assert list(found.gone()) == list(wanted.gone())
    for entry in wanted.entries():
        assert found.entry(entry.path) == entry
        if entry.meta.get("attachment", {}).get("tier") != 3:
            assert body(found, entry.path) == body(wanted, entry.path)
    for record in wanted.records():
        assert found.record(record.id) == record
        assert record in list(found.records(record.partition))
    assert merkle.state_digest(found) == wanted.sequence.digest
    assert archive(found) == archive(wanted)


PATHS = [
    "raw/openclaw/SOUL.md",
    "raw/openclaw/a.md",
    "raw/openclaw-home/x.json",
    "artifacts/t.csv",
    "x/y",
    "identity.json",
]
MONTHS = ["2026-02", "2026-05", "2026-08", "2026-11"]
texts = st.sampled_from(
    [b"", b"one\n", b"two lines\nof text\n" * 40, b"two lines\nof text\n" * 41 + b"end", b"\xff\x00"]
)
metas = st.fixed_dictionaries({}, optional={"executable": st.just(True), "mtime_ns": st.sampled_from(["1", "2"])})


class Script:
    """Random edits of one agent's state; records keep their places as in a vault."""

    def __init__(self, draw):
        self.draw = draw

    def run(self, state):
        for _ in range(self.draw(st.integers(0, 6))):
            self.draw(
                st.sampled_from([self.put, self.put, self.remove, self.add, self.update, self.head, self.absent])
            )(state)
        return state

    def put(self, state):
        path = self.draw(st.sampled_from(PATHS))
        if path == "identity.json":
            state.put_document(path, sample_states.make_identity(self.draw(st.integers(1, 3))))
            return
        meta = self.draw(metas)
        if path.startswith("artifacts/"):
            tier = self.draw(st.sampled_from([2, 3]))
            meta["attachment"] = {"id": sample_states.AGENT_ID, "media_type": "text/csv", "tier": tier}
        elif path.startswith("raw/openclaw/"):
            ids = [record.id for record in state.records()][: self.draw(st.integers(0, 3))]
            meta |= {"records": ids} if ids else {}
            if self.draw(st.booleans()):
                meta["cuts"] = [{"offset": 0, "credential_id": sample_states.AGENT_ID}]
        state.put(path, self.draw(texts), **meta)

    def absent(self, state):
        attachment = {"id": sample_states.SEED.hex(), "media_type": "video/mp4", "tier": 3}
        state.put_absent("artifacts/big.bin", 10, "ab" * 32, attachment=attachment)

    def remove(self, state):
        paths = [entry.path for entry in state.entries() if entry.path != archive_layout.MANIFEST]
        if paths:
            state.remove(self.draw(st.sampled_from(paths)))

    def add(self, state):
        fields = self.draw(
            st.sampled_from([{}, {"operation": "mine"}, {"status": "deleted", "supersedes": sample_states.AGENT_ID}])
        )
        month = self.draw(st.sampled_from(MONTHS))
        state.add(sample_states.make_record(created_at=f"{month}-03T00:00:00.000Z", **fields))

    def update(self, state):
        known = [json_codec.decode_json(record.line) for record in state.records()]
        if known:
            old = self.draw(st.sampled_from(known))
            state.update({**old, "status": self.draw(st.sampled_from(["active", "deleted"])), "tags": ["x"]})

    def head(self, state):
        state.set_head(runtime_hints={"notes": self.draw(st.sampled_from(["a", "b"]))}, x_unknown=[1.0, 2**70])


@st.composite
def two_states(draw):
    script = Script(draw)
    a = script.run(MemoryState())
    if draw(st.booleans()):
        return a, script.run(a.copy())
    b = script.run(MemoryState(number=a.sequence.number + 3))
    return a, b


# What is purged -------------------------------------------------------------------------------------------------


def redaction(leaves, **fields):
    """Return a redaction that names leaves by their digests."""
    stated = {
        "id": "019a0000-0000-7000-8000-0000000000d1",
        "agent_id": sample_states.AGENT_ID,
        "scope": "record_purge",
        "reason": "user_request",
        "requested_at": sample_states.TIME,
        "requested_by": sample_states.AGENT_ID,
    }
    return Redaction(**{**stated, **fields}, leaves=leaves)


def cut(body, start, end, insert=b""):
    """Return the replacement of bytes without a span."""
    return replacement_of(body, [ByteEdit(start, end - start, insert)])


@st.composite
def redactions_of(draw, *states):
    """Draw a redaction of items of states: records that are gone or tombstones, files that are cut."""
    leaves, ids = {}, []
    for record in {record.leaf.digest: record for state in states for record in state.records()}.values():
        fate = draw(st.sampled_from(["stays", "stays", "goes", "tombstone"]))
        if fate == "goes":
            leaves[record.leaf.digest] = None
        elif fate == "tombstone":
            line = json_codec.encode_json(
                {**json_codec.decode_json(record.line), "content": "[deleted]", "status": "deleted"}
            )
            leaves[record.leaf.digest] = cut(record.line, 0, len(record.line), line)
        if fate != "stays":
            ids.append(record.id)
    entries = ((entry, body(state, entry.path)) for state in states for entry in state.entries())
    for entry, data in {entry.leaf.digest: (entry, data) for entry, data in entries if data is not None}.values():
        if entry.path == archive_layout.MANIFEST or not draw(st.booleans()):
            continue
        is_json = entry.path.endswith(".json")
        start = 0 if is_json else draw(st.integers(0, len(data)))
        end = len(data) if is_json else draw(st.integers(start, len(data)))
        leaves[entry.leaf.digest] = cut(data, start, end, b"{}" if is_json else b"")
    return redaction(leaves, record_ids=tuple(ids))
