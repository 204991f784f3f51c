"""What a fuzzer feeds the archive readers: whatever the bytes, reading ends well or in a typed error.

`make fuzz` runs `one_input` with atheris (see `fuzz_readers`), the ordinary tests run it with Hypothesis.

The first byte chooses what the rest is: a whole file, or a splice into one entry of a good snapshot or delta whose
checksums are made right again, so that what lies behind them is reached too. What is read is also written, and what
is written must be read again.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import zipfile

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.snapshot_manifest import entries_checksum
from lifeboat_alf.archive.zip_container import ContainerLimits
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import AlfError
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_full_state, make_record

LIMITS = ContainerLimits(entry_size=1 << 24, total_size=1 << 26)

Bodies = dict[str, bytes]


SEEDS = [bytes([kind, entry, 0, 0, 0]) for kind in (2, 3, 4) for entry in range(20)]
"""Splices that change nothing, one per entry."""


def one_input(data: bytes) -> bool:
    """Return True if the bytes were valid. Any exception but an AlfError is a finding."""
    if not data:
        return False
    kind, rest = data[0] % 5, data[1:]
    try:
        if kind == 0:
            read_snapshot(rest)
        elif kind == 1:
            read_delta(rest)
        elif kind == 2:
            read_snapshot(spliced(snapshot(), rest))
        elif kind == 4:
            read_snapshot(spliced(unsigned(), rest))
        else:
            read_delta(spliced(delta(), rest))
    except AlfError:
        return False
    return True


class NotReadAgain(Exception):
    """The reader refuses what the writer has made of valid input."""


def read_snapshot(data: bytes) -> None:
    """Read everything, write it, and read the result."""
    with SnapshotReader(io.BytesIO(data), LIMITS) as state:
        state.check()
        out = io.BytesIO()
        write_snapshot(state, out)
    try:
        with SnapshotReader(out) as again:
            again.check()
    except AlfError as error:
        raise NotReadAgain(str(error)) from error


def read_delta(data: bytes) -> None:
    """Apply a delta to the state that it was made for, and read everything."""
    with DeltaReader(io.BytesIO(data), LIMITS) as reader:
        reader.verify()
        state = AppliedState(before(), reader)
        for _ in state.entries():
            pass
        for _ in state.records():
            pass


def spliced(good: Bodies, rest: bytes) -> bytes:
    """Return a valid file with some bytes of one entry replaced: [entry] [place] [place] [length] bytes..."""
    header, inserted = rest[:4].ljust(4, b"\0"), rest[4:]
    name = sorted(good)[header[0] % len(good)]
    body = good[name]
    place = int.from_bytes(header[1:3], "big") % (len(body) + 1)
    return rebuilt(
        {**good, name: body[:place] + inserted + body[place + header[3] :]}, fixed=name != archive_layout.MANIFEST
    )


def rebuilt(bodies: Bodies, *, fixed: bool) -> bytes:
    """Return a ZIP of the bodies. `fixed`: with a manifest that matches them."""
    out = io.BytesIO()
    bodies = dict(bodies)
    if fixed:
        manifest = json.loads(bodies[archive_layout.MANIFEST])
        entries = {name: _sha256(body) for name, body in bodies.items() if name != archive_layout.MANIFEST}
        manifest |= {"entries": entries, "checksum": entries_checksum(entries)}
        for item in manifest.get("layers", {}).get("memory", {}).get("partitions", []):
            item["checksum"] = f"sha256:{entries[item['file']]}"
        bodies[archive_layout.MANIFEST] = json_codec.encode_pretty(manifest)
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in bodies.items():
            archive.writestr(name, body)
    return out.getvalue()


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@functools.cache
def before() -> MemoryState:
    return make_full_state().copy(3)


@functools.cache
def snapshot() -> Bodies:
    out = io.BytesIO()
    write_snapshot(before(), out)
    return _bodies(out)


@functools.cache
def unsigned() -> Bodies:
    """Return the same without signatures, as another tool would write it."""
    left = {
        name: body for name, body in snapshot().items() if name not in (archive_layout.LEAVES, archive_layout.SIGNATURE)
    }
    return _bodies(io.BytesIO(rebuilt(left, fixed=True)))


@functools.cache
def delta() -> Bodies:
    """Return a delta with one change of every kind."""
    after = before().copy(5)
    after.put("raw/openclaw/SOUL.md", b"# Soul\n\nCurious, kind and patient.\n").remove("raw/openclaw/run.sh")
    after.put_artifact("new.txt", b"new").put("raw/openclaw/new.md", b"new\n", executable=True)
    first = next(after.records("memory/partitions/2026-Q4.jsonl"))
    after.update({**json_codec.decode_json(first.line), "status": "deleted"})
    after.add(make_record("Rows."))
    after.set_head(**{"x-new": True})
    out = io.BytesIO()
    write_delta(diff_states(before(), after), out)
    return _bodies(out)


def _bodies(out: io.BytesIO) -> Bodies:
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
