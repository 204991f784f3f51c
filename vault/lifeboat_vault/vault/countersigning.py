"""Decide which sequences need a new signature after a key was revoked. Pure."""

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
    """Result of countersigning. `signed` sequences have a new signature; `refused` ones are invalid and stay as they
    are."""

    signed: list[SequenceRow] = field(default_factory=list)
    refused: list[SequenceRow] = field(default_factory=list)


_WHOLE = ("database", "rows")
"""Kinds of findings after which no digest can be trusted."""


def choose_sequences(
    rows: list[SequenceRow], agent_id: str, found: list[VaultFinding], after: TrustedKeys
) -> CountersignReport:
    """Of the sequences that do not count for `after`, return those to sign again and those that a verification `found`
    to be wrong."""
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
    """Return the new signatures by number, without unchanged ones. Raises SignatureError for an invalid one."""
    news = []
    for row, document in named:
        if row.signature != document:
            sequence_signatures.verify_sequence(replace(row.as_sequence(agent_id), signature=document), None)
            news.append((row.number, document))
    return news
