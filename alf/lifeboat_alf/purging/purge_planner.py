"""Plan a purge: which records are removed, how every version of every file reads afterwards, and a check that no match
is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.purging import digest_marks, record_line_cuts
from lifeboat_alf.purging.body_cuts import BodyCut, cut_body
from lifeboat_alf.purging.byte_spans import Span, join_spans
from lifeboat_alf.purging.match_places import MatchPlaces
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem, PurgeOptions
from lifeboat_alf.purging.purge_survey import Items, PurgeSurvey, survey_purge
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.purging.vector_cuts import find_vector_cuts
from lifeboat_alf.redaction.redactions import NONE, ByteEdit, LeafReplacement, Redactions, apply_edits, replacement_of
from lifeboat_alf.states import entry_metas, merkle

Pieces = Callable[[str, bytes, list[str], frozenset[str]], list[Span]]
"""`pieces(path, body, listed, gone)` finds where a file holds the memories `gone`, as the runtime spells them, which
may differ from the record's text. `listed` are the ids of all memories in the file, in order."""


def find_spans_by_text(path: str, body: bytes, listed: list[str], gone: frozenset[str]) -> list[Span]:
    """Find memories by their text alone, for callers that know nothing about the file's runtime."""
    return []


_NOTHING = PurgeTerms()
_DEFAULT = PurgeOptions()


def plan_cuts(
    items: Items,
    agent_id: str,
    record_ids: Iterable[str] = (),
    wanted: PurgeTerms = _NOTHING,
    options: PurgeOptions = _DEFAULT,
    known: Redactions = NONE,
    pieces: Pieces = find_spans_by_text,
) -> CutPlan:
    """Plan the purge of records and search matches from the history of an agent.

    `items` is called several times and must return the same each time; no body is held. If nothing is found the plan is
    empty. With `known` (the redactions already applied), the edits of a leaf that they name count in the bytes that the
    leaf commits to, as a redaction requires. Without it, edits count in the current bytes. `pieces` finds memories in
    files with their own spelling.

    Raises PurgeError for an unknown record id, for more records than `options` allow, and for a match that cannot be
    removed. There is never a partial plan.
    """
    found = survey_purge(items, record_ids, wanted, options)
    planner = _PurgePlanner(agent_id, found, wanted, options, pieces)
    for item in items():
        planner.add(item)
    planner.add_vectors(items)
    planner.check(items)
    return planner.plan(known)


