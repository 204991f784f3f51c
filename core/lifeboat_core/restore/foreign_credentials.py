"""Open credentials from another runtime, and let the adapter of the target runtime choose their names and places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_adapters.contract import MergedHomeFile, find_secret_places, refuse_credentials
from lifeboat_adapters.credential_types import ForeignCredential, Place
from lifeboat_adapters.errors import UnknownRuntime
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.states import entry_metas
from lifeboat_core.restore import state_dir_plan
from lifeboat_core.restore.credential_filler import CredentialFiller, members_of
from lifeboat_core.restore.file_decisions import PlanItem
from lifeboat_core.restore.state_dir_plan import NO_FOLDER, PlanningContext
from lifeboat_core.restore.wanted_contents import find_source_runtime
from lifeboat_core.state.state_documents import load_credentials


@dataclass(frozen=True, slots=True)
class ForeignTranslation:
    """The result for credentials of other runtimes: `files` by archive path; `places` in them, and `reasons` of those
    without one, by id."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    reasons: Mapping[str, Reason] = field(default_factory=dict)


def translate_credentials(around: PlanningContext) -> ForeignTranslation:
    """Translate the credentials of other runtimes, if credentials were asked for. Raises UnsealError for one that was
    tampered with."""
    filler = around.filler
    found = {} if filler is None else _foreign_places(around)
    if filler is None or not found:
        return ForeignTranslation()
    reasons = {id: _reason(around, filler, id) for id in found}
    usable = [id for id, reason in reasons.items() if not reason]
    told = {id: reason for id, reason in reasons.items() if reason}
    if around.installation is None:
        return ForeignTranslation(reasons=told | dict.fromkeys(usable, NO_FOLDER))
    own = _own_places(around, filler)
    known = {id: own[said] for id in usable if (said := _said(filler.value(id))) in own}
    given = [_credential(around, filler, id, found[id]) for id in usable if id not in known]
    credentials = around.adapter.credentials
    if credentials is None:
        said_of = refuse_credentials(around.installation, given)
    else:
        said_of = credentials.translate(around.installation, given, around.state)
        prefix = archive_layout.raw_prefix(around.adapter.runtime)
        if find_source_runtime(around.state) == around.adapter.runtime and _files_below(said_of.files, prefix):
            # A workspace that this runtime was captured with is restored as it was.
            said_of = refuse_credentials(around.installation, given)
    return ForeignTranslation(said_of.files, known | dict(said_of.places), told | dict(said_of.reasons))


def merge_into_workspace(
    around: PlanningContext, folder: Path, items: list[PlanItem], translated: ForeignTranslation
) -> tuple[list[PlanItem], dict[str, MergedHomeFile | PlanItem], ForeignTranslation]:
    """Merge the translated files of the workspace, as far as they are asked for, into the items of a restore. Return
    the items, the decision about each file, and the translation with the paths of the files that are written."""
    prefix = archive_layout.raw_prefix(around.adapter.runtime)
    files = _files_below(translated.files, prefix)
    asked = {path: data for path, data in files.items() if around.options.wants(path.removeprefix(prefix))}
    merged = state_dir_plan.merge_into_workspace(around, folder, items, asked)
    others = {path: data for path, data in translated.files.items() if path not in files}
    places = {id: (merged.paths.get(path, path), keys) for id, (path, keys) in translated.places.items()}
    return merged.items, merged.became, ForeignTranslation(others, places, translated.reasons)


def _files_below(files: Mapping[str, bytes], prefix: str) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.startswith(prefix)}


def _own_places(around: PlanningContext, filler: CredentialFiller) -> dict[frozenset[str], Place]:
    """Return the places of credential values in this runtime's own files, so that an agent that comes back gets its
    credentials under their former names."""
    known = load_credentials(around.state)
    found: dict[frozenset[str], Place] = {}
    for entry in around.inventory.entries.values():
        cuts = entry.meta.get(entry_metas.CUTS) or []
        if not cuts or not entry.path.startswith(archive_layout.home_prefix(around.adapter.runtime)):
            continue
        body, offsets = around.state.body(entry.path), [int(cut["offset"]) for cut in cuts]
        for cut, keys in zip(cuts, find_secret_places(around.adapter, entry.path, body, offsets), strict=True):
            id = str(cut.get("credential_id"))
            if keys and id in known and not _reason(around, filler, id):
                found.setdefault(_said(filler.value(id)), (entry.path, keys))
    return found


def _said(value: str) -> frozenset[str]:
    """Return what a credential says, independent of how a runtime names the members of a login."""
    return frozenset(members_of(value).values()) or frozenset((value,))


def _reason(around: PlanningContext, filler: CredentialFiller, id: str) -> Reason | None:
    return around.bound.get(id) or filler.problem(id)


def _foreign_places(around: PlanningContext) -> dict[str, Sequence[tuple[str, int]]]:
    """Return credentials that stand only in files of other runtimes, with path and offset of each cut."""
    prefixes = (
        archive_layout.raw_prefix(around.adapter.runtime),
        archive_layout.home_prefix(around.adapter.runtime),
        archive_layout.ARTIFACTS,
    )
    own: set[str] = set()
    other: dict[str, list[tuple[str, int]]] = {}
    for entry in around.inventory.entries.values():
        for cut in entry.meta.get(entry_metas.CUTS) or []:
            id = str(cut.get("credential_id"))
            if entry.path.startswith(prefixes):
                own.add(id)
            elif entry.path.startswith(archive_layout.RAW):
                other.setdefault(id, []).append((entry.path, int(cut["offset"])))
    known = load_credentials(around.state)
    return {id: other[id] for id in known if id in other and id not in own}


def _credential(
    around: PlanningContext, filler: CredentialFiller, id: str, cuts: Sequence[tuple[str, int]]
) -> ForeignCredential:
    record = load_credentials(around.state)[id]
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


def _place(around: PlanningContext, cuts: Sequence[tuple[str, int]]) -> Place:
    """Return where a credential stood, preferring the state directory over the workspace."""
    path, offset = min(cuts, key=lambda cut: not _runtime(cut[0]).endswith("-home"))
    try:
        adapter = around.context.adapter(_runtime(path).removesuffix("-home"))
    except UnknownRuntime:
        return path, ()
    return path, find_secret_places(adapter, path, around.state.body(path), [offset])[0]


def _runtime(path: str) -> str:
    return path.removeprefix(archive_layout.RAW).partition("/")[0]
