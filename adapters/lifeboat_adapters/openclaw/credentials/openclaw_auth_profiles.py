"""Read auth profiles: the credentials with which OpenClaw signs in to its model providers.

In 2026.2 each agent has a file of them. Later they are rows of two databases: one store that all agents share, and one
for each agent. An archive holds the file as it was, or each profile as a line of `profiles.jsonl`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject

SHARED, AGENT = "shared", "agent"

_PROVIDERS = {"openai-codex": "openai"}
"""Providers that were renamed since the file of 2026.2. OpenClaw renames them when it imports the file."""
_OF_THE_LAST_USE = ("usageStats", "lastGood")
_FILE = re.compile(rf"{re.escape(openclaw_paths.HOME)}agents/[^/]+/agent/auth-profiles\.json")


@dataclass(frozen=True, slots=True)
class OpenClawProfile:
    """One profile. `store` is `shared` or `agent`. `credential` is the object as stored: {"type":
    api_key | token | oauth, "provider", ...}."""

    store: str
    id: str
    credential: JsonObject

    @property
    def provider(self) -> str:
        """Return the provider of a profile: the named one, otherwise the part of its id before the colon."""
        named = self.credential.get("provider")
        return named if isinstance(named, str) and named else self.id.partition(":")[0]

    @property
    def expires_at(self) -> str | None:
        return expiry_timestamp(self.credential.get("expires"))


def migrated_profile_id(id: str) -> str:
    """Return the id of a profile after a later release has imported it."""
    provider, colon, name = id.partition(":")
    return f"{_PROVIDERS.get(provider, provider)}{colon}{name}"


def is_profile_file(path: str) -> bool:
    """Return whether an archive path is the profile file of an agent of 2026.2."""
    return _FILE.fullmatch(path) is not None


def profiles_in(path: str, data: bytes) -> list[OpenClawProfile]:
    """Return the profiles in a file of an archive, by its path; none for any other file. Entries that are no objects
    are skipped. Raises ValueError when the file does not parse."""
    if path == openclaw_paths.AUTH_PROFILES:
        return [_of_row(json.loads(line)) for line in data.splitlines() if line.strip()]
    return parse_profile_file(data) if is_profile_file(path) else []


def parse_profile_file(data: bytes) -> list[OpenClawProfile]:
    """Parse the profile file of an agent of 2026.2. Raises ValueError."""
    try:
        return profiles_of_store(json.loads(data.decode("utf-8-sig")), AGENT)
    except RecursionError:
        raise ValueError("the file with the auth profiles is nested too deeply") from None


def profiles_of_store(document: Any, store: str) -> list[OpenClawProfile]:
    """Return the profiles of a store as OpenClaw keeps it: {"version": 1, "profiles": {id: credential}}."""
    listed = document.get("profiles") if isinstance(document, dict) else None
    found = listed.items() if isinstance(listed, dict) else ()
    return [OpenClawProfile(store, id, credential) for id, credential in sorted(found) if isinstance(credential, dict)]


def without_use_statistics(path: str, data: bytes) -> bytes | None:
    """Return a profile file without the statistics of last use that OpenClaw updates with every turn."""
    if not is_profile_file(path):
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    kept = {name: one for name, one in document.items() if name not in _OF_THE_LAST_USE}
    return json.dumps(kept).encode()


def _of_row(row: Any) -> OpenClawProfile:
    match row:
        case {"store": str(store), "id": str(id), "credential": dict(credential)}:
            return OpenClawProfile(store, id, credential)
    raise ValueError("a line is not an auth profile")


def expiry_timestamp(milliseconds: Any) -> str | None:
    """Return a timestamp from milliseconds since 1970, None for any other value."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or milliseconds <= 0:
        return None
    try:
        return times.to_text(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None
