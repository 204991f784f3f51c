"""Read a state directory as capture reads it, for tests of derivations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Derivation, DerivationContext, Installation, Placement
from lifeboat_adapters.openclaw import ADAPTER

AGENT_ID = "0198f7a0-0000-7000-8000-000000000001"


class FileMap:
    """`AgentFiles` from a dict that a test may change."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def paths(self, prefix: str) -> Iterator[str]:
        return (path for path in sorted(self.files) if path.startswith(prefix))


def files_of(installation: Installation) -> FileMap:
    """Return everything that is captured of an installation, including rows, with secrets not cut."""
    files: dict[str, bytes] = {}
    for root in ADAPTER.roots(installation):
        for path in sorted(root.folder.rglob("*")):
            name = root.prefix + path.relative_to(root.folder).as_posix()
            if path.is_file() and ADAPTER.place(name, is_folder=False) is not Placement.EXCLUDED:
                files[name] = path.read_bytes()
    for row in ADAPTER.databases.rows(installation, transcripts=False):
        files[row.path] = files.get(row.path, b"") + json.dumps(row.values).encode() + b"\n"
    return FileMap(files)


def context(installation: Installation | None = None) -> DerivationContext:
    installed = installation or Installation("openclaw", Path("/invented/workspace"), "main", "Nameless")
    return DerivationContext(installed, AGENT_ID, lambda *parts: "-".join(parts))


def derivation(document: str) -> Derivation:
    return next(found for found in ADAPTER.derivations() if found.document == document)


def derive(document: str, files: FileMap, previous: Any = None, installation: Installation | None = None) -> Any:
    return derivation(document).derive(files, previous, context(installation))
