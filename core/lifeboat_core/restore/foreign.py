"""Credentials that another runtime kept: opened, and handed to the adapter of the target under whose names they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lifeboat_adapters.credentials import ForeignCredential, Place, Translation
from lifeboat_adapters.errors import UnknownRuntime
from lifeboat_alf import layout, metas
from lifeboat_alf.reasons import Reason
from lifeboat_core.restore.filling import Filler, members_of
from lifeboat_core.restore.home_files import NO_FOLDER, Around
from lifeboat_core.state.state_documents import credentials_of


@dataclass(frozen=True, slots=True)
class Foreign:
    """What becomes of credentials of other runtimes: `files` by archive path; `places` in them and `reasons` why others
    have none, by id."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    reasons: Mapping[str, Reason] = field(default_factory=dict)


def translated(around: Around) -> Foreign:
    """Nothing without credentials. Raises UnsealError for one that was tampered with."""
    filler = around.filler
    found = {} if filler is None else _foreign_places(around)
    if filler is None or not found:
        return Foreign()
    reasons = {id: _reason(around, filler, id) for id in found}
    usable = [id for id, reason in reasons.items() if not reason]
    told = {id: reason for id, reason in reasons.items() if reason}
    if around.installation is None:
        return Foreign(reasons=told | dict.fromkeys(usable, NO_FOLDER))
    own = _own_places(around, filler)
    known = {id: own[said] for id in usable if (said := _said(filler.value(id))) in own}
    given = [_credential(around, filler, id, found[id]) for id in usable if id not in known]
    said_of: Translation = around.adapter.translate(around.installation, given, around.state)
    return Foreign(said_of.files, known | dict(said_of.places), told | dict(said_of.reasons))


def _own_places(around: Around, filler: Filler) -> dict[frozenset[str], Place]:
    """Where what credentials say stands in files of this runtime's own folder: an agent that comes home finds its
    credentials there, under the names they had."""
    known = credentials_of(around.state)
    found: dict[frozenset[str], Place] = {}
    for entry in around.inventory.entries.values():
        cuts = entry.meta.get(metas.CUTS) or []
        if not cuts or not entry.path.startswith(layout.home_prefix(around.adapter.runtime)):
            continue
        body, offsets = around.state.body(entry.path), [int(cut["offset"]) for cut in cuts]
        for cut, keys in zip(cuts, around.adapter.secret_places(entry.path, body, offsets), strict=True):
            id = str(cut.get("credential_id"))
            if keys and id in known and not _reason(around, filler, id):
                found.setdefault(_said(filler.value(id)), (entry.path, keys))
    return found


def _said(value: str) -> frozenset[str]:
    """What a credential says, whatever a runtime calls the members of a login."""
    return frozenset(members_of(value).values()) or frozenset((value,))


def _reason(around: Around, filler: Filler, id: str) -> Reason | None:
    return around.bound.get(id) or filler.problem(id)


def _foreign_places(around: Around) -> dict[str, Sequence[tuple[str, int]]]:
    """Credentials that stand in files of other runtimes only: where each was cut out, path and offset."""
    prefixes = layout.raw_prefix(around.adapter.runtime), layout.home_prefix(around.adapter.runtime), layout.ARTIFACTS
    own: set[str] = set()
    other: dict[str, list[tuple[str, int]]] = {}
    for entry in around.inventory.entries.values():
        for cut in entry.meta.get(metas.CUTS) or []:
            id = str(cut.get("credential_id"))
            if entry.path.startswith(prefixes):
                own.add(id)
            elif entry.path.startswith(layout.RAW):
                other.setdefault(id, []).append((entry.path, int(cut["offset"])))
    known = credentials_of(around.state)
    return {id: other[id] for id in known if id in other and id not in own}


def _credential(around: Around, filler: Filler, id: str, cuts: Sequence[tuple[str, int]]) -> ForeignCredential:
    record = credentials_of(around.state)[id]
    value = filler.value(id)
    expires_at = record.get("expires_at")
    return ForeignCredential(
        id=id,
        service=str(record.get("service", "")),
        credential_type=str(record.get("credential_type", "")),
        label=str(record.get("label") or ""),
        value=value,
        members=members_of(value),
        place=_place(around, cuts),
        expires_at=None if expires_at is None else str(expires_at),
    )


def _place(around: Around, cuts: Sequence[tuple[str, int]]) -> Place:
    """Where a credential stood: in the runtime's own folder rather than in the workspace."""
    path, offset = min(cuts, key=lambda cut: not _runtime(cut[0]).endswith("-home"))
    try:
        adapter = around.context.adapter(_runtime(path).removesuffix("-home"))
    except UnknownRuntime:
        return path, ()
    return path, adapter.secret_places(path, around.state.body(path), [offset])[0]


def _runtime(path: str) -> str:
    return path.removeprefix(layout.RAW).partition("/")[0]
