"""What an import did with each item of an archive. Every adapter uses the same six outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ItemOutcome(StrEnum):
    """The outcome of one item."""

    ACCEPTED = "accepted"
    """The target holds it as it is in the archive."""
    TRANSFORMED = "transformed"
    """The target holds it in another form: translated, merged or synthesised."""
    OMITTED = "omitted"
    """The target cannot represent it, or the user did not ask for it. It stays in the archive."""
    UNRESOLVED = "unresolved"
    """It refers to something that does not exist, or waits for a step of the user."""
    REJECTED = "rejected"
    """It must not be in the target: it is unreadable, unsafe, or in conflict with existing data."""
    DEDUPLICATED = "deduplicated"
    """The target already held the same."""


@dataclass(frozen=True, slots=True)
class ItemFate:
    """What became of one item.

    `kind` is memory, vector, row, identity, principal, credential, file, artifact, setting, capability or document.
    `name` identifies the item and never contains its content: an id, a path or a label; for a row its archive path, `#`
    and its line, for all rows of a table the path. `reason` is a text for users; `code` says the same for programs
    where a code exists.
    """

    kind: str
    name: str
    outcome: ItemOutcome
    reason: str = ""
    code: str = ""


def count_outcomes(fates: Iterable[ItemFate]) -> dict[str, int]:
    """Count how many items had each of the six outcomes."""
    found = Counter(fate.outcome for fate in fates)
    return {outcome.value: found[outcome] for outcome in ItemOutcome}
