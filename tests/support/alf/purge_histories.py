"""Histories for plans of purges: items in lists, and what they read like afterwards."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from lifeboat_alf import codec, merkle, testing
from lifeboat_alf.purging.items import CutPlan, Item, Options
from lifeboat_alf.purging.planning import plan_cuts
from lifeboat_alf.purging.wanted import Wanted
from lifeboat_alf.redactions import edited

PARTITION = "memory/partitions/2026-Q4.jsonl"
SEED = bytes(range(32))
_counter = itertools.count()


class History:
    """Items under construction. Every method gives the item it made."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def file(self, path: str, body: bytes, **meta: Any) -> Item:
        return self._add(Item(merkle.new_leaf(body), lambda: body, path=path, meta=meta))

    def record(self, content: str, **fields: Any) -> Item:
        """A record, or with `id` another version of one."""
        partition = fields.pop("partition", PARTITION)
        made = testing.record(content, **fields)
        line = codec.encode(made)
        return self._add(Item(merkle.new_leaf(line), lambda: line, record_id=made["id"], partition=partition))

    def _add(self, item: Item) -> Item:
        self.items.append(item)
        return item

    def plan(self, *record_ids: str, text: str | None = None, wanted: Wanted | None = None, **options: Any) -> CutPlan:
        asked = wanted or Wanted(() if text is None else (text,))
        return plan_cuts(lambda: self.items, testing.AGENT_ID, record_ids, asked, Options(**options))


def after(plan: CutPlan, item: Item) -> bytes | None:
    """What an item reads like; None when it is gone."""
    if item.leaf.digest not in plan.leaves:
        return item.body()
    replacement = plan.leaves[item.leaf.digest]
    return None if replacement is None else edited(item.body(), replacement.edits)


def said_in(body: bytes) -> Iterator[str]:
    """Everything that bytes say to somebody who decodes them: as text, as JSON, as lines of JSON, as UTF-16, and the
    JSON in strings of JSON."""
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
