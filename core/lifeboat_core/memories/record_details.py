"""What is known about one memory besides its text: where it came from, what it was before, what it links to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import snippet_text
from lifeboat_vault.vault import Vault

PRESENT, DELETED, MISSING, PURGED = "present", "deleted", "missing", "purged"
_PROVENANCE = (
    "runtime",
    "runtime_version",
    "origin",
    "origin_file",
    "session_id",
    "interaction_id",
    "extraction_method",
    "identity_version",
)
_STATISTICS = ("last_accessed_at", "access_count")


def describe_record(vault: Vault, db: StateDb, asked: str, item: Record) -> JsonObject:
    """Return what `records show` tells of the memory that `asked` names; `item` is the current record of its chain."""
    record, state = memory_records.parse_record(item.line), vault.state()
    chain = db.chain_of(item.id)
    text = find_last_words(state, record)
    return {
        "chain": [_link_of_chain(vault, one, item.id) for one in chain],
        "supersedes": record.get("supersedes"),
        "superseded_by": db.successor_of(asked),
        "links": [_link(vault, db, state, one) for one in _related(record)],
        "provenance": {name: _part(record, "source").get(name) for name in _PROVENANCE},
        "confidence": record.get("confidence"),
        "stats": _statistics(_part(record, "temporal")),
        "text": text,
        **_span(vault, chain, text),
    }


def find_last_words(state: State, record: JsonObject) -> str:
    """Return what a memory says, or said before its tombstone; "" if that was purged."""
    found: JsonObject | None = record
    while found is not None and found.get("content") == memory_records.TOMBSTONE:
        before = state.record(str(found.get("supersedes")))
        found = None if before is None else memory_records.parse_record(before.line)
    return "" if found is None else str(found.get("content", ""))


def _part(record: JsonObject, name: str) -> JsonObject:
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _statistics(temporal: JsonObject) -> JsonObject | None:
    found = {name: temporal[name] for name in _STATISTICS if name in temporal}
    return found or None


# The chain ----------------------------------------------------------------------------------------------------------


def _link_of_chain(vault: Vault, record_id: str, current: str) -> JsonObject:
    """Return one record of a chain, with the first kept sequence that has it."""
    number = _first_kept(vault, record_id)
    return {
        "id": record_id,
        "sequence": number,
        "time": None if number is None else vault.sequence(number).time,
        "current": record_id == current,
        "purged": record_id in vault.redactions.record_ids,
    }


def _first_kept(vault: Vault, record_id: str) -> int | None:
    stays = ((first, last) for _, first, last in vault.stays_of_record(record_id))
    return next((kept[0] for first, last in stays if (kept := vault.kept_within(first, last)) is not None), None)


def _span(vault: Vault, chain: list[str], text: str) -> JsonObject:
    """Return from which to which kept sequence the memory had this text."""
    kept = list(_kept_with(vault, chain, text))
    head = vault.head()
    last = max((ends[1] for ends in kept), default=None)
    return {
        "first_sequence": min((ends[0] for ends in kept), default=None),
        "last_sequence": last,
        "present": head is not None and last == head.number,
    }


def _kept_with(vault: Vault, chain: list[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last kept sequence of each time with this text. A record is current until the next of its
    chain."""
    stays = [list(vault.stays_of_record(record_id)) for record_id in chain]
    for place, own in enumerate(stays):
        superseded = next((later[0][1] for later in stays[place + 1 :] if later), None)
        for line, first, last in own:
            record = memory_records.parse_record(line)
            if record.get("content") == text and not memory_records.is_deleted(record):
                end = min((each for each in (last, superseded) if each is not None), default=None)
                if (kept := vault.kept_within(first, end)) is not None:
                    yield kept


# Links --------------------------------------------------------------------------------------------------------------


def _related(record: JsonObject) -> Iterator[JsonObject]:
    """Yield well-formed links to other memories: a foreign archive may contain anything."""
    found: Any = record.get("related_records")
    for link in found if isinstance(found, list) else []:
        if isinstance(link, dict) and isinstance(link.get("id"), str):
            yield link


def _link(vault: Vault, db: StateDb, state: State, link: JsonObject) -> JsonObject:
    target = db.winner(link["id"])
    purged = vault.redactions.record_ids
    found = None if target in purged else state.record(target)
    document = {
        "id": link["id"],
        "target": None,
        "relation": link.get("relation"),
        "confidence": link.get("confidence"),
    }
    if found is None:
        return document | {"state": PURGED if {link["id"], target} & purged else MISSING, "snippet": ""}
    record = memory_records.parse_record(found.line)
    word = DELETED if memory_records.is_deleted(record) else PRESENT
    return document | {"target": target, "state": word, "snippet": snippet_text(find_last_words(state, record))}
