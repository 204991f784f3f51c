"""Join purges that several machines made independently: a joint redaction says what remains of the leaves that they
share.

Overlapping removals become one. A removal's insertion stays unless another removal covers it; the digest in a record's
mark is computed again from what the record says now. If the result could not be read, the smallest readable unit goes:
JSON becomes `{}`, a record its tombstone, a file of vectors loses all of them (they can be computed again). Every
machine computes the same result, from the old bytes or from what one of the purges left of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import msgspec

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import is_json
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.errors import AlfError
from lifeboat_alf.memory import embeddings
from lifeboat_alf.purging import record_line_cuts
from lifeboat_alf.purging.purge_items import PurgeItem
from lifeboat_alf.redaction.redactions import (
    NONE,
    ByteEdit,
    LeafReplacement,
    Redaction,
    Redactions,
    carry_edits,
    covers_spans,
    spans_of,
)
from lifeboat_alf.states import merkle

Edits = tuple[ByteEdit, ...]

_NO_VECTORS = json_codec.encode_json({"vectors": []})


def find_contested_leaves(known: Redactions, fresh: Redaction) -> list[bytes]:
    """Return the leaves on which a redaction contradicts the known ones."""
    named = [leaf for leaf in fresh.leaves if known.all_naming(leaf)]
    if not named or fresh.id in known:
        return []
    both = Redactions((*known, fresh))
    return [leaf for leaf in named if both.is_contested(leaf)]


def join_redactions(
    known: Redactions, fresh: Redaction, items: Callable[[], Iterable[PurgeItem]], now: str
) -> Redaction | None:
    """Return the unsigned redaction to apply before `fresh`, so that only what one of them removes is removed.

    None where they agree, or where none of the contested items is held. `items` are those of a history, as for
    `plan_cuts`, with their current bytes.
    """
    leaves = find_contested_leaves(known, fresh)
    if not leaves:
        return None
    both = Redactions((*known, fresh))
    made: dict[bytes, LeafReplacement | None] = dict(
        _made(both, _chosen(both, fresh, frozenset(leaves), items), items, fresh.agent_id)
    )
    if not made:
        return None
    return _of(_naming(both, made), made, now)


def find_joined(known: Redactions, fresh: Redaction, joint: Redaction) -> list[Redaction]:
    """Return the redactions that a joint redaction made by `join_redactions` combines, oldest first."""
    return _naming(Redactions((*known, fresh)), joint.leaves)


def _naming(every: Redactions, leaves: Iterable[bytes]) -> list[Redaction]:
    named = {each.id: each for leaf in leaves for each in every.all_naming(leaf)}
    return sorted(named.values(), key=lambda each: (each.requested_at, each.id))


def _of(joined: list[Redaction], leaves: dict[bytes, LeafReplacement | None], now: str) -> Redaction:
    searched = set(joined[0].searched).intersection(*(each.searched for each in joined))
    return replace(
        joined[-1],
        id=ids.make_id(now),
        requested_at=now,
        record_ids=tuple(sorted({one for each in joined for one in each.record_ids})),
        partitions_affected=tuple(sorted({one for each in joined for one in each.partitions_affected})),
        searched=tuple(sorted(searched)),
        leaves=leaves,
        signature=None,
    )


def select_confirmed(applied: Redactions, waiting: Iterable[Redaction]) -> list[Redaction]:
    """Return the waiting redactions that remove no more than was already applied, and only on leaves where the applied
    ones contradict each other. Those need no confirmation."""
    return [
        each for each in waiting if each.leaves and all(_takes_no_more(applied, each, leaf) for leaf in each.leaves)
    ]


def _takes_no_more(applied: Redactions, redaction: Redaction, leaf: bytes) -> bool:
    made = redaction.leaves[leaf]
    if made is None or not applied.is_contested(leaf):
        return False
    named = [each.leaves[leaf] for each in applied.all_naming(leaf)]
    every = spans_of(unite_edits(each.edits for each in named if each is not None))
    return covers_spans(every, spans_of(made.edits)) and covers_spans(spans_of(made.edits), every)


# Order ------------------------------------------------------------------------------------------------------------


def find_overriding(known: Redactions, redaction: Redaction) -> list[Redaction]:
    """Return the other redactions that decide where a redaction cuts less. A reader that applies those first loses
    nothing."""
    found: dict[str, Redaction] = {}
    for leaf in redaction.leaves:
        every = known.all_naming(leaf)
        standing = known.naming(leaf) if len(every) > 1 else None
        if standing is not None and standing.id != redaction.id and not known.is_contested(leaf):
            found[standing.id] = standing
    return list(found.values())


def order_redactions(redactions: Iterable[Redaction], known: Redactions = NONE) -> list[Redaction]:
    """Return the redactions with those first that join others or cut more of the same; otherwise in the given order."""
    wanted = {each.id: each for each in redactions}
    every = known.joined(wanted.values())
    made: dict[str, Redaction] = {}
    for each in wanted.values():
        _put(each, every, wanted, made, set())
    return list(made.values())


def _put(
    redaction: Redaction,
    every: Redactions,
    wanted: dict[str, Redaction],
    made: dict[str, Redaction],
    above: set[str],
) -> None:
    if redaction.id in made or redaction.id in above:
        return
    for each in find_overriding(every, redaction):
        if each.id in wanted:
            _put(each, every, wanted, made, above | {redaction.id})
    made[redaction.id] = redaction


# Leaves -----------------------------------------------------------------------------------------------------------


def _chosen(
    both: Redactions, fresh: Redaction, leaves: frozenset[bytes], items: Callable[[], Iterable[PurgeItem]]
) -> frozenset[bytes]:
    """Return the leaves to join. Vector files depend on each other: if one is joined, so are all that both sides
    changed."""
    vectors = {item.leaf.digest for item in items() if _is_vector(item) and item.leaf.digest in fresh.leaves}
    if vectors.isdisjoint(leaves):
        return leaves
    return leaves | {leaf for leaf in vectors if len(both.all_naming(leaf)) > 1}


def _is_vector(item: PurgeItem) -> bool:
    return item.path is not None and item.path.startswith(archive_layout.EMBEDDINGS)


def _made(
    both: Redactions, chosen: frozenset[bytes], items: Callable[[], Iterable[PurgeItem]], agent_id: str
) -> Iterator[tuple[bytes, LeafReplacement]]:
    done = set[bytes]()
    for item in items():
        leaf = item.leaf.digest
        if leaf in done or leaf not in chosen:
            continue
        replacements = [each.leaves[leaf] for each in both.all_naming(leaf)]
        named = [each for each in replacements if each is not None]
        made = None if len(named) < len(replacements) else _of_item(item, named, agent_id)
        if made is not None:
            done.add(leaf)
            yield leaf, made


def _of_item(item: PurgeItem, named: list[LeafReplacement], agent_id: str) -> LeafReplacement | None:
    """Return the joined replacement; None when the bytes are not held, or are not what one of these redactions left."""
    try:
        body = item.body()
    except KeyError:
        return None
    past = _edits_of(item, body, named)
    if past is None:
        return None
    wanted, left = _joined(item, body, past, named, agent_id)
    return LeafReplacement(merkle.new_leaf(left), wanted)


def _edits_of(item: PurgeItem, body: bytes, named: list[LeafReplacement]) -> Edits | None:
    """Return the edits that were already applied to these bytes."""
    if item.leaf.salt:
        return () if merkle.leaf_holds(item.leaf, body) else None
    return next((each.edits for each in named if merkle.leaf_holds(each.leaf, body)), None)


def _joined(
    item: PurgeItem, body: bytes, past: Edits, named: list[LeafReplacement], agent_id: str
) -> tuple[Edits, bytes]:
    whole = len(body) + sum(edit.length - len(edit.insert) for edit in past)
    if _is_vector(item):
        rest = _NO_VECTORS if embeddings.is_index(item.path or "") else b""
        return (ByteEdit(0, whole, rest),), rest
    wanted = unite_edits(each.edits for each in named)
    left = carry_edits(body, past, wanted)
    if item.partition is not None:
        return _of_record(wanted, body, past, left, whole, agent_id)
    if (item.path or "").endswith(".json") and is_json(body) and not is_json(left):
        return (ByteEdit(0, whole, b"{}"),), b"{}"
    return wanted, left


def _of_record(wanted: Edits, body: bytes, past: Edits, left: bytes, whole: int, agent_id: str) -> tuple[Edits, bytes]:
    """Return the edits and bytes of a record. It keeps the rest of its text; an empty one is closed, as by a purge of
    both passages."""
    if not is_json(body):
        return wanted, left
    if not record_line_cuts.read_line_content(left).strip():
        source = left if is_json(left) else body
        close = record_line_cuts.make_tombstone if is_json(left) else record_line_cuts.make_bare_tombstone
        try:
            made = close(source, agent_id)
        except (AlfError, msgspec.DecodeError):
            made = b""
        return (ByteEdit(0, whole, made),), made
    marked = tuple(
        edit._replace(insert=record_line_cuts.digest_record_text(left, len(edit.insert)))
        if record_line_cuts.is_mark(edit.insert)
        else edit
        for edit in wanted
    )
    return marked, carry_edits(body, past, marked)


# Edits ------------------------------------------------------------------------------------------------------------


def unite_edits(runs: Iterable[Iterable[ByteEdit]]) -> Edits:
    """Return edits that remove everything that any of the runs removes, counted in the same bytes, in any order.

    An edit that covers all the edits it overlaps keeps its insertion. Nothing is inserted where edits overlap in part
    or insert different text for the same bytes. Of two marks one stays, to be computed again.
    """
    every = sorted({edit for run in runs for edit in run}, key=lambda edit: (edit.offset, -edit.length, edit.insert))
    made: list[ByteEdit] = []
    for edit in every:
        end = edit.offset + edit.length
        if not made or edit.offset >= made[-1].offset + made[-1].length:
            made.append(edit)
            continue
        last = made[-1]
        if edit[:2] == last[:2] and not (
            record_line_cuts.is_mark(edit.insert) and record_line_cuts.is_mark(last.insert)
        ):
            made[-1] = ByteEdit(last.offset, last.length)
        elif end > last.offset + last.length:
            made[-1] = ByteEdit(last.offset, end - last.offset)
    return tuple(made)
