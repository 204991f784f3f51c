"""Applies links that say that one memory replaces another, if the user asks for it (ALF §3.1.1, `supersedes`). By
default they are ordinary relations, because a writer may have meant less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.interchange.change_marks import mark_record

RELATION = "supersedes"


def apply_supersedes(records: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the records with replaced ones marked as superseded and placed before their successor. A memory replaces
    at most one other and is replaced by at most one: the first link is used. A link that would close a cycle is
    ignored."""
    before = _predecessors(records)
    gone = set(before.values())
    made = {str(record["id"]): _changed(record, before, gone) for record in records}
    return [made[name] for name in _ordered([str(record["id"]) for record in records], before)]


def _predecessors(records: Sequence[JsonObject]) -> dict[str, str]:
    """Return the predecessor of each replacing memory. Each chain is tracked by its ends (`newest` by the oldest id,
    `oldest` by the newest), so a cycle is found without walking the chain."""
    known = {str(record["id"]) for record in records}
    before: dict[str, str] = {}
    gone: set[str] = set()
    newest: dict[str, str] = {}
    oldest: dict[str, str] = {}
    for record in records:
        newer = str(record["id"])
        for older in _replaced(record):
            if older not in known or older in gone or newer in before or newest.get(newer, newer) == older:
                continue
            first, last = newest.pop(newer, newer), oldest.pop(older, older)
            newest[last], oldest[first] = first, last
            before[newer] = older
            gone.add(older)
    return before


def _replaced(record: JsonObject) -> Iterator[str]:
    for link in record.get("related_records") or ():
        if link.get("relation") == RELATION:
            yield str(link.get("id"))


def _changed(record: JsonObject, before: Mapping[str, str], gone: set[str]) -> JsonObject:
    """Return a record with its new status, and with a new mark: no user has changed it."""
    name = str(record["id"])
    made = {**record, RELATION: before[name]} if name in before else record
    if name not in gone:
        return made
    made = {**made, "status": "superseded"}
    own = made.get(OWN)
    return mark_record(made, OWN, own) if isinstance(own, dict) else made


def _ordered(names: Sequence[str], before: Mapping[str, str]) -> Iterator[str]:
    given: set[str] = set()
    for name in names:
        chain = [name]
        while (older := before.get(chain[-1])) is not None and older not in given:
            chain.append(older)
        for each in reversed(chain):
            if each not in given:
                given.add(each)
                yield each
