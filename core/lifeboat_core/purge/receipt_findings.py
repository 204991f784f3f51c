"""The findings of checking the receipt of a purge."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from lifeboat_alf.common.json_types import JsonObject


class ReceiptLevel(StrEnum):
    HOLDS = "holds"
    OPEN = "open"
    """Neither wrong nor proven: an unknown key, or a remote that is not done yet."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class ReceiptFinding:
    """One result. `subject` is the receipt, the audit, or the name of a vault; `message` is for users. `unknown_key`:
    this home does not know the key of the signature."""

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
