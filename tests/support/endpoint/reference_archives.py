"""The files of the reference client, for tests: export of an OpenClaw workspace, comparison, restore.

A port of that client with its habits: ids by position, file times as data, physical deletes, no proof. It reads as
strictly as that client's types do.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import uuid
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject

AGENT_FILE = ".alf-agent-id"
ROOT_FILES = ("SOUL", "IDENTITY", "AGENTS", "USER", "TOOLS", "HEARTBEAT", "BOOTSTRAP", "MEMORY")
RAW = "raw/openclaw/"
_AGENTS = uuid.UUID(bytes=b"alf-agent-id-ns1")
_RECORDS = uuid.UUID(bytes=b"openclaw-alf-ns1")
_DAY = re.compile(r"memory/(\d{4}-\d{2}-\d{2})\.md")
_PROSE = {"SOUL.md": "soul", "IDENTITY.md": "identity_profile", "AGENTS.md": "operating_instructions"}
_LISTS = ("tags", "entities", "embeddings", "related_records")


@dataclass
class Archive:
    """A snapshot as that client has it in memory."""

    manifest: JsonObject
    records: list[JsonObject] = field(default_factory=list)
    raw: dict[str, bytes] = field(default_factory=dict)
    documents: dict[str, JsonObject] = field(default_factory=dict)


def agent_id(workspace: Path) -> str:
    """Return the id in the workspace, made from its path if there is none."""
    file = workspace / AGENT_FILE
    if not file.exists():
        file.write_text(str(uuid.uuid5(_AGENTS, str(workspace.resolve()))))
    return file.read_text().strip()


# Exporting ----------------------------------------------------------------------------------------------------------


def export(workspace: Path) -> Archive:
    """Return everything that client reads of a workspace."""
    number, records = agent_id(workspace), []
    for path in _notes(workspace):
        records += _records_of(workspace, path, number)
    manifest = {
        "alf_version": "1.0.0",
        "created_at": _text(datetime.now(UTC)),
        "agent": {"id": number, "name": _name(workspace), "source_runtime": "openclaw"},
    }
    return Archive(manifest, records, _raw(workspace), _documents(workspace, number))


def _notes(workspace: Path) -> list[str]:
    found = [path.relative_to(workspace).as_posix() for path in workspace.glob("memory/**/*.md")]
    return [*(["MEMORY.md"] if (workspace / "MEMORY.md").exists() else []), *sorted(found)]


def _raw(workspace: Path) -> dict[str, bytes]:
    files = [workspace / f"{stem}.md" for stem in ROOT_FILES]
    files += [path for path in sorted(workspace.glob("memory/**/*")) if path.is_file()]
    return {RAW + path.relative_to(workspace).as_posix(): path.read_bytes() for path in files if path.exists()}


def _name(workspace: Path) -> str:
    for name in ("SOUL.md", "IDENTITY.md"):
        file = workspace / name
        heading = (
            next((line for line in file.read_text().splitlines() if line.startswith("# ")), "") if file.exists() else ""
        )
        if heading:
            return heading.removeprefix("# ").strip()
    return workspace.name


def _documents(workspace: Path, number: str) -> dict[str, JsonObject]:
    """Return the root documents. Ids and times are random or the present time in every export."""
    now, documents = _text(datetime.now(UTC)), {}
    prose = {key: (workspace / name).read_text() for name, key in _PROSE.items() if (workspace / name).exists()}
    if prose:
        names = {"names": {"primary": _name(workspace)}}
        identity = {"id": str(uuid.uuid4()), "agent_id": number, "version": 1, "updated_at": now}
        documents["identity.json"] = {**identity, "structured": names, "prose": prose, "source_format": "openclaw"}
    if (workspace / "USER.md").exists():
        text, principal = (workspace / "USER.md").read_text(), str(uuid.uuid4())
        profile = {"id": str(uuid.uuid4()), "agent_id": number, "principal_id": principal, "version": 1}
        profile |= {"updated_at": now, "structured": {"name": "User", "principal_type": "human"}}
        profile |= {"prose": {"user_profile": text}}
        item = {"id": principal, "principal_type": "human", "profile": profile}
        documents["principals.json"] = {"principals": [item]}
    return documents


def _records_of(workspace: Path, path: str, number: str) -> list[JsonObject]:
    text = (workspace / path).read_bytes().decode()
    modified = _text_of_nanoseconds((workspace / path).stat().st_mtime_ns)
    return [
        _record(path, index, place, content, number, modified)
        for index, (place, content) in enumerate(_sections(path, text))
    ]


def _sections(path: str, text: str) -> list[tuple[JsonObject, str]]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    if "active-context" in path:
        return [({"line_start": 1, "line_end": len(lines)}, text)]
    starts = [0, *(number for number, line in enumerate(lines) if number and line.startswith("## ")), len(lines)]
    found = []
    for start, end in itertools.pairwise(starts):
        content = "\n".join(lines[start:end])
        heading = lines[start].removeprefix("## ") if start < end and lines[start].startswith("## ") else None
        if content.strip():
            found.append(({"heading": heading, "line_end": end, "line_start": start + 1}, content))
    return found


def _record(path: str, index: int, place: JsonObject, content: str, number: str, modified: str) -> JsonObject:
    day = _DAY.fullmatch(path)
    memory_type, namespace = _kind(path.lower())
    midnight = f"{day[1]}T00:00:00Z" if day else None
    temporal = {"created_at": midnight or modified, "updated_at": modified}
    return {
        "id": str(uuid.uuid5(_RECORDS, f"{path}:{index}")),
        "agent_id": number,
        "content": content,
        "memory_type": memory_type,
        "source": {
            "runtime": "openclaw",
            "origin": "workspace",
            "origin_file": path,
            "extraction_method": "agent_written",
        },
        "temporal": {**temporal, "observed_at": midnight} if midnight else temporal,
        "status": "active",
        "namespace": namespace,
        "tags": [namespace],
        "raw_source_format": place,
    }


def _kind(path: str) -> tuple[str, str]:
    if _DAY.fullmatch(path):
        return "episodic", "daily"
    if path == "memory.md":
        return "semantic", "curated"
    if "active-context" in path:
        return "summary", "active-context"
    return "semantic", "project" if path.startswith("memory/project-") else "workspace"


# Writing ------------------------------------------------------------------------------------------------------------


def write_snapshot(archive: Archive) -> bytes:
    """Write root documents, quarters by `observed_at` else `created_at`, the raw tree, and the manifest last."""
    quarters: dict[str, list[JsonObject]] = defaultdict(list)
    for record in sorted(archive.records, key=lambda record: str(record["temporal"]["created_at"])):
        quarters[_quarter(record)].append(record)
    layers: JsonObject = {}
    if "identity.json" in archive.documents:
        layers["identity"] = {"version": 1, "file": "identity.json"}
    if "principals.json" in archive.documents:
        layers["principals"] = {"count": 1, "file": "principals.json"}
    if quarters:
        layers["memory"] = _memory_layer(quarters, bool(archive.raw))
    manifest = {**archive.manifest, "layers": layers, "raw_sources": ["openclaw"]}
    entries = {name: _pretty(document) for name, document in archive.documents.items()}
    entries |= {name: _lines(records) for name, records in sorted(quarters.items())}
    return _zipped({**entries, **archive.raw, "manifest.json": _pretty(manifest)})


def _memory_layer(quarters: dict[str, list[JsonObject]], has_raw: bool) -> JsonObject:
    parts = [
        {"file": name, **_days(name), "record_count": len(found), "sealed": False}
        for name, found in sorted(quarters.items())
    ]
    total = sum(len(found) for found in quarters.values())
    flags = {"has_embeddings": False, "has_raw_source": has_raw}
    return {"record_count": total, "index_file": "memory/index.json", "partitions": parts, **flags}


def write_delta(manifest: JsonObject, changes: list[tuple[str, JsonObject]], base: int) -> bytes:
    """Write only memory: an operation and a whole record in each line. The service finds the new number."""
    document = {
        "alf_version": "1.0.0",
        "created_at": manifest["created_at"],
        "agent": {"id": manifest["agent"]["id"], "source_runtime": "openclaw"},
        "sync": {"base_sequence": base, "new_sequence": 0, "base_timestamp": manifest["created_at"]},
        "changes": {"memory": {"file": "memory/delta.jsonl", "record_count": len(changes)}},
    }
    lines = _lines([{"operation": operation, **record} for operation, record in changes])
    return _zipped({"memory/delta.jsonl": lines, "delta-manifest.json": _pretty(document)})


def compare(old: list[JsonObject], new: list[JsonObject]) -> list[tuple[str, JsonObject]]:
    """Compare by id. Any different field is an update, and a delete carries the old record, still alive."""
    before, after = ({record["id"]: record for record in records} for records in (old, new))
    created = [("create", record) for number, record in after.items() if number not in before]
    updated = [("update", after[number]) for number in after if number in before and before[number] != after[number]]
    return [*created, *updated, *(("delete", record) for number, record in before.items() if number not in after)]


def _quarter(record: JsonObject) -> str:
    moment = str(record["temporal"].get("observed_at") or record["temporal"]["created_at"])
    return f"memory/{moment[:4]}-Q{(int(moment[5:7]) + 2) // 3}.jsonl"


def _days(name: str) -> JsonObject:
    year, quarter = name.removeprefix("memory/").removesuffix(".jsonl").split("-Q")
    first, last = 3 * int(quarter) - 2, {"1": "03-31", "2": "06-30", "3": "09-30", "4": "12-31"}[quarter]
    return {"from": f"{year}-{first:02}-01", "to": f"{year}-{last}"}


def _zipped(entries: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _pretty(document: JsonObject) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def _lines(records: list[JsonObject]) -> bytes:
    return b"".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for record in records
    )


# Reading and restoring ------------------------------------------------------------------------------------------------


def read(data: bytes) -> Archive:
    """Read as strictly as that client's types: required fields exist, no list is null, ids and times parse."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries = {name: file.read(name) for name in file.namelist()}
        assert {item.compress_type for item in file.infolist()} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
    manifest: JsonObject = json.loads(entries["manifest.json"])
    for name in ("alf_version", "created_at", "agent", "layers"):
        assert name in manifest, name
    for name in ("id", "name", "source_runtime"):
        assert isinstance(manifest["agent"][name], str), name
    uuid.UUID(manifest["agent"]["id"])
    datetime.fromisoformat(manifest["created_at"])
    memory = manifest["layers"].get("memory", {"record_count": 0, "index_file": "", "partitions": []})
    records = [record for part in memory["partitions"] for record in _read_partition(part, entries)]
    assert memory["record_count"] == len(records) and isinstance(memory["index_file"], str)
    raw = {name: body for name, body in entries.items() if name.startswith(RAW)}
    return Archive(manifest, records, raw, _read_documents(manifest["layers"], entries))


