"""What was done with the agents of this home, newest first: from the audits of their vaults and from the receipts of
restores. Names, numbers and times, never content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import WHOLE_AGENT
from lifeboat_alf.seams.file_operations import read_all
from lifeboat_core.agents.agent import Agent
from lifeboat_core.history.sequence_counts import LINE_WORDS
from lifeboat_core.home.context import Context
from lifeboat_core.purge import purged_agent_files
from lifeboat_core.texts.human_text import count_text, group_changes
from lifeboat_vault.vault import AuditRow

_TOLD = {
    "create": "the vault was created",
    "held": "a capture that removed much was held, because the removal may be an accident",
    "accepted": "the current workspace was accepted",
    "forgotten": "the list of forgotten memories was changed",
    "damaged": "a verification found damaged data",
    "verified": "a copy was verified",
    "verified_whole": "every kept sequence was verified",
    "granted": "the agent was given access to its own past",
    "grant_revoked": "the access of the agent to its own past was revoked",
    "proposed": "the agent made a proposal",
    "proposal_accepted": "a proposal of the agent was accepted",
    "proposal_rejected": "a proposal of the agent was rejected",
    "pin": "was pinned and is never thinned",
    "unpin": "was unpinned and may be thinned",
    "label": "was named",
    "epoch": "a new writer epoch began: machines of earlier epochs can no longer push",
    "rotated": "the credentials were sealed with new keys",
}
"""Changes of a vault that a user made or has to know about; others are internal."""
_TOLD_OF_REMOVAL = {"label": "is no longer named", "damaged": "the damage that a verification found is repaired"}
"""The same for rows that remove a value."""
_ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One activity. `kind` names it, `text` describes it for people; `sequence` is the one that it made or concerns,
    `receipt` the name of the receipt with more."""

    time: str
    agent: str
    name: str
    kind: str
    text: str
    sequence: int | None = None
    receipt: str | None = None
    details: JsonObject = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        return asdict(self)


def list_activity(
    context: Context,
    found: Iterable[Agent],
    *,
    everything: bool,
    limit: int | None = None,
    kinds: Collection[str] = (),
) -> list[ActivityEntry]:
    """Return the activities, newest first.

    `everything`: also receipts of agents that this home does not know (any more). `kinds`: only these, if any are
    named.
    """
    known = {agent.id: agent.name for agent in found}
    told = [*_from_receipts(context, known, everything=everything)]
    told += _erased(context) if everything else []
    for agent in known:
        told += _from_vault(context, agent, known[agent])
    wanted = [each for each in told if not kinds or each.kind in kinds]
    return sorted(wanted, key=lambda each: each.time)[::-1][:limit]


# Vaults ---------------------------------------------------------------------------------------------------------


def _from_vault(context: Context, agent_id: str, name: str) -> Iterator[ActivityEntry]:
    with context.vault(agent_id) as vault:
        rows = list(vault.audit_rows())
        counts = {str(row.number): row.counts for row in vault.sequences()}
    for row in rows:
        kind, text = _said(row, counts)
        if text:
            yield ActivityEntry(row.time, agent_id, name, kind, text, _number(row), details=row.details)


def _said(row: AuditRow, counts: Mapping[str, JsonObject]) -> tuple[str, str]:
    """Return the kind of a row and its text, "" for a row that is not shown. `counts` are those of kept sequences."""
    if row.kind == "commit":
        kind = str(row.details.get("kind", "capture"))
        return kind, _commit_text(row, kind, counts.get(row.subject))
    if row.kind == "thin":
        return row.kind, _thin_text(row)
    if row.kind == "drop versions":
        return row.kind, f"{count_text(_size(row.details.get('objects')), 'old version')} of large files removed"
    if row.kind == "purge":
        return row.kind, _purge_text(row.subject, row.details)
    if row.kind == "countersign":
        return row.kind, f"{count_text(_size(row.details.get('sequences')), 'sequence')} signed again"
    if row.kind == _ACCEPTED and row.subject != _ACCEPTED:  # one decision of the user, kept in several parts
        return row.kind, ""
    number = _number(row)
    event = _TOLD_OF_REMOVAL.get(row.kind) if row.details.get("set") is False else None
    event = event or _TOLD.get(row.kind, "")
    return row.kind, event if number is None else f"sequence {number} {event}"


