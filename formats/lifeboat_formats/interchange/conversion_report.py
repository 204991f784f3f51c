"""The report of a conversion: what became of everything in its source, and what would be lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome, count_outcomes
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.interchange.contract import FormatNotice

LOST = frozenset({ItemOutcome.OMITTED, ItemOutcome.UNRESOLVED, ItemOutcome.REJECTED})
"""Outcomes of things that are not in the target afterwards."""
NAMED = 5
"""Maximum number of names for each group."""
FATES_LIMIT = 1000
"""Maximum number of things that a document lists individually; all are counted."""
_PLAIN = frozenset({ItemOutcome.ACCEPTED, ItemOutcome.DEDUPLICATED})


@dataclass(slots=True)
class FateGroup:
    """Things with the same fate; `names` are the first of them."""

    kind: str
    outcome: ItemOutcome
    reason: str
    code: str
    count: int = 0
    names: list[str] = field(default_factory=list)


def group_fates(fates: Iterable[ItemFate]) -> list[FateGroup]:
    """Return groups of the things that are not simply in the target, the most frequent first. Those with a code are
    grouped by it."""
    groups: dict[tuple[str, ...], FateGroup] = {}
    for fate in fates:
        if fate.outcome in _PLAIN:
            continue
        key = (fate.kind, fate.outcome.value, fate.code or fate.reason)
        group = groups.setdefault(key, FateGroup(fate.kind, fate.outcome, fate.reason, fate.code))
        group.count += 1
        if len(group.names) < NAMED:
            group.names.append(fate.name)
    return sorted(groups.values(), key=lambda group: (-group.count, group.kind))


@dataclass(slots=True)
class ConversionReport:
    """`read` has the fates of everything in a source of another system, None for an archive or an agent; `written`
    those of the state in the target, None for an archive. In a preview `written` is what would be lost. `bytes` is the
    size of the file, None for a running instance. `signature` is the file of the signature."""

    source: str
    source_format: str
    target: str | None
    target_format: str
    agent: str
    agent_name: str
    records: int
    dry_run: bool
    read: Sequence[ItemFate] | None = None
    written: Sequence[ItemFate] | None = None
    notices: list[FormatNotice] = field(default_factory=list)
    figures: dict[str, int | float] = field(default_factory=dict)
    bytes: int | None = None
    signature: str | None = None
    encryption: JsonObject | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def fates(self) -> list[ItemFate]:
        return [*(self.read or ()), *(self.written or ())]

    @property
    def loses(self) -> bool:
        return any(fate.outcome in LOST for fate in self.fates)

    @property
    def is_whole(self) -> bool:
        """Return whether nothing was refused."""
        return all(fate.outcome is not ItemOutcome.REJECTED for fate in self.fates)

    def to_json(self) -> JsonObject:
        listed = [fate for fate in self.fates if fate.outcome not in _PLAIN]
        return {
            "source": {"name": self.source, "format": self.source_format},
            "target": {"name": self.target, "format": self.target_format},
            "agent": self.agent,
            "agent_name": self.agent_name,
            "records": self.records,
            "dry_run": self.dry_run,
            "whole": self.is_whole,
            "read": None if self.read is None else count_outcomes(self.read),
            "written": None if self.written is None else count_outcomes(self.written),
            "groups": [asdict(group) for group in group_fates(self.fates)],
            "fates": [asdict(fate) for fate in listed[:FATES_LIMIT]],
            "fates_left_out": max(0, len(listed) - FATES_LIMIT),
            "notices": [asdict(notice) for notice in self.notices],
            "figures": dict(self.figures),
            "bytes": self.bytes,
            "signature": self.signature,
            "encryption": self.encryption,
            "warnings": list(self.warnings),
        }