def _read_documents(layers: JsonObject, entries: dict[str, bytes]) -> dict[str, JsonObject]:
    assert isinstance(layers.get("identity", {"version": 1})["version"], int)
    for name in ("principals", "credentials", "attachments"):
        assert name not in layers or type(layers[name]["count"]) is int
    return {layer["file"]: json.loads(entries[layer["file"]]) for name, layer in layers.items() if name != "memory"}


def _read_partition(part: JsonObject, entries: dict[str, bytes]) -> list[JsonObject]:
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", part["from"]) and type(part["sealed"]) is bool
    records = [json.loads(line) for line in entries[part["file"]].splitlines()]
    assert len(records) == part["record_count"]
    for record in records:
        _check(record)
    return records


def _check(record: JsonObject) -> None:
    for name in ("id", "agent_id", "content", "memory_type", "source", "temporal", "status", "namespace"):
        assert record[name] is not None, name
    uuid.UUID(record["id"])
    uuid.UUID(record["agent_id"])
    assert isinstance(record["source"]["runtime"], str)
    assert datetime.fromisoformat(record["temporal"]["created_at"]).tzinfo is not None
    assert all(isinstance(record.get(name, []), list) for name in _LISTS)


def restore(archive: Archive, workspace: Path) -> None:
    """Write the raw tree if there is one, else notes of all records, dead or alive. Nothing is ever deleted."""
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    for name, body in archive.raw.items() or _reconstructed(archive).items():
        target = workspace / name.removeprefix(RAW)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
    (workspace / AGENT_FILE).write_text(archive.manifest["agent"]["id"])


def _reconstructed(archive: Archive) -> dict[str, bytes]:
    groups: dict[str, list[str]] = defaultdict(list)
    for record in archive.records:
        named = "MEMORY.md" if record["namespace"] == "curated" else record["source"].get("origin_file")
        groups[named or f"memory/{record['namespace']}.md"].append(record["content"])
    return {path: "\n\n".join(contents).encode() for path, contents in groups.items()}


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _text_of_nanoseconds(value: int) -> str:
    """Format a file time with nine digits."""
    seconds, rest = divmod(value, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix('+00:00')}.{rest:09}Z"