class _PurgePlanner:
    """Collects the replacement of each leaf."""

    def __init__(
        self, agent_id: str, found: PurgeSurvey, wanted: PurgeTerms, options: PurgeOptions, pieces: Pieces
    ) -> None:
        self._agent_id, self._found, self._wanted, self._options = agent_id, found, wanted, options
        self._pieces = pieces
        self._leaves: dict[bytes, LeafReplacement | None] = {}
        self._cut: set[tuple[bytes, str]] = set()
        self._partitions: set[str] = set()
        self._touched: set[str] = set()
        self._files: dict[str, int] = {}
        self._names: dict[str, None] = {}
        self._dropped: dict[str, None] = {}
        self._uncut: set[bytes] = set()
        self._hits = MatchPlaces()

    def plan(self, known: Redactions) -> CutPlan:
        named = self._leaves.items()
        return CutPlan(
            leaves={leaf: made if made is None else known.on_top(leaf, made) for leaf, made in named},
            record_ids=tuple(sorted(self._found.all_gone)),
            partitions=tuple(sorted(self._partitions)),
            files=dict(sorted(self._files.items())),
            hits=self._hits.listed(),
            names=tuple(self._names),
            dropped=tuple(self._dropped),
            spared=tuple(sorted(self._found.spared)),
        )

    def add(self, item: PurgeItem) -> None:
        """Plan one item, except vectors."""
        if item.record_id is not None and item.partition is not None:
            if self._concerns_records(item.record_id):
                self._add_record(item, item.record_id, item.partition)
        elif item.path is not None and not item.path.startswith(archive_layout.EMBEDDINGS):
            self._add_name(item.path, item.meta)
            if entry_metas.is_file(item.meta):
                self._add_entry(item, item.path)

    # Records ----------------------------------------------------------------------------------------------------

    def _concerns_records(self, record_id: str) -> bool:
        return self._options.passage or record_id in self._found.all_gone or record_id in self._found.echoes

    def _add_record(self, item: PurgeItem, record_id: str, partition: str) -> None:
        line = _held(item)
        if not line:
            return
        if record_id in self._found.all_gone:
            self._partitions.add(partition)
            places = self._wanted.spans(partition, line)
            self._hits.of_record(record_id, line, places, places)
            is_single = self._options.only or record_id in self._found.alone
            closes = is_single and self._found.kinship.has_chain(record_id)
            self._leaves[item.leaf.digest] = self._closed(line, partition) if closes else None
            return
        find = self._find_in_record(partition)
        made = cut_body(partition, line, find, passage=True)
        if made is None:
            return
        self._partitions.add(partition)
        self._touched.add(record_id)
        self._hits.of_record(record_id, line, made.spans, self._wanted.spans(partition, line))
        emptied = not made.body or (
            record_line_cuts.read_line_content(line) and not record_line_cuts.read_line_content(made.body).strip()
        )
        edits = sorted([*made.edits, *record_line_cuts.update_content_marks(line, made.body)])
        replacement = self._closed(line, partition) if emptied else replacement_of(line, edits)
        self._leaves[item.leaf.digest] = replacement

    def _find_in_record(self, partition: str) -> Callable[[bytes], list[Span]]:
        """Return the search for records that stay."""

        def find(line: bytes) -> list[Span]:
            found = self._wanted.spans(partition, line) if self._options.passage else []
            others = [] if self._options.only else self._found.texts.spans(partition, line)
            return join_spans([*found, *others])

        return find

    def _closed(self, line: bytes, partition: str) -> LeafReplacement:
        """Return a tombstone under the record's own id, without the name of its file where that matches too."""
        for made in (
            record_line_cuts.make_tombstone(line, self._agent_id),
            record_line_cuts.make_bare_tombstone(line, self._agent_id),
        ):
            if not self._wanted.spans(partition, made):
                return replacement_of(line, (ByteEdit(0, len(line), made),))
        raise PurgeError(
            "the text to purge also matches the placeholder that a purge writes in place of a record; purge "
            "a longer text"
        )

    # Entries ----------------------------------------------------------------------------------------------------

    def _add_name(self, path: str, meta: JsonObject) -> None:
        if not self._wanted or path in self._names:
            return
        if self._wanted.stands_in(path) or any(self._wanted.stands_in(text) for text in _texts_in(meta)):
            self._names[path] = None
            self._hits.of_name(path)

    def _add_entry(self, item: PurgeItem, path: str) -> None:
        body = _held(item)
        if not body or item.leaf.digest in self._uncut:
            return
        before = self._leaves.get(item.leaf.digest)
        also = () if before is None else before.edits
        pieces = self._pieces_in(item, path, body)
        made = cut_body(path, body, self._find_in(item, path), passage=self._options.passage, also=also, pieces=pieces)
        if made is None or (
            before is not None and made.edits == before.edits and (item.leaf.digest, path) in self._cut
        ):
            return
        if path == archive_layout.MANIFEST and not _same_head(body, made.body):
            self._uncut.add(item.leaf.digest)
            self._names[path] = None
            self._hits.of_name(path)
            return
        self._cut.add((item.leaf.digest, path))
        self._take(item, path, body, made)

    def _take(self, item: PurgeItem, path: str, body: bytes, made: BodyCut) -> None:
        self._leaves[item.leaf.digest] = replacement_of(body, _with_mark(body, made))
        self._files[path] = self._files.get(path, 0) + len(made.spans)
        self._hits.of_file(path, body, made.spans, self._wanted.spans(path, body))
        if made.is_dropped:
            self._dropped[path] = None

    def _find_in(self, item: PurgeItem, path: str) -> Callable[[bytes], list[Span]]:
        """Return the search for an entry. The manifest's head holds no memory, so only search terms apply to it."""
        listed = [record_id for record_id in item.meta.get(entry_metas.RECORDS, ()) if record_id in self._found.gone]
        texts = self._found.texts if path != archive_layout.MANIFEST else None

        def find(body: bytes) -> list[Span]:
            found = self._wanted.spans(path, body)
            return join_spans([*found, *texts.spans(path, body, listed)]) if texts else found

        return find

    def _pieces_in(self, item: PurgeItem, path: str, body: bytes) -> list[Span]:
        """Return where a file holds the removed memories. Memories removed earlier are still listed but have no
        place."""
        listed = [name for name in item.meta.get(entry_metas.RECORDS, ()) if name in self._found.kinship.known]
        gone = self._found.all_gone.intersection(listed)
        return self._pieces(path, body, listed, gone) if gone else []

    # Vectors ----------------------------------------------------------------------------------------------------

    def add_vectors(self, items: Items) -> None:
        """Plan the vectors of records that are removed or change their text."""
        for leaf, (path, made) in find_vector_cuts(items, self._found.all_gone | self._touched).items():
            self._leaves[leaf] = LeafReplacement(merkle.new_leaf(made.body), made.edits)
            self._files.setdefault(path, 0)
            if made.is_dropped:
                self._dropped[path] = None

    # Verification -----------------------------------------------------------------------------------------------

    def check(self, items: Items) -> None:
        """Apply the plan in memory and search again. Raises PurgeError when a match is left."""
        for item in items():
            replacement = self._leaves.get(item.leaf.digest)
            if replacement is None:
                continue
            after = apply_edits(_held(item), replacement.edits)
            if not merkle.leaf_holds(replacement.leaf, after) or self._found_in(item, after):
                raise PurgeError(
                    "the purge was stopped, because a part of the text would remain in "
                    f"{item.path or item.record_id}; nothing was changed"
                )

    def _found_in(self, item: PurgeItem, after: bytes) -> list[Span]:
        if item.partition is not None:
            is_left = item.record_id not in self._found.all_gone
            found = self._find_in_record(item.partition)(after) if is_left else []
            return found or self._wanted.spans(item.partition, after)
        return self._find_in(item, item.path or "")(after)


