"""Read, write and edit archives with only the standard library, as an independent check."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rfc8785

from lifeboat_alf.common.json_types import JsonObject


class ArchiveFile:
    """A snapshot or delta as names and bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.bodies: dict[str, bytes] = {name: archive.read(name) for name in archive.namelist()}

    def json(self, name: str) -> Any:
        return json.loads(self.bodies[name])

    def lines(self, name: str) -> list[JsonObject]:
        return [json.loads(line) for line in self.bodies[name].splitlines() if line.strip()]

    @property
    def manifest(self) -> JsonObject:
        document: JsonObject = self.json("manifest.json")
        return document

    @property
    def identity(self) -> JsonObject:
        return _unwrapped(self.json("identity.json"), "identity")

    @property
    def partitions(self) -> list[JsonObject]:
        partitions: list[JsonObject] = self.manifest["layers"]["memory"]["partitions"]
        return partitions

    @property
    def records(self) -> list[JsonObject]:
        """Return every line of every partition, in order."""
        return [record for partition in self.partitions for record in self.lines(partition["file"])]

    @property
    def active(self) -> list[JsonObject]:
        """Return the memories the agent has now: neither deleted nor superseded."""
        gone = {record["supersedes"] for record in self.records if record.get("supersedes")}
        return [record for record in self.records if record["status"] == "active" and record["id"] not in gone]

    def record_with(self, text: str) -> JsonObject:
        """Return the only active record whose content contains `text`."""
        found = [record for record in self.active if text in record["content"]]
        assert len(found) == 1, f"{len(found)} memories hold {text!r}"
        return found[0]

    @property
    def attachments(self) -> dict[str, JsonObject]:
        """Return the attachments by file name."""
        return {item["filename"]: item for item in self.json("attachments.json")["attachments"]}


def _unwrapped(document: JsonObject, key: str) -> JsonObject:
    inner = document.get(key)
    return inner if isinstance(inner, dict) else document


def edit(source: Path, target: Path, changed: Mapping[str, bytes | None]) -> Path:
    """Write a copy of an archive with other bytes in some entries (None: without them) and a matching manifest."""
    bodies: dict[str, bytes] = dict(ArchiveFile(source).bodies)
    for name, data in changed.items():
        bodies.pop(name, None)
        if data is not None:
            bodies[name] = data
    manifest = json.loads(bodies.pop("manifest.json"))
    entries = {name: hashlib.sha256(data).hexdigest() for name, data in bodies.items()}
    for partition in manifest.get("layers", {}).get("memory", {}).get("partitions", []):
        if "checksum" in partition and partition["file"] in entries:
            partition["checksum"] = f"sha256:{entries[partition['file']]}"
    manifest["entries"] = entries
    manifest["checksum"] = "sha256:" + hashlib.sha256(rfc8785.dumps(entries)).hexdigest()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in bodies.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest, indent=2))
    return target
