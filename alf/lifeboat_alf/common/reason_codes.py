"""Represent reasons as data: a code that programs decide by, and parameters for the text."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Self


class ReasonCode(StrEnum):
    """Base class of the codes for one subject. Each member is defined as (code, template of the text)."""

    template: str

    def __new__(cls, code: str, template: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.template = template
        return member


class Reason:
    """Why an operation was not done. Two reasons are equal when code and parameters are.

    `str(reason)` is the text for people: use it for output only, and decide by `code`.
    """

    __slots__ = ("code", "parameters")

    def __init__(self, code: ReasonCode, **parameters: str) -> None:
        self.code = code
        self.parameters: Mapping[str, str] = parameters

    def __str__(self) -> str:
        return self.code.template.format_map(self.parameters)

    def __repr__(self) -> str:
        return f"Reason({self.code!r}, {dict(self.parameters)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.code, self.parameters) == (other.code, other.parameters)

    def __hash__(self) -> int:
        return hash((self.code, *sorted(self.parameters.items())))


def reason_text(reason: Reason | None) -> str | None:
    """Return the text of a reason for a JSON document."""
    return None if reason is None else str(reason)


def reason_code(reason: Reason | None) -> str | None:
    """Return the code of a reason for a JSON document."""
    return None if reason is None else str(reason.code)