def _held(item: PurgeItem) -> bytes:
    """Return the bytes of an item; empty bytes where they are not held."""
    try:
        return item.body()
    except KeyError:
        return b""


def _texts_in(meta: Any) -> Iterable[str]:
    """Yield the words in a meta that a user chose: the target of a link, the description of an artifact."""
    if isinstance(meta, str):
        yield meta
    elif isinstance(meta, dict):
        for name, value in meta.items():
            if name not in (entry_metas.RECORDS, entry_metas.CUTS, "referenced_by", "id", "mtime_ns"):
                yield from _texts_in(value)
    elif isinstance(meta, list):
        for value in meta:
            yield from _texts_in(value)


def _same_head(before: bytes, after: bytes) -> bool:
    """Return whether two versions of the head name the same agent and partitions."""
    if not after:
        return False
    old, new = json_codec.decode_json(before), json_codec.decode_json(after)
    ids = [each.get("agent", {}).get("id") for each in (old, new)]
    return bool(ids[0] == ids[1] and old.get("partitions") == new.get("partitions"))


def _with_mark(body: bytes, made: BodyCut) -> list[ByteEdit]:
    """Return the edits of a file, including the edit of its digest."""
    mark = digest_marks.update_digest_mark(body, made.body)
    if mark is None or made.is_dropped:
        return list(made.edits)
    end = mark.offset + mark.length
    others = [each for each in made.edits if each.offset + each.length <= mark.offset or each.offset >= end]
    gone = [each for each in made.edits if each not in others and (each.offset, each.length) != mark[:2]]
    return list(made.edits) if gone else sorted([*others, mark])
