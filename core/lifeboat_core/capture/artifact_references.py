"""Maintain which memories mention which artifact (ALF §3.1.9 `referenced_by`), at a cost that depends on the changes
only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_shapes import texts_in
from lifeboat_alf.states import entry_metas
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.state.state_db import StateDb

_NAMES = re.compile(r"`([^`\n]{1,200})`|\]\(([^)\n]{1,200})\)|((?<![\w.-])[\w.-]+(?:/[\w .-]*[\w-])*\.\w{1,8})")
_WORTH_A_LOOK = re.compile(r"`|\]\(|\.\w")
MOST_MEMORIES = 1000


def find_file_names(text: str) -> set[str]:
    """Return what may be the name or path of a file in a text."""
    if _WORTH_A_LOOK.search(text) is None:
        return set()
    found = {next(filter(None, match.groups()), "") for match in _NAMES.finditer(text)}
    return {name.strip().removeprefix("./") for name in found if name.strip()}


def is_name_of_artifact(name: str, path: str) -> bool:
    """Return whether a name in a text means an artifact: its file name, or the end of its archive path."""
    artifact = path.removeprefix(archive_layout.ARTIFACTS).casefold()
    return f"/{artifact}".endswith(f"/{name.casefold()}")


def update_references(
    overlay: Overlay, db: StateDb, written: dict[str, set[str]], dropped: dict[str, set[str]]
) -> None:
    """Update `referenced_by` of the artifacts. `written` and `dropped` have the file names in texts, by record id."""
    fresh = _new_artifacts(overlay)
    gained: dict[str, list[str]] = {}
    for record_id, names in written.items():
        for path in _artifacts(db, names, fresh):
            gained.setdefault(path, []).append(record_id)
    for path in chain.from_iterable(fresh.values()):
        gained.setdefault(path, [])[:0] = [one for one in _memories_naming(db, path) if one not in dropped]
    lost = {path for names in dropped.values() for path in _artifacts(db, names, {})}
    for path in sorted(lost | gained.keys()):
        _write(overlay, path, gained.get(path, []), dropped.keys())


def _new_artifacts(overlay: Overlay) -> dict[str, list[str]]:
    """Return the artifacts that the head does not have, by case-folded file name."""
    found: dict[str, list[str]] = {}
    for path, put in overlay.puts.items():
        if put is not None and path.startswith(archive_layout.ARTIFACTS) and overlay.old(path) is None:
            found.setdefault(base_name_of(path).casefold(), []).append(path)
    return found


def _artifacts(db: StateDb, names: set[str], fresh: Mapping[str, list[str]]) -> set[str]:
    """Return the artifacts that names mean, among those of the head and `fresh` ones."""
    found: set[str] = set()
    for name in names:
        last = base_name_of(name).casefold()
        found.update(
            path for path in (*db.artifacts_named(last), *fresh.get(last, ())) if is_name_of_artifact(name, path)
        )
    return found


def base_name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _memories_naming(db: StateDb, path: str) -> Iterator[str]:
    """Yield the memories of the head that mention a new file, with one query to the search index."""
    db.fill_words()
    query = f'"{base_name_of(path).replace(chr(34), " ")}"'
    rows = db.connection.execute(
        "select m.id, m.content from words join memory m on m.number = words.rowid where words match ? limit ?",
        (query, MOST_MEMORIES),
    )
    for record_id, content in rows:
        if any(is_name_of_artifact(one, path) for one in find_file_names(content)):
            yield record_id


def _write(overlay: Overlay, path: str, gained: list[str], dropped: Iterable[str]) -> None:
    meta = overlay.meta(path)
    if meta is None or entry_metas.ATTACHMENT not in meta:
        return
    attachment = dict(meta[entry_metas.ATTACHMENT])
    gone = set(dropped) - set(gained)
    ids = [one for one in texts_in(attachment.pop("referenced_by", None)) if one not in gone]
    ids = list(dict.fromkeys([*ids, *gained]))
    if ids:
        attachment["referenced_by"] = ids
    overlay.set_meta(path, {**meta, entry_metas.ATTACHMENT: attachment})
