"""Paths of entries in an archive (ALF §4.1)."""

from __future__ import annotations

MANIFEST = "manifest.json"
DELTA_MANIFEST = "delta-manifest.json"
IDENTITY = "identity.json"
PRINCIPALS = "principals.json"
CREDENTIALS = "credentials.json"
ATTACHMENTS = "attachments.json"
MEMORY_INDEX = "memory/index.json"
PARTITIONS = "memory/partitions/"
EMBEDDINGS = "memory/embeddings/"
DELTA_RECORDS = "memory/delta.jsonl"
RAW = "raw/"
ARTIFACTS = "artifacts/"
HISTORY = "history/"
FILES = "lifeboat/files.json"
CUTS = "lifeboat/cuts.json"
LEAVES = "lifeboat/leaves.bin"
SIGNATURE = "lifeboat/signature.json"

KEYS = "lifeboat/keys.json"
REDACTIONS = "lifeboat/redactions.json"
"""Purged items and the redactions that cover them: {"redactions": [document...], "records": [[id, partition, position,
leaf]...], "metas": {path: the meta parts that digests cover and that read differently now}}."""
HEAD = "lifeboat/head.json"
"""The head document byte for byte; present only where it cannot be derived from the manifest."""

DERIVED = frozenset({ATTACHMENTS, MEMORY_INDEX, FILES, CUTS, LEAVES, SIGNATURE, KEYS, HEAD, REDACTIONS})
"""Entries that are made from the state when an archive is written. A state never stores them."""


def raw_prefix(runtime: str) -> str:
    """Return the prefix of a runtime's workspace files."""
    return f"{RAW}{runtime}/"


def home_prefix(runtime: str) -> str:
    """Return the prefix of files in the runtime's home, outside the workspace."""
    return f"{RAW}{runtime}-home/"


def identity_history(version: int) -> str:
    return f"{HISTORY}identity/{version}.json"


def profile_history(profile_id: str, version: int) -> str:
    return f"{HISTORY}principals/{profile_id}/{version}.json"
