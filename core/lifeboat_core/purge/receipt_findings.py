"""What was found when the receipt of a purge was held against what is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from lifeboat_alf.common.json_types import JsonObject


class ReceiptLevel(StrEnum):
    HOLDS = "holds"
    OPEN = "open"
    """Not wrong, but not proven: a key that is not known here, a copy that is not done yet."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class ReceiptFinding:
    """One thing that was looked at. `subject`: the receipt, the audit, or the name of a vault; `message` for people.
    `unknown_key`: a key made the signature that this home does not know."""

    level: ReceiptLevel
    subject: str
    message: str
    unknown_key: bool = False

    def to_json(self) -> JsonObject:
        return asdict(self)


def report_valid(subject: str, message: str) -> ReceiptFinding:
    return ReceiptFinding(ReceiptLevel.HOLDS, subject, message)


def report_open(subject: str, message: str) -> ReceiptFinding:
    return ReceiptFinding(ReceiptLevel.OPEN, subject, message)


def report_untrusted(subject: str, message: str) -> ReceiptFinding:
    return ReceiptFinding(ReceiptLevel.OPEN, subject, message, unknown_key=True)


def report_wrong(subject: str, message: str) -> ReceiptFinding:
    return ReceiptFinding(ReceiptLevel.WRONG, subject, message)
