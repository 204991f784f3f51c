"""Auth profiles: what ZeroClaw signs in to its model providers with, apart from keys in its configuration.

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
"""Where in a profile stands what signs in."""

OAUTH = "oauth"


@dataclass(frozen=True, slots=True)
class ZeroClawProfile:
    """One profile: `values` is the object as it stands in the file."""

    id: str
    values: JsonObject

    @property
    def provider(self) -> str:
        """Whom it is for; of an object that does not say, what stands before the colon in its id."""
        named = self.values.get("model_provider") or self.values.get("provider")
        return named if isinstance(named, str) else self.id.partition(":")[0]

    @property
    def is_login(self) -> bool:
        """Whether it has tokens that are renewed, which are one credential together."""
        return self.values.get("kind") == OAUTH or any(isinstance(self.values.get(name), str) for name in LOGIN)

    @property
    def expires_at(self) -> str | None:
        return normalize_timestamp(self.values.get("expires_at"))


def parse_profiles(data: bytes) -> JsonObject:
    """The file as an object. Raises ValueError."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def profiles_in_file(data: bytes) -> dict[str, ZeroClawProfile]:
    """The profiles of the file by id; an entry that is no object is left out. Raises UnparsableSecrets."""
    try:
        listed = parse_profiles(data).get("profiles")
    except ValueError:
        raise UnparsableSecrets("it is no JSON object") from None
    found = listed.items() if isinstance(listed, dict) else ()
    return {id: ZeroClawProfile(id, values) for id, values in found if isinstance(values, dict)}


def normalize_timestamp(value: Any) -> str | None:
    """A time as archives spell it, None for what is no time."""
    try:
        return times.to_text(times.parse_time(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
