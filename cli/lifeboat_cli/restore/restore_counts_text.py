"""Describe what a restore or an import did not write unchanged, from its receipt."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.texts.human_text import count_text, path_text

_ARRIVED = ("accepted", "deduplicated")
_STAY_OUT = ("unresolved", "omitted", "rejected")
_WITHOUT_NAMES = ("memory", "credential", "identity", "principal")
_UNREMARKABLE = frozenset({"computed_again", "merged"})
"""Codes of what the runtime makes itself, and of what is complete in another form."""
_NOT_ASKED = "not_asked"
_KEPT_IN_ARCHIVE, _NEVER_IN_RUNTIME = "kept_in_archive", ("document", "row", "vector")
_MOST_NAMES, _MOST_GROUPS = 3, 12


def detail_lines(report: JsonObject, *, is_limited: bool = False) -> Iterator[str]:
    """Yield what was not accepted unchanged, except what a warning or a line about a credential already says.
    `is_limited`: the user asked for some files only, so the others are not mentioned."""
    groups = [
        each
        for each in report["fates"]
        if each["outcome"] not in _ARRIVED
        and not (is_limited and each["code"] == _NOT_ASKED)
        and not _is_told(each, report)
    ]
    for group in groups[:_MOST_GROUPS]:
        yield _group_line(group)
    if len(groups) > _MOST_GROUPS:
        yield f"{count_text(len(groups) - _MOST_GROUPS, 'more group')} not shown; to list all: --json"


def _is_told(group: JsonObject, report: JsonObject) -> bool:
    if group["kind"] == "credential" and group["outcome"] in _STAY_OUT and report.get("credential_details"):
        return True
    if group["code"] in _UNREMARKABLE or (group["code"] == _KEPT_IN_ARCHIVE and group["kind"] in _NEVER_IN_RUNTIME):
        return True
    told = {each["code"] for each in report["skipped"] if each.get("warning")}
    return group["code"] in told | {each["code"] for each in report["left_out"]}


def _group_line(group: JsonObject) -> str:
    count = count_text(len(group["names"]), group["kind"])
    reason = f": {group['reason']}" if group["reason"] else ""
    return f"{count} {group['outcome']}{_names(group)}{reason}"


def _names(group: JsonObject) -> str:
    if group["kind"] in _WITHOUT_NAMES:
        return ""
    names = [path_text(name) for name in group["names"][:_MOST_NAMES]]
    more = len(group["names"]) - len(names)
    return f" ({', '.join(names)}{f' and {more} more' if more else ''})"