def _thin_text(row: AuditRow) -> str:
    """Name the thinned sequence, or the first and the last of several. The subject is `FIRST..LAST`."""
    first, _, last = row.subject.partition("..")
    if first == last:
        return f"sequence {first} was thinned"
    return f"{count_text(_size(row.details.get('sequences')), 'sequence')} thinned, from {first} to {last}"


def _commit_text(row: AuditRow, kind: str, kept: JsonObject | None) -> str:
    """Describe a commit. For a thinned sequence lines are counted: an edit of one memory may be a new line for
    another."""
    changes = row.details.get("changes")
    counted = changes if isinstance(changes, dict) else {}
    memories = {word: _size(counted.get(key)) for key, word in LINE_WORDS.items()}
    groups = [] if kind == "import" else group_changes((kept or {}).get("records") or memories, {})
    return f"sequence {row.subject}" + (f": {', '.join(groups)}" if groups else "")


def _purge_text(redaction_id: str, audit: Mapping[str, Any]) -> str:
    """Describe what was purged, and name the receipt. `audit` is the record of ALF §3.1.11."""
    memories = _size(audit.get("record_ids"))
    what = count_text(memories, "memory") if memories else "text in files"
    return f"purged {('the whole agent' if audit.get('scope') == WHOLE_AGENT else what)}, receipt {redaction_id}"


def _erased(context: Context) -> Iterator[ActivityEntry]:
    """Return agents that were purged whole: no vault has entries about them any more."""
    for gone in purged_agent_files.list_purged_agents(context):
        audit = {"scope": WHOLE_AGENT, "reason": gone.redaction.reason}
        text = _purge_text(gone.redaction.id, audit)
        yield ActivityEntry(gone.redaction.requested_at, gone.agent.id, gone.name, "purge", text, details=audit)


def _size(value: object) -> int:
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def _number(row: AuditRow) -> int | None:
    return int(row.subject) if row.kind in ("commit", "pin", "unpin", "label") and row.subject.isdigit() else None


# Receipts -------------------------------------------------------------------------------------------------------


def _from_receipts(context: Context, known: dict[str, str], *, everything: bool) -> Iterator[ActivityEntry]:
    folder = context.home.restore_folder / "receipts"
    for entry in context.files.scan(folder) if folder.is_dir() else ():
        if entry.name.endswith(".json") and not entry.name.startswith("."):
            receipt = _read(context, Path(entry.path))
            if receipt is not None and (everything or receipt["agent"] in known):
                yield _of_receipt(receipt, known)


def _read(context: Context, path: Path) -> JsonObject | None:
    """Return a receipt; None for a damaged one, which must not hide the others."""
    try:
        found = json_codec.decode_json(read_all(context.files, path))
    except (OSError, msgspec.DecodeError):
        return None
    named = ("agent", "name", "kind", "time", "to", "receipt")
    return found if isinstance(found, dict) and all(isinstance(found.get(each), str) for each in named) else None


def _of_receipt(receipt: JsonObject, known: dict[str, str]) -> ActivityEntry:
    sequence = receipt.get("sequence")
    number = sequence if isinstance(sequence, int) else None
    outcomes = receipt.get("outcomes")
    counts = {word: count for word, count in outcomes.items() if count} if isinstance(outcomes, dict) else {}
    outcome_counts = ", ".join(f"{count} {word}" for word, count in counts.items())
    text = f"{receipt['to']}{f': {outcome_counts}' if outcome_counts else ''}"
    details = {"to": receipt["to"], "runtime": receipt.get("runtime"), "outcomes": counts}
    name = known.get(receipt["agent"]) or str(receipt["name"])
    return ActivityEntry(
        receipt["time"], receipt["agent"], name, receipt["kind"], text, number, receipt["receipt"], details
    )
