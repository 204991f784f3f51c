"""Links that say that one memory replaces another, taken at their word where a user asks for it (ALF §3.1.1,
`supersedes`). Otherwise they are relations like all others: any writer may have meant less by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.interchange.change_marks import mark_record

RELATION = "supersedes"


def apply_supersedes(records: Sequence[JsonObject]) -> list[JsonObject]:
    """The records, those that are replaced superseded and before the one that came in their place. A memory replaces
    one at most, and is replaced by one at most: the first that is said; what would close a circle is left out."""
    before = _predecessors(records)
    gone = set(before.values())
    made = {str(record["id"]): _changed(record, before, gone) for record in records}
    return [made[name] for name in _ordered([str(record["id"]) for record in records], before)]


def _predecessors(records: Sequence[JsonObject]) -> dict[str, str]:
    """What each memory came in the place of. A chain is known by its ends, `newest` by the oldest one and `oldest` by
    the newest one: so a circle shows without a walk along the chain."""
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
    """With its mark made anew: it was read like this, nobody changed it."""
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
