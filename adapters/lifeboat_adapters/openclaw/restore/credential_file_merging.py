"""Merge files of an archive into those of an installation: add what is missing, keep what is there.

All functions are pure. They return bytes and a decision about each path. Paths are those of the archive's file, so that
a caller that knows where a credential stood can tell what became of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lifeboat_adapters import json5_editing
from lifeboat_adapters.additive_merging import KEPT, MissingValues, ValueChange, join_changes
from lifeboat_adapters.contract import MergedHomeFile
from lifeboat_adapters.openclaw import openclaw_config
from lifeboat_adapters.openclaw.credentials.openclaw_auth_profiles import OpenClawProfile
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

_FENCE = "openclaw-oauth-refresh-fence:"


def merge_json(found: bytes | None, wanted: bytes, left_out: Mapping[Path, Reason]) -> MergedHomeFile:
    """Merge `secrets.json`, with objects in objects. Raises ValueError when either is not an object."""
    decided: dict[Path, Reason | None] = dict(left_out)
    there = {} if found is None else openclaw_config.parse_openclaw_config(found)
    missing = MissingValues(decided, left_out)
    missing.walk(there, openclaw_config.parse_openclaw_config(wanted), ())
    changed = json5_editing.edit_json5(b"{}\n" if found is None else found, missing.changes)
    return MergedHomeFile(changed.data, decided, rewritten=changed.rewritten and bool(there))


def merge_openclaw_profiles(found: bytes | None, wanted: Sequence[OpenClawProfile], now: str) -> MergedHomeFile:
    """Merge `auth-profiles.json` of 2026.2. An existing profile stays while it is usable. Raises ValueError."""
    there = {"version": 1} if found is None else openclaw_config.parse_openclaw_config(found)
    known: Any = there.get("profiles", {})
    if not isinstance(known, dict):
        raise ValueError("the profiles in the file are not a JSON object")
    decided: dict[Path, Reason | None] = {}
    changes: list[ValueChange] = []
    for profile in wanted:
        path: Path = ("profiles", profile.id)
        decided[path] = reason_to_keep(known.get(profile.id), profile.credential, now)
        if not decided[path] and known.get(profile.id) != profile.credential:
            changes.append(ValueChange(path, profile.credential))
    base = b'{\n  "version": 1\n}\n' if found is None else found
    changed = json5_editing.edit_json5(base, join_changes(there, changes))
    return MergedHomeFile(changed.data, decided, rewritten=changed.rewritten)


def reason_to_keep(found: Any, wanted: JsonObject, now: str) -> Reason | None:
    """Return why a stored credential is not replaced. Return None when there is none, when it is the same, or when it
    is not usable."""
    if not isinstance(found, dict) or found == wanted or not is_usable(found, now):
        return None
    return KEPT


def is_usable(credential: JsonObject, now: str) -> bool:
    """Return whether a credential has a value, and has not expired or can be refreshed."""
    expired = (OpenClawProfile("", "", credential).expires_at or "9") <= times.to_text(times.parse_time(now))
    if credential.get("type") == "oauth":
        refresh = str(credential.get("refresh") or "")
        return is_live_token(refresh) or (is_live_token(str(credential.get("access") or "")) and not expired)
    if credential.get("type") == "token":
        return bool(credential.get("token") or credential.get("tokenRef")) and not expired
    return bool(credential.get("key") or credential.get("keyRef") or credential.get("oauthRef"))


def is_live_token(token: str) -> bool:
    """Return whether a token is real. OpenClaw replaces a token that it could not refresh by a marker."""
    return bool(token) and not token.startswith(_FENCE)
