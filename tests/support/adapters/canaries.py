"""Canaries: a different secret in every place where an OpenClaw agent keeps one, so that a leak shows where it came
from.

`canary_planting` writes a state directory of one generation with all of them. Values look random, are the same in every
run, and are no real secrets. All begin and end alike, which is what `canary_scan` searches for.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from support.adapters.openclaw_workspaces import NEW, OLD

HEAD, TAIL = "Kx9wTq3v", "m4Zr8yUd"
BOTH = (OLD, NEW)
PIN = "739164"
"""Too short to be searched for anywhere but in its own place."""
ONE_CHARACTER = "x"

PLACES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("config: gateway token", BOTH),
    ("config: gateway password", BOTH),
    ("config: provider key", BOTH),
    ("config: provider header", BOTH),
    ("config: telegram bot token", BOTH),
    ("config: slack app token", BOTH),
    ("config: slack signing secret", BOTH),
    ("config: matrix password", BOTH),
    ("config: memory search key", BOTH),
    ("config: mcp environment", BOTH),
    ("config: mcp header", BOTH),
    ("config: mcp address", BOTH),
    ("config: skill key", BOTH),
    ("config: skill environment", BOTH),
    ("config: hook token", BOTH),
    ("config: environment", BOTH),
    ("config backup: key of yesterday", BOTH),
    ("config backup 1: key of last week", BOTH),
    (".env: bare", BOTH),
    (".env: single quotes", BOTH),
    (".env: double quotes", BOTH),
    ("secrets.json", BOTH),
    ("models.json", BOTH),
    ("channel login: whatsapp", BOTH),
    ("channel login: matrix", BOTH),
    ("codex login", BOTH),
    ("workspace .env", BOTH),
    ("toml in a skill", BOTH),
    ("known secret with odd characters", BOTH),
    ("auth-profiles.json: api key", (OLD,)),
    ("auth-profiles.json: token", (OLD,)),
    ("auth-profiles.json: access", (OLD,)),
    ("auth-profiles.json: refresh", (OLD,)),
    ("auth-profiles.json of another agent", (OLD,)),
    ("device.json", (OLD,)),
    ("device-auth.json", (OLD,)),
    ("shared store: api key", (NEW,)),
    ("shared store: token", (NEW,)),
    ("shared store: access", (NEW,)),
    ("shared store: refresh", (NEW,)),
    ("agent store: api key", (NEW,)),
    ("agent store of another agent", (NEW,)),
    ("secret store: team", (NEW,)),
    ("secret store: identity", (NEW,)),
    ("device identity", (NEW,)),
    ("device token", (NEW,)),
    ("free page of the state database", (NEW,)),
    ("leftover: auth-profiles.json.migrated", (NEW,)),
    ("leftover: sessions.imported", (NEW,)),
)
"""Every place by name, with the generations that have it."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A secret and the place where it was planted."""

    place: str
    generations: tuple[str, ...]
    value: str


def _value(place: str, salt: str = "") -> str:
    """Return forty characters for a place. One value has characters that every encoding spells differently."""
    digest = hashlib.sha256(f"canary {place} {salt}".encode()).digest()
    middle = base64.b32encode(digest).decode().lower()[:24]
    if "odd characters" in place:
        middle = f'{middle[:12]}/+"\\é%{middle[12:]}'
    return f"{HEAD}{middle}{TAIL}"


CANARIES = tuple(Canary(place, generations, _value(place)) for place, generations in PLACES)
_BY_PLACE = {one.place: one.value for one in CANARIES}


def canary(place: str) -> str:
    """Return the value for one place."""
    return _BY_PLACE[place]


def rotated(place: str) -> str:
    """Return the value for a place after its secret was changed."""
    return _value(place, "rotated")


def of(generation: str) -> list[Canary]:
    """Return the canaries of one generation, and those that replace one when it is rotated."""
    planted = [one for one in CANARIES if generation in one.generations]
    return planted + [Canary(f"{one.place} (rotated)", one.generations, rotated(one.place)) for one in planted]
