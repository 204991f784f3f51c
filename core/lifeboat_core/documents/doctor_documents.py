"""The JSON of `lifeboat doctor`, and the report that `doctor --bundle` writes."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """What a check found."""

    check: str = ""
    """the check"""
    title: str = ""
    """its subject area"""
    level: str = "ok"
    """`ok`, `warning` or `error`"""
    subject: str = ""
    """subject"""
    result: str = ""
    """result"""
    fix: str | None = None
    """helpful command, or null"""


class Examination(msgspec.Struct, frozen=True):
    """The document of `doctor`."""

    ok: bool = True
    """whether no problem was found"""
    findings: tuple[Finding, ...] = ()


class Part(msgspec.Struct, frozen=True):
    """A file in the bundle."""

    name: str
    """a file in it"""
    what: str = ""
    """its contents"""


class Bundle(msgspec.Struct, frozen=True):
    """The document of `doctor --bundle`."""

    path: str = ""
    """the file that was written"""
    bytes: int = 0
    """its size"""
    parts: tuple[Part, ...] = ()
