"""Read auth profiles: the credentials with which ZeroClaw signs in to its model providers, apart from keys in its
configuration.

`auth-profiles.json`: {"schema_version": 1, "active_profiles": {provider: id}, "profiles": {"<provider>:<name>":
{"model_provider", "profile_name", "kind": oauth | token, "access_token", "refresh_token", "id_token", "token",
"expires_at", ...}}}; until spring 2026 the provider's field is called `provider`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject

TOKEN = "token"
LOGIN = ("access_token", "refresh_token", "id_token")
MEMBERS = tuple((name,) for name in (*LOGIN, TOKEN))
"""The fields of a profile that hold its tokens."""

OAUTH = "oauth"


@dataclass(frozen=True, slots=True)
class ZeroClawProfile:
    """One profile. `values` is the object as in the file."""

    id: str
    values: JsonObject

    @property
    def provider(self) -> str:
        """Return the provider of a profile: the named one, otherwise the part of its id before the colon."""
        named = self.values.get("model_provider") or self.values.get("provider")
        return named if isinstance(named, str) else self.id.partition(":")[0]

    @property
    def is_login(self) -> bool:
        """Return whether the profile has renewable tokens, which form one credential together."""
        return self.values.get("kind") == OAUTH or any(isinstance(self.values.get(name), str) for name in LOGIN)

    @property
    def expires_at(self) -> str | None:
        return normalize_timestamp(self.values.get("expires_at"))


def parse_profiles(data: bytes) -> JsonObject:
    """Parse the file as an object. Raises ValueError."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("the file with the auth profiles is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("the file does not contain a JSON object")
    return found


def profiles_in_file(data: bytes) -> dict[str, ZeroClawProfile]:
    """Return the profiles of the file by id. Entries that are no objects are skipped. Raises UnparsableSecrets."""
    try:
        listed = parse_profiles(data).get("profiles")
    except ValueError:
        raise UnparsableSecrets("the file does not contain a JSON object") from None
    found = listed.items() if isinstance(listed, dict) else ()
    return {id: ZeroClawProfile(id, values) for id, values in found if isinstance(values, dict)}


def normalize_timestamp(value: Any) -> str | None:
    """Return a time as archives spell it, None for any other value."""
    try:
        return times.to_text(times.parse_time(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
