"""ALF §8.2: versions and unknown values."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from lifeboat_alf.errors import ArchiveError
from lifeboat_alf.memory.memory_records import ENUMS, is_visible, reads_as
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing.sample_states import (
    MemoryState,
    make_credentials,
    make_embedding,
    make_identity,
    make_principals,
    make_record,
)
from support.alf.archive_files import ArchiveFile
from support.alf.raising import raises_code


def _written(state: MemoryState, path: Path) -> Path:
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def _with_version(path: Path, version: str) -> Path:
    bodies = ArchiveFile(path).bodies
    manifest = json.loads(bodies["manifest.json"]) | {"alf_version": version}
    target = path.with_name(f"{version}.alf")
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in {**bodies, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, data)
    return target


def test_a_newer_major_version_is_refused_and_a_newer_minor_one_is_read(tmp_path: Path) -> None:
    path = _written(MemoryState(), tmp_path / "agent.alf")
    assert ArchiveFile(path).manifest["alf_version"] == "1.0.0"
    with SnapshotReader(_with_version(path, "1.7.0")) as state:
        assert state.manifest["alf_version"] == "1.7.0"
    with raises_code(ArchiveError.UNSUPPORTED_VERSION), SnapshotReader(_with_version(path, "2.0.0")):
        pass


def test_unknown_enum_values_get_safe_defaults() -> None:
    """The table of §8.2."""
    defaults = {
        "memory_type": "semantic",
        "principal_type": "human",
        "credential_type": "custom",
        "status": "active",
        "embedding_source": "runtime",
    }
    assert {name: reads_as(name, "from the future") for name in defaults} == defaults
    assert all(reads_as(name, value) == value for name in defaults for value in ENUMS[name].values)
    assert is_visible(make_record(status="from the future"))


def test_unknown_enum_values_come_out_as_they_went_in(tmp_path: Path) -> None:
    document = make_principals()
    document["principals"][0]["principal_type"] = "swarm"
    state = MemoryState().put_document("principals.json", document)
    state.put_document("identity.json", make_identity(capabilities=[{"name": "flight", "portability": "lunar"}]))
    sealed = make_credentials()
    sealed["credentials"][0]["credential_type"] = "retina_scan"
    state.put_document("credentials.json", sealed)
    odd = make_record(
        "Odd.", memory_type="oneiric", status="dormant", embeddings=[make_embedding([0.5], source="oracle")]
    )
    state.add(odd)
    first = _written(state, tmp_path / "odd.alf")
    with SnapshotReader(first) as read, (tmp_path / "again.alf").open("wb") as out:
        write_snapshot(read, out)
    archive = ArchiveFile(tmp_path / "again.alf")
    assert archive.bodies == ArchiveFile(first).bodies
    (found,) = archive.records
    assert (found["memory_type"], found["status"]) == ("oneiric", "dormant")
    assert found["embeddings"][0]["source"] == "oracle"
    assert archive.json("principals.json")["principals"][0]["principal_type"] == "swarm"
    assert archive.json("credentials.json")["credentials"][0]["credential_type"] == "retina_scan"
    assert archive.identity["structured"]["capabilities"][0]["portability"] == "lunar"
