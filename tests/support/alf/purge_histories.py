"""Histories for purge plans: lists of items, and their content after the purge."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem, PurgeOptions
from lifeboat_alf.purging.purge_planner import plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import apply_edits
from lifeboat_alf.states import merkle
from lifeboat_alf.testing import sample_states

PARTITION = "memory/partitions/2026-Q4.jsonl"
SEED = bytes(range(32))
_counter = itertools.count()


class History:
    """Items under construction. Every method returns the item it made."""

    def __init__(self) -> None:
        self.items: list[PurgeItem] = []

    def file(self, path: str, body: bytes, **meta: Any) -> PurgeItem:
        return self._add(PurgeItem(merkle.new_leaf(body), lambda: body, path=path, meta=meta))

    def record(self, content: str, **fields: Any) -> PurgeItem:
        """Add a record or, with `id`, another version of one."""
        partition = fields.pop("partition", PARTITION)
        made = sample_states.make_record(content, **fields)
        line = json_codec.encode_json(made)
        return self._add(PurgeItem(merkle.new_leaf(line), lambda: line, record_id=made["id"], partition=partition))

    def _add(self, item: PurgeItem) -> PurgeItem:
        self.items.append(item)
        return item

    def plan(
        self, *record_ids: str, text: str | None = None, wanted: PurgeTerms | None = None, **options: Any
    ) -> CutPlan:
        asked = wanted or PurgeTerms(() if text is None else (text,))
        return plan_cuts(lambda: self.items, sample_states.AGENT_ID, record_ids, asked, PurgeOptions(**options))


def after(plan: CutPlan, item: PurgeItem) -> bytes | None:
    """Return an item's bytes after the plan; None when it is gone."""
    if item.leaf.digest not in plan.leaves:
        return item.body()
    replacement = plan.leaves[item.leaf.digest]
    return None if replacement is None else apply_edits(item.body(), replacement.edits)


def said_in(body: bytes) -> Iterator[str]:
    """Yield everything that bytes say when decoded: as text, as JSON, as lines of JSON, as UTF-16, and JSON inside JSON
    strings."""
    yield body.decode("utf-8", "replace")
    yield body.decode("utf-16", "replace")
    for part in (body, *body.split(b"\n")):
        try:
            value = json.loads(part)
        except ValueError:
            continue
        yield from _strings(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value
        try:
            inner = json.loads(value)
        except ValueError:
            return
        yield from _strings(inner) if not isinstance(inner, str | int | float) else (str(inner),)
    else:
        yield str(value)
