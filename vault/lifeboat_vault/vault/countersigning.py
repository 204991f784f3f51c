"""Which sequences need a new signature when a key counts no more. Pure: rows in, rows out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.json_types import JsonObject
from lifeboat_keys import signing
from lifeboat_keys.trusted import Trusted
from lifeboat_vault.vault.rows import SequenceRow
from lifeboat_vault.vault.verification import Finding


@dataclass(frozen=True, slots=True)
class Countersigned:
    """`signed` are the sequences with a new signature; `refused` those that do not hold, and stay as they are."""

    signed: list[SequenceRow] = field(default_factory=list)
    refused: list[SequenceRow] = field(default_factory=list)


_WHOLE = ("database", "rows")
"""Kinds of findings after which no digest is known to be right."""


def chosen(rows: list[SequenceRow], agent_id: str, found: list[Finding], after: Trusted) -> Countersigned:
    """Of the sequences that would not count for `after`, those to sign anew and those that a verification `found` to
    be wrong."""
    result = Countersigned()
    in_doubt = any(finding.kind in _WHOLE for finding in found)
    wrong = {finding.sequence for finding in found}
    for row in rows:
        try:
            signing.verify(row.as_sequence(agent_id), after)
        except SignatureError:
            refused = in_doubt or row.number in wrong
            (result.refused if refused else result.signed).append(row)
    return result


def replaced(named: Iterable[tuple[SequenceRow, JsonObject]], agent_id: str) -> list[tuple[int, JsonObject]]:
    """Of signatures for sequences, those that are news, by number. Raises SignatureError for one that does not hold."""
    news = []
    for row, document in named:
        if row.signature != document:
            signing.verify(replace(row.as_sequence(agent_id), signature=document), None)
            news.append((row.number, document))
    return news
