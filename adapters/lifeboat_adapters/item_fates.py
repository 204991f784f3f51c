"""What an import did with each thing that an archive holds. Every adapter says it in the same six words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ItemOutcome(StrEnum):
    ACCEPTED = "accepted"
    """It stands in the target as it is in the archive."""
    TRANSFORMED = "transformed"
    """It stands in the target in another form: translated, merged, synthesised."""
    OMITTED = "omitted"
    """The target cannot hold it, or nobody asked for it. It stays in the archive."""
    UNRESOLVED = "unresolved"
    """It points to something that is not there, or waits for a step of the user."""
    REJECTED = "rejected"
    """It must not stand in the target: unreadable, unsafe, or against what is there."""
    DEDUPLICATED = "deduplicated"
    """The target held the same already."""


@dataclass(frozen=True, slots=True)
class ItemFate:
    """What became of one thing. `kind` is memory, vector, row, identity, principal, credential, file, artifact,
    setting, capability or document; `name` says which (an id, a path, a label; of a row its archive path, `#` and its
    line, of all rows of a table the path), never what it holds. `reason` is in people's words, `code` says the same for
    programs where there is a word for it."""

    kind: str
    name: str
    outcome: ItemOutcome
    reason: str = ""
    code: str = ""


def count_outcomes(fates: Iterable[ItemFate]) -> dict[str, int]:
    """How many things had each outcome, all six named."""
    found = Counter(fate.outcome for fate in fates)
    return {outcome.value: found[outcome] for outcome in ItemOutcome}
