"""List what a plan removes besides the matches, for review before the purge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lifeboat_alf.purging import record_line_cuts
from lifeboat_alf.purging.byte_spans import Span
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem
from lifeboat_alf.purging.purge_survey import Items
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import LeafReplacement

BLACK = "█████"
"""Replaces each match of any length."""


def find_collateral_losses(items: Items, plan: CutPlan, wanted: PurgeTerms) -> dict[str, list[str]]:
    """Return what each file (by path) and memory (by id) loses in any version besides the matches: texts with the
    matches blacked out, each once.

    Texts of memories that were named by id are whole.
    """
    found: dict[str, dict[str, None]] = {}
    narrow = replace(wanted, whole_lines=False)
    for item in items() if plan.leaves else ():
        if item.leaf.digest not in plan.leaves:
            continue
        for text in _lost(item, plan.leaves[item.leaf.digest]):
            shown = black_out(text, narrow)
            if shown.replace(BLACK, "").strip():
                found.setdefault(item.path or str(item.record_id), {})[shown] = None
    return {where: list(texts) for where, texts in sorted(found.items())}


def _lost(item: PurgeItem, replacement: LeafReplacement | None) -> Iterator[str]:
    """Yield the removed texts, without digests and ids that follow from them."""
    try:
        body = item.body()
    except KeyError:
        return
    edits = () if replacement is None else replacement.edits
    if item.record_id is not None and (not edits or edits[0].length == len(body)):
        yield record_line_cuts.read_line_content(body)
        return
    for edit in edits:
        if not edit.insert:
            yield body[edit.offset : edit.offset + edit.length].decode("utf-8", "replace").strip()


def black_out(text: str, wanted: PurgeTerms) -> str:
    """Return a text with every match blacked out."""
    data, shown, position = text.encode("utf-8", "surrogatepass"), "", 0
    spans: list[Span] = wanted.spans("", data) if wanted else []
    for start, end in spans:
        shown += data[position:start].decode("utf-8", "replace") + BLACK
        position = end
    return (shown + data[position:].decode("utf-8", "replace")).strip()
