"""What of a state no bundle ever holds: who the agent is and knows, its credentials, its files."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_alf import layout, metas
from lifeboat_alf.state import Entry, State
from lifeboat_formats.aimem.existing import ORPHANS

_KEPT = "a bundle holds memories only; it stays in the archive"


def fates_of(state: State, *, with_identity: bool) -> Iterator[Fate]:
    """A fate for each of them. Raw files whose memories are told for themselves are not named again, nor what an
    archive says about itself."""
    for entry in state.entries():
        fate = _fate(entry, with_identity=with_identity)
        if fate is not None:
            yield fate


def _fate(entry: Entry, *, with_identity: bool) -> Fate | None:
    path = entry.path
    if path == layout.IDENTITY:
        if with_identity:
            return Fate("identity", path, Outcome.TRANSFORMED, "its texts are memories of type identity, no more")
        return Fate("identity", path, Outcome.OMITTED, "only with --include-identity")
    if path == layout.PRINCIPALS:
        return Fate("principal", path, Outcome.OMITTED, _KEPT)
    if path == layout.CREDENTIALS:
        return Fate("credential", path, Outcome.OMITTED, "credentials never leave in a bundle")
    if path.startswith(layout.ARTIFACTS):
        return Fate("artifact", path, Outcome.OMITTED, _KEPT)
    if path.startswith(layout.RAW) and not entry.meta.get(metas.RECORDS) and path != ORPHANS:
        return Fate("file", path, Outcome.OMITTED, _KEPT) if metas.is_file(entry.meta) else None
    return None
