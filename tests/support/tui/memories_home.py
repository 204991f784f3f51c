"""Invented memories of an agent, as `records list` and `records show` report them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_tui.link.recorded_link import RecordedLink
from support.tui.pilots import recorded


def agent_id(link: RecordedLink) -> str:
    """Return the id of ada."""
    agents = link._answers[("status",)].document["agents"]
    return str(next(each["id"] for each in agents if each["name"] == "ada"))


def memory(number: int, **more: Any) -> JsonObject:
    """Return the memory `m<number>`; a larger number is older."""
    return {
        "id": f"m{number}",
        "memory_type": "semantic",
        "status": "active",
        "namespace": "default",
        "created_at": f"2026-11-20T{(9000 - number) // 3600:02}:00:00.000Z",
        "observed_at": None,
        "origin_file": "MEMORY.md",
        "snippet": f"What number {number} says",
        "identity_version": 1,
        "pinned": False,
        "forgotten": False,
        "tags": [],
    } | more


def page(records: Iterable[JsonObject], **more: Any) -> JsonObject:
    found = list(records)
    return {
        "agent": "a",
        "sequence": 44,
        "total": len(found),
        "shown": len(found),
        "next": None,
        "types": {"semantic": 2, "episodic": 1},
        "statuses": {"active": 3, "deleted": 1},
        "identity_versions": {"10": 1, "2": 2},
        "namespaces": {"default": 3},
        "records": found,
    } | more


def shown(memory_id: str = "m0", text: str = "All of it.", **about: Any) -> JsonObject:
    """Return the answer of `records show`. `status`, `pinned` and `forgotten` belong to the record, all other arguments
    to the answer."""
    record = {name: about.pop(name) for name in ("status", "pinned", "forgotten") if name in about}
    return {
        "records": [
            {
                "id": memory_id,
                "memory_type": "semantic",
                "status": "active",
                "namespace": "default",
                "temporal": {"created_at": "2026-11-20T08:00:00.000Z", "observed_at": "2026-11-19T00:00:00.000Z"},
                "tags": ["harbour"],
                **record,
                "about": {
                    "text": text,
                    "chain": [{"id": memory_id, "sequence": 41, "time": None, "current": True, "purged": False}],
                    "links": [],
                    "provenance": {
                        "runtime": "openclaw",
                        "runtime_version": "2026.2",
                        "origin_file": "MEMORY.md",
                        "session_id": "session-7",
                        "extraction_method": "agent_written",
                        "identity_version": 2,
                    },
                    "confidence": 0.75,
                    "stats": {"last_accessed_at": "2026-11-20T09:00:00Z", "access_count": 3},
                    "first_sequence": 41,
                    "last_sequence": 44,
                    "present": True,
                }
                | about,
            }
        ]
    }


def remembering(count: int = 3, **more: Any) -> RecordedLink:
    """Return a link whose agent ada has `count` memories."""
    link = recorded()
    link.answers(["records", "list"], page([memory(number) for number in range(count)], **more))
    link.answers(["records", "show"], shown())
    return link
