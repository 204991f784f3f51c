"""Sum up a restore in one sentence, in the terms of a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.texts.human_text import count_text, join_names

MOST_NAMED = 3
"""How many things that were left out the sentence names."""


class LeftOutThing(NamedTuple):
    """Something that a restore left out. `reason` is a short one."""

    name: str
    reason: str


def summarize_restore(report: JsonObject, *, is_dry_run: bool = False) -> str:
    """Return a sentence without its full stop, from the JSON of a restore, an undo, an import or a plan.

    Example: `19 files, 36 memories and 3 credentials restored; 1 left out: gateway token (bound to the other machine)`.
    """
    files = report["files"]
    is_undo = report.get("kind") == "undo"
    written = files["created"] + files["overwritten"]
    is_there = bool(files["same"]) and not written
    counts = {
        "file": written,
        "memory": 0 if is_undo or is_there else _count_memories(report),
        "credential": 0 if is_undo else _count_injected(report),
    }
    restored_items = join_names([count_text(count, noun) for noun, count in counts.items() if count])
    clauses = [
        f"{restored_items} {'would be restored' if is_dry_run else 'restored'}"
        if restored_items
        else "nothing to restore"
    ]
    if files["same"]:
        clauses.append(f"{count_text(files['same'], 'file')} unchanged")
    if files["removed"]:
        clauses.append(f"{count_text(files['removed'], 'file')} {'would be removed' if is_dry_run else 'removed'}")
    if not is_undo:
        clauses += _left_out_clauses(report)
    return "; ".join(clauses)


def _count_memories(report: JsonObject) -> int:
    """Return how many memories are in the target. A plan has no count, only its receipt."""
    if "records" in report:
        return int(report["records"]["restored"])
    fates = report.get("fates", ())
    stands = (each for each in fates if each["kind"] == "memory" and each["outcome"] in _STANDING)
    return sum(len(each["names"]) for each in stands)


_STANDING = ("accepted", "transformed", "deduplicated")


def _count_injected(report: JsonObject) -> int:
    found = report["credentials"]
    return int(found["injected"]) if isinstance(found, dict) else sum(each["outcome"] == "injected" for each in found)


def list_left_out(report: JsonObject) -> list[LeftOutThing]:
    """Return what a restore left out: files that are not there, and credentials that were asked for."""
    files = [
        LeftOutThing(each["name"], _SHORT.get(each.get("reason_code"), each["reason"]))
        for each in (*report.get("left_out", ()), *_missing_files(report))
    ]
    known = {each.name for each in files}
    return [*dict.fromkeys(files), *_credentials(report, known)]


def strip_kind(label: str) -> str:
    """Return the file of a credential's label. The label of a file that is one secret is `FILE: KIND`."""
    return label.partition(": ")[0]


def _missing_files(report: JsonObject) -> Iterator[JsonObject]:
    lost = {each["name"] for each in report.get("left_out", ())}
    return (each for each in report.get("skipped", ()) if each.get("warning") and each["name"] not in lost)


def _credentials(report: JsonObject, known: set[str]) -> Iterator[LeftOutThing]:
    """Yield the credentials that were left out, except those of files that are known to be left out as a whole."""
    found = report["credentials"]
    details = found if isinstance(found, (list, tuple)) else report.get("credential_details", ())
    for each in details:
        is_asked = each["outcome"] != "injected" and each["reason_code"] != LeftOutCode.NOT_ASKED
        if is_asked and strip_kind(each["label"]) not in known:
            name = "gateway token" if each["reason_code"] == LeftOutCode.BOUND_GATEWAY else each["label"]
            yield LeftOutThing(name, _SHORT.get(each["reason_code"], each["reason"] or ""))


_SHORT = dict.fromkeys((LeftOutCode.BOUND_CHANNEL, LeftOutCode.BOUND_GATEWAY), "bound to the other machine")
"""Shorter reasons for the sentence. The receipt has the whole ones."""


def _left_out_clauses(report: JsonObject) -> Iterator[str]:
    found = list_left_out(report)
    if found:
        named = [f"{each.name} ({each.reason})" if each.reason else each.name for each in found[:MOST_NAMED]]
        more = [f"{len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
        yield f"{len(found):,} left out: {join_names([*named, *more])}"
    counts = report["credentials"]
    if isinstance(counts, dict) and counts["skipped"] and not report.get("credential_details"):
        yield f"{count_text(counts['skipped'], 'credential')} not restored"
