"""Parts of a state that no bundle holds: identity, principals, credentials and files."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Entry, State
from lifeboat_formats.aimem.convert.existing_memories import ORPHANS

_KEPT = "a bundle holds memories only; it stays in the archive"


def list_omitted_parts(state: State, *, with_identity: bool) -> Iterator[ItemFate]:
    """Yield a fate for each such part. Raw files whose memories have their own fates are skipped, and so is what an
    archive says about itself."""
    for entry in state.entries():
        fate = _fate(entry, with_identity=with_identity)
        if fate is not None:
            yield fate


def _fate(entry: Entry, *, with_identity: bool) -> ItemFate | None:
    path = entry.path
    if path == archive_layout.IDENTITY:
        if with_identity:
            return ItemFate(
                "identity", path, ItemOutcome.TRANSFORMED, "its texts are memories of type identity, no more"
            )
        return ItemFate("identity", path, ItemOutcome.OMITTED, "only with --include-identity")
    if path == archive_layout.PRINCIPALS:
        return ItemFate("principal", path, ItemOutcome.OMITTED, _KEPT)
    if path == archive_layout.CREDENTIALS:
        return ItemFate("credential", path, ItemOutcome.OMITTED, "credentials never leave in a bundle")
    if path.startswith(archive_layout.ARTIFACTS):
        return ItemFate("artifact", path, ItemOutcome.OMITTED, _KEPT)
    if path.startswith(archive_layout.RAW) and not entry.meta.get(entry_metas.RECORDS) and path != ORPHANS:
        return ItemFate("file", path, ItemOutcome.OMITTED, _KEPT) if entry_metas.is_file(entry.meta) else None
    return None
