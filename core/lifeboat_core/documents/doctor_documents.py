"""`lifeboat doctor`, and the report that `doctor --bundle` writes."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """What a check found. `fix` is the command that helps, or what to do, where anything does."""

    check: str = ""
    title: str = ""
    level: str = "ok"
    subject: str = ""
    result: str = ""
    fix: str | None = None


class Examination(msgspec.Struct, frozen=True):
    ok: bool = True
    findings: tuple[Finding, ...] = ()


class Part(msgspec.Struct, frozen=True):
    name: str
    what: str = ""


class Bundle(msgspec.Struct, frozen=True):
    path: str = ""
    bytes: int = 0
    parts: tuple[Part, ...] = ()
