"""Cut the vectors of purged records out of every version of their files.

An index does not say which version of its file it belongs to; only the lengths tell. Where several versions fit and
disagree on what to remove, all vectors of that version are removed. They can be computed again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import AlfError
from lifeboat_alf.memory import embeddings
from lifeboat_alf.memory.embeddings import FLOAT_BYTES, EmbeddingGroup
from lifeboat_alf.purging.body_cuts import BodyCut, cut_whole_body
from lifeboat_alf.purging.byte_spans import Span, join_spans
from lifeboat_alf.purging.purge_items import PurgeItem
from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits

_PART = re.compile(rb"[^,]*,|[^,]+")
_EMPTY = json_codec.encode_json({"vectors": []})


@dataclass(slots=True)
class _VectorLayout:
    """How one version of an index lays out one file: the file's length, and the places of the vectors to remove."""

    index: bytes
    length: int
    spans: list[Span]


def find_vector_cuts(
    items: Callable[[], Iterable[PurgeItem]], record_ids: Collection[str]
) -> dict[bytes, tuple[str, BodyCut]]:
    """Return {leaf: (path, cut)} for every vector file and index with data of a record. Walks the items twice."""
    gone = frozenset(record_ids)
    if not gone:
        return {}
    made: dict[bytes, tuple[str, BodyCut]] = {}
    layouts: dict[str, list[_VectorLayout]] = {}
    touched: set[str] = set()
    for item, path, body in _bodies(items, embeddings.is_index):
        groups = _groups(path, body)
        for file in {group.file for group in groups}:
            layouts.setdefault(file, []).append(_layout(item, file, groups, gone))
        if any(not gone.isdisjoint(group.records) for group in groups):
            touched |= {group.file for group in groups if not gone.isdisjoint(group.records)}
            made[item.leaf.digest] = path, _replaced(body, _index_without(body, groups, gone))
    emptied: set[bytes] = set()
    for item, path, body in _bodies(items, touched.__contains__):
        fitting = [each for each in layouts[path] if each.length == len(body)]
        chosen = {tuple(each.spans) for each in fitting}
        if len(chosen) != 1:
            emptied |= {each.index for each in fitting}
            made[item.leaf.digest] = path, cut_whole_body(path, body)
        elif spans := fitting[0].spans:
            edits = tuple(ByteEdit(start, end - start) for start, end in spans)
            made[item.leaf.digest] = path, BodyCut(edits, apply_edits(body, edits), spans, is_dropped=False)
    if emptied:
        made |= {
            item.leaf.digest: (path, _replaced(body, _EMPTY))
            for item, path, body in _bodies(items, embeddings.is_index)
            if item.leaf.digest in emptied
        }
    return made


def _bodies(
    items: Callable[[], Iterable[PurgeItem]], chosen: Callable[[str], bool]
) -> Iterable[tuple[PurgeItem, str, bytes]]:
    for item in items():
        if item.path is None or not item.path.startswith(archive_layout.EMBEDDINGS) or not chosen(item.path):
            continue
        try:
            yield item, item.path, item.body()
        except KeyError:
            continue


def _groups(path: str, body: bytes) -> list[EmbeddingGroup]:
    """Return the groups of an index; [] for a malformed one, through which no vector can be found."""
    try:
        return embeddings.read_groups(path, body)
    except AlfError:
        return []


def _layout(item: PurgeItem, file: str, groups: list[EmbeddingGroup], gone: frozenset[str]) -> _VectorLayout:
    own = [group for group in groups if group.file == file]
    length = max(group.offset + group.dimensions * FLOAT_BYTES * len(group.records) for group in own)
    return _VectorLayout(item.leaf.digest, length, join_spans(span for group in own for span in _places(group, gone)))


def _places(group: EmbeddingGroup, gone: frozenset[str]) -> Iterable[Span]:
    length = group.dimensions * FLOAT_BYTES
    for number, record_id in enumerate(group.records):
        if record_id in gone:
            start = group.offset + number * length
            yield start, start + length


def _index_without(body: bytes, groups: list[EmbeddingGroup], gone: frozenset[str]) -> bytes:
    """Return the index without the vectors of some records. Fields of other writers stay."""
    document = json_codec.decode_json(body.removeprefix(b"\xef\xbb\xbf"))
    kept = []
    for listed, group in zip(document["vectors"], groups, strict=True):
        stays = [number for number, record_id in enumerate(group.records) if record_id not in gone]
        before = [span for other in groups if other.file == group.file for span in _places(other, gone)]
        shift = sum(end - start for start, end in set(before) if end <= group.offset)
        if stays:
            lists = {name: [listed[name][number] for number in stays] for name in ("records", "computed_at")}
            kept.append({**listed, **lists, "offset": group.offset - shift})
    made = {**document, "vectors": kept}
    return json_codec.encode_pretty(made) if body.startswith(b"{\n") else json_codec.encode_json(made)


def _replaced(body: bytes, new: bytes) -> BodyCut:
    """Return a cut with as few edits as possible: an index names hundreds of records, and a purge may concern a
    thousand versions."""
    old_parts, new_parts = (_PART.findall(data) for data in (body, new))
    starts = list(accumulate(map(len, old_parts), initial=0))
    steps = SequenceMatcher(None, old_parts, new_parts, autojunk=False).get_opcodes()
    edits = tuple(
        ByteEdit(starts[first], starts[last] - starts[first], b"".join(new_parts[new_first:new_last]))
        for step, first, last, new_first, new_last in steps
        if step != "equal"
    )
    return BodyCut(edits, new, [], is_dropped=False)
