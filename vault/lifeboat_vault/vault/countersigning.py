"""Which sequences need a new signature when a key counts no more. Pure: rows in, rows out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.rows.sequence_rows import SequenceRow
from lifeboat_vault.vault.vault_verification import VaultFinding


@dataclass(frozen=True, slots=True)
class CountersignReport:
    """`signed` are the sequences with a new signature; `refused` those that do not hold, and stay as they are."""

    signed: list[SequenceRow] = field(default_factory=list)
    refused: list[SequenceRow] = field(default_factory=list)


_WHOLE = ("database", "rows")
"""Kinds of findings after which no digest is known to be right."""


def choose_sequences(
    rows: list[SequenceRow], agent_id: str, found: list[VaultFinding], after: TrustedKeys
) -> CountersignReport:
    """Of the sequences that would not count for `after`, those to sign anew and those that a verification `found` to
    be wrong."""
    result = CountersignReport()
    in_doubt = any(finding.kind in _WHOLE for finding in found)
    wrong = {finding.sequence for finding in found}
    for row in rows:
        try:
            sequence_signatures.verify_sequence(row.as_sequence(agent_id), after)
        except SignatureError:
            refused = in_doubt or row.number in wrong
            (result.refused if refused else result.signed).append(row)
    return result


def check_new_signatures(
    named: Iterable[tuple[SequenceRow, JsonObject]], agent_id: str
) -> list[tuple[int, JsonObject]]:
    """Of signatures for sequences, those that are news, by number. Raises SignatureError for one that does not hold."""
    news = []
    for row, document in named:
        if row.signature != document:
            sequence_signatures.verify_sequence(replace(row.as_sequence(agent_id), signature=document), None)
            news.append((row.number, document))
    return news
